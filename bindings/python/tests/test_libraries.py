"""`patched`, `nnx_jit` and `filter_jit` train like the libraries' own functions."""

import devices  # noqa: F401, I001: before JAX

import functools
import importlib
import inspect
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import shardc
from programs import put, rand
from test_jit import count_planned

try:
    import equinox as eqx
    import haiku as hk
    import optax
    from flax import nnx
except ImportError:
    optax = None

LIBRARY = """
import functools
import jax

@jax.jit
def total(x):
    return x.sum()

@functools.partial(jax.jit, static_argnames="by")
def scaled(x, *, by):
    return x.sum(0) * by
"""


def names(planned):
    return [call.args[1].split(".shardc")[0].removeprefix("jit_") for call in planned.mock_calls]


class Patched(unittest.TestCase):
    def setUp(self):
        self.x = put(rand(16, 8), "data")

    def test_a_library_is_planned(self):
        before = jax.jit
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [folder, *sys.path]):
            (pathlib.Path(folder) / "a_library.py").write_text(LIBRARY)
            with shardc.patched(plan="greedy"):
                self.assertIsNot(jax.jit, before)
                library = importlib.import_module("a_library")
                self.addCleanup(sys.modules.pop, "a_library")
        self.assertIs(jax.jit, before)
        with count_planned() as planned:
            np.testing.assert_allclose(library.total(self.x), np.sum(np.asarray(self.x)), rtol=1e-5)
            np.testing.assert_allclose(library.scaled(self.x, by=3), np.asarray(self.x).sum(0) * 3, rtol=1e-5, atol=1e-6)
            jax.jit(lambda x: x + 1)(self.x)
        self.assertEqual(names(planned), ["total", "scaled"])
        self.assertEqual({call.args[2].plan for call in planned.mock_calls}, {"greedy"})

    def test_it_ends_with_an_error_too(self):
        before = jax.jit
        with self.assertRaises(ZeroDivisionError), shardc.patched():
            1 // 0  # noqa: B018
        self.assertIs(jax.jit, before)
        with self.assertRaisesRegex(ValueError, "v9:2x2"), shardc.patched(target="v9:2x2"):
            pass
        self.assertIs(jax.jit, before)

    def test_jax_jit_may_be_replaced_for_good(self):
        program = (
            "import devices, jax, shardc, functools; from test_jit import *;"
            " jax.jit = shardc.jit;"
            " f = functools.partial(jax.jit, static_argnums=1)(lambda x, by: x.sum(0) * by);"
            " print(jax.jit(lambda x: x + 1)(1.0), f(put(np.ones((16, 8), np.float32), 'data'), 2))"
        )
        ran = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout.strip()), (0, "2.0 [32. 32. 32. 32. 32. 32. 32. 32.]"), ran.stderr)


@unittest.skipIf(optax is None, "flax, equinox, haiku or optax isn't installed")
class Libraries(unittest.TestCase):
    def setUp(self):
        self.x, self.y = put(rand(32, 16), "data"), put(rand(32, 8), "data")

    def same(self, train):
        """Trains three steps with both forms of the library's jit. The final states must be equal and differ from the first."""
        start, wanted = train(False, 0), train(False, 3)
        with count_planned() as planned:
            found = train(True, 3)
        self.assertGreater(planned.call_count, 0)
        self.assertEqual(jax.tree.structure(found), jax.tree.structure(wanted))
        for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-4, atol=1e-5)
            self.assertTrue(got.sharding.is_equivalent_to(want.sharding, want.ndim))
        moved = [not np.array_equal(a, b) for a, b in zip(jax.tree.leaves(start), jax.tree.leaves(wanted))]
        self.assertTrue(any(moved))

    def nnx_model(self):
        class Model(nnx.Module):
            def __init__(self, rngs):
                self.up, self.down = nnx.Linear(16, 64, rngs=rngs), nnx.Linear(64, 8, rngs=rngs)
                self.norm, self.dropout = nnx.BatchNorm(64, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)

            def __call__(self, x):
                return self.down(self.dropout(self.norm(nnx.relu(self.up(x)))))

        model = Model(nnx.Rngs(0))
        graph, state = nnx.split(model)
        place = lambda p: put(p, None, "model") if p.ndim == 2 and p.shape[1] == 64 else put(p)
        return nnx.merge(graph, jax.tree.map(place, state))

    @staticmethod
    def nnx_step(model, optimizer, x, y):
        value, grads = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
        optimizer.update(model, grads)
        return value

    def test_nnx(self):
        def train(ours, steps):
            model = self.nnx_model()
            optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
            step = (shardc.nnx_jit if ours else nnx.jit)(self.nnx_step)
            for _ in range(steps):
                step(model, optimizer, self.x, self.y)
            return jax.tree.map(jax.random.key_data, nnx.state(model, nnx.RngKey)), nnx.state(model, (nnx.Param, nnx.BatchStat))

        self.same(train)

    def test_nnx_in_all_its_forms(self):
        @shardc.nnx_jit(plan="greedy", static_argnames="power")
        def decorated(model, x, *, power):
            return model(x).sum() ** power

        model = self.nnx_model()
        with count_planned() as planned:
            decorated(model, self.x, power=2)
        self.assertEqual([(call.args[2].plan, call.args[1].startswith("jit_decorated.")) for call in planned.mock_calls], [("greedy", True)])
        self.assertEqual(decorated.__doc__, None)
        with self.assertRaisesRegex(ValueError, "v9:2x2"):
            shardc.nnx_jit(self.nnx_step, target="v9:2x2")

    def test_changes_that_would_be_lost_are_an_error(self):
        model = self.nnx_model()
        optimizer = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param)
        for wrong in (shardc.jit(self.nnx_step), shardc.jit(nnx.jit(self.nnx_step)), nnx.jit(shardc.jit(self.nnx_step))):
            with self.assertRaisesRegex(shardc.ShardcError, r"nnx_step changes its argument of type Model.*shardc.nnx_jit\(nnx_step\)"):
                wrong(model, optimizer, self.x, self.y)

    def test_changes_that_are_returned_are_not(self):
        def step(model, x):
            model.up.kernel[...] = model.up.kernel[...] * 2
            return nnx.state(model)

        got = shardc.jit(step)(self.nnx_model(), self.x)
        want = jax.jit(step)(self.nnx_model(), self.x)
        np.testing.assert_array_equal(got["up"]["kernel"][...], want["up"]["kernel"][...])
        # Evaluation changes no state.
        model = self.nnx_model()
        model.eval()
        forward = lambda model, x: model(x)
        np.testing.assert_allclose(shardc.jit(forward)(model, self.x), jax.jit(forward)(model, self.x), rtol=1e-5, atol=1e-5)

    def test_a_patched_library_of_nnx(self):
        def train(ours, steps):
            with shardc.patched() if ours else mock.MagicMock():
                step = nnx.jit(self.nnx_step)
            model = self.nnx_model()
            optimizer = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param)
            for _ in range(steps):
                step(model, optimizer, self.x, self.y)
            return nnx.state(model, nnx.Param)

        self.same(train)

    def eqx_model(self):
        model = eqx.nn.MLP(16, 8, 64, 2, key=jax.random.key(0))
        place = lambda p: put(p, "model") if p.ndim == 2 and p.shape[0] == 64 else put(p)
        return jax.tree.map(lambda p: place(p) if eqx.is_array(p) else p, model)

    def test_equinox(self):
        optimizer = optax.adam(1e-2)

        def step(model, inner, x, y):
            value, grads = eqx.filter_value_and_grad(lambda model: jnp.mean((jax.vmap(model)(x) - y) ** 2))(model)
            updates, inner = optimizer.update(grads, inner, eqx.filter(model, eqx.is_array))
            return eqx.apply_updates(model, updates), inner, value

        def train(ours, steps):
            model = self.eqx_model()
            inner = optimizer.init(eqx.filter(model, eqx.is_array))
            jitted = shardc.filter_jit(step, donate="warn") if ours else eqx.filter_jit(step, donate="warn")
            x, y, value = put(rand(32, 16), "data"), put(rand(32, 8), "data"), jnp.float32(0)
            for _ in range(steps):
                model, inner, value = jitted(model, inner, jnp.copy(x), jnp.copy(y))
            return eqx.filter(model, eqx.is_array), value

        wanted, found = train(False, 3), train(True, 3)
        for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-4, atol=1e-5)
        self.assertFalse(np.array_equal(train(False, 0)[0].layers[0].weight, wanted[0].layers[0].weight))

    def test_equinox_in_all_its_forms(self):
        class Scaled(eqx.Module):
            by: jax.Array
            name: str = "a"

            def __call__(self, x, *, plus=0.0):
                return x.sum(0) * self.by + plus

            @shardc.filter_jit(plan="greedy")
            def method(self, x):
                return self(x) * 2

        model = Scaled(jnp.float32(3))
        want = np.asarray(self.x).sum(0) * 3
        with count_planned() as planned:
            jitted = shardc.filter_jit(model)
            np.testing.assert_allclose(jitted(self.x), want, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(jitted(self.x, plus=jnp.float32(1)), want + 1, rtol=1e-5, atol=1e-5)
            # Arrays of the module are arguments, so another module isn't compiled again.
            np.testing.assert_allclose(shardc.filter_jit(Scaled(jnp.float32(6)))(self.x), want * 2, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(model.method(self.x), want * 2, rtol=1e-5, atol=1e-5)
        self.assertEqual(names(planned), ["Scaled", "Scaled", "method"])
        self.assertEqual(inspect.signature(shardc.filter_jit(lambda a, b=2: a)), inspect.signature(lambda a, b=2: a))

    def test_haiku_and_optax_as_they_are(self):
        network = hk.transform_with_state(lambda x, train: hk.Linear(8)(hk.BatchNorm(True, True, 0.9)(jax.nn.relu(hk.Linear(64)(x)), train)))
        optimizer = optax.adamw(1e-2)

        def step(params, state, inner, x, y):
            def loss(params):
                out, after = network.apply(params, state, None, x, True)
                return jnp.mean((out - y) ** 2), after

            (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params)
            updates, inner = optimizer.update(grads, inner, params)
            return optax.apply_updates(params, updates), state, inner, value

        def train(ours, steps):
            params, state = jax.tree.map(put, network.init(jax.random.key(0), self.x, True))
            inner = jax.tree.map(put, optimizer.init(params))
            jitted = (shardc.jit if ours else jax.jit)(step)
            for _ in range(steps):
                params, state, inner, _ = jitted(params, state, inner, self.x, self.y)
            return params, state

        self.same(train)

    def test_disabled_they_are_the_libraries_own(self):
        with mock.patch.dict("os.environ", SHARDC_DISABLE="1"), count_planned() as planned:
            shardc.filter_jit(lambda x: x.sum(0))(self.x)
            shardc.nnx_jit(lambda model, x: model(x).sum())(self.nnx_model(), self.x)
            functools.partial(shardc.jit, plan="greedy")(lambda x: x.sum(0))(self.x)
        self.assertEqual(planned.call_count, 0)


if __name__ == "__main__":
    unittest.main()
