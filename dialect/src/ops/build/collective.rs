//! Typed builders for collectives of the per-device program. Groups consist of partitions; every collective gets a
//! channel, so that it communicates between partitions, and does the same in every replica. Invalid operands are a bug
//! of the calling pass and panic.

use super::pointwise;
use crate::collective::MeshAttr;
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, Program, Region, Value};
use crate::op::OpDef;
use crate::ops::func;
use crate::ops::stablehlo::collective::{
    AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, PartitionId, ReduceScatter,
};
use crate::ops::stablehlo::control::RETURN;
use crate::scalar::ScalarOp;
use crate::sharding::AxisPart;

/// Groups of devices that differ only along `axes` of `mesh`, in the order of those axes.
#[derive(Clone, Copy, Debug)]
pub struct Along<'a> {
    /// The mesh the attributes refer to.
    pub mesh: MeshAttr,
    /// Its axes, major first.
    pub axes: &'a [AxisPart],
    /// The number of devices of a group: the product of the axes' sizes.
    pub devices: i64,
}

const GROUPS: &str = "replica_groups";

/// Builds `stablehlo.all_gather` along `dim`.
pub fn all_gather(b: &mut Builder<'_>, x: Value, dim: usize, groups: Along<'_>, channel: i64) -> Value {
    let dim = b.program.attr_i64(dim as i64);
    global(b, &AllGather, x, groups, channel, &[("all_gather_dim", dim)], &[])
}

/// Builds `stablehlo.all_reduce` with a commutative scalar operation.
pub fn all_reduce(b: &mut Builder<'_>, x: Value, op: ScalarOp, groups: Along<'_>, channel: i64) -> Value {
    let computation = computation(b, op, x);
    global(b, &AllReduce, x, groups, channel, &[], &[computation])
}

/// Builds `stablehlo.reduce_scatter` along `dim` with a commutative scalar operation.
pub fn reduce_scatter(
    b: &mut Builder<'_>,
    x: Value,
    op: ScalarOp,
    dim: usize,
    groups: Along<'_>,
    channel: i64,
) -> Value {
    let computation = computation(b, op, x);
    let dim = b.program.attr_i64(dim as i64);
    global(b, &ReduceScatter, x, groups, channel, &[("scatter_dimension", dim)], &[computation])
}

/// Builds `stablehlo.all_to_all`, which splits along `split` and concatenates along `concat`. Ids are partitions.
pub fn all_to_all(
    b: &mut Builder<'_>,
    x: Value,
    split: usize,
    concat: usize,
    groups: Along<'_>,
    channel: i64,
) -> Value {
    let [split, concat, count] = [split as i64, concat as i64, groups.devices].map(|v| b.program.attr_i64(v));
    let (groups, channel) = (groups.mesh.along(b.program, groups.axes, 1), handle(b.program, channel));
    let attrs = [
        ("channel_handle", channel),
        ("concat_dimension", concat),
        (GROUPS, groups),
        ("split_count", count),
        ("split_dimension", split),
    ];
    b.inferred(&AllToAll, &[x], &attrs, &[])[0]
}

/// Builds `stablehlo.collective_permute` by pairs of [`MeshAttr`]; devices that no device sends to get zeros.
pub fn permute(b: &mut Builder<'_>, x: Value, pairs: Attr, channel: i64) -> Value {
    let channel = handle(b.program, channel);
    b.inferred(&CollectivePermute, &[x], &[("channel_handle", channel), ("source_target_pairs", pairs)], &[])[0]
}

/// Builds `stablehlo.collective_broadcast` from the first partition of each group.
pub fn collective_broadcast(b: &mut Builder<'_>, x: Value, groups: Along<'_>, channel: i64) -> Value {
    let (groups, channel) = (groups.mesh.along(b.program, groups.axes, 1), handle(b.program, channel));
    b.inferred(&CollectiveBroadcast, &[x], &[("channel_handle", channel), (GROUPS, groups)], &[])[0]
}

/// Builds `stablehlo.partition_id`, a rank-0 `ui32`.
pub fn partition_id(b: &mut Builder<'_>) -> Value {
    b.inferred(&PartitionId, &[], &[], &[])[0]
}

/// Builds an op whose groups have flat device ids, `replica * partitions + partition`.
fn global(
    b: &mut Builder<'_>,
    def: &'static dyn OpDef,
    x: Value,
    groups: Along<'_>,
    channel: i64,
    attrs: &[(&str, Attr)],
    regions: &[Region],
) -> Value {
    let replicas = func::num_replicas(b.program);
    let groups = groups.mesh.along(b.program, groups.axes, replicas);
    let (channel, unit) = (handle(b.program, channel), b.program.intern_attr(AttrData::Unit));
    let common = [("channel_handle", channel), (GROUPS, groups), ("use_global_device_ids", unit)];
    let attrs: Vec<(&str, Attr)> = common.into_iter().chain(attrs.iter().copied()).collect();
    b.inferred(def, &[x], &attrs, regions)[0]
}

/// Returns the attribute `channel_handle` for communication between partitions.
pub fn handle(program: &mut Program, channel: i64) -> Attr {
    program.attr_struct("stablehlo.channel_handle", &[], &[("handle", channel), ("type", 1)])
}

/// Builds the region `(x, y) { return op(x, y) }` over scalars of the operand's element type.
fn computation(b: &mut Builder<'_>, op: ScalarOp, x: Value) -> Region {
    let element = b.tensor(x).element;
    let ty = b.program.tensor(&[], element);
    b.region(&[ty, ty], |b, args| {
        let result = pointwise(b, op, args);
        b.op(&RETURN, &[result], &[], &[]);
    })
}
