"""Runs `tour.py` cell by cell and writes it with its outputs as a notebook: `python notebook.py [tour.ipynb]`."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import pathlib
import sys


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a script in the percent format: (kind, source)."""
    found = []
    for part in text.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        kind = "markdown" if "[markdown]" in head else "code"
        lines = body.strip("\n").split("\n")
        if kind == "markdown":
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        found.append((kind, "\n".join(lines)))
    return found


def run(source: str, names: dict, number: int) -> list[dict]:
    """What a cell prints, and its last expression's value, as outputs of a notebook."""
    import linecache

    file = f"cell {number}"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, file, "exec"), names)
        if last is not None:
            value = eval(compile(last, file, "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs


def notebook(text: str) -> dict:
    names: dict = {"__name__": "__main__"}
    written, number = [], 0
    for kind, source in cells(text):
        cell = {"cell_type": kind, "id": f"cell-{len(written)}", "metadata": {}, "source": source.splitlines(True)}
        if kind == "code":
            number += 1
            cell |= {"execution_count": number, "outputs": run(source, names, number)}
        written.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "tour.ipynb"
    target.write_text(json.dumps(notebook((here / "tour.py").read_text()), indent=1, ensure_ascii=False) + "\n")
