"""Every snippet of JAX's tutorials on sharding has the same results with `shardc.jit` and `jax.jit`."""

import devices  # noqa: F401, I001: before JAX

import unittest

import jax

import shardc
from test_jit import count_planned, difference
from tutorials import automatic, cookbook, distributed, explicit, intro, manual, multi, spmd, tpu

# Programs on one device have nothing to plan, and moving a value to another device needs no jit.
LEAST = {automatic: 46, cookbook: 13, distributed: 19, explicit: 17, intro: 28, manual: 50, multi: 21, spmd: 15, tpu: 35}


class Tutorials(unittest.TestCase):
    def test_every_snippet(self):
        for tutorial, least in LEAST.items():
            wanted = dict(tutorial.run(jax.jit))
            self.assertGreaterEqual(len(wanted), least)
            with count_planned() as planned:
                found = dict(tutorial.run(shardc.jit))
            self.assertGreater(planned.call_count, least / 2)
            self.assertEqual(found.keys(), wanted.keys())
            for name, want in wanted.items():
                with self.subTest(f"{tutorial.__name__}: {name}"):
                    self.assertEqual(jax.tree.structure(found[name]), jax.tree.structure(want))
                    for got, leaf in zip(jax.tree.leaves(found[name]), jax.tree.leaves(want)):
                        if isinstance(leaf, str):
                            self.assertEqual(got, leaf)
                        else:
                            self.assertIsNone(difference(got, leaf))


if __name__ == "__main__":
    unittest.main()
