"""Programs as text: `partition`, reports, errors and warnings with lines of Python."""

import devices  # noqa: F401, I001: before JAX

import pathlib
import tempfile
import threading
import time
import unittest
import warnings

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import shardc
from shardc import _native
from programs import put, rand


def f(x, w):
    y = x @ w
    return jnp.tanh(y).sum(0)


def arguments():
    return put(rand(16, 8), "data"), put(rand(8, 4), None, "model")


BROKEN = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4xf32>, %b: tensor<8xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32> loc(callsite("f"("FILE":2:9) at "other.py":9:9))
    return %0 : tensor<4xf32>
  }
}
"""


class Programs(unittest.TestCase):
    def test_every_kind_of_program(self):
        lowered = jax.jit(f).lower(*arguments())
        text = shardc.partition(lowered)
        self.assertIn("(tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>", text)
        self.assertIn("stablehlo.all_reduce", text)
        self.assertEqual(shardc.partition(lowered.as_text()), text)
        self.assertEqual(shardc.partition(jax.jit(f).trace(*arguments())), text)
        exported = jax.export.export(jax.jit(f))(*arguments())
        self.assertIn("(tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>", shardc.partition(exported))
        saved = exported.mlir_module_serialized
        self.assertEqual(shardc.partition(saved), shardc.partition(exported))
        self.assertEqual(shardc.partition(bytes(lowered.as_text(), "utf-8")), text)
        self.assertIn("test_text.py", shardc.partition(saved, locations=True))
        with self.assertRaisesRegex(shardc.ShardcError, "byte .* expected"):
            shardc.partition(saved[: len(saved) // 2])
        with self.assertRaisesRegex(shardc.ShardcError, "neither MLIR bytecode"):
            shardc.partition(b"\xff\xfe")
        with self.assertRaisesRegex(TypeError, "found int"):
            shardc.partition(3)

    def test_forms(self):
        lowered = jax.jit(f).lower(*arguments())
        self.assertIn("sdy.all_reduce", shardc.partition(lowered, emit="sdy"))
        self.assertIn("sdy.manual_computation", shardc.partition(lowered, emit="manual"))
        self.assertIn("test_text.py", shardc.partition(lowered, locations=True))
        self.assertNotIn("test_text.py", shardc.partition(lowered))
        self.assertIn("shardc.cause", shardc.partition(lowered, emit="sdy", causes=True))
        with self.assertRaisesRegex(ValueError, "'stablehlo'"):
            shardc.partition(lowered, emit="llvm")

    def test_what_is_partitioned_is_partitioned_by_options(self):
        x, w = put(rand(64, 64), "data", "model"), put(rand(64, 64), "model", "data")
        lowered = jax.jit(lambda x, w: (x @ w) @ w).lower(x, w)
        self.assertNotEqual(shardc.partition(lowered, plan="greedy"), shardc.partition(lowered))


class Errors(unittest.TestCase):
    def test_an_error_shows_the_line_of_python(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.py"
            file.write_text("def f(a, b):\n    c = a + b\n    return c\n")
            with self.assertRaises(shardc.ShardcError) as raised:
                shardc.partition(BROKEN.replace("FILE", str(file)))
        said = str(raised.exception)
        self.assertIn(f"--> {file}:2:9", said)
        self.assertIn("2 |     c = a + b\n   |         ^", said)
        first = raised.exception.diagnostics[0]
        self.assertEqual((first.severity, first.source, first.place[0]), ("error", (str(file), 2, 9), 4))
        self.assertIn("tensor<8xf32>", first.text)
        self.assertTrue(first.code and first.message)

    def test_without_a_line_of_python_it_shows_mlir(self):
        with self.assertRaises(shardc.ShardcError) as raised:
            shardc.partition("func.func @main() {\n  %0 = no.such_op\n  return\n}")
        self.assertIn("no.such_op", str(raised.exception))
        self.assertEqual(raised.exception.diagnostics[0].code, "unknown-op")
        self.assertIsNone(raised.exception.diagnostics[0].source)

    def test_reports_raise_the_same(self):
        for report in (shardc.explain, shardc.cost, shardc.check, shardc.show):
            with self.subTest(report.__name__), self.assertRaises(shardc.ShardcError) as raised:
                report(BROKEN)
            self.assertEqual(raised.exception.diagnostics[0].source, ("FILE", 2, 9))

    def test_a_warning_is_about_the_line_that_gathers(self):
        big = jax.ShapeDtypeStruct((4096, 8192), np.float32)
        opaque = lambda x: jax.ffi.ffi_call("nobody_knows_this", big)(x) * 2  # HERE
        lowered = jax.jit(opaque).lower(put(np.zeros(big.shape, big.dtype), "data"))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            shardc.partition(lowered)
        said = [w for w in said if issubclass(w.category, shardc.ShardcWarning)]
        self.assertEqual(len(said), 1, said)
        lines = pathlib.Path(__file__).read_text().splitlines()
        here = next(i for i, line in enumerate(lines, 1) if "# HERE" in line)
        self.assertEqual((said[0].filename, said[0].lineno), (__file__, here))
        self.assertIn("# HERE", str(said[0].message))

    def test_errors_can_be_pickled(self):
        import pickle

        with self.assertRaises(shardc.ShardcError) as raised:
            shardc.partition(BROKEN)
        self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), str(raised.exception))


class Reports(unittest.TestCase):
    def setUp(self):
        self.lowered = jax.jit(f).lower(*arguments())

    def test_explain(self):
        report = shardc.explain(jax.jit(lambda x, w: f(x, w) * 2).lower(*arguments()))
        self.assertIn("all_reduce", str(report))
        self.assertIn("test_text.py", report.text)
        self.assertEqual(len(report.json["collectives"]), 1)
        self.assertTrue(report._repr_html_().startswith("<pre>"))
        about = shardc.explain(self.lowered, value="%0")
        self.assertIn("%0", about.text)
        with self.assertRaisesRegex(ValueError, "%99"):
            shardc.explain(self.lowered, value="%99")

    def test_cost(self):
        report = shardc.cost(self.lowered, target="v5e:4x2")
        self.assertEqual((report.json["target"], report.json["devices"]), ("v5e:4x2", 8))
        # Two operands and 2 flops for each of their products: 4x8 by 8x2, then tanh and sums.
        self.assertGreaterEqual(report.json["flops"], 2 * 4 * 8 * 2)
        self.assertIn("communication", repr(report))

    def test_memory_of_the_host(self):
        # The optimizer's momentum is in host memory; a device only has a copy, which becomes the new value.
        mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
        device = jax.sharding.NamedSharding(mesh, jax.P("data"), memory_kind="device")
        host = device.with_memory_kind("pinned_host")

        def step(m, g):
            return jax.device_put(jax.device_put(m, device) * 0.9 + g, host)

        shapes = [jax.ShapeDtypeStruct((512, 512), jnp.float32, sharding=s) for s in (host, device)]
        lowered = jax.jit(step, donate_argnums=0).trace(*shapes).lower(lowering_platforms=("tpu",))
        report = shardc.cost(lowered, target="v5e:2x4")
        shard = 512 * 512 * 4 // 8
        self.assertEqual((report.json["peak_bytes"], report.json["host_peak_bytes"]), (2 * shard, shard))
        self.assertEqual([(c["to"], c["bytes"]) for c in report.json["host_copies"]], [("device", shard), ("host", shard)])
        self.assertIn("host memory", str(report))

    def test_check(self):
        report = shardc.check(self.lowered, seed=3)
        self.assertTrue(report.ok)
        self.assertIn("equal", report.text)
        self.assertFalse(shardc.check(self.lowered, rtol=0.0, atol=0.0).ok)

    def test_show(self):
        report = shardc.show(self.lowered)
        self.assertIn("each device holds 4x8 of 16x8", report.text)
        self.assertIn("<svg", report._repr_html_())
        self.assertIn("%0", shardc.show(self.lowered, values=["%0"]).text)
        with self.assertRaises(ValueError):
            shardc.show(self.lowered, values=["%nothing"])


class Native(unittest.TestCase):
    def test_other_threads_run_while_it_compiles(self):
        body = "\n".join(f"  %{i + 1} = stablehlo.tanh %{i} : tensor<8x8xf32>" for i in range(3000))
        text = f"func.func @main(%0: tensor<8x8xf32>) -> tensor<8x8xf32> {{\n{body}\n  return %3000 : tensor<8x8xf32>\n}}"
        ended = []
        worker = threading.Thread(target=lambda: ended.append(_native.compile(text, name="a", pipeline="compile")))
        worker.start()
        turns = 0
        while worker.is_alive():
            turns += 1
            time.sleep(0)
        worker.join()
        self.assertIsNotNone(ended[0][0])
        # If the call held the lock, this thread would have waited for most of it.
        self.assertGreater(turns, 100)

    def test_deep_programs(self):
        text = "func.func @main() {" + "\n%0 = (" * 5000
        with self.assertRaises(shardc.ShardcError):
            shardc.partition(text)
        with self.assertRaises(shardc.ShardcError):
            shardc.partition("")

    def test_codes_are_those_of_the_command_line(self):
        code, out, err = _native.run(["help", "codes", "unknown-op"], "")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("unknown-op", out)


if __name__ == "__main__":
    unittest.main()
