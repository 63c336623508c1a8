"""Prints a training step of a small GPT by JAX, at two sizes, with inputs and JAX's results for the smaller one.

Run in this folder with the packages of ../oracles/requirements.txt:  python generate.py
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

LAYERS = 2
mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

# Parameters are sharded over both axes, activations by batch, and by heads or features inside a layer.
SPECS = {
    "embed": P("model", "data"),
    "position": P(None, "data"),
    "norm": P(None, None, None),
    "qkv": P(None, "data", None, "model", None),
    "out": P(None, "model", None, "data"),
    "up": P(None, "data", "model"),
    "down": P(None, "model", "data"),
    "last": P(None),
}


def shapes(vocabulary, width, heads, hidden, length):
    head = width // heads
    return {
        "embed": (vocabulary, width),
        "position": (length, width),
        "norm": (LAYERS, 2, width),
        "qkv": (LAYERS, width, 3, heads, head),
        "out": (LAYERS, heads, head, width),
        "up": (LAYERS, width, hidden),
        "down": (LAYERS, hidden, width),
        "last": (width,),
    }


def constrain(x, *axes):
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*axes)))


def norm(x, scale):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    variance = jnp.square(wide - mean).mean(-1, keepdims=True)
    return ((wide - mean) * jax.lax.rsqrt(variance + 1e-5)).astype(x.dtype) * scale


def attention(x, qkv, out):
    q, k, v = jnp.moveaxis(jnp.einsum("bld,dthk->blthk", x, qkv), 2, 0)
    q, k, v = (constrain(y, "data", None, "model", None) for y in (q, k, v))
    scores = jnp.einsum("blhk,bmhk->bhlm", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    length = x.shape[1]
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhlm,bmhk->blhk", weights, v)
    return jnp.einsum("blhk,hkd->bld", mixed, out)


def layer(x, norms, qkv, out, up, down):
    x = x + attention(norm(x, norms[0]), qkv, out)
    x = constrain(x, "data", None, None)
    hidden = constrain(jax.nn.gelu(norm(x, norms[1]) @ up), "data", None, "model")
    return constrain(x + hidden @ down, "data", None, None)


def loss(params, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embed"][inputs] + params["position"]
    x = constrain(x, "data", None, None)
    for i in range(LAYERS):
        x = layer(x, *(params[name][i] for name in ("norm", "qkv", "out", "up", "down")))
    logits = (norm(x, params["last"]) @ params["embed"].T).astype(jnp.float32)
    logits = constrain(logits, "data", None, "model")
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def step(params, tokens):
    value, grads = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.1 * g.astype(p.dtype), params, grads), value


def jitted():
    params = {name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}
    scalar, tokens = NamedSharding(mesh, P()), NamedSharding(mesh, P("data", None))
    return jax.jit(step, in_shardings=(params, tokens), out_shardings=(params, scalar))


def write(name, batch, dtype, sizes):
    types = {n: jax.ShapeDtypeStruct(shape, dtype) for n, shape in shapes(**sizes).items()}
    tokens = jax.ShapeDtypeStruct((batch, sizes["length"] + 1), jnp.int32)
    with open(f"{name}.mlir", "w") as file:
        file.write(jitted().lower(types, tokens).as_text())


def main():
    small = dict(vocabulary=32, width=16, heads=4, hidden=32, length=8)
    write("small", 4, jnp.float32, small)
    write("large", 32, jnp.bfloat16, dict(vocabulary=32768, width=1024, heads=16, hidden=4096, length=512))
    random = np.random.default_rng(0)
    params = {n: (random.normal(size=s) * 0.3).astype(np.float32) for n, s in shapes(**small).items()}
    tokens = random.integers(0, small["vocabulary"], (4, small["length"] + 1)).astype(np.int32)
    inputs = jax.tree.leaves((params, tokens))
    # What JAX computes on one device.
    outputs = jax.tree.leaves(jax.jit(step)(params, tokens))
    np.savez("inputs.npz", **{f"arg{i}": x for i, x in enumerate(inputs)})
    np.savez("expected.npz", **{f"out{i}": np.asarray(x) for i, x in enumerate(outputs)})


main()
