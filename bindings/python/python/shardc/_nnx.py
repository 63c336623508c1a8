"""Reports functions whose in-place changes of a `flax.nnx` module `shardc.jit` would lose."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from shardc._errors import ShardcError


def checked(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls a function during tracing. Raises an error if it changes a module of nnx in place without returning the change.

    `jax.jit` gives a function copies of its arguments and drops them, so a training step of nnx would silently train nothing.
    """
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return fun(*args, **kwargs)
    import jax

    kinds = tuple(getattr(nnx, name) for name in ("Pytree", "Object", "Variable", "State") if hasattr(nnx, name))
    nodes = jax.tree.leaves((args, kwargs), is_leaf=lambda x: isinstance(x, kinds))
    # States are values: the modules that a function merges from them are local to it.
    modules = [x for x in nodes if isinstance(x, kinds) and not isinstance(x, nnx.State)]
    before = [jax.tree.leaves(module) for module in modules]
    result = fun(*args, **kwargs)
    if not modules:
        return result
    returned = {id(leaf) for leaf in jax.tree.leaves(result)}
    for module, old in zip(modules, before):
        new = jax.tree.leaves(module)
        lost = [leaf for i, leaf in enumerate(new) if (i >= len(old) or leaf is not old[i]) and id(leaf) not in returned]
        if lost:
            name = getattr(fun, "__name__", "the function")
            raise ShardcError(
                f"{name} changes its argument of type {type(module).__name__} in place, and shardc.jit drops such changes,"
                f" as jax.jit does: use shardc.nnx_jit({name}), or return the changed state"
            )
    return result
