"""Diagnostics as exceptions and warnings, with the lines of Python that they refer to."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from shardc._log import ShardcWarning, warn
from shardc._native import Diagnostic

__all__ = ["ShardcError", "ShardcWarning", "python_line", "settle", "text_of"]


class ShardcError(Exception):
    """A program can't be compiled.

    `diagnostics` has all diagnostics: severity, code, message, notes, the place in the MLIR text and, if JAX recorded it, the
    line of Python. The exception's text shows the errors.
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default method of exceptions keeps only the message.
        return (type(self), (str(self), self.diagnostics), self.__dict__)


def python_line(diagnostic: Diagnostic) -> str | None:
    """Returns the line of Python that a diagnostic refers to, with a mark under its column; None if JAX didn't record it."""
    if diagnostic.source is None:
        return None
    file, line, column = diagnostic.source
    text = linecache.getline(file, line).rstrip()
    where = f"  --> {file}:{line}:{column}"
    if not text.strip():
        return where
    margin = " " * len(str(line))
    # JAX's columns count from 1, also in cells of a notebook. A tab stays a tab.
    before = "".join("\t" if c == "\t" else " " for c in text[: max(column - 1, 0)])
    return f"{where}\n {margin} |\n {line} | {text}\n {margin} | {before}^"


def text_of(diagnostic: Diagnostic) -> str:
    """Returns a diagnostic as text, with its line of Python instead of the line of MLIR if it has one."""
    line = python_line(diagnostic)
    if line is None:
        return diagnostic.text.rstrip()
    notes = "".join(f"\n  = {note}" for note in diagnostic.notes)
    return f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}\n{line}{notes}"


def settle(diagnostics: Sequence[Diagnostic], what: str) -> None:
    """Raises a ShardcError if there is an error; otherwise issues the warnings."""
    errors = [d for d in diagnostics if d.severity == "error"]
    if errors:
        shown = "\n".join(text_of(d) for d in errors)
        raise ShardcError(f"{what} can't be compiled\n{shown}", diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity != "warning":
            continue
        warn(text_of(diagnostic), diagnostic.source and diagnostic.source[:2])
