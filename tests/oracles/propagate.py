"""What Shardy's propagation makes of programs: the oracle of the propagation tests.

    python propagate.py list FILE                the listing of one program, on stdout
    python propagate.py corpus DIR PROGRAM...    writes DIR/<name>.txt for each corpus program <name>/program.mlir
    python propagate.py programs DIR FILE...     writes each program with its listing behind it into DIR
    python propagate.py random DIR FIRST LAST    the same for the random programs of these seeds
    python propagate.py                          verdicts on the cases on stdin, one JSON object a line

A case has a "name" and either a "seed" or a "text" and perhaps "options", which are those of Shardy's propagation pass.
Its verdict has the name, the program and its "listing", or an "error". With "rules", the listing has the sharding rule
of every op instead.

Needs `pip install jax==0.10.2` (CPU is enough). Run by hand when programs are added; the tests of `passes` read what
it writes (`passes/tests/propagate`).

A listing has one line for each function, argument, result and op in the order of the text, constants left out:
indentation by depth, then what it is, then the number of its sharding in the table at the top (`-` for none). Ops
with several results have several numbers. A manual computation has those of its operands before a `|`.
"""
import json
import os
import re
import sys

import random_programs


PIPELINE = "sdy-propagation-pipeline"


def pipeline(text, options):
    """The passes of Shardy's propagation, with other options for the one that propagates."""
    from jaxlib.mlir import passmanager

    named = "sdy.named_computation" in text
    if not options and not named:
        return PIPELINE
    passes = str(passmanager.PassManager.parse(f"builtin.module({PIPELINE})"))[len("builtin.module("):-1]
    # This one stands in the text but can't be read.
    passes = passes.replace("sdy-save-module,", "")
    if named:
        # The edges that calls get go to named computations a second time, which Shardy then refuses.
        passes = passes.replace("named-computations=true", "named-computations=false")
    for name, value in options.items():
        passes, count = re.subn(f"\\b{name}=\\w+", f"{name}={value}", passes)
        assert count > 0, f"no pass has the option {name}"
    return passes


def run(text, passes):
    """The module after `passes`."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    context = mlir.make_ir_context()
    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
    return module


def propagate(text, options={}):
    """Runs Shardy's propagation pipeline; gives the module."""
    from jax._src.interpreters import mlir

    with mlir.make_ir_context():
        passes = pipeline(text, options)
    return run(text, passes)


def split(text):
    """The items of `[<a>, <b>]`."""
    items, depth, start = [], 0, None
    for i, c in enumerate(text):
        if c in "<[{(":
            depth += 1
            if depth == 1:
                start = i + 1
        elif c in ">]})":
            depth -= 1
            if depth == 0:
                items.append(text[start:i])
    return items


def per_value(attribute):
    """The shardings of `#sdy.sharding_per_value<[<a>, <b>]>`."""
    inner = str(attribute)[len("#sdy.sharding_per_value<"):-1]
    return split(inner[1:-1])


class Listing:
    def __init__(self):
        self.table, self.lines = {}, []

    def number(self, sharding):
        if sharding is None:
            return "-"
        return str(self.table.setdefault(sharding, len(self.table)))

    def add(self, depth, what, shardings):
        self.lines.append(" ".join(["  " * depth + what, *map(self.number, shardings)]))

    def text(self):
        table = [f"{n} <{s}>" for s, n in self.table.items()]
        return "\n".join([*table, "", *self.lines, ""])

    def module(self, module):
        for op in module.body.operations:
            if op.operation.name == "func.func":
                self.function(op)
        return self.text()

    def function(self, function):
        self.add(0, "func " + function.name.value, [])
        attributes = function.operation.attributes
        counts = {"arg_attrs": len(function.type.inputs), "res_attrs": len(function.type.results)}
        for name, label in (("arg_attrs", "arg"), ("res_attrs", "result")):
            dicts = list(attributes[name]) if name in attributes else []
            for i in range(counts[name]):
                entry = dicts[i]["sdy.sharding"] if i < len(dicts) and "sdy.sharding" in dicts[i] else None
                sharding = str(entry)[len("#sdy.sharding<"):-1] if entry is not None else None
                self.add(1, f"{label} {i}", [sharding])
        self.block(function.regions[0].blocks[0], 1)

    def block(self, block, depth):
        for op in block.operations:
            self.op(op.operation, depth)

    def op(self, op, depth):
        if op.name in ("stablehlo.constant", "sdy.constant"):
            return
        attributes, results = op.attributes, len(op.results)
        name = op.name
        if name == "func.call":
            name += " " + str(attributes["callee"])
        if name in ("sdy.manual_computation", "sdy.named_computation"):
            ins, outs = (per_value(attributes[n]) if n in attributes else [] for n in ("in_shardings", "out_shardings"))
            self.lines.append(" ".join(["  " * depth + name, *map(self.number, ins), "|", *map(self.number, outs)]))
        elif "sharding" in attributes and name.startswith("sdy."):
            self.add(depth, name, [str(attributes["sharding"])[len("#sdy.sharding<"):-1]])
        elif "out_sharding" in attributes:
            self.add(depth, name, [str(attributes["out_sharding"])[len("#sdy.sharding<"):-1]])
        elif "sdy.sharding" in attributes:
            self.add(depth, name, per_value(attributes["sdy.sharding"]))
        else:
            self.add(depth, name, [None] * results)
        for region in op.regions:
            for block in region.blocks:
                self.block(block, depth + 1)


def listing(text, options={}):
    return Listing().module(propagate(text, options))


def rules(text, options):
    """The sharding rule of every op that has one, function by function."""
    chosen = " ".join(f"{name}={value}" for name, value in options.items())
    module = run(text, f"func.func(sdy-populate-op-sharding-rules{{{chosen}}})")
    lines = []

    def visit(op):
        if "sdy.sharding_rule" in op.attributes:
            lines.append(f"  {op.name} {op.attributes['sdy.sharding_rule']}")
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner.operation)

    for op in module.body.operations:
        if op.operation.name == "func.func":
            lines.append(f"func {op.name.value}")
            visit(op.operation)
    return "\n".join(["", *lines, ""])


def without_edges(text):
    """A program without data-flow edges, which the pipeline adds itself: their shardings sink where Shardy lets them."""
    if not re.search(r"sdy\.(func_)?data_flow_edge", text):
        return text
    try:
        if "sdy.func_data_flow_edge" not in text:
            return str(run(text, "func.func(sdy-sink-data-flow-edges)"))
    except Exception:
        pass
    edge = re.compile(r"(%\w+) = sdy\.(?:func_)?data_flow_edge (%[\w#]+).*")
    out = []
    for function in re.split(r"(?=^ *func\.func)", text, flags=re.M):
        for name, source in edge.findall(function):
            function = re.sub(rf"{name}(?![\w#])(?! = )", source, function)
        out.append(edge.sub("", function))
    return "".join(out)


def verdict(case):
    """What Shardy says of one case."""
    text = case["text"] if "text" in case else random_programs.program(case["seed"])
    said = {"name": case["name"], "program": text}
    try:
        said["program"] = text = without_edges(text)
        options = case.get("options", {})
        said["listing"] = rules(text, options) if case.get("rules") else listing(text, options)
    except Exception as error:
        said["error"] = str(error)[:1000]
    return said


def judge(cases):
    """Prints a verdict on every case. Shardy ends the process on some programs it doesn't like, so a child judges
    until it dies and another goes on behind the case that killed it."""
    from jax._src.interpreters import mlir  # noqa: F401, loaded once for all children

    at = 0
    while at < len(cases):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w", buffering=1) as out:
                for case in cases[at:]:
                    out.write(json.dumps(verdict(case)) + "\n")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            for line in lines:
                sys.stdout.write(line)
                at += 1
        os.waitpid(child, 0)
        if at < len(cases):
            case = cases[at]
            text = case["text"] if "text" in case else random_programs.program(case["seed"])
            print(json.dumps({"name": case["name"], "program": text, "error": "Shardy crashed"}))
            at += 1


def write(path, program):
    """A program as MLIR prints it and, in comments, its listing."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        text = str(ir.Module.parse(program))
    expected = "".join(f"// {line}".rstrip() + "\n" for line in listing(text).splitlines())
    with open(path, "w") as out:
        out.write(f"{text.rstrip()}\n\n// expected\n{expected}")


def write_random(directory, seed):
    try:
        write(f"{directory}/random_{seed}.mlir", random_programs.program(seed))
    except Exception as error:
        print(f"seed {seed}: {str(error)[:300]}")


def main():
    if len(sys.argv) == 1:
        return judge([json.loads(line) for line in sys.stdin])
    command, *arguments = sys.argv[1:]
    if command == "list":
        print(listing(open(arguments[0]).read()), end="")
    elif command == "corpus":
        for file in arguments[1:]:
            with open(f"{arguments[0]}/{file.split('/')[-2]}.txt", "w") as out:
                out.write(listing(open(file).read()))
    elif command == "programs":
        for file in arguments[1:]:
            write(f"{arguments[0]}/{file.split('/')[-1]}", open(file).read())
    elif command == "random":
        directory, first, last = arguments[0], int(arguments[1]), int(arguments[2])
        for seed in range(first, last):
            # Shardy ends the process on some programs it doesn't like.
            child = os.fork()
            if child == 0:
                write_random(directory, seed)
                os._exit(0)
            if os.waitpid(child, 0)[1] != 0:
                print(f"seed {seed}: Shardy crashed")


if __name__ == "__main__":
    main()
