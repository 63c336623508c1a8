"""Random JAX programs through `shardc.jit`, `run` and `check`, beside one device. SHARDC_RANDOM says how many, SHARDC_RANDOM_FROM which is
the first, SHARDC where the program `shardc` is that runs them natively; `make random-jax` runs thousands."""

import devices  # noqa: F401, I001: before JAX

import collections
import os
import sys
import unittest

import numpy as np

from random_programs import Random
from random_programs.batch import outcome
from random_programs.compare import difference, different_calls

COUNT, FIRST = int(os.environ.get("SHARDC_RANDOM", "10")), int(os.environ.get("SHARDC_RANDOM_FROM", "0"))


class RandomPrograms(unittest.TestCase):
    def test_they_are_the_same_on_one_device(self):
        seen = collections.Counter()
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed=seed):
                found = outcome(seed)
                self.assertNotEqual(found["is"], "fault", found)
                seen.update([found["is"], *(f"{name} {found[name]}" for name in ("check", "run", "jit", "planned") if name in found)])
        print(f"{COUNT} programs: {dict(seen)}", file=sys.stderr)
        self.assertGreater(seen["planned True"], COUNT / 2)

    def test_a_program_is_its_seeds(self):
        for seed in range(3):
            a, b = Random(seed), Random(seed)
            self.assertEqual(a.names, b.names)
            self.assertTrue(all(x.dtype == y.dtype for x, y in zip(a.values, b.values)))


class Comparison(unittest.TestCase):
    """What would be a fault is found."""

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
