"""Random JAX programs through `shardc.jit`, `run` and `check`, compared with one device. SHARDC_RANDOM is their number,
SHARDC_RANDOM_FROM the first seed, SHARDC the path of the `shardc` that runs them natively; `make random-jax` runs thousands."""

import devices  # noqa: F401, I001: before JAX

import collections
import os
import sys
import unittest

import jax
import jax.numpy as jnp
import numpy as np

from random_programs import Random, ops
from random_programs.batch import outcome
from random_programs.compare import difference, different_calls
from random_programs.ops import OPS

COUNT, FIRST = int(os.environ.get("SHARDC_RANDOM", "10")), int(os.environ.get("SHARDC_RANDOM_FROM", "0"))


class RandomPrograms(unittest.TestCase):
    def test_results_equal_those_on_one_device(self):
        seen = collections.Counter()
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed=seed):
                found = outcome(seed)
                self.assertNotEqual(found["is"], "fault", found)
                seen.update([found["is"], *(f"{name} {found[name]}" for name in ("check", "run", "jit", "planned") if name in found)])
        print(f"{COUNT} programs: {dict(seen)}", file=sys.stderr)
        self.assertGreater(seen["planned True"], COUNT / 2)

    def test_a_seed_always_gives_the_same_program(self):
        for seed in range(3):
            a, b = Random(seed), Random(seed)
            self.assertEqual(a.names, b.names)
            self.assertTrue(all(x.dtype == y.dtype for x, y in zip(a.values, b.values)))


class Description(unittest.TestCase):
    """`tests/random_programs.json` is what the programs are made of."""

    def test_every_op_is_an_expression_that_jax_takes(self):
        for kind, rows in OPS.items():
            for row in rows:
                with self.subTest(op=row["jax"]):
                    self.assertTrue(any(self.takes(kind, row, dtype) for dtype in ("float32", "int32", "complex64", "bool")))

    def takes(self, kind, row, dtype):
        """Whether JAX traces the op for operands of this type with some parameters."""
        x = jax.ShapeDtypeStruct((8, 8) if row["jax"] != "convolved(x, y)" else (1, 8, 8), dtype)
        for seed in range(20):
            program = Random(seed)
            program.only, program.given = row, None
            try:
                step = program.drawn(x, 0, None) if kind == "numbers" else getattr(program, kind)(x, 0, 0)
                jax.eval_shape(step, [x])
                return ops.kind(x) in row.get("classes", "bifc")
            except Exception:  # noqa: BLE001, S112: other parameters may be possible
                continue
        return False

    def test_every_element_type_is_converted_to(self):
        rows = ops.DESCRIPTION["element_types"]
        self.assertEqual({*ops.DTYPES, *ops.WIDE, *ops.TWO_BITS}, {row["jax"] for row in rows if row["jax"] == "bool" or hasattr(jnp, row["jax"])})
        self.assertGreaterEqual(len(ops.DTYPES), 20)

    def test_every_row_without_an_expression_says_why(self):
        for row in ops.DESCRIPTION["ops"]:
            self.assertTrue("jax" in row or row["why"], row)
            self.assertTrue("without" not in row or row["why"], row)


class Comparison(unittest.TestCase):
    """Differences are found."""

    def test_one_wrong_element(self):
        for dtype in (np.float32, np.float16, np.int8, np.complex64):
            right = np.arange(64).astype(dtype)
            wrong = right.copy()
            self.assertIsNone(difference(wrong, right))
            wrong[5] += 1
            self.assertIsNotNone(difference(wrong, right))

    def test_calls(self):
        x, y = np.arange(3), np.arange(3) + 1
        self.assertIsNone(different_calls({"a in top": [(x,), (y,)]}, {"a in top": [(x,), (y,)]}))
        self.assertIn("1 times instead of 2", different_calls({"a in top": [(x,)]}, {"a in top": [(x,), (y,)]}))
        self.assertIn("differs", different_calls({"a in top": [(y,), (x,)]}, {"a in top": [(x,), (y,)]}))
        self.assertIsNone(different_calls({"a in vmap": [(y,), (x,)]}, {"a in vmap": [(x,), (y,)]}))
        shards = {"a in shard_map": [(np.int32(1), y), (np.int32(0), x)]}
        self.assertIsNone(different_calls(shards, {"a in shard_map": [(np.int32(0), x), (np.int32(1), y)]}))


if __name__ == "__main__":
    unittest.main()
