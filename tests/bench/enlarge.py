"""Writes larger versions of programs whose ops name no sizes but in their types: products, elementwise ops, reductions.

    python enlarge.py FOLDER PROGRAM... [--factor 64] [--devices 16]

Every size in a type but 1 is multiplied by the factor, and the first axis of the mesh so that there are that many devices. Programs of the
corpus, which are folders, get the name of the folder.
"""
import argparse
import re
from pathlib import Path

# These have sizes, positions or device numbers among their attributes.
NOT = ("slice", "pad", "gather", "scatter", "replica_groups", "source_target_pairs", "concatenate", "manual_computation")


def enlarged(text, factor):
    named = [op for op in NOT if factor != 1 and re.search(rf'\bstablehlo\.\w*{op}|sdy\.{op}|{op} =', text)]
    if named:
        raise ValueError(f"sizes are also in {', '.join(named)}")
    larger = lambda size: 1 if size == 1 else size * factor
    sizes = lambda match: "tensor<" + "".join(f"{larger(int(size))}x" for size in match[1].split("x")[:-1])
    return re.sub(r"tensor<((?:\d+x)+)", sizes, text)


def on_more_devices(text, devices):
    partitions = int(re.search(r"mhlo\.num_partitions = (\d+)", text)[1])
    if devices == partitions:
        return text
    text = text.replace(f"mhlo.num_partitions = {partitions}", f"mhlo.num_partitions = {devices}")
    grown = lambda match: f"{match[1]}{int(match[2]) * devices // partitions}"
    return re.sub(r'(sdy\.mesh @\w+ = <\["\w+"=)(\d+)', grown, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--factor", type=int, default=1)
    parser.add_argument("--devices", type=int)
    options = parser.parse_args()
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    for program in map(Path, options.programs):
        text = enlarged(program.read_text(), options.factor)
        text = on_more_devices(text, options.devices) if options.devices else text
        name = program.parent.name if program.name == "program.mlir" else program.stem
        Path(options.folder, f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()
