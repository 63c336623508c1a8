"""The guide to SPMD: one training step, sharded by data, by tensors, by both, and fully."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from programs import MESH, adam, put, rand, transformer_loss, transformer_params

RULES = {"q": 1, "k": 1, "v": 1, "o": 0, "up": 1, "down": 0}
"""The dimension of each matrix that tensor parallelism shards."""


def placed(axes, data):
    """Parameters sharded along the dimensions of `RULES` by `axes`, along the other by `data`."""

    def place(path, p):
        dim = RULES.get(path[-1].key) if p.ndim == 2 else None
        if dim is None:
            return put(p)
        spec = [data, data]
        spec[dim] = axes
        spec[1 - dim] = data
        return put(p, *spec)

    return jax.tree_util.tree_map_with_path(place, transformer_params(32, 16, 1))


def run(jit):
    tokens = np.random.default_rng(0).integers(0, 32, (8, 9)).astype(np.int32)
    for name, axes, data, batch in (
        ("data", None, None, ("data", "model")),
        ("tensors", ("data", "model"), None, None),
        ("data and tensors", "model", None, "data"),
        ("data, tensors and parameters", "model", "data", "data"),
    ):
        params = placed(axes, data)
        like = jax.tree.map(jnp.zeros_like, params)
        state = (params, like, jax.tree.map(jnp.zeros_like, like), put(np.float32(0)))
        shardings = jax.tree.map(lambda p: p.sharding, state)
        step = jit(adam(transformer_loss), donate_argnums=0, out_shardings=(shardings, NamedSharding(MESH, P())))
        for number in range(2):
            state, loss = step(state, put(tokens, batch))
            yield f"by {name}, step {number}", loss
        # Adam divides by what may be near zero, so parameters are compared after a forward pass.
        yield f"by {name}, in the end", jit(transformer_loss)(state[0], put(tokens, batch))

    x = put(rand(16, 32), "data", "model")
    for spec in (P(), P("model", "data"), P(None, ("data", "model")), P(("data", "model"))):
        yield f"to {spec}", jit(lambda x: x, out_shardings=NamedSharding(MESH, spec))(x)
        yield f"inside to {spec}", jit(lambda x, spec=spec: lax.with_sharding_constraint(x * 2, NamedSharding(MESH, spec)) + 1)(x)
