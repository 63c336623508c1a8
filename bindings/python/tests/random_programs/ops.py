"""The ops of random programs, and on what they are applied."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def known(*names: str) -> list[str]:
    """Those that this JAX has."""
    return [name for name in names if hasattr(jnp, name)]


TWO_BITS = known("int2", "uint2")
INTEGERS = ["int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32"]
EIGHTS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"]
SMALL = [*EIGHTS, *known("float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn")]
FLOATS = [*SMALL, "float16", "bfloat16", "float32", "float64"]
WIDE = ["int64", "uint64", "float64", "complex128"]
POWERS = "float8_e8m0fnu"
"""Powers of two without zero: XLA computes with them in other types, and rounds sums and products where it likes."""
SHORT = "float4_e2m1fn"
"""Of one bit after the point: sums of many are what their order makes of them."""
SUMS = {"reduce", "dot", "special", "windows", "order", "index"}
ARITHMETIC = {"unary", "binary", "reduce", "dot", "special", "windows"}
# Half of the programs are about what most are about.
DTYPES = [*INTEGERS, *FLOATS[:-1], "complex64", "complex64", "bool", "bool", *["float32", "int32", "bfloat16"] * 3]


def kind(x: Any) -> str:
    """`i`, `f`, `c`, `b`, or `k` for a key of random numbers."""
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return "k"
    if x.dtype == bool:
        return "b"
    return "c" if jnp.issubdtype(x.dtype, jnp.complexfloating) else "f" if jnp.issubdtype(x.dtype, jnp.floating) else "i"


class Skipped(Exception):
    """Of a step that XLA computes wrongly, on one device as on all."""


class Ops:
    """Each makes a step of a value `x` that is the `i`th, and perhaps of the `j`th, which is like it."""

    r: random.Random
    numbers: np.random.Generator
    dtypes: list[str]
    given: int | None

    def unary(self, x, i, j):
        floats = [jnp.tanh, jnp.sin, lambda x: x * 0.5, jnp.floor, lambda x: jnp.clip(x, -1, 2), jnp.isnan, jax.nn.sigmoid]
        of = {
            "b": [jnp.logical_not, lambda x: x.astype(jnp.int32)],
            "i": [jnp.negative, jnp.abs, jnp.bitwise_not, lambda x: x // 2, lambda x: x % 3, lax.population_count, jnp.sign],
            "f": [jnp.negative, jnp.abs, *floats],
            "c": [jnp.conj, jnp.real, jnp.imag, jnp.abs, jnp.negative, lambda x: x * 1j],
        }
        f = self.r.choice(of[kind(x)])
        if f is lax.population_count and x.dtype.name == "int4":
            raise Skipped("XLA counts the bits of the number in eight bits")
        return lambda now: f(now[i])

    def binary(self, x, i, j):
        ordered = [jnp.maximum, jnp.minimum, jnp.less, jnp.greater_equal]
        of = {
            "b": [jnp.logical_and, jnp.logical_or, jnp.logical_xor],
            "i": [jnp.add, jnp.subtract, jnp.multiply, jnp.bitwise_xor, jnp.bitwise_and, *ordered],
            "f": [jnp.add, jnp.subtract, lambda a, b: a * jnp.tanh(b), *ordered],
            "c": [jnp.add, jnp.subtract, jnp.multiply, jnp.equal],
        }
        f = self.r.choice([*of[kind(x)], lambda a, b: jnp.where(a == b, a, b)])
        return lambda now: f(now[i], now[j])

    def convert(self, x, i, j):
        dtype = self.r.choice(self.dtypes)
        if kind(x) == "c" and dtype != "bool":
            return lambda now: jnp.real(now[i]).astype(dtype)
        if dtype == POWERS:
            raise Skipped("of a negative number XLA makes NaN, or leaves it as it is where it is converted back")
        return lambda now: now[i].astype(dtype)

    def reduce(self, x, i, j):
        axes = tuple(d for d in range(x.ndim) if self.r.random() < 0.5) or None
        keep = self.r.random() < 0.3
        of = {"b": [jnp.any, jnp.all, jnp.sum], "i": [jnp.sum, jnp.max, jnp.min], "f": [jnp.sum, jnp.max, jnp.min, jnp.mean], "c": [jnp.sum]}
        f = self.r.choice(of[kind(x)])
        if f is jnp.mean and x.dtype.name in SMALL:
            raise Skipped("the number of elements has no place in the type, so sums are infinite or not by their order")
        return lambda now: f(now[i], axis=axes, keepdims=keep)

    def dot(self, x, i, j):
        wide = {"f": [None, "float32"], "i": [None, "int32"], "c": [None], "b": [None]}[kind(x)]
        wide = self.r.choice([*wide, "float16"]) if x.dtype.name in SMALL else self.r.choice(wide)
        d = self.r.randrange(max(x.ndim, 1))
        batch = tuple(self.r.sample([k for k in range(x.ndim) if k != d], self.r.randint(0, max(x.ndim - 1, 0))))
        dims = (((d,), (d,)), (batch, batch))
        products = [
            lambda x, y: jnp.einsum("...i,...i->...", x, y, preferred_element_type=wide),
            lambda x, y: lax.dot_general(x, y, dims, preferred_element_type=wide),
            lambda x, y: jnp.einsum("m...k,n...k->mn", x, y, preferred_element_type=wide),
        ]
        f = self.r.choice(products)
        return lambda now: f(now[i], now[j])

    def move(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        order = list(range(x.ndim))
        self.r.shuffle(order)
        shift = self.r.randint(-3, 3)
        moves = [
            lambda x: jnp.transpose(x, order),
            lambda x: x.reshape(-1),
            lambda x: x.reshape(x.shape[0], -1) if x.ndim else x,
            lambda x: jnp.roll(x, shift, d),
            lambda x: jnp.flip(x, d),
            lambda x: jnp.stack([x, x], d),
            lambda x: jnp.broadcast_to(x[None], (4, *x.shape)),
            lambda x: jnp.repeat(x, 2, axis=d),
        ]
        f = self.r.choice([*moves, lambda x, y: jnp.concatenate([x, y], d)])
        return (lambda now: f(now[i], now[j])) if f.__code__.co_argcount == 2 else (lambda now: f(now[i]))

    def cut(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        size = x.shape[d] if x.ndim else 0
        low = self.r.randint(0, size)
        high = self.r.randint(low, size)
        step = self.r.randint(1, 3)
        cuts = [
            lambda x: lax.slice_in_dim(x, low, high, step, axis=d),
            lambda x: jnp.pad(x, [(1, 2) if a == d else (0, 0) for a in range(x.ndim)]),
            lambda x: lax.dynamic_slice_in_dim(x, jnp.int32(low), high - low, axis=d),
            lambda x: lax.dynamic_update_slice_in_dim(x, lax.slice_in_dim(x, low, high, axis=d) * 1, jnp.int32(0), axis=d),
        ]
        f = self.r.choice(cuts)
        return lambda now: f(now[i])

    def index(self, x, i, j):
        size = x.shape[0] if x.ndim else 0
        d = self.r.randrange(max(x.ndim, 1))
        at = self.numbers.integers(-1, size + 1, self.r.choice([0, 1, 3, 8])).astype(np.int32)
        # Where several updates meet, what is computed is the same in any order.
        one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        order = lambda y: jnp.argsort(y, axis=d, stable=True)
        looks = [
            lambda x, y: jnp.take(x, at, axis=0, mode="clip"),
            lambda x, y: x.at[at].add(one, mode="drop"),
            lambda x, y: x.at[at].set(zero, mode="drop"),
            lambda x, y: x.at[at].max(one, mode="drop"),
            lambda x, y: x.at[..., at].multiply(one, mode="drop"),
            lambda x, y: x.at[at, at].min(zero, mode="drop"),
            lambda x, y: jnp.take(x, jnp.arange(x.shape[0])[::-1], axis=0, mode="fill", fill_value=0),
            lambda x, y: jnp.take_along_axis(x, order(y), axis=d),
            lambda x, y: jnp.put_along_axis(x, order(y), y, axis=d, inplace=False),
            lambda x, y: x[jnp.clip(y.astype(jnp.int32).ravel()[:5], 0, size - 1)],
            lambda x, y: x.at[:-1].set(y[1:]),
            lambda x, y: x[..., ::-1, None][::2],
            lambda x, y: jax.ops.segment_sum(x, at[: x.shape[0]] if len(at) >= size else jnp.arange(size) % 3, 3),
        ]
        f = self.r.choice(looks)
        return lambda now: f(now[i], now[j])

    def order(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        orders = [
            lambda x, y: jnp.sort(x, axis=d),
            lambda x, y: jnp.argsort(x, axis=d),
            lambda x, y: jnp.cumsum(x, axis=d),
            lambda x, y: jnp.argmax(x, axis=d),
            lambda x, y: lax.cummax(x, axis=d, reverse=True),
            lambda x, y: lax.cumprod(jnp.sign(x), axis=d),
            lambda x, y: lax.sort((x, y, lax.broadcasted_iota(jnp.int32, x.shape, d)), dimension=d, num_keys=2)[2],
            lambda x, y: lax.top_k(x, 2)[0],
            lambda x, y: lax.top_k(x, 1)[1],
            lambda x, y: jnp.median(x, axis=d),
            lambda x, y: lax.associative_scan(jnp.maximum, x, axis=d),
            lambda x, y: jnp.nonzero(x.ravel()[:64], size=4, fill_value=-1)[0],
        ]
        f = self.r.choice(orders)
        return lambda now: f(now[i], now[j])

    def special(self, x, i, j):
        """What is rare: bits, windows of rows, tables of numbers, libraries, derivatives."""
        n = min(x.shape[:2]) if x.ndim > 1 else 0
        other = {1: "int8", 2: "uint16", 4: "int32", 8: "int64"}.get(x.dtype.itemsize, "int8")
        # Symmetric and far from singular.
        square = lambda x: (lambda m: m @ m.T + 20 * jnp.eye(n, dtype=m.dtype))(x.reshape(*x.shape[:2], -1)[:n, :n, 0])
        # Which part of a complex number NaN makes NaN is up to who computes.
        finite = lambda x: jnp.where(jnp.isfinite(x), x, 0)
        smooth = lambda x: jnp.sum(jnp.tanh(x) * jnp.cos(x) * x)
        softmax = lambda x: jax.nn.softmax(x, axis=0)
        ops = [
            lambda x: lax.bitcast_convert_type(x, other),
            lambda x: lax.bitcast_convert_type(x, jnp.uint8),
            lambda x: x * jnp.asarray(self.given or 2, x.dtype),
            lambda x: lax.reduce_precision(x, 5, 2),
            lambda x: jnp.fft.fft(finite(x.astype(jnp.complex64))),
            lambda x: jnp.fft.rfft(finite(x.astype(jnp.float32))),
            lambda x: jnp.linalg.cholesky(square(x)),
            lambda x: jnp.abs(jnp.linalg.qr(square(x))[1]),
            lambda x: jnp.linalg.eigvalsh(square(x)),
            lambda x: jnp.linalg.solve(square(x), x.reshape(*x.shape[:2], -1)[:n, :n, 0]),
            lambda x: jnp.linalg.det(square(x)),
            lambda x: jax.grad(smooth)(x),
            lambda x: jax.jvp(jnp.sin, (x,), (x,))[1],
            lambda x: jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)))(x),
            lambda x: x + lax.broadcasted_iota(x.dtype, x.shape, 0) * lax.iota(x.dtype, x.shape[-1]),
            lambda x: lax.optimization_barrier((x, x))[1],
            softmax,
            lambda x: jax.nn.one_hot(x.ravel()[:6], 5, dtype=x.dtype),
            lambda x: lax.clamp(jnp.zeros((), x.dtype), x, jnp.ones((), x.dtype)),
            lambda x: jnp.tril(x) + jnp.triu(x, 1),
        ]
        f = self.r.choice(ops)
        if kind(x) == "c" and f is ops[-2]:
            raise Skipped("XLA clamps complex numbers by their real parts")
        if f is softmax and kind(x) == "f" and not np.isinf(np.float32(np.inf).astype(x.dtype)):
            raise Skipped("the maximum begins with NaN where a type has no infinity, which XLA drops or not by its flags")
        return lambda now: f(now[i])

    def windows(self, x, i, j):
        """Convolutions, and reductions over windows."""
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

        size = [1] * x.ndim
        if x.ndim:
            size[self.r.randrange(x.ndim)] = 3
        start = jnp.zeros((), x.dtype)
        windows = [
            convolved,
            convolved,
            lambda x, y: lax.reduce_window(x, start, jnp.maximum if kind(x) == "f" else jnp.add, size, [1] * x.ndim, "SAME"),
            lambda x, y: lax.reduce_window(x, start, lax.add, size, size, "VALID"),
            lambda x, y: jax.grad(lambda v: jnp.sum(lax.reduce_window(v, -jnp.inf, lax.max, size, size, "VALID") * 2))(x),
            lambda x, y: jnp.convolve(x.ravel()[:12], y.ravel()[:3], mode="same"),
        ]
        f = self.r.choice(windows)
        return lambda now: f(now[i], now[j])

    def drawn(self, x, i, k):
        """Numbers of a key, which is the `k`th value or made of the `i`th."""
        key = lambda now: jax.random.fold_in(jax.random.key(7), jnp.sum(now[i] == now[i]))
        if k is not None:
            key = lambda now: now[k].ravel()[0]
        shape = x.shape
        draws = [
            lambda key: jax.random.bits(key, shape, jnp.uint8),
            lambda key: jax.random.uniform(key, shape),
            lambda key: jax.random.bernoulli(key, 0.4, shape),
            lambda key: jax.random.randint(key, shape, 0, 100),
            lambda key: jax.random.permutation(key, 12),
            lambda key: jax.random.key_data(jax.random.split(key, 8)),
            lambda key: jax.random.split(key, (4, 2)),
            lambda key: jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(key, 8)),
        ]
        f = self.r.choice(draws)
        return lambda now: f(key(now))

    def control(self, x, i, j):
        turn = lambda k, z: jnp.where(k == 1, z, jnp.flip(z, 0))
        ways = [
            lambda x, y: lax.fori_loop(0, 3, turn, x),
            lambda x, y: lax.cond(jnp.sum(x == y) > 3, lambda a, b: a, lambda a, b: b, x, y),
            lambda x, y: lax.scan(lambda c, r: (jnp.maximum(c, r) if kind(c) in "if" else r, c), x[0], y)[1],
            lambda x, y: lax.scan(lambda c, r: (r, jnp.flip(c, 0)), x[0], y, reverse=True, unroll=2)[1],
            lambda x, y: jax.jit(lambda a, b: jnp.where(a == b, b, a))(x, y),
            lambda x, y: lax.map(lambda r: r * 1, x),
            lambda x, y: lax.while_loop(lambda c: c[0] < jnp.sum(y == y) % 4, lambda c: (c[0] + 1, turn(c[0], c[1])), (0, x))[1],
            lambda x, y: lax.switch(jnp.sum(x != y) % 3, [lambda a: a, lambda a: jnp.flip(a, 0), lambda a: a * 1], x),
            lambda x, y: jax.vmap(lambda a, b: jnp.where(jnp.any(a == b), a, b))(x, y),
        ]
        f = self.r.choice(ways)
        return lambda now: f(now[i], now[j])

    def place(self, x, i, j):
        return self.place_step(x, i)
