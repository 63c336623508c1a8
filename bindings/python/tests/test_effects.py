"""Effects under `shardc.jit`: the same calls of callbacks as under `jax.jit`, in the same order, with the same results."""

import devices  # noqa: F401, I001: before JAX

import contextlib
import functools
import io
import unittest
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib import lapack

import shardc
import shardc._jit

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
LOG = []


def sharded(*spec):
    return NamedSharding(MESH, P(*spec))


def note(*values):
    LOG.append(tuple(np.asarray(v).tolist() for v in values))


def noted(value):
    note(value)
    return np.asarray(value) + 1


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


X = np.arange(16, dtype=np.float32)
EMPTY = np.zeros((0, 4), np.float32)


def printed(x):
    jax.debug.print("sum {s} of {x}", s=x.sum(), x=x)
    return x * 2


def printed_text(x):
    jax.debug.print("hello")
    return x * 2


def called(x):
    jax.debug.callback(note, x, x.sum())
    return x - 1


def io_called(x):
    return io_callback(noted, like(x), x) * 2


def io_ordered(x):
    y = io_callback(noted, like(x), x, ordered=True)
    io_callback(note, None, y * 2, ordered=True)
    return io_callback(noted, like(x), y + 1, ordered=True)


def pure(x):
    return jax.pure_callback(noted, like(x), x).sum()


def two_results(x):
    a, b = jax.pure_callback(lambda v: (noted(v), np.asarray(v).astype(np.int32)), (like(x), jax.ShapeDtypeStruct(x.shape, jnp.int32)), x)
    return a + b


def one_element(x):
    return jax.pure_callback(noted, jax.ShapeDtypeStruct((), x.dtype), x[3]) + x


def pure_vmapped(method, x):
    each = lambda v: jax.pure_callback(noted, like(v), v, vmap_method=method)
    return jax.vmap(each)(x.reshape(4, 4))


def scanned(x):
    def body(carry, i):
        jax.debug.callback(note, i, carry.sum())
        return carry + 1, carry.sum()

    return jax.lax.scan(body, x, jnp.arange(3))


def scanned_ordered(x):
    def body(carry, i):
        io_callback(note, None, i, carry[0], ordered=True)
        return carry + 1, None

    return jax.lax.scan(body, x, jnp.arange(3))[0]


def while_ordered(x):
    def body(carry):
        i, x = carry
        return i + 1, io_callback(noted, like(x), x, ordered=True)

    return jax.lax.while_loop(lambda c: c[0] < 2, body, (0, x))


def branched(x):
    def yes(x):
        jax.debug.callback(note, x)
        return x * 2

    return jax.lax.cond(x.sum() > 3, yes, lambda x: x, x) + jax.lax.cond(x.sum() < 3, yes, lambda x: x, x)


def branched_ordered(x):
    yes = lambda x: io_callback(noted, like(x), x, ordered=True)
    return jax.lax.cond(x.sum() > 3, yes, lambda x: x, x)


def graded(x):
    @jax.custom_vjp
    def f(x):
        return x * 2

    def forward(x):
        jax.debug.callback(note, x.sum())
        return x * 2, x

    def backward(x, g):
        jax.debug.callback(note, g.sum())
        return (g * x,)

    f.defvjp(forward, backward)
    return jax.grad(lambda x: (f(x) ** 2).sum())(x)


def in_shards(x):
    def body(x):
        jax.debug.callback(note, x)
        return jax.pure_callback(noted, like(x), x) * 2

    return jax.shard_map(body, mesh=MESH, in_specs=P(("a", "b")), out_specs=P(("a", "b")))(x)


def empty(x):
    jax.debug.callback(note, x)
    return jax.pure_callback(noted, like(x), x)


def foreign(x):
    y = x.reshape(4, 4) @ x.reshape(4, 4).T + 20 * jnp.eye(4)
    return jnp.linalg.qr(y)[1], jnp.linalg.eigvalsh(y)


def ffi(x):
    y = x.reshape(4, 4) @ x.reshape(4, 4).T + 20 * jnp.eye(4)
    types = (like(y), jax.ShapeDtypeStruct((4,), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32))
    layouts = {"input_layouts": [(0, 1)], "output_layouts": [(0, 1), (0,), ()]}
    return jax.ffi.ffi_call("lapack_sgetrf_ffi", types, **layouts)(y)


# By name: the function, its argument, and whether the order of calls in one run may differ.
CASES = {
    "debug.callback": (called, X, False),
    "io_callback": (io_called, X, False),
    "io_callback ordered": (io_ordered, X, False),
    "pure_callback": (pure, X, False),
    "two results": (two_results, X, False),
    "of one element": (one_element, X, False),
    "vmap sequential": (functools.partial(pure_vmapped, "sequential"), X, False),
    "vmap expand_dims": (functools.partial(pure_vmapped, "expand_dims"), X, False),
    "scan": (scanned, X, False),
    "scan ordered": (scanned_ordered, X, False),
    "while ordered": (while_ordered, X, False),
    "cond": (branched, X, False),
    "cond ordered": (branched_ordered, X, False),
    "grad": (graded, X, False),
    "shard_map": (in_shards, X, True),
    "no elements": (empty, EMPTY, False),
    "library calls": (foreign, X, False),
    "ffi_call": (ffi, X, False),
}


def run(jit, f, x, **jit_kwargs):
    """Returns the results and the recorded calls."""
    LOG.clear()
    spec = sharded(("a", "b")) if x.size else sharded(None, "a")
    compiled = jit(f, in_shardings=spec, **jit_kwargs)
    values = jax.tree.map(np.asarray, compiled(jax.device_put(x, spec)))
    jax.effects_barrier()
    return values, list(LOG)


class Callbacks(unittest.TestCase):
    def same(self, f, x, any_order=False, **jit_kwargs):
        want, expected = run(jax.jit, f, x, **jit_kwargs)
        got, calls = run(shardc.jit, f, x, **jit_kwargs)
        self.assertEqual(*(sorted(c) if any_order else c for c in (calls, expected)))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), got, want)
        return expected

    def test_as_by_jax(self):
        for name, (f, x, any_order) in CASES.items():
            with self.subTest(name):
                calls = self.same(f, x, any_order)
                self.assertTrue(calls or name in ("library calls", "ffi_call"))

    def test_results_without_elements(self):
        def branched(x):
            return jax.lax.cond(x.size < 3, lambda x: (jax.debug.callback(note, 1), x + 1)[1], lambda x: x, x)

        # Also with empty results of callbacks, and in the form for Shardy.
        for f in (branched, lambda x: (jax.debug.callback(note, x), x)[1], lambda x: io_callback(noted, like(x), x, ordered=True)):
            self.assertEqual(len(self.same(f, EMPTY)), 1)

    def test_donated(self):
        self.same(io_ordered, X, donate_argnums=0)
        self.same(called, X, donate_argnums=0)

    def test_called_twice_in_order(self):
        f = shardc.jit(io_ordered, in_shardings=sharded("a"))
        LOG.clear()
        for i in range(3):
            f(X + 100 * i)
        jax.effects_barrier()
        self.assertEqual([c[0][0] for c in LOG], [0, 2, 2, 100, 202, 102, 200, 402, 202])

    def test_prints(self):
        for f in (printed, printed_text):
            said = []
            for jit in (jax.jit, shardc.jit):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    jit(f, in_shardings=sharded("a"))(X)
                    jax.effects_barrier()
                said.append(out.getvalue())
            self.assertEqual(said[0], said[1])
            self.assertTrue(said[0])

    def test_what_jax_refuses_is_refused_alike(self):
        def f(x):
            jax.debug.print("{x}", x=x, ordered=True)
            return x

        for jit in (jax.jit, shardc.jit):
            with self.assertRaisesRegex(ValueError, "ordered effects"):
                jit(f, in_shardings=sharded("a"))(X)

    def test_checkify(self):
        messages = []
        for jit in (jax.jit, shardc.jit):
            f = lambda x: (checkify.check(x.sum() > 1000, "the sum {s} is small", s=x.sum()), x * 2)[1]
            error, y = jit(checkify.checkify(f), in_shardings=sharded("a"))(X)
            messages.append(error.get())
            np.testing.assert_array_equal(y, X * 2)
        self.assertEqual(*messages)
        self.assertIn("is small", messages[0])

    def test_with_shardy_in_xla(self):
        for name in ("debug.callback", "io_callback ordered", "scan ordered", "cond ordered", "two results", "shard_map"):
            f, x, any_order = CASES[name]
            with self.subTest(name), mock.patch.object(shardc._jit, "TESTED", ((0, 7, 2), (0, 7, 2))):
                self.same(f, x, any_order)

    def test_reports(self):
        lowered = shardc.jit(called, in_shardings=sharded("a")).lower(X)
        self.assertIn("runs on one device", str(shardc.explain(lowered)))
        self.assertIn("callback to Python", str(shardc.cost(lowered)))
        self.assertTrue(shardc.check(lowered).ok)
        lowered = shardc.jit(io_ordered, in_shardings=sharded("a")).lower(X)
        self.assertEqual(shardc.cost(lowered).json["devices"], 8)
        with self.assertRaisesRegex(shardc.ShardcError, "results of this callback to Python"):
            shardc.check(lowered)


class CompiledFunctions(unittest.TestCase):
    """`jax.ffi` with functions of LAPACK, which jaxlib has."""

    def test_as_on_one_device(self):
        target = lapack.prepare_lapack_call("geqrf_ffi", np.dtype("float32"))
        values = np.random.default_rng(0).standard_normal((8, 6, 4)).astype(np.float32)

        def factored(x, **more):
            results = jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((*x.shape[:-2], 4), x.dtype)
            return jax.ffi.ffi_call(target, results, **more)(x)

        in_batches = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")
        ways = {"whole": factored, "in a loop": lambda x, **more: jax.lax.map(functools.partial(factored, **more), x)}
        ways |= {way: lambda x, way=way, **more: jax.vmap(functools.partial(factored, vmap_method=way, **more))(x) for way in in_batches}
        in_shards = {"mesh": MESH, "in_specs": P("a"), "out_specs": P("a"), "check_vma": False}
        for name, way in ways.items():
            wanted = jax.jit(way)(values)
            for has_effect in (False, True):
                call = functools.partial(way, has_side_effect=has_effect)
                for spec in (P("a"), P(None, "b"), P(("a", "b"))):
                    with self.subTest(name, has_effect=has_effect, spec=spec):
                        found = shardc.jit(call)(jax.device_put(values, sharded(*spec)))
                        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, wanted)
                with self.subTest(name, has_effect=has_effect, spec="shard_map"):
                    found = shardc.jit(jax.shard_map(call, **in_shards))(jax.device_put(values, sharded("a")))
                    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, wanted)


class Shardings(unittest.TestCase):
    def test_inspected(self):
        def f(x):
            y = x.reshape(4, 4) * 2
            jax.debug.inspect_array_sharding(y, callback=lambda s: LOG.append(s.spec))
            return y.sum()

        specs = []
        for jit in (jax.jit, shardc.jit):
            LOG.clear()
            jit(f, in_shardings=sharded("a"))(X)
            specs.append([tuple(s) for s in LOG])
        self.assertEqual([s[:1] for s in specs[1]], [s[:1] for s in specs[0]])
        self.assertEqual(len(specs[0]), 1)


def rows(mesh, args, result):
    return NamedSharding(mesh, P(*args[0].sharding.spec[:1]))


@custom_partitioning
def twice(x):
    return x * 2


twice.def_partition(
    partition=lambda mesh, args, result: (mesh, lambda x: x * 2, args[0].sharding, (args[0].sharding,)),
    infer_sharding_from_operands=rows,
    sharding_rule="i j -> i j",
)


@custom_partitioning
def product(x, y):
    return x @ y


def partition_product(mesh, args, result):
    """Contracts a sharded dimension and sums over devices."""
    axis = "b"

    def each(x, y):
        LOG.append((x.shape, y.shape))
        return jax.lax.psum(x @ y, axis)

    return mesh, each, NamedSharding(mesh, P("a", None)), (NamedSharding(mesh, P("a", axis)), NamedSharding(mesh, P(axis, None)))


product.def_partition(
    partition=partition_product,
    infer_sharding_from_operands=rows,
    sharding_rule="i j, j k -> i k",
    reduction_factors=("j",),
)


@custom_partitioning
def both(x):
    return x + 1, x.sum(axis=1)


def partition_both(mesh, args, result):
    first = args[0].sharding.spec[0] if args[0].sharding.spec else None
    outs = (NamedSharding(mesh, P(first, None)), NamedSharding(mesh, P(first)))
    return mesh, lambda x: (x + 1, x.sum(axis=1)), outs, (NamedSharding(mesh, P(first, None)),)


both.def_partition(partition=partition_both, sharding_rule="i j -> i j, i", need_replication_factors=("j",))


@custom_partitioning
def without_rule(x):
    return jnp.sin(x)


without_rule.def_partition(partition=lambda mesh, a, r: (mesh, jnp.sin, r.sharding, (r.sharding,)))


@functools.partial(custom_partitioning, static_argnums=(1,))
def scaled(x, by):
    return x * by


scaled.def_partition(
    partition=lambda by, mesh, a, r: (mesh, lambda x: x * by, a[0].sharding, (a[0].sharding,)),
    sharding_rule="i j -> i j",
)

W = np.arange(32, dtype=np.float32).reshape(8, 4)
V = np.arange(24, dtype=np.float32).reshape(4, 6)


def scanned_twice(x):
    return jax.lax.scan(lambda c, _: (twice(c) - 1, twice(c).sum()), x, None, length=3)


def branched_twice(x):
    return jax.lax.cond(x.sum() > 0, twice, lambda x: x, x)


@jax.custom_vjp
def with_gradient(x):
    return twice(x)


with_gradient.defvjp(lambda x: (twice(x), None), lambda _, g: (twice(g),))

PARTITIONED = {
    "twice": (twice, (W,)),
    "twice again": (lambda x: twice(twice(x) + 1), (W,)),
    "product": (product, (W, V)),
    "product of more": (lambda x, y: jnp.tanh(product(x, y)) @ jnp.ones((6, 2)), (W, V)),
    "two results": (both, (W,)),
    "without a rule": (without_rule, (W,)),
    "static argument": (lambda x: scaled(x, 3.0), (W,)),
    "scan": (scanned_twice, (W,)),
    "cond": (branched_twice, (W,)),
    "grad": (jax.grad(lambda x: (with_gradient(x) ** 2).sum()), (W,)),
    "bfloat16": (lambda x: twice(x.astype(jnp.bfloat16)), (W,)),
    "called twice": (lambda x: jax.jit(twice)(x) + jax.jit(twice)(x[::-1]), (W,)),
}


class CustomPartitioning(unittest.TestCase):
    def test_as_by_jax(self):
        for name, (f, args) in PARTITIONED.items():
            for specs in (("a", "b"), ("a", None), (None, None), (("a", "b"), None)):
                with self.subTest(name, specs=specs):
                    given = (sharded(*specs), *(sharded() for _ in args[1:]))
                    want = jax.jit(f, in_shardings=given)(*args)
                    got = shardc.jit(f, in_shardings=given)(*args)
                    jax.tree.map(lambda a, b: np.testing.assert_allclose(*map(np.float32, (a, b)), rtol=1e-5), got, want)

    def test_the_rule_is_called(self):
        LOG.clear()
        shardc.jit(product, in_shardings=(sharded("a"), sharded()))(W, V)
        self.assertEqual(LOG, [((2, 2), (2, 6))])

    def test_errors_of_the_rule_arrive(self):
        @custom_partitioning
        def wrong(x):
            return x * 2

        def fails(mesh, args, result):
            raise KeyError("no such thing")

        wrong.def_partition(partition=fails, sharding_rule="i j -> i j")
        with self.assertRaisesRegex(Exception, "no such thing"):
            shardc.jit(wrong, in_shardings=sharded("a"))(W)

    def test_uneven_shards_are_refused_by_name(self):
        with self.assertRaisesRegex(shardc.ShardcError, "custom_partitioning splits a dimension of size 6 into 4 shards"):
            shardc.jit(lambda x: twice(jax.lax.with_sharding_constraint(x[:6], sharded("a"))), in_shardings=sharded("a"))(W)

    def test_text_is_refused_by_name(self):
        with self.assertRaisesRegex(shardc.ShardcError, "custom_partitioning"):
            shardc.partition(jax.jit(twice, in_shardings=sharded("a")).lower(W))


if __name__ == "__main__":
    unittest.main()
