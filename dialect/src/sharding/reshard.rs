//! What Shardy's collectives say, as data: changes of distribution over global values.

use super::mesh::AxisRef;
use super::sharding::ReductionKind;

/// A change of distribution: what an `sdy` collective says.
#[derive(Clone, Debug, PartialEq)]
pub enum Reshard {
    /// Axes leave their dimensions, as the minor ones of each.
    AllGather(Vec<Vec<AxisRef>>),
    /// Axes come to dimensions, as the minor ones of each.
    AllSlice(Vec<Vec<AxisRef>>),
    /// Axes move from a dimension to another, minor in both.
    AllToAll(Vec<(Vec<AxisRef>, usize, usize)>),
    /// Pieces move to where the new sharding wants them.
    CollectivePermute,
    /// Parts along the axes are combined.
    AllReduce(Vec<AxisRef>, ReductionKind),
    /// Parts along the axes are combined and cut along dimensions.
    ReduceScatter(Vec<Vec<AxisRef>>, ReductionKind),
    /// A whole value becomes parts: the first device of each group keeps it.
    ReplicatedToUnreduced(Vec<AxisRef>, ReductionKind),
    /// Pieces become parts: each is placed among identities.
    ShardedToUnreduced(Vec<Vec<AxisRef>>, ReductionKind),
    /// Nothing changes: barriers, and constraints already met.
    Identity,
}
