"""Introduction to distributed computing: meshes, collectives, random numbers, and data-parallel training."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from programs import LINE, MESH, layers, mlp, put, rand


def run(jit):
    yield "tanh of a sharded array", jit(jnp.tanh)(put(np.arange(8.0, dtype=np.float32), "data", mesh=LINE))
    x, w, b = put(rand(192, 32), "data"), put(rand(32, 64), None, "model"), put(rand(64), "model")
    yield "a product by jit", jit(lambda x, w, b: x @ w + b)(x, w, b)

    specs = P("data"), P(None, "model"), P("model")
    manual = jax.shard_map(lambda x, w, b: x @ w + b, mesh=MESH, in_specs=specs, out_specs=P("data", "model"))
    yield "a product by shard_map", jit(manual)(x, w, b)

    def part(f, ins, outs, **more):
        return functools.partial(jax.shard_map, mesh=LINE, in_specs=ins, out_specs=outs, **more)(f)

    def normalize(x):
        mean = lax.pmean(x.mean(0, keepdims=True), "data")
        std = jnp.sqrt(lax.pmean(((x - mean) ** 2).mean(0, keepdims=True), "data"))
        return (x - mean) / std

    y = put(rand(64, 16), "data", mesh=LINE)
    yield "statistics of all shards", jit(part(normalize, P("data"), P("data")))(y)
    gather = lambda x, w: lax.all_gather(x, "data", axis=0, tiled=True) @ w
    yield "gathered and multiplied", jit(part(gather, (P("data"), P(None, "data")), P(None, "data")))(y, rand(16, 24))
    scatter = lambda x, w: lax.psum_scatter(x @ w, "data", scatter_dimension=0, tiled=True)
    yield "summed and scattered", jit(part(scatter, (P(None, "data"), P("data")), P("data")))(rand(32, 16), rand(16, 8))
    shift = lambda x: lax.ppermute(x, "data", [(i, (i + 1) % 8) for i in range(8)])
    yield "permuted", jit(part(shift, P("data"), P("data")))(y)
    place = lambda x: x + lax.axis_index("data").astype(x.dtype)
    yield "each device's index", jit(part(place, P("data"), P("data")))(y)

    both = functools.partial(jax.shard_map, mesh=MESH, in_specs=P("data", "model"), out_specs=P("data", "model"))

    def elementwise(x):
        mean = lax.pmean(x, "model")
        return (x - mean) / lax.pmean((x - mean) ** 2, "model") ** 0.5

    yield "elements of two devices", jit(both(elementwise))(rand(32, 8))
    four = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:4])
    on_four = lambda f: jit(jax.shard_map(f, mesh=four, in_specs=P("i"), out_specs=P("i")))
    digits = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 1, 2]])
    yield "rows that are added up and scattered", on_four(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1))(digits)
    yield "one element sent to the next", on_four(lambda x: lax.ppermute(x, "i", [(i, (i + 1) % 4) for i in range(4)]))(np.arange(4))
    every = functools.partial(jax.shard_map, mesh=MESH, in_specs=P(), out_specs=P(("data", "model")))
    indices = lambda key: jnp.stack([lax.axis_index("data"), lax.axis_index("model")], -1)[None] + 0 * key[:1].astype(jnp.int32)
    yield "both indices of each device", jit(every(indices))(jax.random.PRNGKey(0))
    yield "keys of one axis", jit(every(lambda key: jax.random.fold_in(key, lax.axis_index("data"))))(jax.random.PRNGKey(0))

    fold = lambda key: jax.random.fold_in(key, lax.axis_index("data"))
    draw = lambda key: jax.random.uniform(fold(key), (1, 4))
    yield "numbers of each device", jit(part(draw, P(), P("data")))(jax.random.key(3))

    def drop(key, x):
        keep = jax.random.bernoulli(fold(key), 0.7, x.shape)
        return jnp.where(keep, x / 0.7, 0.0)

    yield "dropout on each device", jit(part(drop, (P(), P("data")), P("data")))(jax.random.key(1), y)

    def loss(params, x, labels):
        logits = mlp(params, x)
        right = jnp.argmax(logits, -1) == labels
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)), jnp.mean(right)

    def train(params, x, labels):
        (value, accuracy), grads = jax.value_and_grad(loss, has_aux=True)(params, x, labels)
        value, accuracy, grads = jax.tree.map(lambda g: lax.pmean(g, "data"), (value, accuracy, grads))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, accuracy

    params = jax.tree.map(lambda p: put(p, mesh=LINE), layers(16, 32, 10))
    # Gradients of replicated parameters are summed by hand.
    step = jit(part(train, (P(), P("data"), P("data")), (P(), P(), P()), check_vma=False))
    labels = put(np.arange(64) % 10, "data", mesh=LINE)
    for number in range(3):
        params, value, accuracy = step(params, y, labels)
        yield f"data-parallel step {number}", (params, value, accuracy)

    def accumulated(params, x, labels):
        def one(total, batch):
            (value, _), grads = jax.value_and_grad(loss, has_aux=True)(params, *batch)
            return jax.tree.map(jnp.add, total, (value, grads)), None

        split = lambda v: v.reshape(4, -1, *v.shape[1:])
        zeros = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        return lax.scan(one, zeros, (split(x), split(labels)))[0]

    yield "gradients of minibatches", jit(accumulated)(params, y, labels)
