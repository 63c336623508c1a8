"""Introduction to sharded computation: automatic, with constraints, manual."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from programs import put, rand
from tutorials import types

AUTO, EXPLICIT = (jax.sharding.AxisType.Auto,) * 2, (jax.sharding.AxisType.Explicit,) * 2
MESH = jax.make_mesh((2, 4), ("x", "y"), axis_types=AUTO)


def run(jit):
    on = lambda *axes: NamedSharding(MESH, P(*axes))
    x = jax.device_put(jnp.arange(32.0).reshape(4, 8), on("x", "y"))
    yield "the array itself", jit(lambda x: x)(x)
    yield "a single device", jit(lambda x: 2 * jnp.sin(x) + 1)(jnp.arange(32.0).reshape(4, 8))
    yield "elementwise", jit(lambda x: 2 * jnp.sin(x) + 3)(x)
    contract = lambda x: x.sum(axis=0)
    yield "a contraction", jit(contract)(x)
    yield "a contraction along both", jit(lambda x: x.sum())(x)

    other = jax.make_mesh((4, 2), ("a", "b"), axis_types=AUTO)
    constrained = lambda x: lax.with_sharding_constraint(x.sum(axis=0), on("x"))
    yield "a constraint on the result", jit(constrained)(x)
    again = lambda x: jax.device_put(contract(x), NamedSharding(other, P("a")))
    yield "another mesh", again(x)
    yield "another mesh for the result", jit(contract, out_shardings=NamedSharding(other, P("b")))(jax.device_put(x, NamedSharding(other, P("a", "b"))))

    local = jax.shard_map(lambda x: 2 * jnp.sin(x) + 3, mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y"))
    yield "manual and elementwise", jit(local)(x)
    sums = jax.shard_map(lambda x: jnp.sum(x, keepdims=True), mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y"))
    yield "sums of shards", jit(sums)(x)
    total = jax.shard_map(lambda x: lax.psum(jnp.sum(x, keepdims=True), ("x", "y")), mesh=MESH, in_specs=P("x", "y"), out_specs=P(None, None))
    yield "a sum over all devices", jit(total)(x)

    line = jax.make_mesh((8,), ("x",), axis_types=AUTO[:1])
    layer = lambda x, w, b: jax.nn.sigmoid(x @ w + b)
    args = rand(32, 24), rand(24, 8), rand(8)
    for name, specs in (("batch", (P("x"), P(), P())), ("features", (P(), P(None, "x"), P("x"))), ("contracted", (P(None, "x"), P("x"), P()))):
        placed = [jax.device_put(value, NamedSharding(line, spec)) for value, spec in zip(args, specs)]
        yield f"a layer, {name} sharded", jit(layer)(*placed)
    whole = [put(value, mesh=line) for value in args]

    def with_constraint(x, w, b):
        x, w = (lax.with_sharding_constraint(v, NamedSharding(line, spec)) for v, spec in ((x, P(None, "x")), (w, P("x"))))
        return layer(x, w, b)

    yield "a layer with constraints", jit(with_constraint)(*whole)

    def manual(x, w, b):
        return jax.nn.sigmoid(lax.psum(x @ w, "x") + b)

    specs = P(None, "x"), P("x"), P()
    yield "a manual layer", jit(jax.shard_map(manual, mesh=line, in_specs=specs, out_specs=P()))(*args)
    yield from in_types(jit)
    yield from of_vectors(jit, layer)


def in_types(jit):
    """What a function sees of types while it is traced."""
    seen = []

    def added(x, y):
        seen.extend(types(x, y, x + y))
        return x + y

    yield "no sharding in types", (jit(added)(np.arange(8), np.arange(8)), tuple(seen))
    seen.clear()
    mesh = jax.make_mesh((2, 4), ("X", "Y"), axis_types=EXPLICIT)
    place = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
    yield "types of arrays", types(np.arange(8).reshape(4, 2), place(np.arange(8).reshape(4, 2), P("X", None)))
    with jax.set_mesh(mesh):
        columns, rows = place(np.arange(4).reshape(4, 1), P("X", None)), place(np.arange(8).reshape(1, 8), P(None, "Y"))
        yield "shardings in types", (jit(added)(columns, rows), tuple(seen))


def of_vectors(jit, layer):
    """The page's own sizes: whole numbers on a line of devices, and a layer of one vector."""
    line = jax.make_mesh((8,), ("x",), axis_types=AUTO[:1])
    part = lambda f, outs=P("x"): jit(jax.shard_map(f, mesh=line, in_specs=P("x"), out_specs=outs))
    x = jax.device_put(jnp.arange(32), NamedSharding(line, P("x")))
    shapes = []
    yield "elementwise in shards", part(lambda x: 2 * jnp.sin(x) + 1)(x)
    yield "twice in shards", (part(lambda x: shapes.append(x.shape) or x * 2)(x), np.array(shapes))
    yield "a sum for each shard", part(lambda x: jnp.sum(x, keepdims=True))(x)
    yield "a sum of sums", part(lambda x: lax.psum(x.sum(), "x"), P())(x)

    args = rand(32), rand(32, 4), rand(4)
    yield "a layer of a vector", jit(layer)(*args)
    specs = P("x"), P("x", None), P()
    place = lambda mesh, *specs: [jax.device_put(value, NamedSharding(mesh, spec)) for value, spec in zip(args, specs)]
    yield "the vector sharded", jit(layer)(*place(line, P("x"), P(), P()))
    yield "the contracted dimension sharded", jit(layer)(*place(line, *specs))
    manual = jax.shard_map(lambda x, w, b: jax.nn.sigmoid(lax.psum(x @ w, "x") + b), mesh=line, in_specs=specs, out_specs=P())
    yield "the same by hand", jit(manual)(*place(line, *specs))
    mesh, seen = jax.make_mesh((8,), ("X",), axis_types=EXPLICIT[:1]), []

    def shown(x, w, b):
        result = layer(x, w, b)
        seen.extend(types(x, w, b, result))
        return result

    with jax.set_mesh(mesh):
        yield "the same in types", (jit(shown)(*place(mesh, P("X"), P(), P())), tuple(seen))
