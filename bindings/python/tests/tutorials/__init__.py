"""JAX's tutorials on sharding in programs of our own: each module's `run(jit)` yields the snippets' names and results.

A result may have text in it: types, and what errors are raised.
"""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

EXPLICIT = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)


def types(*values: Any) -> tuple[str, ...]:
    """The types of values, with the shardings that are in them."""
    return tuple(str(jax.typeof(value)) for value in values)


def shards(x: jax.Array) -> list[np.ndarray]:
    """What each device holds, in the order of devices."""
    return [np.asarray(part.data) for part in sorted(x.addressable_shards, key=lambda part: part.device.id)]


def raised(call: Callable[..., Any], *args: Any) -> str:
    """What a call that JAX refuses raises."""
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001: of which type is what is compared
        return type(error).__name__
    return "nothing"
