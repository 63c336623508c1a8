"""Partitions the calls of JAX's `custom_partitioning`.

Such a call is a pointer to functions of this process. XLA calls the functions when it partitions; shardc calls them before it
plans the program: propagation determines the shardings of the call's operands and results, JAX's function for XLA creates the
computation of each device, and a manual computation replaces the call. The plan then redistributes its operands.

The module uses two private names of JAX, which JAX registers with XLA: `_sharding_callbacks` and
`_custom_partitioning_partition`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from shardc._errors import ShardcError
from shardc._options import Options
from shardc._program import compiled

TARGET = b"CustomSPMDPartitioning"
"""The target of such a call in a module."""

_PROPAGATED = "sharded,custom-partitioning"


class _Mesh(NamedTuple):
    """A mesh of the module, by its symbol."""

    name: str
    axes: dict[str, int]


def partitioned(module: Any, what: str, options: Options) -> Any:
    """Returns the module with a manual computation instead of each call that partitions itself."""
    text = module.operation.get_asm(enable_debug_info=True)
    propagated = compiled(text, what, _PROPAGATED, options, locations=True)
    with module.context:
        module = type(module).parse(propagated)
        found: list[Any] = []
        module.operation.walk(lambda op: _collect(op, found))
        for number, op in enumerate(found):
            _replace(module, op, number, what)
        assert module.operation.verify(), "a module built from JAX's parts is valid"
    return module


def _collect(op: Any, found: list[Any]) -> Any:
    from jaxlib.mlir import ir

    if op.name == "stablehlo.custom_call" and ir.StringAttr(op.attributes["call_target_name"]).value.encode() == TARGET:
        found.append(op)
    return ir.WalkResult.ADVANCE


def _refused(op: Any, what: str, why: str) -> ShardcError:
    return ShardcError(f"{what} can't be compiled: a call of custom_partitioning {why}\n  at {op.location}")


def _replace(module: Any, op: Any, number: int, what: str) -> None:
    from jax._src import custom_partitioning
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func, sdy

    parent = op.parent
    while parent is not None and parent.name != "builtin.module":
        if parent.name == "sdy.manual_computation":
            raise _refused(op, what, "is inside a shard_map over some of the mesh's axes; make all axes manual, or none")
        parent = parent.parent
    key = ir.StringAttr(op.attributes["backend_config"]).value_bytes
    info = custom_partitioning._sharding_callbacks.get(key)
    if info is None:
        raise _refused(op, what, "belongs to a function of another process, or one that was deleted; lower the program again in this process")
    mesh = _mesh(module, info)
    operands, results = list(op.operands), list(op.results)
    body, wanted, given = _computation(op, info, key, mesh)
    for value, spec in zip(operands + results, wanted + given):
        for size, axes in zip(value.type.shape, spec):
            shards = 1
            for axis in axes:
                shards *= mesh.axes[axis]
            if size % shards:
                raise _refused(op, what, f"splits a dimension of size {size} into {shards} shards; pad it to a multiple")
    name, types = _append(module, body, number)
    with ir.InsertionPoint(op), op.location:
        ins, outs = (ir.Attribute.parse(_shardings(mesh, specs)) for specs in (wanted, given))
        manual_axes = ir.Attribute.parse(f"#sdy<manual_axes{{{', '.join(map(_quoted, mesh.axes))}}}>")
        manual = sdy.ManualComputationOp([r.type for r in results], operands, ins, outs, manual_axes)
        block = manual.body.blocks.append(*types.inputs)
        with ir.InsertionPoint(block):
            call = func.CallOp(types.results, ir.FlatSymbolRefAttr.get(name), list(block.arguments))
            sdy.ReturnOp(list(call.results))
    for old, new in zip(results, manual.results):
        old.replace_all_uses_with(new)
    op.erase()


def _mesh(module: Any, info: Any) -> _Mesh:
    """Returns the mesh that the module's values are sharded over; if there is none, adds the function's mesh."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import sdy

    for op in module.body.operations:
        if op.operation.name == "sdy.mesh":
            found = map(sdy.MeshAxisAttr, sdy.MeshAttr(op.operation.attributes["mesh"]).axes)
            axes = {axis.name: axis.size for axis in found}
            if axes:
                return _Mesh(ir.StringAttr(op.operation.attributes["sym_name"]).value, axes)
    mesh = _Mesh("mesh", dict(info.mesh.shape))
    sizes = ", ".join(f"{_quoted(name)}={size}" for name, size in mesh.axes.items())
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        sdy.MeshOp(mesh.name, ir.Attribute.parse(f"#sdy.mesh<[{sizes}]>"))
    return mesh


Spec = list[tuple[str, ...]]
"""The axes of each dimension."""


def _computation(op: Any, info: Any, key: bytes, mesh: _Mesh) -> tuple[bytes, list[Spec], list[Spec]]:
    """Returns the computation of each device as bytecode, and the shardings of operands and results. Calls the function as XLA
    does."""
    from jax._src import custom_partitioning
    from jax._src.lib import xla_client as xc

    def stated(name: str, values: Any) -> tuple[list[Any], list[Any]]:
        specs = _stated(op, name, values)
        shapes = [xc.Shape.array_shape(_dtype(value.type), tuple(value.type.shape)) for value in values]
        return shapes, [_hlo_sharding(mesh, spec) for spec in specs]

    shapes, shardings = stated("shardc.operand_shardings", list(op.operands))
    result_shapes, result_shardings = stated("shardc.result_shardings", list(op.results))
    shape, sharding = result_shapes[0], result_shardings[0]
    if len(result_shapes) > 1:
        shape = xc.Shape.tuple_shape(result_shapes)
        sharding = xc.HloSharding.tuple_sharding(shape, result_shardings)
    body, wanted, given = custom_partitioning._custom_partitioning_partition(shapes, shardings, shape, sharding, key)
    outs = given.tuple_elements() if len(result_shapes) > 1 else [given]

    def read(shardings: Any, values: Any) -> list[Spec]:
        return [_spec(mesh, sharding, len(value.type.shape)) for sharding, value in zip(shardings, values)]

    return body, read(wanted, op.operands), read(outs, op.results)


def _stated(op: Any, name: str, values: list[Any]) -> list[Spec]:
    """Returns the shardings of these values after propagation, without parts of axes, which a partition spec can't express."""
    from jaxlib.mlir.dialects import sdy

    if name not in op.attributes:
        return [[() for _ in value.type.shape] for value in values]

    def dimension(dim: Any) -> tuple[str, ...]:
        axes = (sdy.AxisRefAttr(axis) for axis in sdy.DimensionShardingAttr(dim).axes)
        return tuple(axis.name for axis in itertools.takewhile(lambda axis: axis.sub_axis_info is None, axes))

    shardings = sdy.TensorShardingPerValueAttr(op.attributes[name]).shardings
    return [[dimension(dim) for dim in sdy.TensorShardingAttr(s).dimension_shardings] for s in shardings]


def _hlo_sharding(mesh: _Mesh, spec: Spec) -> Any:
    from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

    abstract = AbstractMesh(tuple(mesh.axes.values()), tuple(mesh.axes))
    return NamedSharding(abstract, PartitionSpec(*(axes or None for axes in spec)))._to_xla_hlo_sharding(len(spec))


def _spec(mesh: _Mesh, sharding: Any, rank: int) -> Spec:
    from jax._src.sharding_impls import parse_flatten_op_sharding
    from jax.sharding import AbstractMesh

    abstract = AbstractMesh(tuple(mesh.axes.values()), tuple(mesh.axes))
    parsed = tuple(parse_flatten_op_sharding(sharding, abstract)[0])
    axes = [() if dim is None else (dim,) if isinstance(dim, str) else tuple(dim) for dim in parsed]
    return axes + [()] * (rank - len(axes))


def _append(module: Any, body: bytes, number: int) -> tuple[str, Any]:
    """Adds the functions of the module `body` to another module. Returns the new name of its @main, and its type."""
    from jaxlib.mlir import ir

    inner = ir.Module.parse(body)
    _renumber(inner, 1 + max(_channels(module.operation), default=0))
    taken = {ir.StringAttr(op.attributes["sym_name"]).value for op in module.body.operations if "sym_name" in op.attributes}
    main, types = "", None
    for op in list(inner.body.operations):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if op.operation.name == "sdy.mesh" and name in taken:
            continue
        if op.operation.name == "func.func":
            own = f"{name}.custom_partitioning_{number}"
            ir.SymbolTable.replace_all_symbol_uses(name, own, inner.operation)
            op.attributes["sym_name"] = ir.StringAttr.get(own)
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if name == "main":
                main, types = own, ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        op.operation.detach_from_parent()
        module.body.append(op)
    return main, types


def _channels(operation: Any) -> list[int]:
    """Returns the channels of collectives."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    found: list[int] = []

    def note(op: Any) -> Any:
        if "channel_handle" in op.attributes:
            found.append(stablehlo.ChannelHandle(op.attributes["channel_handle"]).handle)
        return ir.WalkResult.ADVANCE

    operation.walk(note)
    return found


def _renumber(module: Any, by: int) -> None:
    """Adds `by` to the channels of the module's collectives, so that they differ from those of another module."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    def change(op: Any) -> Any:
        if "channel_handle" in op.attributes:
            old = stablehlo.ChannelHandle(op.attributes["channel_handle"])
            op.attributes["channel_handle"] = stablehlo.ChannelHandle.get(old.handle + by, old.channel_type)
        return ir.WalkResult.ADVANCE

    module.operation.walk(change)


def _dtype(ty: Any) -> Any:
    """Returns the dtype of the elements of an MLIR type."""
    from jax._src import dtypes
    from jax._src.interpreters import mlir

    element = str(ty.element_type)
    known = getattr(mlir, "_dtype_to_ir_type", {})
    for dtype in known:
        if dtype != dtypes.float0 and str(mlir.dtype_to_ir_type(dtype)) == element:
            return dtype
    raise ShardcError(f"custom_partitioning doesn't support tensors of {element}, because JAX has no dtype for it")


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shardings(mesh: _Mesh, specs: list[Spec]) -> str:
    def one(spec: Spec) -> str:
        dims = ", ".join("{" + ", ".join(map(_quoted, axes)) + "}" for axes in spec)
        return f"<@{mesh.name}, [{dims}]>"

    return f"#sdy.sharding_per_value<[{', '.join(map(one, specs))}]>"
