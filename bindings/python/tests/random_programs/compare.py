"""Differences of results; results without rounding must be exactly equal."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np

from random_programs.ops import kind


def plain(x: Any) -> np.ndarray:
    """Returns the array of a result, or the words of a key."""
    return np.asarray(jax.random.key_data(x) if isinstance(x, jax.Array) and kind(x) == "k" else x)


def difference(got: Any, want: Any) -> str | None:
    """Returns the difference of a result, or None.

    Floats of 32 bits and more may differ by rounding, of 16 epsilons of the largest element. Of narrow ones an epsilon is so large that
    this would hide wrong elements: those are equal, or somebody measures how far rounding moves them.
    """
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"is {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    is_exact = kind(want) in "bik"
    got, want = plain(got), plain(want)
    if is_exact:
        same = got.astype(np.int64) == want.astype(np.int64)
        return None if same.all() else f"differs in {np.sum(~same)} of {same.size}"
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    dtype, wide = want.dtype, np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    scale = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    bound = 16 * eps if eps < 1e-6 else 0
    if not np.allclose(got, want, rtol=bound, atol=bound * scale, equal_nan=True):
        with np.errstate(invalid="ignore"):
            return f"differs by {np.nanmax(np.abs(got - want), initial=0)} of {scale} in {dtype}"
    return None


def different_calls(got: dict[str, list[tuple[Any, ...]]], want: dict[str, list[tuple[Any, ...]]]) -> str | None:
    """Returns the difference of the calls of two runs. Calls of a callback are in order, those in a `shard_map` by devices."""
    # XLA may call a pure function any number of times; its returned values are part of the results.
    for name in sorted(name for name in {*got, *want} if "pure_callback" not in name):
        # Calls in a vmap are in any order.
        key = by_value if name.endswith("vmap") else by_device
        ours, theirs = ([v for _, v in sorted(enumerate(calls.get(name, [])), key=key)] for calls in (got, want))
        if len(ours) != len(theirs):
            return f"{name}: called {len(ours)} times instead of {len(theirs)}"
        for k, (a, b) in enumerate(zip(ours, theirs)):
            for x, y in zip(a, b):
                if (wrong := difference(x, y)) is not None:
                    return f"{name}: argument of call {k} {wrong}"
    return None


def by_device(call: tuple[int, tuple[Any, ...]]) -> tuple[int, int]:
    number, values = call
    return (int(values[0]) if len(values) > 1 else 0, number)


def by_value(call: tuple[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(np.round(v.astype(np.complex128), 3).tobytes() for v in call[1])
