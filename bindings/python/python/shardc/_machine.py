"""Finds the target for JAX's devices: `v5e:2x4` for eight devices of the kind "TPU v5 lite"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from shardc import _native
from shardc._log import logger

_TPUS = {
    "v2": "v2",
    "v3": "v3",
    "v4": "v4p",
    "v5 lite": "v5e",
    "v5e": "v5e",
    "v5p": "v5p",
    "v5": "v5p",
    "v6 lite": "v6e",
    "v6e": "v6e",
    "v7x": "v7x",
    "7x": "v7x",
    "v7": "v7x",
}
"""Chips by the part of JAX's `device_kind` after "TPU"."""

_FLAT = {"v2", "v3", "v5e", "v6e"}
"""Chips whose slices have two dimensions: their third coordinate is 0."""

_GPU = re.compile(r"\b(GB200|GB300|B100|B200|B300|GH200|H100|H200|A100|V100|L40S|MI300X|MI325X|MI355X)\b", re.IGNORECASE)

_reported: set[str] = set()


def machine(devices: Iterable[Any]) -> str | None:
    """Returns the target for these devices. If there is none, logs a line and returns None, which is a flat model of a network."""
    found = list(devices)
    if not found:
        return None
    kind = str(getattr(found[0], "device_kind", ""))
    named = _tpus(kind, found) if kind.startswith("TPU") else _gpus(kind, found)
    if named is not None and _native.target_fault(named) is None:
        return named
    what = f"{len(found)} devices of the kind {kind!r}" + (f" as {named}" if named else "")
    if what not in _reported:
        _reported.add(what)
        logger.warning("no model of %s is available, so the plan is for a flat network; shardc.jit(target=...) sets a machine", what)
    return None


def _tpus(kind: str, devices: list[Any]) -> str | None:
    """Returns the target of these TPU chips from their coordinates; None if they don't form whole slices."""
    chip = _TPUS.get(kind.removeprefix("TPU").strip().lower())
    slices: dict[int, set[tuple[int, ...]]] = {}
    for device in devices:
        coords = getattr(device, "coords", None)
        if coords is None:
            return None
        slices.setdefault(getattr(device, "slice_index", 0) or 0, set()).add(tuple(coords))
    shapes = {_shape(chips, 2 if chip in _FLAT else 3) for chips in slices.values()}
    # Chips before v4 have two devices each, so the number of chips differs from the number of devices.
    if chip is None or len(shapes) != 1 or None in shapes or sum(map(len, slices.values())) != len(devices):
        return None
    (shape,) = shapes
    return f"{_count(len(slices))}{chip}:{shape}"


def _shape(chips: set[tuple[int, ...]], rank: int) -> str | None:
    """Returns the shape of the box of `rank` dimensions that these chips fill; None if they don't fill a box."""
    sizes = [max(along) - min(along) + 1 for along in zip(*chips)]
    fills = math.prod(sizes) == len(chips) and all(size == 1 for size in sizes[rank:])
    return "x".join(map(str, sizes[:rank])) if fills else None


def _gpus(kind: str, devices: list[Any]) -> str | None:
    """Returns the target of these GPUs. An island has the GPUs of one process, or of one slice if JAX names slices."""
    chip = _GPU.search(kind)
    islands: dict[int, int] = {}
    for device in devices:
        named = getattr(device, "slice_index", None)
        island = int(getattr(device, "process_index", 0) if named is None else named)
        islands[island] = islands.get(island, 0) + 1
    if chip is None or len(set(islands.values())) != 1:
        return None
    return f"{_count(len(islands))}{chip.group(1).lower()}:{next(iter(islands.values()))}"


def _count(slices: int) -> str:
    return "" if slices == 1 else f"{slices}x"
