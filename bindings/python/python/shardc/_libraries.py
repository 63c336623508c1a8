"""Plans programs that libraries jit: `patched` for any library, `nnx_jit` for flax.nnx, `filter_jit` for equinox.

Both libraries pass the name of the user's function to `jax.jit`, so changing that name is enough to make shardc plan it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from typing import Any, Callable

from shardc._jit import jit, name_for, planned_jit
from shardc._options import Memory, OnError, Options, Plan, Target


@contextlib.contextmanager
def patched(
    *, target: Target = None, memory: Memory = None, plan: Plan = "full", on_error: OnError = "raise"
) -> Iterator[None]:
    """Replaces `jax.jit` by `shardc.jit` until the block ends, for libraries that call `jax.jit` themselves.

    shardc plans functions that are jitted in the block, also when they are called later. A decorator such as
    `functools.partial(jax.jit, static_argnums=0)` is evaluated when its module is imported, so import the module in the block.
    Functions that were jitted earlier, and names that other modules imported earlier (`from jax import jit`), don't change. The
    replacement applies to all threads.

    Args:
      target, memory, plan, on_error: like those of `shardc.jit`, for all of these functions.

    Example:
      >>> def library(f, x, w):
      ...     return jax.jit(f)(x, w)
      >>> with shardc.patched(target="v5e:4x2"):
      ...     y = library(f, x, w)               # planned for v5e:4x2
      >>> y.shape
      (16, 4)
    """
    Options.of(target, memory, plan, on_error)
    import jax

    before = jax.jit
    planned: Any = functools.partial(jit, target=target, memory=memory, plan=plan, on_error=on_error)
    jax.jit = planned
    try:
        yield
    finally:
        jax.jit = before


def nnx_jit(
    fun: Callable[..., Any] | None = None,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
    on_error: OnError = "raise",
    **nnx_kwargs: Any,
) -> Any:
    """`flax.nnx.jit`, with communication planned for the whole program. Keeps the function's changes of modules.

    Args:
      fun: the function to compile; without it, `nnx_jit` returns a decorator.
      target, memory, plan, on_error: like those of `shardc.jit`.
      **nnx_kwargs: the other arguments of `flax.nnx.jit`: `in_shardings`, `static_argnames`, `donate_argnums`, ...

    Returns:
      The result of `flax.nnx.jit`.

    Example:
      >>> from flax import nnx
      >>> model = nnx.Linear(8, 4, rngs=nnx.Rngs(0))
      >>> step = shardc.nnx_jit(lambda model, x: model(x).sum(), target="v5e:4x2")
      >>> step(model, x).shape
      ()
    """
    settings = {"target": target, "memory": memory, "plan": plan, "on_error": on_error}
    return planned_jit(nnx_jit, _flax_jit, _named_function, fun, settings, nnx_kwargs)


def _flax_jit(fun: Callable[..., Any], **kwargs: Any) -> Any:
    from flax import nnx

    return nnx.jit(fun, **kwargs)


def _named_function(fun: Callable[..., Any], options: Options) -> Callable[..., Any]:
    @functools.wraps(fun)
    def planned(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    planned.__name__ = name_for(fun, options)
    return planned


def filter_jit(
    fun: Callable[..., Any] | None = None,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
    on_error: OnError = "raise",
    **filter_kwargs: Any,
) -> Any:
    """`equinox.filter_jit`, with communication planned for the whole program.

    Args:
      fun: the function or equinox module to compile; without it, `filter_jit` returns a decorator.
      target, memory, plan, on_error: like those of `shardc.jit`.
      **filter_kwargs: the other arguments of `equinox.filter_jit`: `donate`, `in_shardings`, `out_shardings`, ...

    Returns:
      The result of `equinox.filter_jit`.

    Example:
      >>> import equinox as eqx
      >>> model = eqx.nn.MLP(8, 4, 16, 1, key=jax.random.key(0))
      >>> step = shardc.filter_jit(lambda model, x: jax.vmap(model)(x).sum(), target="v5e:4x2")
      >>> step(model, x).shape
      ()
    """
    settings = {"target": target, "memory": memory, "plan": plan, "on_error": on_error}
    return planned_jit(filter_jit, _equinox_jit, _named_module, fun, settings, filter_kwargs)


def _equinox_jit(fun: Callable[..., Any], **kwargs: Any) -> Any:
    import equinox

    return equinox.filter_jit(fun, **kwargs)


def _named_module(fun: Callable[..., Any], options: Options) -> Any:
    return _module_type()(fun, name_for(fun, options))


@functools.cache
def _module_type() -> Any:
    """Returns the type of an equinox module that wraps a function or module under another name, with its arrays as arguments."""
    import equinox

    class Planned(equinox.Module):  # type: ignore[misc, name-defined, unused-ignore]
        fun: Any
        name: str = equinox.field(static=True)

        @property
        def __name__(self) -> str:
            return self.name

        def __getattr__(self, name: str) -> Any:
            # The class's own __qualname__ is the name of the class.
            if name == "__qualname__":
                return self.name
            raise AttributeError(name)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(self.fun)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.fun(*args, **kwargs)

    return Planned
