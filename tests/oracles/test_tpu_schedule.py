"""Tests of what is read from dumps of the TPU's compiler (dumps/, without the fields that nothing reads). Needs no TPU and no libtpu.

    python -m unittest test_tpu_schedule
"""
import unittest
from pathlib import Path

import scheduled_hlo
import tpu_schedule
from scheduled_hlo import Array, parts, replica_groups
from tpu_links import CHIPS, HOP, Line, Links

DUMPS = Path(__file__).parent / "dumps"
# A mesh of 2 x 4 on a slice of 2 x 4, as JAX assigns devices.
PLACES = [[0, device // 4, device % 4, 0] for device in range(8)]
V5E = CHIPS["v5e"]


def dump(name):
    return (DUMPS / f"{name}.hlo").read_text()


class Reading(unittest.TestCase):
    def test_lists_are_split_outside_brackets_and_strings(self):
        self.assertEqual(parts('a, b={x, y}, c="d, (e", f(g, [h, i])'), ["a", "b={x, y}", 'c="d, (e"', "f(g, [h, i])"])
        self.assertEqual(parts(""), [])
        self.assertEqual(scheduled_hlo.closing('(a, "):", {b})c', 0), 14)

    def test_an_instruction(self):
        found = scheduled_hlo.instruction(
            r'ROOT %sum.1 = (f32[8,128]{1,0:T(8,128)S(1)}, /*index=1*/bf16[3]{0:T(256)}) fusion(%a.2, /*index=1*/f32[3]{0} %b), '
            r'kind=kLoop, calls=%inner, metadata={op_name="f(x)|12"}, backend_config={"window_config":{"estimated_cycles":"325"}}'
        )
        self.assertEqual((found.name, found.opcode, found.root, found.operands), ("sum.1", "fusion", True, ["a.2", "b"]))
        self.assertEqual((found.op_name, found.cycles, found.called), ("f(x)|12", 325, ["inner"]))
        self.assertEqual([(a.element, a.sizes, a.space) for a in found.arrays], [("f32", (8, 128), 1), ("bf16", (3,), 0)])
        constant = scheduled_hlo.instruction("%c = s32[2]{0:T(128)} constant({1, 2})")
        self.assertEqual((constant.operands, constant.literal, constant.cycles), ([], "{1, 2}", None))

    def test_bytes_with_padding(self):
        for array, expected in [
            (Array("f32", (9, 100), "1,0:T(8,128)"), 16 * 128 * 4),
            (Array("f32", (9, 100), "0,1:T(8,128)"), 104 // 8 * 8 * 128 * 4),
            (Array("bf16", (5, 3, 64), "2,1,0:T(8,128)(2,1)"), 5 * 8 * 128 * 2),
            (Array("f32", (100,), "0:T(128)"), 128 * 4),
            (Array("s4", (64, 128), "1,0:T(64,128)"), 64 * 64),
            (Array("f32", (), ":T(128)S(6)"), 4),
        ]:
            self.assertEqual(array.padded_bytes, expected, array)
        self.assertEqual(Array("pred", (10,), "0").bytes, 10)

    def test_groups_in_every_form(self):
        self.assertEqual(replica_groups("{{0,1},{2,3}}", 4), [[0, 1], [2, 3]])
        self.assertEqual(replica_groups("{}", 3), [[0, 1, 2]])
        self.assertEqual(replica_groups("[2,2]<=[4]", 4), [[0, 1], [2, 3]])
        self.assertEqual(replica_groups("[4,2]<=[2,4]T(1,0)", 8), [[0, 4], [1, 5], [2, 6], [3, 7]])
        self.assertEqual(replica_groups("mesh['a'=2,'b'=4] {'b'}", 8), [[0, 1, 2, 3], [4, 5, 6, 7]])
        self.assertEqual(replica_groups("mesh['a'=2,'b'=4] {'a'}", 8), [[0, 4], [1, 5], [2, 6], [3, 7]])
        self.assertEqual(replica_groups("mesh['a'=2,'b'=2] {'b','a'}", 4), [[0, 2, 1, 3]])
        reordered = "mesh['a'=4,'b'=2], device_ids=([2,2,2]T(0,2,1)) {'b'}"
        self.assertEqual(replica_groups(reordered, 8), [[0, 2], [1, 3], [4, 6], [5, 7]])
        found = scheduled_hlo.instruction(f"%a = f32[8]{{0}} all-gather(%b), replica_groups={reordered}, dimensions={{0}}")
        self.assertEqual((found.attributes["replica_groups"], found.attributes["dimensions"]), (reordered, "{0}"))
        self.assertEqual(replica_groups("mesh['a'=4] {'a':(1)2}", 4), [[0, 2], [1, 3]])

    def test_a_program(self):
        program = scheduled_hlo.parse(dump("mlp_2d"))
        self.assertEqual((len(program.computations), len(program.entry)), (11, 32))
        products = [i for body in program.computations.values() for i in body if i.opcode == "convolution"]
        self.assertEqual([i.arrays[0].sizes for i in products], [(4096, 8192), (4096, 8192)])
        self.assertEqual(sum(i.root for i in program.entry), 1)


class Time(unittest.TestCase):
    def test_gathers_on_lines_and_rings(self):
        # On a line of 4, the device at the end receives 3 of 4 parts over one link; a ring brings them over two.
        self.assertAlmostEqual(Line(0, 4, 1, False).seconds(40e6, 45e9), 30e6 / 45e9)
        self.assertAlmostEqual(Line(0, 16, 1, True).seconds(40e6, 45e9), 37.5e6 / 90e9)
        self.assertAlmostEqual(Line(0, 4, 1, False).seconds(40, 45e9), 3 * HOP)
        links = Links(V5E, [2, 4], PLACES)
        self.assertEqual(links.lines([0, 1, 2, 3]), [Line(1, 4, 1, False)])
        self.assertEqual(links.lines([0, 2, 4, 6]), [Line(0, 2, 1, False), Line(1, 2, 2, False)])
        # One ring through all 8 devices, or halves of the array along both dimensions in turn.
        self.assertAlmostEqual(links.gather(80e6, range(8), 1), 70e6 / 90e9)
        first = max(40e6 / 4 / 2 / 45e9, 40e6 / 2 * 3 / 4 / 45e9)
        second = max(40e6 * 3 / 4 / 45e9, 40e6 / 2 / 45e9)
        self.assertAlmostEqual(links.gather(80e6, range(8), 2), first + second)
        self.assertTrue(Links(V5E, [16, 16], [[0, i // 16, i % 16, 0] for i in range(256)]).lines(range(16))[0].ring)

    def test_exchanges_and_permutes(self):
        links = Links(V5E, [2, 4], PLACES)
        # Of 4 devices with 1 MB each, each of two sends half of its bytes over the middle of the line.
        self.assertAlmostEqual(links.exchange(1e6, [0, 1, 2, 3]), 1e6 / 45e9)
        seconds, used = links.permute(45e6, [(0, 4), (4, 0)])
        self.assertAlmostEqual(seconds, 1e-3 + HOP)
        self.assertEqual(used, {(0, 1), (0, -1)})
        # Without wraparound the last one's data returns over all links.
        seconds, _ = links.permute(45e6, [(0, 1), (1, 2), (2, 3), (3, 0)])
        self.assertAlmostEqual(seconds, 1e-3 + 3 * HOP)
        two = Links(V5E, [1, 1], [[0, 0, 0, 0], [1, 0, 0, 0]])
        self.assertAlmostEqual(two.gather(2 * 3.125e6, [0, 1], 1), 10e-6 + 1e-3)

    def test_a_schedule(self):
        report = tpu_schedule.schedule(dump("mlp_2d"), "v5e:2x4", PLACES)
        cycles = 252768 + 1147232 + 1010784 + 4646912 + 5688814
        self.assertAlmostEqual(report["compute_s"], cycles / 1.5e9)
        # Two products of 4096 x 8192 x 8192.
        self.assertEqual(report["flops"], 2 * 2 * 4096 * 8192 * 8192)
        rows, columns = 4096 * 8192 * 2, 8192 * 8192 * 2
        gathers = [rows * 3 / 4 / 45e9, columns / 2 / 45e9, columns / 2 / 45e9]
        scatter = 4096 * 8192 * 4 * 3 / 4 / 45e9
        kinds = [(c["kind"], c["groups"], c["group"], c["bytes"], c["asynchronous"]) for c in report["collectives"]]
        self.assertEqual(kinds, [
            ("all-gather", 2, 4, rows, False), ("all-gather", 4, 2, columns, False), ("all-gather", 4, 2, columns, True),
            ("reduce-scatter", 2, 4, 4096 * 8192 * 4, False),
        ])
        # The third gather takes half as long as the product that runs next to it.
        self.assertAlmostEqual(report["hidden_s"], gathers[2])
        self.assertAlmostEqual(report["exposed_s"], gathers[0] + gathers[1] + scatter)
        self.assertAlmostEqual(report["step_s"], report["compute_s"] + report["exposed_s"])
        self.assertEqual([c["emitter"] for c in report["collectives"]], [
            "1DAllGatherNonMajorDim", "1DAllGatherNonMajorDim", "", "SingleInputAllReduceScatterFusion",
        ])
        self.assertAlmostEqual(report["seconds_by_line"]["22"], 5688814 / 1.5e9)

    def test_flops_count_the_inputs_that_there_are(self):
        # 3 outputs of a window of 3 over 3 inputs with a padding of 1 have 2 + 3 + 2 pairs.
        self.assertEqual(tpu_schedule.valid_pairs(3, 3, 3, 1, 1, 1, 1), 7)
        # A batch of 4, written as a window of 4 over zeros; two halves of which each output has one.
        self.assertEqual(tpu_schedule.valid_pairs(4, 4, 4, 0, 3, 4, 1), 4)
        self.assertEqual(tpu_schedule.valid_pairs(2, 2, 1, 1, 1, 1, 1), 2)

    def test_copies_next_to_the_core_and_loops(self):
        text = """HloModule loop, is_scheduled=true
%body (p: (s32[], f32[1024,1024])) -> (s32[], f32[1024,1024]) {
  %p = (s32[]{:T(128)}, f32[1024,1024]{1,0:T(8,128)}) parameter(0)
  %x = f32[1024,1024]{1,0:T(8,128)} get-tuple-element(%p), index=1
  %s = (f32[1024,1024]{1,0:T(8,128)S(1)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%x)
  %f = f32[8,128]{1,0:T(8,128)S(1)} negate(%y), backend_config={"window_config":{"estimated_cycles":"1500"}}
  %d = f32[1024,1024]{1,0:T(8,128)S(1)} copy-done(%s)
  ROOT %t = (s32[]{:T(128)}, f32[1024,1024]{1,0:T(8,128)}) tuple(%i, %x)
}
%condition (p: (s32[], f32[1024,1024])) -> pred[] {
  %q = (s32[]{:T(128)}, f32[1024,1024]{1,0:T(8,128)}) parameter(0)
  %limit = s32[]{:T(128)} constant(12)
  %i = s32[]{:T(128)} get-tuple-element(%q), index=0
  ROOT %less = pred[]{:T(512)} compare(%i, %limit), direction=LT
}
ENTRY %main (a: f32[1024,1024]) -> f32[1024,1024] {
  %a = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  %w = (s32[]{:T(128)}, f32[1024,1024]{1,0:T(8,128)}) while(%t), condition=%condition, body=%body
  ROOT %g = f32[1024,1024]{1,0:T(8,128)} get-tuple-element(%w), index=1
}
"""
        report = tpu_schedule.schedule(text, "v5e:2x4", PLACES)
        # Each of 12 iterations waits for its copy of 4 MiB, which is longer than a microsecond of arithmetic.
        copy = 4 * 2**20 / 810e9
        self.assertAlmostEqual(report["compute_s"], 12 * 1e-6)
        self.assertAlmostEqual(report["step_s"], 12 * copy)
        self.assertAlmostEqual(report["memory_wait_s"], 12 * (copy - 1e-6))


if __name__ == "__main__":
    unittest.main()
