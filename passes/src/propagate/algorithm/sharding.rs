//! Shardings over compact axes, hash-consed, so that the algorithm compares and stores ids.

use dialect::define_id;
use dialect::id::Interner;
use dialect::sharding::{Axes, AxisPart, ReductionKind};
use smallvec::SmallVec;

/// The sharding of one dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dim {
    /// The axes that shard it, major first.
    pub axes: Axes,
    /// Whether axes may be added.
    pub open: bool,
    /// The user's priority.
    pub priority: Option<u32>,
}

/// The sharding of a tensor on a mesh.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sharding {
    /// The mesh's number.
    pub mesh: u32,
    /// One entry per dimension.
    pub dims: SmallVec<[Dim; 4]>,
    /// Axes that may not shard it.
    pub replicated: Axes,
    /// Axes along which partial results are still to be combined.
    pub unreduced: Axes,
    /// The reduction that combines them.
    pub kind: ReductionKind,
}

impl Sharding {
    /// Creates a replicated sharding, with every dimension open or every one closed.
    pub fn whole(mesh: u32, rank: usize, open: bool) -> Self {
        let dims = (0..rank).map(|_| Dim { open, ..Dim::default() }).collect();
        Self { mesh, dims, replicated: Axes::new(), unreduced: Axes::new(), kind: ReductionKind::Sum }
    }

    /// Returns whether it names no axis at all.
    pub fn has_no_axes(&self) -> bool {
        self.replicated.is_empty() && self.unreduced.is_empty() && self.is_fully_replicated()
    }

    /// Returns whether no dimension is sharded.
    pub fn is_fully_replicated(&self) -> bool {
        self.dims.iter().all(|d| d.axes.is_empty())
    }

    /// Returns whether no dimension is sharded and all are open.
    pub fn is_fully_replicated_and_open(&self) -> bool {
        self.dims.iter().all(|d| d.axes.is_empty() && d.open)
    }

    /// Returns whether no dimension may be sharded further.
    pub fn is_fully_closed(&self) -> bool {
        self.dims.iter().all(|d| !d.open)
    }

    /// Closes every dimension; replicated axes are then implied and dropped.
    pub fn closed(mut self) -> Self {
        for d in &mut self.dims {
            d.open = false;
        }
        self.replicated.clear();
        self
    }

    /// Returns every axis it names.
    pub fn all_axes(&self) -> impl Iterator<Item = AxisPart> + '_ {
        self.dims.iter().flat_map(|d| &d.axes).chain(&self.replicated).chain(&self.unreduced).copied()
    }

    /// Returns whether both shard the dimensions alike on the same mesh; other fields may differ.
    pub fn shards_like(&self, other: &Sharding) -> bool {
        self.mesh == other.mesh
            && self.dims.len() == other.dims.len()
            && self.dims.iter().zip(&other.dims).all(|(a, b)| a.axes == b.axes)
    }
}

define_id!(
    /// The id of a sharding; [`ShardingId::NONE`] for a value without one.
    pub ShardingId, "sharding", NONE
);

/// All shardings seen so far.
pub type Shardings = Interner<ShardingId, Sharding>;
