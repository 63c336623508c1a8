"""Manual parallelism with shard_map: the specs, types that vary, each collective, products that overlap, and networks."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

from programs import rand
from tutorials import raised, types

EXPLICIT = AxisType.Explicit
GRID = jax.make_mesh((4, 2), ("i", "j"), axis_types=(EXPLICIT,) * 2)
QUAD = Mesh(np.array(jax.devices()[:4]), ("i",), axis_types=(EXPLICIT,))
SQUARE = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("i", "j"), axis_types=(EXPLICIT,) * 2)
PAIR = Mesh(np.array(jax.devices()[:2]), ("i",), axis_types=(EXPLICIT,))
DIGITS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 1, 2])
# From 0.8 on JAX casts between types that vary over devices and those that don't by one function.
HAS_CAST = hasattr(lax, "pcast")


def run(jit):
    for mesh, snippets in (
        (GRID, (first_product, specs)),
        (PAIR, (varying,)),
        (QUAD, (collectives, products)),
        (SQUARE, (over_two_axes,)),
    ):
        for part in snippets:
            with jax.set_mesh(mesh):
                yield from part(jit)
    yield from networks(jit)
    yield from pipelined(jit)


def mapped(f, ins, outs, **more):
    return jax.shard_map(f, in_specs=ins, out_specs=outs, **more)


def first_product(jit):
    a = jax.device_put(jnp.arange(128.0).reshape(8, 16), P("i", "j"))
    b = jax.device_put(jnp.arange(64.0).reshape(16, 4), P("j", None))
    manual = jit(mapped(lambda a, b: lax.psum(a @ b, "j"), (P("i", "j"), P("j", None)), P("i", None)))(a, b)
    yield "a product in blocks", (manual, types(manual))
    yield "the same by the compiler", jit(functools.partial(jnp.dot, out_sharding=P("i", None)))(a, b)
    yield "a vmap", jit(jax.vmap(lambda x: x @ x))(jnp.arange(12).reshape(4, 3))
    rows = jax.device_put(jnp.arange(32).reshape(8, 4), P("i"))
    # Where a vmap takes the dimension away, a shard_map leaves a part of it.
    yield "a shard_map", jit(mapped(lambda x: x.T @ x, P("i"), P("i")))(rows)


def specs(jit):
    """What is said of operands and of results."""
    shapes = []
    keep = lambda x: shapes.append(x.shape) or x
    x = jax.device_put(jnp.arange(144).reshape(12, 12), P("i", None))
    yield "not sharded along an axis, and tiled along it", jit(mapped(keep, P("i", None), P("i", "j"), check_vma=False))(x)
    both = jax.device_put(jnp.tile(jnp.arange(144).reshape(12, 12), (1, 2)), P("i", "j"))
    yield "sharded along both", jit(mapped(keep, P("i", "j"), P("i", "j")))(both)
    yield "shapes of shards", np.array(shapes)
    with jax.set_mesh(jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)):
        one = jnp.array([[3.0]])
        for outs in (P("i", "j"), P("i", None), P(None, None)):
            yield f"a constant to {outs}", jit(mapped(lambda: one, (), outs))()
    x = jax.device_put(jnp.arange(144).reshape(12, 12), P("i", "j"))
    for axes, outs in (("j", P("i", None)), ("i", P(None, "j")), (("i", "j"), P(None, None))):
        yield f"a sum over {axes}", jit(mapped(lambda x, axes=axes: lax.psum(x, axes), P("i", "j"), outs))(x)
    seen = []

    def summed(x):
        y = lax.psum(x, "j")
        seen.extend(types(x, y))
        return y

    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), P("i", "j"))
    yield "what varies over two axes", (jit(mapped(summed, P("i", "j"), P("i")))(x), tuple(seen))


def varying(jit):
    """Which values differ between devices is in their types."""
    x = jax.device_put(jnp.arange(6.0), P("i"))
    double = lambda x: 2 * x
    yield "sharded", jit(mapped(double, P("i"), P("i")))(x)
    yield "replicated", jit(mapped(double, P(), P()))(jnp.arange(6.0))
    seen = []

    def summed(x):
        y = lax.psum(x, "i")
        seen.extend(types(x, y))
        return y

    yield "summed", (jit(mapped(summed, P("i"), P()))(x), tuple(seen))
    yield "a result that isn't replicated", raised(jit(mapped(lambda x: x, P("i"), P())), x)
    y = jnp.arange(3.0)
    yield "a product of both kinds", jit(mapped(lambda x, y: x * y, (P("i"), P()), P("i")))(x, y)

    def swapped(x, y):
        return lax.scan(lambda carry, _: (carry[::-1], None), (x, y), length=2)[0]

    yield "a loop that swaps both kinds", raised(jit(mapped(swapped, (P("i"), P()), P("i"))), x, y)
    if HAS_CAST:
        cast = lambda x, y: swapped(x, lax.pcast(y, "i", to="varying"))
        yield "the same after a cast", jit(mapped(cast, (P("i"), P()), P("i")))(x, y)
        shown = []

        def marked(x):
            y = lax.pcast(x, "i", to="varying")
            shown.extend(types(x, y))
            return lax.psum(y, "i")

        yield "a cast", (jit(mapped(marked, P(), P()))(jnp.arange(6.0)), tuple(shown))


def around(size, by):
    return [(k, (k + by) % size) for k in range(size)]


def scattered_in_turns(x, axis, size):
    """A sum that is scattered, of permutes."""
    me = lax.axis_index(axis)
    x = x.reshape(size, -1, *x.shape[1:])
    for k in range(1, size):
        x = x.at[(me + k + 1) % size].add(lax.ppermute(x[(me + k) % size], axis, around(size, -1)))
    return x[me]


def collectives(jit):
    """Each collective, on four devices."""
    x = jax.device_put(DIGITS, P("i"))
    few = jax.device_put(np.array([3, 9, 5, 2]), P("i"))
    one = lambda f, x=x, outs=P("i"): jit(mapped(f, P("i"), outs))(x)
    yield "psum", one(lambda x: lax.psum(x, "i"), outs=P(None))
    yield "all_gather, tiled", one(lambda x: lax.all_gather(x, "i", tiled=True), few)
    yield "all_gather", one(lambda x: lax.all_gather(x, "i", tiled=False), few)
    yield "psum_scatter, tiled", one(lambda x: lax.psum_scatter(x, "i", tiled=True))
    yield "psum_scatter", one(lambda x: lax.psum_scatter(x, "i")[None])
    both = lambda x: lax.all_gather(lax.psum_scatter(x, "i"), "i")
    yield "psum of the two", one(both)
    yield "ppermute", one(lambda x: lax.ppermute(x, "i", around(4, 1)), jax.device_put(np.arange(8), P("i")))
    # A device that nobody sends to has zeros.
    yield "ppermute of some", one(lambda x: lax.ppermute(x, "i", [(0, 2), (3, 1)]), jax.device_put(np.arange(8) + 1, P("i")))
    yield "psum_scatter of permutes", one(lambda x: scattered_in_turns(x, "i", 4))
    yield "all_to_all, tiled", one(lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True))
    yield "all_to_all", one(lambda x: lax.all_to_all(x, "i", 0, 0))


def over_two_axes(jit):
    x = jax.device_put(np.arange(16).reshape(4, 4), P("i", "j"))
    yield "psum over one of two axes", jit(mapped(lambda x: lax.psum(x, "i"), P("i", "j"), P(None, "j")))(x)
    yield "psum over two axes", jit(mapped(lambda x: lax.psum(x, ("i", "j")), P("i", "j"), P(None, None)))(x)


def part(x, k, size, dim):
    return lax.dynamic_slice_in_dim(x, k * size, size, dim)


def products(jit):
    """Products with collectives, which overlap with them."""
    rows = P("i", None)
    a, b = jax.device_put(rand(8, 8), rows), jax.device_put(rand(8, 4), rows)
    up, down = (lambda x: lax.ppermute(x, "i", around(4, 1))), (lambda x: lax.ppermute(x, "i", around(4, -1)))
    by_rows = lambda f: jit(mapped(f, (rows, rows), rows))(a, b)
    yield "gathered before a product", by_rows(lambda a, b: a @ lax.all_gather(b, "i", tiled=True))

    def in_turns(a, b):
        me, width = lax.axis_index("i"), a.shape[1] // 4
        total = part(a, me, width, 1) @ b
        for k in range(1, 4):
            b = up(b)
            total += part(a, (me - k) % 4, width, 1) @ b
        return total

    yield "gathered in turns", by_rows(in_turns)

    def both_ways(a, b):
        me, width = lax.axis_index("i"), a.shape[1] // 8
        low, high = jnp.split(b, 2)
        total = part(a, me, 2 * width, 1) @ b
        for k in range(1, 4):
            low, high = up(low), down(high)
            total += part(a, 2 * ((me - k) % 4), width, 1) @ low + part(a, 2 * ((me + k) % 4) + 1, width, 1) @ high
        return total

    yield "gathered both ways", by_rows(both_ways)
    columns = P(None, "i")
    c = jax.device_put(rand(8, 8), columns)
    by_columns = lambda f: jit(mapped(f, (columns, rows), rows))(c, b)
    yield "scattered after a product", by_columns(lambda c, b: lax.psum_scatter(c @ b, "i", tiled=True))

    def added_in_turns(c, b):
        me, height = lax.axis_index("i"), c.shape[0] // 4
        total = part(c, (me + 1) % 4, height, 0) @ b
        for k in range(1, 4):
            total = down(total) + part(c, (me + k + 1) % 4, height, 0) @ b
        return total

    yield "scattered in turns", by_columns(added_in_turns)

    def added_both_ways(c, b):
        me, height = lax.axis_index("i"), c.shape[0] // 8
        low, high = part(c, 2 * ((me - 1) % 4), height, 0) @ b, part(c, 2 * ((me + 1) % 4) + 1, height, 0) @ b
        for k in range(1, 4):
            low = up(low) + part(c, 2 * ((me - k - 1) % 4), height, 0) @ b
            high = down(high) + part(c, 2 * ((me + k + 1) % 4) + 1, height, 0) @ b
        return jnp.concatenate([low, high])

    yield "scattered both ways", by_columns(added_both_ways)


def network(*sizes):
    return [(rand(a, b, seed=k) / np.float32(np.sqrt(a)), rand(b, seed=k)) for k, (a, b) in enumerate(zip(sizes, sizes[1:]))]


def predict(params, x, layer=lambda x, w, b: x @ w + b):
    for w, b in params:
        y = layer(x, w, b)
        x = jax.nn.relu(y)
    return y


def error(y, targets):
    return jnp.mean(jnp.sum((y - targets) ** 2, -1))


def networks(jit):
    """One network with its batch, its parameters, its features and both sharded by hand."""
    params, batch = network(48, 32, 32, 32, 8), (rand(32, 48), rand(32, 8))
    loss = lambda params, batch: error(predict(params, batch[0]), batch[1])
    yield "plain", jit(jax.value_and_grad(loss))(params, batch)
    recomputed = functools.partial(jax.checkpoint, policy=lambda op, *_, **__: str(op) != "all_gather")

    def with_data(params, batch):
        return lax.pmean(error(predict(params, batch[0]), batch[1]), "batch")

    def gathered(x, w, b):
        w, b = (lax.all_gather(value, "batch", tiled=True) for value in (w, b))
        return x @ w + b

    def with_parameters(params, batch):
        return lax.pmean(error(recomputed(lambda params, x: predict(params, x, gathered))(params, batch[0]), batch[1]), "batch")

    def scattered(x, w, b):
        return lax.psum_scatter(x @ w, "feats", scatter_dimension=1, tiled=True) + b

    def with_both(params, batch):
        layer = lambda x, w, b: scattered(x, lax.all_gather(w, "batch", tiled=True), lax.all_gather(b, "batch", tiled=True))
        y = recomputed(lambda params, x: predict(params, x, layer))(params, batch[0])
        return lax.pmean(jnp.mean(lax.psum(jnp.sum((y - batch[1]) ** 2, -1), "feats")), "batch")

    def with_features(params, batch):
        specs = (P(None, "feats"), P("feats", None), P("feats")), P(None, "feats")
        return error(predict(params, batch[0], mapped(scattered, *specs)), batch[1])

    auto = lambda shape, names: jax.make_mesh(shape, names, axis_types=(AxisType.Auto,) * len(shape), devices=jax.devices()[: int(np.prod(shape))])
    ways = (
        ("data", auto((8,), ("batch",)), P(), P("batch"), with_data),
        ("parameters", auto((4,), ("batch",)), P("batch"), P("batch"), with_parameters),
        ("features", auto((8,), ("feats",)), P("feats"), P(None, "feats"), None),
        ("parameters and features", auto((4, 2), ("batch", "feats")), P(("feats", "batch")), P("batch", "feats"), with_both),
    )
    for name, mesh, of_params, of_batch, body in ways:
        with jax.set_mesh(mesh):
            place = lambda tree, spec: jax.tree.map(lambda v: jax.device_put(v, jax.sharding.NamedSharding(mesh, spec)), tree)
            now, data = place(params, of_params), place(batch, of_batch)
            sharded = with_features if body is None else mapped(body, (of_params, of_batch), P())
            yield f"by {name}", jit(sharded)(now, data)
            yield f"gradients by {name}", jit(jax.grad(sharded))(now, data)


def pipelined(jit):
    """Stages on two devices, microbatches that pass through them."""
    stages, size, layers, width = 2, 4, 4, 16
    count = 32 // size
    each = count // stages
    first, *inner, last = network(24, *[width] * (layers + 1), 8)
    stacked = tuple(np.stack(values) for values in zip(*inner))
    mesh = jax.make_mesh((stages,), ("stages",), axis_types=(AxisType.Auto,), devices=jax.devices()[:stages])
    shifted = lambda x, by: lax.ppermute(x, "stages", around(stages, by))

    def pipeline(params, inputs):
        stage, state, outputs = lax.axis_index("stages"), jnp.zeros((layers // stages, size, width)), jnp.zeros_like(inputs)
        for k in range(count + layers - 1):
            state = state.at[0].set(jnp.where(stage == 0, inputs[k % each], state[0]))
            state = jax.vmap(lambda p, x: jax.nn.relu(x @ p[0] + p[1]))(params, state)
            at = (k - layers + 1) % each
            outputs = outputs.at[at].set(jnp.where(stage == stages - 1, state[-1], outputs[at]))
            state = jnp.roll(state, 1, axis=0).at[0].set(shifted(state[-1], 1))
            inputs = shifted(inputs, 1) if k % each == each - 1 else inputs
            outputs = shifted(outputs, 1) if at == each - 1 else outputs
        return shifted(outputs, 1)

    def loss(params, batch):
        (w, b), inner, (v, c) = params
        x, targets = batch
        x = jax.nn.relu(x.reshape(each, size, -1) @ w + b)
        return lax.pmean(error((pipeline(inner, x) @ v + c).reshape(each * size, -1), targets), "stages")

    place = lambda tree, spec: jax.tree.map(lambda v: jax.device_put(v, jax.sharding.NamedSharding(mesh, spec)), tree)
    params, batch = (place(first, P()), place(stacked, P("stages")), place(last, P())), place((rand(32, 24), rand(32, 8)), P("stages"))
    sharded = jax.shard_map(loss, mesh=mesh, in_specs=((P(), P("stages"), P()), P("stages")), out_specs=P(), check_vma=False)
    yield "a pipeline", jit(sharded)(params, batch)
    yield "gradients of a pipeline", jit(jax.grad(sharded))(params, batch)
