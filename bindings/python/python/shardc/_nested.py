"""Warns about functions of `shardc.jit` inside a plain `jax.jit`, which shardc doesn't plan."""

from __future__ import annotations

from typing import Any

from shardc import _log
from shardc._options import asked

_warned: set[str] = set()


def warn_of_nested(module: Any, name: str) -> None:
    """Warns once about each function of `shardc.jit` that this module of a plain jit calls, if it runs on several devices."""
    attributes = module.operation.attributes
    if "mhlo.num_partitions" not in attributes or str(attributes["mhlo.num_partitions"]).split(":")[0].strip() == "1":
        return
    for op in module.body.operations:
        # The function of a nested jit keeps the name of the jit.
        symbol = str(op.attributes["sym_name"]).strip('"') if "sym_name" in op.attributes else ""
        if asked(symbol) is None or symbol in _warned:
            continue
        _warned.add(symbol)
        inner, outer = _log.function_name(symbol), _log.function_name(name)
        _log.warn(
            f"shardc.jit doesn't plan {inner} here, because it is called inside {outer}, which XLA compiles as a whole;"
            f" apply shardc.jit to {outer} instead"
        )
