"""What our model says of steps and collectives that others measured and published.

    python measured.py SHARDC [collectives] [steps] [--only PART] [--plan greedy]

A row for each record: measured and modelled seconds and their ratio. Then, for each machine, the median error and the share
of records within 15 and 25 %. An error is the larger of the ratio and its reciprocal, minus one. The records are in
`measured/`, each with its source.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured")
sys.path.insert(0, FOLDER)

import collectives


def records(name):
    with open(os.path.join(FOLDER, name + ".json")) as file:
        return json.load(file)


def target_of(record):
    """What `--target` takes: a name, or the path of a file of this folder."""
    target = record["target"]
    return os.path.join(FOLDER, target) if target.endswith(".toml") else target


def cost(shardc, text, target, folder, *flags):
    """What `shardc cost --json` says of a program."""
    path = os.path.join(folder, "program.mlir")
    with open(path, "w") as file:
        file.write(text)
    found = subprocess.run([shardc, "cost", "--json", "--target", target, *flags, path], capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError((found.stdout + found.stderr)[:600])
    return json.loads(found.stdout.splitlines()[-1])


def error(ratio):
    return max(ratio, 1 / ratio) - 1


def summary(ratios, head):
    """A row for each machine, and one for all: the median error, the quantiles of modelled / measured, the shares near it."""
    print(f"\n{head:<22}{'records':>8}{'median error':>14}{'5 %':>8}{'25 %':>8}{'50 %':>8}{'75 %':>8}{'95 %':>8}{'in 15 %':>9}{'in 25 %':>9}")
    machines = {}
    for machine, ratio in ratios:
        machines.setdefault(machine, []).append(ratio)
    for machine, found in [*machines.items(), ("all", [ratio for _, ratio in ratios])]:
        found.sort()
        at = "".join(f"{found[min(len(found) - 1, int(q * len(found)))]:>8.2f}" for q in (0.05, 0.25, 0.5, 0.75, 0.95))
        errors = [error(ratio) for ratio in found]
        near = [sum(e <= limit for e in errors) / len(errors) for limit in (0.15, 0.25)]
        print(f"{machine:<22}{len(found):>8}{statistics.median(errors):>13.1%} {at}{near[0]:>9.0%}{near[1]:>9.0%}")


def compare_collectives(args, folder):
    ratios = []
    print(f"{'collective':<32}{'kind':<16}{'bytes':>14}{'measured us':>13}{'modelled us':>13}{'ratio':>7}")
    for record in records("collectives"):
        if args.only not in record["id"]:
            continue
        bytes_, measured = collectives.load(record)
        modelled = cost(args.shardc, collectives.program(record), target_of(record), folder)["step_s"]
        several = " islands" if "slice" in collectives.mesh(record)[0] else ""
        ratios.append((record["machine"] + several, modelled / measured))
        print(f"{record['id']:<32}{record['kind']:<16}{bytes_:>14}{measured * 1e6:>13.1f}{modelled * 1e6:>13.1f}{ratios[-1][1]:>7.2f}")
    summary(ratios, "machine")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("what", nargs="*", default=["collectives"])
    parser.add_argument("--only", default="", help="records whose name has this part")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "collectives" in args.what:
            compare_collectives(args, folder)


if __name__ == "__main__":
    main()
