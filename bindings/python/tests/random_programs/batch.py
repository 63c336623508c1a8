"""Random programs with `shardc.jit`, `shardc run` and `shardc check`, compared with one device: `python -m random_programs.batch FROM COUNT`.

Prints a line of JSON for each program. `SHARDC` names the program `shardc` that runs them natively; without it, `run` is the package's own,
which has the reference evaluator.
"""

from __future__ import annotations

import devices  # noqa: F401, I001: before JAX

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any
from unittest import mock

import jax
import numpy as np

import shardc
import shardc._jit
from random_programs import Random
from random_programs.compare import difference, different_calls, plain
from random_programs.ops import kind
from shardc import _native

COMMAND = os.environ.get("SHARDC")
NATIVE = [] if COMMAND else ["--interpret"]
# Effects with results from the host, which `run` and `check` lack, and those whose text has a pointer into the process.
REFUSED_BY_COMMANDS = {"host-effect", "custom-partitioning"}


class Outcome(dict[str, Any]):
    """The outcome of a program: `is`, and `why` for a fault."""

    @staticmethod
    def fault(where: str, why: Any) -> Outcome:
        return Outcome({"is": "fault", "where": where, "why": str(why)[:2000]})


def called(case: Random, function: Any, args: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Returns the results, and the recorded calls and output."""
    case.start_log()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        results = jax.block_until_ready(function(*args))
        jax.effects_barrier()
    printed = sorted(said.getvalue().splitlines())
    return results, {"calls": dict(case.calls), "ordered": list(case.ordered), "printed": printed, "inspected": len(case.inspected)}


def archive(path: str, name: str, values: list[Any], first: int = 0) -> None:
    np.savez(path, **{f"{name}{first + i}": plain(value) for i, value in enumerate(values)})


def command(arguments: list[str], text: str, is_native: bool) -> tuple[int, str]:
    if not (is_native and COMMAND):
        code, out, err = _native.run(arguments, text)
        return code, out + err
    ran = subprocess.run([COMMAND, *arguments], input=text, text=True, capture_output=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


class Commands:
    """The program's text with `run` and `check`."""

    def __init__(self, text: str, case: Random, folder: str):
        self.text, self.folder = text, folder
        self.tokens = len(re.findall(r"%arg\d+: !stablehlo.token", text.partition("@main(")[2].partition("->")[0]))
        self.inputs = f"{folder}/in.npz"
        archive(self.inputs, "arg", case.values, self.tokens)

    def run(self, results: list[Any], is_native: bool) -> tuple[int, str]:
        """Runs it and compares its results with others."""
        archive(f"{self.folder}/expected.npz", "out", results, self.tokens)
        more = NATIVE if is_native else ["--interpret"]
        return command(["run", "-", "--inputs", self.inputs, "--expect", f"{self.folder}/expected.npz", *more], self.text, is_native)

    def check(self) -> tuple[int, str]:
        return command(["check", "-", "--inputs", self.inputs], self.text, is_native=False)


def outcome(seed: int) -> Outcome:
    """Returns the outcome of the program of a seed."""
    case = Random(seed)
    with warnings.catch_warnings(), case.context(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        return Outcome({"names": case.names, "dtypes": sorted({str(v.dtype) for v in case.values})} | beside_one_device(case, folder))


def beside_one_device(case: Random, folder: str) -> Outcome:
    if not case.is_for_xla:
        return by_evaluator(case, folder)
    try:
        wanted, expected = called(case, jax.jit(case.on_one_device), case.values)
    except Exception as fault:  # noqa: BLE001: XLA has no such op of this dtype
        return Outcome({"is": "refused on one device", "why": str(fault)[:200]})
    result = Outcome({"is": "equal", "results": sorted({str(v.dtype) for v in wanted})})
    try:
        with mock.patch.object(shardc._jit, "_plan", wraps=shardc._jit._plan) as planned:
            found, log = called(case, shardc.jit(case.sharded, keep_unused=case.keeps_unused, **case.jit), case.placed())
        result |= {"planned": planned.call_count > 0, "jit": "equal"}
        if (wrong := different_logs(log, expected, case)) is not None:
            # XLA removes a shard_map with empty results, with its callbacks; shardc doesn't plan programs with only empty arguments.
            _, theirs = called(case, jax.jit(case.sharded, **case.jit), case.placed())
            if planned.call_count and any(v.size for v in case.values) or different_logs(log, theirs, case) is not None:
                return Outcome.fault("calls", wrong)
            result["calls"] = "as jax.jit"
        elif different_calls(log["calls"], expected["calls"]) is not None:
            # Rounding of narrow floats: callbacks must have seen exactly our own results.
            if (wrong := different_calls(log["calls"], replayed(case, found))) is not None:
                return Outcome.fault("calls", wrong)
            result["calls"] = "of our own results"
        text = text_of(case)
    except Exception as fault:  # noqa: BLE001: it is looked at
        return refused(case, fault)
    wrongs = [(i, wrong) for i, (got, want) in enumerate(zip(found, wanted)) if (wrong := difference(got, want))]
    commands = Commands(text, case, folder)
    tried = {"check": commands.check, "run": lambda: commands.run(wanted, is_native=True)}
    # The evaluator measures the effect of rounding on each element.
    tried |= {"jit": lambda: commands.run(found, is_native=False)} if wrongs else {}
    for name, attempt in tried.items():
        code, said = attempt()
        refusal = re.search(r"error\[([a-z-]+)\]", said)
        if code == 0:
            result[name] = "equal"
        elif name == "jit" and as_jax(case, found):
            # XLA's results on one device differ from those of its own partitioner on eight.
            result[name] = "as jax.jit"
        elif name != "jit" and code == 1 and refusal and refusal[1] in REFUSED_BY_COMMANDS:
            result[name] = refusal[1]
        elif name == "run" and only_narrow(said, wanted, commands.tokens) and by_evaluator(case, folder)["is"] == "equal without XLA":
            result[name] = "as the evaluator"
        else:
            return Outcome.fault(name, f"{wrongs} {said}")
    return result


def only_narrow(said: str, wanted: list[Any], tokens: int) -> bool:
    """Returns whether only 8-bit floats differ: XLA rounds each of their partial sums, but shardc rounds a sum once."""
    numbers = [int(n) - tokens for n in re.findall(r"^result (\d+): differs", said, re.MULTILINE)]
    return bool(numbers) and all(kind(wanted[n]) == "f" and wanted[n].dtype.itemsize == 1 for n in numbers)


def text_of(case: Random) -> str:
    return shardc.jit(case.sharded, keep_unused=True, **case.jit).lower(*case.like_placed()).as_text()


def by_evaluator(case: Random, folder: str) -> Outcome:
    """Returns the outcome of a program that XLA computes wrongly: by `check`, and by native execution and the evaluator."""
    try:
        text = text_of(case)
    except Exception as fault:  # noqa: BLE001: what JAX refuses to write isn't ours
        with contextlib.suppress(type(fault)):
            jax.jit(case.sharded, keep_unused=True, **case.jit).lower(*case.like_placed())
            return Outcome.fault("refusal", f"only shardc.jit refuses it: {type(fault).__name__}: {fault}")
        return Outcome({"is": "refused by XLA", "why": str(fault)[:200]})
    commands = Commands(text, case, folder)
    results = f"{folder}/expected.npz"
    tried = {
        "check": commands.check,
        "evaluator": lambda: command(["run", "-", "--interpret", "--inputs", commands.inputs, "--outputs", results], commands.text, False),
        "run": lambda: command(["run", "-", *NATIVE, "--inputs", commands.inputs, "--expect", results], commands.text, True),
    }
    result = Outcome({"is": "equal without XLA"})
    for name, attempt in tried.items():
        code, said = attempt()
        refusal = re.search(r"error\[([a-z-]+)\]", said)
        if code == 0:
            result[name] = "equal"
        elif code == 1 and refusal and refusal[1] in REFUSED_BY_COMMANDS:
            return result | {name: refusal[1]}
        else:
            return Outcome.fault(name, said)
    return result


def as_jax(case: Random, found: list[Any]) -> bool:
    """Returns whether XLA's own partitioner gives bitwise equal results on all devices."""
    theirs, _ = called(case, jax.jit(case.sharded, **case.jit), case.placed())
    return all(plain(a).tobytes() == plain(b).tobytes() for a, b in zip(found, theirs))


def different_logs(log: dict[str, Any], expected: dict[str, Any], case: Random) -> str | None:
    if log["ordered"] != expected["ordered"]:
        return f"order of calls: {log['ordered']} instead of {expected['ordered']}"
    if log["printed"] != expected["printed"]:
        return f"printed {log['printed']} instead of {expected['printed']}"
    if log["inspected"] != case.names.count("inspect"):
        return f"{log['inspected']} shardings were shown of {case.names.count('inspect')}"
    return None


def replayed(case: Random, found: list[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the calls on one device when all values are those of `shardc.jit`."""
    now = [*case.values, *(value if kind(value) == "k" else np.asarray(value) for value in found)]
    case.start_log()
    case.is_sharded = False
    with contextlib.redirect_stdout(io.StringIO()):
        for number, step in enumerate(case.steps):
            if hasattr(step, "effect"):
                jax.block_until_ready(jax.jit(step)(now[: len(case.values) + number]))
        jax.effects_barrier()
    return dict(case.calls)


def refused(case: Random, fault: Exception) -> Outcome:
    """Returns whether XLA's partitioner compiles a program that `shardc.jit` doesn't."""
    if isinstance(fault, shardc.ShardcError) and "custom_partitioning shards a dimension" in str(fault):
        return Outcome({"is": "refused by name", "why": str(fault)[:200]})
    for more in ({}, {"keep_unused": True}):
        try:
            called(case, jax.jit(case.sharded, **more, **case.jit), case.placed())
        except Exception as theirs:  # noqa: BLE001: what XLA can't partition either isn't ours
            if type(theirs) is type(fault):
                return Outcome({"is": "refused by XLA", "why": str(theirs)[:200]})
    return Outcome.fault("refusal", f"only shardc.jit refuses it: {type(fault).__name__}: {fault}")


def only_xla(seed: int) -> None:
    """Runs the program with `jax.jit`, on one device and on all."""
    case = Random(seed)
    with case.context():
        called(case, jax.jit(case.on_one_device), case.values)
        called(case, jax.jit(case.sharded, **case.jit), case.placed())


def main() -> None:
    if sys.argv[1] == "--xla":
        with contextlib.suppress(Exception):
            only_xla(int(sys.argv[2]))
        return
    first, count = map(int, sys.argv[1:3])
    lines = sys.stdout
    for seed in range(first, first + count):
        # If a program ends the process, its seed is the last line.
        print(json.dumps({"seed": seed}), file=lines, flush=True)
        start, cpu = time.perf_counter(), time.process_time()
        try:
            found = outcome(seed)
        except Exception as error:  # noqa: BLE001: a fault of this file, or a crash of ours
            found = Outcome.fault("itself", f"{type(error).__name__}: {error}")
        seconds = {"wall": round(time.perf_counter() - start, 3), "cpu": round(time.process_time() - cpu, 3)}
        print(json.dumps({"seed": seed, **found, **seconds}), file=lines, flush=True)
        # Caches of thousands of programs would fill the memory.
        if seed % 100 == 99:
            jax.clear_caches()


if __name__ == "__main__":
    main()
