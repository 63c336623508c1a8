//! `#sdy.sharding`: how a tensor is sharded on a mesh. Source: Shardy's dialect documentation, `TensorShardingAttr`.

use smallvec::SmallVec;

use super::mesh::{AxisList, AxisRef, Mesh, axes_size};
use super::shard::{Shard, ShardDim};
use crate::ir::Name;

/// The mesh of a sharding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MeshRef {
    /// `@mesh`
    Symbol(Name),
    /// `mesh<["x"=2]>`
    Inline(Box<Mesh>),
}

/// The sharding of one dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DimSharding {
    /// The axes that shard it, major first.
    pub axes: AxisList,
    /// Whether propagation may add axes (`?`).
    pub open: bool,
    /// The user's priority, `p0` being first and the default.
    pub priority: Option<u32>,
}

impl DimSharding {
    /// Sharded along exactly these axes.
    pub fn closed(axes: &[AxisRef]) -> Self {
        Self { axes: AxisList::from_slice(axes), open: false, priority: None }
    }

    /// Open and not sharded yet.
    pub fn open() -> Self {
        Self { axes: AxisList::new(), open: true, priority: None }
    }
}

/// The operation that combines the partial results of an unreduced value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ReductionKind {
    /// By addition.
    #[default]
    Sum,
    /// By maximum.
    Max,
    /// By minimum.
    Min,
}

impl ReductionKind {
    /// All of them.
    pub const ALL: [ReductionKind; 3] = [ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min];

    /// `sum`, `max`, `min`.
    pub fn text(self) -> &'static str {
        match self {
            ReductionKind::Sum => "sum",
            ReductionKind::Max => "max",
            ReductionKind::Min => "min",
        }
    }
}

/// The sharding of a tensor on a mesh.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorSharding {
    /// The mesh.
    pub mesh: MeshRef,
    /// One entry per dimension.
    pub dims: SmallVec<[DimSharding; 4]>,
    /// Axes along which propagation may not shard it further.
    pub replicated: AxisList,
    /// Axes along which the devices hold partial results still to be combined.
    pub unreduced: AxisList,
    /// The operation that combines those partial results.
    pub kind: ReductionKind,
}

impl TensorSharding {
    /// Creates a sharding with all dimensions closed and replicated.
    pub fn replicated(mesh: MeshRef, rank: usize) -> Self {
        Self::with_dims(mesh, (0..rank).map(|_| DimSharding::default()).collect())
    }

    /// Creates a sharding with all dimensions open and not sharded yet.
    pub fn open(mesh: MeshRef, rank: usize) -> Self {
        Self::with_dims(mesh, (0..rank).map(|_| DimSharding::open()).collect())
    }

    /// Creates a sharding from dimensions alone, without replicated or unreduced axes.
    pub fn with_dims(mesh: MeshRef, dims: SmallVec<[DimSharding; 4]>) -> Self {
        Self { mesh, dims, replicated: AxisList::new(), unreduced: AxisList::new(), kind: ReductionKind::Sum }
    }

    /// Returns the rank of tensors with this sharding.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of shards of dimension `dim`.
    pub fn shards(&self, dim: usize, mesh: &Mesh) -> i64 {
        self.dims.get(dim).map_or(1, |d| axes_size(&d.axes, mesh))
    }

    /// A device's shard of a tensor of `shape`.
    pub fn shard(&self, shape: &[i64], mesh: &Mesh) -> Shard {
        Shard::new(shape, (0..shape.len()).map(|d| self.shards(d, mesh)))
    }

    /// Returns the shape of a device's shard of a tensor of `shape`, rounded up where a dimension doesn't divide
    /// evenly.
    pub fn local_shape(&self, shape: &[i64], mesh: &Mesh) -> crate::ir::Shape {
        shape.iter().enumerate().map(|(d, &n)| ShardDim::new(n, self.shards(d, mesh)).size()).collect()
    }

    /// Whether no dimension is sharded and nothing is unreduced.
    pub fn is_fully_replicated(&self) -> bool {
        self.unreduced.is_empty() && self.dims.iter().all(|d| d.axes.is_empty())
    }

    /// Iterates over every axis in it: those of dimensions first, then replicated, then unreduced.
    pub fn all_axes(&self) -> impl Iterator<Item = AxisRef> + '_ {
        let dims = self.dims.iter().flat_map(|d| d.axes.iter());
        dims.chain(&self.replicated).chain(&self.unreduced).copied()
    }

    /// Returns the same sharding with every dimension closed and without priorities.
    pub fn closed(&self) -> Self {
        let mut s = self.clone();
        for d in &mut s.dims {
            d.open = false;
            d.priority = None;
        }
        s
    }
}
