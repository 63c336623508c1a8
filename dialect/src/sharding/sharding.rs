//! `#sdy.sharding`: how a tensor is sharded on a mesh. Source: Shardy's dialect documentation, `TensorShardingAttr`.

use smallvec::SmallVec;

use super::mesh::{AxisRef, Mesh, axes_size};
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

/// The sharding of one dimension. `A` is an axis: by its name in the text, or by its number as in
/// [`AxisPart`](super::AxisPart).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DimSharding<A = AxisRef> {
    /// The axes that shard it, major first.
    pub axes: SmallVec<[A; 2]>,
    /// Whether propagation may add axes (`?`).
    pub open: bool,
    /// The user's priority, `p0` being first and the default.
    pub priority: Option<u32>,
}

impl<A> Default for DimSharding<A> {
    fn default() -> Self {
        Self { axes: SmallVec::new(), open: false, priority: None }
    }
}

impl<A> DimSharding<A> {
    /// Sharded along exactly these axes.
    pub fn closed(axes: &[A]) -> Self
    where
        A: Copy,
    {
        Self { axes: SmallVec::from_slice(axes), ..Self::default() }
    }

    /// Open and not sharded yet.
    pub fn open() -> Self {
        Self { open: true, ..Self::default() }
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

/// The sharding of a tensor on a mesh. As the text has it, with a [`MeshRef`] and axes by name; passes also use it with
/// numbers in the place of both.
///
/// ```
/// use shardc_dialect::ir::Program;
/// use shardc_dialect::sharding::{AxisRef, DimSharding, Mesh, MeshRef, TensorSharding};
///
/// let mut program = Program::new();
/// let x = program.name("x");
/// let mesh = Mesh { axes: [(x, 2)].into_iter().collect(), device_ids: None };
/// let mut sharding = TensorSharding::replicated(MeshRef::Inline(Box::new(mesh.clone())), 2);
/// sharding.dims[0] = DimSharding::closed(&[AxisRef::full(x)]);
/// assert_eq!(program.sharding_text(&sharding), r#"<mesh<["x"=2]>, [{"x"}, {}]>"#);
/// assert_eq!(sharding.local_shape(&[8, 3], &mesh)[..], [4, 3]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorSharding<M = MeshRef, A = AxisRef> {
    /// The mesh.
    pub mesh: M,
    /// One entry per dimension.
    pub dims: SmallVec<[DimSharding<A>; 4]>,
    /// Axes along which propagation may not shard it further.
    pub replicated: SmallVec<[A; 2]>,
    /// Axes along which the devices hold partial results still to be combined.
    pub unreduced: SmallVec<[A; 2]>,
    /// The operation that combines those partial results.
    pub kind: ReductionKind,
}

impl<M, A: Copy + PartialEq> TensorSharding<M, A> {
    /// Creates a sharding with all dimensions closed and replicated.
    pub fn replicated(mesh: M, rank: usize) -> Self {
        Self::with_dims(mesh, (0..rank).map(|_| DimSharding::default()).collect())
    }

    /// Creates a sharding with all dimensions open and not sharded yet.
    pub fn open(mesh: M, rank: usize) -> Self {
        Self::with_dims(mesh, (0..rank).map(|_| DimSharding::open()).collect())
    }

    /// Creates a sharding from dimensions alone, without replicated or unreduced axes.
    pub fn with_dims(mesh: M, dims: SmallVec<[DimSharding<A>; 4]>) -> Self {
        Self { mesh, dims, replicated: SmallVec::new(), unreduced: SmallVec::new(), kind: ReductionKind::Sum }
    }

    /// Returns the rank of tensors with this sharding.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns whether some dimension is sharded.
    pub fn is_sharded(&self) -> bool {
        self.dims.iter().any(|d| !d.axes.is_empty())
    }

    /// Returns whether no dimension is sharded and nothing is unreduced.
    pub fn is_fully_replicated(&self) -> bool {
        self.unreduced.is_empty() && !self.is_sharded()
    }

    /// Returns whether both shard the dimensions alike on the same mesh; other fields may differ.
    pub fn shards_like(&self, other: &Self) -> bool
    where
        M: PartialEq,
    {
        self.mesh == other.mesh && self.dims.iter().map(|d| &d.axes).eq(other.dims.iter().map(|d| &d.axes))
    }

    /// Iterates over every axis in it: those of dimensions first, then replicated, then unreduced.
    pub fn all_axes(&self) -> impl Iterator<Item = A> + '_ {
        let dims = self.dims.iter().flat_map(|d| d.axes.iter());
        dims.chain(&self.replicated).chain(&self.unreduced).copied()
    }

    /// Returns the same sharding with the mesh and each axis in another form; `None` if an axis has none.
    pub fn convert<N, B>(&self, mesh: N, axis: impl Fn(A) -> Option<B>) -> Option<TensorSharding<N, B>> {
        let axes = |axes: &[A]| axes.iter().map(|&a| axis(a)).collect::<Option<SmallVec<[B; 2]>>>();
        let dim = |d: &DimSharding<A>| Some(DimSharding { axes: axes(&d.axes)?, open: d.open, priority: d.priority });
        Some(TensorSharding {
            mesh,
            dims: self.dims.iter().map(dim).collect::<Option<_>>()?,
            replicated: axes(&self.replicated)?,
            unreduced: axes(&self.unreduced)?,
            kind: self.kind,
        })
    }
}

impl TensorSharding {
    /// Returns the number of shards of dimension `dim`.
    pub fn shards(&self, dim: usize, mesh: &Mesh) -> i64 {
        self.dims.get(dim).map_or(1, |d| axes_size(&d.axes, mesh))
    }

    /// Returns a device's shard of a tensor of `shape`.
    pub fn shard(&self, shape: &[i64], mesh: &Mesh) -> Shard {
        Shard::new(shape, (0..shape.len()).map(|d| self.shards(d, mesh)))
    }

    /// Returns the shape of a device's shard of a tensor of `shape`, rounded up where a dimension doesn't divide
    /// evenly.
    pub fn local_shape(&self, shape: &[i64], mesh: &Mesh) -> crate::ir::Shape {
        shape.iter().enumerate().map(|(d, &n)| ShardDim::new(n, self.shards(d, mesh)).size()).collect()
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
