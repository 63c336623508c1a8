//! Typed builders for collectives of the per-device program. Groups are partitions; every collective gets a channel, so
//! that they talk to each other, and does the same in every replica. Wrong operands are a pass's bug and panic.

use super::pointwise;
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, ElementType, Region, Value};
use crate::literal::Literal;
use crate::op::OpDef;
use crate::ops::func;
use crate::ops::stablehlo::collective::{
    AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, PartitionId, ReduceScatter,
};
use crate::ops::stablehlo::control::Return;
use crate::scalar::{Scalar, ScalarOp};

const GROUPS: &str = "replica_groups";

/// `stablehlo.all_gather` along `dim`.
pub fn all_gather(b: &mut Builder<'_>, x: Value, dim: usize, groups: &[Vec<i64>], channel: i64) -> Value {
    let dim = b.program.attr_i64(dim as i64);
    global(b, &AllGather, x, groups, channel, &[("all_gather_dim", dim)], &[])
}

/// `stablehlo.all_reduce` by a commutative scalar operation.
pub fn all_reduce(b: &mut Builder<'_>, x: Value, op: ScalarOp, groups: &[Vec<i64>], channel: i64) -> Value {
    let computation = computation(b, op, x);
    global(b, &AllReduce, x, groups, channel, &[], &[computation])
}

/// `stablehlo.reduce_scatter` along `dim` by a commutative scalar operation.
pub fn reduce_scatter(
    b: &mut Builder<'_>,
    x: Value,
    op: ScalarOp,
    dim: usize,
    groups: &[Vec<i64>],
    channel: i64,
) -> Value {
    let computation = computation(b, op, x);
    let dim = b.program.attr_i64(dim as i64);
    global(b, &ReduceScatter, x, groups, channel, &[("scatter_dimension", dim)], &[computation])
}

/// `stablehlo.all_to_all`: cuts along `split`, concatenates along `concat`. Ids are partitions.
pub fn all_to_all(
    b: &mut Builder<'_>,
    x: Value,
    split: usize,
    concat: usize,
    groups: &[Vec<i64>],
    channel: i64,
) -> Value {
    let count = groups.first().map_or(1, Vec::len) as i64;
    let [split, concat, count] = [split as i64, concat as i64, count].map(|v| b.program.attr_i64(v));
    let (groups, channel) = (rows(b, groups), handle(b, channel));
    let attrs = [
        ("channel_handle", channel),
        ("concat_dimension", concat),
        (GROUPS, groups),
        ("split_count", count),
        ("split_dimension", split),
    ];
    b.inferred(&AllToAll, &[x], &attrs, &[])[0]
}

/// `stablehlo.collective_permute` along (source, target) pairs of partitions.
pub fn collective_permute(b: &mut Builder<'_>, x: Value, pairs: &[(i64, i64)], channel: i64) -> Value {
    let pairs: Vec<Vec<i64>> = pairs.iter().map(|&(s, t)| vec![s, t]).collect();
    let (pairs, channel) = (rows(b, &pairs), handle(b, channel));
    b.inferred(&CollectivePermute, &[x], &[("channel_handle", channel), ("source_target_pairs", pairs)], &[])[0]
}

/// `stablehlo.collective_broadcast` from the first partition of each group.
pub fn collective_broadcast(b: &mut Builder<'_>, x: Value, groups: &[Vec<i64>], channel: i64) -> Value {
    let (groups, channel) = (rows(b, groups), handle(b, channel));
    b.inferred(&CollectiveBroadcast, &[x], &[("channel_handle", channel), (GROUPS, groups)], &[])[0]
}

/// `stablehlo.partition_id`, a rank-0 `ui32`.
pub fn partition_id(b: &mut Builder<'_>) -> Value {
    b.inferred(&PartitionId, &[], &[], &[])[0]
}

/// Ops whose groups are flat ids, `replica * partitions + partition`.
fn global(
    b: &mut Builder<'_>,
    def: &'static dyn OpDef,
    x: Value,
    groups: &[Vec<i64>],
    channel: i64,
    attrs: &[(&str, Attr)],
    regions: &[Region],
) -> Value {
    let (replicas, partitions) = (func::num_replicas(b.program), func::num_partitions(b.program));
    let in_replica = |r: i64| groups.iter().map(move |g| g.iter().map(|id| r * partitions + id).collect());
    let groups: Vec<Vec<i64>> = (0..replicas).flat_map(in_replica).collect();
    let (groups, channel, unit) = (rows(b, &groups), handle(b, channel), b.program.intern_attr(AttrData::Unit));
    let common = [("channel_handle", channel), (GROUPS, groups), ("use_global_device_ids", unit)];
    let attrs: Vec<(&str, Attr)> = common.into_iter().chain(attrs.iter().copied()).collect();
    b.inferred(def, &[x], &attrs, regions)[0]
}

/// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`; rows shorter than the longest are padded with -1.
pub(crate) fn rows(b: &mut Builder<'_>, rows: &[Vec<i64>]) -> Attr {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let shape = [rows.len() as i64, width as i64];
    let ids = rows.iter().flat_map(|row| (0..width).map(move |i| row.get(i).copied().unwrap_or(-1)));
    let literal = Literal::from_scalars(ElementType::I64, &shape, ids.map(|id| Scalar::Int(id.into())));
    let ty = b.program.tensor(&shape, ElementType::I64);
    b.program.intern_attr(AttrData::Dense(ty, literal))
}

fn handle(b: &mut Builder<'_>, channel: i64) -> Attr {
    b.program.attr_struct("stablehlo.channel_handle", &[], &[("handle", channel), ("type", 1)])
}

/// `(x, y) { return op(x, y) }` over scalars of the operand's elements.
fn computation(b: &mut Builder<'_>, op: ScalarOp, x: Value) -> Region {
    let element = b.tensor(x).element;
    let ty = b.program.tensor(&[], element);
    b.region(&[ty, ty], |b, args| {
        let result = pointwise(b, op, args);
        b.op(&Return, &[result], &[], &[]);
    })
}
