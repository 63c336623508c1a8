//! Distributions: how a value is sharded on a mesh, in small integers.
//!
//! A [`Distribution`] is a closed `sdy.sharding` (axes per dimension, unreduced axes and how their partial results
//! combine) without names. Two distributions of one mesh are equal exactly when every device holds the same shard:
//! adjacent parts of one axis are always merged, axes of size 1 dropped, unreduced axes sorted.

use super::axis::{Axes, AxesPerDim, AxisPart, merged, set_of, size_of};
use super::shard::{Shard, ShardDim};
use super::sharding::ReductionKind;
use crate::ir::{Shape, TensorType};

/// The sharding of a value on a mesh.
///
/// ```
/// use shardc_dialect::sharding::{Axes, AxisPart, Distribution};
///
/// // The rows of a matrix along both axes of a mesh of 2 x 4 devices.
/// let (x, y) = (AxisPart { axis: 0, pre: 1, size: 2 }, AxisPart { axis: 1, pre: 1, size: 4 });
/// let rows = Distribution::of_dims([[x, y].into_iter().collect(), Axes::new()]);
/// assert_eq!((rows.shards(0), rows.shards(1)), (8, 1));
/// assert_eq!(rows.local_shape(&[16, 3])[..], [2, 3]);
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Distribution {
    /// The axes that shard each dimension, major first.
    pub dims: AxesPerDim,
    /// Axes along which devices hold partial results still to be combined; sorted.
    pub unreduced: Axes,
    /// How they combine; `Sum` when there are none.
    pub kind: ReductionKind,
}

impl Clone for Distribution {
    fn clone(&self) -> Self {
        // Copying slices takes a third of the time of copying axis by axis.
        let axes = |axes: &Axes| Axes::from_slice(axes);
        Self { dims: self.dims.iter().map(axes).collect(), unreduced: axes(&self.unreduced), kind: self.kind }
    }
}

impl Distribution {
    /// Returns the distribution that is replicated on all devices.
    pub fn replicated(rank: usize) -> Self {
        Self { dims: (0..rank).map(|_| Axes::new()).collect(), ..Self::default() }
    }

    /// Returns the distribution with these axes per dimension and without unreduced axes.
    pub fn of_dims(dims: impl IntoIterator<Item = Axes>) -> Self {
        Self { dims: dims.into_iter().map(merged).collect(), ..Self::default() }
    }

    /// Adds `axes` to the unreduced axes; if there are some already, `kind` must be theirs.
    pub fn with_unreduced(mut self, axes: &[AxisPart], kind: ReductionKind) -> Self {
        if axes.is_empty() {
            return self;
        }
        self.unreduced = set_of(self.unreduced.iter().chain(axes).copied());
        if !self.unreduced.is_empty() {
            self.kind = kind;
        }
        self
    }

    /// Returns the distribution without unreduced axes.
    pub fn reduced(&self) -> Self {
        Self { dims: self.dims.clone(), ..Self::default() }
    }

    /// Returns the rank of values with this distribution.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns whether the value is replicated on all devices.
    pub fn is_replicated(&self) -> bool {
        self.unreduced.is_empty() && self.dims.iter().all(|d| d.is_empty())
    }

    /// Returns the number of shards of dimension `dim`.
    pub fn shards(&self, dim: usize) -> i64 {
        size_of(&self.dims[dim])
    }

    /// Iterates over all axes in use, those of dimensions first.
    pub fn axes(&self) -> impl Iterator<Item = AxisPart> + '_ {
        self.dims.iter().flatten().chain(&self.unreduced).copied()
    }

    /// Returns the division of dimension `dim`, of size `global`, into shards.
    pub fn shard_dim(&self, dim: usize, global: i64) -> ShardDim {
        ShardDim::new(global, self.shards(dim))
    }

    /// Returns a device's shard of a tensor of `shape`.
    pub fn shard(&self, shape: &[i64]) -> Shard {
        Shard::new(shape, self.dims.iter().map(|d| size_of(d)))
    }

    /// Returns the shape of one device's shard, rounded up where a dimension doesn't divide.
    pub fn local_shape(&self, shape: &[i64]) -> Shape {
        self.local_sizes(shape).collect()
    }

    fn local_sizes(&self, shape: &[i64]) -> impl Iterator<Item = i64> {
        shape.iter().zip(&self.dims).map(|(&n, d)| ShardDim::new(n, size_of(d)).size())
    }

    /// Returns the bytes of one device's shard.
    pub fn local_bytes(&self, ty: &TensorType) -> f64 {
        self.local_sizes(&ty.shape).map(|n| n.max(0) as f64).product::<f64>() * ty.element.bytes() as f64
    }

    /// Returns whether every dimension divides by the number of its shards.
    pub fn is_even(&self, shape: &[i64]) -> bool {
        shape.iter().zip(&self.dims).all(|(&n, d)| ShardDim::new(n, size_of(d)).is_even())
    }
}
