"""Several processes, each with some of the devices. Each plans, and all plans must be equal."""

import pathlib
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))

import processes  # noqa: E402


class Processes(unittest.TestCase):
    def test_two_processes_run_one_program_as_one_does(self):
        one = processes.launch(1)[0]
        two = processes.launch(2)
        seen = {}
        for results in two:
            ours, theirs = results["shardc"], results["jax"]
            np.testing.assert_allclose(ours["loss"], theirs["loss"], rtol=1e-6)
            np.testing.assert_allclose(ours["loss"], one["shardc"]["loss"], rtol=1e-6)
            self.assertEqual(len(ours["shards"]), processes.DEVICES // 2)
            for device, shard in ours["shards"].items():
                np.testing.assert_allclose(shard, theirs["shards"][device], rtol=1e-5)
            seen |= ours["shards"]
        # Devices of another process have other numbers; in order, they hold the same values as those of one process.
        self.assertEqual(len(seen), processes.DEVICES)
        mine = [seen[device] for device in sorted(seen, key=int)]
        whole = [one["shardc"]["shards"][device] for device in sorted(one["shardc"]["shards"], key=int)]
        np.testing.assert_allclose(mine, whole, rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
