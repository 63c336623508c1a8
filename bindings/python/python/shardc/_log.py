"""Logs one line for each planned program, and issues warnings at lines of the user's code."""

from __future__ import annotations

import logging
import os
import pathlib
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardc._native import Summary

logger = logging.getLogger("shardc")
"""The logger. INFO has one line for each planned program; warnings use the module `warnings`."""

_LIBRARIES = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax", "shardc")

_registries: dict[str, dict[Any, Any]] = {}
"""The warnings that each file has shown. Each is shown once for a line, unless a filter changes that."""


class ShardcWarning(UserWarning):
    """A program is correct but slow."""


def program_planned(function: str, summary: Summary | None, seconds: float) -> None:
    """Logs a planned program: its collectives, the modelled step, the seconds of planning, and the target."""
    if summary is None:
        logger.info("%s: planned in %.3g s", function, seconds)
        return
    collectives = ", ".join(f"{count} {kind}" for kind, count in summary.collectives) or "no collectives"
    step = f"{summary.step_s * 1e6:.3g} us" if summary.step_s < 1e-3 else f"{summary.step_s * 1e3:.4g} ms"
    logger.info("%s: %s; modelled step %s on %s; planned in %.3g s", function, collectives, step, summary.target, seconds)


def function_name(module: str) -> str:
    """Returns the name of the user's function from the name of its module: `train_step` for `jit_train_step.shardc`."""
    return module.split(".shardc")[0].removeprefix("jit_")


def warn(text: str, line: tuple[str, int] | None = None) -> None:
    """Issues a warning at this line of Python, so that filters for its module apply; by default at the line that called shardc."""
    file, number = line or _calling_line()
    # Without a module's name, Python would use the path as the name, and filters by name wouldn't match.
    names = (name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) == file)
    registry = _registries.setdefault(file, {})
    warnings.warn_explicit(text, ShardcWarning, file, number, module=next(names, None), registry=registry)


def _calling_line() -> tuple[str, int]:
    """Returns the innermost line outside of libraries, which is a line of the user."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _LIBRARIES)
    folders = tuple(str(pathlib.Path(file).parent) + os.sep for file in files if file)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((*folders, "<frozen")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
