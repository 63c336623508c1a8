"""The modelled step of our plans on TPUs, next to what the TPU's own compiler makes of the same text, and of XLA's own partition.

    python tpu.py SHARDC PROGRAM... [--target v5e:2x4] [--kinds] [--json OUT]

Three rows for each program: `model`, what `shardc cost` says of the compiled text; `ours`, that text as the TPU's compiler
schedules it; `XLA`, the program partitioned by XLA itself. Milliseconds of the step, of compute, of collectives that run next to
it and that it waits for; the part of compute in copies for layouts, or of the model nothing; gigabytes of memory traffic; the peak
in MiB. The last lines have modelled / compiled: geometric mean and quantiles. --kinds adds the seconds of compute by kind of op; an
op in a loop counts once there on the model's side. Needs `make tpu-oracle`; see tests/oracles/tpu.py.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "oracles"))
import tpu

PARTS = ["step_s", "compute_s", "hidden_s", "exposed_s", "peak_bytes"]
QUANTILES = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]


def manual_of(shardc, program, target):
    """Our per-device program, as text that JAX's compilers read."""
    command = [shardc, "compile", "--emit", "manual", "--target", target, program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def modelled(shardc, manual, target):
    """What the model says of a per-device program, and its seconds of compute by kind of op."""
    with tempfile.TemporaryDirectory() as folder:
        text, trace = Path(folder, "manual.mlir"), Path(folder, "trace.json")
        text.write_text(manual)
        command = [shardc, "cost", "--json", "--trace", trace, "--target", target, text]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        events = json.loads(trace.read_text())["traceEvents"]
    streams = {event["tid"] for event in events if event["ph"] == "M" and event["args"].get("name") == "compute"}
    kinds = {}
    for event in events:
        if event["ph"] == "X" and event["tid"] in streams:
            kind = kind_of(event["name"])
            kinds[kind] = kinds.get(kind, 0.0) + event["dur"] * 1e-6
    cost = json.loads(ran.stdout.splitlines()[-1])
    row = {part: cost.get(part, 0.0) for part in PARTS}
    return {**row, "hidden_s": cost["communication_s"] - cost["exposed_s"], "kinds": kinds}


def kind_of(op):
    """The kind of an op of StableHLO, as tests/oracles/tpu_schedule.py calls kernels."""
    name = op.split(".")[-1]
    for kind, names in (
        ("product", ("dot_general", "convolution", "dot")), ("sort", ("sort", "top_k")), ("fft", ("fft",)), ("scatter", ("scatter",)),
        ("gather", ("gather",)), ("window", ("reduce_window", "select_and_scatter")), ("reduce", ("reduce",)),
        ("layout", ("transpose", "reshape")), ("update", ("dynamic_update_slice",)), ("custom call", ("custom_call",)),
    ):
        if name in names:
            return kind
    return "elementwise"


def compiled(text, target):
    report = tpu.judged(text, target)
    if "error" in report:
        return report
    row = {part: report[part] for part in PARTS if part in report}
    found = {"layouts_s": report["layout_copies"]["seconds"], "traffic_bytes": report["traffic_bytes"]}
    return {**row, **found, "peak_bytes": report["memory"]["peak"], "kinds": report["seconds_by_kind"]}


def line(name, row):
    if "error" in row:
        return f"{name:<34} {row['error'].splitlines()[0][:100]}"
    times = "".join(f"{row[part] * 1e3:>10.3f}" if part in row else f"{'':>10}" for part in [*PARTS[:4], "layouts_s"])
    traffic = f"{row['traffic_bytes'] / 1e9:>9.2f}" if "traffic_bytes" in row else f"{'':>9}"
    return f"{name:<34}{times}{traffic}{row['peak_bytes'] / 2**20:>9.0f}"


def quantile(ordered, share):
    at = share * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def summary(rows, part):
    """Modelled / compiled of one figure; programs in which both are below a microsecond say nothing about it."""
    pairs = [(row["model"][part], row["ours"][part]) for row in rows]
    ratios = sorted(ours / theirs for ours, theirs in pairs if min(ours, theirs) > 1e-6)
    if not ratios:
        return f"{part:<12} in none of {len(pairs)}"
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    near = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    found = "".join(f"{quantile(ratios, share):>8.3f}" for share in QUANTILES)
    return f"{part:<12}{mean:>8.3f}  {found}   {near} of {len(ratios)} within 0.8 to 1.25"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--target", default="v5e:2x4")
    parser.add_argument("--without-xla", action="store_true", help="compiles our text alone")
    parser.add_argument("--stored", action="store_true", help="compiles nothing, and shows what is stored")
    parser.add_argument("--kinds", action="store_true", help="also milliseconds of compute by kind of op, model / ours")
    parser.add_argument("--json")
    options = parser.parse_args()
    texts = {}
    for program in options.programs:
        # A program of the corpus is a folder.
        path = Path(program)
        name = path.parent.name if path.name == "program.mlir" else path.stem
        texts[name] = (manual_of(options.shardc, program, options.target), path.read_text())
    wanted = [text for pair in texts.values() for text in (pair[:1] if options.without_xla else pair)]
    if options.stored:
        texts = {name: pair for name, pair in texts.items() if tpu.stored(pair[0], options.target)}
    else:
        tpu.compile_missing([(text, options.target) for text in wanted])
    heads = ["step", "compute", "hidden", "exposed", "layouts"]
    print(f"{options.target:<34}" + "".join(f"{head + ' ms':>10}" for head in heads) + f"{'GB':>9}{'peak MiB':>9}")
    rows = []
    for name, (manual, original) in texts.items():
        row = {"program": name, "model": modelled(options.shardc, manual, options.target), "ours": compiled(manual, options.target)}
        if not options.without_xla and (tpu.stored(original, options.target) or not options.stored):
            row["XLA"] = compiled(original, options.target)
        for kind in ("model", "ours", "XLA"):
            if kind in row:
                print(line(f"{name} {kind}", row[kind]), flush=True)
        if options.kinds and "kinds" in row["ours"]:
            sides = row["model"]["kinds"], row["ours"]["kinds"]
            found = [(kind, *(side.get(kind, 0.0) * 1e3 for side in sides)) for kind in sorted({*sides[0], *sides[1]})]
            print("    " + ", ".join(f"{kind} {model:.3f} / {ours:.3f}" for kind, model, ours in found if max(model, ours) > 1e-3))
        rows.append(row)
    print(f"{'model / ours':<12}{'mean':>8}  " + "".join(f"{f'{share:.0%}':>8}" for share in QUANTILES))
    good = [row for row in rows if "error" not in row["ours"]]
    for part in PARTS:
        print(summary(good, part))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
