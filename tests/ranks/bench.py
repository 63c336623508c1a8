"""Seconds of a call in several processes beside JAX's, with gloo, in as many, and the bytes that ranks send beside the least.

    python bench.py SHARDC DIR [PROGRAM.mlir...] [--ranks 1,2,4] [--rounds N] [--calls N] [--no-jax]

Programs are of 8 devices, say; without any, those that this script makes: sums, gathers and a layer of a transformer, and one of
64 devices. Ours and JAX's run in turn, in every round; seconds are the least median of a round. 'sent' is what all ranks send in a
call, by default and with --fast-reduce, beside the least that any way of doing the same collectives sends in all (of a sum,
each rank's partial result goes on once and the result comes back once). Then the peak memory of each of 8 ranks whose
weights are 8 times what one of them holds. Needs jax==0.10.2.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import runtime  # noqa: E402

JAX = r"""
import json, os, re, sys, time
program, inputs, calls, port, ranks, rank = sys.argv[1:]
calls, ranks, rank = int(calls), int(ranks), int(rank)
text = open(program).read()
n = int(re.search(r"mhlo.num_partitions = (\d+)", text).group(1))
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={n // ranks}"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np
from jax._src.lib import xla_client as xc
from jax._src.sharding_impls import GSPMDSharding
if ranks > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", ranks, rank)
devices = jax.devices()
options = xc.CompileOptions()
options.num_replicas, options.num_partitions = 1, n
build = options.executable_build_options
build.num_replicas, build.num_partitions = 1, n
build.use_spmd_partitioning = build.use_shardy_partitioner = True
build.device_assignment = xc.DeviceAssignment.create(np.array([[d.id for d in devices]], dtype="int32"))
client = jax.local_devices()[0].client
compiled = client.compile_and_load(text, xc.DeviceList(tuple(devices)), options)
shardings = [GSPMDSharding(devices, s) for s in compiled.get_parameter_shardings()]
values = []
with np.load(inputs) as archive:
    for i, sharding in enumerate(shardings):
        value = archive[f"arg{i}"]
        values.append(jax.make_array_from_callback(value.shape, sharding, lambda at: value[at]))
seconds = []
for _ in range(calls + 2):
    start = time.perf_counter()
    results = compiled.execute_sharded(values).disassemble_into_single_device_arrays()
    [x.block_until_ready() for l in results for x in l]
    seconds.append(time.perf_counter() - start)
print("TOLD", json.dumps(sorted(seconds[2:])[calls // 2]), flush=True)
"""


def mpirun(ranks, command):
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    return ["mpirun", "--oversubscribe", "--bind-to", "none", *root, "-n", str(ranks), *command] if ranks > 1 else command


def ours(options, program, inputs, ranks, fast=False):
    command = [options.shardc, "run", program, "--inputs", inputs, "--repeat", str(options.calls + 2), "--json"]
    done = subprocess.run(mpirun(ranks, command + ["--fast-reduce"] * fast), capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def theirs(options, program, inputs, ranks):
    """Seconds of the slowest process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = lambda rank: [sys.executable, "-c", JAX, program, inputs, *map(str, (options.calls, port, ranks, rank))]
    started = [subprocess.Popen(command(rank), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(ranks)]
    try:
        ended = [process.communicate(timeout=900) for process in started]
    finally:
        [process.kill() for process in started]
    if any(process.returncode for process in started):
        raise RuntimeError("JAX: " + next(err for _, err in ended if err)[-1000:])
    return max(float(out.split("TOLD", 1)[1]) for out, _ in ended)


WIDTH = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "ui32": 4, "bf16": 2, "f16": 2, "i8": 1, "i1": 1}
COLLECTIVE = re.compile(
    r'"stablehlo\.(all_gather|all_reduce|reduce_scatter|all_to_all|collective_permute)"\(.*?'
    r"(?:replica_groups|source_target_pairs) = dense<(.*?)> : .*?[>)] : \((tensor<.*?)\) ->",
    re.S,
)


def size(types):
    total = 0
    for ty in re.findall(r"tensor<([^>]*)>", types):
        *shape, element = ty.split("x")
        total += int(np.prod([int(d) for d in shape], dtype=np.int64)) * WIDTH[element]
    return total


def least(shardc, program, ranks):
    """Bytes that all ranks together send at least in a call; None if loops repeat collectives."""
    text = subprocess.run([shardc, "compile", program], capture_output=True, text=True, check=True).stdout
    if "stablehlo.while" in text:
        return None
    each = runtime.devices(program) // ranks
    total = 0
    for kind, groups, types in COLLECTIVE.findall(text):
        bytes = size(types)
        for group in json.loads(groups):
            of = [device // each for device in group]
            there, n = len(set(of)), len(of)
            others = sum(n - of.count(rank) for rank in set(of))
            if kind == "collective_permute":
                total += bytes * (of[0] != of[1])
            elif kind == "all_gather":
                total += bytes * others
            elif kind == "all_to_all":
                total += bytes // n * sum(of.count(rank) * (n - of.count(rank)) for rank in set(of))
            else:
                total += bytes * (there - 1) * (2 if kind == "all_reduce" else 1)
    return total


def module(devices, text):
    return f"module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{\n{text}\n}}\n"


def layer(x, y, batch, width, hidden):
    """Two layers, weights sharded along both axes, data along the first."""
    t = lambda *shape: f"tensor<{'x'.join(map(str, shape))}xf32>"
    sharded = lambda *axes: "{sdy.sharding = #sdy.sharding<@mesh, [" + ", ".join(f'{{"{a}"}}' if a else "{}" for a in axes) + "]>}"
    return module(x * y, f"""  sdy.mesh @mesh = <["x"={x}, "y"={y}]>
  func.func public @main(%x: {t(batch, width)} {sharded("x", "")}, %v: {t(width, hidden)} {sharded("x", "y")},
      %w: {t(hidden, width)} {sharded("y", "x")}) -> ({t(batch, width)} {sharded("x", "")}) {{
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : ({t(batch, width)}, {t(width, hidden)}) -> {t(batch, hidden)}
    %1 = stablehlo.tanh %0 : {t(batch, hidden)}
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : ({t(batch, hidden)}, {t(hidden, width)}) -> {t(batch, width)}
    return %2 : {t(batch, width)}
  }}""")


def weights(devices, layers, width):
    """Layers whose weights are divided among all devices and gathered before each product."""
    t = lambda *shape: f"tensor<{'x'.join(map(str, shape))}xf32>"
    first = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    arguments = ", ".join(f"%w{i}: {t(width, width)} {first}" for i in range(layers))
    lines, batch = [], 8 * devices
    for i in range(layers):
        lines.append(f"    %p{i} = stablehlo.dot_general %{'x' if i == 0 else f't{i - 1}'}, %w{i}, contracting_dims = [1] x [0] : "
                     f"({t(batch, width)}, {t(width, width)}) -> {t(batch, width)}")
        lines.append(f"    %t{i} = stablehlo.tanh %p{i} : {t(batch, width)}")
    body = "\n".join(lines)
    return module(devices, f"""  sdy.mesh @mesh = <["x"={devices}]>
  func.func public @main(%x: {t(batch, width)} {first}, {arguments}) -> ({t(batch, width)} {first}) {{
{body}
    return %t{layers - 1} : {t(batch, width)}
  }}""")


PROGRAMS = {"layer_8": lambda: layer(4, 2, 512, 512, 2048), "layer_64": lambda: layer(16, 4, 1024, 512, 2048)}


def peaks(options, program, ranks):
    """The peak memory of each rank's process, in bytes, and what a device's arena has."""
    wrapper = "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:]); print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, flush=True); sys.exit(r.returncode)"
    command = [sys.executable, "-c", wrapper, options.shardc, "run", program, "--repeat", "2", "--json"]
    done = subprocess.run(mpirun(ranks, command), capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("PEAK")], told["arena_bytes"]


def mib(bytes):
    return "-" if bytes is None else f"{bytes / 2**20:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("folder")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    made = lambda name: os.path.join(options.folder, name + ".mlir")
    for name, program in PROGRAMS.items():
        with open(made(name), "w") as file:
            file.write(program())
    ranks = [int(n) for n in options.ranks.split(",")]
    print(f"{'program':<20} {'ranks':>5} {'shardc':>11} {'any order':>11} {'JAX, gloo':>11} {'ratio':>6}   MiB sent: least, shardc, any order")
    for program in options.programs or [made(name) for name in PROGRAMS]:
        name = os.path.basename(program)[:-5]
        inputs = os.path.join(options.folder, name + ".npz")
        if not os.path.exists(inputs):
            runtime.made_up(program, inputs)
        rows = {n: ([], [], []) for n in ranks}
        told = {}
        for _ in range(options.rounds):
            for n in ranks:
                mine, any_order, peer = rows[n]
                told[n] = [ours(options, program, inputs, n), ours(options, program, inputs, n, True) if n > 1 else None]
                mine.append(told[n][0]["median_s"])
                any_order.append(told[n][1]["median_s"] if n > 1 else mine[-1])
                if not options.no_jax:
                    try:
                        peer.append(theirs(options, program, inputs, n))
                    except RuntimeError as error:
                        print(f"{name}: {error}", file=sys.stderr)
        for n in ranks:
            mine, any_order, peer = (min(times) if times else None for times in rows[n])
            sent = [sum(t["sent_bytes"]) if t and "sent_bytes" in t else 0 for t in told[n]]
            ms = lambda s: "-" if s is None else f"{s * 1e3:.2f} ms"
            ratio = f"{mine / peer:.2f}" if peer else "-"
            print(f"{name:<20} {n:>5} {ms(mine):>11} {ms(any_order):>11} {ms(peer):>11} {ratio:>6}   "
                  f"{mib(least(options.shardc, program, n))}, {mib(sent[0])}, {mib(sent[1])}", flush=True)
    devices, layers, width = 8, 16, 2048
    with open(made("weights"), "w") as file:
        file.write(weights(devices, layers, width))
    told, arena = peaks(options, made("weights"), 8)
    small = made("one_weight")
    with open(small, "w") as file:
        file.write(weights(devices, 1, 64))
    base, _ = peaks(options, small, 8)
    model = layers * width * width * 4
    print(f"8 ranks, weights of {mib(model)} MiB, {mib(model / 8)} MiB for each: the device's memory {mib(arena)} MiB, "
          f"the process {mib(max(told))} MiB at its peak, {mib(max(base))} MiB with a tiny program")


if __name__ == "__main__":
    main()
