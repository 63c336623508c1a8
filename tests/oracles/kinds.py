"""Writes the programs kind_* of the corpus: small ones of kinds in which data moves between neighbors or shards are combined.

    python kinds.py DIR

Shardings are those of the arguments (and some results); expected results are computed on one device without them, since
JAX's own partitioned results needn't be right. Needs the environment of `make oracles`.
"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P


def wave(u, before):
    """Steps of a wave equation with a fixed border."""
    def step(_, state):
        u, before = state
        padded = jnp.pad(u, 1)
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        return 2 * u - before + 0.1 * (around - 4 * u), u
    return lax.fori_loop(0, 3, step, (u, before))


def advect(u):
    """A periodic flow, by rolls."""
    for _ in range(3):
        u = u - 0.25 * (jnp.roll(u, 1, 0) - jnp.roll(u, -1, 0)) + 0.1 * (jnp.roll(u, 3, 1) - u)
    return u


def conv_down(x, kernels, target):
    """The gradient of strided convolutions."""
    def loss(kernels):
        y = x
        for kernel in kernels:
            y = lax.conv_general_dilated(y, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            y = jnp.maximum(y, 0.1 * y)
        return ((y - target) ** 2).sum()
    return jax.grad(loss)(kernels)


def pool(x):
    """Maxima and means over windows, and the gradient of the maxima."""
    def most(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME")
    mean = lax.reduce_window(x, 0.0, lax.add, (2, 4), (2, 2), "VALID") / 8
    return most(x), mean, jax.grad(lambda x: (most(x) ** 2).sum())(x)


def recurrence(a, b):
    """h[t] = a[t] * h[t-1] + b[t], by an associative scan."""
    return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]


def scans(x):
    return jnp.cumsum(x), lax.cumlogsumexp(x), lax.cummin(x), lax.cummax(x, reverse=True)


def fft2(x):
    return jnp.fft.ifft2(jnp.fft.fft2(x) * 2).real


def top_k(x):
    values, places = lax.top_k(x, 5)
    return values, places, jnp.argmax(x, -1)


def local_attention(q, k, v):
    """Blocks look at themselves and at the block before."""
    blocks, size = 16, q.shape[0] // 16
    q, k, v = (t.reshape(blocks, size, *t.shape[1:]) for t in (q, k, v))
    with_last = lambda t: jnp.concatenate([jnp.concatenate([jnp.zeros_like(t[:1]), t[:-1]]), t], 1)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, with_last(k)) / 2, -1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, with_last(v)).reshape(blocks * size, *q.shape[2:])


def joins(x, y):
    return jnp.concatenate([x, y])[::-1], jnp.pad(x, ((5, 3), (0, 0)))[8:], x[::-1] + x


def constrained(x, mesh, spec):
    return lax.with_sharding_constraint(x, NamedSharding(MESHES[mesh], spec)) if SHARDED else x


def uneven_mlp(x, up, down):
    return constrained(jax.nn.relu(x @ up), "x", P(None, "x")) @ down


def reshard_swap(x):
    return constrained(x * 2, "xy", P("y", "x", None))


def embedding(table, tokens, weight):
    """Rows of a table, and the table's gradient."""
    loss = lambda table: (table[tokens] * weight).sum()
    return table[tokens], jax.grad(loss)(table)


def cache(kv, update, position):
    """A write at a position of each sequence."""
    return jax.vmap(lambda c, u, p: lax.dynamic_update_slice(c, u, (p, 0)))(kv, update, position)


# Whether constraints count: on one device they mean nothing.
SHARDED = True
MESHES = {
    "x": jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,)),
    "xy": jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2),
}
F = np.float32
# Name: function, mesh, for each argument its shape, type and sharding; shardings of the results, where stated.
KINDS = {
    "wave": (wave, "xy", [((16, 16), F, P("x", "y"))] * 2, None),
    "advect": (advect, "xy", [((12, 16), F, P("x", "y"))], P("x", "y")),
    "conv_down": (conv_down, "xy", [((2, 16, 16, 2), F, P("x", "y")), ([(3, 3, 2, 4), (3, 3, 4, 4)], F, P()), ((2, 4, 4, 4), F, P("x", "y"))], None),
    "pool": (pool, "xy", [((16, 24), F, P("x", "y"))], None),
    "recurrence": (recurrence, "x", [((32, 4), F, P("x"))] * 2, P("x")),
    "scans": (scans, "x", [((64,), F, P("x"))], P("x")),
    "fft2": (fft2, "x", [((16, 8), F, P("x"))], P("x")),
    "top_k": (top_k, "x", [((3, 64), F, P(None, "x"))], P()),
    "local_attention": (local_attention, "x", [((64, 2, 4), F, P("x"))] * 3, P("x")),
    "joins": (joins, "x", [((16, 3), F, P("x"))] * 2, P("x")),
    "uneven_mlp": (uneven_mlp, "x", [((5, 12), F, P()), ((12, 30), F, P()), ((30, 12), F, P())], P()),
    "argsort": (jnp.argsort, "x", [((64,), np.int32, P("x"))], P("x")),
    "reshard_swap": (reshard_swap, "xy", [((8, 8, 3), F, P("x", "y"))], None),
    "embedding": (embedding, "x", [((24, 4), F, P("x")), ((10,), np.int32, P()), ((10, 4), F, P())], None),
    "cache": (cache, "xy", [((4, 16, 3), F, P("x", "y")), ((4, 1, 3), F, P("x")), ((4,), np.int32, P("x"))], P("x", "y")),
}


def main(folder):
    for index, (name, (function, mesh, arguments, results)) in enumerate(KINDS.items()):
        random = np.random.default_rng(index)
        def array(shape, ty):
            if isinstance(shape, list):
                return [array(s, ty) for s in shape]
            # Ties, and positions out of range.
            values = random.integers(-12, 24, shape)
            return (values if ty == np.int32 else values / 8).astype(ty)
        values = [array(shape, ty) for shape, ty, _ in arguments]
        at = lambda spec: NamedSharding(MESHES[mesh], spec)
        spread = [jax.tree.map(lambda _: at(spec), value) for value, (_, _, spec) in zip(values, arguments, strict=True)]
        stated = {} if results is None else {"out_shardings": at(results)}
        text = jax.jit(function, in_shardings=spread, **stated).lower(*values).as_text()
        globals()["SHARDED"] = False
        # Another function, or JAX would take what it traced.
        expected = jax.tree.leaves(jax.jit(lambda *values: function(*values))(*values))
        globals()["SHARDED"] = True
        out = os.path.join(folder, f"kind_{name}")
        os.makedirs(out, exist_ok=True)
        with open(os.path.join(out, "program.mlir"), "w") as file:
            file.write(text)
        np.savez_compressed(os.path.join(out, "inputs.npz"), **{f"arg{i}": np.asarray(v) for i, v in enumerate(jax.tree.leaves(values))})
        np.savez_compressed(os.path.join(out, "expected.npz"), **{f"out{i}": np.asarray(v) for i, v in enumerate(expected)})
        print(name, len(text))


if __name__ == "__main__":
    main(sys.argv[1])
