"""What each search of the plan brings on a program, by our own model: greedy, expand, rewrites, and sending together.

    python shares.py SHARDC PROGRAM... [--target NAME]

A row for each program: modelled microseconds of the greedy plan, what expand takes off, what rewrites take off after it, what
the choice among plans takes off after them, and what `schedule` takes off a step of the finished program; then all of it as
a share of the greedy plan, and the numbers of windows and e-nodes that the rewrites looked at.
"""
import argparse
import json
import os
import subprocess
import tempfile

PASSES = "several-meshes,planned{{target={target}}},partition,rematerialize{{target={target}}},collective-matmul{{target={target}}}"


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def step(shardc, program, target):
    """Modelled seconds of a step of a per-device program."""
    return json.loads(run(shardc, "cost", "--target", target, "--json", program).splitlines()[-1])["step_s"]


def counted(shardc, program, target, folder):
    """What the plan counted, by name."""
    out = os.path.join(folder, "compiled.mlir")
    told = subprocess.run(
        [shardc, "compile", "--target", target, "--statistics", "-o", out, program], check=True, capture_output=True, text=True
    )
    found = {}
    for line in (told.stdout + told.stderr).splitlines():
        words = line.split(" - ")[0].split()
        if len(words) >= 2 and line.startswith(" "):
            found[words[-1]] = float(words[0])
    return found, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--target", default="flat")
    args = parser.parse_args()
    heads = ["greedy us", "expand", "rewrite", "choice", "schedule", "all", "windows", "distinct", "helpful", "e-nodes"]
    print(f"{'program':<20}" + "".join(f"{head:>11}" for head in heads))
    sums = [0.0] * 5
    with tempfile.TemporaryDirectory() as folder:
        for program in args.programs:
            found, compiled = counted(args.shardc, program, args.target, folder)
            apart = os.path.join(folder, "apart.mlir")
            run(args.shardc, "opt", "--passes", PASSES.format(target=args.target), program, "-o", apart)
            together = step(args.shardc, apart, args.target) - step(args.shardc, compiled, args.target)
            greedy, expanded, rewritten, plan = (found.get(name, 0.0) for name in ("greedy", "expand", "rewrite", "plan"))
            brought = [greedy - expanded, expanded - rewritten, rewritten - plan, together * 1e6]
            sums = [a + b for a, b in zip(sums, [greedy, *brought])]
            cells = [f"{greedy:.1f}"] + [f"{x:.1f}" for x in brought] + [f"{sum(brought) / greedy if greedy else 0.0:.1%}"]
            cells += [f"{found.get(name, 0.0):.0f}" for name in ("windows", "distinct-windows", "helpful-windows", "e-nodes")]
            print(f"{os.path.basename(program).removesuffix('.mlir'):<20}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
    print(f"{'all':<20}" + "".join(f"{x:>11.1f}" for x in sums))


if __name__ == "__main__":
    main()
