"""`shardc.compile`: plans exported programs, with public names of JAX only."""

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
    """Plans and partitions an exported program. The result has the same arguments, results and shardings.

    The result can be called, serialized and loaded like the original, also on machines without shardc, and XLA has no
    shardings left to choose. Backward programs of the original are planned, too.

    Args:
      exported: the result of `jax.export.export(jax.jit(f))(...)`, exported for the number of devices that it will run on.
      target: the machine to plan for: a slice of TPUs like `"v5e:4x4"`, or a TOML file that describes a custom machine. The
        default is `"cpu"` for a program that is exported only for CPUs, and a flat model of a network otherwise.
      memory: a limit on the memory of each device: a number of bytes, or a string like `"8GiB"`.
      plan: `"full"` plans communication for the whole program, `"greedy"` for each op independently.

    Raises:
      ShardcError: the program can't be partitioned. The error has the diagnostics and lines of Python.

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
    backward = exported._get_vjp  # noqa: SLF001: a documented field of the dataclass
    planned_backward = backward and (lambda _: compile(backward(exported), target=target, memory=memory, plan=plan))
    artifact = _serialized(planned, like=exported)
    return dataclasses.replace(exported, mlir_module_serialized=artifact, _get_vjp=planned_backward)


def _serialized(text: str, like: jax.export.Exported) -> bytes:
    """Returns the text as a portable artifact of the same version of StableHLO as another program."""
    import re

    from jax.extend.mlir import serialize_portable_artifact

    # MLIR bytecode begins with the name of its producer.
    version = re.search(rb"StableHLO_v(\d+\.\d+\.\d+)", like.mlir_module_serialized[:100])
    if version is None:
        raise ShardcError(f"<exported {like.fun_name}> doesn't state its version of StableHLO")
    # The artifact keeps Shardy's dialect next to StableHLO's portable form.
    artifact: bytes = serialize_portable_artifact(text, version.group(1).decode(), True)
    return artifact
