"""Random JAX programs through `shardc.jit` on eight devices, beside one device. SHARDC_RANDOM says how many, SHARDC_RANDOM_FROM which
is the first."""

import devices  # noqa: F401, I001: before JAX

import collections
import os
import sys
import unittest
import warnings

import jax

import shardc
from random_jax import Random, difference
from test_jit import count_planned

COUNT, FIRST = int(os.environ.get("SHARDC_RANDOM", "12")), int(os.environ.get("SHARDC_RANDOM_FROM", "0"))


class RandomPrograms(unittest.TestCase):
    def test_they_are_the_same_on_one_device(self):
        seen, planned_programs, refused = collections.Counter(), 0, 0
        for seed in range(FIRST, FIRST + COUNT):
            case = Random(seed)
            with self.subTest(seed=seed, steps=case.names), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = jax.jit(case.on_one_device)(*case.values)
                except Exception:
                    # XLA has no such op of this dtype.
                    refused += 1
                    continue
                try:
                    with count_planned() as planned:
                        found = shardc.jit(case.sharded, **case.jit)(*case.placed)
                except Exception as fault:
                    # What XLA can't partition either isn't ours.
                    with self.assertRaises(type(fault), msg=f"only shardc refuses it: {fault}"):
                        jax.jit(case.sharded, **case.jit)(*case.placed)
                    refused += 1
                    continue
                planned_programs += planned.call_count > 0
                seen.update(str(value.dtype) for value in wanted)
                for i, (got, want) in enumerate(zip(found, wanted)):
                    self.assertIsNone(difference(got, want), f"result {i}")
            # Thousands of programs would fill the memory.
            if seed % 50 == 49:
                jax.clear_caches()
        print(f"{COUNT} programs, {planned_programs} planned, {refused} refused by XLA: {dict(seen)}", file=sys.stderr)
        self.assertGreater(planned_programs, COUNT / 2)


if __name__ == "__main__":
    unittest.main()
