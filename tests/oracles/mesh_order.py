"""The places of a mesh's devices in slices of TPUs, as JAX orders them.

Prints one JSON object a line: {"target", "mesh", "places"}; a place has the slice, x, y, z and the core of a device.
"""

import itertools
import json
from dataclasses import dataclass

import numpy as np
from jax.experimental import mesh_utils

# The name of a target, what JAX calls the chip, and the devices on each.
CHIPS = {
    "v4p": ("TPU v4", 1),
    "v5e": ("TPU v5 lite", 1),
    "v5p": ("TPU v5p", 1),
    "v6e": ("TPU v6 lite", 1),
    "v7x": ("TPU7x", 2),
}
FLAT = [(1, 1), (2, 2), (2, 4), (4, 2), (1, 8), (8, 1), (4, 4), (4, 8), (8, 4), (8, 8), (16, 16)]
DEEP = [(2, 2, 1), (2, 2, 2), (2, 2, 4), (2, 4, 4), (4, 4, 4), (4, 4, 8), (4, 8, 8)]
SLICES = {name: FLAT if name in ("v5e", "v6e") else DEEP for name in CHIPS}


@dataclass
class Device:
    id: int
    coords: tuple
    core_on_chip: int
    slice_index: int
    device_kind: str
    platform: str = "tpu"


def devices(kind, dims, cores, number):
    """The devices of slice `number`, numbered along x first."""
    z, y, x = reversed((*dims, 1)[:3])
    places = itertools.product(range(z), range(y), range(x), range(cores))
    return [Device(i, (x, y, z), core, number, kind) for i, (z, y, x, core) in enumerate(places)]


def meshes(count):
    """Meshes of up to four axes of this many devices, a power of two, some with an axis of size 1."""
    for axes in range(1, 5):
        for shape in itertools.product(*[[2**i for i in range(count.bit_length())]] * axes):
            if np.prod(shape) == count and (shape.count(1) <= 1 or count == 1):
                yield shape


def show(target, mesh, order):
    places = [[d.slice_index, *d.coords, d.core_on_chip] for d in order.flatten()]
    print(json.dumps({"target": target, "mesh": [int(n) for n in mesh], "places": places}))


for name, (kind, cores) in CHIPS.items():
    for dims in SLICES[name]:
        box = "x".join(map(str, dims))
        one = devices(kind, dims, cores, 0)
        for mesh in meshes(len(one)):
            order = mesh_utils.create_device_mesh(mesh, one, allow_split_physical_axes=True)
            show(f"{name}:{box}", mesh, order)
        # Two slices along an axis in front of the others.
        if len(one) <= 16:
            two = one + devices(kind, dims, cores, 1)
            for mesh in meshes(len(one)):
                if len(mesh) < 3:
                    ones = [1] * len(mesh)
                    create = mesh_utils.create_hybrid_device_mesh
                    order = create((1, *mesh), (2, *ones), two, allow_split_physical_axes=True)
                    show(f"2x{name}:{box}", (2, *mesh), order)
