"""What each threshold of the passes gains: the modeled step and the time to compile with other values of it.

    python heuristics.py SHARDC PROGRAM... [--rows a,b] [--target NAME] [--jobs N] [--json OUT]

SHARDC is built with the feature `ablation` of shardc-passes. A row of the two files of thresholds has a value and, after
`or`, others. For each of those, the table has the largest and the smallest change of a program's modeled step, the change
of all steps together (of the mean ratio), and the change of the processor time of all compilations. A row is printed with
a star where no other value changes a step by 0.5 % or the time by 5 %.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import resource
import subprocess
import tempfile

FILES = ["passes/src/heuristics.rs", "passes/src/plan/heuristics.rs"]
ROW = re.compile(r"^    (\w+): [^=]+ = (.*), or \[(.*)\];$", re.M)


def rows():
    """Name, value and other values of each row."""
    for file in FILES:
        with open(file) as text:
            for name, value, others in ROW.findall(text.read()):
                yield name, value, [other.strip() for other in re.findall(r"\[[^]]*\]|[^,\[\]]+", others) if other.strip()]


def compiled(shardc, program, target, row):
    """Modeled seconds of a step, and the processor seconds of compiling; None where it takes over ten minutes."""
    environment = {**os.environ, "SHARDC_ABLATION": row} if row else None
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.mlir")
        pid = os.posix_spawn(shardc, [shardc, "compile", program, "--target", target, "-o", out], environment or os.environ,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
        _, status, used = os.wait4(pid, 0)
        if status:
            return None
        told = subprocess.run([shardc, "cost", "--target", target, "--json", out], check=True, capture_output=True, text=True)
        return json.loads(told.stdout.splitlines()[-1])["step_s"], used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardc")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--rows", help="only these, separated by commas")
    parser.add_argument("--target", default="v5p")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (600, resource.RLIM_INFINITY))
    chosen = options.rows.split(",") if options.rows else None
    variants = [(name, value, index, other) for name, value, others in rows() if not chosen or name in chosen
                for index, other in enumerate(others)]
    told = []
    print(f"{'row':<22} {'value':>10} {'other':>12} {'step, all':>10} {'least':>8} {'most':>8} {'time':>7}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def measure(row):
            return list(pool.map(lambda program: compiled(options.shardc, program, options.target, row), options.programs))

        before = measure(None)
        for name, value, index, other in variants:
            after = measure(f"{name}={index}")
            pairs = [(a, b) for a, b in zip(before, after) if a and b]
            if not pairs:
                print(f"{name:<22} {value:>10.10} {other:>12.12} every compilation failed", flush=True)
                continue
            ratios = [b[0] / a[0] for a, b in pairs]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) - 1
            time = sum(b[1] for _, b in pairs) / sum(a[1] for a, _ in pairs) - 1
            failed = sum(b is None and a is not None for a, b in zip(before, after))
            same = max(abs(r - 1) for r in ratios) < 0.005 and abs(time) < 0.05 and not failed
            most = max(range(len(pairs)), key=lambda i: abs(ratios[i] - 1))
            at = os.path.basename([p for p, a, b in zip(options.programs, before, after) if a and b][most])
            print(f"{name:<22} {value:>10.10} {other:>12.12} {mean:>10.2%} {min(ratios) - 1:>8.2%} {max(ratios) - 1:>8.2%} "
                  f"{time:>7.1%}{' *' if same else ''}{f'  {failed} failed' if failed else ''}  {at}", flush=True)
            told.append({"row": name, "other": other, "step": mean, "steps": ratios, "time": time, "failed": failed})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(told, file, indent=1)


if __name__ == "__main__":
    main()
