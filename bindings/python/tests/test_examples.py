"""The tour runs, and the notebook was generated from its current text."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples"


def sources(notebook):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def said(notebook):
    """Returns the text that cells print or show. Versions of JAX differ in names of specs and in the numbers of values."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", [])]
    texts = ["".join(out.get("text", out.get("data", {}).get("text/plain", []))) for out in outputs]
    return [re.sub(r"%\d+", "%", text.replace("PartitionSpec(", "P(")) for text in texts]


class Tour(unittest.TestCase):
    def test_the_notebook_is_what_the_script_gives(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "tour.ipynb"
            ran = subprocess.run([sys.executable, FOLDER / "notebook.py", target], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr[-3000:])
            found = json.loads(target.read_text())
        kept = json.loads((FOLDER / "tour.ipynb").read_text())
        self.assertEqual(sources(kept), sources(found), "run examples/notebook.py")
        self.assertEqual(said(kept), said(found), "run examples/notebook.py")


if __name__ == "__main__":
    unittest.main()
