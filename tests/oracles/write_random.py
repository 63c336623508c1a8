"""Writes random programs, one a seed: python write_random.py DIR FIRST LAST."""
import os
import sys

import random_programs

folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(folder, exist_ok=True)
for seed in range(first, last):
    with open(os.path.join(folder, f"{seed}.mlir"), "w") as file:
        file.write(random_programs.program(seed))
