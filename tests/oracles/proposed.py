"""Runs a function in JAX under meshes and PartitionSpecs that `search` proposes, on simulated CPU devices.

Standard input holds one JSON object a line: {"name", "mesh", "arguments", "results", "inputs", "expected"}: the mesh as a call
of jax.make_mesh, the specs of arguments and results as text, npz files with arg0, arg1, ... and out0, out1, .... For each, one
JSON object is printed: {"name", "error"}, where error is null when the sharded run has the values of the one on a single device
and of the file, and everything lies on the devices as the specs say.
"""

import json
import os
import sys

DEVICES = 8
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def feed_forward(x, up, down):
    return jnp.tanh(x @ up) @ down


def run(case):
    mesh = eval(case["mesh"], {"jax": jax})
    if mesh.size != DEVICES:
        return f"a mesh of {mesh.size} devices"
    placed = lambda specs: [NamedSharding(mesh, eval(spec, {"P": P})) for spec in specs]
    ins, outs = placed(case["arguments"]), placed(case["results"])
    inputs, expected = np.load(case["inputs"]), np.load(case["expected"])
    arguments = [inputs[f"arg{i}"] for i in range(len(ins))]
    want = np.asarray(jax.jit(feed_forward)(*arguments))
    sharded = jax.jit(feed_forward, in_shardings=tuple(ins), out_shardings=outs[0])
    got = sharded(*[jax.device_put(a, s) for a, s in zip(arguments, ins, strict=True)])
    if got.sharding != outs[0]:
        return f"the result lies as {got.sharding}"
    if len(got.addressable_shards) != DEVICES or got.is_fully_replicated:
        return "the result isn't in shards"
    for shard in got.addressable_shards:
        if not np.array_equal(np.asarray(shard.data), np.asarray(got)[shard.index]):
            return f"device {shard.device} holds something else"
    # A few roundings, relative to the largest value, since sums may cancel.
    limit = 64 * np.finfo(np.float32).eps * np.abs(want).max()
    for other, what in [(want, "one device"), (expected["out0"], "the reference")]:
        if not (np.abs(np.asarray(got) - other) <= limit).all():
            return f"differs from {what} by {np.abs(np.asarray(got) - other).max()}"
    return None


for line in sys.stdin:
    case = json.loads(line)
    try:
        error = run(case)
    except Exception as exception:
        error = f"{type(exception).__name__}: {str(exception)[:600]}"
    print(json.dumps({"name": case["name"], "error": error}), flush=True)
