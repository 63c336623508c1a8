"""The examples in docstrings run and print what they show."""

import devices  # noqa: F401, I001: before JAX

import doctest
import importlib.util
import unittest

import shardc

LIBRARIES = {"nnx_jit": "flax", "filter_jit": "equinox"}
FUNCTIONS = ["jit", "compile", "partition", "explain", "cost", "check", "show", "patched"]
FUNCTIONS += [name for name, library in LIBRARIES.items() if importlib.util.find_spec(library)]


class Examples(unittest.TestCase):
    def test_examples(self):
        # The examples of functions use values from the package's example.
        names = {"__name__": "examples"}
        finder = doctest.DocTestFinder(recurse=False)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        for what in (shardc, *(getattr(shardc, name) for name in FUNCTIONS)):
            with self.subTest(what.__name__):
                (examples,) = finder.find(what, what.__name__, module=False, globs={})
                self.assertGreater(len(examples.examples), 0)
                examples.globs = names
                said = []
                failed, _ = runner.run(examples, out=said.append, clear_globs=False)
                self.assertEqual(failed, 0, "".join(said))

    def test_everything_public_has_a_docstring(self):
        for name in shardc.__all__:
            if name not in ("Memory", "OnError", "Plan", "Program", "Target", "__version__"):
                self.assertTrue(getattr(shardc, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
