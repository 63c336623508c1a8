"""`shardc.jit` returns the results of `jax.jit`, with the same types, shardings and structure."""

import devices  # noqa: F401, I001: before JAX

import contextlib
import inspect
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import shardc
import shardc._jit
from programs import PROGRAMS, put, rand

# JAX compiles code around the function here, which shardc doesn't plan.
PLANNED_BY_NOBODY = {"inside_a_scan_outside"}


def numbers():
    yield 1


def count_planned():
    """Counts the modules that are planned."""
    return mock.patch.object(shardc._jit, "_plan", wraps=shardc._jit._plan)


def difference(got, want):
    """Returns the difference of a result, or None."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"is {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if isinstance(want, jax.Array):
        if getattr(got, "weak_type", None) != getattr(want, "weak_type", None):
            return "has another weak type"
        if got.committed != want.committed or got.sharding.device_set != want.sharding.device_set:
            return f"is on {got.sharding} instead of {want.sharding}"
        if not got.sharding.is_equivalent_to(want.sharding, want.ndim):
            return f"has {got.sharding} instead of {want.sharding}"
    if jax.dtypes.issubdtype(want.dtype, jax.dtypes.prng_key):
        got, want = jax.random.key_data(got), jax.random.key_data(want)
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind in "biu":
        return None if (got == want).all() else "differs"
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    if not np.allclose(got, want, rtol=200 * eps, atol=200 * eps * scale, equal_nan=True):
        return f"differs by {np.max(np.abs(got - want))} of {scale}"
    return None


class SameAsJax(unittest.TestCase):
    def results(self, make, jit):
        """Runs a new case twice, because donation deletes arguments, and returns both results."""
        results = []
        for _ in range(2):
            case = make()
            results.append(case.use(jit(case.fun, **case.jit))(*case.args))
        return results

    def test_programs(self):
        self.assertGreater(len(PROGRAMS), 35)
        for name, make in PROGRAMS.items():
            with self.subTest(name):
                wanted = self.results(make, jax.jit)
                with count_planned() as planned:
                    found = self.results(make, shardc.jit)
                if name not in PLANNED_BY_NOBODY:
                    self.assertGreater(planned.call_count, 0, "nothing was planned")
                for got, want in zip(found, wanted):
                    self.assertEqual(jax.tree.structure(got), jax.tree.structure(want))
                    for path, leaf in jax.tree_util.tree_leaves_with_path(want):
                        at = got
                        for key in path:
                            at = at[key.idx] if hasattr(key, "idx") else at[key.key] if hasattr(key, "key") else getattr(at, key.name)
                        self.assertIsNone(difference(at, leaf), jax.tree_util.keystr(path))


class Behavior(unittest.TestCase):
    def setUp(self):
        self.x, self.w = put(rand(16, 8), "data"), put(rand(8, 4), None, "model")

    def test_it_returns_a_function_of_jax_jit(self):
        # Therefore a call costs as much as one of jax.jit.
        self.assertIs(type(shardc.jit(jnp.sin)), type(jax.jit(jnp.sin)))

    def test_planned_once_for_each_shape_and_sharding(self):
        f = shardc.jit(lambda x: jnp.tanh(x).sum(0))
        with count_planned() as planned:
            for _ in range(3):
                f(self.x)
            self.assertEqual(planned.call_count, 1)
            f(put(rand(16, 8), None, "model"))
            self.assertEqual(planned.call_count, 2)
            f(put(rand(32, 8), "data"))
            f(put(rand(32, 8), "data"))
            self.assertEqual(planned.call_count, 3)

    def test_another_jit_of_the_same_function_finds_what_was_compiled(self):
        f = lambda x: jnp.tanh(x).sum(0)
        with count_planned() as planned:
            for _ in range(3):
                shardc.jit(f)(self.x)
            self.assertEqual(planned.call_count, 1)
            shardc.jit(f, plan="greedy")(self.x)
            self.assertEqual(planned.call_count, 2)

    def test_functions_are_told_of_as_the_users(self):
        def scaled(x, *, by):
            """A docstring."""
            return x * by

        ours, theirs = shardc.jit(scaled, static_argnames="by"), jax.jit(scaled, static_argnames="by")
        self.assertEqual(inspect.signature(ours), inspect.signature(theirs))
        self.assertEqual((ours.__doc__, ours.__module__, ours.__qualname__), (theirs.__doc__, theirs.__module__, theirs.__qualname__))
        fault = lambda f: str(self.raised(ValueError, lambda: f(self.x, by=[1]))).replace(".shardc", "")
        self.assertEqual(fault(ours), fault(theirs))
        branch = lambda x: x if x.sum() > 0 else -x
        fault = lambda jit: str(self.raised(jax.errors.TracerBoolConversionError, lambda: jit(branch)(self.x)))
        self.assertEqual(fault(shardc.jit).replace(".shardc", ""), fault(jax.jit))
        for wrong in (3, numbers):
            self.assertEqual(*(str(self.raised(TypeError, lambda: jit(wrong))) for jit in (shardc.jit, jax.jit)))

    def raised(self, kind, work):
        with self.assertRaises(kind) as found:
            work()
        return found.exception

    def test_a_function_for_another_process_is_planned_there(self):
        import pickle

        named = shardc._jit._named(numbers, shardc._options.Options(None, 1 << 30, "greedy"))
        with mock.patch.dict(shardc._jit._known, clear=True):
            again = pickle.loads(pickle.dumps(named))
            self.assertEqual((again._fun, again.__name__), (numbers, named.__name__))
            self.assertEqual([o.plan for o in shardc._jit._known.values()], ["greedy"])

    def test_a_machine_of_ones_own(self):
        seen = []
        described = (pathlib.Path(__file__).parents[3] / "compiler/examples/switch.toml").read_text()
        plan = lambda module, name, options, *xla: seen.append(options) or PLAN(module, name, options, *xla)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(shardc._jit, "_plan", plan):
            file = pathlib.Path(folder) / "switch.toml"
            file.write_text(described)
            f = lambda x: jnp.tanh(x).sum(0)
            a, b = shardc.jit(f, target=file), shardc.jit(f, target=str(file))
            self.assertIsNone(difference(a(self.x), jax.jit(f)(self.x)))
            b(self.x)
            self.assertEqual([(o.target, o.described) for o in seen], [(str(file), described)])
            # The same file describes another machine.
            file.write_text(described.replace("latency = 5e-6", "latency = 1e-3"))
            shardc.jit(f, target=file)(self.x)
            self.assertEqual(len({o.described for o in seen}), 2)
            lowered = jax.jit(lambda x: x.sum(0)).lower(self.x)
            report = shardc.cost(lowered, target=file)
            self.assertEqual(report.json["target"], "switch")
            self.assertGreaterEqual(report.json["communication_s"], 1e-3)
            self.assertIn("all_reduce", shardc.partition(lowered, target=file))
            file.write_text(described.replace("bandwidth = 50e9", "bandwidth = -1.0"))
            with self.assertRaisesRegex(ValueError, "switch.toml:[0-9]+:[0-9]+"):
                shardc.jit(f, target=file)
        with self.assertRaises(FileNotFoundError):
            shardc.cost(lowered, target="nowhere.toml")
        with self.assertRaisesRegex(ValueError, "to end in .toml"):
            shardc.cost(lowered, target=pathlib.Path("v5e:4x2"))

    def test_xla_gets_a_manual_program_with_the_users_lines(self):
        f = lambda x, w: jnp.tanh(x @ w).sum(0)
        # Without Shardy where that works, otherwise with it.
        newest, older, gspmd, sdy = jax.__version_info__, (0, 0, 1), "@SPMDFullToShardShape", "sdy.manual_computation"
        for newest, shardy, border in ((newest, True, gspmd), (older, True, sdy), (older, False, gspmd)):
            compiled = []
            with (
                shardy_partitioner(shardy),
                mock.patch.object(shardc._jit, "_plan", lambda *a: compiled.append(PLAN(*a)) or compiled[-1]),
                mock.patch.object(shardc._jit, "TESTED", (shardc._jit.TESTED[0], newest)),
            ):
                got = shardc.jit(lambda x, w: f(x, w))(self.x, self.w)
            self.assertIsNone(difference(got, jax.jit(f)(self.x, self.w)))
            (module,) = compiled
            text = module.operation.get_asm(enable_debug_info=True)
            self.assertIn(border, text)
            self.assertIn("tensor<4x8xf32>", text)
            self.assertIn("test_jit.py", text)
            self.assertNotIn("shardc/_jit.py", text)

    def test_a_compilation_is_silent(self):
        program = (
            "import devices, jax, shardc; from test_jit import *;"
            " f = lambda x: jnp.tanh(x).sum(0);"
            " print(shardc.jit(f)(put(np.ones((16, 8), np.float32), 'data')))"
        )
        ran = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)

    def test_inside_a_plain_jit_the_outer_program_is_xlas(self):
        inner = shardc.jit(lambda x, w: x @ w)
        outer = lambda x, w: inner(x, w).sum() + 1
        with count_planned() as planned:
            got = jax.jit(outer)(self.x, self.w)
            self.assertEqual(planned.call_count, 0)
            again = shardc.jit(outer)(self.x, self.w)
            self.assertEqual(planned.call_count, 1)
        self.assertIsNone(difference(again, got))

    def test_forward_and_backward_programs_are_planned(self):
        f = shardc.jit(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2))
        with count_planned() as planned:
            jax.grad(f)(self.w, self.x)
        self.assertGreaterEqual(planned.call_count, 2)

    def test_donated_arguments_are_gone(self):
        f = shardc.jit(lambda x, w: (x * 2, w), donate_argnums=0)
        kept = np.asarray(self.x) * 2
        got, _ = f(self.x, self.w)
        self.assertTrue(self.x.is_deleted())
        self.assertFalse(self.w.is_deleted())
        np.testing.assert_array_equal(got, kept)

    def test_ahead_of_time(self):
        f = shardc.jit(lambda x, w: x @ w)
        lowered = f.lower(self.x, self.w)
        self.assertNotIn("manual_computation", lowered.as_text())
        compiled = lowered.compile()
        np.testing.assert_allclose(compiled(self.x, self.w), np.asarray(self.x) @ np.asarray(self.w), rtol=1e-5, atol=1e-6)
        self.assertEqual(jax.eval_shape(f, self.x, self.w).shape, (16, 4))
        self.assertIn("manual_computation", shardc.partition(lowered, emit="manual"))

    def test_one_device_is_xlas(self):
        with count_planned() as planned:
            self.assertEqual(shardc.jit(lambda x: x + 1)(jnp.float32(1)), 2)
        for call in planned.mock_calls:
            self.assertIs(PLAN(*call.args), call.args[0])

    def test_what_can_be_jitted(self):
        import functools

        class Model:
            def __init__(self, scale):
                self.scale = scale

            def __call__(self, x):
                return x * self.scale

            @functools.partial(shardc.jit, static_argnames=("self", "power"))
            def method(self, x, *, power):
                return self.scale * x**power

            @shardc.jit(plan="greedy", static_argnums=0)
            def other(self, x):
                return x.sum() * self.scale

        x, model = self.x, Model(3)
        with count_planned() as planned:
            np.testing.assert_array_equal(shardc.jit(model)(x), np.asarray(x) * 3)
            np.testing.assert_array_equal(shardc.jit(functools.partial(jnp.multiply, 2))(x), np.asarray(x) * 2)
            np.testing.assert_allclose(model.method(x, power=2), np.asarray(x) ** 2 * 3, rtol=1e-6)
            np.testing.assert_allclose(model.other(x), np.asarray(x).sum() * 3, rtol=1e-5)
            self.assertEqual(planned.call_count, 4)

    def test_options_reach_the_compiler(self):
        seen = []

        def note(module, name, options, *xla):
            seen.append(options)
            return PLAN(module, name, options, *xla)

        with mock.patch.object(shardc._jit, "_plan", note):
            f = shardc.jit(lambda x: x.sum(), target="v5e:4x4", memory="2GiB", plan="greedy")
            jax.vmap(f)(self.x)
            jax.grad(f)(self.x)
            shardc.jit(lambda x: x.sum(), memory=1 << 20)(self.x)
        self.assertEqual(set(seen), {("v5e:4x4", 2 << 30, "greedy", None, "raise"), ("cpu", 1 << 20, "full", None, "raise")})

    def test_reports_are_about_what_is_compiled(self):
        f = lambda x: x.sum()
        target = lambda jitted, **given: shardc.cost(jitted.lower(self.x), **given).json["target"]
        self.assertEqual(target(jax.jit(f)), "flat")
        self.assertEqual(target(shardc.jit(f)), "cpu")
        self.assertEqual(target(shardc.jit(f), target="flat"), "flat")
        self.assertEqual(target(shardc.jit(f, target="v5e:4x2")), "v5e:4x2")
        self.assertEqual(target(shardc.jit(f, target="v5e:4x2"), target="v4:2x2x2", plan="greedy"), "v4:2x2x2")
        with self.assertWarnsRegex(shardc.ShardcWarning, "more than the 1 B that --memory allows"):
            shardc.partition(shardc.jit(f, memory=1).lower(self.x))

    def test_of_nested_options_the_outer_ones_count(self):
        seen = []
        inner = shardc.jit(lambda x: jnp.tanh(x).sum(), plan="greedy")
        with mock.patch.object(shardc._jit, "_plan", lambda module, name, options, *_: seen.append(options) or module):
            shardc.jit(inner)(self.x)
            shardc.jit(lambda x: inner(x) + 1, memory=1 << 30)(self.x)
            jax.jit(inner)(self.x)
        self.assertEqual([(o.memory, o.plan) for o in seen], [(None, "full"), (1 << 30, "full"), (None, "greedy")])

    def test_too_little_memory_is_a_warning(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            shardc.jit(lambda x: x + 1, memory=64)(self.x)
        said = [w for w in said if issubclass(w.category, shardc.ShardcWarning)]
        self.assertEqual(len(said), 1)
        self.assertIn("memory-exceeded", str(said[0].message))

    def test_wrong_options_are_refused_where_they_are_said(self):
        for options, why in [({"target": "v9:2x2"}, "v9:2x2"), ({"memory": "much"}, "8GiB"), ({"memory": -1}, "positive"), ({"plan": "best"}, "greedy")]:
            with self.assertRaisesRegex(ValueError, why):
                shardc.jit(jnp.sin, **options)
        with self.assertRaises(TypeError):
            shardc.jit(jnp.sin, no_such_option=1)

    def test_an_error_of_the_user_is_the_users(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            shardc.jit(lambda x: x + 1 // 0)(self.x)

    def test_a_target_that_is_too_small_is_an_error(self):
        with self.assertRaises(shardc.ShardcError) as raised:
            shardc.jit(lambda x: jnp.tanh(x), target="v5e:2x2")(self.x)
        self.assertEqual(raised.exception.diagnostics[0].code, "target-size")

    def test_threads(self):
        import concurrent.futures

        fs = [shardc.jit(lambda x, i=i: jnp.tanh(x @ x.T) * i) for i in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda f: np.asarray(f(self.x)), fs))
        for i, result in enumerate(results):
            np.testing.assert_allclose(result, results[1] * i, rtol=1e-5)

    def test_an_unknown_jax_is_asked_whether_it_asks_us(self):
        from jax._src import compiler

        shardc._jit._prove()
        hooked = compiler.compile_or_get_cached
        with mock.patch.object(compiler, "compile_or_get_cached", hooked.__wrapped__):
            with self.assertRaisesRegex(shardc.ShardcError, "tested with"):
                shardc._jit._prove()


@contextlib.contextmanager
def shardy_partitioner(used):
    """Returns whether JAX tells XLA to partition with Shardy."""
    before = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", used)
    try:
        yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)


PLAN = shardc._jit._plan


if __name__ == "__main__":
    unittest.main()
