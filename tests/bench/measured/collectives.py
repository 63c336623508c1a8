"""Programs of one collective each, for the measured collectives of collectives.json."""

# The axes of the mesh on a target, and which of them a group spans; elsewhere a group spans all devices. The cores of a v2
# are one device here, and the groups of four of a v7x are the four chips of a square, once for each half of a chip.
MESHES = {
    "v2:2x2": ({"a": 2, "b": 2}, "b"),
    "v5p:2x2x1": ({"a": 2, "b": 2}, "ab"),
    "v6e:2x4": ({"a": 2, "b": 4}, "ab"),
    "v6e:16x16": ({"a": 16, "b": 16}, "ab"),
    "v7x:2x2x1": ({"a": 4, "b": 2}, "a"),
    "v7x:2x2x2": ({"a": 2, "b": 4, "c": 2}, "b"),
    "h100x1.toml": ({"slice": 2}, "slice"),
    "a100x4cards.toml": ({"slice": 3, "a": 8}, ["slice", "a"]),
}
# A transfer of which only the rate is published is one of this size.
LARGE = 1 << 30


def mesh(record):
    """The axes of the mesh with their sizes, and the set of those that a group spans."""
    target = record["target"]
    if target in MESHES:
        axes, inside = MESHES[target]
        return axes, [name for name in axes if name in inside or inside == name]
    devices = record["devices"]
    slices = int(target.split("x")[0]) if target[0].isdigit() else 1
    axes = {"slice": slices, "a": devices // slices} if slices > 1 else {"a": devices}
    return axes, list(axes)


def groups(axes, inside):
    """The groups of devices that differ only in the given axes; devices are numbered with the last axis the fastest."""
    numbers = [()]
    for size in axes.values():
        numbers = [number + (i,) for number in numbers for i in range(size)]
    found = {}
    for device, number in enumerate(numbers):
        key = tuple(i for name, i in zip(axes, number) if name not in inside)
        found.setdefault(key, []).append(device)
    return list(found.values())


def ring(axes):
    """The pairs of neighbors on a closed way through a rectangle of devices, up and down its rows; one pair for two devices."""
    *_, columns = axes.values()
    devices = [device for group in groups(axes, list(axes)) for device in group]
    rows = [devices[i : i + columns] for i in range(0, len(devices), columns)]
    if len(rows) == 1:
        return [(0, 1)]
    way = rows[0] + rows[1][::-1]
    return list(zip(way, way[1:] + way[:1]))


def load(record):
    """Bytes and seconds of a record; where only a rate is published, of a large transfer."""
    return record["bytes"] or LARGE, record["seconds"] or LARGE / record["busbw"]


def program(record):
    """The text of a program with the collective of the record."""
    axes, inside = mesh(record)
    members = groups(axes, inside)
    n = len(members[0])
    bytes_, _ = load(record)
    kind = {"ppermute": "collective_permute", "link": "collective_permute", "p2p write": "collective_permute"}.get(
        record["kind"], record["kind"]
    )
    full = f"tensor<{n * max(1, bytes_ // (4 * n))}xf32>"
    part = f"tensor<{max(1, bytes_ // (4 * n))}xf32>"
    operand = part if kind == "all_gather" else full
    result = part if kind == "reduce_scatter" else full
    pairs = ring(axes)
    table = f"dense<{members}> : tensor<{len(members)}x{n}xi64>"
    attributes = {
        "all_gather": f"all_gather_dim = 0 : i64, replica_groups = {table}, use_global_device_ids",
        "reduce_scatter": f"scatter_dimension = 0 : i64, replica_groups = {table}, use_global_device_ids",
        "all_reduce": f"replica_groups = {table}, use_global_device_ids",
        "collective_permute": f"source_target_pairs = dense<{[list(p) for p in pairs]}> : tensor<{len(pairs)}x2xi64>",
    }[kind]
    sum_ = """ ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    })"""
    region = sum_ if kind in ("all_reduce", "reduce_scatter") else ""
    names = ", ".join(f'"{name}"={size}' for name, size in axes.items())
    manual = ", ".join(f'"{name}"' for name in axes)
    # A device's own part: the values are not sharded, so local and global shapes agree.
    return f"""sdy.mesh @mesh = <[{names}]>
func.func @main(%arg: {operand}) -> {result} {{
  %0 = sdy.manual_computation(%arg) in_shardings=[<@mesh, [{{}}]>] out_shardings=[<@mesh, [{{}}]>] manual_axes={{{manual}}} (%a: {operand}) {{
    %1 = "stablehlo.{kind}"(%a) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, {attributes}}}>{region} : ({operand}) -> {result}
    sdy.return %1 : {result}
  }} : ({operand}) -> {result}
  return %0 : {result}
}}
"""
