"""`shardc.jit` chooses its target by the kind and coordinates of JAX's devices."""

import devices  # noqa: F401, I001: before JAX

import itertools
import types
import unittest
from unittest import mock

from shardc import _machine, _native
from shardc._options import Options


def tpus(kind, *shape, slices=1, at=(0, 0, 0), cores=1):
    """The devices of slices of TPUs, in an order that isn't that of their coordinates."""
    made = []
    for index, place in itertools.product(range(slices), itertools.product(*map(range, shape))):
        coords = [a + b for a, b in zip((*place, 0, 0)[:3], at)]
        made += [types.SimpleNamespace(device_kind=kind, coords=coords, core_on_chip=c, slice_index=index) for c in range(cores)]
    return made[::-1]


def gpus(kind, count, processes=1):
    return [types.SimpleNamespace(device_kind=kind, process_index=p) for p in range(processes) for _ in range(count)]


class Machines(unittest.TestCase):
    def test_tpus_are_named_by_their_coordinates(self):
        for found, wanted in (
            (tpus("TPU v5 lite", 2, 4), "v5e:2x4"),
            (tpus("TPU v5 lite", 1, 1), "v5e:1x1"),
            (tpus("TPU v5 lite", 4, 4, at=(4, 8, 0)), "v5e:4x4"),
            (tpus("TPU v5 lite", 16, 16, slices=2), "2xv5e:16x16"),
            (tpus("TPU v6 lite", 2, 4), "v6e:2x4"),
            (tpus("TPU v4", 2, 2, 1), "v4p:2x2x1"),
            (tpus("TPU v5p", 2, 2, 4), "v5p:2x2x4"),
            (tpus("TPU v5", 2, 2, 2), "v5p:2x2x2"),
            (tpus("TPU7x", 2, 2, 2), "v7x:2x2x2"),
        ):
            with self.subTest(wanted):
                self.assertEqual(_machine.machine(found), wanted)
                self.assertIsNone(_native.target_fault(wanted))

    def test_gpus_are_named_by_their_processes(self):
        for found, wanted in (
            (gpus("NVIDIA H100 80GB HBM3", 8), "h100:8"),
            (gpus("NVIDIA H100 80GB HBM3", 8, processes=4), "4xh100:8"),
            (gpus("NVIDIA B200", 4), "b200:4"),
        ):
            self.assertEqual(_machine.machine(found), wanted)

    def test_other_devices_are_a_flat_network_and_one_line_of_the_log(self):
        corner = [d for d in tpus("TPU v5 lite", 2, 4) if d.coords != [1, 3, 0]]
        for found, why in (
            (gpus("Mystery 9000", 8), "8 devices of the kind 'Mystery 9000'"),
            (tpus("TPU v99", 2, 2), "4 devices of the kind 'TPU v99'"),
            (corner, "7 devices of the kind 'TPU v5 lite'"),
            # Two devices are one chip.
            (tpus("TPU v3", 2, 2, cores=2), "8 devices of the kind 'TPU v3'"),
            (tpus("TPU v5 lite", 32, 32), "as v5e:32x32"),
            (gpus("NVIDIA H100 80GB HBM3", 2) + gpus("NVIDIA H100 80GB HBM3", 1, 2)[1:], "3 devices"),
        ):
            with self.subTest(why), mock.patch.object(_machine, "_reported", set()), self.assertLogs("shardc") as said:
                self.assertIsNone(_machine.machine(found))
                self.assertIsNone(_machine.machine(found))
                (line,) = said.output
                self.assertIn(why, line)
                self.assertIn("shardc.jit(target=...)", line)

    def test_what_is_given_counts(self):
        found = tpus("TPU v5 lite", 2, 4)
        options = Options.of(None, None, "full")
        self.assertEqual(options.on("tpu", found).target, "v5e:2x4")
        self.assertEqual(options.on("cpu", found).target, "cpu")
        self.assertIsNone(options.on("tpu").target)
        self.assertEqual(Options.of("v4:2x2x2", None, "full").on("tpu", found).target, "v4:2x2x2")


if __name__ == "__main__":
    unittest.main()
