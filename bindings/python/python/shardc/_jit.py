"""`shardc.jit`: `jax.jit` whose programs are planned and partitioned here before XLA compiles them.

A function that is to be planned has that in its name (`train_step.shardc`), which JAX carries along: through
`jax.grad` and `jax.vmap`, to the computations that they make of it, to the name of the module that is compiled in the end.
There the module is replaced by its partitioned form, and XLA is left with one device's program. Everything else
is JAX's own: dispatch, donation, static arguments, caches. So a call costs what one of `jax.jit` costs.

All that is used of JAX's insides is `compile_or_get_cached`, through which everything goes that JAX compiles, with XLA's
options; JAX's own `jit`, which stays what it is where a program replaces `jax.jit`; and of jaxlib what sets the level of XLA's
messages.
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
"""The oldest and the newest JAX that the tests ran with."""

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

    Takes and returns what `jax.jit` does: a function with `.lower`, `.trace` and `.eval_shape`, whose results have the
    same values, shapes and dtypes, and the shardings that Shardy's propagation gives them. The program is planned when it
    is compiled: once for each combination of shapes, dtypes, shardings and static arguments.

    Where the function is called inside of something else, what is planned is what gets compiled:

    - inside another `shardc.jit`: the outer program, as a whole, under the options of the outer one;
    - inside a plain `jax.jit`: nothing, XLA partitions the outer program, and a warning says so; make the outer one
      `shardc.jit` (`jax.jit(shardc.jit(f))` has no program of its own and is planned);
    - under `jax.grad`, `jax.vjp`, `jax.vmap` or `jax.jvp` outside of any jit: the forward and the backward program, each by
      itself; `shardc.jit(jax.value_and_grad(f))` plans them as one.

    Args:
      fun: the function to compile. Without it, a decorator is returned: `@shardc.jit(target="v5e:4x4")`.
      target: the machine to plan for: a slice of TPUs like `"v5e:4x4"`, or a TOML file with one of your own; without it
        `"cpu"` on JAX's CPU devices, which share a processor, what `device_kind` says on TPUs and GPUs, and a flat model of a
        network elsewhere.
      memory: a limit on the bytes used on each device: a number, or a text like `"8GiB"`.
      plan: `"full"` looks for the cheapest communication of the whole program, `"greedy"` takes each op's own cheapest.
      on_error: what happens to a program that can't be planned. `"raise"` raises the ShardcError; `"xla"` has XLA partition the
        program as `jax.jit` would, with a warning that says why.
      **jit_kwargs: what `jax.jit` takes: `in_shardings`, `out_shardings`, `static_argnums`, `donate_argnums`, ...

    Raises:
      ShardcError: when it is called and the program can't be partitioned; it has the lines of Python.
      ValueError: there is no such target, or `memory` or `plan` can't be read.

    Example:
      >>> loss = lambda w, x: jnp.mean(f(x, w) ** 2)
      >>> step = shardc.jit(jax.value_and_grad(loss))
      >>> value, grad = step(w, x)               # w: f32[8, 4], x: f32[16, 8] -> value: f32[], grad: f32[8, 4]
      >>> value.shape, grad.shape
      ((), (8, 4))
      >>> shardc.jit(f, target="v5e:4x2", memory="1GiB", donate_argnums=0)(x + 1, w).shape
      (16, 4)
    """
    options = Options.of(target, memory, plan, on_error)
    if fun is None:
        return functools.partial(jit, target=target, memory=memory, plan=plan, on_error=on_error, **jit_kwargs)
    # Reports what is wrong with the function and the arguments as JAX does.
    wrapped = _jax_jit(fun, **jit_kwargs)
    return wrapped if disabled() else _jax_jit(_named(fun, options), **jit_kwargs)


def _jax_jit(fun: Callable[..., Any], **jit_kwargs: Any) -> jax.stages.Wrapped:
    """JAX's own `jit`: `jax.jit` may be ours, see `patched`."""
    from jax._src import api

    return api.jit(fun, **jit_kwargs)


def disabled() -> bool:
    """Whether the environment variable SHARDC_DISABLE makes `shardc.jit` the same as `jax.jit`."""
    return os.environ.get("SHARDC_DISABLE", "0") not in ("", "0")


class _Named:
    """A function under a name that says how it is compiled.

    One that is sent to another process has that process plan, too.
    """

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
    """The name of a function that is to be planned; from now on JAX asks us about it."""
    _known[options.tag()] = options
    _install()
    inner: Any = fun
    while isinstance(inner, functools.partial):
        inner = inner.func
    # Of a function that was named before, as of jits inside of it, the outer options count.
    return f"{getattr(inner, '__name__', type(inner).__name__).split('.shardc')[0]}.{options.tag()}"


def _named(fun: Callable[..., Any], options: Options) -> _Named:
    """The function under its name."""
    name = name_for(fun, options)
    # JAX finds what it compiled by the function: there is one of each name, which lives as long as what it calls.
    made: dict[Options, _Named] = getattr(fun, "_shardc_named", {})
    # Who wraps a function copies its attributes.
    if options in made and made[options]._fun is fun:
        return made[options]
    named = _Named(fun, options, name)
    if isinstance(fun, (types.FunctionType, functools.partial)):
        fun._shardc_named = {**made, options: named}  # type: ignore[union-attr]
    return named


def _install() -> None:
    """Has JAX ask us before it compiles a module."""
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
        # Lines of the package aren't where a user's ops come from.
        for file in pathlib.Path(__file__).parent.glob("*.py"):
            source_info_util.register_exclusion(str(file))
        _installed = True
        if not TESTED[0] <= jax.__version_info__ <= TESTED[1]:
            _prove()


def _unknown() -> ShardcError:
    import jax

    old, new = (".".join(map(str, version)) for version in TESTED)
    return ShardcError(
        f"shardc.jit doesn't know how JAX {jax.__version__} compiles: it was tested with {old} to {new}."
        " shardc.compile(jax.export.export(jax.jit(f))(...)) works with any version"
    )


def _prove() -> None:
    """Makes sure that an unknown JAX does ask us: else programs would silently go to XLA as they are."""
    heard = []

    def seen(module: Any, name: str, options: Options, platform: str, build: Any) -> Any:
        heard.append(name)
        raise _Asked

    tag = "shardc_probe"
    _known[tag] = Options(None, None, "full")
    global _plan
    before, _plan = _plan, seen
    try:
        probe = lambda x: x  # noqa: E731: it gets a name below
        probe.__name__ = f"probe.{tag}"
        _jax_jit(probe).lower(0.0).compile()
    except _Asked:
        pass
    finally:
        _plan = before
        del _known[tag]
    if not heard:
        raise _unknown()


class _Asked(Exception):
    """Ends a compilation that was only a question."""


def _replaced(module: Any, platform: str, build: Any, devices: Iterable[Any] = ()) -> Any:
    """The module that XLA is to compile for these devices of a platform: the same, unless its name asks for ours. `build` are
    the options of that compilation."""
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
        _log.warn(f"{_log.function_name(name)} isn't planned, XLA partitions it as it is: {error}")
        return module


def _plan(module: Any, name: str, options: Options, platform: str, build: Any) -> Any:
    """The module after planning and partitioning, for the same arguments and results; `build` are XLA's options, which say
    after it whether XLA is to do without Shardy."""
    import jax

    attributes = module.operation.attributes
    devices = str(attributes["mhlo.num_partitions"]).split(":")[0] if "mhlo.num_partitions" in attributes else "1"
    empty_arguments, any_empty = _empty(module)
    if int(devices) == 1 or empty_arguments:
        return module
    start = time.perf_counter()
    function = _log.function_name(name)
    what = f"<{function}>"
    # What we hand over has nothing left to propagate, but Shardy's passes take time that grows with the square of the number
    # of arguments: up to a third of a compilation. XLA's way without them is deprecated, so only versions are asked for it
    # that are known to have it.
    with_shardy = getattr(build, "use_shardy_partitioner", True)
    # XLA's way without Shardy ends the process where arrays without elements enter or leave the partitioned program.
    skips = with_shardy and build is not None and platform == "cpu" and jax.__version_info__ <= TESTED[1] and not any_empty
    pipeline = PIPELINES["manual"] if with_shardy and not skips else GSPMD
    # As bytecode, which MLIR writes and reads in a fraction of the time that text takes.
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    if TARGET in written.getvalue():
        module, written = partitioned(module, what, options), io.BytesIO()
        module.operation.write_bytecode(written)
    planned: bytes | str | None
    logs = _log.logger.isEnabledFor(logging.INFO)
    planned, said, summary = attempt(written.getvalue(), what, pipeline, options, locations=True, summary=logs)
    if planned is None or said:
        # What is said shows lines of the program: as text they are the ones that users know.
        text = module.operation.get_asm(enable_debug_info=True)
        planned = compiled(text, what, pipeline, options, locations=True)
    result = type(module).parse(planned, context=module.context)
    if skips:
        build.use_shardy_partitioner = False
    if logs:
        _log.program_planned(function, summary, time.perf_counter() - start)
    return result


def _empty(module: Any) -> tuple[bool, bool]:
    """Whether all arguments of a module's main function are without elements (there is nothing to shard then), and whether any
    argument or result is."""
    (main,) = (op for op in module.body.operations if "sym_name" in op.attributes and str(op.attributes["sym_name"]) == '"main"')
    inputs, _, results = str(main.attributes["function_type"]).partition("->")
    inputs_empty, results_empty = ([_EMPTY.match(shape) is not None for shape in _SHAPE.findall(text)] for text in (inputs, results))
    return bool(inputs_empty) and all(inputs_empty), any(inputs_empty) or any(results_empty)


_SHAPE = re.compile(r"tensor<([^>]*)")
_EMPTY = re.compile(r"(\d+x)*0x")


class _Quiet:
    """Keeps XLA's warnings off the terminal while it compiles without Shardy: it warns of that each time."""

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
            # JAX's own setting, else the variable, which JAX sets where its user doesn't.
            variable = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
            given = int(variable) if variable.isdigit() else self.LEVELS["WARNING"]
            level = self.LEVELS.get(getattr(jax.config, "jax_logging_level", None) or "", given)
            utils.absl_set_min_log_level(max(level, self.LEVELS["ERROR"]) if self._inside else level)


_quiet = _Quiet()
