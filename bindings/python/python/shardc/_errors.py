"""Diagnostics as exceptions and warnings, with the lines of Python that they are about."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from shardc._log import ShardcWarning, warn
from shardc._native import Diagnostic

__all__ = ["ShardcError", "ShardcWarning", "python_line", "settle", "text_of"]


class ShardcError(Exception):
    """A program that can't be compiled.

    `diagnostics` has everything that was found: severity, code, message, notes, the place in the MLIR text and, where JAX
    recorded it, the line of Python. The exception's text shows those that are errors.
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception's own way knows the message alone.
        return (type(self), (str(self), self.diagnostics), self.__dict__)


def python_line(diagnostic: Diagnostic) -> str | None:
    """The line of Python that a diagnostic is about, with a mark under its column; None where it isn't known."""
    if diagnostic.source is None:
        return None
    file, line, column = diagnostic.source
    text = linecache.getline(file, line).rstrip()
    where = f"  --> {file}:{line}:{column}"
    if not text.strip():
        return where
    margin = " " * len(str(line))
    # JAX's columns count from 1, those of a notebook's cells too; a tab stays one.
    before = "".join("\t" if c == "\t" else " " for c in text[: max(column - 1, 0)])
    return f"{where}\n {margin} |\n {line} | {text}\n {margin} | {before}^"


def text_of(diagnostic: Diagnostic) -> str:
    """A diagnostic for people: its line of Python instead of the line of MLIR, where there is one."""
    line = python_line(diagnostic)
    if line is None:
        return diagnostic.text.rstrip()
    notes = "".join(f"\n  = {note}" for note in diagnostic.notes)
    return f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}\n{line}{notes}"


def settle(diagnostics: Sequence[Diagnostic], what: str) -> None:
    """Raises a ShardcError if any is an error; warns of the others."""
    errors = [d for d in diagnostics if d.severity == "error"]
    if errors:
        shown = "\n".join(text_of(d) for d in errors)
        raise ShardcError(f"{what} can't be compiled\n{shown}", diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity != "warning":
            continue
        warn(text_of(diagnostic), diagnostic.source and diagnostic.source[:2])
