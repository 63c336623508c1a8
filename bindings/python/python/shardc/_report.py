"""Reports on a program for people, scripts and notebooks."""

from __future__ import annotations

import html
import json as json_module
from collections.abc import Sequence
from typing import Any, Literal

from shardc import _native
from shardc._errors import ShardcError, settle
from shardc._options import Memory, Plan, Target
from shardc._program import Program, settings, text_and_name


class Report:
    """A report on a program, which prints as text and is displayed in a notebook.

    Attributes:
      text: the report for people.
      json: the report for scripts, as `shardc ... --json` prints it; its `schema` counts incompatible changes.
      ok: whether a comparison found no difference; True for reports without a comparison.
    """

    text: str
    json: dict[str, Any]
    ok: bool

    def __init__(self, text: str, json: dict[str, Any], ok: bool = True, picture: str | None = None):
        self.text, self.json, self.ok, self._picture = text, json, ok, picture

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._picture or f"<pre>{html.escape(self.text)}</pre>"


def explain(
    program: Program,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan | None = None,
    value: str | None = None,
    tries: int | None = None,
) -> Report:
    """Explains each collective of the planned program: its reason, its bytes and modelled time, and a change that removes it.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: like those of `shardc.jit`; for a program of `shardc.jit`, its options are the defaults.
      value: a value of the program's text, like `"%12"`: explains its sharding and the annotations it comes from instead.
      tries: the maximum number of changed annotations to try.

    Returns:
      A report whose `json["collectives"]` has a row for each collective: `kind`, `axes`, `operand_bytes` and `result_bytes` on
      each device, `time_s`, `loc`, and `removal`, a change that removes it. `json["groups"]` has a row for equal collectives of
      equal layers: `count`, `time_s`, and `members`, their positions in `json["collectives"]`.

    Example:
      >>> report = shardc.explain(lowered)    # of x: f32[16, 8] and w: f32[8, 4]
      >>> print(report)
      1 collective, 1 us of communication in a step of 1 us (target flat)
      ...
      note: all_reduce over "model": 64 B -> 64 B on each device, 1 us
       = required as [{"data"}, {}] by tanh at ...
       = %0 is sharded as [{"data"}, {}], unreduced={"model"}, produced by dot_general at ...
       = a sum over "model": dot_general reads dimension 1 of %arg0 ("x") sharded along it
       = annotating %arg1 ("w") as <@mesh, [{}, {}]>, in JAX P(None, None), removes it: a step takes 1 us less (100 %)
      >>> [(c["kind"], c["axes"], c["removal"]["spec"]) for c in report.json["collectives"]]
      [('all_reduce', ['model'], 'P(None, None)')]
      >>> print(shardc.explain(lowered, value="%0"))
      note: %0 is sharded as <@mesh, [{"data"}, {}]>
      ...
    """
    more = [] if value is None else ["--value", value]
    more += [] if tries is None else ["--tries", str(tries)]
    return _report("explain", program, target, memory, plan, more)


def cost(program: Program, *, target: Target = None, memory: Memory = None, plan: Plan | None = None) -> Report:
    """Models the seconds, traffic and memory of one step of the planned program on each device.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: like those of `shardc.jit`; for a program of `shardc.jit`, its options are the defaults.

    Returns:
      A report whose `json` has `step_s`, `compute_s`, `communication_s` and `exposed_s` in seconds, `flops` and
      `peak_bytes` of one device, and its `collectives`; with values in the host's memory also `host_peak_bytes` and the
      `host_copies` that take `host_copy_s`. `unpriced` has the kernels for whose arithmetic there are no figures, with their
      `count`, `bytes` and `share` of the memory traffic. Where the chip was measured, `ranges` has the lowest and the highest
      `step_s`, `compute_s` and `exposed_s` to expect, and the `sources`.

    Example:
      >>> report = shardc.cost(lowered, target="v5e:4x2")    # of x: f32[16, 8] and w: f32[8, 4]
      >>> print(report)
      target v5e:4x2: 8 devices, mesh "data"=4 x "model"=2
        step ...
        peak memory            384 B  of 14.9 GiB
      ...
      >>> report.json["flops"], report.json["peak_bytes"]    # 4x8 by 8x4 on each device: 2 * 4 * 8 * 4
      (256.0, 384)
    """
    return _report("cost", program, target, memory, plan, [])


def check(
    program: Program,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan | None = None,
    seed: int = 0,
    edge_cases: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
) -> Report:
    """Compares the partitioned program with the original on random inputs, using shardc's evaluator.

    If `ok` is False, the text names the first op whose value differs. Integers must be equal. Floats may differ by the
    measured effect of rounding, or by `rtol` and `atol`. Use small shapes, because the evaluator is slow.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: like those of `shardc.jit`; for a program of `shardc.jit`, its options are the defaults.
      seed: the seed of the random inputs.
      edge_cases: include NaN, infinities, ties and indices out of range in the inputs.
      rtol, atol: the relative and absolute tolerance of floats.

    Returns:
      A report that is `ok` if all results are equal within the tolerance.

    Example:
      >>> report = shardc.check(lowered)    # of x: f32[16, 8] and w: f32[8, 4]
      >>> print(report, report.ok)
      result 0: equal... True
    """
    flags = ["--seed", str(seed), *(["--edge-cases"] if edge_cases else [])]
    for flag, bound in (("--rtol", rtol), ("--atol", atol)):
        flags += [] if bound is None else [flag, repr(float(bound))]
    return _report("check", program, target, memory, plan, flags)


def show(
    program: Program,
    *,
    values: Sequence[str] = (),
    all: bool = False,  # noqa: A002: the flag's name
    after: Literal["none", "propagate"] = "propagate",
) -> Report:
    """Draws which device holds which shard of each argument and result.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      values: the values to draw instead of arguments and results, like `"%4"` in the program's text.
      all: draw every value.
      after: `"none"` draws the annotations, `"propagate"` the shardings after propagation.

    Returns:
      A report that prints pictures as text, and draws them in a notebook.

    Example:
      Half of the devices hold the upper half of `w: f32[8, 4]`, whose rows are in two shards:

      >>> print(shardc.show(lowered, values=["%arg1"]), end="")
      mesh @mesh: "data"=4 x "model"=2, 8 devices
      ...
      %arg1 ("w"): tensor<8x4xf32>  <@mesh, [{"model"}, {}]>
        each device holds 4x4 of 8x4: 64 B of 128 B
               0:4
            ┌─────────┐
        0:4 │ 0,2,4,6 │
            ├─────────┤
        4:8 │ 1,3,5,7 │
            └─────────┘
    """
    if after not in ("none", "propagate"):
        raise ValueError(f"after: expected 'none' or 'propagate', found {after!r}")
    flags = ["--after", after, *(["--all"] if all else [])]
    for value in values:
        flags += ["--value", value]
    text, name = text_and_name(program)
    report = _run("show", text, name, flags)
    _, picture, _ = _native.run(["show", "-", "--svg", *flags], text)
    report._picture = picture
    return report


def _report(command: str, program: Program, target: Target, memory: Memory, plan: str | None, more: list[str]) -> Report:
    text, name = text_and_name(program)
    return _run(command, text, name, [*settings(program, text, target, memory, plan).flags(), *more])


def _run(command: str, text: str, name: str, flags: list[str]) -> Report:
    code, out, err = _native.run([command, "-", "--json=last", *flags], text)
    if code == 2:
        raise ValueError(err.strip().removeprefix("shardc: "))
    said, _, last = out.rstrip("\n").rpartition("\n")
    json = json_module.loads(last) if last.startswith("{") else {}
    if code != 0 and (code != 1 or any(d["severity"] == "error" for d in json.get("diagnostics", []))):
        # Compiling reports the same errors with the lines of Python.
        _, found, _ = _native.compile(text, name=name, pipeline="compile")
        settle([d for d in found if d.severity == "error"], name)
        raise ShardcError(err.strip() or f"shardc {command} failed")
    remarks = (d["message"] for d in json.get("diagnostics", []) if d["severity"] == "remark")
    said += "".join(f"\nremark: {message}" for message in remarks)
    return Report(said, json, ok=code == 0)
