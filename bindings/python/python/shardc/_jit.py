"""`shardc.jit`: `jax.jit` whose programs shardc plans and partitions before XLA compiles them.

`shardc.jit` marks a function in its name (`train_step.shardc`). JAX keeps the name through `jax.grad` and `jax.vmap`, up to
the module that it compiles. There shardc replaces the module by its partitioned form, so XLA compiles the program of one
device. JAX does everything else: dispatch, donation, static arguments, caches. A call is as fast as one of `jax.jit`.

The module uses these private names: JAX's `compile_or_get_cached`, which compiles all modules with XLA's options; JAX's
`api.jit`, which stays the same if a program replaces `jax.jit`; and jaxlib's function for the level of XLA's messages.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import logging
import os
import pathlib
import re
import threading
import time
import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, ClassVar, overload

from shardc import _log, _nested, _nnx
from shardc._effects import TARGET, partitioned
from shardc._errors import ShardcError
from shardc._options import Memory, OnError, Options, Plan, Target, _known, asked
from shardc._program import GSPMD, PIPELINES, attempt, compiled

if TYPE_CHECKING:
    import jax.stages

TESTED = ((0, 7, 2), (0, 12, 0, 1))
"""The oldest and the newest tested version of JAX."""

_lock = threading.Lock()
_installed = False


@overload
def jit(
    fun: Callable[..., Any],
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
    on_error: OnError = "raise",
    **jit_kwargs: Any,
) -> jax.stages.Wrapped: ...
@overload
def jit(
    fun: None = None,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
    on_error: OnError = "raise",
    **jit_kwargs: Any,
) -> Callable[[Callable[..., Any]], jax.stages.Wrapped]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    target: Target = None,
    memory: Memory = None,
    plan: Plan = "full",
    on_error: OnError = "raise",
    **jit_kwargs: Any,
) -> Any:
    """`jax.jit`, with communication planned for the whole program instead of op by op.

    Returns a function like that of `jax.jit`, with `.lower`, `.trace` and `.eval_shape`. Its results have the same values,
    shapes and dtypes, and the shardings that Shardy's propagation determines. JAX compiles, and shardc plans, a program once
    for each combination of shapes, dtypes, shardings and static arguments.

    A call of the function inside another transformation belongs to the program that JAX compiles:

    - inside another `shardc.jit`: shardc plans the outer program as a whole, with the outer options;
    - inside a plain `jax.jit`: XLA partitions the outer program, and a warning reports that; use `shardc.jit` for the outer
      function (`jax.jit(shardc.jit(f))` compiles no program besides that of `f`, so it is planned);
    - under `jax.grad`, `jax.vjp`, `jax.vmap` or `jax.jvp` outside of any jit: shardc plans the forward and the backward
      program separately; `shardc.jit(jax.value_and_grad(f))` plans them as one.

    Args:
      fun: the function to compile. Without it, `jit` returns a decorator: `@shardc.jit(target="v5e:4x4")`.
      target: the machine to plan for: a slice of TPUs like `"v5e:4x4"`, or a TOML file that describes a custom machine. The
        default is `"cpu"` on JAX's CPU devices, which share a processor, the slice or island of the devices on TPUs and GPUs,
        and a flat model of a network elsewhere.
      memory: a limit on the memory of each device: a number of bytes, or a string like `"8GiB"`.
      plan: `"full"` plans communication for the whole program, `"greedy"` for each op independently.
      on_error: the treatment of a program that can't be planned. `"raise"` raises the ShardcError; `"xla"` lets XLA partition
        the program as `jax.jit` does, and warns with the reason.
      **jit_kwargs: the other arguments of `jax.jit`: `in_shardings`, `out_shardings`, `static_argnums`, `donate_argnums`, ...

    Raises:
      ShardcError: the called program can't be partitioned. The error has the lines of Python.
      ValueError: the target is unknown, or `memory` or `plan` is invalid.

    Example:
      >>> loss = lambda w, x: jnp.mean(f(x, w) ** 2)
      >>> step = shardc.jit(jax.value_and_grad(loss))
      >>> value, grad = step(w, x)               # w: f32[8, 4], x: f32[16, 8] -> value: f32[], grad: f32[8, 4]
      >>> value.shape, grad.shape
      ((), (8, 4))
      >>> shardc.jit(f, target="v5e:4x2", memory="1GiB", donate_argnums=0)(x + 1, w).shape
      (16, 4)
    """
    settings = {"target": target, "memory": memory, "plan": plan, "on_error": on_error}
    return planned_jit(jit, _jax_jit, _named, fun, settings, jit_kwargs)


def planned_jit(
    entry: Callable[..., Any],
    library_jit: Callable[..., Any],
    named: Callable[[Callable[..., Any], Options], Any],
    fun: Callable[..., Any] | None,
    settings: dict[str, Any],
    kwargs: dict[str, Any],
) -> Any:
    """Returns `library_jit` of `fun` under a name that makes shardc plan it; without `fun`, the decorator `entry`."""
    options = Options.of(**settings)
    if fun is None:
        return functools.partial(entry, **settings, **kwargs)
    # The library reports errors in the function and its arguments.
    jitted = library_jit(fun, **kwargs)
    return jitted if disabled() else library_jit(named(fun, options), **kwargs)


def _jax_jit(fun: Callable[..., Any], **jit_kwargs: Any) -> jax.stages.Wrapped:
    """JAX's own `jit`, also while `patched` replaces `jax.jit`."""
    from jax._src import api

    return api.jit(fun, **jit_kwargs)


def disabled() -> bool:
    """Returns whether the environment variable SHARDC_DISABLE makes `shardc.jit` the same as `jax.jit`."""
    return os.environ.get("SHARDC_DISABLE", "0") not in ("", "0")


class _Named:
    """A function under a name that determines its options. If it is pickled, the other process plans it, too."""

    def __init__(self, fun: Callable[..., Any], options: Options, name: str):
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._options = fun, options
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _nnx.checked(self._fun, args, kwargs)

    def __repr__(self) -> str:
        return f"{self._fun!r} planned by shardc"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self._fun, self._options))


def name_for(fun: Callable[..., Any], options: Options) -> str:
    """Returns the name under which shardc plans a function, and installs the hook into JAX."""
    _known[options.tag()] = options
    _install()
    inner: Any = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    # If a function already has such a name, the outer options apply.
    return f"{getattr(inner, '__name__', type(inner).__name__).split('.shardc')[0]}.{options.tag()}"


def _named(fun: Callable[..., Any], options: Options) -> _Named:
    """Returns the function under the name that makes shardc plan it."""
    name = name_for(fun, options)
    # JAX's cache has the function as its key, so each function keeps one wrapper for each set of options.
    made: dict[Options, _Named] = getattr(fun, "_shardc_named", {})
    # functools.wraps copies attributes, so this may be the dictionary of another function.
    if options in made and made[options]._fun is fun:
        return made[options]
    named = _Named(fun, options, name)
    if isinstance(fun, (types.FunctionType, functools.partial)):
        fun._shardc_named = {**made, options: named}  # type: ignore[union-attr]
    return named


def _install() -> None:
    """Makes JAX call shardc before it compiles a module."""
    global _installed
    with _lock:
        if _installed:
            return
        import jax
        from jax._src import compiler
        from jax.extend import source_info_util

        original = getattr(compiler, "compile_or_get_cached", None)
        if original is None or not {"backend", "computation"} <= inspect.signature(original).parameters.keys():
            raise _unknown()
        signature = inspect.signature(original)

        @functools.wraps(original)
        def compile_or_get_cached(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            arguments = given.arguments
            platform = getattr(arguments["backend"], "platform", "")
            build: Any = getattr(arguments.get("compile_options"), "executable_build_options", None)
            with_shardy = getattr(build, "use_shardy_partitioner", True)
            devices = getattr(arguments.get("devices"), "flat", ())
            arguments["computation"] = _replaced(arguments["computation"], platform, build, devices)
            skips = with_shardy and not getattr(build, "use_shardy_partitioner", True)
            with _quiet if skips else contextlib.nullcontext():
                return original(*given.args, **given.kwargs)

        compiler.compile_or_get_cached = compile_or_get_cached
        # JAX must not attribute the user's ops to lines of this package.
        for file in pathlib.Path(__file__).parent.glob("*.py"):
            source_info_util.register_exclusion(str(file))
        _installed = True
        if not TESTED[0] <= jax.__version_info__ <= TESTED[1]:
            _prove()


def _unknown() -> ShardcError:
    import jax

    old, new = (".".join(map(str, version)) for version in TESTED)
    return ShardcError(
        f"shardc.jit doesn't support JAX {jax.__version__}: it was tested with {old} to {new}."
        " shardc.compile(jax.export.export(jax.jit(f))(...)) works with any version"
    )


def _prove() -> None:
    """Raises an error if an untested JAX doesn't call shardc, because programs would silently stay unplanned."""
    modules = []

    def seen(module: Any, name: str, options: Options, platform: str, build: Any) -> Any:
        modules.append(name)
        raise _Asked

    tag = "shardc_probe"
    _known[tag] = Options(None, None, "full")
    global _plan
    before, _plan = _plan, seen
    try:
        probe = lambda x: x  # noqa: E731: the next line sets its name
        probe.__name__ = f"probe.{tag}"
        _jax_jit(probe).lower(0.0).compile()
    except _Asked:
        pass
    finally:
        _plan = before
        del _known[tag]
    if not modules:
        raise _unknown()


class _Asked(Exception):
    """Ends the compilation of the probe."""


def _replaced(module: Any, platform: str, build: Any, devices: Iterable[Any] = ()) -> Any:
    """Returns the module that XLA compiles for these devices of a platform: the partitioned form if its name is one of
    `shardc.jit`. `build` has XLA's options."""
    name = str(module.operation.attributes["sym_name"]).strip('"')
    options = asked(name)
    if options is None:
        _nested.warn_of_nested(module, name)
        return module
    try:
        return _plan(module, name, options.on(platform, devices), platform, build)
    except Exception as error:
        if options.on_error != "xla":
            raise
        _log.warn(f"{_log.function_name(name)} isn't planned, so XLA partitions it: {error}")
        return module


def _plan(module: Any, name: str, options: Options, platform: str, build: Any) -> Any:
    """Returns the module after planning and partitioning, with the same arguments and results. Sets in XLA's options `build`
    whether XLA runs without Shardy."""
    import jax

    attributes = module.operation.attributes
    devices = str(attributes["mhlo.num_partitions"]).split(":")[0] if "mhlo.num_partitions" in attributes else "1"
    empty_arguments, any_empty = _empty(module)
    if int(devices) == 1 or empty_arguments:
        return module
    start = time.perf_counter()
    function = _log.function_name(name)
    what = f"<{function}>"
    # The partitioned module has no shardings left to propagate, but Shardy's passes take time that grows with the square of
    # the number of arguments: up to a third of a compilation. XLA without Shardy is deprecated, so only tested versions use it.
    with_shardy = getattr(build, "use_shardy_partitioner", True)
    # XLA without Shardy aborts if an argument or result of the partitioned program has no elements.
    skips = with_shardy and build is not None and platform == "cpu" and jax.__version_info__ <= TESTED[1] and not any_empty
    pipeline = PIPELINES["manual"] if with_shardy and not skips else GSPMD
    # MLIR writes and reads bytecode in a fraction of the time of text.
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    if TARGET in written.getvalue():
        module, written = partitioned(module, what, options), io.BytesIO()
        module.operation.write_bytecode(written)
    planned: bytes | str | None
    logs = _log.logger.isEnabledFor(logging.INFO)
    planned, said, summary = attempt(written.getvalue(), what, pipeline, options, locations=True, summary=logs)
    if planned is None or said:
        # Compiles the text again, because diagnostics show lines of the text.
        text = module.operation.get_asm(enable_debug_info=True)
        planned = compiled(text, what, pipeline, options, locations=True)
    result = type(module).parse(planned, context=module.context)
    if skips:
        build.use_shardy_partitioner = False
    if logs:
        _log.program_planned(function, summary, time.perf_counter() - start)
    return result


def _empty(module: Any) -> tuple[bool, bool]:
    """Returns whether no argument of a module's main function has elements (then there is nothing to shard), and whether any
    argument or result has none."""
    (main,) = (op for op in module.body.operations if "sym_name" in op.attributes and str(op.attributes["sym_name"]) == '"main"')
    inputs, _, results = str(main.attributes["function_type"]).partition("->")
    inputs_empty, results_empty = ([_EMPTY.match(shape) is not None for shape in _SHAPE.findall(text)] for text in (inputs, results))
    return bool(inputs_empty) and all(inputs_empty), any(inputs_empty) or any(results_empty)


_SHAPE = re.compile(r"tensor<([^>]*)")
_EMPTY = re.compile(r"(\d+x)*0x")


class _Quiet:
    """Hides XLA's warnings while it compiles without Shardy, because it warns about that each time."""

    LEVELS: ClassVar = {"DEBUG": 0, "INFO": 0, "WARN": 1, "WARNING": 1, "ERROR": 2, "FATAL": 3, "CRITICAL": 3}

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        self._change(1)

    def __exit__(self, *_: object) -> None:
        self._change(-1)

    def _change(self, by: int) -> None:
        import jax
        from jaxlib import utils

        with self._lock:
            self._inside += by
            # JAX's setting has precedence over the variable, whose default JAX sets.
            variable = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
            given = int(variable) if variable.isdigit() else self.LEVELS["WARNING"]
            level = self.LEVELS.get(getattr(jax.config, "jax_logging_level", None) or "", given)
            utils.absl_set_min_log_level(max(level, self.LEVELS["ERROR"]) if self._inside else level)


_quiet = _Quiet()
