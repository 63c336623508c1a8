"""Random JAX programs over all dtypes, with empty arrays, memory kinds and random shardings.

`Random(seed)` has a function for one device and the same with shardings, arguments for both (`values` and `placed`), and what `jit` is
told besides. A step that JAX refuses to trace isn't part of the program.
"""

from __future__ import annotations

import random
import warnings
from typing import Any, Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

AUTO = jax.sharding.AxisType.Auto
MESHES = [
    jax.make_mesh((4, 2), ("a", "b"), axis_types=(AUTO,) * 2),
    jax.make_mesh((8,), ("a",), axis_types=(AUTO,)),
    jax.make_mesh((2, 2, 2), ("a", "b", "c"), axis_types=(AUTO,) * 3),
]
INTEGERS = ["int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32"]
FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float16", "bfloat16", "float32"]
DTYPES = [*INTEGERS, *FLOATS, "complex64", "bool"]
KINDS = sorted({memory.kind for memory in jax.devices()[0].addressable_memories()})
DEFAULT = jax.devices()[0].default_memory().kind


def kind(x: Any) -> str:
    """`i`, `f`, `c` or `b`."""
    if x.dtype == bool:
        return "b"
    return "c" if jnp.issubdtype(x.dtype, jnp.complexfloating) else "f" if jnp.issubdtype(x.dtype, jnp.floating) else "i"


class Random:
    """The program of a seed."""

    def __init__(self, seed: int, most: int = 9):
        self.r = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.mesh = self.r.choice(MESHES)
        # On one device nothing has a sharding.
        self.is_sharded = False
        self.steps: list[Callable[[list[Any]], Any]] = []
        dims = [self.r.choice([0, 1, 2, 3, 4, 5, 8, 8, 12, 16]) if self.r.random() < 0.5 else 8 for _ in range(3)]
        self.dims = [d or (0 if self.r.random() < 0.4 else 8) for d in dims]
        shapes = [[self.r.choice(self.dims) for _ in range(self.r.randint(1, 3))] for _ in range(self.r.randint(1, 3))]
        self.values = [self.made(shape, self.r.choice(DTYPES)) for shape in shapes]
        self.placed = [jax.device_put(value, self.sharding(value.ndim, value.shape)) for value in self.values]
        known: list[str] = []
        now: list[Any] = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in self.values]
        for _ in range(self.r.randint(2, most)):
            name, step = self.step(now)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = jax.eval_shape(step, now)
            except Exception:  # noqa: BLE001: JAX or XLA has no such op of this dtype
                continue
            known.append(name)
            self.steps.append(step)
            now.append(result)
        self.names, self.count = known, len(now)
        self.jit = {}
        if self.r.random() < 0.3:
            self.jit["out_shardings"] = [self.sharding(value.ndim, value.shape) for value in now[len(self.values) :]]

    def on_one_device(self, *args: Any) -> list[Any]:
        self.is_sharded = False
        return self.run(args)

    def sharded(self, *args: Any) -> list[Any]:
        self.is_sharded = True
        return self.run(args)

    def run(self, args: tuple[Any, ...]) -> list[Any]:
        now = list(args)
        if self.is_sharded:
            # Ops take operands of one kind of memory.
            now = [jax.device_put(x, v.sharding.with_memory_kind(DEFAULT)) if v.sharding.memory_kind != DEFAULT else x for x, v in zip(now, self.placed)]
        for step in self.steps:
            now.append(step(now))
        return now[len(args) :]

    def made(self, shape: list[int], dtype: str) -> Any:
        if dtype == "bool":
            return jnp.asarray(self.numbers.random(shape) < 0.5)
        # Small whole numbers, whose sums are exact in most types.
        low = 0 if dtype.startswith("u") else -3
        value = self.numbers.integers(low, 4, shape)
        value = value + 1j * self.numbers.integers(low, 4, shape) if dtype == "complex64" else value
        return jnp.asarray(value.astype(np.float32) if dtype in FLOATS else value).astype(dtype)

    def sharding(self, rank: int, shape: Any) -> NamedSharding:
        """Axes for some dimensions that they divide, as JAX demands."""
        axes = list(self.mesh.axis_names)
        self.r.shuffle(axes)
        spec: list[Any] = [None] * rank
        for axis in axes:
            if rank and self.r.random() < 0.7:
                d = self.r.randrange(rank)
                both = (*(spec[d] or ()), axis)
                ways = int(np.prod([self.mesh.shape[a] for a in both]))
                if shape[d] % ways == 0:
                    spec[d] = both
        where = {"memory_kind": self.r.choice(KINDS)} if self.r.random() < 0.15 else {}
        return NamedSharding(self.mesh, P(*spec), **where)

    def step(self, now: list[Any]) -> tuple[str, Callable[[list[Any]], Any]]:
        """An op on some of the values there are."""
        i = self.r.randrange(len(now))
        x = now[i]
        like = [j for j, y in enumerate(now) if y.dtype == x.dtype and y.shape == x.shape]
        j = self.r.choice(like)
        name = self.r.choice(["unary", "binary", "convert", "reduce", "dot", "move", "move", "cut", "index", "order", "control", "place", "place"])
        return name, getattr(self, name)(x, i, j)

    def unary(self, x, i, j):
        floats = [jnp.tanh, jnp.sin, lambda x: x * 0.5, jnp.floor, lambda x: jnp.clip(x, -1, 2), jnp.isnan, jax.nn.sigmoid]
        of = {
            "b": [jnp.logical_not, lambda x: x.astype(jnp.int32)],
            "i": [jnp.negative, jnp.abs, jnp.bitwise_not, lambda x: x // 2, lambda x: x % 3, lax.population_count, jnp.sign],
            "f": [jnp.negative, jnp.abs, *floats],
            "c": [jnp.conj, jnp.real, jnp.imag, jnp.abs, jnp.negative, lambda x: x * 1j],
        }
        f = self.r.choice(of[kind(x)])
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
        dtype = self.r.choice(DTYPES)
        if kind(x) == "c" and dtype != "bool":
            return lambda now: jnp.real(now[i]).astype(dtype)
        return lambda now: now[i].astype(dtype)

    def reduce(self, x, i, j):
        axes = tuple(d for d in range(x.ndim) if self.r.random() < 0.5) or None
        keep = self.r.random() < 0.3
        of = {"b": [jnp.any, jnp.all, jnp.sum], "i": [jnp.sum, jnp.max, jnp.min], "f": [jnp.sum, jnp.max, jnp.min, jnp.mean], "c": [jnp.sum]}
        f = self.r.choice(of[kind(x)])
        return lambda now: f(now[i], axis=axes, keepdims=keep)

    def dot(self, x, i, j):
        wide = self.r.choice([None, "float32"]) if kind(x) == "f" else self.r.choice([None, "int32"]) if kind(x) == "i" else None
        return lambda now: jnp.einsum("...i,...i->...", now[i], now[j], preferred_element_type=wide) if now[i].ndim != 2 else jnp.einsum("mk,nk->mn", now[i], now[j], preferred_element_type=wide)

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
        at = self.numbers.integers(-1, size + 1, self.r.choice([0, 1, 3, 8])).astype(np.int32)
        looks = [
            lambda x: jnp.take(x, at, axis=0, mode="clip"),
            lambda x: x.at[at].add(jnp.ones((), x.dtype), mode="drop"),
            lambda x: x.at[at].set(jnp.zeros((), x.dtype), mode="drop"),
            lambda x: jnp.take(x, jnp.arange(x.shape[0])[::-1], axis=0, mode="fill", fill_value=0),
        ]
        f = self.r.choice(looks)
        return lambda now: f(now[i])

    def order(self, x, i, j):
        d = self.r.randrange(max(x.ndim, 1))
        orders = [
            lambda x: jnp.sort(x, axis=d),
            lambda x: jnp.argsort(x, axis=d),
            lambda x: jnp.cumsum(x, axis=d),
            lambda x: jnp.argmax(x, axis=d),
            lambda x: lax.cummax(x, axis=d),
        ]
        f = self.r.choice(orders)
        return lambda now: f(now[i])

    def control(self, x, i, j):
        ways = [
            lambda x, y: lax.fori_loop(0, 3, lambda k, z: jnp.where(k == 1, z, jnp.flip(z, 0)), x),
            lambda x, y: lax.cond(jnp.sum(x == y) > 3, lambda a, b: a, lambda a, b: b, x, y),
            lambda x, y: lax.scan(lambda c, r: (jnp.maximum(c, r) if kind(c) in "if" else r, c), x[0], y)[1],
            lambda x, y: jax.jit(lambda a, b: jnp.where(a == b, b, a))(x, y),
            lambda x, y: lax.map(lambda r: r * 1, x),
        ]
        f = self.r.choice(ways)
        return lambda now: f(now[i], now[j])

    def place(self, x, i, j):
        sharding = self.sharding(x.ndim, x.shape)
        moves = self.r.random() < 0.4

        def place(now):
            if not self.is_sharded:
                return now[i]
            if moves:
                return jax.device_put(jax.device_put(now[i], sharding), sharding.with_memory_kind(DEFAULT))
            return lax.with_sharding_constraint(now[i], NamedSharding(self.mesh, sharding.spec))

        return place


def difference(got: Any, want: Any) -> str | None:
    """What is wrong with a result, or None."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"is {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if kind(want) in "bi":
        same = np.asarray(got).astype(np.int64) == np.asarray(want).astype(np.int64)
        return None if same.all() else f"differs in {np.sum(~same)} of {same.size}"
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    wide = np.complex128 if kind(want) == "c" else np.float64
    got, want = np.asarray(got).astype(wide), np.asarray(want).astype(wide)
    scale = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    bound = 16 * eps
    if not np.allclose(got, want, rtol=bound, atol=bound * scale, equal_nan=True):
        return f"differs by {np.nanmax(np.abs(got - want))} of {scale}"
    return None
