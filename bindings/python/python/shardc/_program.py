"""Programs as text, and their compilation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, Literal, Union

from shardc import _native
from shardc._errors import ShardcError, settle
from shardc._options import Memory, Options, Plan, Target, asked

if TYPE_CHECKING:
    import jax.export
    import jax.stages

Program = Union[str, bytes, "jax.stages.Lowered", "jax.stages.Traced", "jax.export.Exported"]
"""A program: StableHLO as text, or the result of `jax.jit(f).trace(...)`, `jax.jit(f).lower(...)` or `jax.export`.

As bytes: MLIR bytecode, including StableHLO's portable artifacts, or the output of `Exported.serialize()`."""

PIPELINES = {"sdy": "planned", "stablehlo": "compile", "manual": "compile-manual"}

GSPMD = "compile-gspmd"
"""The pipeline to the form that XLA compiles without Shardy. It is equivalent to "manual"."""


def text_and_name(program: Program) -> tuple[str, str]:
    """Returns the StableHLO text of a program, with the Python lines of its ops, and a name for messages."""
    if isinstance(program, str):
        return program, "<text>"
    if isinstance(program, (bytes, bytearray, memoryview)):
        return _text(bytes(program), "<bytes>")
    # Tests for methods instead of types, so that JAX needn't be imported.
    given: Any = program
    if hasattr(given, "mlir_module_serialized"):
        return _text(given.mlir_module_serialized, f"<exported {given.fun_name}>")
    if hasattr(given, "lower") and hasattr(given, "jaxpr"):
        given = given.lower()
    if hasattr(given, "as_text") and hasattr(given, "compile"):
        return given.as_text(debug_info=True), "<lowered>"
    kinds = "StableHLO as text or bytecode, jax.jit(f).lower(...) or jax.export.export(...)(...)"
    raise TypeError(f"expected a program ({kinds}), found {type(program).__name__}")


def settings(program: Program, text: str, target: Target, memory: Memory, plan: str | None) -> Options:
    """Returns the options for a program: the given ones, and for a program of `shardc.jit` its options as defaults, so that
    reports describe the program that it compiles."""
    given = Options.of(target, memory, plan)
    # A module of JAX has the name of its function.
    name = re.search(r"^module @(\S+)", text, re.MULTILINE)
    own = asked(name.group(1)) if name and not isinstance(program, (str, bytes, bytearray, memoryview)) else None
    if own is None:
        return given
    import jax

    devices = re.search(r"mhlo.num_partitions = (\d+)", text)
    own = own.on(jax.default_backend(), jax.devices()[: int(devices.group(1)) if devices else 1])
    if target is None:
        given = given._replace(target=own.target, described=own.described)
    return given._replace(memory=own.memory if memory is None else given.memory, plan=own.plan if plan is None else given.plan)


def _text(program: bytes, name: str) -> tuple[str, str]:
    """Returns the text of MLIR bytecode, and the name."""
    if not _native.is_bytecode(program):
        try:
            return program.decode(), name
        except UnicodeDecodeError:
            raise ShardcError(f"{name} is neither MLIR bytecode, nor the output of Exported.serialize(), nor text") from None
    text, diagnostics = _native.text_of_bytecode(program, name)
    settle(diagnostics, name)
    assert text is not None, "a program without errors has a text"
    return text, name


def compiled(text: str, name: str, pipeline: str, options: Options, *, locations: bool = False, causes: bool = False) -> str:
    """Returns the text of a program after planning and partitioning."""
    result, diagnostics, _ = attempt(text, name, pipeline, options, locations=locations, causes=causes)
    settle(diagnostics, name)
    assert result is not None, "a program without errors has a result"
    return result


def attempt(
    program: AnyStr,
    name: str,
    pipeline: str,
    options: Options,
    *,
    locations: bool = False,
    causes: bool = False,
    summary: bool = False,
) -> tuple[AnyStr | None, list[_native.Diagnostic], _native.Summary | None]:
    """Returns a program after planning and partitioning, as text or bytecode like the input; its diagnostics; and with
    `summary` its summary."""
    return _native.compile(
        program,
        name=name,
        pipeline=pipeline,
        target=options.target,
        described=options.described,
        memory=options.memory,
        plan=options.plan,
        locations=locations,
        causes=causes,
        summary=summary,
    )


def partition(
    program: Program,
    *,
    emit: Literal["stablehlo", "sdy", "manual"] = "stablehlo",
    target: Target = None,
    memory: Memory = None,
    plan: Plan | None = None,
    locations: bool = False,
    causes: bool = False,
) -> str:
    """Returns the partitioned program as text.

    Args:
      program: StableHLO as text or bytecode, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, a `jax.export.Exported`, or
        the output of its `serialize()`.
      emit: `"stablehlo"` is the per-device program over local shapes; `"sdy"` is the global program with Shardy's
        collectives; `"manual"` is the per-device program in one `sdy.manual_computation` under the global signature, which
        JAX and XLA run.
      target, memory, plan: like those of `shardc.jit`; for a program of `shardc.jit`, its options are the defaults.
      locations: print the Python lines of ops.
      causes: print the reason for each collective.

    Raises:
      ShardcError: the program can't be read or partitioned. The error has the diagnostics and lines of Python.

    Example:
      Each device has a 4x8 shard of `x: f32[16, 8]` and a 4x4 shard of `w: f32[8, 4]`. It multiplies the columns of its
      `x` that match its rows of `w`, and the products are summed over "model".

      >>> device = shardc.partition(lowered)
      >>> "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>" in device, "stablehlo.all_reduce" in device
      (True, True)
      >>> planned = shardc.partition(lowered, emit="sdy", target="v5e:4x2")
      >>> next(line for line in planned.splitlines() if "sdy.all_gather" in line).strip()
      '%0 = sdy.all_gather [{"model"}, {}] %arg1 out_sharding=<@mesh, [{}, {}]> ... : tensor<8x4xf32>'
    """
    if emit not in PIPELINES:
        raise ValueError(f"emit: expected one of {', '.join(map(repr, PIPELINES))}, found {emit!r}")
    text, name = text_and_name(program)
    options = settings(program, text, target, memory, plan)
    return compiled(text, name, PIPELINES[emit], options, locations=locations, causes=causes)
