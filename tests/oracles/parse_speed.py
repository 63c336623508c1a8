"""How fast MLIR, as jaxlib has it, reads and prints texts: what `make bench-parse` sets beside our own times.

Prints, for each file named, its bytes, the best and median seconds of ten readings (which verify too) and of printing, and the most
memory that reading takes for each byte of the text.
"""

import sys
import time

from jax._src.interpreters import mlir
from jaxlib.mlir import ir

ROUNDS = 10


def status(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


for path in sys.argv[1:]:
    text = open(path).read()
    parse, show, taken = [], [], 0
    for i in range(ROUNDS):
        with mlir.make_ir_context():
            before, start = status("VmRSS:"), time.perf_counter()
            module = ir.Module.parse(text)
            parse.append(time.perf_counter() - start)
            taken = taken or status("VmHWM:") - before
            start = time.perf_counter()
            module.operation.get_asm()
            show.append(time.perf_counter() - start)
            del module
    parse.sort()
    print(f"{path}: {len(text)} bytes; jaxlib: parse {parse[0]:.4f} s (median {parse[ROUNDS // 2]:.4f} s), "
          f"print {min(show):.4f} s; {taken / len(text):.1f} bytes of memory a byte of text")
