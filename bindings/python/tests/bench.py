"""Times of `shardc.jit` and `jax.jit`: seconds of a first call, of a step, and of an empty call.

    target/python/bin/python bindings/python/tests/bench.py

Both run in turn in one process; of several rounds the least counts, for steps the median.
"""

import devices  # noqa: F401, I001: before JAX

import time

start = time.perf_counter()
import shardc  # noqa: E402

imported = time.perf_counter() - start

import statistics  # noqa: E402
import sys  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

from programs import LINE, PROGRAMS, adam, block, block_params, fsdp, put, rand, sgd, transformer_loss, transformer_params  # noqa: E402

JITS = {"jax": jax.jit, "shardc": shardc.jit}


def transformer(depth, width, length, batch, vocabulary=512):
    params = transformer_params(vocabulary, width, depth)
    zeros = jax.tree.map(np.zeros_like, params)
    state = (fsdp(params), fsdp(zeros), fsdp(zeros), put(np.float32(0), mesh=LINE))
    tokens = np.random.default_rng(0).integers(0, vocabulary, (batch, length + 1)).astype(np.int32)
    return state, put(tokens, "data", mesh=LINE)


def seconds(work):
    start = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - start


def scanned(depth, width, length, batch):
    """A training step of layers in a scan over shards of the batch, whose weights are sharded by features, and its arguments."""
    stacked = jax.tree.map(lambda *p: np.stack(p), *[block_params(width, seed) for seed in range(depth)])
    params = jax.tree.map(lambda p: put(p, None, "data", mesh=LINE), stacked)

    def loss(params, x):
        return jnp.mean(lax.scan(lambda x, p: (block(p, x), None), x, params)[0] ** 2)

    return sgd(loss), (params, put(rand(batch, length, width), "data", mesh=LINE))


def first_calls(step, args, rounds):
    """Seconds to compile a lowered program, and seconds of all processors, which other work on the machine disturbs less."""
    times, busy = {name: [] for name in JITS}, {name: [] for name in JITS}
    for _ in range(rounds):
        for name, jit in JITS.items():
            jax.clear_caches()
            lowered = jit(step).lower(*args)
            before = time.process_time()
            times[name].append(seconds(lambda: lowered.compile() and 0))
            busy[name].append(time.process_time() - before)
    return [{name: min(t) for name, t in figures.items()} for figures in (times, busy)]


def steps(step, args, rounds, calls):
    """Seconds of a call of the step, and its second result."""
    jitted = {name: jit(step) for name, jit in JITS.items()}
    losses = {name: float(f(*args)[1]) for name, f in jitted.items()}
    times = {name: [] for name in JITS}
    for _ in range(rounds):
        for name, f in jitted.items():
            times[name].append(min(seconds(lambda: f(*args)) for _ in range(calls)))
    return {name: statistics.median(t) for name, t in times.items()}, losses


def dispatch(rounds=7, calls=2000):
    """Seconds of a call of a trivial program on one device, which is the cost of JAX's dispatch."""
    x = jnp.zeros(())
    jitted = {name: jit(lambda x: x) for name, jit in JITS.items()}
    times = {name: [] for name in JITS}
    for _ in range(rounds):
        for name, f in jitted.items():
            f(x)
            start = time.perf_counter()
            for _ in range(calls):
                f(x)
            times[name].append((time.perf_counter() - start) / calls)
    return {name: min(t) for name, t in times.items()}


def row(what, times, unit=1.0, suffix="s"):
    ratio = times["shardc"] / times["jax"]
    print(f"{what:44} jax {times['jax'] * unit:9.3f} {suffix}  shardc {times['shardc'] * unit:9.3f} {suffix}  ratio {ratio:.3f}", flush=True)


def all_programs():
    """First calls of every program of the tests."""
    total = {name: 0.0 for name in JITS}
    for program, make in PROGRAMS.items():
        times = {}
        for name, jit in JITS.items():
            jax.clear_caches()
            case = make()
            times[name] = seconds(lambda: case.use(jit(case.fun, **case.jit))(*case.args))
            total[name] += times[name]
        row(f"first call of {program}", times, 1e3, "ms")
    row("first calls together", total)


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, JAX {jax.__version__}, shardc {shardc.__version__}; import of shardc {imported * 1e3:.1f} ms")
    row("a call of the identity", dispatch(), 1e6, "us")
    for depth, width in ((2, 64), (8, 64), (24, 64), (2, 256)):
        times, busy = first_calls(adam(transformer_loss), transformer(depth, width, 32, 16), 5)
        row(f"compile, {depth} layers of width {width}, FSDP", times)
        row("  of all processors", busy)
    for width, length in ((64, 32), (256, 64)):
        times, busy = first_calls(*scanned(8, width, length, 16), 5)
        row(f"compile, 8 scanned layers of width {width}, FSDP", times)
        row("  of all processors", busy)
    for what, step, args in (
        ("FSDP transformer of 4 layers", adam(transformer_loss), transformer(4, 256, 128, 16)),
        ("8 scanned layers of width 64, FSDP", *scanned(8, 64, 32, 16)),
        ("8 scanned layers of width 256, FSDP", *scanned(8, 256, 64, 16)),
    ):
        times, losses = steps(step, args, 5, 3)
        row(f"a step, {what}", times)
        print(f"losses: {losses}")
    if "--all" in sys.argv:
        all_programs()
