"""Planning what libraries jit: `patched` for any library, `nnx_jit` for flax.nnx, `filter_jit` for equinox.

JAX asks us about a function by its name, and both libraries give the function that they hand to `jax.jit` the name of their
user's: so theirs is all that is changed, and everything else is their own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from typing import Any, Callable

from shardc._jit import disabled, jit, name_for
from shardc._options import Memory, OnError, Options, Plan, Target


@contextlib.contextmanager
def patched(
    *, target: Target = None, memory: Memory = None, plan: Plan = "full", on_error: OnError = "raise"
) -> Iterator[None]:
    """Makes `jax.jit` the same as `shardc.jit` until the block ends: for libraries that call `jax.jit` themselves.

    Functions that are jitted in the block are planned, also when they are called later; decorators such as
    `functools.partial(jax.jit, static_argnums=0)` count where they are made, so a module with such decorators has to be imported
    in the block. Functions that were jitted before, and names that other modules imported before (`from jax import jit`), stay as
    they are. All threads see the replacement.

    Args:
      target, memory, plan, on_error: as of `shardc.jit`, for all of these functions.

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
    """`flax.nnx.jit`, with communication planned for the whole program: modules that the function changes are changed.

    Args:
      fun: the function to compile; without it, a decorator is returned.
      target, memory, plan, on_error: as of `shardc.jit`.
      **nnx_kwargs: what `flax.nnx.jit` takes: `in_shardings`, `static_argnames`, `donate_argnums`, ...

    Returns:
      What `flax.nnx.jit` returns.

    Example:
      >>> from flax import nnx
      >>> model = nnx.Linear(8, 4, rngs=nnx.Rngs(0))
      >>> step = shardc.nnx_jit(lambda model, x: model(x).sum(), target="v5e:4x2")
      >>> step(model, x).shape
      ()
    """
    options = Options.of(target, memory, plan, on_error)
    if fun is None:
        return functools.partial(nnx_jit, target=target, memory=memory, plan=plan, on_error=on_error, **nnx_kwargs)
    from flax import nnx

    # Reports what is wrong with the function as nnx does.
    jitted = nnx.jit(fun, **nnx_kwargs)
    if disabled():
        return jitted

    @functools.wraps(fun)
    def planned(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    planned.__name__ = name_for(fun, options)
    return nnx.jit(planned, **nnx_kwargs)


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
      fun: the function to compile, which may be a module of equinox; without it, a decorator is returned.
      target, memory, plan, on_error: as of `shardc.jit`.
      **filter_kwargs: what `equinox.filter_jit` takes: `donate`, `in_shardings`, `out_shardings`, ...

    Returns:
      What `equinox.filter_jit` returns.

    Example:
      >>> import equinox as eqx
      >>> model = eqx.nn.MLP(8, 4, 16, 1, key=jax.random.key(0))
      >>> step = shardc.filter_jit(lambda model, x: jax.vmap(model)(x).sum(), target="v5e:4x2")
      >>> step(model, x).shape
      ()
    """
    options = Options.of(target, memory, plan, on_error)
    if fun is None:
        return functools.partial(filter_jit, target=target, memory=memory, plan=plan, on_error=on_error, **filter_kwargs)
    import equinox

    # Reports what is wrong with the function as equinox does.
    jitted = equinox.filter_jit(fun, **filter_kwargs)
    if disabled():
        return jitted
    return equinox.filter_jit(_module_type()(fun, name_for(fun, options)), **filter_kwargs)


@functools.cache
def _module_type() -> Any:
    """A module of equinox around a function or module: arrays in it stay arguments, and it has a name of its own."""
    import equinox

    class Planned(equinox.Module):  # type: ignore[misc, name-defined, unused-ignore]
        fun: Any
        name: str = equinox.field(static=True)

        @property
        def __name__(self) -> str:
            return self.name

        def __getattr__(self, name: str) -> Any:
            # In a class's body it would be the name of the class.
            if name == "__qualname__":
                return self.name
            raise AttributeError(name)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(self.fun)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.fun(*args, **kwargs)

    return Planned
