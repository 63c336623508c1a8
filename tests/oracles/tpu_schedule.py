"""Goes through a scheduled program of the TPU compiler as one core does, and reports when each op runs, what runs next to it, and
what the core waits for.

Seconds of compute are the cycles that the compiler estimates. Where it gives none (updates in place, some loops), they are the
bytes over the bandwidth of the memory, and the op is marked as such. Seconds of collectives are bytes over links
(`tpu_links`). Copies between HBM and VMEM that have a start and a done run next to the core.
"""
import math
import re
from collections import defaultdict
from dataclasses import asdict, dataclass

from scheduled_hlo import parse, parts, replica_groups
from tpu_links import CHIPS, Links

COLLECTIVES = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute", "collective-broadcast",
)
# These take no time of the core.
FREE = {
    "parameter", "constant", "bitcast", "get-tuple-element", "tuple", "after-all", "partition-id", "replica-id", "opt-barrier",
    "add-dependency", "domain",
}
PRODUCTS = {"convolution", "dot"}
LAYOUTS = {"copy", "transpose", "reshape", "bitcast", "parameter", "tuple", "get-tuple-element", "convert", "constant"}


@dataclass
class Event:
    """One op of the schedule. `beside` is "core", or where it runs next to the core: "links", "memory"."""

    name: str
    kind: str
    line: str
    beside: str
    start_s: float
    seconds: float
    cycles: int | None
    bytes: float
    flops: float
    count: int
    priced: str


@dataclass
class Collective:
    kind: str
    line: str
    groups: int
    group: int
    bytes: float
    emitter: str
    strategy: str
    asynchronous: bool
    seconds: float
    exposed_s: float
    count: int


def schedule(hlo, topology, places):
    """The schedule of a program for a topology like 2xv5e:16x16, whose devices are at `places`."""
    chip, dims = re.fullmatch(r"(?:\d+x)?(\w+):([\dx]+)", topology).groups()
    core = Core(parse(hlo), CHIPS[chip], Links(CHIPS[chip], [int(size) for size in dims.split("x")], places))
    core.run(core.program.entry_name, 1)
    core.wait_for_all()
    return core.report()


class Core:
    def __init__(self, program, chip, links):
        self.program, self.chip, self.links = program, chip, links
        self.now = 0.0
        # When a dimension and direction of the links, and the memory's copies, are free.
        self.link_free = defaultdict(float)
        self.copies_free = 0.0
        # What runs next to the core, by the instruction that started it or its channel: the end, and its collective.
        self.pending = {}
        self.events, self.collectives = [], []
        self.exposed = self.memory_wait = 0.0

    # The instructions.

    def run(self, name, times):
        for instruction in self.program.computations[name]:
            self.step(instruction, times)

    def step(self, op, times):
        opcode, inside = op.opcode, self.inside(op)
        if opcode in FREE:
            return
        if opcode == "while":
            return self.loop(op, times)
        if opcode == "conditional":
            return self.branches(op, times)
        if opcode == "call":
            return self.run(op.called[0], times)
        if opcode.endswith("-done") or opcode == "async-update":
            return self.done(op, op.operands[0], times)
        found = next((i for i in [op, *inside] if i.opcode.removesuffix("-start") in COLLECTIVES), None)
        if found is not None:
            return self.collective(op, found, inside, times)
        if opcode in ("copy-start", "slice-start", "async-start", "dynamic-slice-start"):
            return self.copy_start(op, inside, times)
        self.compute(op, inside, times)

    def inside(self, op):
        """The instructions of the computations that it calls, and of those that these call."""
        if op.opcode not in ("fusion", "call", "async-start"):
            return []
        found = []
        for name in op.called:
            for instruction in self.program.computations.get(name, []):
                found.append(instruction)
                found += self.inside(instruction)
        return found

    def loop(self, op, times):
        body, count = op.attributes["body"].lstrip("%"), self.trips(op)
        before = self.now
        self.run(body, times * count)
        self.wait_for_all()
        self.now += (count - 1) * (self.now - before)

    def trips(self, op):
        """The iterations, as the compiler knows them, or of a counter from 0 by 1 below a constant; 1 if there is neither."""
        known = re.search(r'known_trip_count[^\d]*(\d+)', op.attributes.get("backend_config", ""))
        if known:
            return int(known[1])
        condition = self.program.computations[op.attributes["condition"].lstrip("%")]
        constants = {i.name: int(i.literal) for i in condition if i.opcode == "constant" and i.literal.isdigit()}
        bounds = [constants[name] for i in condition for name in i.operands if i.opcode == "compare" and name in constants]
        return bounds[0] if bounds else 1

    def branches(self, op, times):
        """Only the longest branch counts."""
        before, best = self.state(), None
        for name in op.called:
            self.restore(before)
            self.run(name, times)
            if best is None or self.now > best[0]:
                best = self.state()
        self.restore(best or before)

    def state(self):
        return (self.now, dict(self.link_free), self.copies_free, dict(self.pending), list(self.events), list(self.collectives),
                self.exposed, self.memory_wait)

    def restore(self, state):
        (self.now, links, self.copies_free, self.pending, self.events, self.collectives, self.exposed, self.memory_wait) = state
        self.link_free = defaultdict(float, links)
        self.pending, self.events, self.collectives = dict(self.pending), list(self.events), list(self.collectives)

    # Compute.

    def compute(self, op, inside, times):
        if all(array.space not in (0, 1) or array.bits == 0 for array in op.arrays):
            return
        arithmetic = [i for i in [op, *inside] if i.opcode in PRODUCTS]
        cycles, bytes = op.cycles, self.traffic(op)
        if cycles is not None:
            seconds, priced = cycles / self.chip.clock, "cycles"
        elif op.opcode == "custom-call":
            seconds, priced = 0.0, "unpriced"
        else:
            seconds, priced = bytes / self.chip.memory, "bytes"
        kind = kind_of(op, inside)
        flops = sum(self.flops(i) for i in arithmetic)
        self.place(op, kind, "core", self.now, seconds, cycles, bytes, flops, times, priced)
        self.now += seconds

    def traffic(self, op):
        """Bytes read and written in HBM; of an update in place only the update."""
        sizes = {i.name: i.arrays for i in self.scope(op)}
        read = [array for name in op.operands for array in sizes.get(name, [])]
        if op.opcode == "dynamic-update-slice":
            update = sizes.get(op.operands[1], [])
            return sum(array.padded_bytes * (2 if array.space == 0 else 1) for array in update)
        return sum(array.padded_bytes for array in [*read, *op.arrays] if array.space == 0)

    def scope(self, op):
        """The instructions of the computation that has `op`."""
        if not hasattr(self, "scopes"):
            self.scopes = {id(i): body for body in self.program.computations.values() for i in body}
        return self.scopes[id(op)]

    def flops(self, product):
        """Of a convolution, as which products are written: every element of the result sums over the kernel of its feature."""
        sizes = {i.name: i.arrays[0].sizes for i in self.scope(product) if i.arrays}
        labels = product.attributes.get("dim_labels", "")
        if not labels or not all(name in sizes for name in product.operands[:2]):
            return 0.0
        image, kernel = (sizes[name] for name in product.operands[:2])
        inputs, _, rest = labels.partition("_")
        kernels, _, outputs = rest.partition("->")
        window = dict(part.split("=") for part in product.attributes.get("window", "{}").strip("{}").split())
        pairs = kernel[kernels.index("i")]
        for name, size in zip(outputs, product.arrays[0].sizes):
            positions = [int(field.split("_")[0]) for field in window.get("pad", "").split("x") if field]
            at = lambda field, otherwise: (int(window[field].split("x")[int(name)]) if field in window else otherwise)
            if name.isdigit():
                low = positions[int(name)] if positions else 0
                pairs *= valid_pairs(
                    size, at("size", 1), image[inputs.index(name)], low, at("stride", 1), at("lhs_dilate", 1), at("rhs_dilate", 1)
                )
            else:
                pairs *= size
        return 2.0 * pairs

    # What runs next to the core.

    def copy_start(self, op, inside, times):
        """Copies between memories; those of arguments that the program before fetches take no time here."""
        early = "cross_program_prefetch_index" in op.attributes
        bytes = max((array.bytes for array in op.arrays if array.space in (0, 1)), default=0.0)
        if op.opcode != "copy-start" and len(op.arrays) > 1:
            bytes = min(array.bytes for array in op.arrays if array.space in (0, 1) and array.bits)
        start = max(self.now, self.copies_free)
        seconds = 0.0 if early else bytes / self.chip.memory
        self.copies_free = start + seconds
        self.pending[op.name] = (start + seconds, None)
        self.place(op, "copy", "memory", start, seconds, None, bytes, 0.0, times, "bytes")

    def collective(self, op, found, inside, times):
        kind = found.opcode.removesuffix("-start")
        targets = {i.attributes.get("custom_call_target", "").strip('"') for i in inside}
        channel = "channel " + found.attributes.get("channel_id", found.name)
        cycles = op.cycles
        work = (cycles or 0) / self.chip.clock
        if "AsyncCollectiveDone" in targets:
            return self.done(op, channel, times)
        if "AsyncCollectiveStart" not in targets and channel in self.pending:
            # A product inside of which the collective continues.
            product = [i for i in inside if i.opcode in PRODUCTS]
            flops = sum(self.flops(i) for i in product)
            self.place(op, kind_of(op, inside), "core", self.now, work, cycles, self.traffic(op), flops, times, "cycles")
            self.now += work
            return
        starts = "AsyncCollectiveStart" in targets or op.opcode.endswith("-start")
        if kind == "all-reduce" and op is not found and not starts and any(i.opcode == "dynamic-slice" for i in inside):
            kind = "reduce-scatter"
        groups, bytes, seconds, links = self.price(kind, op, found, kind != found.opcode.removesuffix("-start"))
        chosen = {**found.config.get("collective_algorithm_config", {}), **op.config.get("collective_algorithm_config", {})}
        record = Collective(
            kind, line_of(op) or line_of(found), len(groups), len(groups[0]) if groups else 2, bytes, chosen.get("emitter", ""),
            chosen.get("strategy", ""), starts, seconds, 0.0, times,
        )
        start = max([self.now, *(self.link_free[link] for link in links)])
        self.collectives.append(record)
        self.place(op, kind, "links" if starts else "core", start, seconds, cycles, bytes, 0.0, times, "links")
        for link in links:
            self.link_free[link] = start + seconds
        if starts:
            self.pending[channel if "AsyncCollectiveStart" in targets else op.name] = (start + seconds, record)
            self.now += work
        else:
            end = max(start + seconds, self.now + work)
            record.exposed_s = end - self.now
            self.exposed += record.exposed_s * times
            self.now = end

    def price(self, kind, op, found, scattered):
        """Groups, bytes of the array that goes around, seconds, and the links that it occupies."""
        arrays = [array for array in found.arrays if array.bytes > 8]
        devices = len(self.links.places)
        if kind == "collective-permute":
            pairs = [[int(n) for n in pair.strip("{}").split(",")] for pair in parts(found.attributes["source_target_pairs"][1:-1])]
            bytes = sum(array.bytes for array in arrays) / (2 if found.opcode.endswith("-start") else 1)
            seconds, used = self.links.permute(bytes, pairs)
            return [], bytes, seconds, used
        groups = replica_groups(found.attributes.get("replica_groups", "{}"), devices)
        size = len(groups[0])
        if found.opcode.endswith("-start") and len(arrays) > 1:
            arrays = arrays[len(arrays) // 2 :]
        result = sum(array.bytes for array in arrays)
        bytes = result * size if kind == "reduce-scatter" and not scattered else result
        debug = " ".join(i.config.get("collective_algorithm_config", {}).get("debug", "") for i in (found, op))
        phases = max([int(n) for n in re.findall(r"phases:(\d+)", debug)], default=1)
        if kind in ("all-to-all", "ragged-all-to-all"):
            seconds = self.links.exchange(bytes, groups[0])
        else:
            seconds = self.links.gather(bytes, groups[0], phases) * (2 if kind == "all-reduce" else 1)
        used = {(line.dim, way) for line in self.links.lines(groups[0]) for way in (1, -1)}
        return groups, bytes, seconds, used

    def done(self, op, started, times):
        if op.opcode == "async-update":
            self.pending[op.name] = self.pending.pop(started, (self.now, None))
            return
        end, collective = self.pending.pop(started, (self.now, None))
        waits = max(0.0, end - self.now)
        self.now += waits
        if collective is not None:
            collective.exposed_s += waits
            self.exposed += waits * times
        else:
            self.memory_wait += waits * times

    def wait_for_all(self):
        for end, _ in self.pending.values():
            self.now = max(self.now, end)
        self.pending = {}

    def place(self, op, kind, beside, start, seconds, cycles, bytes, flops, times, priced):
        if seconds or bytes:
            self.events.append(Event(op.name, kind, line_of(op), beside, start, seconds, cycles, bytes, flops, times, priced))

    def report(self):
        core = [event for event in self.events if event.beside == "core" and event.priced != "links"]
        total = lambda events: sum(event.seconds * event.count for event in events)
        by_kind, by_line = defaultdict(float), defaultdict(float)
        for event in core:
            by_kind[event.kind] += event.seconds * event.count
            by_line[event.line] += event.seconds * event.count
        layouts = [event for event in core if event.kind == "layout"]
        communication = sum(c.seconds * c.count for c in self.collectives)
        return {
            "step_s": self.now,
            "compute_s": total(core),
            "communication_s": communication,
            "hidden_s": communication - self.exposed,
            "exposed_s": self.exposed,
            "memory_wait_s": self.memory_wait,
            "without_cycles_s": total(event for event in core if event.priced == "bytes"),
            "unpriced": sum(event.count for event in core if event.priced == "unpriced"),
            "flops": sum(event.flops * event.count for event in core),
            "traffic_bytes": sum(event.bytes * event.count for event in core),
            "layout_copies": {"seconds": total(layouts), "bytes": sum(e.bytes * e.count for e in layouts), "count": len(layouts)},
            "seconds_by_kind": dict(sorted(by_kind.items(), key=lambda item: -item[1])),
            "seconds_by_line": dict(sorted(by_line.items(), key=lambda item: -item[1])),
            "collectives": [asdict(c) for c in self.collectives],
            "schedule": [asdict(event) for event in self.events],
        }


def valid_pairs(outputs, window, inputs, low, stride, dilated, window_dilated):
    """Pairs of an output and a position of its window at which there is an input, in one dimension."""
    at = (o * stride + k * window_dilated - low for o in range(outputs) for k in range(window))
    return sum(position % dilated == 0 and 0 <= position // dilated < inputs for position in at)


def kind_of(op, inside):
    """What an op mostly does, by the ops inside."""
    opcodes = {i.opcode for i in [op, *inside]} - {"fusion"}
    for kind, names in (
        ("product", PRODUCTS), ("sort", {"sort"}), ("fft", {"fft"}), ("custom call", {"custom-call"}), ("scatter", {"scatter"}),
        ("gather", {"gather"}), ("window", {"reduce-window", "select-and-scatter"}), ("reduce", {"reduce"}),
    ):
        if opcodes & names:
            return kind
    if opcodes <= LAYOUTS and opcodes & {"copy", "transpose", "reshape"}:
        return "layout"
    if "dynamic-update-slice" in opcodes:
        return "update"
    return "elementwise"


def line_of(op):
    """The source line: what `tpu.py` wrote into the name of an op."""
    return op.op_name.split(";")[0].rpartition("|")[2] if "|" in op.op_name else op.op_name
