"""The training cookbook: a transformer of explicit shardings, trained in place through references, in the page's placements."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from programs import rand
from tutorials import types

DEPTH, WIDTH, HIDDEN, HEADS, HEAD, VOCABULARY, LENGTH, BATCH = 1, 32, 64, 4, 8, 64, 16, 16
PLACED = ("positions", "embedding", "qkv", "out", "up", "down", "in", "bias", "logits")

# How parameters are sharded, and then activations: of rank 3, of heads, and hidden ones.
WAYS = {
    "data": (
        (8,),
        ("data",),
        dict.fromkeys(PLACED, P()),
        (P("data", None, None), P("data", None, None, None), P("data", None, None)),
    ),
    "parameters": (
        (8,),
        ("fsdp",),
        dict.fromkeys(PLACED, P())
        | {"qkv": P(None, "fsdp", None, None), "out": P(None, None, "fsdp"), "up": P("fsdp", None), "down": P(None, "fsdp"), "logits": P("fsdp", None)},
        (P("fsdp", None, None), P("fsdp", None, None, None), P("fsdp", None, None)),
    ),
    "parameters and features": (
        (4, 2),
        ("fsdp", "tensor"),
        {
            "positions": P(None, "tensor"),
            "embedding": P(None, "tensor"),
            "qkv": P(None, "fsdp", "tensor", None),
            "out": P("tensor", None, "fsdp"),
            "up": P("fsdp", "tensor"),
            "down": P("tensor", "fsdp"),
            "in": P(None, None),
            "bias": P(None),
            "logits": P("fsdp", "tensor"),
        },
        (P("fsdp", None, None), P("fsdp", None, "tensor", None), P("fsdp", None, "tensor")),
    ),
}


def run(jit):
    for name, (shape, axes, params, activations) in WAYS.items():
        mesh = jax.make_mesh(shape, axes, axis_types=(AxisType.Explicit,) * len(shape))
        with jax.set_mesh(mesh):
            yield from trained(jit, name, params, activations, axes[0])
    yield "a schedule", jit(schedule)(np.arange(8) * 2000)


def schedule(count):
    return 1e-4 * (1 - 1e-6) * 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(count, 10_000) / 10_000))


SHAPES = {
    "positions": (LENGTH, WIDTH),
    "embedding": (VOCABULARY, WIDTH),
    "in": (1, WIDTH),
    "bias": (WIDTH,),
    "logits": (WIDTH, VOCABULARY),
}
OF_LAYER = {"qkv": (3, WIDTH, HEADS, HEAD), "out": (HEADS, HEAD, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}


def parameters(make):
    """`make` gets a name and a shape."""
    of = lambda shapes: {name: make(name, shape) for name, shape in shapes.items()}
    return {**of(SHAPES), "layers": [of(OF_LAYER) for _ in range(DEPTH)]}


def drawn(specs):
    """Parameters that are made where they are to be."""
    keys = map(functools.partial(jax.random.fold_in, jax.random.key(12738)), range(100))
    zeros, normal = jax.nn.initializers.constant(0.0), jax.nn.initializers.he_normal(1, 1)
    return parameters(lambda name, shape: (zeros if name in ("positions", "bias") else normal)(next(keys), shape, "float32", specs[name]))


def placed(specs):
    return parameters(lambda name, shape: jax.device_put(rand(*shape), specs[name]))


def normalized(x):
    return x * lax.rsqrt(jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)


def model(params, tokens, sequence, heads, hidden):
    # Positions are added where the features are whole again.
    x = params["embedding"].at[tokens].get(out_sharding=sequence)
    x += jax.sharding.reshard(params["positions"], P(None, None))
    for p in params["layers"]:
        qkv = jnp.einsum("bsd,cdkh->cbskh", x, p["qkv"], out_sharding=P(None, *heads))
        scores = jnp.einsum("bqkh,bskh->bkqs", qkv[0], qkv[1]) / np.float32(np.sqrt(HEAD))
        scores = jnp.where(np.tril(np.ones((LENGTH, LENGTH), bool)), scores, -1e9)
        mixed = jnp.einsum("bkqs,bskh->bqkh", jax.nn.softmax(scores, -1), qkv[2])
        x = normalized(x + jnp.einsum("bskh,khd->bsd", mixed, p["out"], out_sharding=sequence))
        up = jax.nn.gelu(jnp.einsum("bsd,dh->bsh", x, p["up"], out_sharding=hidden))
        x = normalized(x + jnp.einsum("bsh,hd->bsd", up, p["down"], out_sharding=sequence))
    return jnp.einsum("bsd,dl->bsl", x, params["logits"], out_sharding=sequence)


def loss(params, batch, activations):
    labels = jax.nn.one_hot(batch["target"], VOCABULARY)
    return -(labels * jax.nn.log_softmax(model(params, batch["observed"], *activations))).mean()


def updated(param, grad, mean, square, count):
    # The page's betas weigh the new gradient.
    mean, square, count = 0.1 * mean + 0.9 * grad, 0.001 * square + 0.999 * grad**2, count + 1
    step = (mean / (1 - 0.9**count)) / (jnp.sqrt(square / (1 - 0.999**count)) + 1e-3)
    return param - 1e-2 * step, mean, square, count


def stepped(params, state, batch, activations, new):
    """A step with `new(param, grad, state)` for each parameter."""
    value, grads = jax.value_and_grad(loss)(params, batch, activations)
    leaves, structure = jax.tree.flatten(params)
    news = [updated(p, g, *s) for p, g, s in zip(leaves, jax.tree.leaves(grads), structure.flatten_up_to(state))]
    return new(structure, news), value


def trained(jit, name, specs, activations, batch_axis):
    text = np.random.default_rng(3).integers(0, VOCABULARY, LENGTH + 1).astype(np.uint8)
    sharding = NamedSharding(jax.sharding.get_mesh(), P(batch_axis))
    rows = lambda line: jax.make_array_from_process_local_data(sharding, np.tile(line, (BATCH, 1)))
    batch = {"observed": rows(text[:-1]), "target": rows(text[1:])}
    params = placed(specs)
    state = jax.tree.map(lambda p: (jnp.zeros_like(p), jnp.zeros_like(p), jnp.array(0)), params)
    yield f"logits by {name}", jit(lambda params, tokens: model(params, tokens, *activations))(params, batch["observed"])

    def by_value(params, state, batch):
        split = lambda structure, news: (structure.unflatten([n[0] for n in news]), structure.unflatten([n[1:] for n in news]))
        return stepped(params, state, batch, activations, split)

    if name != "parameters and features" or not hasattr(jax, "new_ref"):
        step, now = jit(by_value), (params, state)
        for number in range(3):
            now, value = step(*now, batch)
            yield f"loss by {name}, step {number}", value
        return
    yield f"drawn by {name}", (lambda drawn: (drawn, types(*jax.tree.leaves(drawn))))(jit(lambda: drawn(specs))())

    def in_place(params, state, batch):
        def put(structure, news):
            for refs, new in zip(zip(structure.flatten_up_to(params), structure.flatten_up_to(state)), news):
                for ref, value in zip((refs[0], *refs[1]), new):
                    ref[...] = value

        read = functools.partial(jax.tree.map, lambda ref: ref[...])
        return stepped(read(params), read(state), batch, activations, put)[1]

    refs, step = jax.tree.map(jax.new_ref, (params, state)), jit(in_place)
    for number in range(3):
        yield f"loss in place by {name}, step {number}", step(*refs, batch)
    yield f"logits in place by {name}", refs[0]["logits"][...]
