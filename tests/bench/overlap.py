"""What a step takes on slices of TPUs by our own model, of plans: full against greedy, with and without collective matmuls.

    python overlap.py SHARDC PROGRAM... [--targets a,b]

A row for each program and target: seconds of the step, those in which nothing is computed, and the memory that a device
needs, of three plans; and how much shorter the last one's step is than the first one's.
"""
import argparse
import json
import os
import subprocess
import tempfile

TARGETS = "v5e:2x4,v5p:2x2x2,v5e:16x16,2xv5e:16x16,2xv5e:2x2"
# What is compared: the search of the plan, and when products overlap with communication.
PLANS = [("greedy", "greedy", "never"), ("full", "full", "never"), ("full, collective matmul", "full", "shorter")]
PASSES = (
    "several-meshes,planned{{search={search} target={target}}},partition,rematerialize{{target={target}}},"
    "collective-matmul{{when={when} target={target}}},schedule{{target={target}}}"
)


def cost(shardc, program, target, search, when, folder):
    """The cost of one plan, as `shardc cost --json` tells it."""
    compiled = os.path.join(folder, "compiled.mlir")
    passes = PASSES.format(search=search, target=target, when=when)
    subprocess.run([shardc, "opt", "--passes", passes, program, "-o", compiled], check=True, capture_output=True)
    told = subprocess.run([shardc, "cost", "--target", target, "--json", compiled], check=True, capture_output=True)
    return json.loads(told.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--targets", default=TARGETS)
    args = parser.parse_args()
    heads = "".join(f"{name + ': ms, exposed, MiB':>38}" for name, _, _ in PLANS)
    print(f"{'program':<24}{'target':<14}{heads}{'shorter':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for program in args.programs:
            name = os.path.basename(program).removesuffix(".mlir")
            for target in args.targets.split(","):
                try:
                    costs = [cost(args.shardc, program, target, search, when, folder) for _, search, when in PLANS]
                except subprocess.CalledProcessError as fault:
                    print(f"{name:<24}{target:<14}  {fault.stderr.decode().strip().splitlines()[0]}")
                    continue
                cells = "".join(
                    f"{c['step_s'] * 1e3:>20.3f}{c['exposed_s'] * 1e3:>10.3f}{c['peak_bytes'] / 2**20:>8.0f}" for c in costs
                )
                shorter = 1 - costs[-1]["step_s"] / costs[0]["step_s"]
                print(f"{name:<24}{target:<14}{cells}{shorter:>8.1%}", flush=True)


if __name__ == "__main__":
    main()
