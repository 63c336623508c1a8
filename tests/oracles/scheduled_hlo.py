"""Reads the text of a scheduled HLO program: computations, and in each the instructions in the order in which a core runs them.

    program = parse(text)
    for instruction in program.entry: instruction.opcode, instruction.operands, instruction.arrays, …
"""
import functools
import json
import re
from dataclasses import dataclass, field

# A string or a bracket.
MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{}]')
# The end of a part of a list; brackets and strings are skipped.
COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{},]')
ARRAY = re.compile(r"(\w+)\[([\d,<=]*)\](?:\{([^}]*)\})?")
COMMENT = re.compile(r"/\*.*?\*/")

BITS = {
    "pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "bf16": 16, "f16": 16,
    "s32": 32, "u32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64, "c64": 64, "c128": 128, "token": 0, "opaque": 0,
}


@dataclass(frozen=True)
class Array:
    """The type of an array: element type, sizes, and the layout as HLO writes it: `1,0:T(8,128)(2,1)S(1)`."""

    element: str
    sizes: tuple
    layout: str

    @property
    def bits(self):
        return BITS.get(self.element) or 8 * self.element.startswith("f8") or 4 * self.element.startswith("f4")

    @property
    def bytes(self):
        count = 1
        for size in self.sizes:
            count *= size
        return count * self.bits / 8

    @property
    def padded_bytes(self):
        """Bytes with the minor dimensions padded to the first tile."""
        order, _, rest = self.layout.partition(":")
        tile = re.match(r"T\(([\d,*]+)\)", rest)
        if not order or not tile or "*" in tile[1]:
            return self.bytes
        tile = [int(size) for size in tile[1].split(",")]
        sizes = [self.sizes[int(dim)] for dim in reversed(order.split(","))]
        # A tile with more dimensions than the array has pads the missing ones, too.
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        for at, side in enumerate(reversed(tile), 1):
            sizes[-at] = -(-sizes[-at] // side) * side
        return functools.reduce(lambda a, b: a * b, sizes, 1) * self.bits / 8

    @property
    def space(self):
        """The memory: 0 is HBM, 1 is VMEM, the others hold scalars and semaphores."""
        found = re.search(r"S\((\d+)\)", self.layout)
        return int(found[1]) if found else 0


@dataclass
class Instruction:
    """One instruction; attributes are texts, except those that have a property."""

    name: str
    type: str
    opcode: str
    operands: list
    attributes: dict
    literal: str = ""
    root: bool = False

    @functools.cached_property
    def arrays(self):
        """The types of the result, one or those of a tuple."""
        return [
            Array(element, tuple(int(size.strip("<=")) for size in sizes.split(",") if size), layout)
            for element, sizes, layout in ARRAY.findall(COMMENT.sub("", self.type))
        ]

    @functools.cached_property
    def config(self):
        """What the compiler's backend decided."""
        text = self.attributes.get("backend_config", "{}")
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return {}

    @property
    def called(self):
        """The names of the computations that it calls."""
        names = []
        for attribute in ("calls", "to_apply", "body", "condition", "true_computation", "false_computation", "branch_computations",
                          "called_computations"):
            text = self.attributes.get(attribute, "").strip("{}")
            names += [name.strip().lstrip("%") for name in text.split(",") if name.strip()]
        return names

    @property
    def op_name(self):
        """The name of the op of the source, from its location."""
        name = self.attributes.get("metadata", "").partition('op_name="')[2]
        return name.partition('"')[0]

    @property
    def cycles(self):
        """The cycles that the compiler estimates for a fusion, a product, a copy; None where it says none."""
        window = self.config.get("window_config", {})
        for cycles in (window.get("estimated_cycles"), self.config.get("estimated_cycles")):
            if cycles is not None:
                return int(cycles)
        return None


@dataclass
class Program:
    computations: dict = field(default_factory=dict)
    entry_name: str = ""
    header: str = ""

    @property
    def entry(self):
        return self.computations[self.entry_name]


def parse(text):
    """Reads a program as XLA's `to_string` writes it."""
    program, current = Program(), None
    for line in text.splitlines():
        if line.startswith("HloModule"):
            program.header = line
        elif line.startswith("}"):
            current = None
        elif line.endswith("{") and not line.startswith(" ") and " (" in line:
            name = line.removeprefix("ENTRY ").split(" ", 1)[0].lstrip("%")
            current = program.computations.setdefault(name, [])
            if line.startswith("ENTRY "):
                program.entry_name = name
        elif current is not None and " = " in line:
            current.append(instruction(line.strip()))
    return program


def instruction(line):
    """Reads `[ROOT ]%name = type opcode(operands), attribute=value, …`."""
    root = line.startswith("ROOT ")
    name, rest = line.removeprefix("ROOT ").split(" = ", 1)
    end = closing(rest, 0) if rest.startswith("(") else rest.index(" ")
    type, rest = rest[:end], rest[end:].lstrip()
    opening = rest.index("(")
    end = closing(rest, opening)
    inside = rest[opening + 1 : end - 1]
    operands = [last_word(part) for part in parts(COMMENT.sub("", inside))] if "%" in inside else []
    attributes = {}
    for part in parts(rest[end:].lstrip(", ")):
        key, equals, value = part.partition("=")
        if key == "device_ids":
            # The rest of the groups of a collective.
            attributes["replica_groups"] += ", " + part
        elif equals:
            attributes[key] = value
    return Instruction(name.lstrip("%"), type, rest[:opening], operands, attributes, "" if operands else inside, root)


def closing(text, start):
    """Returns the position after the bracket that closes the one at `start`."""
    depth = 0
    for mark in MARK.finditer(text, start):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if depth == 0:
            return mark.end()
    raise ValueError(f"a bracket is not closed: {text[start:start + 80]}")


def parts(text):
    """Splits a list at the commas outside brackets and strings."""
    found, depth, start = [], 0, 0
    for mark in COMMA.finditer(text):
        if mark[0] == "," and depth == 0:
            found.append(text[start : mark.start()].strip())
            start = mark.end()
        else:
            depth += (mark[0] in "([{") - (mark[0] in ")]}")
    return [part for part in [*found, text[start:].strip()] if part]


def last_word(operand):
    return operand.split(" ")[-1].lstrip("%")


def replica_groups(text, devices):
    """The groups of a collective: `{{0,1},{2,3}}`, `[4,2]<=[2,4]T(1,0)`, `mesh['a'=2,'b'=4] {'b'}`; all devices if empty."""
    if text.startswith("mesh["):
        # The devices of a mesh may have another order.
        ids = text.partition("device_ids=(")[2].partition(") ")[0]
        text = text[: text.index("]") + 1] + " " + text[text.rindex("{") :]
        sizes = {key.strip("'"): int(size) for key, size in (axis.split("=") for axis in parts(text[5 : text.index("]")]))}
        names = [name.replace("'", "") for name in parts(text[text.index("{") + 1 : text.rindex("}")])]
        groups = groups_of_axes(sizes, names)
        order = listed(ids) if ids else range(sum(map(len, groups)))
        return [[order[at] for at in group] for group in groups]
    if "<=" in text:
        shape, _, source = text.partition("<=")
        groups, size = (int(n) for n in shape.strip("[]").split(","))
        ids = listed(source)
        return [ids[at * size : (at + 1) * size] for at in range(groups)]
    groups = [[int(n) for n in group.strip("{}").split(",")] for group in parts(text[1:-1]) if group != "{}"]
    return groups or [list(range(devices))]


def listed(source):
    """The ids of `[2,4]T(1,0)`, an array of them all, transposed."""
    dims, _, order = source.partition("T")
    dims = [int(n) for n in dims.strip("[]").split(",")]
    order = [int(n) for n in order.strip("()").split(",")] if order else range(len(dims))
    return transposed(dims, list(order))


def transposed(dims, order):
    """The ids 0, 1, … of an array with these sizes, in the order of its transpose."""
    strides = [1] * len(dims)
    for dim in range(len(dims) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * dims[dim]
    ids = [0]
    for dim in order:
        ids = [id + at * strides[dim] for id in ids for at in range(dims[dim])]
    return ids


def groups_of_axes(sizes, names):
    """The groups along the named axes of a mesh; `axis:(before)size` is a part of an axis."""
    dims, chosen = [], []
    for axis, size in sizes.items():
        part = next((name for name in names if name == axis or name.startswith(axis + ":")), None)
        if part is None or part == axis:
            dims.append(size)
            if part:
                chosen.append((names.index(part), len(dims) - 1))
        else:
            before, inside = (int(n) for n in part.partition(":(")[2].split(")"))
            dims += [before, inside, size // before // inside]
            chosen.append((names.index(part), len(dims) - 2))
    chosen = [dim for _, dim in sorted(chosen)]
    count = functools.reduce(lambda a, b: a * b, (dims[dim] for dim in chosen), 1)
    ids = transposed(dims, [dim for dim in range(len(dims)) if dim not in chosen] + chosen)
    return [ids[at : at + count] for at in range(0, len(ids), count)]
