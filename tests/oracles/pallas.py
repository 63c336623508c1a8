"""Writes calls of kernels as JAX lowers them, whose attributes hold bytes that are no text: into DIR, as text and as bytecode.

    python pallas.py DIR

Needs no accelerator. A file's name ends with the version of JAX.
"""
import io
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jax.sharding import AbstractDevice, AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

# Files by their names alone.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

MESH = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
VECTORS = (jax.ShapeDtypeStruct((8, 128), jnp.float32),) * 2


def add(x, y, **parameters):
    def kernel(x, y, out):
        out[...] = x[...] + y[...]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="add_é", **parameters)(x, y)


def on_tpu():
    f = jax.shard_map(add, mesh=MESH, in_specs=P(None, "x"), out_specs=P(None, "x"), check_vma=False)
    return jax.jit(lambda x, y: jnp.tanh(f(x, y))).trace(*VECTORS).lower(lowering_platforms=("tpu",))


def on_gpu():
    f = lambda x, y: add(x, y, compiler_params=triton.CompilerParams(num_warps=4))
    device = AbstractDevice("NVIDIA H100 80GB HBM3", 132, "gpu")
    with jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("d",), abstract_device=device)):
        return jax.jit(f).trace(*VECTORS).lower(lowering_platforms=("cuda",))


def inspect():
    def f(x):
        jax.debug.inspect_array_sharding(x, callback=print)
        return x * 2

    return jax.jit(f).lower(jax.device_put(jnp.ones((64, 128)), NamedSharding(MESH, P("x"))))


for name, lower in {"tpu": on_tpu, "triton": on_gpu, "inspect": inspect}.items():
    lowered, bytecode = lower(), io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(bytecode)
    path = os.path.join(sys.argv[1], f"{name}_{jax.__version__}")
    with open(path + ".mlir", "w") as file:
        file.write(lowered.as_text())
    with open(path + ".bc", "wb") as file:
        file.write(bytecode.getvalue())
