"""The options of a compilation, which are checked when the user sets them."""

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
"""How communication is chosen: for the whole program, or for each op independently, as Shardy does."""

OnError = Literal["raise", "xla"]
"""The treatment of a program that can't be planned: raise a ShardcError, or let XLA partition it and warn with the reason."""

Memory = Union[int, str, None]
"""A limit on the memory of each device: a number of bytes, or a string like "8GiB"; None for no limit."""


Target = Union[str, "os.PathLike[str]", None]
"""The machine to plan for: a slice of TPUs like "v5e:4x4", "cpu", or a TOML file that describes a custom machine, like "torus.toml".
With None, `shardc.jit` plans for "cpu" on JAX's CPU devices, for the devices that JAX reports on TPUs and GPUs, and otherwise for a
flat model of a network."""


class Options(NamedTuple):
    """Options of a compilation."""

    target: str | None
    memory: int | None
    plan: str
    described: str | None = None
    """The contents of the file `target` when it was read, so that later programs are planned for the same machine."""
    on_error: str = "raise"

    @classmethod
    def of(cls, target: Target, memory: Memory, plan: str | None, on_error: str = "raise") -> Options:
        """Returns the options; raises a ValueError if one is invalid."""
        described = None
        plan = "full" if plan is None else plan
        if target is not None:
            is_path = not isinstance(target, str)
            target = os.fspath(target)
            if is_path and not target.endswith(".toml"):
                raise ValueError(f"target: expected the name of a file to end in .toml, found {target!r}")
            if target.endswith(".toml"):
                described = pathlib.Path(target).read_text(encoding="utf-8")
            if fault := _native.target_fault(target, described):
                raise ValueError(f"target: {fault}")
        if plan not in ("full", "greedy"):
            raise ValueError(f"plan: expected 'full' or 'greedy', found {plan!r}")
        if isinstance(memory, str):
            size = _native.parse_bytes(memory)
            if size is None:
                raise ValueError(f"memory: expected a size like '8GiB', found {memory!r}")
            memory = size
        if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or not 0 < memory < 1 << 63):
            raise ValueError(f"memory: expected a positive number of bytes, found {memory!r}")
        if on_error not in ("raise", "xla"):
            raise ValueError(f"on_error: expected 'raise' or 'xla', found {on_error!r}")
        return cls(target, memory, plan, described, on_error)

    def on(self, platform: str, devices: Iterable[Any] = ()) -> Options:
        """Returns the options for these devices of JAX; a target that the user set is kept."""
        if self.target is not None:
            return self
        return self._replace(target="cpu" if platform == "cpu" else machine(devices))

    def flags(self) -> list[str]:
        """Returns the options as flags of the command line."""
        flags = ["--plan", self.plan]
        if self.target is not None:
            flags += ["--target", self.target]
        if self.memory is not None:
            flags += ["--memory", str(self.memory)]
        return flags

    def tag(self) -> str:
        """Returns a short name that is the same in every process, of characters that JAX keeps in the names of modules."""
        if self == Options(None, None, "full"):
            return "shardc"
        target = self.target if self.described is None else pathlib.Path(self.target or "").stem
        words = [str(word) for word in (target, self.memory, self.plan, self.on_error) if word not in (None, "full", "raise")]
        # The digest distinguishes options whose names are equal without other characters.
        digest = hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:8]
        return re.sub(r"\W", "_", f"shardc_{'_'.join(words)}_{digest}")


_known: dict[str, Options] = {}
"""The options of every function of `shardc.jit`, by tag."""


def asked(name: str) -> Options | None:
    """Returns the options of `shardc.jit` for a function or module of this name; None if it is not one of `shardc.jit`."""
    found = re.search(r"\.(shardc\w*)", name)
    # Transformations add to names: `vmap(f.shardc)` becomes `vmap_f.shardc_`.
    return _known.get(found.group(1).rstrip("_")) if found else None
