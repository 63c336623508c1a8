"""What a step takes on slices of TPUs by our own model, of plans: full against greedy, with and without collective matmuls and
collectives between slices in stages.

    python overlap.py SHARDC PROGRAM... [--targets a,b]

A row for each program and target: seconds of the step, those in which nothing is computed, and the memory that a device
needs, of four plans; and how much shorter the last one's step is than the first one's.
"""
import argparse
import json
import os
import subprocess
import tempfile

TARGETS = "v5e:2x4,v5p:2x2x2,v5e:16x16,2xv5e:16x16,2xv5e:2x2"
# What is compared: the search of the plan, when products overlap with communication, and when stages become ops.
PLANS = [
    ("greedy", "greedy", "never", "never"),
    ("full", "full", "never", "never"),
    ("full, collective matmul", "full", "shorter", "never"),
    ("full, both, stages", "full", "shorter", "shorter"),
]
PASSES = (
    "several-meshes,planned{{search={search} target={target}}},partition,rematerialize{{target={target}}},"
    "collective-matmul{{when={when} target={target}}},schedule{{target={target}}},"
    "decompose-hierarchical{{hierarchical={stages} target={target}}}"
)


def cost(shardc, program, target, plan, folder):
    """The cost of one plan, as `shardc cost --json` tells it."""
    compiled = os.path.join(folder, "compiled.mlir")
    _, search, when, stages = plan
    passes = PASSES.format(search=search, target=target, when=when, stages=stages)
    subprocess.run([shardc, "opt", "--passes", passes, program, "-o", compiled], check=True, capture_output=True)
    told = subprocess.run([shardc, "cost", "--target", target, "--json", compiled], check=True, capture_output=True)
    return json.loads(told.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--targets", default=TARGETS)
    args = parser.parse_args()
    heads = "".join(f"{name + ': ms, exposed, MiB':>38}" for name, *_ in PLANS)
    print(f"{'program':<24}{'target':<14}{heads}{'shorter':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for program in args.programs:
            name = os.path.basename(program).removesuffix(".mlir")
            for target in args.targets.split(","):
                try:
                    costs = [cost(args.shardc, program, target, plan, folder) for plan in PLANS]
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
