"""What our model says of steps and collectives that others measured and published.

    python measured.py SHARDC [collectives] [steps] [--only PART] [--plan greedy] [--texts FOLDER]

A row for each record: measured and modelled seconds and their ratio. Then, for each machine, the median error and the share
of records within 15 and 25 %. An error is the larger of the ratio and its reciprocal, minus one. The records are in
`measured/`, each with its source. Steps need JAX; their programs are kept in FOLDER, because writing one takes two seconds.
"""

import argparse
import hashlib
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
    path, trace = os.path.join(folder, "program.mlir"), os.path.join(folder, "trace.json")
    with open(path, "w") as file:
        file.write(text)
    command = [shardc, "cost", "--json", "--target", target, "--trace", trace, *flags, path]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError((found.stdout + found.stderr)[:600])
    with open(trace) as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X" and event["tid"] == 0]
    # Seconds of the core by op, with one iteration of each loop.
    by_op = {}
    for event in events:
        by_op[event["name"]] = by_op.get(event["name"], 0.0) + event["dur"] / 1e6
    return json.loads(found.stdout.splitlines()[-1]) | {"by_op": by_op}


# Memory in GB (passes/src/estimate/chip.rs and gpus.rs).
MEMORY = {"v4": 32, "v5e": 16, "v5p": 96, "v6e": 32, "v7x": 96, "A100": 80, "H100": 80, "H200": 141}


def error(ratio):
    return max(ratio, 1 / ratio) - 1


def summary(ratios, head):
    """A row for each machine, and one for all: the median error, the quantiles of modelled / measured, the shares near it."""
    print(
        f"\n{head:<22}{'records':>8}{'median error':>14}{'5 %':>8}{'25 %':>8}{'50 %':>8}{'75 %':>8}{'95 %':>8}{'in 15 %':>9}{'in 25 %':>9}"
    )
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
        print(
            f"{record['id']:<32}{record['kind']:<16}{bytes_:>14}{measured * 1e6:>13.1f}{modelled * 1e6:>13.1f}{ratios[-1][1]:>7.2f}"
        )
    summary(ratios, "machine")


def step_text(record, folder):
    """The program of a record and the FLOPs of its kernels; from the folder if it is there."""
    with open(os.path.join(FOLDER, "transformer.py")) as file:
        key = hashlib.sha256((file.read() + json.dumps(record)).encode()).hexdigest()[:16]
    path = os.path.join(folder, f"{record['id']}-{key}.mlir")
    if not os.path.exists(path):
        import transformer

        text, flops = transformer.program(record)
        with open(path + ".part", "w") as file:
            file.write(f"// {flops}\n{text}")
        os.replace(path + ".part", path)
    with open(path) as file:
        first, text = file.read().split("\n", 1)
    return text, int(first.removeprefix("// "))


def compare_steps(args, folder):
    ratios, rows = [], {}
    texts = args.texts or folder
    os.makedirs(texts, exist_ok=True)
    print(
        f"{'step':<40}{'target':<14}{'measured s':>11}{'modelled':>10}{'ratio':>7}{'compute':>10}{'exposed':>9}{'host':>8}{'GB':>8}  fits"
    )
    for record in records("steps"):
        if args.only not in record["id"]:
            continue
        try:
            text, flops = step_text(record, texts)
            found = cost(args.shardc, text, target_of(record), folder, "--plan", args.plan)
        except Exception as fault:
            print(f"{record['id']:<40}{record['target']:<14}  {str(fault)[:300]}", flush=True)
            continue
        host = found.get("host_exposed_s", 0.0)
        modelled = found["step_s"]
        memory = found["peak_bytes"] / 1e9
        fits = "yes" if memory <= MEMORY[record["hardware"]] else "no"
        measured = record["seconds"]
        stated = record.get("memory", {}).get("xla_total_GB")
        xla = f", XLA states {stated} GB" if stated else ""
        cells = f"{found['compute_s']:>10.3f}{found['exposed_s']:>9.3f}{host:>8.3f}{memory:>8.1f}  {fits}{xla}"
        if measured is None:
            print(
                f"{record['id']:<40}{record['target']:<14}{'':>11}{modelled:>10.3f}{'':>7}{cells}, expected {record['expect']}",
                flush=True,
            )
            continue
        ratios.append((record["hardware"], modelled / measured))
        rows[record["id"]] = found | {"modelled": modelled, "flops_of_kernels": flops}
        print(
            f"{record['id']:<40}{record['target']:<14}{measured:>11.3f}{modelled:>10.3f}{modelled / measured:>7.2f}{cells}",
            flush=True,
        )
    if ratios:
        summary(ratios, "chip")
    if args.save:
        with open(args.save, "w") as file:
            json.dump(rows, file)
    seconds = {record["id"]: record["seconds"] for record in records("steps")}
    ranking(rows, seconds)
    slowdown(rows, seconds)


def ranking(rows, seconds):
    """Whether pairs of ways to shard the sequence are in the measured order."""
    for length in "64k", "128k", "256k":
        names = [name for name in rows if f"cp64-{length}-" in name]
        pairs = [(a, b) for a in names for b in names if seconds[a] < seconds[b]]
        right = sum(rows[a]["modelled"] < rows[b]["modelled"] for a, b in pairs)
        if pairs:
            order = sorted(names, key=lambda name: rows[name]["modelled"])
            print(f"{length}: {right} of {len(pairs)} pairs in the measured order; modelled from fast to slow:",
                  ", ".join(f"{name.split('-')[-1]} {rows[name]['modelled']:.2f} ({seconds[name]:.2f})" for name in order))  # fmt: skip


def slowdown(rows, seconds):
    """The steps on more slices or chips over that on the fewest, measured and modelled."""
    families = {}
    for name in rows:
        for part in ("mt-v5e-", "mt-v5p-", "mt-v4-", "tr-v6e-gemma3", "mt-h100", "tr-v6e-llama31"):
            if name.startswith(part) and "cp64" not in name:
                families.setdefault(name.rsplit("-", 1)[0], []).append(name)
    for family, names in families.items():
        first = names[0]
        if len(names) > 1:
            print(family, "over", first.rsplit("-", 1)[1], ", ".join(
                f"{name.rsplit('-', 1)[1]}: {rows[name]['modelled'] / rows[first]['modelled']:.3f} (measured {seconds[name] / seconds[first]:.3f})"
                for name in names[1:]))  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("what", nargs="*", default=["collectives", "steps"])
    parser.add_argument("--only", default="", help="records whose name has this part")
    parser.add_argument("--plan", default="full")
    parser.add_argument("--texts", help="where programs of steps are kept")
    parser.add_argument("--save", help="a file for the results as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "collectives" in args.what:
            compare_collectives(args, folder)
        if "steps" in args.what:
            compare_steps(args, folder)


if __name__ == "__main__":
    main()
