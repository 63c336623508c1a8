"""Cycles that the TPU's compiler estimates for single ops on one device, as a table from which the cost model of a chip can be fitted.

    python tpu_micro.py [--topology v5e:2x2] [--families product,reduce] [--only REGEX] [--stored] > micro.csv

One row for each op: its family and name, the compiled kernels (joined by +), cycles, bytes in HBM (padded), FLOPs, cycles for
each 1,024 result elements, FLOPs and bytes of one cycle. Needs what `make tpu-oracle` installs.
"""
import argparse
import csv
import os
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax

import tpu

F32, BF16, S8, S32 = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32
NAMES = {F32: "f32", BF16: "bf16", S8: "s8", S32: "s32"}


def of(dtype, *sizes):
    return jax.ShapeDtypeStruct(sizes, dtype)


def product(out=None, precision=None):
    return lambda a, b: jnp.matmul(a, b, precision=precision, preferred_element_type=out or F32)


def products():
    sizes = [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)]
    sizes += [(rows, 4096, 4096) for rows in (8, 16, 32, 64, 128, 256, 512, 1024)]
    sizes += [(4096, k, 4096) for k in (32, 64, 128, 192, 256, 512)] + [(4096, 4096, n) for n in (64, 128, 192, 256, 512)]
    for m, k, n in sizes:
        yield f"{m}x{k}x{n} bf16->f32", product(), of(BF16, m, k), of(BF16, k, n)
    for m, k, n in [(1024, 1024, 1024), (4096, 4096, 4096), (64, 4096, 4096), (4096, 64, 4096), (8192, 4096, 1024)]:
        yield f"{m}x{k}x{n} bf16->bf16", product(BF16), of(BF16, m, k), of(BF16, k, n)
        yield f"{m}x{k}x{n} f32", product(), of(F32, m, k), of(F32, k, n)
        yield f"{m}x{k}x{n} f32 high", product(None, "high"), of(F32, m, k), of(F32, k, n)
        yield f"{m}x{k}x{n} f32 highest", product(None, "highest"), of(F32, m, k), of(F32, k, n)
        yield f"{m}x{k}x{n} s8->s32", product(S32), of(S8, m, k), of(S8, k, n)
    for batch, m, k, n in [(64, 512, 64, 512), (64, 512, 128, 512), (64, 512, 512, 64), (64, 512, 512, 128), (256, 128, 64, 128),
                           (8, 2048, 64, 2048), (8, 2048, 128, 2048), (8, 2048, 2048, 64), (512, 8, 128, 1024), (512, 1, 128, 1024)]:
        yield f"{batch} times {m}x{k}x{n} bf16->bf16", product(BF16), of(BF16, batch, m, k), of(BF16, batch, k, n)
    gelu = lambda a, b: jnp.matmul(jax.nn.gelu(a), b, preferred_element_type=F32)
    after = lambda a, b: jax.nn.gelu(jnp.matmul(a, b, preferred_element_type=F32)).astype(BF16)
    for n in (2048, 4096):
        yield f"{n} cubed, gelu of lhs bf16", gelu, of(BF16, n, n), of(BF16, n, n)
        yield f"{n} cubed, gelu of lhs f32", gelu, of(F32, n, n), of(F32, n, n)
        yield f"{n} cubed, gelu of result bf16", after, of(BF16, n, n), of(BF16, n, n)


def elementwise():
    for n in (256, 1024, 2048, 4096, 8192):
        yield f"add f32 {n}^2", jnp.add, of(F32, n, n), of(F32, n, n)
        yield f"double f32 {n}^2", lambda a: a + a, of(F32, n, n)
    n = 4096
    for dtype in (F32, BF16):
        yield f"add {NAMES[dtype]}", jnp.add, of(dtype, n, n), of(dtype, n, n)
        yield f"add of four {NAMES[dtype]}", lambda a, b, c, d: a + b + c + d, *[of(dtype, n, n)] * 4
        for f in (jnp.exp, jnp.tanh, jnp.log, jnp.sqrt, lax.rsqrt, jnp.sin, jax.nn.gelu, lax.logistic, lax.erf):
            yield f"{getattr(f, '__name__', f)} {NAMES[dtype]}", f, of(dtype, n, n)
        yield f"divide {NAMES[dtype]}", jnp.divide, of(dtype, n, n), of(dtype, n, n)
        yield f"adam {NAMES[dtype]}", adam, *[of(dtype, n, n)] * 4
        yield f"broadcast row {NAMES[dtype]}", lambda a: jnp.broadcast_to(a, (n, n)), of(dtype, n)
        yield f"broadcast column {NAMES[dtype]}", lambda a: jnp.broadcast_to(a[:, None], (n, n)), of(dtype, n)
    yield "f32 to bf16", lambda a: a.astype(BF16), of(F32, n, n)
    yield "bf16 to f32", lambda a: a.astype(F32), of(BF16, n, n)
    yield "compare and select f32", lambda a, b: jnp.where(a > b, a, 0), of(F32, n, n), of(F32, n, n)
    for last in (64, 32, 8):
        yield f"add f32 last {last}", jnp.add, of(F32, n * n // last, last), of(F32, n * n // last, last)


def adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def reductions():
    n = 4096
    for dtype in (F32, BF16):
        for axis in (0, 1, None):
            yield f"sum {NAMES[dtype]} {n}^2 axis {axis}", lambda a, axis=axis: a.sum(axis), of(dtype, n, n)
        yield f"max {NAMES[dtype]} {n}^2 axis 1", lambda a: a.max(1), of(dtype, n, n)
        for axis in (0, 1, 2):
            yield f"sum {NAMES[dtype]} 64x512x512 axis {axis}", lambda a, axis=axis: a.sum(axis), of(dtype, 64, 512, 512)
        yield f"softmax {NAMES[dtype]} {n}^2", jax.nn.softmax, of(dtype, n, n)
        yield f"softmax {NAMES[dtype]} 64x512x512", jax.nn.softmax, of(dtype, 64, 512, 512)
        yield f"layer norm {NAMES[dtype]} 8192x1024", layer_norm, of(dtype, 8192, 1024)
        yield f"cumsum {NAMES[dtype]} {n}^2 axis 1", lambda a: jnp.cumsum(a, 1), of(dtype, n, n)
        yield f"argmax {NAMES[dtype]} {n}^2 axis 1", lambda a: jnp.argmax(a, 1), of(dtype, n, n)


def layer_norm(a):
    mean = a.mean(-1, keepdims=True)
    return (a - mean) * lax.rsqrt(((a - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def layouts():
    n = 4096
    for dtype in (F32, BF16):
        name = NAMES[dtype]
        yield f"transpose {name} {n}^2", jnp.transpose, of(dtype, n, n)
        yield f"transpose {name} 64x512x512 to 1,0,2", lambda a: a.transpose(1, 0, 2), of(dtype, 64, 512, 512)
        yield f"transpose {name} 64x512x512 to 0,2,1", lambda a: a.transpose(0, 2, 1), of(dtype, 64, 512, 512)
        for heads, width in ((16, 64), (8, 128), (4, 256)):
            split = lambda a, h=heads, w=width: a.reshape(16, 512, h, w).transpose(0, 2, 1, 3)
            yield f"heads {name} 16x512x1024 to {heads} of {width}", split, of(dtype, 16, 512, 1024)
        yield f"reshape {name} 4096x4096 to 4096x64x64", lambda a: a.reshape(n, 64, 64), of(dtype, n, n)
        yield f"reshape {name} 4096x4096 to 4096x32x128", lambda a: a.reshape(n, 32, 128), of(dtype, n, n)
        yield f"reshape {name} 4096x4096 to 2048x8192", lambda a: a.reshape(2048, 8192), of(dtype, n, n)
        yield f"reshape {name} 4096x4096 to flat", lambda a: a.reshape(-1), of(dtype, n, n)
        yield f"concatenate {name} rows", lambda a, b: jnp.concatenate([a, b], 0), of(dtype, n, n), of(dtype, n, n)
        yield f"concatenate {name} columns", lambda a, b: jnp.concatenate([a, b], 1), of(dtype, n, n), of(dtype, n, n)
        yield f"slice {name} rows", lambda a: a[: n // 2], of(dtype, n, n)
        yield f"slice {name} columns", lambda a: a[:, : n // 2], of(dtype, n, n)
        yield f"pad {name} 1 column", lambda a: jnp.pad(a, ((0, 0), (1, 1))), of(dtype, n, n)
        yield f"roll {name} 1 column", lambda a: jnp.roll(a, 1, 1), of(dtype, n, n)
        yield f"roll {name} 1 row", lambda a: jnp.roll(a, 1, 0), of(dtype, n, n)
        yield f"reverse {name} columns", lambda a: a[:, ::-1], of(dtype, n, n)
        start = of(S32)
        rows = lambda a, i: lax.dynamic_slice(a, (i, 0), (n // 2, n))
        columns = lambda a, i: lax.dynamic_slice(a, (0, i), (n, n // 2))
        yield f"dynamic slice {name} rows", rows, of(dtype, n, n), start
        yield f"dynamic slice {name} columns", columns, of(dtype, n, n), start
        yield f"update {name} rows", lambda a, b, i: lax.dynamic_update_slice(a, b, (i, 0)), of(dtype, n, n), of(dtype, 64, n), start


def lookups():
    for rows, width in ((4096, 1024), (16384, 1024), (4096, 128)):
        for dtype in (F32, BF16):
            table, at = of(dtype, 32768, width), of(S32, rows)
            yield f"take {rows} rows of {width} {NAMES[dtype]}", lambda a, i: jnp.take(a, i, axis=0, mode="clip"), table, at
            add = lambda a, i, u: a.at[i].add(u, mode="promise_in_bounds")
            yield f"add {rows} rows of {width} {NAMES[dtype]}", add, table, at, of(dtype, rows, width)
    yield "take along axis f32", lambda a, i: jnp.take_along_axis(a, i, 1), of(F32, 4096, 1024), of(S32, 4096, 1)
    yield "one hot bf16", lambda i: jax.nn.one_hot(i, 32768, dtype=BF16), of(S32, 4096)


def sorts():
    for sizes in ((1 << 14,), (1 << 17,), (1 << 20,), (1024, 1024), (4096, 256)):
        yield f"sort f32 {sizes}", lambda a: jnp.sort(a, -1), of(F32, *sizes)
    yield "argsort f32 1024x1024", lambda a: jnp.argsort(a, -1), of(F32, 1024, 1024)
    yield "top 8 of f32 4096x256", lambda a: lax.top_k(a, 8), of(F32, 4096, 256)
    yield "top 64 of f32 64x32768", lambda a: lax.top_k(a, 64), of(F32, 64, 32768)


def convolutions():
    for batch, side, into, out, window, stride in (
        (32, 56, 64, 64, 3, 1), (32, 28, 128, 128, 3, 1), (32, 14, 256, 256, 3, 1), (32, 7, 512, 512, 3, 1), (32, 56, 64, 256, 1, 1),
        (32, 56, 256, 64, 1, 1), (32, 224, 3, 64, 7, 2), (32, 56, 128, 128, 3, 2),
    ):
        f = lambda a, k, stride=stride: lax.conv_general_dilated(
            a, k, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=a.dtype
        )
        for dtype in (F32, BF16):
            name = f"{batch}x{side}x{side}x{into} to {out}, {window}x{window} by {stride} {NAMES[dtype]}"
            yield name, f, of(dtype, batch, side, side, into), of(dtype, window, window, into, out)
    yield "max pool 3x3 by 2 f32 32x112x112x64", lambda a: lax.reduce_window(
        a, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), of(F32, 32, 112, 112, 64)


FAMILIES = {
    "product": products, "elementwise": elementwise, "reduce": reductions, "layout": layouts, "lookup": lookups, "sort": sorts,
    "convolution": convolutions,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topology", default="v5e:2x2")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--only", default="", help="a regular expression that the names match")
    parser.add_argument("--stored", action="store_true", help="compiles nothing")
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["family", "op", "kernels", "cycles", "bytes", "flops", "cycles_of_1024", "flops_of_cycle", "bytes_of_cycle", "seconds"])
    rows = [(family, *row) for family in options.families.split(",") for row in FAMILIES[family]()]
    rows = [row for row in rows if re.search(options.only, row[1])]
    lowered = [jax.jit(f).lower(*arguments) for _, _, f, *arguments in rows]
    texts = [program.as_text() for program in lowered]
    if not options.stored:
        tpu.compile_missing([(text, options.topology) for text in texts])
    for (family, name, *_), program, text in zip(rows, lowered, texts):
        if tpu.stored(text, options.topology) is None:
            continue
        report = tpu.judged(text, options.topology)
        if "error" in report:
            table.writerow([family, name, report["error"].splitlines()[0][:100]])
            continue
        core = [event for event in report["schedule"] if event["beside"] == "core"]
        kernels = "+".join(f"{e['kind']}{'' if e['priced'] == 'cycles' else '?'} {e['cycles'] or ''}".strip() for e in core)
        cycles = sum((event["cycles"] or 0) * event["count"] for event in core)
        elements = sum(result.size for result in jax.tree.leaves(program.out_info))
        moved, flops = sum(event["bytes"] for event in core), report["flops"]
        per = lambda amount: round(amount / cycles, 2) if cycles else ""
        table.writerow([family, name, kernels, cycles, int(moved), int(flops), round(cycles / elements * 1024, 2), per(flops),
                        per(moved), f"{report['step_s']:.4g}"])


if __name__ == "__main__":
    main()
