"""Warns of functions of `shardc.jit` that are called inside a program of XLA, where nothing is planned."""

from __future__ import annotations

from typing import Any

from shardc import _log
from shardc._options import asked

_warned: set[str] = set()


def warn_of_nested(module: Any, name: str) -> None:
    """Warns once of each function of `shardc.jit` that this module of a plain jit calls, where there is anything to plan."""
    attributes = module.operation.attributes
    if "mhlo.num_partitions" not in attributes or str(attributes["mhlo.num_partitions"]).split(":")[0].strip() == "1":
        return
    for op in module.body.operations:
        # JAX keeps the name of a jit inside of another as that of a function.
        symbol = str(op.attributes["sym_name"]).strip('"') if "sym_name" in op.attributes else ""
        if asked(symbol) is None or symbol in _warned:
            continue
        _warned.add(symbol)
        inner, outer = _log.function_name(symbol), _log.function_name(name)
        _log.warn(
            f"shardc.jit plans nothing of {inner} here: it is called inside {outer}, which XLA compiles as a whole;"
            f" make {outer} the function of shardc.jit"
        )
