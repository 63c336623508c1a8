"""`shardc.compile`: exported programs with every decision about shards taken, by public names of JAX alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardc._errors import ShardcError
from shardc._options import Memory, Options, Plan, Target
from shardc._program import PIPELINES, compiled, text_and_name

if TYPE_CHECKING:
    import jax.export


def compile(
    exported: jax.export.Exported,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
) -> jax.export.Exported:
    """An exported program, planned and partitioned: same arguments, results and shardings.

    It can be called, serialized and loaded again like the one it was made of, by machines without shardc; whoever
    compiles it has no decisions about shards left to make. Its backward programs, if it has any, are planned too.

    Args:
      exported: what `jax.export.export(jax.jit(f))(...)` returned, for as many devices as it is to run on.
      target: the machine to plan for: a slice of TPUs like `"v5e:4x4"`, or a TOML file with one of your own; without it
        `"cpu"` for a program that is exported for CPUs alone, and a flat model of a network otherwise.
      memory: a limit on the bytes used on each device: a number, or a text like `"8GiB"`.
      plan: `"full"` looks for the cheapest communication of the whole program, `"greedy"` takes each op's own cheapest.

    Raises:
      ShardcError: the program can't be partitioned; it has the diagnostics and lines of Python.

    Example:
      >>> exported = shardc.compile(jax.export.export(jax.jit(f))(x, w))    # x: f32[16, 8], w: f32[8, 4]
      >>> saved = exported.serialize()
      >>> y = jax.export.deserialize(saved).call(x, w)                      # y: f32[16, 4]
      >>> y.shape, y.sharding.is_equivalent_to(x.sharding, 2), exported.nr_devices
      ((16, 4), True, 8)
    """
    import dataclasses

    options = Options.of(target, memory, plan)
    if set(exported.platforms) == {"cpu"}:
        options = options.on("cpu")
    if exported.nr_devices == 1:
        return exported
    text, name = text_and_name(exported)
    planned = compiled(text, name, PIPELINES["manual"], options, locations=True)
    backward = exported._get_vjp  # noqa: SLF001: a field of the dataclass, documented as the others are
    planned_backward = backward and (lambda _: compile(backward(exported), target=target, memory=memory, plan=plan))
    artifact = _serialized(planned, like=exported)
    return dataclasses.replace(exported, mlir_module_serialized=artifact, _get_vjp=planned_backward)


def _serialized(text: str, like: jax.export.Exported) -> bytes:
    """The text as a portable artifact of the same version of StableHLO as another program."""
    import re

    from jax.extend.mlir import serialize_portable_artifact

    # MLIR bytecode begins with who produced it.
    version = re.search(rb"StableHLO_v(\d+\.\d+\.\d+)", like.mlir_module_serialized[:100])
    if version is None:
        raise ShardcError(f"<exported {like.fun_name}> doesn't say which version of StableHLO it is in")
    # Shardy's dialect is kept beside that of StableHLO's portable form.
    artifact: bytes = serialize_portable_artifact(text, version.group(1).decode(), True)
    return artifact
