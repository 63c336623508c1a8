"""Many random programs: `python -m random_programs COUNT [FROM] [--log FILE]`, in separate processes, because XLA may end one.

Each program runs with `shardc.jit`, `shardc run` and `shardc check`, and on one device; see `batch`. A program at which the process ends or
hangs then runs with `jax.jit` in another process, which shows whether the fault is XLA's. The exit code is 1 if shardc has a fault.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import threading
import time
from typing import Any, Iterator, TextIO

SLICE = 250
SILENCE_S = 150
"""Seconds without a line after which a process counts as hanging. XLA ends stuck collectives after 20 s; a program takes 1 s."""

TIMEOUTS = "--xla_cpu_collective_call_warn_stuck_timeout_seconds=15 --xla_cpu_collective_call_terminate_timeout_seconds=20"
# XLA's compilation dominates the time of small programs.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
ENVIRONMENT = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {TIMEOUTS} {QUICK}"}


def lines_of(process: subprocess.Popen[str]) -> Iterator[str | None]:
    """Yields the lines that a process writes, and None after too long a silence."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=SILENCE_S)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        # A callback may print late.
        if line.startswith("{"):
            yield line


def batch(*arguments: int | str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-m", "random_programs.batch", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT)


def outcomes(first: int, count: int) -> Iterator[dict[str, Any]]:
    """Yields the outcome of each program."""
    seed = first
    while seed < first + count:
        process = batch(seed, min(SLICE, first + count - seed))
        begun, hangs = None, False
        for line in lines_of(process):
            if line is None:
                hangs = True
                break
            found = json.loads(line)
            begun = found["seed"] if "is" not in found else None
            seed = found["seed"] + 1
            if "is" in found:
                yield found
        process.kill()
        code = process.wait()
        if begun is not None:
            yield {"seed": begun, **died(begun, "hangs" if hangs else f"ends with {code}")}
        elif code and seed < first + count:
            raise SystemExit(f"random_programs.batch ends with {code}")


def died(seed: int, how: str) -> dict[str, Any]:
    """Returns whether XLA alone runs a program that ended a process."""
    process = batch("--xla", seed)
    try:
        code = process.wait(timeout=SILENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = -9
    if code:
        return {"is": "ends XLA", "why": f"{how}; with jax.jit alone {code}"}
    return {"is": "fault", "where": "process", "why": f"{how}; jax.jit survives it"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m random_programs", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--log", type=argparse.FileType("w"), help="a line of JSON for each program")
    given = parser.parse_args()
    start, seen = time.perf_counter(), collections.Counter[str]()
    kinds: dict[str, collections.Counter[str]] = {"steps": collections.Counter(), "dtypes": collections.Counter()}
    log: TextIO | None = given.log
    for number, found in enumerate(outcomes(given.first, given.count), 1):
        seen[found["is"]] += 1
        seen.update(f"{name} {found[name]}" for name in ("check", "run", "jit", "planned") if name in found)
        kinds["steps"].update(found.get("names", []))
        kinds["dtypes"].update(found.get("results", []))
        if log:
            print(json.dumps(found), file=log, flush=True)
        if found["is"] == "fault":
            print(f"seed {found['seed']}: {found['where']}: {found['why']}", flush=True)
        if number % SLICE == 0:
            print(f"{number} programs in {time.perf_counter() - start:.0f} s: {dict(seen)}", flush=True)
    print(f"{given.count} programs from {given.first}: {dict(seen)}", *(f"{name}: {dict(c)}" for name, c in kinds.items()), sep="\n")
    return 1 if seen["fault"] else 0


if __name__ == "__main__":
    sys.exit(main())
