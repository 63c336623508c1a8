"""The programs of the benchmarks for several devices, as JAX prints them: training steps of a decoder-only transformer whose
layers are written out one after the other, a feed-forward block, small training steps, collectives.

    python programs.py DIR NAME...    writes DIR/NAME.mlir; names as in PROGRAMS and CALLS
"""
import os
import sys

LARGE = {"model": 1024, "heads": 16, "width": 64, "hidden": 4096, "words": 32768, "batch": 32, "length": 512}
SMALL = {"model": 256, "heads": 4, "width": 64, "hidden": 1024, "words": 4096, "batch": 16, "length": 128}

# name: (layers, mesh axes); the first axis cuts the batch and the weights' model dimension, the last heads and hidden units.
GPT = {
    "gpt_l4_m2x4": (4, {"data": 2, "model": 4}),
    "gpt_l24_m2x4": (24, {"data": 2, "model": 4}),
    "gpt_l24_m16x16": (24, {"data": 16, "model": 16}),
    "gpt_l96_m2x4": (96, {"data": 2, "model": 4}),
}
# The feed-forward block on many devices: the same work for all of them together.
MANY = {
    "mlp_2d_8": {"x": 2, "y": 4},
    "mlp_2d_64": {"x": 8, "y": 8},
    "mlp_2d_256": {"x": 16, "y": 16},
    "mlp_2d_1024": {"x": 32, "y": 32},
}
# A feed-forward block whose rows grow with the devices: the same work for each of them.
WEAK = {f"weak_{count}": {"x": count // 4, "y": 4} for count in (8, 64, 256, 1024)}
# Training steps whose memory is compared.
STEPS = {
    "step_gpt_dp": {"data": 8},
    "step_gpt_2d": {"data": 2, "model": 4},
    "step_mlp_dp": {"data": 8},
    "step_mlp_2d": {"data": 2, "model": 4},
    "step_conv_dp": {"data": 8},
}
COLLECTIVES = ["allreduce", "allgather"]
MESHES = {name: axes for name, (_, axes) in GPT.items()} | MANY | WEAK | STEPS
PROGRAMS = [*GPT, "mlp_tp"]
CALLS = [*MANY, *WEAK, *STEPS, *COLLECTIVES]


def devices(name):
    """How many devices a program is for."""
    count = 1
    for size in MESHES.get(name, {"model": 8}).values():
        count *= size
    return count


def mesh_of(axes):
    import jax
    from jax.sharding import AxisType

    return jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def gpt(layers, axes, sizes=LARGE, kind="bfloat16"):
    """One step of gradient descent."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec as P

    MODEL, HEADS, WIDTH, HIDDEN, WORDS, BATCH, LENGTH = sizes.values()
    mesh = mesh_of(axes)
    data, model = list(axes)[0], list(axes)[-1] if len(axes) > 1 else None
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
    if len(axes) == 1:
        here = {name: NamedSharding(mesh, P()) for name in specs}
    arguments = {name: jax.ShapeDtypeStruct(shape, jnp.dtype(kind)) for name, (shape, _) in specs.items()}
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)
    places = (here, NamedSharding(mesh, P(data)))
    lowered = jax.jit(step, in_shardings=places, out_shardings=(here, NamedSharding(mesh, P()))).lower(arguments, tokens)
    return lowered.as_text()


def feed_forward(axes, rows, places, result):
    """A feed-forward block on so many rows; `places` are the axes that cut its input and its two weights."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh, block = mesh_of(axes), lambda x, up, down: jax.nn.gelu(x @ up) @ down
    put = lambda names: NamedSharding(mesh, P(*names))
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in [(rows, 1024), (1024, 4096), (4096, 1024)]]
    lowered = jax.jit(block, in_shardings=tuple(map(put, places)), out_shardings=put(result)).lower(*arguments)
    return lowered.as_text()


def mlp_tp():
    """Its hidden units are cut over 8 devices."""
    return feed_forward({"model": 8}, 1024, [(), (None, "model"), ("model",)], ())


def mlp_2d(axes):
    """All its tensors are cut in two dimensions."""
    return feed_forward(axes, 1024, [("x", "y"), ("x", "y"), ("y", "x")], ("x", "y"))


def weak(axes):
    """128 rows for each row of devices, hidden units cut over the devices of a row."""
    return feed_forward(axes, 128 * axes["x"], [("x",), (None, "y"), ("y",)], ("x",))


def step(name, axes):
    """One step of gradient descent of a small network."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec as P

    if "gpt" in name:
        return gpt(2, axes, SMALL, "float32")
    mesh, data, model = mesh_of(axes), "data", "model" if "model" in axes else None
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    if "conv" in name:
        weights = [(f32(3, 3, 3, 32), P()), (f32(3, 3, 32, 64), P()), (f32(64, 10), P())]
        batch = f32(64, 32, 32, 3)

        def network(weights, x):
            for w in weights[:-1]:
                x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
            return x.mean((1, 2)) @ weights[-1]
    else:
        weights = [(f32(512, 2048), P(None, model)), (f32(2048, 512), P(model)), (f32(512, 10), P())]
        batch = f32(2048, 512)

        def network(weights, x):
            return (x + jax.nn.gelu(x @ weights[0]) @ weights[1]) @ weights[2]

    def loss(weights, x, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(network(weights, x)), labels[:, None], 1).mean()

    def train(weights, x, labels):
        value, gradients = jax.value_and_grad(loss)(weights, x, labels)
        return [w - 0.1 * g for w, g in zip(weights, gradients)], value

    here = [NamedSharding(mesh, spec) for _, spec in weights]
    places = (here, NamedSharding(mesh, P(data)), NamedSharding(mesh, P(data)))
    lowered = jax.jit(train, in_shardings=places, out_shardings=(here, NamedSharding(mesh, P())))
    labels = jax.ShapeDtypeStruct(batch.shape[:1], jnp.int32)
    return lowered.lower([w for w, _ in weights], batch, labels).as_text()


def collective(name):
    """One collective over 8 devices, of 32 MiB on each of them."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = mesh_of({"model": 8})
    cut, whole = NamedSharding(mesh, P("model")), NamedSharding(mesh, P())
    if name == "allreduce":
        f = lambda x: x.sum(0)
        shape = (8, 1 << 23)
    else:
        f = lambda x: x * 2.0
        shape = (1 << 23,)
    return jax.jit(f, in_shardings=cut, out_shardings=whole).lower(jax.ShapeDtypeStruct(shape, jnp.float32)).as_text()


def text_of(name):
    if name in GPT:
        return gpt(*GPT[name])
    if name in MANY:
        return mlp_2d(MANY[name])
    if name in WEAK:
        return weak(WEAK[name])
    if name in STEPS:
        return step(name, STEPS[name])
    return collective(name) if name in COLLECTIVES else mlp_tp()


def main(folder, names):
    os.makedirs(folder, exist_ok=True)
    most = max(devices(name) for name in names)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={most}"
    for name in names:
        with open(os.path.join(folder, name + ".mlir"), "w") as file:
            file.write(text_of(name))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or PROGRAMS)
