"""JAX programs on 8 devices, on which `shardc.jit` must behave exactly like `jax.jit`.

Each row of `PROGRAMS` makes a function, its arguments and what `jit` is told besides. `OUTSIDE` has what is done to a jitted
function from outside: derivatives, batches, other jits.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


class Case(NamedTuple):
    """A function, its arguments, the options of `jit`, and how the jitted function is used."""

    fun: Callable[..., Any]
    args: tuple
    jit: dict[str, Any] = {}
    use: Callable[[Callable], Callable] = lambda jitted: jitted


PROGRAMS: dict[str, Callable[[], Case]] = {}


def program(make: Callable[[], Case]) -> Callable[[], Case]:
    PROGRAMS[make.__name__] = make
    return make


AUTO = jax.sharding.AxisType.Auto
MESH = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AUTO, AUTO))
LINE = jax.make_mesh((8,), ("data",), axis_types=(AUTO,))


def rand(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * 0.5).astype(dtype)


def put(value: Any, *axes: Any, mesh: Any = MESH) -> jax.Array:
    return jax.device_put(value, NamedSharding(mesh, P(*axes)))


def mlp(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def mlp_loss(params, x, y):
    return jnp.mean((mlp(params, x) - y) ** 2)


def sgd(loss):
    def step(params, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    return step


def layers(*sizes: int):
    return [(rand(a, b, seed=a), rand(b, seed=b)) for a, b in zip(sizes, sizes[1:])]


@program
def data_parallel_step():
    params = jax.tree.map(put, layers(16, 64, 8))
    return Case(sgd(mlp_loss), (params, put(rand(32, 16), "data"), put(rand(32, 8), "data")))


@program
def tensor_parallel_step():
    (w, b), (v, c) = layers(16, 64, 8)
    params = [(put(w, None, "model"), put(b, "model")), (put(v, "model"), put(c))]
    return Case(sgd(mlp_loss), (params, put(rand(32, 16), "data"), put(rand(32, 8), "data")))


def norm(x, scale):
    return x * scale * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def block(p, x):
    """x: f32[batch, length, width]"""
    heads = lambda y: y.reshape(*y.shape[:2], 4, -1)
    h = norm(x, p["n1"])
    q, k, v = heads(h @ p["q"]), heads(h @ p["k"]), heads(h @ p["v"])
    scores = jnp.einsum("blhd,bmhd->bhlm", q, k) / np.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    probs = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
    x = x + jnp.einsum("bhlm,bmhd->blhd", probs, v).reshape(x.shape) @ p["o"]
    h = norm(x, p["n2"])
    return x + jax.nn.gelu(h @ p["up"]) @ p["down"]


def block_params(width: int, seed: int = 0) -> dict[str, np.ndarray]:
    w = lambda a, b, s: rand(a, b, seed=seed + s) / np.float32(np.sqrt(a))
    names = ["q", "k", "v", "o"]
    params = {name: w(width, width, i) for i, name in enumerate(names)}
    params |= {"up": w(width, 4 * width, 7), "down": w(4 * width, width, 8)}
    return params | {"n1": np.ones(width, np.float32), "n2": np.ones(width, np.float32)}


def transformer_params(vocabulary: int, width: int, depth: int) -> dict[str, Any]:
    return {"embed": rand(vocabulary, width, seed=9), "blocks": [block_params(width, 10 * i) for i in range(depth)]}


def transformer_loss(params, tokens):
    """tokens: i32[batch, length]"""
    x = params["embed"][tokens[:, :-1]]
    for p in params["blocks"]:
        x = block(p, x)
    logits = x @ params["embed"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1))


def adam(loss):
    def step(state, batch):
        params, m, v, count = state
        value, grads = jax.value_and_grad(loss)(params, batch)
        count = count + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
        scale = lambda p, m, v: p - 1e-2 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-6)
        return (jax.tree.map(scale, params, m, v), m, v, count), value

    return step


def fsdp(params):
    """Every parameter sharded along its first dimension, over all devices."""
    return jax.tree.map(lambda p: put(p, "data", mesh=LINE), params)


@program
def fsdp_transformer_step():
    params = transformer_params(64, 32, 2)
    zeros = jax.tree.map(np.zeros_like, params)
    state = (fsdp(params), fsdp(zeros), fsdp(zeros), put(np.float32(0), mesh=LINE))
    tokens = np.random.default_rng(0).integers(0, 64, (16, 17)).astype(np.int32)
    return Case(adam(transformer_loss), (state, put(tokens, "data", mesh=LINE)), {"donate_argnums": 0})


@program
def transformer_on_two_axes():
    rules = {"q": (None, "model"), "k": (None, "model"), "v": (None, "model"), "o": ("model",), "up": (None, "model"), "down": ("model",)}
    params = {name: put(p, *rules.get(name, ())) for name, p in block_params(32).items()}
    return Case(block, (params, put(rand(8, 16, 32), "data")))


@program
def bfloat16_block_with_remat():
    params = jax.tree.map(lambda p: put(jnp.asarray(p, jnp.bfloat16), "data"), block_params(32))
    loss = lambda p, x: jnp.sum(jax.checkpoint(block)(p, x).astype(jnp.float32) ** 2)
    return Case(jax.grad(loss), (params, put(jnp.asarray(rand(8, 16, 32), jnp.bfloat16), "data")))


@program
def shard_map_sum():
    f = jax.shard_map(lambda x, w: lax.psum(x @ w, "model"), mesh=MESH, in_specs=(P("data", "model"), P("model")), out_specs=P("data"))
    return Case(lambda x, w: jnp.tanh(f(x, w)) + 1, (put(rand(16, 8), "data", "model"), put(rand(8, 12), "model")))


@program
def shard_map_ring():
    def ring(x):
        def turn(i, carry):
            y, total = carry
            y = lax.ppermute(y, "data", [(j, (j + 1) % 8) for j in range(8)])
            return y, total + y * (i + 1)

        return lax.fori_loop(0, 7, turn, (x, x))[1]

    f = jax.shard_map(ring, mesh=LINE, in_specs=P("data"), out_specs=P("data"))
    return Case(f, (put(rand(16, 4), "data", mesh=LINE),))


@program
def shard_map_of_one_axis():
    f = jax.shard_map(
        lambda x: lax.all_to_all(x, "data", 1, 0, tiled=True), mesh=MESH, in_specs=P("data"), out_specs=P(None, "data"), axis_names={"data"}
    )
    return Case(lambda x: f(x * 2).sum(1), (put(rand(16, 8, 6), "data", None, "model"),))


@program
def scan_over_layers():
    stacked = jax.tree.map(lambda *p: np.stack(p), *[block_params(16, s) for s in range(4)])
    params = jax.tree.map(lambda p: put(p, None, "data", mesh=LINE), stacked)

    def loss(params, x):
        return jnp.mean(lax.scan(lambda x, p: (block(p, x), None), x, params)[0] ** 2)

    return Case(sgd(loss), (params, put(rand(8, 8, 16), "data", mesh=LINE)))


@program
def recurrence():
    def cell(h, x):
        h = jnp.tanh(x + h * 0.5)
        return h, (h, h.sum())

    return Case(lambda xs, h: lax.scan(cell, h, xs), (put(rand(12, 16, 8), None, "data"), put(rand(16, 8), "data")))


@program
def while_until_converged():
    def f(a):
        go = lambda s: (jnp.max(jnp.abs(s[0] * s[0] - a)) > 1e-4) & (s[1] < 30)
        return lax.while_loop(go, lambda s: ((s[0] + a / s[0]) / 2, s[1] + 1), (a, 0))

    return Case(f, (put(np.abs(rand(32, 4)) + 0.5, "data", "model"),))


@program
def branches():
    def f(i, x):
        y = lax.switch(i, [jnp.sin, lambda x: x @ x.T @ x, lambda x: -x], x)
        return lax.cond(y.sum() > 0, lambda y: y, lambda y: 2 * y, y)

    return Case(f, (put(np.int32(1)), put(rand(16, 8), "data", "model")))


@program
def donated_in_place():
    def f(state, x):
        return {"a": state["a"] + x, "b": (state["b"][0] * 2, state["b"][1])}, x.sum()

    state = {"a": put(rand(16, 8), "data"), "b": (put(rand(8, 8), "model"), put(np.arange(8), None))}
    return Case(f, (state, put(rand(16, 8, seed=1), "data")), {"donate_argnums": (0,)})


@program
def static_arguments():
    def f(x, degree, *, kind):
        return sum(x**i for i in range(degree)) if kind == "sum" else x * degree

    use = lambda jitted: lambda x: (jitted(x, 3, kind="sum"), jitted(x, 2, kind="other"), jitted(x, 3, kind="sum"))
    return Case(f, (put(rand(16, 8), "data"),), {"static_argnums": 1, "static_argnames": "kind"}, use)


class Pair(NamedTuple):
    left: Any
    right: Any


@jax.tree_util.register_dataclass
@__import__("dataclasses").dataclass
class Box:
    inside: Any
    nothing: Any = None


@program
def pytrees():
    def f(box, *rest, **named):
        (pair,) = rest
        return Box(Pair(box.inside["x"] + pair.left, [pair.right.T]), None), {"deep": [{"er": named["z"] @ box.inside["x"]}], "none": None}

    args = (Box({"x": put(rand(8, 8), "data")}), Pair(put(rand(8, 8, seed=1)), put(rand(8, 4), "data", "model")))
    return Case(f, args, {}, lambda jitted: lambda box, pair: jitted(box, pair, z=rand(3, 8)))


@program
def stated_shardings():
    s = lambda *axes: NamedSharding(MESH, P(*axes))
    f = lambda x, w: (x @ w, (x * 2, w.sum(0)))
    jit = {"in_shardings": (s("data"), s(None, "model")), "out_shardings": (s("model", "data"), (s(None, "data"), s()))}
    return Case(f, (rand(16, 8), rand(8, 24)), jit)


@program
def constraints_inside():
    def f(x, w):
        y = lax.with_sharding_constraint(x @ w, NamedSharding(MESH, P("data", "model")))
        z = lax.with_sharding_constraint(jnp.sin(y), NamedSharding(MESH, P(None, "data")))
        return z.T @ y

    return Case(f, (put(rand(16, 8), "data"), put(rand(8, 32), None, "model")))


@program
def nothing_committed():
    f = lambda x, w: lax.with_sharding_constraint(x @ w, NamedSharding(MESH, P("data", "model"))).sum(0)
    return Case(f, (rand(16, 8), jnp.asarray(rand(8, 4))))


@program
def explicit_shardings():
    explicit = (jax.sharding.AxisType.Explicit,) * 2
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=explicit)

    def f(x, w):
        y = jnp.einsum("bi,ij->bj", x, w)
        return jax.sharding.reshard(jnp.tanh(y), NamedSharding(mesh, P("data", None))).sum(1)

    return Case(f, (put(rand(16, 8), "data", mesh=mesh), put(rand(8, 12), None, "model", mesh=mesh)))


@program
def convolutions():
    conv = functools.partial(lax.conv_general_dilated, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(params, images, labels):
        x = jax.nn.relu(conv(images, params["a"], window_strides=(1, 1)))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = jax.nn.relu(conv(x, params["b"], window_strides=(2, 2)))
        logits = x.reshape(x.shape[0], -1) @ params["c"]
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 10), -1))

    params = jax.tree.map(put, {"a": rand(3, 3, 3, 8), "b": rand(3, 3, 8, 16), "c": rand(64, 10)})
    return Case(sgd(loss), (params, put(rand(16, 8, 8, 3), "data"), put(np.arange(16) % 10, "data")))


@program
def embeddings_sharded_by_vocabulary():
    def loss(table, tokens):
        x = table[tokens]
        return jnp.mean(jax.nn.logsumexp(x @ table.T, -1))

    tokens = np.random.default_rng(1).integers(0, 64, (16, 5))
    return Case(jax.value_and_grad(loss), (put(rand(64, 16), "model"), put(tokens, "data")))


@program
def sorting():
    f = lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1), lax.top_k(x, 3), jnp.cumsum(x, 0), jnp.median(x, 0))
    return Case(f, (put(rand(16, 8), "data", "model"),))


@program
def integers_and_indices():
    def f(x, i):
        hits = jnp.zeros((8, x.shape[1]), jnp.int32).at[i].add(x, mode="drop")
        return hits, x[i % 16], jnp.bincount(i, length=8), lax.population_count(x.astype(jnp.uint32)), x.max(1) // 3

    x = np.random.default_rng(2).integers(-50, 50, (16, 8)).astype(np.int32)
    return Case(f, (put(x, "data", "model"), put(np.arange(16) * 7 % 11, "data")))


@program
def mixture_of_experts():
    def f(x, gate, up, down):
        probs = jax.nn.softmax(x @ gate)
        value, chosen = lax.top_k(probs, 2)
        weight = jnp.sum(jax.nn.one_hot(chosen, 8) * value[..., None], 1)
        inside = jax.nn.silu(jnp.einsum("td,edf->etf", x, up))
        return jnp.einsum("etf,efd,te->td", inside, down, weight)

    args = (put(rand(32, 16), "data"), put(rand(16, 8)), put(rand(8, 16, 32), "model"), put(rand(8, 32, 16), "model"))
    return Case(f, args)


@program
def random_numbers():
    def f(key, x):
        a, b = jax.random.split(key)
        keep = jax.random.bernoulli(a, 0.8, x.shape)
        return jnp.where(keep, x / 0.8, 0), jax.random.normal(b, (8, 4)), jax.random.permutation(a, 16)

    return Case(f, (jax.random.key(7), put(rand(16, 8), "data", "model")))


@program
def custom_derivative():
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))
    return Case(jax.grad(lambda x, w: jnp.sum((clipped(x) @ w) ** 2)), (put(rand(16, 8), "data"), put(rand(8, 4), None, "model")))


@program
def linear_algebra():
    def f(a, b):
        s = a @ jnp.swapaxes(a, -1, -2) + 3 * jnp.eye(6)
        return jnp.linalg.solve(s, b), jnp.linalg.cholesky(s), jnp.fft.rfft(b[..., 0]).real

    return Case(f, (put(rand(8, 6, 6), "data"), put(rand(8, 6, 4), "data")))


@program
def callbacks():
    def f(x):
        y = jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x * 2)
        return y + 1

    return Case(f, (put(rand(16, 8), "data"),))


@program
def nested_jits():
    inner = jax.jit(lambda x: jnp.tanh(x) @ x.T)
    return Case(lambda x: inner(x) + inner(x * 2), (put(rand(16, 8), "data", "model"),))


@program
def several_results_one_argument_unused():
    f = lambda x, unused, y: (x, y, x + y, x, 3, jnp.float32(2) * x[0, 0])
    return Case(f, (put(rand(16, 8), "data"), put(rand(4)), put(rand(16, 8, seed=1), None, "model")))


@program
def sizes_that_do_not_divide():
    f = lambda x, w: (jnp.tanh(x @ w) * 2, (x @ w).sum(0))
    return Case(f, (put(rand(13, 7)), put(rand(7, 10), None, "model")))


def loss_of_products(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


OUTSIDE_ARGS = lambda: (put(rand(8, 12), None, "model"), put(rand(16, 8), "data"))


@program
def gradient_outside():
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, lambda f: jax.grad(f, argnums=(0, 1)))


@program
def gradient_of_loss_with_aux_outside():
    f = lambda w, x: (loss_of_products(w, x), {"norm": jnp.sum(w * w)})
    return Case(f, OUTSIDE_ARGS(), {}, lambda f: jax.value_and_grad(f, has_aux=True))


@program
def second_derivative_outside():
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, lambda f: lambda w, x: jax.jvp(jax.grad(f), (w, x), (w, x)))


@program
def hessian_outside():
    f = lambda w: jnp.sum(jnp.sin(w) ** 2 * w[::-1])
    return Case(f, (put(rand(8), "data", mesh=LINE),), {}, jax.hessian)


@program
def batched_outside():
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, lambda f: jax.vmap(f, in_axes=(None, 0)))


@program
def gradients_of_each_example_outside():
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, lambda f: jax.vmap(jax.grad(f), in_axes=(None, 0)))


@program
def vjp_outside():
    def use(f):
        def pull(w, x):
            value, back = jax.vjp(f, w, x)
            return value, back(jnp.ones_like(value))

        return pull

    return Case(lambda w, x: jnp.tanh(x @ w), OUTSIDE_ARGS(), {}, use)


@program
def checkpointed_outside():
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, lambda f: jax.grad(jax.checkpoint(f)))


@program
def inside_a_scan_outside():
    use = lambda f: lambda w, x: lax.scan(lambda c, x: (c * f(w, x[None]), c), jnp.float32(1), x)
    return Case(loss_of_products, OUTSIDE_ARGS(), {}, use)
