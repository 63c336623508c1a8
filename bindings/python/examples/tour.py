# %% [markdown]
# # shardc from JAX
#
# Eight simulated devices, as a mesh of 4 by 2.

# %%
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import shardc

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
put = lambda value, *axes: jax.device_put(value, NamedSharding(mesh, P(*axes)))

# %% [markdown]
# A feed-forward block with its weights sharded over `model` and the batch over `data`, and one step of training it.

# %%
random = np.random.default_rng(0)
params = {
    "up": put(random.standard_normal((64, 256), np.float32) / 8, None, "model"),
    "down": put(random.standard_normal((256, 64), np.float32) / 16, "model", None),
}
x = put(random.standard_normal((128, 64), np.float32), "data", None)


def loss(params, x):
    hidden = jax.nn.relu(x @ params["up"])
    return jnp.mean((hidden @ params["down"] - x) ** 2)


def train_step(params, x):
    value, grads = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


# %% [markdown]
# `shardc.jit` is `jax.jit`, with communication planned for the whole program: same arguments, same results, same shardings.

# %%
step = shardc.jit(train_step)
new, value = step(params, x)
want, value_of_jax = jax.jit(train_step)(params, x)
print(f"loss {float(value):.3f}, with jax.jit {float(value_of_jax):.3f}")
for name in new:
    np.testing.assert_allclose(new[name], want[name], rtol=1e-5, atol=1e-6)
    print(name, new[name].shape, new[name].sharding.spec, "as with jax.jit:", want[name].sharding.spec)

# %% [markdown]
# How is each value sharded? A report prints as text; a notebook displays it as a picture.

# %%
lowered = step.lower(params, x)
shardc.show(lowered)

# %% [markdown]
# Each collective: its reason, and a change that removes it, with the lines of this notebook.

# %%
print(shardc.explain(lowered))

# %% [markdown]
# How long would it take on a slice of TPUs, and does it fit?

# %%
report = shardc.cost(lowered, target="v5e:4x2")
print(report)
report.json["step_s"], report.json["peak_bytes"]

# %% [markdown]
# Does partitioning change its results? shardc's evaluator compares them on random inputs, and measures rounding.

# %%
print(shardc.check(lowered))

# %% [markdown]
# The program of each device: one product over the shards, then a sum over `model`.

# %%
forward = jax.jit(lambda params, x: jax.nn.relu(x @ params["up"]) @ params["down"])
print(shardc.partition(forward.lower(params, x)))

# %% [markdown]
# Derivatives and batches of a planned function are planned, too: the forward and the backward program separately.

# %%
grads = jax.grad(shardc.jit(loss))(params, x)
{name: (g.shape, g.sharding.spec) for name, g in grads.items()}

# %% [markdown]
# A program that can't be compiled raises an error with its line.

# %%
try:
    shardc.partition("""
    func.func @main(%a: tensor<4xf32>, %b: tensor<8xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %a, %b : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
except shardc.ShardcError as error:
    print(error)
