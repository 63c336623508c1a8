"""One of several processes that run one program: `python worker.py PORT COUNT RANK`. Prints its result as JSON."""

import json
import os
import sys

port, count, rank = map(int, sys.argv[1:])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={8 // count}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import shardc  # noqa: E402

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{port}", count, rank)
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def put(value, *axes):
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, P(*axes)), lambda at: value[at])


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - grad, loss


w = np.arange(32, dtype=np.float32).reshape(8, 4) / 32
x = np.arange(128, dtype=np.float32).reshape(16, 8) / 128
results = {}
for name, jit in (("jax", jax.jit), ("shardc", shardc.jit)):
    new, loss = jit(step)(put(w, None, "model"), put(x, "data"))
    results[name] = {"loss": float(loss), "mine": [np.asarray(s.data).tolist() for s in new.addressable_shards]}
print(json.dumps(results))
