"""Effects in random places of random programs, calls of compiled functions, and the log of what callbacks saw.

No program has an infeed or an outfeed: the versions of JAX that are tested have no function that makes one.
"""

from __future__ import annotations

import random
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify, io_callback
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib import lapack

from random_programs.ops import SHORT, kind

HALF_BYTES = {"int4", "uint4", SHORT}


@custom_partitioning
def twice(x):
    return x + x


twice.def_partition(
    partition=lambda mesh, args, result: (mesh, lambda x: x + x, args[0].sharding, (args[0].sharding,)),
    infer_sharding_from_operands=lambda mesh, args, result: NamedSharding(mesh, P(*args[0].sharding.spec)),
    sharding_rule="i j -> i j",
)


def turned(x: Any) -> np.ndarray:
    """The function of callbacks with results, which is exact in every type."""
    x = np.asarray(x)
    return np.roll(x.ravel(), 1).reshape(x.shape)


def like(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


# By name: whether the callback has results, and whether its calls are ordered.
CALLS = {
    "debug.callback": (False, False),
    "debug.print": (False, False),
    "io_callback": (False, False),
    "io_callback ordered": (False, True),
    "io_callback result": (True, False),
    "io_callback ordered result": (True, True),
    "pure_callback": (True, False),
}
# Compiled functions of jaxlib: their parameters, and their results for each matrix in addition to a matrix.
FOREIGN: dict[str, tuple[dict[str, Any], Callable[[int], list[tuple[tuple[int, ...], Any]]]]] = {
    "potrf_ffi": ({"uplo": np.uint8(ord("L"))}, lambda n: [((), np.int32)]),
    "getrf_ffi": ({}, lambda n: [((n,), np.int32), ((), np.int32)]),
    "geqrf_ffi": ({}, lambda n: [((n,), None)]),
}
PLACES = ["top", "top", "jit", "scan", "loop", "while", "cond", "vmap", "shard_map"]
OTHERS = ["inspect", "checkify", "custom_partitioning", "shard_map", "ffi"]


class Effects:
    """Each method makes a step with an effect."""

    r: random.Random
    is_sharded: bool
    mesh: jax.sharding.Mesh
    sharding: Callable[..., NamedSharding]

    def start_log(self) -> None:
        """Clears the recorded calls."""
        self.calls: dict[str, list[tuple[Any, ...]]] = getattr(self, "calls", {})
        self.ordered: list[str] = []
        self.inspected: list[Any] = []
        self.calls.clear()

    def effect(self, x, i, j):
        # `run` and `check` refuse programs with results of callbacks, so those are rarer.
        what = self.r.choices([*CALLS, *OTHERS], [3, 3, 3, 2, 1, 1, 1, 2, 2, 2, 4, 4])[0]
        if what in CALLS and (np.prod(x.shape) > 256 or x.dtype.name in HALF_BYTES):
            # With large arguments, a callback of `jax.jit` may wait for its own device. XLA copies 4-bit arguments on a thread of
            # its pool; if all of its threads wait for a collective, the callback waits forever, also with `jax.jit`.
            what = self.r.choice(OTHERS)
        if what in OTHERS:
            return self.marked(what, {"shard_map": self.manual, "ffi": self.foreign}.get(what, self.other)(what, x, i))
        place = self.r.choice(PLACES)
        self.count = getattr(self, "count", 0) + 1
        name = f"{self.count} {what} in {place}"
        if place == "shard_map":
            return self.marked(what, self.called_in_shards(name, what, x, i))
        call = self.caller(name, what)
        add = jnp.logical_xor if x.dtype == bool else jnp.add
        step = {
            "top": call,
            "jit": lambda v: jax.jit(call)(v),
            "scan": lambda v: lax.map(call, v),
            "loop": lambda v: lax.fori_loop(0, 2, lambda k, z: jnp.flip(call(z), 0), v),
            "while": lambda v: lax.while_loop(lambda c: c[0] < jnp.sum(v == v) % 3, lambda c: (c[0] + 1, call(c[1])), (0, v))[1],
            "cond": lambda v: lax.cond(jnp.sum(v == jnp.flip(v, 0)) % 2 == 0, call, lambda z: add(z, z), v),
            "vmap": lambda v: jax.vmap(call)(v),
        }[place]
        return self.marked(what, lambda now: step(now[i]))

    def marked(self, what: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the step, labeled with the name of its effect."""
        step.effect = what  # type: ignore[attr-defined]
        return step

    def noted(self, name: str, is_ordered: bool, returns: bool) -> Callable[..., Any]:
        """Returns a callback that records its arguments."""

        def note(*values):
            self.calls.setdefault(name, []).append(tuple(np.array(v) for v in values))
            if is_ordered:
                self.ordered.append(name)
            return turned(values[-1]) if returns else None

        return note

    def caller(self, name: str, what: str) -> Callable[..., Any]:
        """Calls back with a value and returns the value for the next steps."""
        returns, is_ordered = CALLS[what]
        note = self.noted(name, is_ordered, returns)
        method = self.r.choice(["sequential", "expand_dims", "broadcast_all"])

        def call(x, *before):
            if what == "debug.print":
                # Numbers whose text doesn't depend on rounding.
                jax.debug.print(f"<{name}> {{n}} of {len(x.shape)}", n=jnp.sum(x == x))
            if what in ("debug.callback", "debug.print"):
                jax.debug.callback(note, *before, x)
            elif what == "pure_callback":
                return jax.pure_callback(note, like(x), *before, x, vmap_method=method)
            elif returns:
                return io_callback(note, like(x), *before, x, ordered=is_ordered)
            else:
                io_callback(note, None, *before, x, ordered=is_ordered)
            return x

        return call

    def called_in_shards(self, name: str, what: str, x: Any, i: int) -> Callable[..., Any]:
        """Makes a callback of each device with its shard; on one device, for each shard in turn."""
        on = NamedSharding(self.mesh, self.sharding(x.ndim, x.shape).spec)
        call = self.caller(name, what)

        def body(x):
            device = jnp.int32(0)
            for axis, size in self.mesh.shape.items():
                device = device * size + lax.axis_index(axis)
            return call(x, device)

        def step(now):
            if self.is_sharded:
                return jax.shard_map(body, mesh=self.mesh, in_specs=on.spec, out_specs=on.spec, check_vma=False)(now[i])
            result, parts = now[i], on.devices_indices_map(x.shape)
            for device, at in enumerate(parts[d] for d in self.mesh.devices.flat):
                result = result.at[at].set(call(now[i][at], jnp.int32(device)))
            return result

        return step

    def manual(self, what: str, x: Any, i: int) -> Callable[..., Any]:
        """Makes collectives in a shard_map, and the same computation on one device."""
        axis = self.r.choice(self.mesh.axis_names)
        n = self.mesh.shape[axis]
        rows = x.shape[0] // n if x.ndim else 0
        split = lambda x: x.reshape(n, rows, *x.shape[1:])
        by = {
            "psum": (lambda v: lax.psum(v, axis), lambda x: jnp.tile(split(x).sum(0, dtype=x.dtype), (n, *[1] * (x.ndim - 1)))),
            "all_gather": (lambda v: lax.all_gather(v, axis, tiled=True)[:rows], lambda x: jnp.tile(x[:rows], (n, *[1] * (x.ndim - 1)))),
            "ppermute": (lambda v: lax.ppermute(v, axis, [(k, (k + 1) % n) for k in range(n)]), lambda x: jnp.roll(x, rows, 0)),
            "pmax": (lambda v: lax.pmax(v, axis), lambda x: jnp.tile(split(x).max(0), (n, *[1] * (x.ndim - 1)))),
            "index": (lambda v: v + lax.axis_index(axis).astype(v.dtype), lambda x: (split(x) + lax.broadcasted_iota(x.dtype, (n, rows, *x.shape[1:]), 0)).reshape(x.shape)),
            "all_to_all": (
                lambda v: lax.all_to_all(v.reshape(n, rows // n, *v.shape[1:]), axis, 0, 0).reshape(v.shape),
                lambda x: x.reshape(n, n, rows // n, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape),
            ),
        }  # fmt: skip
        body, plain = by[self.r.choice(list(by))]

        def step(now):
            if x.shape[0] % n or x.dtype == bool:
                raise ValueError("doesn't divide, or its sum is a number")
            if self.is_sharded:
                return jax.shard_map(body, mesh=self.mesh, in_specs=P(axis), out_specs=P(axis), check_vma=False)(now[i])
            return plain(now[i])

        return step

    def foreign(self, what: str, x: Any, i: int) -> Callable[..., Any]:
        """A call of a compiled function with matrices, with and without side effects, batched in each of JAX's ways."""
        name, place = self.r.choice(list(FOREIGN)), self.r.choice(["top", "jit", "vmap", "vmap", "scan", "cond", "shard_map"])
        options = {
            "has_side_effect": self.r.random() < 0.3,
            "vmap_method": self.r.choice(["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]),
        }
        axis = self.r.choice(self.mesh.axis_names)
        wide = {"float64", "complex128"} & {x.dtype.name}
        dtype = np.dtype(wide.pop() if wide else "complex64" if kind(x) == "c" else "float32")
        target = lapack.prepare_lapack_call(name, dtype)
        attributes, more = FOREIGN[name]

        def call(matrices):
            batch, n = matrices.shape[:-2], matrices.shape[-1]
            types = [(matrices.shape, dtype), *(((*batch, *shape), of or dtype) for shape, of in more(n))]
            called = jax.ffi.ffi_call(target, [jax.ShapeDtypeStruct(*ty) for ty in types], **options)
            first, *rest = called(matrices, **attributes)
            # One number for each matrix in the other results.
            return first + sum(r.reshape(*batch, -1).sum(-1)[..., None, None] for r in rest).astype(dtype)

        def matrices(x):
            n = min(x.shape[:2])
            m = x.reshape(*x.shape[:2], -1)[:n, :n, 0].astype(dtype)
            m = jnp.where(jnp.isfinite(m), m, 0)
            # Symmetric, and far from singular.
            m = m @ m.T.conj() + 20 * jnp.eye(n, dtype=dtype)
            return m * (1 + jnp.arange(8)[:, None, None]).astype(dtype)

        def step(now):
            if x.ndim < 2 or not min(x.shape[:2]):
                raise ValueError("needs a matrix")
            m = matrices(now[i])
            if place == "shard_map" and self.is_sharded and 8 % self.mesh.shape[axis] == 0:
                return jax.shard_map(call, mesh=self.mesh, in_specs=P(axis), out_specs=P(axis), check_vma=False)(m)
            places = {
                "jit": lambda m: jax.jit(call)(m),
                "vmap": lambda m: jax.vmap(call)(m),
                "scan": lambda m: lax.map(call, m),
                "cond": lambda m: lax.cond(jnp.sum(now[i] == now[i]) % 2 == 0, call, lambda m: m + m, m),
            }
            return places.get(place, call)(m)

        return step

    def other(self, what: str, x: Any, i: int) -> Callable[..., Any]:
        """Makes effects during XLA's compilation, and errors as values."""

        def inspect(now):
            if self.is_sharded:
                jax.debug.inspect_array_sharding(now[i], callback=self.inspected.append)
            return now[i]

        def checked(now):
            f = lambda v: (checkify.check(jnp.sum(v == jnp.flip(v, 0)) > 3, "few of {n}", n=jnp.sum(v == v)), jnp.flip(v, 0))[1]
            error, y = checkify.checkify(f)(now[i])
            # The presence and message of an error, but not its number, which increases with each trace.
            failed, _, *said = jax.tree.leaves(error)
            return failed + 2 * sum(jnp.sum(leaf.astype(jnp.int32)) for leaf in said) + jnp.sum(y == now[i])

        def doubled(now):
            if x.ndim != 2:
                raise ValueError("the rule is of matrices")
            return twice(now[i]) if self.is_sharded else now[i] + now[i]

        return {"inspect": inspect, "checkify": checked, "custom_partitioning": doubled}[what]
