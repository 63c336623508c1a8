"""Seconds of a call by shardc's runtime beside XLA's on the same machine, in turn: one table with ratios.

    python runtime.py SHARDC DIR [PROGRAM...] [--rounds N] [--calls N] [--json OUT]

PROGRAM is a name of kernels.py or of CALLS in programs.py, or a pattern of names, such as 'resnet_*', or a .mlir file of any
number of devices; without any, all of them but those that take long ('resnet_*', 'weak_*', sort_pairs). Both get the same
inputs, and the results of one device are compared: more than 1 % apart is an error. Medians of all calls; seconds to compile
are those of the first round, without the cache of kernels, and of the last, with it. Memory is what one device holds,
arguments and results too, as a share of what it holds in XLA. The limit is what all bytes and products take at the rates of copies and of products that this machine
reaches in the same minute, as a share of the time that they took. Modelled is the step that `cost` models with a file that
`calibrate` wrote for that number of devices (at most 256) in this run, and its ratio to the fastest measured call, since both
are the machine's without other programs; the last line has the median of these ratios, and the quantiles between which nine
of ten are. Needs jax==0.10.2.
"""
import argparse
import fnmatch
import json
import os
import re
import statistics
import subprocess
import sys

import numpy as np

import kernels
import programs

# The most that results may differ, as a share of the largest element: what bf16 rounds and more.
APART = 1e-2

XLA = r"""
import json, re, sys, time
import jax, numpy as np
from jax._src.lib import lapack, xla_client as xc
lapack._lapack.initialize()
from jax._src.sharding_impls import GSPMDSharding
text, calls, outputs = open(sys.argv[1]).read(), int(sys.argv[3]), sys.argv[4]
found = re.search(r"mhlo.num_partitions = (\d+)", text)
n = int(found.group(1)) if found else 1
options = xc.CompileOptions()
options.num_replicas, options.num_partitions = 1, n
build = options.executable_build_options
build.num_replicas, build.num_partitions = 1, n
build.use_spmd_partitioning = build.use_shardy_partitioner = n > 1
build.device_assignment = xc.DeviceAssignment.create(np.arange(n, dtype="int32").reshape(1, n))
devices = jax.devices()[:n]
start = time.perf_counter()
compiled = devices[0].client.compile_and_load(text, xc.DeviceList(tuple(devices)), options)
compile_s = time.perf_counter() - start
if n > 1:
    shardings = [GSPMDSharding(devices, s) for s in compiled.get_parameter_shardings()]
else:
    shardings = [devices[0]] * 1000
with np.load(sys.argv[2]) as archive:
    values = [jax.device_put(archive[f"arg{i}"], shardings[i]) for i in range(len(archive.files))]
seconds = []
for _ in range(calls + 2):
    start = time.perf_counter()
    results = compiled.execute_sharded(values).disassemble_into_single_device_arrays()
    [x.block_until_ready() for l in results for x in l]
    seconds.append(time.perf_counter() - start)
if outputs and n == 1:
    np.savez(outputs, **{f"out{i}": np.asarray(r[0]) for i, r in enumerate(results)})
about = compiled.get_compiled_memory_stats()
memory = about.argument_size_in_bytes + about.output_size_in_bytes + about.temp_size_in_bytes - about.alias_size_in_bytes
print("TOLD", json.dumps({"compile_s": compile_s, "calls": seconds[2:], "bytes": memory}))
"""


def devices(program):
    with open(program) as file:
        found = re.search(r"mhlo.num_partitions = (\d+)", file.read(100000))
    return int(found.group(1)) if found else 1


def made_up(program, path):
    """Inputs for a program that has none: normal floats, small integers."""
    kinds = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8, "i1": np.bool_}
    with open(program) as file:
        signature = re.search(r"@main\((.*?)\) -> ", file.read(), re.S).group(1)
    random, values = np.random.default_rng(0), {}
    for i, ty in enumerate(re.findall(r"%\w+: tensor<([^>]*)>", signature)):
        *shape, element = ty.split("x")
        shape, kind = [int(d) for d in shape], kinds[element]
        drawn = random.standard_normal(shape) * 0.1 if element[0] == "f" else random.integers(0, 2, shape)
        values[f"arg{i}"] = np.asarray(drawn, dtype=kind)
    np.savez(path, **values)


def ours(shardc, program, inputs, calls, outputs, cache):
    command = [shardc, "run", program, "--inputs", inputs, "--repeat", str(calls + 2), "--json"]
    command += ["--outputs", outputs] if outputs else []
    command += [] if cache else ["--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def limit(shardc, program, inputs):
    """Seconds that a call takes at least on this machine, at the rates measured in the same process."""
    command = [shardc, "run", program, "--inputs", inputs, "--profile", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return sum(op["bound_s"] for op in json.loads(done.stdout.strip().splitlines()[-1])["profile"]["ops"])


# The most devices that `calibrate` simulates.
MOST = 256


def calibrated(options, count):
    """A file for --target, which this machine's figures are measured for once in a run for each number of devices."""
    path = os.path.join(options.folder, f"machine_{count}.toml")
    if count not in calibrated.counts:
        print(f"measuring this machine as {count} device{'s' * (count > 1)}", file=sys.stderr, flush=True)
        command = [options.shardc, "calibrate", "--devices", str(count), "--name", f"machine_{count}", "-o", path]
        done = subprocess.run([*command, "--seconds", str(options.calibrate)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-1000:])
        calibrated.counts.add(count)
    return path


calibrated.counts = set()


def modelled(options, program):
    """Modelled seconds of the program that `run` runs, which is planned without a target; None for many devices."""
    count = devices(program)
    if count > MOST:
        return None
    device = os.path.join(options.folder, "device.mlir")
    target = ["--target", calibrated(options, count)]
    for command in (["compile", program, "-o", device], ["cost", device, *target, "--json"]):
        done = subprocess.run([options.shardc, *command], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-1000:])
    os.remove(device)
    return json.loads(done.stdout.strip().splitlines()[-1])["step_s"]


def theirs(program, inputs, calls, outputs):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices(program)}"
    command = [sys.executable, "-c", XLA, program, inputs, str(calls), outputs or ""]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, XLA_FLAGS=flags))
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads(done.stdout.split("TOLD", 1)[1])


def difference(a, b):
    """The largest difference of any result, as a share of its largest element; None if shapes differ."""
    worst = 0.0
    with np.load(a) as mine, np.load(b) as other:
        for name in other.files:
            x, y = mine[name], other[name]
            if x.shape != y.shape:
                return None
            if x.size and x.dtype.kind in "fiub":
                x, y = x.astype(np.float64), y.astype(np.float64)
                same = (x == y) | (np.isnan(x) & np.isnan(y))
                finite = np.abs(y[np.isfinite(y)])
                apart = np.where(same, 0.0, np.abs(x - y)) / max(np.max(finite, initial=0.0), 1e-30)
                # Not a number if one result is none where the other is.
                worst = float(np.maximum(worst, np.max(apart)))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("folder")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--calibrate", type=float, default=20, help="seconds to measure this machine for each number of devices")
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = options.folder
    os.makedirs(folder, exist_ok=True)
    known = [*kernels.names(), *programs.CALLS]
    if options.programs:
        wanted = [name for of in options.programs for name in fnmatch.filter(known, of) or [of]]
    else:
        wanted = [name for name in known if kernels.is_measured_always(name) and name not in programs.WEAK]
    for maker, of in ((kernels, lambda n: n not in programs.CALLS), (programs, lambda n: n in programs.CALLS)):
        made = lambda n: n.endswith(".mlir") or os.path.exists(os.path.join(folder, n + ".mlir"))
        lacking = [n for n in wanted if of(n) and not made(n)]
        if lacking:
            # In a process of its own: the number of devices is fixed when JAX starts.
            subprocess.run([sys.executable, maker.__file__, folder, *lacking], check=True)
    print(f"{'program':<24} {'shardc':>12} {'modelled':>12} {'ratio':>6} {'XLA':>12} {'ratio':>7}  {'compile':>9} {'XLA':>9} {'warm':>9} {'memory':>6} {'limit':>6}  difference")
    rows = []
    for name in wanted:
        if name.endswith(".mlir"):
            program, name = name, os.path.basename(name)[:-5]
            inputs = os.path.join(folder, name + ".npz")
            if not os.path.exists(inputs):
                made_up(program, inputs)
        else:
            program, inputs = (os.path.join(folder, name + end) for end in (".mlir", ".npz"))
            if not os.path.exists(inputs):
                made_up(program, inputs)
        row = measure(options, name, program, inputs)
        rows.append({"program": name, **row})
        if "error" in row:
            print(f"{name:<24} {(row['error'].strip() or 'it crashed').splitlines()[0][:100]}", flush=True)
            continue
        ratio = row["shardc_s"] / row["xla_s"]
        model = f"{row['modelled_s'] * 1e3:.3f} ms {row['modelled_s'] / row['fastest_s']:6.2f}" if row["modelled_s"] else "-"
        told = "" if row["difference"] is None else f"{row['difference']:.1e}"
        print(f"{name:<24} {row['shardc_s'] * 1e3:>9.3f} ms {model:>19} {row['xla_s'] * 1e3:>9.3f} ms {ratio:>7.2f}  "
              f"{row['compile_s']:>7.3f} s {row['xla_compile_s']:>7.3f} s {row['warm_s']:>7.3f} s {row['bytes'] / row['xla_bytes']:>6.2f} {row['limit_s'] / row['shardc_s']:>6.2f}  {told}", flush=True)
    ratios = [r["shardc_s"] / r["xla_s"] for r in rows if "error" not in r]
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, {sum(r <= 1 for r in ratios)} of {len(rows)} at most 1.0")
    models = [r["modelled_s"] / r["fastest_s"] for r in rows if r.get("modelled_s")]
    if models:
        low, middle, high = np.quantile(models, [0.05, 0.5, 0.95])
        print(f"modelled / measured of {len(models)} programs: median {middle:.2f}, nine of ten between {low:.2f} and {high:.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(any("error" in r for r in rows))


def measure(options, name, program, inputs):
    out = [os.path.join(options.folder, f"{name}.{who}.npz") for who in ("shardc", "xla")]
    mine, fastest, other, row = [], [], [], {}
    try:
        for round in range(options.rounds):
            first = round == 0 and devices(program) == 1
            told = ours(options.shardc, program, inputs, options.calls, out[0] if first else None, round > 0)
            peer = theirs(program, inputs, options.calls, out[1] if first else None)
            mine.append(told["median_s"])
            fastest.append(told["min_s"])
            other.extend(peer["calls"])
            if round == 0:
                row |= {"compile_s": told["compile_s"], "xla_compile_s": peer["compile_s"]}
                row |= {"bytes": told["arena_bytes"], "xla_bytes": peer["bytes"]}
            row["warm_s"] = told["compile_s"]
        row["limit_s"] = limit(options.shardc, program, inputs)
        row["modelled_s"] = modelled(options, program)
    except RuntimeError as error:
        return {"error": str(error)}
    compared = difference(*out) if devices(program) == 1 else None
    for path in out:
        if os.path.exists(path):
            os.remove(path)
    if devices(program) == 1 and not (compared is not None and compared <= APART):
        return {"error": f"the results differ: {compared}"}
    return row | {"shardc_s": statistics.median(mine), "fastest_s": min(fastest), "xla_s": statistics.median(other), "difference": compared}


if __name__ == "__main__":
    main()
