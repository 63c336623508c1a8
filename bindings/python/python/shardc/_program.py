"""Programs as text, and what the compiler makes of them."""

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
"""A program: StableHLO as text, or what `jax.jit(f).trace(...)`, `jax.jit(f).lower(...)` or `jax.export` returned.

As bytes: MLIR bytecode, StableHLO's portable artifacts among it, and what `Exported.serialize()` writes."""

PIPELINES = {"sdy": "planned", "stablehlo": "compile", "manual": "compile-manual"}

GSPMD = "compile-gspmd"
"""The pipeline to what XLA compiles without Shardy: of the forms that users ask for it is "manual" in other words."""


def text_and_name(program: Program) -> tuple[str, str]:
    """The StableHLO text of a program, with the lines of Python its ops came from, and a name for messages."""
    if isinstance(program, str):
        return program, "<text>"
    if isinstance(program, (bytes, bytearray, memoryview)):
        return _text(bytes(program), "<bytes>")
    # Told apart by what they can do, so that JAX needn't be imported.
    given: Any = program
    if hasattr(given, "mlir_module_serialized"):
        return _text(given.mlir_module_serialized, f"<exported {given.fun_name}>")
    if hasattr(given, "lower") and hasattr(given, "jaxpr"):
        given = given.lower()
    if hasattr(given, "as_text") and hasattr(given, "compile"):
        return given.as_text(debug_info=True), "<lowered>"
    kinds = "StableHLO as text or bytecode, jax.jit(f).lower(...) or jax.export.export(...)(...)"
    raise TypeError(f"a program was expected ({kinds}), not {type(program).__name__}")


def settings(program: Program, text: str, target: Target, memory: Memory, plan: str | None) -> Options:
    """What a program is planned with: what is given, else what `shardc.jit` was given where it is a program of that, so that
    reports are about what it compiles."""
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
    """The text of MLIR bytecode, and the name."""
    if not _native.is_bytecode(program):
        try:
            return program.decode(), name
        except UnicodeDecodeError:
            raise ShardcError(f"{name} is neither MLIR bytecode, nor what Exported.serialize() writes, nor text") from None
    text, diagnostics = _native.text_of_bytecode(program, name)
    settle(diagnostics, name)
    assert text is not None, "a program without errors has a text"
    return text, name


def compiled(text: str, name: str, pipeline: str, options: Options, *, locations: bool = False, causes: bool = False) -> str:
    """The text of a program after planning and partitioning."""
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
    """A program as text or bytecode after planning and partitioning, in the same form; its diagnostics; its summary where that
    is asked for."""
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
    """The program as it is after partitioning, as text.

    Args:
      program: StableHLO as text or bytecode, `jax.jit(f).lower(...)`, `jax.jit(f).trace(...)`, a `jax.export.Exported`, or
        what its `serialize()` wrote.
      emit: `"stablehlo"` is what each device runs, over local shapes; `"sdy"` the global program with Shardy's
        collectives; `"manual"` the former in one `sdy.manual_computation` under the global signature, which JAX and XLA
        run.
      target, memory, plan: as of `shardc.jit`; what isn't given is as it was given there, if the program is one of
        `shardc.jit`.
      locations: print the lines of Python that ops came from.
      causes: print why each collective is there.

    Raises:
      ShardcError: the program can't be read or partitioned; it has the diagnostics and lines of Python.

    Example:
      Of `x: f32[16, 8]` and `w: f32[8, 4]` each device has 4x8 and 4x4: it takes the columns of its `x` that belong to
      its rows of `w`, and the products are summed over "model".

      >>> device = shardc.partition(lowered)
      >>> "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>" in device, "stablehlo.all_reduce" in device
      (True, True)
      >>> planned = shardc.partition(lowered, emit="sdy", target="v5e:4x2")
      >>> next(line for line in planned.splitlines() if "sdy.all_gather" in line).strip()
      '%0 = sdy.all_gather [{"model"}, {}] %arg1 out_sharding=<@mesh, [{}, {}]> ... : tensor<8x4xf32>'
    """
    if emit not in PIPELINES:
        raise ValueError(f"emit: one of {', '.join(map(repr, PIPELINES))} was expected, not {emit!r}")
    text, name = text_and_name(program)
    options = settings(program, text, target, memory, plan)
    return compiled(text, name, PIPELINES[emit], options, locations=locations, causes=causes)
