"""`shardc.compile`: exported programs, planned, by public names of JAX alone."""

import devices  # noqa: F401, I001: before JAX

import unittest

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import shardc
from programs import put, rand

try:
    import flatbuffers
except ImportError:
    flatbuffers = None


def loss(w, x):
    return {"loss": jnp.mean(jnp.tanh(x @ w) ** 2), "y": x @ w}


class Exported(unittest.TestCase):
    def setUp(self):
        self.args = put(rand(8, 4), None, "model"), put(rand(16, 8), "data")
        self.exported = jax.export.export(jax.jit(loss))(*self.args)
        self.compiled = shardc.compile(self.exported)

    def same(self, got, want):
        self.assertEqual(jax.tree.structure(got), jax.tree.structure(want))
        jax.tree.map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6), got, want)

    def test_same_results(self):
        self.assertIn("sdy.manual_computation", self.compiled.mlir_module())
        self.assertEqual(self.compiled.in_avals, self.exported.in_avals)
        want = jax.jit(self.exported.call)(*self.args)
        got = jax.jit(self.compiled.call)(*self.args)
        self.same(got, want)
        for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
            self.assertTrue(g.sharding.is_equivalent_to(w.sharding, g.ndim))
        self.same(self.compiled.call(*self.args), want)
        inside = jax.jit(lambda w, x: self.compiled.call(2 * w, x)["loss"] + 1)
        self.same(inside(*self.args), self.exported.call(2 * self.args[0], self.args[1])["loss"] + 1)

    def test_backward_programs_are_planned(self):
        self.assertIn("sdy.manual_computation", self.compiled.vjp().mlir_module())
        value = lambda exported: lambda w, x: exported.call(w, x)["loss"]
        self.same(jax.grad(value(self.compiled))(*self.args), jax.grad(lambda w, x: loss(w, x)["loss"])(*self.args))

    @unittest.skipIf(flatbuffers is None, "JAX needs flatbuffers to serialize")
    def test_serialized_and_loaded(self):
        loaded = jax.export.deserialize(self.compiled.serialize(vjp_order=1))
        self.same(loaded.call(*self.args), self.exported.call(*self.args))
        self.assertIn("sdy.manual_computation", loaded.vjp().mlir_module())
        self.assertEqual(shardc.partition(self.exported.serialize()), shardc.partition(self.exported))

    def test_one_device_has_nothing_to_plan(self):
        exported = jax.export.export(jax.jit(jnp.sin))(1.0)
        self.assertIs(shardc.compile(exported), exported)

    def test_options(self):
        with self.assertRaisesRegex(ValueError, "v9"):
            shardc.compile(self.exported, target="v9:1x1")


if __name__ == "__main__":
    unittest.main()
