"""Seconds of shardc beside those of its peers, on the same programs, in turn: one table with ratios.

    python bench.py SHARDC DIR [--programs a,b] [--repeat N] [--json OUT]

What is compared: reading text (MLIR's parser), propagation (Shardy's pipeline), compilation to per-device programs
(XLA's propagation and partitioning alone, of a whole compilation), and calls of the compiled program (XLA on as many CPU
devices). Medians. Needs jax==0.10.2; programs that DIR lacks are made there.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import programs

# XLA compiles what it partitions, which takes minutes for the large ones.
COMPILED_BY_XLA = ["gpt_l4_m2x4", "mlp_tp"]
CALLED = ["mlp_tp"]


def ours(shardc, program, passes):
    """Seconds by stage, as `--timing` tells them."""
    command = [shardc, "opt", "--passes", passes, "--timing", program, "-o", os.devnull]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return {name: float(seconds) for seconds, name in re.findall(r"([\d.]+) s +[\d.]+ % +(\S+)", told)}


def shardy(program):
    """Seconds of MLIR's parser and of Shardy's propagation."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    with open(program) as file:
        text = file.read()
    context = mlir.make_ir_context()
    start = time.perf_counter()
    module = ir.Module.parse(text, context)
    parsed = time.perf_counter()
    with context:
        passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
    return {"parse": parsed - start, "propagate": time.perf_counter() - parsed}


XLA = r"""
import json, re, sys, time
import jax, numpy as np
from jax._src.lib import xla_client as xc
text, calls = open(sys.argv[1]).read(), int(sys.argv[2])
n = int(re.search(r"mhlo.num_partitions = (\d+)", text).group(1))
options = xc.CompileOptions()
options.num_replicas, options.num_partitions = 1, n
build = options.executable_build_options
build.num_replicas, build.num_partitions = 1, n
build.use_spmd_partitioning = build.use_shardy_partitioner = True
build.device_assignment = xc.DeviceAssignment.create(np.arange(n, dtype="int32").reshape(1, n))
devices = jax.devices()[:n]
compiled = devices[0].client.compile_and_load(text, xc.DeviceList(tuple(devices)), options)
seconds = []
if calls:
    from jax._src.sharding_impls import GSPMDSharding
    signature = re.search(r"@main\((.*?)\) -> ", text, re.S).group(1)
    shapes = [[int(d) for d in s.split("x") if d] for s in re.findall(r"%arg\d+: tensor<((?:\d+x)*)f32>", signature)]
    random = np.random.default_rng(0)
    values = [random.standard_normal(s).astype("float32") for s in shapes]
    values = [jax.device_put(v, GSPMDSharding(devices, s)) for v, s in zip(values, compiled.get_parameter_shardings())]
    for _ in range(calls + 2):
        start = time.perf_counter()
        results = compiled.execute_sharded(values).disassemble_into_single_device_arrays()
        [x.block_until_ready() for l in results for x in l]
        seconds.append(time.perf_counter() - start)
print("SECONDS", json.dumps(seconds[2:]))
"""


def xla(program, count, calls):
    """Seconds of XLA's propagation and partitioning, and of each call."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
    environment = dict(os.environ, XLA_FLAGS=flags, TF_CPP_MIN_LOG_LEVEL="0", TF_CPP_VMODULE="hlo_pass_pipeline=1")
    done = subprocess.run([sys.executable, "-c", XLA, program, str(calls)], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    took = 0.0
    for stage in ("shardy-xla", "spmd-partitioning"):
        took += sum(int(us) for us in re.findall(rf"HLO pass: {stage} time: .*?\((\d+) us\)", done.stderr)) / 1e6
    return {"compile": took}, json.loads(done.stdout.split("SECONDS", 1)[1])


def measure(shardc, path, name, repeat):
    """(stage, our seconds, the peer's, who that is), medians."""
    mine, theirs = {}, {}
    collect = lambda into, found: [into.setdefault(key, []).append(value) for key, value in found.items()]
    for _ in range(repeat):
        stages = ours(shardc, path, "import,propagate")
        collect(mine, {"parse": stages["parse"], "propagate": stages["import"] + stages["propagate"]})
        collect(theirs, shardy(path))
    if name in COMPILED_BY_XLA:
        for _ in range(min(repeat, 3)):
            stages = ours(shardc, path, "import,propagate,unify-meshes,plan,partition,schedule")
            collect(mine, {"compile": stages["total"] - stages["parse"]})
            collect(theirs, xla(path, programs.devices(name), 0)[0])
    rows = []
    for stage, who in (("parse", "MLIR"), ("propagate", "Shardy"), ("compile", "XLA")):
        if stage in mine:
            rows.append((stage, statistics.median(mine[stage]), statistics.median(theirs[stage]), who))
    if name in CALLED:
        command = [shardc, "run", path, "--repeat", "15", "--json", "-o", os.devnull]
        told = subprocess.run(command[:-2], check=True, capture_output=True, text=True).stdout
        call = json.loads(told.strip().splitlines()[-1])["median_s"]
        rows.append(("call", call, statistics.median(xla(path, programs.devices(name), 15)[1]), "XLA"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("folder")
    parser.add_argument("--programs", default=",".join(programs.PROGRAMS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    names = options.programs.split(",")
    lacking = [n for n in names if not os.path.exists(os.path.join(options.folder, n + ".mlir"))]
    if lacking:
        # In a process of its own: the number of devices is fixed when JAX starts.
        subprocess.run([sys.executable, programs.__file__, options.folder, *lacking], check=True)
    print(f"{'program':<16} {'stage':<10} {'shardc':>12} {'peer':>12} {'':<7} {'peer / shardc':>13}")
    rows = []
    for name in names:
        for stage, mine, theirs, who in measure(options.shardc, os.path.join(options.folder, name + ".mlir"), name, options.repeat):
            print(f"{name:<16} {stage:<10} {mine * 1e3:>9.2f} ms {theirs * 1e3:>9.2f} ms {who:<7} {theirs / mine:>12.1f}x", flush=True)
            rows.append({"program": name, "stage": stage, "shardc_s": mine, "peer_s": theirs, "peer": who})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
