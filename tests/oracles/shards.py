"""Prints the shards of one process that an index of `shardc run --outputs` lists: `python shards.py out.index.json RANK`."""

import json
import sys

index, rank = sys.argv[1], int(sys.argv[2])
for array in json.load(open(index))["arrays"]:
    for shard in array["shards"]:
        if shard["file"].endswith(f".{rank}.npz"):
            at = ", ".join(f"{s}:{s + n}" for s, n in zip(shard["start"], shard["sizes"]))
            print(f"  {array['name']}[{at}] of {array['element']}{array['shape']}, from {shard['array'].split('.')[-1]}")
