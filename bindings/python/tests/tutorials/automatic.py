"""Distributed arrays and automatic parallelization: the page's edition of explicit meshes, and the one of automatic ones before it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from programs import rand
from tutorials import EXPLICIT, raised, shards, types

AUTO = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)


def run(jit):
    yield from automatic(jit)
    yield from networks(jit)
    with jax.set_mesh(EXPLICIT):
        yield from explicit(jit)
        yield from by_hand(jit)
    with jax.set_mesh(jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)):
        yield from chosen_by_the_compiler(jit)


def on(*axes, mesh=AUTO):
    return NamedSharding(mesh, P(*axes))


def automatic(jit):
    """Computation follows data, on a mesh of automatic axes."""
    x = rand(32, 16)
    sine = jit(jnp.sin)
    yield "a sine on one device", sine(x)
    placements = (("a", "b"), ("b", "a"), ("a", None), (None, "b"), (None, "a"), (("a", "b"), None))
    for axes in placements:
        yield f"a sine of {axes}", sine(jax.device_put(x, on(*axes)))
    y, z = jax.device_put(x, on("a", None)), jax.device_put(x.T, on(None, "b"))
    product = jit(jnp.dot)(y, z)
    yield "a product of sharded operands", product
    yield "the same on one device", jit(jnp.dot)(x, x.T)
    yield "a copy", jit(jnp.copy)(product)
    # Operands on different devices are refused; those that nobody placed go where the others are.
    add = jit(jnp.add)
    first, second = (jax.device_put(x, device) for device in jax.devices()[:2])
    yield "two devices", raised(add, first, second)
    half = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2, devices=jax.devices()[:4])
    yield "two meshes", raised(add, jax.device_put(x, on("a")), jax.device_put(x, on("a", mesh=half)))
    yield "one that is placed", add(jnp.ones_like(x), jax.device_put(x, on("a")))
    yield "none that is placed", add(jnp.ones_like(x), jnp.asarray(x))

    def inside(x, axes):
        return lax.with_sharding_constraint(x + 1, on(*axes)) * 2

    yield "a constraint to more devices", jit(inside, static_argnums=1)(jax.device_put(x, on()), ("a", "b"))
    yield "a constraint to all on each", jit(inside, static_argnums=1)(jax.device_put(x, on("a", "b")), ())


def predict(params, inputs):
    for w, b in params:
        outputs = inputs @ w + b
        inputs = jnp.maximum(outputs, 0)
    return outputs


def loss(params, batch):
    inputs, targets = batch
    return jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))


def network(*sizes):
    key = jax.random.key(0)
    for rows, columns in zip(sizes, sizes[1:]):
        key, w, b = jax.random.split(key, 3)
        yield jax.random.normal(w, (rows, columns)) / np.sqrt(rows), jax.random.normal(b, (columns,))


def networks(jit):
    """Training, by data and by data and features."""
    params, batch = list(network(24, 64, 64, 64, 8)), (rand(32, 24), rand(32, 8))
    line = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
    mesh = jax.make_mesh((4, 2), ("batch", "model"), axis_types=(AxisType.Auto,) * 2)
    whole = ((P(), P()),) * 4
    halves = ((P(), P()), (P(None, "model"), P("model")), (P("model", None), P()), (P(), P()))
    ways = (("by data", line, whole, 8), ("by data and features", mesh, halves, 8), ("on one device", None, whole, 2))
    evaluate, gradients = jit(loss), jit(jax.grad(loss))
    for name, devices, specs, steps in ways:
        place = lambda value, spec: value if devices is None else jax.device_put(value, NamedSharding(devices, spec))
        now = [(place(w, of_w), place(b, of_b)) for (w, b), (of_w, of_b) in zip(params, specs)]
        data = tuple(place(value, P("batch")) for value in batch)
        yield f"loss {name}", evaluate(now, data)
        for _ in range(steps):
            grads = gradients(now, data)
            now = [(w - 1e-3 * dw, b - 1e-3 * db) for (w, b), (dw, db) in zip(now, grads)]
        yield f"parameters {name}", now
        yield f"loss in the end {name}", evaluate(now, data)


def explicit(jit):
    """Shardings in types."""
    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), P("X", "Y"))
    yield "a quick example", jit(lambda x: jnp.sin(x).T)(x)

    def inside(x):
        other = jax.sharding.AbstractMesh((8,), ("A",), (AxisType.Explicit,))
        with jax.sharding.use_abstract_mesh(other):
            return jax.sharding.reshard(x, P("A", None)) * 2

    yield "another mesh inside", jit(inside)(x)
    keep = jit(lambda x: x * 1)
    for spec in (P("Y", "X"), P("X", None), P(("X", "Y"))):
        y = jax.device_put(x, spec)
        yield f"to {spec}", (keep(y), types(keep(y)), shards(keep(y)))
    line = jax.make_mesh((8,), ("A",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(line):
        yield "a mesh of its own", keep(jax.device_put(x, NamedSharding(line, P("A", None))))

    seen = []

    def add(x, y):
        result = x + y
        seen.extend(types(x, y, result))
        return result

    columns, rows = jax.device_put(np.arange(4).reshape(4, 1), P("X", None)), jax.device_put(np.arange(8).reshape(1, 8), P(None, "Y"))
    sums = jit(add)(columns, rows)
    yield "rows and columns", (sums, types(sums), tuple(seen))
    draw = lambda: jax.random.normal(jax.random.key(0), (8, 4), out_sharding=P("X", "Y"))
    drawn = jit(draw)()
    yield "numbers that are drawn in shards", (drawn, types(drawn))
    summed = jit(lambda x: x.sum(0))(drawn)
    yield "a sum over devices", (summed, types(summed))

    x, y = jax.device_put(jnp.arange(32.0).reshape(8, 4), P(None, "X")), jax.device_put(jnp.arange(64.0).reshape(4, 16), P("X", None))
    yield "a product that is several", raised(jit(jnp.dot), x, y)
    for spec in (P("X", None), P(None, "X"), P(None, None)):
        product = jit(functools.partial(jnp.dot, out_sharding=spec))(x, y)
        yield f"a product to {spec}", (product, types(product))
    gathered = jit(jnp.dot)(jax.device_put(x, P(None, None)), y)
    yield "a product of which one is gathered", (gathered, types(gathered))

    x, y = jax.device_put(np.arange(16).reshape(4, 4), P("X", None)), jax.device_put(np.arange(16).reshape(4, 4), P(None, "X"))
    yield "operands that differ", raised(jit(jnp.add), x, y)
    differing = jit(functools.partial(jax.sharding.auto_axes(jnp.add), out_sharding=P("X", None)))(x, y)
    yield "operands that differ, by the compiler", (differing, types(differing))
    of_type = []
    check = jax.sharding.auto_axes(lambda x: of_type.extend(types(x)) or x + 1)
    vector = jit(jnp.sin)(jax.device_put(np.arange(8.0, dtype=np.float32), P("X")))
    shown = jit(lambda x: check(x, out_sharding=P("X")))(vector)
    yield "what the compiler's axes hide", (shown, types(vector, shown), tuple(of_type))


def chosen_by_the_compiler(jit):
    """A mesh of automatic axes around, with names for constraints."""
    x, y = jax.device_put(jnp.arange(32.0).reshape(8, 4), P(None, "X")), jax.device_put(jnp.arange(64.0).reshape(4, 16), P("X", None))
    yield "no error", jit(jnp.dot)(x, y)
    yield "a hint", jit(lambda x, y: lax.with_sharding_constraint(jnp.dot(x, y), P("X", None)))(x, y)
    seen = []

    def doubled(y):
        seen.extend(types(y, y * 2))
        return y * 2

    inner = jax.sharding.explicit_axes(doubled)
    x = jax.device_put(np.arange(16).reshape(4, 4), P("X", "Y"))
    yield "explicit axes inside", (jit(lambda x: inner(jnp.sin(x), in_sharding=P("X", "Y")) + 1)(x), tuple(seen))


def by_hand(jit):
    """Collectives in a product."""
    x, y = jax.device_put(jnp.arange(32.0).reshape(8, 4), P(None, "X")), jax.device_put(jnp.arange(64.0).reshape(4, 16), P("X", None))
    scattered = lambda x, y: lax.psum_scatter(x @ y, "X", tiled=True)
    manual = jax.shard_map(scattered, mesh=EXPLICIT, in_specs=(P(None, "X"), P("X", None)), out_specs=P("X", None))
    product = jit(manual)(x, y)
    yield "a product by hand", (product, types(product))
