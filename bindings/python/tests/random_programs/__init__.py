"""Random JAX programs over all dtypes, with effects, empty arrays, memory kinds, random keys and random shardings.

`Random(seed)` has a function for one device and the same function with shardings, arguments for both (`values` and `placed()`), and
options of `jit`. It leaves out steps that JAX refuses to trace. `tests/random_programs.json` lists the ops, types and meshes.
"""

from __future__ import annotations

import devices  # noqa: F401, I001: before JAX

import contextlib
import random
import warnings
from typing import Any, Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from random_programs.effects import Effects
from random_programs.ops import ARITHMETIC, DESCRIPTION, DTYPES, FLOATS, POWERS, SHORT, SUMS, TWO_BITS, WIDE, Ops, Skipped, kind

AUTO = jax.sharding.AxisType.Auto


def mesh_of(row: dict[str, Any]) -> Mesh:
    """The mesh of a row of the description."""
    axes, names = tuple(row["axes"]), tuple("abc"[: len(row["axes"])])
    if "order" not in row and np.prod(axes) == len(jax.devices()):
        return jax.make_mesh(axes, names, axis_types=(AUTO,) * len(axes))
    order = row.get("order", range(int(np.prod(axes))))
    return Mesh(np.array([jax.devices()[i] for i in order]).reshape(axes), names)


MESHES = [(mesh_of(row), row["jax"]) for row in DESCRIPTION["meshes"] if "jax" in row]
STEPS = [(row["kind"], row["jax"]) for row in DESCRIPTION["kinds"]]
KINDS = sorted({memory.kind for memory in jax.devices()[0].addressable_memories()})
DEFAULT = jax.devices()[0].default_memory().kind


class Random(Ops, Effects):
    """The program of a seed."""

    def __init__(self, seed: int, most: int = 7):
        self.r = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.mesh = self.weighted(MESHES)
        # Values on one device have no shardings.
        self.is_sharded = False
        self.steps: list[Callable[[list[Any]], Any]] = []
        self.is_wide = self.r.random() < 0.15
        self.dtypes = [*DTYPES, *(WIDE * 3 if self.is_wide else []), *(TWO_BITS * 5 if self.r.random() < 0.05 else [])]
        self.given: int | None = None
        self.start_log()
        with self.context():
            self.fill(most)

    def weighted(self, rows: list[tuple[Any, int]]) -> Any:
        return self.r.choices([row for row, _ in rows], [weight for _, weight in rows])[0]

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        """The settings for all work on the program. `jax.enable_x64` applies to one thread, but callbacks run on others."""
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", self.is_wide)
        try:
            yield
        finally:
            jax.config.update("jax_enable_x64", before)

    def fill(self, most: int) -> None:
        """Creates arguments, steps and options."""
        dims = [self.r.choice([0, 1, 2, 3, 4, 5, 8, 8, 12, 16]) if self.r.random() < 0.5 else 8 for _ in range(3)]
        self.dims = [d or (0 if self.r.random() < 0.4 else 8) for d in dims]
        shapes = [[self.r.choice(self.dims) for _ in range(self.r.randint(1, 3))] for _ in range(self.r.randint(1, 3))]
        self.values = [self.made(shape, self.r.choice(self.dtypes)) for shape in shapes]
        if self.r.random() < 0.2:
            keys = jax.random.key(self.r.randrange(1000))
            self.values.append(keys if self.r.random() < 0.5 else jax.random.split(keys, 8))
        self.shardings = [self.sharding(value.ndim, value.shape) for value in self.values]
        self.static = self.r.randint(1, 5) if self.r.random() < 0.15 else None
        now: list[Any] = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in self.values]
        self.names: list[str] = []
        for _ in range(self.r.randint(2, most)):
            try:
                name, step = self.step(now)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = jax.eval_shape(step, now)
            except Exception:  # noqa: BLE001: JAX or XLA has no such op of this dtype
                continue
            self.names.append(getattr(step, "effect", name))
            self.steps.append(step)
            now.append(result)
        # XLA on CPUs corrupts its memory with such arrays on several devices, for example in `jax.jit` of a pad and a reshape.
        self.is_for_xla = not any(value.dtype.name in TWO_BITS for value in now if kind(value) != "k")
        self.jit: dict[str, Any] = {}
        if self.r.random() < 0.3:
            self.jit["out_shardings"] = [self.sharding(value.ndim, value.shape) for value in now[len(self.values) :]]
        if self.r.random() < 0.15:
            arrays = [i for i, value in enumerate(self.values) if isinstance(value, np.ndarray)]
            self.jit["donate_argnums"] = tuple(i for i in arrays if self.r.random() < 0.6)
        if self.static is not None:
            self.jit["static_argnums"] = len(self.values)
        self.keeps_unused = self.r.random() < 0.8

    def placed(self) -> list[Any]:
        """The arguments on all devices."""
        placed = [jax.device_put(value, sharding) for value, sharding in zip(self.values, self.shardings)]
        return placed if self.static is None else [*placed, self.static]

    def like_placed(self) -> list[Any]:
        """The types of `placed()`."""
        types = [jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=s) for v, s in zip(self.values, self.shardings)]
        return types if self.static is None else [*types, self.static]

    def on_one_device(self, *args: Any) -> list[Any]:
        self.is_sharded, self.given = False, self.static
        return self.run(args)

    def sharded(self, *args: Any) -> list[Any]:
        self.is_sharded, self.given = True, None if self.static is None else args[-1]
        return self.run(args[: len(self.values)])

    def run(self, args: tuple[Any, ...]) -> list[Any]:
        now = list(args)
        if self.is_sharded:
            # Ops take operands of one kind of memory.
            where = [(x, sharding.with_memory_kind(DEFAULT)) for x, sharding in zip(now, self.shardings)]
            now = [jax.device_put(x, s) if old.memory_kind != DEFAULT else x for (x, s), old in zip(where, self.shardings)]
        for step in self.steps:
            now.append(step(now))
        return now[len(args) :]

    def made(self, shape: list[int], dtype: str) -> Any:
        if dtype == "bool":
            return self.numbers.random(shape) < 0.5
        # Small integers, whose sums are exact in most types.
        low = 0 if dtype.startswith("u") or dtype == POWERS else -3
        value = self.numbers.integers(low, 4, shape)
        value = value + 1j * self.numbers.integers(low, 4, shape) if dtype.startswith("complex") else value
        return (value.astype(np.float32) if dtype in FLOATS else value).astype(jnp.dtype(dtype))

    def sharding(self, rank: int, shape: Any) -> NamedSharding:
        """Returns a sharding of some dimensions by axes that divide them, as JAX requires."""
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
        """Returns the name and the function of an op on some of the values."""
        i = self.r.choice([k for k, y in enumerate(now) if kind(y) != "k"])
        x = now[i]
        like = [j for j, y in enumerate(now) if y.dtype == x.dtype and y.shape == x.shape]
        j = self.r.choice(like)
        keys = [k for k, y in enumerate(now) if kind(y) == "k"]
        name = self.weighted(STEPS)
        if name == "numbers":
            return name, self.drawn(x, i, self.r.choice(keys) if keys else None)
        step = getattr(self, name)(x, i, j)
        if x.dtype.name == POWERS and name in ARITHMETIC or x.dtype.name == SHORT and name in SUMS:
            raise Skipped("the result depends on what XLA fuses, or on the order of sums")
        return name, step

    def place_step(self, x: Any, i: int) -> Callable[[list[Any]], Any]:
        """Returns a constraint, or a move to another memory and back."""
        sharding = self.sharding(x.ndim, x.shape)
        moves = self.r.random() < 0.4

        def place(now: list[Any]) -> Any:
            if not self.is_sharded:
                return now[i]
            if moves:
                return jax.device_put(jax.device_put(now[i], sharding), sharding.with_memory_kind(DEFAULT))
            return jax.lax.with_sharding_constraint(now[i], NamedSharding(self.mesh, sharding.spec))

        return place
