//! Collectives of the per-device program: their kinds and their devices.

mod attribute;
mod axes;
mod groups;
mod ragged;
mod rule;
#[cfg(test)]
mod tests;

pub use attribute::{MeshAttr, as_lists, is_along_axes, is_compact, literal_of, rows, with_its_mesh};
pub use axes::{AxisGroups, AxisPairs, AxisPermutation, GroupMesh};
pub use groups::{Groups, IdMode, Lists, Rows};
pub use ragged::Ragged;
pub use rule::GroupsRule;

use crate::kernel::Body;

/// The kind of a collective, shared by the ops, the plan, the cost model and the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Concatenates the devices' shards along a dimension.
    AllGather,
    /// Combines the devices' values.
    AllReduce,
    /// Combines, then each device keeps its shard along a dimension.
    ReduceScatter,
    /// Splits along a dimension, exchanges, concatenates along another.
    AllToAll,
    /// Sends from each source to its target; devices that receive nothing get zeros.
    CollectivePermute,
    /// Sends from the first device of each group.
    CollectiveBroadcast,
    /// Combines the values for the first device of each group; the others get zeros.
    CollectiveReduce,
    /// Sends runs of rows to each device, of sizes that each device states: see [`Ragged`].
    RaggedAllToAll,
}

impl CollectiveKind {
    /// Returns its name, `all_gather`, ….
    pub fn text(self) -> &'static str {
        match self {
            CollectiveKind::AllGather => "all_gather",
            CollectiveKind::AllReduce => "all_reduce",
            CollectiveKind::ReduceScatter => "reduce_scatter",
            CollectiveKind::AllToAll => "all_to_all",
            CollectiveKind::CollectivePermute => "collective_permute",
            CollectiveKind::CollectiveBroadcast => "collective_broadcast",
            CollectiveKind::CollectiveReduce => "collective_reduce",
            CollectiveKind::RaggedAllToAll => "ragged_all_to_all",
        }
    }
}

/// A collective of the per-device program, read from its attributes.
#[derive(Clone, Debug)]
pub struct Collective {
    /// The kind of collective.
    pub kind: CollectiveKind,
    /// Groups of devices by flat id (replica * partitions + partition), each in order; pairs for a permute.
    pub groups: Groups,
    /// The dimension that is gathered, scattered or split.
    pub dim: usize,
    /// The dimension along which an all_to_all concatenates.
    pub concat_dim: usize,
    /// The combination of two elements, inputs 0 and 1, in an all_reduce or a reduce_scatter; `None` for other
    /// collectives or if the op's region is more than scalar arithmetic.
    pub computation: Option<Body>,
}
