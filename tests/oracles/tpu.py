"""Compiles StableHLO with the TPU's own compiler, for a slice of TPUs that this machine doesn't have, and prints as JSON what it
decided: schedule, cycles, collectives, copies for layouts, memory.

    python tpu.py PROGRAM... --topology v5e:2x4 [--hlo FOLDER] [--brief]

PROGRAM is a .mlir file, TOPOLOGY a slice as in shardc's targets: v5e:2x4, v5p:2x2x2, 2xv5e:16x16. One line for each program.
Needs what `make tpu-oracle` installs, and runs with target/tpu/bin/python. Compilations are stored under target/tpu/results, by
the hash of topology and text: memory and the compiler's version in KEY.json, the scheduled program in KEY.hlo.gz. Seconds are
computed from these each time.
"""
import argparse
import fcntl
import gzip
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tpu_schedule import schedule

# In the environment that `make tpu-oracle` creates.
RESULTS = Path(sys.prefix) / "results"
# Without these, libtpu looks for a TPU and asks the network.
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def key(text, topology):
    return hashlib.sha256(f"{topology}\n{text}".encode()).hexdigest()[:24]


def stored(text, topology):
    """The stored compilation, {"error"} or {"memory", …, "hlo"}; None if there is none."""
    path = RESULTS / f"{key(text, topology)}.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    if "error" not in result:
        result["hlo"] = gzip.decompress(path.with_suffix(".hlo.gz").read_bytes()).decode()
    return result


def store(text, topology, result):
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{key(text, topology)}.json"
    if "hlo" in result:
        path.with_suffix(".hlo.gz").write_bytes(gzip.compress(result.pop("hlo").encode(), 9))
    path.write_text(json.dumps(result) + "\n")


def compile_missing(jobs):
    """Compiles those of `jobs`, pairs of text and topology, that aren't stored.

    A process compiles one program after another, because its start takes seconds. If the compiler crashes, that is the result of
    the program, and another process continues."""
    missing = [job for job in dict.fromkeys(jobs) if stored(*job) is None]
    if not missing:
        return
    if importlib.util.find_spec("libtpu") is None:
        sys.exit("libtpu is missing: run `make tpu-oracle`, and this with target/tpu/bin/python")
    # libtpu serves one process at a time.
    with open(Path(tempfile.gettempdir()) / "shardc-tpu-oracle.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        while missing:
            log = tempfile.TemporaryFile("w+")
            worker = subprocess.Popen(
                [sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, **ENVIRONMENT},
            )
            while missing:
                text, topology = missing.pop(0)
                if stored(text, topology) is not None:
                    continue
                try:
                    print(json.dumps([text, topology]), file=worker.stdin, flush=True)
                    answer = worker.stdout.readline()
                except BrokenPipeError:
                    answer = ""
                if not answer:
                    log.seek(0)
                    error = f"the compiler ended: {worker.wait()}: {log.read()[-2000:]}"
                    store(text, topology, {"topology": topology, "error": error})
                    break
                store(text, topology, json.loads(answer))
            worker.stdin.close()
            worker.wait()


def slices(topology):
    """The number of slices of a target like 2xv5e:16x16, and one of them."""
    count, rest = re.fullmatch(r"(?:(\d+)x)?(v.+|tpu.+)", topology).groups()
    return int(count or 1), rest


def mesh_of(text):
    """The sizes of the program's mesh; None if it has none or lists its devices itself."""
    found = re.search(r"sdy\.mesh @\w+ = <\[([^\]]*)\](, device_ids)?", text)
    if not found or found[2]:
        return None
    return tuple(int(size) for size in re.findall(r"=(\d+)", found[1])) or None


def name_lines(op):
    """Writes the source line of each op into its name, "NAME|FILE:LINE", because the partitioner keeps names alone."""
    from jaxlib.mlir import ir

    for inner in (inner for region in op.regions for block in region for inner in block):
        name, place = "", inner.location
        while isinstance(place, (ir.CallSiteLoc, ir.NameLoc)):
            name = place.name_str if isinstance(place, ir.NameLoc) else name
            place = place.child_loc if isinstance(place, ir.NameLoc) else place.callee
        if isinstance(place, ir.FileLineColLoc):
            file = "" if place.filename == "-" else f"{place.filename}:"
            inner.operation.location = ir.Location.name(f"{name}|{file}{place.start_line}")
        name_lines(inner.operation)


def compile_here(text, topology):
    """Compiles as JAX would, with Shardy, and with the devices in the order that JAX gives this mesh."""
    import numpy as np
    from jax.experimental import mesh_utils, topologies
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    count, one = slices(topology)
    several = {"num_slices": count} if count > 1 else {}
    devices = list(topologies.get_topology_desc(platform="tpu", topology_name=one, **several).devices)
    found = re.search(r"mhlo\.num_partitions = (\d+)", text)
    partitions = int(found[1]) if found else 1
    if partitions > len(devices):
        raise ValueError(f"the program is for {partitions} devices, {topology} has {len(devices)}")
    shape = mesh_of(text)
    if partitions < len(devices):
        devices = devices[:partitions]
    elif shape and count == 1 and np.prod(shape) == partitions:
        devices = list(mesh_utils.create_device_mesh(shape, devices=devices, allow_split_physical_axes=True).reshape(-1))
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    ids = np.array([[device.id for device in devices]], np.int32)
    build.device_assignment = xla_client.DeviceAssignment.create(ids)
    start = time.time()
    with mlir.make_ir_context():
        program = ir.Module.parse(text)
        name_lines(program.operation)
        executable = devices[0].client.compile(program, xla_client.DeviceList(tuple(devices)), options)
    memory = executable.get_compiled_memory_stats()
    return {
        "topology": topology,
        "compile_s": round(time.time() - start, 2),
        "version": devices[0].client.platform_version.strip().splitlines()[-1],
        "memory": {
            "arguments": memory.argument_size_in_bytes,
            "outputs": memory.output_size_in_bytes,
            "aliased": memory.alias_size_in_bytes,
            "temporaries": memory.temp_size_in_bytes,
            "code": memory.generated_code_size_in_bytes,
            "peak": memory.peak_memory_in_bytes,
        },
        # Slice and position of each device of the program.
        "places": [[getattr(device, "slice_index", 0), *device.coords] for device in devices],
        "hlo": executable.hlo_modules()[0].to_string(),
    }


def worker():
    """Answers each line of standard input, a text and a topology, with a line."""
    import jax

    # What the compiler itself prints goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        text, topology = json.loads(line)
        try:
            result = compile_here(text, topology)
        except jax.errors.JaxRuntimeError as fault:
            result = {"topology": topology, "error": str(fault)[:2000]}
        print(json.dumps(result), file=answers, flush=True)


def judged(text, topology):
    """What the compiler decided: {"error"}, or memory and the schedule with its seconds. Compiles if that isn't stored."""
    compile_missing([(text, topology)])
    result = stored(text, topology)
    if "error" in result:
        return result
    memory = result["memory"]
    # Donated arguments and their outputs share memory.
    memory["peak"] = max(memory["peak"], memory["arguments"] + memory["outputs"] - memory["aliased"] + memory["temporaries"])
    return result | schedule(result.pop("hlo"), topology, result.pop("places"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--topology", default="v5e:2x4")
    parser.add_argument("--hlo", help="also writes the scheduled programs into this folder")
    parser.add_argument("--brief", action="store_true", help="without the lists of ops and collectives")
    options = parser.parse_args()
    for program in options.programs:
        text = Path(program).read_text()
        report = judged(text, options.topology)
        if options.hlo and "error" not in report:
            Path(options.hlo, f"{Path(program).stem}.hlo").write_text(stored(text, options.topology)["hlo"])
        if options.brief:
            report = {key: value for key, value in report.items() if key not in ("schedule", "collectives", "seconds_by_line")}
        print(json.dumps({"program": program, **report}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        worker()
    else:
        main()
