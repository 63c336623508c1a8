"""The package passes mypy, and its stubs agree with the native module."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import shardc


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy isn't installed")
class Types(unittest.TestCase):
    def run_in_a_folder_of_its_own(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            # mypy doesn't check installed packages.
            shutil.copytree(pathlib.Path(shardc.__file__).parent, pathlib.Path(folder) / "shardc")
            ran = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_the_package(self):
        flags = ("--strict", "--follow-imports=skip", "--ignore-missing-imports", "--cache-dir=/dev/null")
        self.run_in_a_folder_of_its_own("mypy", *flags, "shardc")

    def test_stubs(self):
        self.run_in_a_folder_of_its_own("mypy.stubtest", "shardc._native")


if __name__ == "__main__":
    unittest.main()
