//! One step of a redistribution: a collective of the sdy dialect on global values, or a free local change.

use dialect::ir::TensorType;
use dialect::op::CollectiveKind;
use dialect::sharding::axis::size_of;
use dialect::sharding::{AxisPart, Distribution, Reshard, ShardDim, ShardParts};

use crate::estimate::CollectiveLoad;
use crate::plan::model::cost::CollectiveCost;

/// One step of a redistribution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The collective or local change.
    pub kind: Reshard<AxisPart>,
    /// The value's distribution after it.
    pub to: Distribution,
}

/// Returns the modeled seconds of the step from `from` to `to`, and the bytes it moves on a ring.
pub(super) fn step_cost(
    step: &Reshard<AxisPart>,
    from: &Distribution,
    to: &Distribution,
    ty: &TensorType,
    cost: &dyn CollectiveCost,
) -> (f64, f64) {
    let Some(kind) = step.collective() else { return (0.0, 0.0) };
    let axes = step.group_axes(from, to);
    let element = ty.element.bytes() as f64;
    let dims = ty.shape.iter().enumerate().map(|(d, &n)| (from.shard_dim(d, n.max(0)), to.shard_dim(d, n.max(0))));
    let (operand, result) = dims.fold((element, element), |(operand, result), (before, after)| {
        let (operand_size, result_size) = exchanged(before, after);
        (operand * operand_size, result * result_size)
    });
    if *step == Reshard::PermuteParts {
        let parts = ShardParts::of(&ty.shape, from, to).map_or(1, |parts| parts.count);
        return (parts_seconds(cost, parts, operand, &axes), operand);
    }
    let n = size_of(&axes);
    let moved = CollectiveLoad::new(kind, operand, result, n as u64).moved_bytes();
    (cost.seconds(kind, operand, result, &axes), moved)
}

/// Returns the seconds to permute a shard of `bytes` in this many parts, one after the other.
pub(super) fn parts_seconds(cost: &dyn CollectiveCost, parts: i64, bytes: f64, axes: &[AxisPart]) -> f64 {
    let each = bytes / parts as f64;
    parts as f64 * cost.seconds(CollectiveKind::CollectivePermute, each, each, axes)
}

/// Returns the sizes of a dimension in a device's operand and result of a collective. Where the dimension doesn't
/// divide, it is padded before it is divided among devices, and trimmed after it is gathered from their shards.
pub(super) fn exchanged(before: ShardDim, after: ShardDim) -> (f64, f64) {
    let (more, fewer) = (after.shards / before.shards, before.shards / after.shards);
    (before.size().max(after.size() * more) as f64, after.size().max(before.size() * fewer) as f64)
}

/// Returns the seconds and bytes of a sequence of steps that begins at `from`.
pub fn cost_of(steps: &[Step], from: &Distribution, ty: &TensorType, cost: &dyn CollectiveCost) -> (f64, f64) {
    let mut total = (0.0, 0.0);
    let mut at = from;
    for step in steps {
        let (seconds, bytes) = step_cost(&step.kind, at, &step.to, ty, cost);
        total = (total.0 + seconds, total.1 + bytes);
        at = &step.to;
    }
    total
}
