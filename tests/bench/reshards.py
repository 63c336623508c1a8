"""Redistributions of ours against Shardy's, which takes the first collective that fits, on random pairs.

    python reshards.py SHARDC [--count 10000] [--from SEED]

Both get the same shapes, meshes, and distributions before and after, and both answers are priced alike: a collective takes
1 us and sends its bytes around a ring of 90 GB/s. Says how often ours is cheaper, and which are dearer. Needs jax==0.10.2.
"""
import argparse
import math
import os
import random
import re
import subprocess
import tempfile
import time

from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager

MESHES = [(2, 2), (4, 2), (2, 4), (8, 2), (2, 2, 2), (4, 4), (2, 3), (4, 2, 2), (4, 6, 5), (3, 4, 2), (8, 8), (2, 2, 4, 2)]
# Redistributions in one program.
TOGETHER = 25


def divided(rng, mesh):
    """Where each axis may be divided: in one place, since Shardy's pass fails on halves of what was in thirds."""
    divisors = ([d for d in range(2, size) if size % d == 0] for size in mesh)
    return [rng.choice(list) if list else None for list in divisors]


def parts_of(rng, mesh, at):
    """The axes of a mesh, some of them in two parts."""
    parts = []
    for axis, (size, pre) in enumerate(zip(mesh, at)):
        if pre and rng.randrange(4) == 0:
            parts += [f'"a{axis}":(1){pre}', f'"a{axis}":({pre}){size // pre}']
        else:
            parts.append(f'"a{axis}"')
    return parts


def size_of(part, mesh):
    axis, size = re.fullmatch(r'"a(\d+)"(?::\(\d+\)(\d+))?', part).groups()
    return int(size) if size else mesh[int(axis)]


def distribution(rng, mesh, at, shape):
    """Random axes for each dimension, which they divide."""
    dims, left = [[] for _ in shape], list(shape)
    parts = parts_of(rng, mesh, at)
    rng.shuffle(parts)
    for part in parts:
        dim = rng.randrange(len(shape) + 1)
        if dim < len(shape) and left[dim] % size_of(part, mesh) == 0:
            left[dim] //= size_of(part, mesh)
            dims[dim].append(part)
    return "[" + ", ".join("{" + ", ".join(joined(dim)) + "}" for dim in dims) + "]"


def joined(parts):
    """The axes of a dimension, both parts of one as the whole where they follow each other."""
    done = []
    for part in parts:
        major = re.fullmatch(r'("a\d+"):\(1\)(\d+)', done[-1]) if done else None
        if major and part.startswith(f"{major[1]}:({major[2]})"):
            done[-1] = major[1]
        else:
            done.append(part)
    return done


def shards(sharding, mesh):
    return [math.prod(size_of(p, mesh) for p in re.findall(r'"a\d+"(?::\(\d+\)\d+)?', dim)) for dim in re.findall(r"{(.*?)}", sharding)]


def program(pairs, mesh, reshard):
    """A function that redistributes each of its arguments."""
    args, results, types, body, values = [], [], [], [], []
    for i, (shape, before, after) in enumerate(pairs):
        ty = f"tensor<{'x'.join(map(str, shape))}xf32>"
        args.append(f"%a{i}: {ty} {{sdy.sharding = #sdy.sharding<@mesh, {before}>}}")
        results.append(f"{ty} {{sdy.sharding = #sdy.sharding<@mesh, {after}>}}")
        types.append(ty)
        values.append(f"%r{i}" if reshard else f"%a{i}")
        if reshard:
            body.append(f"  %r{i} = sdy.reshard %a{i} <@mesh, {after}> : {ty}")
    axes = ", ".join(f'"a{i}"={n}' for i, n in enumerate(mesh))
    lines = "\n".join(body)
    return (
        f"sdy.mesh @mesh = <[{axes}]>\nfunc.func @main({', '.join(args)}) -> ({', '.join(results)}) {{\n{lines}\n"
        f"  return {', '.join(values)} : {', '.join(types)}\n}}\n"
    )


def seconds(text, mesh, pairs):
    """Modelled seconds of each redistribution of a program in collectives of sdy and shardc, and where each ends."""
    owner, at, spent = {}, {}, [0.0] * len(pairs)
    ends = [before for _, before, _ in pairs]
    head = re.search(r"func\.func @main\((.*?)\) -> \(", text, re.S).group(1)
    for i, (name, sharding) in enumerate(re.findall(r"(%\w+): tensor<.*?#sdy\.sharding<@mesh, (\[.*?\])>", head)):
        owner[name], at[name] = i, shards(sharding, mesh)
    line = r"^\s*(%\w+) = \"?((?:sdy|shardc)\.\w+)\"?(.*)$"
    for result, op, rest in re.findall(line, text, re.M):
        operand = re.search(r"%\w+", re.sub(r"^\s*\[.*?\]\s(?=%)", "", rest)).group(0)
        kind = op.split(".")[1]
        if kind == "reshard":
            raise ValueError(f"left as it is: {op}{rest}")
        i = owner[operand]
        out = re.search(r"out_sharding\s*=\s*(?:#sdy\.sharding)?<@mesh, (\[.*?\])>", rest).group(1)
        before, after = at[operand], shards(out, mesh)
        owner[result], at[result], ends[i] = i, after, out
        size = 4 * math.prod(pairs[i][0])
        held, got = size / math.prod(before), size / math.prod(after)
        if kind == "all_slice":
            continue
        elif kind == "all_gather":
            moved = got - held
        elif kind == "all_to_all":
            group = math.prod(max(a // math.gcd(a, b), 1) for a, b in zip(before, after))
            moved = held * (1 - 1 / group)
        elif kind in ("collective_permute", "permute_parts"):
            moved = held
        else:
            raise ValueError(f"an op without a price: {op}")
        count = 1
        if kind == "permute_parts":
            # Each part is a permute of its own: as many as shards are cut into by the other distribution.
            count = math.prod(math.lcm(a, b) // a for a, b in zip(before, after))
        spent[i] += 1e-6 * count + moved / 90e9
    return spent, ends


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--from", type=int, default=0, dest="seed")
    args = parser.parse_args()
    cheaper = dearer = equal = refused = elsewhere = 0
    ours_all = theirs_all = 0.0
    slowest, gains = 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        given, planned = os.path.join(folder, "given.mlir"), os.path.join(folder, "planned.mlir")
        for seed in range(args.seed, args.seed + -(-args.count // TOGETHER)):
            rng = random.Random(seed)
            mesh = rng.choice(MESHES)
            at, pairs = divided(rng, mesh), []
            while len(pairs) < TOGETHER:
                unit = math.prod(mesh)
                shape = [unit * rng.choice([1, 2, 4, 16, 64]) for _ in range(rng.choice([1, 2, 2, 3]))]
                before, after = distribution(rng, mesh, at, shape), distribution(rng, mesh, at, shape)
                if before != after:
                    pairs.append((shape, before, after))
            with mlir.make_ir_context():
                shardy = passmanager.PassManager.parse("builtin.module(func.func(sdy-reshard-to-collectives))")
                module = ir.Module.parse(program(pairs, mesh, True))
                try:
                    shardy.run(module.operation)
                except ir.MLIRError:
                    # It makes invalid programs of some where axes of 3 or 5 devices change places with others.
                    refused += 1
                    continue
                theirs, reached = seconds(str(module), mesh, pairs)
            with open(given, "w") as file:
                file.write(program(pairs, mesh, False))
            start = time.perf_counter()
            subprocess.run([args.shardc, "opt", "--passes", "propagate,plan", given, "-o", planned], check=True)
            slowest = max(slowest, time.perf_counter() - start)
            with open(planned) as file:
                ours, _ = seconds(file.read(), mesh, pairs)
            for (shape, before, after), mine, other, end in zip(pairs, ours, theirs, reached):
                if end != after:
                    elsewhere += 1
                    print(f"elsewhere: mesh {mesh} shape {shape} {before} -> {after}: Shardy's steps end at {end}")
                    continue
                ours_all, theirs_all = ours_all + mine, theirs_all + other
                if mine > other * (1 + 1e-9):
                    dearer += 1
                    print(f"dearer: mesh {mesh} shape {shape} {before} -> {after}: {mine * 1e6:.3f} us, {other * 1e6:.3f}")
                elif mine < other * (1 - 1e-9):
                    cheaper += 1
                    gains.append(mine / other)
                else:
                    equal += 1
    mean = math.exp(sum(math.log(max(g, 1e-9)) for g in gains) / max(len(gains), 1))
    print(f"{cheaper + dearer + equal} redistributions: {cheaper} cheaper ({mean:.2f} of Shardy's seconds, geometric mean), {equal} as dear, {dearer} dearer")
    print(f"{refused} programs of {TOGETHER} redistributions left out, on which Shardy's pass fails")
    if elsewhere:
        print(f"{elsewhere} not compared, of which Shardy's steps end elsewhere than asked")
    print(f"seconds of all: {ours_all / theirs_all:.3f} of Shardy's; the slowest {TOGETHER} took {slowest:.3f} s to plan")


if __name__ == "__main__":
    main()
