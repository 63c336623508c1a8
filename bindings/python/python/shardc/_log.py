"""What the package tells its user: one line a program by `logging`, and warnings at the user's own lines."""

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
"""INFO: a line for each program that is planned; WARNING is left to `warnings`."""

_LIBRARIES = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax", "shardc")

_registries: dict[str, dict[Any, Any]] = {}
"""For each file, which warnings it has shown: each is shown once for a line, unless filters say otherwise."""


class ShardcWarning(UserWarning):
    """Something that makes a program slow, though not wrong."""


def program_planned(function: str, summary: Summary | None, seconds: float) -> None:
    """Logs one planned program: its collectives, its modelled step, how long planning took, and the target."""
    if summary is None:
        logger.info("%s: planned in %.3g s", function, seconds)
        return
    collectives = ", ".join(f"{count} {kind}" for kind, count in summary.collectives) or "no collectives"
    step = f"{summary.step_s * 1e6:.3g} us" if summary.step_s < 1e-3 else f"{summary.step_s * 1e3:.4g} ms"
    logger.info("%s: %s; modelled step %s on %s; planned in %.3g s", function, collectives, step, summary.target, seconds)


def function_name(module: str) -> str:
    """The name of the user's function in that of its module: of `jit_train_step.shardc` it is `train_step`."""
    return module.split(".shardc")[0].removeprefix("jit_")


def warn(text: str, line: tuple[str, int] | None = None) -> None:
    """Warns as if this line of Python had, so that filters for it apply; without one, the line that called the library."""
    file, number = line or _calling_line()
    # Without a module's name, Python would take the whole path for it, and no filter by name would match.
    names = (name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) == file)
    registry = _registries.setdefault(file, {})
    warnings.warn_explicit(text, ShardcWarning, file, number, module=next(names, None), registry=registry)


def _calling_line() -> tuple[str, int]:
    """The innermost line that is in no library: the user's."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _LIBRARIES)
    folders = tuple(str(pathlib.Path(file).parent) + os.sep for file in files if file)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((*folders, "<frozen")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
