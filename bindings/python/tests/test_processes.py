"""Several processes, each with some of the devices: every one of them plans, and all must plan alike."""

import json
import os
import socket
import subprocess
import sys
import unittest

import numpy as np


class Processes(unittest.TestCase):
    def test_two_processes_run_one_program(self):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        start = lambda rank: subprocess.Popen(
            [sys.executable, worker, str(port), "2", str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        workers = [start(rank) for rank in range(2)]
        try:
            ended = [worker.communicate(timeout=300) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        for worker, (out, err) in zip(workers, ended):
            self.assertEqual(worker.returncode, 0, err[-3000:])
            results = json.loads(out.splitlines()[-1])
            np.testing.assert_allclose(results["shardc"]["loss"], results["jax"]["loss"], rtol=1e-6)
            np.testing.assert_allclose(results["shardc"]["mine"], results["jax"]["mine"], rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
