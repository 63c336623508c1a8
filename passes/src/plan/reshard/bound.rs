//! The lower bound on the time of any steps between two distributions of a value.
//!
//! A device must receive every byte of its target shard that it doesn't hold, and `CollectiveCost::floor` is the least
//! time in which it can receive them. The bytes follow from three statements:
//!
//! 1. *Intersection.* Along one dimension, a device's shards before and after have at most as many positions in common
//!    as the smaller of them has; the product over all dimensions bounds the elements that the device holds.
//! 2. *Apart.* Some device holds nothing of its target shard if the axes of one dimension differ after a common prefix
//!    and both lists go on ([`Fork`]). It is last along the first such axis before, and first along all others. So it
//!    begins after all shards that are first along the first such axis of the target, and its target shard is among
//!    those. With even shards this always holds, since both axes halve the dimension at least; with padding it is
//!    computed, and the target shard must have none.
//! 3. *Reductions.* For an element in `n` parts whose sum `c` devices want, `n - 1` parts are sent on the way to the
//!    first device that has the sum, and each of the other `c - 1` devices receives something that completes it. Some
//!    device receives at least the average.
//!
//! Where partial results are still to be made, the bound is 0, because devices fill them with zeros that aren't sent.
//!
//! [`Target`] computes 1 and 2, and [`Reduction`] 3, for distributions and for the states of the search alike.

use dialect::ir::TensorType;
use dialect::sharding::axis::{after_prefix, common_prefix, set_difference, size_of};
use dialect::sharding::{Axes, AxisPart, Distribution, ShardDim};

use super::Resharder;
use super::atoms::agreed_parts;

/// One dimension of a value before and after its redistribution.
pub(super) struct DimEnds {
    pub(super) before: ShardDim,
    pub(super) after: ShardDim,
    /// Whether some device has nothing of its target shard because of this dimension.
    pub(super) is_apart: bool,
}

/// The first axis in which the shards of a dimension before and after redistribution differ, if both have one.
pub(super) struct Fork {
    /// The number of shards before the last one along that axis.
    pub(super) begins: i64,
    /// The number of target shards at one position along the target's axis.
    pub(super) ends: i64,
    /// Whether the target shards this dimension along the first axis, too.
    pub(super) returns: bool,
    /// Whether the target shards another dimension along it.
    pub(super) leaves: bool,
}

impl Fork {
    /// Returns whether the device that is last along the first axis holds nothing of its target shard, and that shard
    /// has no padding.
    pub(super) fn is_apart(&self, before: ShardDim, after: ShardDim) -> bool {
        let ends = self.ends * after.size();
        !self.leaves && (!self.returns || ends <= after.global) && self.begins * before.size() >= ends
    }
}

/// The bytes of a device's target shard.
pub(super) struct Target {
    /// All of them.
    pub(super) bytes: f64,
    /// An upper bound on those that a device holds before the redistribution.
    pub(super) held: f64,
    /// Whether some device holds none of them.
    is_apart: bool,
}

impl Target {
    /// Computes the bytes from all dimensions, or from some of them and the bytes of each of their elements.
    pub(super) fn of(bytes: f64, dims: impl IntoIterator<Item = DimEnds>) -> Self {
        let mut target = Self { bytes: 1.0, held: 1.0, is_apart: false };
        for dim in dims {
            let (before, after) = (dim.before.size(), dim.after.size());
            target.bytes *= after as f64;
            target.held *= before.min(after) as f64;
            target.is_apart |= dim.is_apart;
        }
        Self { bytes: target.bytes * bytes, held: target.held * bytes, ..target }
    }

    /// Returns the bytes that some device must receive.
    pub(super) fn missing(&self) -> f64 {
        if self.is_apart { self.bytes } else { self.bytes - self.held }
    }
}

/// Partial results that are to be combined.
pub(super) struct Reduction {
    /// The number of parts of each element.
    pub(super) parts: f64,
    /// The number of devices that want each sum.
    pub(super) wanted: f64,
    /// The number of devices that hold the parts of the whole value.
    pub(super) devices: f64,
}

impl Reduction {
    /// Returns the bytes of a value of `bytes` that some device must receive.
    pub(super) fn missing(&self, bytes: f64) -> f64 {
        bytes * (self.parts + self.wanted - 2.0) / self.devices
    }
}

impl Resharder<'_> {
    /// Returns a lower bound on the seconds of any steps from `from` to `to`.
    pub(super) fn least_seconds(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> f64 {
        agreed_parts(from, to).map_or(0.0, |parts| self.least_of_parts(ty, from, to, &parts))
    }

    /// Returns [`Self::least_seconds`] from the [`agreed_parts`] of both ends.
    pub(super) fn least_of_parts(
        &self,
        ty: &TensorType,
        from: &Distribution,
        to: &Distribution,
        parts: &[AxisPart],
    ) -> f64 {
        if !ty.is_static() || !set_difference(&to.unreduced, &from.unreduced).is_empty() {
            return 0.0;
        }
        let element = ty.element.bytes() as f64;
        let pending = set_difference(&from.unreduced, &to.unreduced);
        if !pending.is_empty() {
            // Steps may also use axes that neither end uses.
            let is_unused = |a: &AxisPart| !self.manual.contains(a) && parts.iter().all(|p| p.axis != a.axis);
            let unused = self.mesh_axes.nontrivial().filter(is_unused).map(|a| i64::from(a.size));
            let all = size_of(parts) * unused.product::<i64>();
            let used: i64 = to.axes().map(|p| i64::from(p.size)).product();
            let reduction = Reduction {
                parts: size_of(&pending) as f64,
                wanted: (all / used) as f64,
                devices: (all / size_of(&to.unreduced)) as f64,
            };
            let bytes = ty.shape.iter().map(|&n| n as f64).product::<f64>() * element;
            return self.cost.floor(reduction.missing(bytes));
        }
        let dims = || ty.shape.iter().enumerate().map(|(d, &n)| (d, from.shard_dim(d, n), to.shard_dim(d, n)));
        let divides = dims().all(|(_, before, after)| before.is_even() && after.is_even());
        let ends = dims().map(|(d, before, after)| {
            let fork = fork(from, to, d, parts);
            DimEnds { before, after, is_apart: fork.is_some_and(|fork| divides || fork.is_apart(before, after)) }
        });
        self.cost.floor(Target::of(element, ends).missing())
    }
}

/// Returns where the shards of dimension `d` differ, given the [`agreed_parts`] of both ends.
fn fork(from: &Distribution, to: &Distribution, d: usize, parts: &[AxisPart]) -> Option<Fork> {
    let (before, after) = (&from.dims[d], &to.dims[d]);
    if before.is_empty() || after.is_empty() || before == after {
        return None;
    }
    let common = common_prefix(before, after);
    let (before, after) = (after_prefix(before, &common), after_prefix(after, &common));
    let first = |axes: &Axes| axes.first().and_then(|axis| parts.iter().copied().find(|p| p.is_prefix_of(*axis)));
    let (part, other) = (first(&before)?, first(&after)?);
    let size = i64::from(part.size);
    let has = |axes: &Axes| axes.iter().any(|axis| axis.contains(part));
    Some(Fork {
        begins: (size - 1) * (size_of(&before) / size),
        ends: size_of(&after) / i64::from(other.size),
        returns: has(&to.dims[d]),
        leaves: to.dims.iter().enumerate().any(|(e, axes)| e != d && has(axes)),
    })
}
