"""`shardc.jit` beside `jax.jit`: the same results, with the same types, shardings and structure."""

import devices  # noqa: F401, I001: before JAX

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

# What is compiled here isn't the function itself but what is around it, which nobody asked to plan.
PLANNED_BY_NOBODY = {"inside_a_scan_outside"}


def count_planned():
    """Counts the modules that are planned."""
    return mock.patch.object(shardc._jit, "_plan", wraps=shardc._jit._plan)


def difference(got, want):
    """What is wrong with a result, or None."""
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
        """Runs a new case twice, as donation takes arguments away; the results of both."""
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


if __name__ == "__main__":
    unittest.main()
