"""The seconds of collectives on the links of a slice of TPUs, from the positions of the devices.

The TPU compiler prints no time for a collective, but which algorithm runs it. A ring passes (n - 1) / n of the array over every
link of the ring, in both directions at once; on a line that doesn't close, the way back uses the same links. Steps of an
algorithm over several dimensions follow one another, and each color, a part of the array, begins with another dimension.
"""
import math
from dataclasses import dataclass

# Hertz, bytes/s of memory, of one link in one direction, and of one chip to other slices; the sources are in
# passes/src/estimate/chip.rs. The clock makes the MXUs' FLOPs of a cycle the published peak.
@dataclass(frozen=True)
class Chip:
    clock: float
    memory: float
    link: float
    network: float
    rank: int


CHIPS = {
    "v4": Chip(1.05e9, 1.2e12, 45e9, 6.25e9, 3),
    "v5e": Chip(1.5e9, 810e9, 45e9, 3.125e9, 2),
    "v5p": Chip(1.75e9, 2.8e12, 90e9, 6.25e9, 3),
    "v6e": Chip(1.75e9, 1.6e12, 90e9, 12.5e9, 2),
}
HOP = 1e-6
NETWORK_START = 10e-6


@dataclass(frozen=True)
class Line:
    """The part of a group along one dimension: devices, links between neighbors, whether the last is linked to the first."""

    dim: int
    size: int
    stride: int
    ring: bool

    def seconds(self, bytes, link):
        """Of a gather, or in reverse of a reduce-scatter, of an array of `bytes`."""
        ways = 2 if self.ring else 1
        steps = self.size // 2 if self.ring else self.size - 1
        return max(HOP * steps * self.stride, bytes * (self.size - 1) / self.size / ways * self.stride / link)


class Links:
    """The links of a slice whose devices are at `places`, [slice, x, y, z] of each."""

    def __init__(self, chip, dims, places):
        self.chip, self.dims, self.places = chip, dims, places
        cubes = all(size % 4 == 0 for size in dims)
        self.wraps = [size == 16 if chip.rank == 2 else cubes for size in dims]

    def lines(self, group):
        """The lines of which a group is the product; one ring through all if it isn't a product."""
        places = [self.places[id] for id in group]
        inside = [place[1:] for place in places if place[0] == places[0][0]]
        lines = []
        for dim in range(len(self.dims)):
            at = sorted({place[dim] for place in inside})
            if len(at) > 1:
                stride = math.gcd(*(b - a for a, b in zip(at, at[1:])))
                ring = self.wraps[dim] and len(at) * stride == self.dims[dim]
                lines.append(Line(dim, len(at), stride, ring))
        if math.prod(line.size for line in lines) != len(inside):
            return [Line(0, len(inside), 1, False)]
        return lines

    def slices(self, group):
        return len({self.places[id][0] for id in group})

    def gather(self, bytes, group, phases):
        """Seconds of a gather of an array of `bytes` in `phases` steps."""
        count = self.slices(group)
        network = NETWORK_START + bytes / (len(group) // count) * (count - 1) / count / self.chip.network if count > 1 else 0.0
        lines = self.lines(group)
        if len(lines) > 1 and phases <= 1:
            # One ring through a box, which closes if a side is even.
            size = math.prod(line.size for line in lines)
            ring = Line(lines[0].dim, size, max(line.stride for line in lines), any(line.size % 2 == 0 for line in lines))
            return network + ring.seconds(bytes, self.chip.link)
        # Each color gathers its part along one dimension after the other, the colors along different ones.
        seconds, colors = 0.0, max(1, len(lines))
        for step in range(len(lines)):
            at_once = []
            for color in range(colors):
                order = lines[color:] + lines[:color]
                missing = math.prod(line.size for line in order[step + 1 :])
                at_once.append(order[step].seconds(bytes / colors / missing, self.chip.link))
            seconds += max(at_once)
        return network + seconds

    def exchange(self, bytes, group):
        """Seconds of an all-to-all in which each device has `bytes`: the middle of the longest dimension bounds it."""
        count = self.slices(group)
        network = NETWORK_START + bytes * (count - 1) / count / self.chip.network if count > 1 else 0.0
        lines = self.lines(group)
        total = bytes * len(group) / count
        devices = math.prod(line.size for line in lines)
        worst = 0.0
        for line in lines:
            across = total * (line.size * line.size // 4) / line.size**2 * line.size / devices
            ways = 2 if line.ring else 1
            worst = max(worst, across * line.stride / ways / self.chip.link, HOP * line.stride * (line.size - 1))
        return network + worst

    def permute(self, bytes, pairs):
        """Seconds of a permute: the busiest link, with dimension after dimension on the shortest way; and the dimensions used."""
        load, hops, used, between = {}, 0, set(), {}
        for source, target in pairs:
            a, b = self.places[source], self.places[target]
            if a[0] != b[0]:
                between[source] = between.get(source, 0) + 1
                continue
            at, length = list(a[1:]), 0
            for dim, size in enumerate(self.dims):
                distance = b[dim + 1] - at[dim]
                if self.wraps[dim] and abs(distance) > size / 2:
                    distance -= size if distance > 0 else -size
                step = 1 if distance > 0 else -1
                for _ in range(abs(distance)):
                    link = (*at, dim, step)
                    load[link] = load.get(link, 0) + 1
                    used.add((dim, step))
                    at[dim] = (at[dim] + step) % size
                length += abs(distance)
            hops = max(hops, length)
        inside = max(load.values(), default=0) * bytes / self.chip.link + HOP * hops
        network = max(between.values(), default=0) * bytes / self.chip.network + NETWORK_START * bool(between)
        return max(inside, network), used
