"""What decides about a compilation, checked where the user says it."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Union

from shardc import _native
from shardc._machine import machine

Plan = Literal["full", "greedy"]
"""How communication is chosen: the cheapest for the whole program, or for each op alone, as Shardy does."""

OnError = Literal["raise", "xla"]
"""What is done with a program that can't be planned: a ShardcError, or XLA partitions it, with a warning that says why."""

Memory = Union[int, str, None]
"""Bytes on each device: a number, or a text like "8GiB"; None for no limit."""


Target = Union[str, "os.PathLike[str]", None]
"""The machine to plan for: a slice of TPUs like "v5e:4x4", "cpu", or a TOML file that describes one of your own, like "torus.toml".
None is "cpu" for `shardc.jit` on JAX's CPU devices, on TPUs and GPUs what JAX says of its devices, and a flat model of a network
where that isn't known."""


class Options(NamedTuple):
    """Options of a compilation."""

    target: str | None
    memory: int | None
    plan: str
    described: str | None = None
    """What the file `target` says, as it was when it was read: programs that are compiled later are for the same machine."""
    on_error: str = "raise"

    @classmethod
    def of(cls, target: Target, memory: Memory, plan: str | None, on_error: str = "raise") -> Options:
        """The options, or a ValueError that says what is wrong with them."""
        described = None
        plan = "full" if plan is None else plan
        if target is not None:
            is_path = not isinstance(target, str)
            target = os.fspath(target)
            if is_path and not target.endswith(".toml"):
                raise ValueError(f"target: the name of a file that describes a machine ends in .toml, not as {target!r}")
            if target.endswith(".toml"):
                described = pathlib.Path(target).read_text(encoding="utf-8")
            if fault := _native.target_fault(target, described):
                raise ValueError(f"target: {fault}")
        if plan not in ("full", "greedy"):
            raise ValueError(f"plan: 'full' or 'greedy' was expected, not {plan!r}")
        if isinstance(memory, str):
            size = _native.parse_bytes(memory)
            if size is None:
                raise ValueError(f"memory: a size like '8GiB' was expected, not {memory!r}")
            memory = size
        if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or not 0 < memory < 1 << 63):
            raise ValueError(f"memory: a positive number of bytes was expected, not {memory!r}")
        if on_error not in ("raise", "xla"):
            raise ValueError(f"on_error: 'raise' or 'xla' was expected, not {on_error!r}")
        return cls(target, memory, plan, described, on_error)

    def on(self, platform: str, devices: Iterable[Any] = ()) -> Options:
        """The same for these devices of JAX, where the user named no machine."""
        if self.target is not None:
            return self
        return self._replace(target="cpu" if platform == "cpu" else machine(devices))

    def flags(self) -> list[str]:
        """The same as flags of the command line."""
        flags = ["--plan", self.plan]
        if self.target is not None:
            flags += ["--target", self.target]
        if self.memory is not None:
            flags += ["--memory", str(self.memory)]
        return flags

    def tag(self) -> str:
        """A short name, the same in every process, of characters that JAX keeps in the names of modules."""
        if self == Options(None, None, "full"):
            return "shardc"
        target = self.target if self.described is None else pathlib.Path(self.target or "").stem
        words = [str(word) for word in (target, self.memory, self.plan, self.on_error) if word not in (None, "full", "raise")]
        # Different options may look alike once other characters are gone.
        digest = hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:8]
        return re.sub(r"\W", "_", f"shardc_{'_'.join(words)}_{digest}")


_known: dict[str, Options] = {}
"""The options of every function of `shardc.jit`, by their tag."""


def asked(name: str) -> Options | None:
    """The options of `shardc.jit` that a function or module of this name was made with; None if it wasn't."""
    found = re.search(r"\.(shardc\w*)", name)
    # What derives programs may add to their names: `vmap(f.shardc)` becomes `vmap_f.shardc_`.
    return _known.get(found.group(1).rstrip("_")) if found else None
