"""Explicit sharding, or sharding in types, and derivatives of programs that are written so."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, auto_axes, explicit_axes, reshard
from jax.sharding import PartitionSpec as P

from programs import rand
from tutorials import raised, shards, types

MESH = jax.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Explicit,) * 2)
PAIR = jax.make_mesh((2,), ("X",), axis_types=(AxisType.Explicit,), devices=jax.devices()[:2])
# JAX writes sums that are still to be made in types from 0.8 on.
HAS_UNREDUCED = hasattr(lax, "pcast")


def run(jit):
    seen = []

    def doubled(x):
        seen.extend(types(x))
        return x + x

    yield "no mesh", (jit(doubled)(np.arange(8)), tuple(seen))
    with jax.set_mesh(MESH):
        yield from propagated(jit)
        yield from modes(jit)
    with jax.set_mesh(PAIR):
        yield from derivatives(jit)
        if HAS_UNREDUCED:
            yield from partial_sums(jit)
            yield from microbatches(jit)
            yield from by_hand(jit)


def propagated(jit):
    whole = np.arange(8).reshape(4, 2)
    sharded = jit(lambda x: reshard(x, P("X", None)))(whole)
    yield "resharded", (sharded, types(whole, sharded))
    columns, rows = reshard(np.arange(4).reshape(4, 1), P("X", None)), reshard(np.arange(8).reshape(1, 8), P(None, "Y"))
    seen = []

    def add(x, y):
        result = x + y
        seen.extend(types(x, y, result))
        return result

    sums = jit(add)(columns, rows)
    yield "added", (sums, types(sums), tuple(seen))
    # What rules the page names: ops without operands, reshapes that split and merge, a transpose.
    zeros = jit(lambda: jnp.zeros((4, 8), out_sharding=P("X", "Y")))() if HAS_UNREDUCED else jit(lambda: jnp.zeros((4, 8)))()
    yield "made of nothing", (zeros, types(zeros))
    x = reshard(np.arange(64, dtype=np.float32).reshape(4, 16), P("X", None))
    split = jit(lambda x: jnp.exp(-x).reshape(4, 2, 8).transpose(2, 0, 1))(x)
    yield "split and transposed", (split, types(split))
    merged = jit(lambda x: x.reshape(-1))
    yield "merged", raised(merged, reshard(x, P(None, "X")))
    # A branch and a loop keep the types of what they carry.
    yield "a branch", jit(lambda x: lax.cond(jnp.sum(x) > 3, lambda x: x * 2, lambda x: x - 1, x))(x)
    yield "a loop", jit(lambda x: lax.scan(lambda c, r: (c * 0.5 + x, r.sum()), x, jnp.stack([x] * 3, 1).swapaxes(0, 1)))(x)
    batched = jit(jax.vmap(lambda row: row @ row))(x)
    yield "a batch", (batched, types(batched))


def modes(jit):
    x, y = reshard(np.arange(16).reshape(4, 4), P("X", None)), reshard(np.arange(16).reshape(4, 4), P(None, "X"))
    yield "axes that meet", raised(jit(jnp.add), x, y)
    add = auto_axes(lambda x, y: x + y)
    sums = jit(lambda x, y: add(x, y, out_sharding=P("X", None)))(x, y)
    yield "the same by the compiler", (sums, types(sums))

    seen = []

    @functools.partial(auto_axes, axes="X")
    def twice(y):
        seen.extend(types(y))
        return y * 2

    def mixed(x):
        x = jnp.sin(x)
        z = twice(x, out_sharding=P("X", "Y"))
        seen.extend(types(x, z))
        return z + 1

    both = reshard(np.arange(16).reshape(4, 4), P("X", "Y"))
    yield "one axis by the compiler", (jit(mixed)(both), tuple(seen))

    inside = []

    @functools.partial(explicit_axes, axes=("X", "Y"))
    def kept(y):
        inside.extend(types(y, y * 2))
        return y * 2

    with jax.set_mesh(jax.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)):
        both = jax.device_put(np.arange(16).reshape(4, 4), P("X", "Y"))
        yield "both axes in types", (jit(lambda x: kept(jnp.sin(x), in_sharding=P("X", "Y")) + 1)(both), tuple(inside))
    vector = jit(jnp.sin)(reshard(np.arange(8, dtype=np.float32), P("X")))
    hidden = []
    check = auto_axes(lambda x: hidden.extend(types(x)) or x)
    yield "of types and of arrays", (jit(lambda x: check(x, out_sharding=P("X")))(vector), types(vector), tuple(hidden))


def derivatives(jit):
    x, w = reshard(rand(8, 4), P("X", None)), reshard(rand(4, 2), P(None, None))
    grads = jit(jax.grad(lambda w, x: jnp.sum((x @ w) ** 2), argnums=(0, 1)))(w, x)
    yield "gradients of weights and of data", (grads, types(*grads))


def partial_sums(jit):
    """Sums over devices that are yet to be made, and what such a type means for a derivative."""
    a, b = reshard(jnp.arange(4.0).reshape(2, 2), P(None, "X")), reshard(jnp.arange(4.0, 8.0).reshape(2, 2), P("X", None))
    product = lambda spec: jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=spec))
    yield "nothing said", raised(jit(jnp.matmul), a, b)
    yield "summed", product(P(None, None))(a, b)
    partial = P(None, None, unreduced={"X"})
    c, d = product(partial)(a, b), product(partial)(2 * a, b)
    yield "not yet summed", (types(c), shards(c))
    total = jit(lambda c: reshard(c, P(None, None)))(c)
    yield "summed later", (total, types(total))
    added = jit(lambda c, d: c + d)(c, d)
    yield "sums added", (types(added), shards(added), jit(lambda c: reshard(c, P(None, None)))(added))
    yield "a cosine of a part", raised(jit(jnp.cos), c)

    x, w = reshard(rand(8, 4), P("X", None)), reshard(rand(4, 2), P(None, None))
    reduced = P(None, None, reduced={"X"})
    kept = jit(lambda w: reshard(w, reduced))(w)
    yield "weights whose gradients may wait", (types(kept), shards(kept))
    loss = lambda w, x: jnp.sum((x @ reshard(w, reduced)) ** 2)
    yield "a gradient through them", jit(jax.grad(loss))(w, x)

    def fanned(w, x, y):
        w = reshard(w, reduced)
        return jnp.sum(x @ w) + jnp.sum(y @ w)

    yield "a gradient of two uses", jit(jax.grad(fanned))(w, x, reshard(rand(8, 4, seed=1), P("X", None)))


def microbatches(jit):
    """One sum over devices for all microbatches, or one for each."""

    def loss(ws, xs):
        return jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x @ w), None), xs, ws)[0] ** 2)

    def step(ws, xs):
        add = lambda total, x: (total + jax.grad(loss)(ws, x), None)
        total = lax.scan(add, reshard(jnp.zeros_like(ws), P(unreduced={"X"})), xs)[0]
        return reshard(ws, P()) - 0.01 * reshard(total, P())

    ws = jnp.stack([jnp.eye(4) / 2] * 3)
    xs = jax.device_put(rand(5, 2, 4), P(None, "X", None))
    yield "one sum", jit(step)(jax.device_put(ws, P(reduced={"X"})), xs)

    def each(ws, xs):
        add = lambda total, x: (total + jax.grad(loss)(ws, x), None)
        return ws - 0.01 * lax.scan(add, jnp.zeros_like(ws), xs)[0]

    yield "a sum for each", jit(each)(jax.device_put(ws, P()), xs)


def by_hand(jit):
    a, b = reshard(jnp.arange(4.0).reshape(2, 2), P(None, "X")), reshard(jnp.arange(4.0, 8.0).reshape(2, 2), P("X", None))
    specs = {"in_specs": (P(None, "X"), P("X", None)), "out_specs": P(None, None, unreduced={"X"})}
    parts = jax.shard_map(lambda a, b: lax.pcast(a @ b, "X", to="unreduced"), mesh=PAIR, **specs)
    c = jit(parts)(a, b)
    yield "parts by hand", (types(c), shards(c))
    loss = lambda a, b: jnp.sum(reshard(parts(a, b), P(None, None)))
    yield "their gradients", jit(jax.grad(loss, argnums=(0, 1)))(a, b)
    x, w = reshard(rand(8, 4), P("X", None)), reshard(rand(4, 2), P(None, None, reduced={"X"}))
    specs = {"in_specs": (P("X", None), P(None, None, reduced={"X"})), "out_specs": P("X", None)}
    layer = jax.shard_map(lambda x, w: jnp.tanh(x @ w), mesh=PAIR, **specs)
    grad = jit(jax.grad(lambda w, x: jnp.sum(layer(x, w) ** 2)))(w, x)
    yield "a gradient that isn't summed", (types(grad), shards(grad))
