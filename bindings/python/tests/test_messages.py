"""Messages of `shardc.jit`: lines of the log, warnings, names, programs that it can't plan, and Ctrl-C."""

import devices  # noqa: F401, I001: before JAX

import copy
import inspect
import logging
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import shardc
from programs import put, rand
from shardc import _log, _native, _nested
from test_jit import count_planned


def here():
    """The line that calls it."""
    return inspect.currentframe().f_back.f_lineno


def recorded(work):
    """Returns the warnings about shardc during `work`."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        work()
    return [w for w in said if issubclass(w.category, shardc.ShardcWarning)]


class Told(unittest.TestCase):
    def setUp(self):
        self.x, self.w = put(rand(16, 8), "data"), put(rand(8, 4), "model")

    def test_one_line_of_the_log_for_each_program(self):
        def train_step(x, w):
            return jnp.tanh(x @ w)

        with self.assertLogs("shardc", logging.INFO) as said:
            step = shardc.jit(train_step, target="v5e:4x2")
            step(self.x, self.w)
            step(self.x, self.w)
            shardc.jit(lambda x: x * 2)(self.x)
            shardc.jit(lambda x: x * 2)(np.float32(1))
        lines = [record.getMessage() for record in said.records]
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"^train_step: 1 all_gather; modelled step [\d.]+ us on v5e:4x2; planned in [\d.e-]+ s$")
        self.assertRegex(lines[1], r"^_lambda_: no collectives; modelled step [\d.]+ us on cpu; planned in [\d.e-]+ s$")
        cost = shardc.cost(step.lower(self.x, self.w)).json
        self.assertEqual(f"{cost['step_s'] * 1e6:.3g}", re.search(r"step ([\d.]+) us", lines[0]).group(1))

    def test_nothing_is_summed_up_that_nobody_reads(self):
        with mock.patch.object(_native, "compile", wraps=_native.compile) as called:
            shardc.jit(lambda x: x.sum(0))(self.x)
        self.assertEqual([call.kwargs["summary"] for call in called.mock_calls], [False])

    def test_inside_a_plain_jit_a_warning_says_that_nothing_is_planned(self):
        @shardc.jit
        def inner(x):
            return jnp.tanh(x).sum(0)

        @jax.jit
        def outer(x):
            return inner(x) + 1

        lines = []

        def work():
            lines.append(here() + 1)
            outer(self.x)
            outer(put(rand(32, 8), "data"))

        with mock.patch.object(_nested, "_warned", set()):
            (warning,) = recorded(work)
            self.assertIn("doesn't plan inner here, because it is called inside outer", str(warning.message))
            self.assertEqual((warning.filename, warning.lineno), (__file__, lines[0]))
            self.assertEqual(recorded(lambda: jax.jit(lambda x: inner(x))(self.x)), [])
            # This version of JAX has it planned, or there is nothing to plan.
            _nested._warned.clear()
            for fine in (shardc.jit(lambda x: inner(x) * 2), jax.jit(inner), jax.grad(lambda x: inner(x).sum())):
                self.assertEqual(recorded(lambda fine=fine: fine(self.x)), [])
            self.assertEqual(recorded(lambda: jax.jit(lambda x: inner(x) * 3)(rand(16, 8))), [])

    def test_disabled_it_is_jax_jit(self):
        f = lambda x: x.sum(0)
        for value, disabled in (("1", True), ("yes", True), ("0", False), ("", False)):
            with mock.patch.dict(os.environ, SHARDC_DISABLE=value), count_planned() as planned:
                jitted = shardc.jit(lambda x: f(x), memory="8GiB")
                self.assertEqual(jitted.__name__, "<lambda>" if disabled else jitted.__name__)
                jitted(self.x)
                self.assertEqual(planned.call_count, 0 if disabled else 1)

    def test_a_program_that_cannot_be_planned_goes_to_xla_where_that_is_asked_for(self):
        def step(x):
            return jnp.tanh(x).sum(0)

        with self.assertRaisesRegex(shardc.ShardcError, "step> can't be compiled"):
            shardc.jit(step, target="v5e:2x2")(self.x)
        lines, found = [], []

        def work():
            lines.append(here() + 1)
            found.append(shardc.jit(step, target="v5e:2x2", on_error="xla")(self.x))

        (warning,) = recorded(work)
        self.assertRegex(str(warning.message), "step isn't planned, so XLA partitions it: .*(?s:.)*v5e:2x2")
        self.assertEqual((warning.filename, warning.lineno), (__file__, lines[0]))
        np.testing.assert_allclose(found[0], step(np.asarray(self.x)), rtol=1e-5, atol=1e-6)
        # Also after a bug in shardc.
        bug = RuntimeError("no such thing")
        with mock.patch.object(shardc._jit, "_plan", side_effect=bug):
            (warning,) = recorded(lambda: shardc.jit(lambda x: step(x), on_error="xla")(self.x))
            self.assertIn("no such thing", str(warning.message))
            with self.assertRaisesRegex(RuntimeError, "no such thing"):
                shardc.jit(lambda x: step(x) * 2)(self.x)
        with self.assertRaisesRegex(ValueError, "on_error: expected 'raise' or 'xla', found 'ignore'"):
            shardc.jit(step, on_error="ignore")

    def test_warnings_are_about_the_users_line_and_filters_for_it_apply(self):
        lines = []

        def work():
            lines.append(here() + 1)
            shardc.jit(lambda x: x + 1, memory=64)(self.x)

        (warning,) = recorded(work)
        self.assertEqual((warning.filename, warning.lineno), (__file__, lines[0]))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", module=re.escape(__name__) + "$")
            shardc.jit(lambda x: x + 2, memory=64)(self.x)
        self.assertEqual([w for w in said if issubclass(w.category, shardc.ShardcWarning)], [])
        # Without other filters, each line warns once.
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            for scale in range(3):
                shardc.jit(lambda x, scale=scale: x * scale, memory=64)(self.x)
        self.assertEqual(len([w for w in said if issubclass(w.category, shardc.ShardcWarning)]), 1)

    def test_functions_are_shown_by_their_names(self):
        def train_step(x):
            return x

        self.assertIn("train_step", repr(shardc.jit(train_step)))
        self.assertIn("planned by shardc", repr(shardc.jit(train_step)))
        self.assertNotIn("_Named", repr(shardc.jit(train_step)))
        self.assertEqual(_log.function_name("jit_train_step.shardc_v5e_4x4_1234"), "train_step")

    def test_errors_keep_their_diagnostics(self):
        with self.assertRaises(shardc.ShardcError) as raised:
            shardc.partition("func.func @main( {")
        error = raised.exception
        error.add_note("while it is tested") if hasattr(error, "add_note") else None
        self.assertEqual(len(error.diagnostics), 1)
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            self.assertEqual((type(again), str(again), again.diagnostics), (shardc.ShardcError, str(error), error.diagnostics))
            self.assertEqual(getattr(again, "__notes__", None), getattr(error, "__notes__", None))
            (was,), (now,) = error.diagnostics, again.diagnostics
            for name in ("severity", "code", "message", "notes", "place", "source", "text"):
                self.assertEqual(getattr(now, name), getattr(was, name))
            self.assertEqual(hash(now), hash(was))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertEqual(pickle.loads(pickle.dumps(error, protocol)).diagnostics, error.diagnostics)


class Interrupts(unittest.TestCase):
    def large(self, ops=60_000):
        body = "\n".join(f"  %{i + 1} = stablehlo.dot_general %{i}, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n" for i in range(ops))
        head = 'module {\nsdy.mesh @mesh = <["x"=4, "y"=2]>\nfunc.func @main(%0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %w: tensor<64x64xf32>)'
        return f"{head} -> tensor<64x64xf32> {{\n{body}\n  return %{ops} : tensor<64x64xf32>\n}}\n}}"

    def test_ctrl_c_arrives_at_once_and_planning_ends(self):
        # On a fast machine the work ends before the signal, so larger programs are tried.
        texts = [self.large(ops) for ops in (60_000, 240_000, 960_000)]
        for work in (shardc.partition, shardc.cost, shardc.check):
            with self.subTest(work.__name__):
                late = next((late for late in (self.interrupted(work, text) for text in texts) if late is not None), None)
                self.assertIsNotNone(late, "no work took long enough")
                # Twenty milliseconds, and the delay of a busy machine.
                self.assertLess(late, 0.5)
                self.assertLess(self.seconds_until_idle(), 3)

    def interrupted(self, work, text):
        """Returns the seconds between a signal and its arrival, or None if the work ends before."""
        sent = []

        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.7, interrupt)
        timer.start()
        try:
            work(text)
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            return time.monotonic() - sent[0]
        return None

    def seconds_until_idle(self):
        """Returns the seconds until the process uses no processor time."""
        start = time.monotonic()
        while time.monotonic() - start < 10:
            before = time.process_time()
            time.sleep(0.1)
            if time.process_time() - before < 0.02:
                break
        return time.monotonic() - start

    def test_ctrl_c_in_shardc_jit(self):
        # In a separate process, because JAX may keep parts of an interrupted compilation.
        program = (
            "import devices, os, signal, threading, time, jax, shardc; from test_jit import *\n"
            "def f(x):\n"
            "    for i in range(800):\n"
            "        x = jnp.tanh(x @ x.T) @ x\n"
            "    return x\n"
            "x = put(rand(16, 16), 'data')\n"
            "traced = shardc.jit(f).trace(x).lower()\n"
            "times = []\n"
            "def interrupt():\n"
            "    times.append(time.monotonic())\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "plan = shardc._jit.attempt\n"
            "def attempt(*a, **k):\n"
            "    threading.Timer(0.01, interrupt).start()\n"
            "    return plan(*a, **k)\n"
            "shardc._jit.attempt = attempt\n"
            "try:\n"
            "    traced.compile()\n"
            "except KeyboardInterrupt:\n"
            "    print(time.monotonic() - times[0])\n"
            "shardc._jit.attempt = plan\n"
            "print(np.asarray(shardc.jit(lambda x: x * 0)(x)).sum())\n"
        )
        ran = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        late, after = ran.stdout.split()
        self.assertLess(float(late), 0.5)
        self.assertEqual(float(after), 0)


if __name__ == "__main__":
    unittest.main()
