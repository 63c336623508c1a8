"""Seconds of a whole compilation, with the full and the greedy plan, beside XLA's propagation and partitioning alone, in turn.

    python plan.py SHARDC PROGRAM... [--rounds N] [--without-xla] [--json OUT]

PROGRAM is a .mlir file. What is compared is what both do between text and per-device program, without reading and printing.
Medians. Needs jax==0.10.2.
"""
import argparse
import json
import os
import statistics

import bench
from runtime import devices

PASSES = "import,propagate,unify-meshes,{plan},partition,schedule"
KINDS = {"full": PASSES.format(plan="plan"), "greedy": PASSES.format(plan="plan{search=greedy}")}


def seconds(shardc, program, passes):
    stages = bench.ours(shardc, program, passes)
    return stages["total"] - stages["parse"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-xla", action="store_true", help="XLA compiles what it partitions, which may take minutes")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"{'program':<28} {'full':>10} {'greedy':>10} {'XLA':>10} {'full/XLA':>9} {'greedy/XLA':>10}")
    rows = []
    for program in options.programs:
        found = {name: [] for name in [*KINDS, "xla"]}
        for round in range(options.rounds):
            # The first after XLA waits for memory that the system took back from it: that one isn't counted.
            seconds(options.shardc, program, KINDS["full"])
            for name, passes in sorted(KINDS.items(), reverse=round % 2 == 1):
                found[name].append(seconds(options.shardc, program, passes))
            if not options.without_xla:
                found["xla"].append(bench.xla(program, devices(program), 0)[0]["compile"])
        median = {name: statistics.median(all) if all else float("nan") for name, all in found.items()}
        name = os.path.basename(program).removesuffix(".mlir")
        times = " ".join(f"{median[kind] * 1e3:>7.1f} ms" for kind in ["full", "greedy", "xla"])
        print(f"{name:<28} {times} {median['full'] / median['xla']:>9.3f} {median['greedy'] / median['xla']:>10.3f}", flush=True)
        rows.append({"program": name, **{f"{kind}_s": value for kind, value in median.items()}})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
