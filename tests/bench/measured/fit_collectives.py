"""A formula for collectives by NCCL and on TPUs, with constants fitted to collectives.json, and its error on machines left out.

    python fit_collectives.py          (needs numpy and scipy)

GPUs. Each of NCCL's three protocols takes a start and then moves bytes at a share of the full rate, and the library takes
the fastest:

    seconds = min over protocols p of  start * START[p] + moved / (rate * SHARE[p])

`START` and `SHARE` are the same for all machines. On an island, `moved / rate` is `rounds * (n - 1) / n * bytes / (ring * link)`, and for
an all_reduce on machines whose switch adds, `bytes / (summed * link)`. Between islands it is `rounds * (N - 1) / N * bytes` over the cards of
an island, `N` all GPUs, because NCCL's rings pass through all of them.

TPUs. `seconds = start + rounds * hop * (n - 1) + rounds * bytes * (1 - 1 / n) / bandwidth into a chip` for gathers and
sums, `start + hop + bytes / (share * link)` for a permute.
"""

import functools
import json
import os

import numpy as np
import scipy.optimize

import collectives

HERE = os.path.dirname(os.path.abspath(__file__))
# Bytes/s of one GPU in an island and to other islands (passes/src/estimate/gpus.rs).
LINK = {
    "A100-80GB": 300e9,
    "A100-40GB": 300e9,
    "H100": 450e9,
    "H100 PCIe": 300e9,
    "H200": 450e9,
    "B200": 900e9,
    "GB200": 900e9,
}
CARD = {"A100-40GB": 12.5e9, "H100": 50e9, "H200": 50e9, "B200": 50e9}
GENERATION = {
    "A100-80GB": "ampere",
    "A100-40GB": "ampere",
    "H100": "hopper",
    "H100 PCIe": "hopper",
    "H200": "hopper",
    "B200": "blackwell",
    "GB200": "blackwell",
}
GENERATIONS = ["ampere", "hopper", "blackwell"]
# The constants that are fitted, and where the search for them begins.
NAMES = [
    "start2",
    "start3",
    "share1",
    "share2",
    "ring",
    "network",
    "start network",
    "start ampere",
    "start hopper",
    "start blackwell",
    "summed hopper",
    "summed blackwell",
]
BEGIN = [1.4, 3.5, 0.25, 0.65, 0.8, 0.95, 95e-6, 42e-6, 24e-6, 17e-6, 0.61, 0.5]


def shape(record):
    """Devices of a group, and GPUs of an island among them."""
    axes, inside = collectives.mesh(record)
    n = functools.reduce(lambda product, name: product * axes[name], inside, 1)
    return n, n // axes.get("slice", 1)


class Table:
    """What the formula needs of records of GPUs, as arrays."""

    def __init__(self, records):
        self.records = records
        shapes = [shape(record) for record in records]
        machines = [record["machine"] for record in records]
        self.n = np.array([n for n, _ in shapes], float)
        self.island = np.array([island for _, island in shapes], float)
        self.bytes = np.array([collectives.load(record)[0] for record in records], float)
        self.measured = np.array([collectives.load(record)[1] for record in records])
        self.generation = np.array([GENERATIONS.index(GENERATION[machine]) for machine in machines])
        self.link = np.array([LINK[machine] for machine in machines])
        self.cards = self.island * np.array([CARD.get(machine, 1.0) for machine in machines])
        kinds = [record["kind"] for record in records]
        self.rounds = np.array([2.0 if kind == "all_reduce" else 1.0 for kind in kinds])
        self.pair = np.array([kind == "p2p write" for kind in kinds])
        # The switch adds on islands of SXM modules since Hopper.
        self.summed = np.array(
            [k == "all_reduce" and g > 0 and m != "H100 PCIe" for k, g, m in zip(kinds, self.generation, machines)]
        )

    def seconds(self, constants):
        c = dict(zip(NAMES, constants))
        start = np.array([c["start " + generation] for generation in GENERATIONS])[self.generation]
        summed = np.array([1.0, c["summed hopper"], c["summed blackwell"]])[self.generation]

        def protocols(start, transfer):
            return np.minimum(
                np.minimum(start + transfer / c["share1"], start * c["start2"] + transfer / c["share2"]),
                start * c["start3"] + transfer,
            )

        moved = self.rounds * (self.n - 1) / self.n * self.bytes
        transfer = np.where(self.summed, self.bytes / (summed * self.link), moved / (c["ring"] * self.link))
        inside = np.where(self.island > 1, protocols(start, transfer), 0)
        # Two GPUs have one step only.
        across = protocols(np.where(self.n > 2, c["start network"], start), moved / (c["network"] * self.cards))
        seconds = np.where(self.island < self.n, np.maximum(inside, across), inside)
        return np.where(self.pair, start + self.bytes / (c["ring"] * self.link), seconds)


def misses(constants, records):
    table = records if isinstance(records, Table) else Table(records)
    return np.log(table.seconds(constants) / table.measured)


def fit(records, begin=BEGIN):
    """The constants with the least sum of absolute logarithms of modelled / measured; each changes by factors."""
    begin, records = np.log(begin), Table(records)

    def loss(x):
        return np.sum(np.abs(misses(list(np.exp(x)), records))) + 1e-3 * np.sum((x - begin) ** 2)

    found = scipy.optimize.minimize(loss, begin, method="Powell", options={"maxiter": 20, "xtol": 1e-2, "ftol": 1e-4})
    return list(np.exp(found.x))


def describe(name, logs):
    errors = np.exp(np.abs(logs)) - 1
    near = np.mean(errors <= 0.15), np.mean(errors <= 0.25)
    print(
        f"{name:<34}{len(logs):>8}{np.median(errors):>13.1%}{np.quantile(errors, 0.9):>13.1%}{near[0]:>9.0%}{near[1]:>9.0%}"
    )


def without(constants, machine, found):
    """The constants of a fit to all other machines: a generation that nothing is left of takes the mean of the others."""
    rest = [record for record in found if record["machine"] != machine]
    fitted = dict(zip(NAMES, fit(rest)))
    # Small sums inside one island determine starts, large ones the rate of the switch's sums.
    alone = [r for r in rest if shape(r)[0] == shape(r)[1]]
    for kind, decides in ("start", lambda bytes_: bytes_ < 1 << 20), ("summed", lambda bytes_: bytes_ >= 1 << 30):
        present = {
            GENERATION[r["machine"]] for r in alone if r["machine"] != "H100 PCIe" and decides(collectives.load(r)[0])
        }
        known = [fitted[f"{kind} {g}"] for g in present if f"{kind} {g}" in fitted]
        for g in GENERATIONS:
            if f"{kind} {g}" in fitted and g not in present:
                fitted[f"{kind} {g}"] = float(np.exp(np.mean(np.log(known))))
    return [fitted[name] for name in NAMES]


TPU_LINK = {"v2": 60e9, "v5p": 90e9, "v6e": 90e9, "v7x": 90e9}
# Links into the chip in the corner of the group (in the middle of a ring), and devices of a chip that share them.
INTO = {"v2:2x2": (1, 1), "v6e:16x16": (4, 1), "v7x:2x2x1": (2, 2), "v7x:2x2x2": (2, 2), "v7x:2x2x4": (3, 1)}
TPU_NAMES = ["start", "hop", "share"]


def tpu_seconds(record, constants):
    start, hop, share = constants
    bytes_, _ = collectives.load(record)
    link = share * TPU_LINK[record["machine"]]
    if record["kind"] in ("ppermute", "link"):
        return start + bytes_ / link
    n, _ = shape(record)
    links, sharing = INTO[record["target"]]
    rounds = 2 if record["kind"] == "all_reduce" else 1
    return start + rounds * (hop * (n - 1) + bytes_ * (1 - 1 / n) * sharing / (links * link))


def main():
    with open(os.path.join(HERE, "collectives.json")) as file:
        records = json.load(file)
    gpus = [record for record in records if record["machine"] in LINK]
    tpus = [record for record in records if record["machine"] in TPU_LINK]
    head = f"{'':<34}{'records':>8}{'median error':>13}{'90 %':>13}{'in 15 %':>9}{'in 25 %':>9}"
    constants = fit(gpus)
    print("GPUs, fitted on all:", ", ".join(f"{name} {value:.3g}" for name, value in zip(NAMES, constants)))
    print(head)
    machines = sorted({record["machine"] for record in gpus})
    for machine in machines:
        own = [record for record in gpus if record["machine"] == machine]
        describe(machine, misses(constants, own))
        describe("  fitted without " + machine, misses(without(constants, machine, gpus), own))
    describe("all GPUs", misses(constants, gpus))
    for record, miss in zip(gpus, misses(constants, gpus)):
        if abs(miss) > np.log(1.3):
            print(f"  far: {record['id']:<30}{np.exp(miss):>6.2f}")

    def tpu_misses(constants, found):
        return [np.log(tpu_seconds(record, constants) / collectives.load(record)[1]) for record in found]

    def fit_tpus(found):
        begin = np.log([5e-6, 1e-6, 0.95])
        loss = lambda x: sum(abs(m) for m in tpu_misses(np.exp(x), found)) + 1e-3 * np.sum((x - begin) ** 2)
        return list(np.exp(scipy.optimize.minimize(loss, begin, method="Nelder-Mead", options={"maxiter": 20000}).x))

    constants = fit_tpus(tpus)
    print("\nTPUs, fitted on all:", ", ".join(f"{name} {value:.3g}" for name, value in zip(TPU_NAMES, constants)))
    print(head)
    for machine in sorted({record["machine"] for record in tpus}):
        own = [record for record in tpus if record["machine"] == machine]
        describe(machine, tpu_misses(constants, own))
        describe("  fitted without " + machine, tpu_misses(fit_tpus([r for r in tpus if r["machine"] != machine]), own))
    describe("all TPUs", tpu_misses(constants, tpus))
    for record, miss in zip(tpus, tpu_misses(constants, tpus)):
        print(f"  {record['id']:<34}{np.exp(miss):>6.2f}")


if __name__ == "__main__":
    main()
