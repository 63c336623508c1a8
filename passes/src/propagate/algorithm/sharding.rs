//! Shardings over compact axes, hash-consed: the algorithm compares and stores ids.

use dialect::sharding::{Axes, AxisPart, ReductionKind};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// How one dimension is cut.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dim {
    /// The axes that cut it, major first.
    pub axes: Axes,
    /// Whether axes may be added.
    pub open: bool,
    /// The user's priority.
    pub priority: Option<u32>,
}

/// How a tensor lies on a mesh.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sharding {
    /// Which mesh.
    pub mesh: u32,
    /// One entry a dimension.
    pub dims: SmallVec<[Dim; 4]>,
    /// Axes that may not cut it.
    pub replicated: Axes,
    /// Axes along which parts are still to be combined.
    pub unreduced: Axes,
    /// How they combine.
    pub kind: ReductionKind,
}

impl Sharding {
    /// Nothing cut, every dimension open or every one closed.
    pub fn whole(mesh: u32, rank: usize, open: bool) -> Self {
        let dims = (0..rank).map(|_| Dim { open, ..Dim::default() }).collect();
        Self { mesh, dims, replicated: Axes::new(), unreduced: Axes::new(), kind: ReductionKind::Sum }
    }

    /// Whether it names no axis at all.
    pub fn has_no_axes(&self) -> bool {
        self.replicated.is_empty() && self.unreduced.is_empty() && self.is_fully_replicated()
    }

    /// Whether no dimension is cut.
    pub fn is_fully_replicated(&self) -> bool {
        self.dims.iter().all(|d| d.axes.is_empty())
    }

    /// Whether no dimension is cut and all are open.
    pub fn is_fully_replicated_and_open(&self) -> bool {
        self.dims.iter().all(|d| d.axes.is_empty() && d.open)
    }

    /// Whether no dimension may be cut further.
    pub fn is_fully_closed(&self) -> bool {
        self.dims.iter().all(|d| !d.open)
    }

    /// The same axes, every dimension closed; which axes it may not use then goes without saying.
    pub fn closed(mut self) -> Self {
        for d in &mut self.dims {
            d.open = false;
        }
        self.replicated.clear();
        self
    }

    /// Every axis it names.
    pub fn all_axes(&self) -> impl Iterator<Item = AxisPart> + '_ {
        self.dims.iter().flat_map(|d| &d.axes).chain(&self.replicated).chain(&self.unreduced).copied()
    }

    /// Whether both cut the dimensions alike on the same mesh, whatever they say besides.
    pub fn cuts_like(&self, other: &Sharding) -> bool {
        self.mesh == other.mesh
            && self.dims.len() == other.dims.len()
            && self.dims.iter().zip(&other.dims).all(|(a, b)| a.axes == b.axes)
    }
}

/// The id of a sharding; [`ShardingId::NONE`] for a value nobody has annotated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardingId(pub u32);

impl ShardingId {
    /// No sharding.
    pub const NONE: ShardingId = ShardingId(u32::MAX);

    /// Whether there is one.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// All shardings seen so far.
#[derive(Default)]
pub struct Shardings {
    set: IndexSet<Sharding, FxBuildHasher>,
}

impl Shardings {
    /// The id of a sharding.
    pub fn intern(&mut self, sharding: Sharding) -> ShardingId {
        match self.set.get_index_of(&sharding) {
            Some(i) => ShardingId(i as u32),
            None => ShardingId(self.set.insert_full(sharding).0 as u32),
        }
    }

    /// The sharding behind an id.
    pub fn get(&self, id: ShardingId) -> Option<&Sharding> {
        self.set.get_index(id.0 as usize)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Sharding> {
        self.set.iter()
    }

    /// How many there are: their ids are `0..count`.
    pub fn count(&self) -> usize {
        self.set.len()
    }
}
