"""The programs of the benchmarks, as JAX prints them: training steps of a decoder-only transformer whose layers are
written out one after the other, and a feed-forward block.

    python programs.py DIR NAME...    writes DIR/NAME.mlir; names as in PROGRAMS
"""
import os
import sys

MODEL, HEADS, WIDTH, HIDDEN, WORDS, BATCH, LENGTH = 1024, 16, 64, 4096, 32768, 32, 512

# name: (layers, mesh axes); the first axis cuts the batch and the weights' model dimension, the last heads and hidden units.
GPT = {
    "gpt_l4_m2x4": (4, {"data": 2, "model": 4}),
    "gpt_l24_m2x4": (24, {"data": 2, "model": 4}),
    "gpt_l24_m16x16": (24, {"data": 16, "model": 16}),
    "gpt_l96_m2x4": (96, {"data": 2, "model": 4}),
}
PROGRAMS = [*GPT, "mlp_tp"]


def devices(name):
    """How many devices a program is for."""
    count = 1
    for size in GPT[name][1].values() if name in GPT else [8]:
        count *= size
    return count


def gpt(layers, axes):
    """One step of gradient descent."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))
    data, model = list(axes)[0], list(axes)[-1]
    specs = {
        "emb": ((WORDS, MODEL), P(model, data)),
        "norm1": ((layers, MODEL), P()),
        "norm2": ((layers, MODEL), P()),
        "q": ((layers, MODEL, HEADS, WIDTH), P(None, data, model)),
        "k": ((layers, MODEL, HEADS, WIDTH), P(None, data, model)),
        "v": ((layers, MODEL, HEADS, WIDTH), P(None, data, model)),
        "o": ((layers, HEADS, WIDTH, MODEL), P(None, model, None, data)),
        "up": ((layers, MODEL, HIDDEN), P(None, data, model)),
        "down": ((layers, HIDDEN, MODEL), P(None, model, data)),
    }

    def norm(x, scale):
        x32 = x.astype(jnp.float32)
        return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)).astype(x.dtype) * scale

    def loss(p, tokens):
        x = p["emb"][tokens[:, :-1]]
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        for i in range(layers):
            h = norm(x, p["norm1"][i])
            q, k, v = (jnp.einsum("bsd,dhk->bshk", h, p[n][i]) for n in "qkv")
            scores = jnp.einsum("bshk,bthk->bhst", q, k).astype(jnp.float32) / WIDTH**0.5
            weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(x.dtype)
            x = x + jnp.einsum("bhst,bthk,hkd->bsd", weights, v, p["o"][i])
            h = norm(x, p["norm2"][i])
            x = x + jax.nn.gelu(h @ p["up"][i]) @ p["down"][i]
        logits = (x @ p["emb"].T).astype(jnp.float32)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
        return -jnp.mean(picked)

    def step(p, tokens):
        value, gradients = jax.value_and_grad(loss)(p, tokens)
        return jax.tree.map(lambda w, g: w - 0.01 * g, p, gradients), value

    here = {name: NamedSharding(mesh, spec) for name, (_, spec) in specs.items()}
    arguments = {name: jax.ShapeDtypeStruct(shape, jnp.bfloat16) for name, (shape, _) in specs.items()}
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)
    places = (here, NamedSharding(mesh, P(data)))
    lowered = jax.jit(step, in_shardings=places, out_shardings=(here, NamedSharding(mesh, P()))).lower(arguments, tokens)
    return lowered.as_text()


def mlp_tp():
    """A feed-forward block whose hidden units are cut over 8 devices."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    mesh = jax.make_mesh((8,), ("model",), axis_types=(AxisType.Auto,))
    put = lambda *axes: NamedSharding(mesh, P(*axes))
    block = lambda x, up, down: jax.nn.gelu(x @ up) @ down
    shapes = [(1024, 1024), (1024, 4096), (4096, 1024)]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    places = (put(), put(None, "model"), put("model"))
    return jax.jit(block, in_shardings=places, out_shardings=put()).lower(*arguments).as_text()


def main(folder, names):
    os.makedirs(folder, exist_ok=True)
    most = max(devices(name) for name in names)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={most}"
    for name in names:
        text = gpt(*GPT[name]) if name in GPT else mlp_tp()
        with open(os.path.join(folder, name + ".mlir"), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or PROGRAMS)
