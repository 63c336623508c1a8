"""The ops of random programs, and their operands. `tests/random_programs.json` describes them for this generator and for that of
StableHLO programs."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DESCRIPTION = json.loads((pathlib.Path(__file__).parents[4] / "tests" / "random_programs.json").read_text())
OPS: dict[str, list[dict[str, Any]]] = {}
for row in DESCRIPTION["ops"]:
    if "jax" in row:
        OPS.setdefault(row["kind"], []).append(row)


def types(**having: bool) -> list[str]:
    """The element types with these flags that this JAX has, each as often as its weight says."""
    rows = [row for row in DESCRIPTION["element_types"] if all(row.get(flag, False) == value for flag, value in having.items())]
    return [row["jax"] for row in rows for _ in range(row.get("weight", 1)) if hasattr(jnp, row["jax"]) or row["jax"] == "bool"]


DTYPES = types(rare=False, x64=False)
WIDE = types(x64=True)
TWO_BITS = types(rare=True)
FLOATS = [row["jax"] for row in DESCRIPTION["element_types"] if row["class"] == "f"]
SMALL = [name for name in FLOATS if name.startswith(("float8", "float4"))]
POWERS = "float8_e8m0fnu"
"""Powers of two without zero. XLA computes with them in other types, and its rounding of sums and products depends on fusion."""
SHORT = "float4_e2m1fn"
"""One bit after the point, so that long sums depend on their order."""
SUMS = {"reduce", "dot", "special", "windows", "order", "index"}
ARITHMETIC = {"unary", "binary", "compare", "reduce", "dot", "special", "windows"}


def kind(x: Any) -> str:
    """`i`, `f`, `c`, `b`, or `k` for a key of random numbers."""
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return "k"
    if x.dtype == bool:
        return "b"
    return "c" if jnp.issubdtype(x.dtype, jnp.complexfloating) else "f" if jnp.issubdtype(x.dtype, jnp.floating) else "i"


class Skipped(Exception):
    """A step that XLA computes wrongly on one device, too."""


NAMES = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "kind": kind}


class Ops:
    """Each method makes a step of a value `x`, which is the `i`th. The `j`th has the same shape and type."""

    r: random.Random
    numbers: np.random.Generator
    dtypes: list[str]
    given: int | None
    only: dict[str, Any] | None = None
    """The row to use instead of a random one, for tests."""

    def op(self, of: str, x: Any, **parameters: Any) -> Callable[[Any, Any], Any]:
        """An op of a kind, as a function of `x` and `y`; `parameters` are the other names in its expression."""
        rows = [row for row in OPS[of] if kind(x) in row.get("classes", "bifc")]
        row = self.only or self.r.choices(rows, [row.get("weight", 1) for row in rows])[0]
        if x.dtype.name in row.get("without", []):
            raise Skipped(row["why"])
        return eval(f"lambda x, y: {row['jax']}", {**NAMES, **parameters})

    def step_of(self, of: str, x: Any, i: int, j: int, **parameters: Any) -> Callable[[list[Any]], Any]:
        f = self.op(of, x, **parameters)
        return lambda now: f(now[i], now[j])

    def unary(self, x, i, j):
        return self.step_of("unary", x, i, j)

    def binary(self, x, i, j):
        return self.step_of("binary", x, i, j)

    def compare(self, x, i, j):
        return self.step_of("compare", x, i, j)

    def convert(self, x, i, j):
        dtype = self.r.choice(self.dtypes)
        if kind(x) == "c" and dtype != "bool":
            return lambda now: jnp.real(now[i]).astype(dtype)
        if dtype == POWERS:
            raise Skipped("XLA makes NaN of a negative number, or leaves it unchanged where it is converted back")
        return lambda now: now[i].astype(dtype)

    def reduce(self, x, i, j):
        axes = tuple(d for d in range(x.ndim) if self.r.random() < 0.5) or None
        keep, dims = self.r.random() < 0.3, tuple(range(x.ndim)) if axes is None else axes
        return self.step_of("reduce", x, i, j, axes=axes, keep=keep, dims=dims, zero=np.zeros((), x.dtype))

    def dot(self, x, i, j):
        wide = {"f": [None, "float32"], "i": [None, "int32"], "c": [None], "b": [None]}[kind(x)]
        wide = self.r.choice([*wide, "float16"]) if x.dtype.name in SMALL else self.r.choice(wide)
        d = self.r.randrange(max(x.ndim, 1))
        batch = tuple(self.r.sample([k for k in range(x.ndim) if k != d], self.r.randint(0, max(x.ndim - 1, 0))))
        return self.step_of("dot", x, i, j, d=d, batch=batch, wide=wide)

    def move(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        order = list(range(x.ndim))
        self.r.shuffle(order)
        return self.step_of("move", x, i, j, d=d, order=order, shift=self.r.randint(-3, 3))

    def cut(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        size = x.shape[d] if x.ndim else 0
        low = self.r.randint(0, size)
        high = self.r.randint(low, size)
        return self.step_of("cut", x, i, j, d=d, low=low, high=high, step=self.r.randint(1, 3))

    def index(self, x, i, j):
        size = x.shape[0] if x.ndim else 0
        d = self.r.randrange(max(x.ndim, 1))
        at = self.numbers.integers(-1, size + 1, self.r.choice([0, 1, 3, 8])).astype(np.int32)
        # Several updates of one element have the same result in any order.
        one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        return self.step_of("index", x, i, j, size=size, d=d, at=at, one=one, zero=zero)

    def order(self, x, i, j):
        return self.step_of("order", x, i, j, d=self.r.randrange(max(x.ndim, 1)))

    def special(self, x, i, j):
        """Makes a step of a rare op: bits, windows of rows, tables of numbers, libraries, derivatives."""
        n = min(x.shape[:2]) if x.ndim > 1 else 0
        other = {1: "int8", 2: "uint16", 4: "int32", 8: "int64"}.get(x.dtype.itemsize, "int8")
        matrix = lambda x: x.reshape(*x.shape[:2], -1)[:n, :n, 0]
        # Symmetric and far from singular.
        square = lambda x: matrix(x) @ matrix(x).T + 20 * jnp.eye(n, dtype=x.dtype)
        # XLA's algorithms differ in the part of a complex number that NaN makes NaN.
        finite = lambda x: jnp.where(jnp.isfinite(x), x, 0)
        f = self.op("special", x, other=other, matrix=matrix, square=square, finite=finite, given=lambda: self.given or 2)
        return lambda now: f(now[i], now[j])

    def windows(self, x, i, j):
        """Makes a step of a convolution, or of a reduction over windows."""
        wide = {"f": [None, "float32"], "i": [None, "int32"]}.get(kind(x), [None])
        wide, stride, pad = self.r.choice(wide), self.r.randint(1, 2), self.r.choice(["SAME", "VALID", [(1, 2)]])
        dilation, groups = self.r.randint(1, 2), self.r.choice([1, 1, x.shape[-1] if x.ndim else 1])

        def convolved(x, y):
            left = x.reshape(1, *x.shape) if x.ndim == 2 else x
            right = jnp.broadcast_to(y.ravel()[:1].reshape(1, 1, 1), (3, left.shape[-1] // groups, 2 * groups))
            return lax.conv_general_dilated(
                left, right, (stride,), pad, rhs_dilation=(dilation,), feature_group_count=groups,
                dimension_numbers=("NWC", "WIO", "NWC"), preferred_element_type=wide,
            )  # fmt: skip

        window = [1] * x.ndim
        if x.ndim:
            window[self.r.randrange(x.ndim)] = 3
        return self.step_of("windows", x, i, j, convolved=convolved, window=window, zero=np.zeros((), x.dtype))

    def drawn(self, x, i, k):
        """Makes a step of random numbers from a key, which is the `k`th value or depends on the `i`th."""
        key = lambda now: jax.random.fold_in(jax.random.key(7), jnp.sum(now[i] == now[i]))
        if k is not None:
            key = lambda now: now[k].ravel()[0]
        f = self.op("numbers", x, shape=x.shape)
        return lambda now: f(key(now), None)

    def control(self, x, i, j):
        return self.step_of("control", x, i, j, turn=lambda k, z: jnp.where(k == 1, z, jnp.flip(z, 0)))

    def place(self, x, i, j):
        return self.place_step(x, i)
