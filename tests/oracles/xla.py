"""Runs programs through XLA on simulated CPU devices and compares their results with expected ones.

Standard input holds one JSON object a line: {"name", "program", "inputs", "expected"}, the latter three being paths: StableHLO
text with a global signature, and npz files with arg0, arg1, ... and out0, out1, ... For each, one JSON object is printed:
{"name", "error"}, where error is null when every result agrees. One process serves all programs, since starting JAX takes
longer than running them. With "plain" in place of "expected", another path of a program, the expected results are what XLA
computes from that on one device, its shardings left out.
"""

import json
import os
import re
import sys

DEVICES = 32
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.sharding_impls import GSPMDSharding
from jaxlib.mlir import ir

# Raw bits in an npz file have the kind V; arguments have no other such types.
RAW = {1: np.dtype(ml_dtypes.float8_e4m3fn), 2: np.dtype(ml_dtypes.bfloat16)}


def read(path, prefix):
    arrays = np.load(path)
    found = []
    while f"{prefix}{len(found)}" in arrays:
        array = arrays[f"{prefix}{len(found)}"]
        found.append(array.view(RAW[array.dtype.itemsize]) if array.dtype.kind == "V" else array)
    return found


def without_shardings(text):
    """The program as one device would run it."""
    def strip(op):
        for inner in [o.operation for region in op.regions for block in region for o in block]:
            strip(inner)
            if inner.name == "sdy.sharding_constraint":
                inner.results[0].replace_all_uses_with(inner.operands[0])
            if inner.name.startswith("sdy."):
                inner.erase()
                continue
            for name in ["sdy.sharding", "arg_attrs", "res_attrs"]:
                if name in inner.attributes:
                    del inner.attributes[name]

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        strip(module.operation)
        return str(module)


def compile(text, partitions):
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, partitions
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, partitions
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = "mhlo.sharding" not in text
    order = np.arange(partitions, dtype=np.int32).reshape(1, partitions)
    build.device_assignment = xla_client.DeviceAssignment.create(order)
    devices = jax.devices()[:partitions]
    client = devices[0].client
    return client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options), devices


def difference(got, want):
    """What is wrong with a result, or None."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    # Powers of two alone have no roundings to allow for.
    if got.dtype.kind in "biu" or got.dtype == ml_dtypes.float8_e8m0fnu:
        wrong = (got != want) & ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
    else:
        # A few roundings of the result's type, relative to the largest value, since sums may cancel.
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        eps = float(ml_dtypes.finfo(want.real.dtype).eps)
        got, want = got.astype(wide), want.astype(wide)
        finite = np.abs(want[np.isfinite(want)])
        scale = finite.max() if finite.size else 0.0
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        with np.errstate(invalid="ignore"):
            wrong = ~(same | (np.abs(got - want) <= 64 * eps * np.maximum(np.abs(want), scale)))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"differs in {int(wrong.sum())} of {wrong.size} elements, first at {at}: {got[at]} instead of {want[at]}"


def execute(text, arguments):
    """What each device has of every result, and the results' shardings."""
    partitions = re.search(r"mhlo.num_partitions = (\d+)", text)
    executable, devices = compile(text, int(partitions.group(1)) if partitions else 1)
    # A program for one device says nothing of shardings.
    whole = xla_client.HloSharding.replicate()
    shardings = executable.get_parameter_shardings() or [whole] * len(arguments)
    placed = [jax.device_put(a, GSPMDSharding(devices, s)) for a, s in zip(arguments, shardings, strict=True)]
    pieces = executable.execute_sharded(placed).disassemble_into_single_device_arrays()
    shardings = executable.get_output_shardings() or [whole] * len(pieces)
    return pieces, [GSPMDSharding(devices, s) for s in shardings]


def run(case):
    with open(case["program"]) as file:
        text = file.read()
    arguments = read(case["inputs"], "arg")
    pieces, shardings = execute(text, arguments)
    if "plain" in case:
        with open(case["plain"]) as file:
            expected = [np.asarray(whole[0]) for whole in execute(without_shardings(file.read()), arguments)[0]]
    else:
        expected = read(case["expected"], "out")
    if len(pieces) != len(expected):
        return f"{len(pieces)} results, expected {len(expected)}"
    for index, (per_device, sharding, want) in enumerate(zip(pieces, shardings, expected, strict=True)):
        got = np.asarray(jax.make_array_from_single_device_arrays(want.shape, sharding, list(per_device)))
        # Raw bits of an expected result have the type of the result.
        error = difference(got, want.view(got.dtype) if want.dtype == RAW[1] and got.dtype.itemsize == 1 else want)
        if error is not None:
            return f"result {index} {error}"
    return None


for line in sys.stdin:
    case = json.loads(line)
    try:
        error = run(case)
    except Exception as exception:
        error = f"{type(exception).__name__}: {str(exception)[:600]}"
    print(json.dumps({"name": case["name"], "error": error}), flush=True)
