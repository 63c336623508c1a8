"""What the compiler can say about a program, for people, scripts and notebooks."""

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
    """What was found out about a program. It prints as text and shows itself in a notebook.

    Attributes:
      text: for people.
      json: for scripts, as `shardc ... --json` prints it; its `schema` counts incompatible changes.
      ok: whether a comparison found no difference; True for reports that compare nothing.
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
    """Each collective of the planned program: why it is there, its bytes and modelled time, and what would remove it.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: as of `shardc.jit`; what isn't given is as it was given there, if the program is one of
        `shardc.jit`.
      value: a value of the program's text, like `"%12"`: says instead how it lies, and which annotations brought it there.
      tries: how many changed annotations are tried at most.

    Returns:
      A report whose `json["collectives"]` has a row for each: `kind`, `axes`, `operand_bytes` and `result_bytes` on each
      device, `time_s`, `loc`, and `removal`, which says what would make do without it. `json["groups"]` has a row for equal
      collectives of equal layers: `count`, `time_s`, and `members`, their positions in the former.

    Example:
      >>> report = shardc.explain(lowered)    # of x: f32[16, 8] and w: f32[8, 4]
      >>> print(report)
      1 collective, 1 us of communication in a step of 1 us (target flat)
      ...
      note: all_reduce over "model": 64 B -> 64 B on each device, 1 us
       = needed as [{"data"}, {}] by tanh at ...
       = %0 lies as [{"data"}, {}], unreduced={"model"}, made by dot_general at ...
       = a sum over "model": dot_general reads dimension 1 of %arg0 ("x") sharded along it
       = annotating %arg1 ("w") as <@mesh, [{}, {}]>, in JAX P(None, None), removes it: a step takes 1 us less (100 %)
      >>> [(c["kind"], c["axes"], c["removal"]["spec"]) for c in report.json["collectives"]]
      [('all_reduce', ['model'], 'P(None, None)')]
      >>> print(shardc.explain(lowered, value="%0"))
      note: %0 lies as <@mesh, [{"data"}, {}]>
      ...
    """
    more = [] if value is None else ["--value", value]
    more += [] if tries is None else ["--tries", str(tries)]
    return _report("explain", program, target, memory, plan, more)


def cost(program: Program, *, target: Target = None, memory: Memory = None, plan: Plan | None = None) -> Report:
    """The modelled seconds, traffic and memory of one step of the planned program on each device.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: as of `shardc.jit`; what isn't given is as it was given there, if the program is one of
        `shardc.jit`.

    Returns:
      A report whose `json` has `step_s`, `compute_s`, `communication_s` and `exposed_s` in seconds, `flops` and
      `peak_bytes` of one device, and its `collectives`; with values in the host's memory also `host_peak_bytes` and the
      `host_copies` that take `host_copy_s`.

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
    """The partitioned program against the unpartitioned one, on made-up inputs, by shardc's own evaluator.

    Where `ok` is False, the text names the first op whose value differs. Integers must agree exactly, floats as far as
    rounding can move them, which is measured, or by `rtol` and `atol`. Meant for small shapes: the evaluator is slow.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      target, memory, plan: as of `shardc.jit`; what isn't given is as it was given there, if the program is one of
        `shardc.jit`.
      seed: what the inputs are made up from.
      edge_cases: NaN, infinities, ties and indices out of range are among the inputs.
      rtol, atol: how far floats may be apart.

    Returns:
      A report that is `ok` if all results agree.

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
    """Which device holds which part of each argument and result, as pictures.

    Args:
      program: StableHLO as text, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, or a `jax.export.Exported`.
      values: values of the program's text, like `"%4"`, instead of arguments and results.
      all: draw every value.
      after: `"none"` draws the program as annotated, `"propagate"` what Shardy's propagation makes of it.

    Returns:
      A report whose pictures are text where it is printed, and drawings in a notebook.

    Example:
      Of `w: f32[8, 4]`, whose rows are sharded in two, half of the devices have the upper half:

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
        raise ValueError(f"after: 'none' or 'propagate' was expected, not {after!r}")
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
        # Compiling finds the same errors, with the lines of Python.
        _, found, _ = _native.compile(text, name=name, pipeline="compile")
        settle([d for d in found if d.severity == "error"], name)
        raise ShardcError(err.strip() or f"shardc {command} failed")
    remarks = (d["message"] for d in json.get("diagnostics", []) if d["severity"] == "remark")
    said += "".join(f"\nremark: {message}" for message in remarks)
    return Report(said, json, ok=code == 0)
