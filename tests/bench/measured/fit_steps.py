"""Which constants bring modelled steps to the measured ones: fitted to what `measured.py steps --save FILE` wrote
of a model at nominal rates, to which `kernels`, the seconds of called kernels at the peak rate, was added. `measured.py` doesn't write
that field anymore, because `cost` prices these kernels: to fit again, take it from `flops_of_kernels` and the peak rate.

    python fit_steps.py FILE [chips]   (needs numpy and scipy; with `chips` each chip has a separate rate)

    seconds = (products / rate[class] + grouped / experts + rest / HBM + kernels / kernel[class] + exposed + host * copy)
              * (1 + skew * log2(slices))

`products` are at the peak rate, `grouped` those of experts. `rest` is what else the model says of the core, less what it
counts for stacks of layers that are updated in place: a loop over L layers writes one layer of them in each iteration, and
the model all L. `exposed` are the exposed collectives, on TPUs longer by what `fit_collectives.py` says of theirs. Permutes of
ring attention stay exposed, because the measured rings are as slow as that. A class is TPUs with an MXU of 128 or of 256,
A100, or H100 and H200. Each chip is also predicted by a fit to the others.
"""

import json
import math
import os
import sys

import numpy as np
import scipy.optimize

HERE = os.path.dirname(os.path.abspath(__file__))
# The search for constants passes through impossible ones.
np.seterr(all="ignore")
PEAK = {
    "v4": 275e12,
    "v5e": 197e12,
    "v5p": 459e12,
    "v6e": 920e12,
    "v7x": 1150e12,
    "A100": 312e12,
    "H100": 990e12,
    "H200": 990e12,
}
CLASSES = ["128", "256", "a100", "h100"]
CLASS = {
    "v4": "128",
    "v5e": "128",
    "v5p": "128",
    "v6e": "256",
    "v7x": "256",
    "A100": "a100",
    "H100": "h100",
    "H200": "h100",
}
RATES = list(CLASS) if "chips" in sys.argv else CLASSES
NAMES = ["rate " + of for of in RATES] + ["kernel " + of for of in CLASSES] + ["copy", "skew", "grouped"]
# The share of the bandwidth of HBM that is reached; between 0.67 and 1 the errors are the same.
HBM = 0.8
# Of collectives on TPUs: seconds to start, seconds for each participant, and the share of the bandwidth.
START, HOP, SHARE = 5e-6, 1.5e-6, 0.97
BEGIN = [0.7] * len(RATES) + [0.4, 0.7, 0.7, 0.7, 0.3, 0.03, 0.5]


def updates(record, row):
    """Seconds that the model counts too much for stacks of layers."""
    longest = record["layers"] - record.get("dense_layers", 0) if record.get("experts") else record["layers"]
    return (longest - 1) * row["by_op"].get("stablehlo.dynamic_update_slice", 0.0)


def grouped(record, row):
    """Seconds of grouped products, of experts, at the peak rate."""
    return (record["layers"] - record.get("dense_layers", 0)) * row["by_op"].get("chlo.ragged_dot", 0.0)


def longer(record, row):
    """How much longer the collectives are than the model says."""
    if not record["hardware"].startswith("v"):
        return 1.0

    def priced(c):
        hops = 0 if c["kind"] == "collective_permute" else (1 + (c["kind"] == "all_reduce")) * (c["group"] - 1)
        return START + HOP * hops + c["time_s"] / SHARE

    said = sum(c["time_s"] * c["count"] for c in row["collectives"])
    return sum(priced(c) * c["count"] for c in row["collectives"]) / said if said else 1.0


def products(record, row):
    """Seconds of products at the peak rate: of all FLOPs in bf16; of quantized layers as the model says, but logits in bf16."""
    peak = PEAK[record["hardware"]]
    if not record.get("quantization"):
        return row["flops"] / peak
    tokens = record["per_device_batch"] * record["seq"]
    logits = 6 * tokens * record["vocab"] * record["emb"] / peak / record["mesh_axes"].get("tensor", 1)
    products = sum(seconds for op, seconds in row["by_op"].items() if op.endswith("dot_general"))
    return record["layers"] * (products - logits) + logits


class Table:
    def __init__(self, records, rows):
        self.records = records
        column = lambda get: np.array([get(record, rows[record["id"]]) for record in records], float)
        self.measured = column(lambda record, _: record["seconds"])
        self.grouped = column(grouped)
        self.products = column(products) - self.grouped
        self.rest = column(lambda record, row: row["compute_s"] - updates(record, row)) - self.products - self.grouped
        self.kernels = column(lambda _, row: row["kernels"])
        self.host = column(lambda _, row: row.get("host_exposed_s", 0.0))
        self.exposed = column(lambda _, row: row["exposed_s"]) - self.host
        self.exposed *= column(longer)
        self.log = column(
            lambda record, _: math.log2(
                record["slices"] if record["hardware"].startswith("v") else record["chips"] // 8
            )
        )
        self.of = np.array([CLASSES.index(CLASS[record["hardware"]]) for record in records])
        self.rate = self.of if RATES is CLASSES else np.array([RATES.index(record["hardware"]) for record in records])

    def seconds(self, x):
        rate, kernel = np.array(x[: len(RATES)])[self.rate], np.array(x[len(RATES) : -3])[self.of]
        copy, skew, experts = x[-3:]
        once = (
            self.products / rate
            + self.grouped / experts
            + self.rest / HBM
            + self.kernels / kernel
            + self.exposed
            + self.host * copy
        )
        return once * (1 + skew * self.log)

    def misses(self, x):
        return np.log(self.seconds(x) / self.measured)


def fit(table):
    begin = np.log(BEGIN)
    loss = lambda x: np.sum(np.abs(table.misses(np.exp(x)))) + 0.3 * np.sum((x - begin) ** 2)
    return np.exp(scipy.optimize.minimize(loss, begin, method="Powell", options={"maxiter": 50, "ftol": 1e-5}).x)


def describe(name, logs):
    errors = np.exp(np.abs(logs)) - 1
    print(
        f"{name:<28}{len(logs):>8}{np.median(errors):>14.1%}{np.quantile(errors, 0.9):>9.1%}{np.mean(errors <= 0.1):>9.0%}{np.mean(errors <= 0.25):>9.0%}{np.exp(np.median(logs)):>10.2f}"
    )


def main():
    with open(sys.argv[1]) as file:
        rows = json.load(file)
    with open(os.path.join(HERE, "steps.json")) as file:
        records = [record for record in json.load(file) if record["id"] in rows]
    table = Table(records, rows)
    every = fit(table)
    print(", ".join(f"{name} {value:.3g}" for name, value in zip(NAMES, every)))
    print(f"{'':<28}{'records':>8}{'median error':>14}{'90 %':>9}{'in 10 %':>9}{'in 25 %':>9}{'ratio':>10}")
    as_is = np.array([float(name != "skew") for name in NAMES])
    for chip in CLASS:
        own = Table([r for r in records if r["hardware"] == chip], rows)
        rest = fit(Table([r for r in records if r["hardware"] != chip], rows))
        if not own.records:
            continue
        stated = np.log(np.array([rows[r["id"]]["modelled"] / r["seconds"] for r in own.records]))
        describe(chip + ", the model today", stated)
        describe("  stacks in place", own.misses(as_is))
        describe("  fitted on all", own.misses(every))
        describe("  fitted without " + chip, own.misses(rest))
    describe("all, the model today", np.log(np.array([rows[r["id"]]["modelled"] / r["seconds"] for r in records])))
    describe("all, stacks in place", table.misses(as_is))
    describe("all, fitted on all", table.misses(every))
    modelled = dict(zip((r["id"] for r in records), table.seconds(every)))
    for length in "64k", "128k", "256k":
        own = sorted((r for r in records if f"cp64-{length}-" in r["id"]), key=lambda r: modelled[r["id"]])
        pairs = [(a, b) for a in own for b in own if a["seconds"] < b["seconds"]]
        right = sum(modelled[a["id"]] < modelled[b["id"]] for a, b in pairs)
        print(
            f"{length}: {right} of {len(pairs)} pairs in the measured order:",
            ", ".join(f"{r['id'].split('-')[-1]} {modelled[r['id']]:.2f} ({r['seconds']})" for r in own),
        )
    for record, miss in zip(records, table.misses(every)):
        if abs(miss) > math.log(1.2):
            print(f"  far: {record['id']:<42}{math.exp(miss):.2f}")


if __name__ == "__main__":
    main()
