//! One device's shard of a tensor: its size, its part inside the tensor, and the contents of its padding.
//!
//! Every device's shard has the same shape: sizes round up, so the last shards of a dimension may reach past its end or
//! be entirely past it. Positions past the end are padding, whose values are meaningless.

use smallvec::{SmallVec, smallvec};

use super::ReductionKind;
use super::layout::identity;
use crate::ir::{ElementType, Shape};
use crate::scalar::Scalar;

/// One dimension divided into shards of equal size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShardDim {
    /// The global size; negative if unknown.
    pub global: i64,
    /// The number of shards.
    pub shards: i64,
}

impl ShardDim {
    /// Returns a dimension of size `global` in `shards` shards.
    pub fn new(global: i64, shards: i64) -> Self {
        Self { global, shards: shards.max(1) }
    }

    /// Returns the size of a shard, rounded up. An unknown size stays unknown.
    pub fn size(self) -> i64 {
        if self.global < 0 { self.global } else { (self.global as u64).div_ceil(self.shards as u64) as i64 }
    }

    /// Returns whether no shard has padding.
    pub fn is_even(self) -> bool {
        self.global >= 0 && self.global % self.shards == 0
    }

    /// Returns the number of shards with any position of the tensor; the shards after them are all padding.
    pub fn occupied(self) -> i64 {
        if self.global <= 0 { 0 } else { (self.global as u64).div_ceil(self.size() as u64) as i64 }
    }

    /// Returns the start of shard `index` in the tensor, and the number of its positions inside the tensor.
    pub fn valid(self, index: i64) -> (i64, i64) {
        let start = index.saturating_mul(self.size()).min(self.global);
        (start, self.size().min(self.global - start))
    }

    /// Returns whether these shards result from dividing the shards of `outer` further, each inside the shard of
    /// `outer` given by its number: then data moves only between devices that share one shard of `outer`, and no
    /// element shifts.
    pub fn refines(self, outer: ShardDim) -> bool {
        outer.shards == 1 || outer.size() == self.size() * (self.shards / outer.shards)
    }

    /// Returns the factor by which the work shrinks: less than the number of shards if some of them compute padding.
    pub fn speedup(self) -> f64 {
        if self.global <= 0 { self.shards as f64 } else { self.global as f64 / self.size() as f64 }
    }
}

/// The contents of the padding along one dimension.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Padding {
    /// Unknown values, possibly infinities and NaN.
    #[default]
    Undefined,
    /// This value at every position, such as zero or the identity of a reduction.
    Filled(Scalar),
}

impl Padding {
    /// Returns padding that doesn't affect a reduction of `kind`.
    pub fn identity(kind: ReductionKind, element: ElementType) -> Self {
        Padding::Filled(identity(kind, element))
    }

    /// Returns the padding value, if known.
    pub fn value(self) -> Option<Scalar> {
        match self {
            Padding::Undefined => None,
            Padding::Filled(value) => Some(value),
        }
    }
}

/// A device's shard of one tensor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shard {
    /// The division of each dimension.
    pub dims: SmallVec<[ShardDim; 4]>,
    /// The padding at the end of each dimension.
    pub padding: SmallVec<[Padding; 4]>,
}

impl Shard {
    /// Creates a shard of a tensor of shape `global`, each dimension in this many shards, with undefined padding.
    pub fn new(global: &[i64], shards: impl IntoIterator<Item = i64>) -> Self {
        let dims: SmallVec<[ShardDim; 4]> = global.iter().zip(shards).map(|(&n, s)| ShardDim::new(n, s)).collect();
        let padding = smallvec![Padding::Undefined; dims.len()];
        Self { dims, padding }
    }

    /// Creates the single shard of a tensor that isn't sharded.
    pub fn replicated(global: &[i64]) -> Self {
        Self::new(global, global.iter().map(|_| 1))
    }

    /// Returns its shape, the same on every device.
    pub fn shape(&self) -> Shape {
        self.dims.iter().map(|d| d.size()).collect()
    }

    /// Returns whether there is no padding.
    pub fn is_even(&self) -> bool {
        self.dims.iter().all(|d| d.is_even())
    }

    /// Returns the start and sizes of the part of the tensor in the shard with these numbers, one per dimension.
    pub fn valid(&self, indices: &[i64]) -> (Shape, Shape) {
        self.dims.iter().zip(indices).map(|(d, &i)| d.valid(i)).unzip()
    }

    /// Returns the dimensions with padding.
    pub fn padded(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.dims.len()).filter(|&d| !self.dims[d].is_even())
    }

    /// Returns whether the padding of `dim` may have values other than `value`.
    pub fn shows(&self, dim: usize, value: Scalar) -> bool {
        !self.dims[dim].is_even() && self.padding[dim].value() != Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_every_position_once() {
        for global in 0..20 {
            for shards in 1..9 {
                let dim = ShardDim::new(global, shards);
                let mut seen = vec![0; global as usize];
                for i in 0..shards {
                    let (start, size) = dim.valid(i);
                    assert!(size <= dim.size() && size >= 0);
                    (start..start + size).for_each(|p| seen[p as usize] += 1);
                }
                assert!(seen.iter().all(|&n| n == 1), "{dim:?}: {seen:?}");
                let occupied = (0..shards).filter(|&i| dim.valid(i).1 > 0).count();
                assert_eq!(dim.occupied(), occupied as i64, "{dim:?}");
                let full = (0..shards).all(|i| dim.valid(i).1 == dim.size());
                assert_eq!(dim.is_even(), full, "{dim:?}");
                // The first shard has the most work.
                assert_eq!(
                    dim.speedup() * dim.valid(0).1.max(1) as f64,
                    if global > 0 { global as f64 } else { shards as f64 }
                );
            }
        }
    }

    #[test]
    fn finer_shards_lie_inside_where_nothing_shifts() {
        for global in 0..40 {
            for (outer, inner) in [(1, 2), (2, 2), (2, 4), (4, 2), (3, 2), (2, 3), (5, 1)] {
                let (coarse, fine) = (ShardDim::new(global, outer), ShardDim::new(global, outer * inner));
                let inside = (0..outer * inner).all(|i| {
                    let ((start, size), (from, all)) = (fine.valid(i), coarse.valid(i / inner));
                    size == 0 || start == from + i % inner * fine.size() && start + size <= from + all
                });
                // Shards of one tensor need not agree on padding if there is none.
                if fine.refines(coarse) {
                    assert!(inside, "{coarse:?} {fine:?}");
                }
                if fine.is_even() {
                    assert!(fine.refines(coarse));
                }
            }
        }
        assert!(ShardDim::new(11, 8).refines(ShardDim::new(11, 1)));
        assert!(!ShardDim::new(10, 8).refines(ShardDim::new(10, 2)));
    }

    #[test]
    fn padding_is_hidden_by_what_it_holds() {
        let mut shard = Shard::new(&[10, 8], [4, 2]);
        assert_eq!((shard.shape()[..].to_vec(), shard.is_even()), (vec![3, 4], false));
        assert_eq!(shard.padded().collect::<Vec<_>>(), [0]);
        assert_eq!(shard.valid(&[3, 1]), ([9, 4].into_iter().collect(), [1, 4].into_iter().collect()));
        let zero = Scalar::zero(ElementType::F32);
        assert!(shard.shows(0, zero) && !shard.shows(1, zero));
        shard.padding[0] = Padding::identity(ReductionKind::Sum, ElementType::F32);
        assert!(!shard.shows(0, zero));
        assert!(shard.shows(0, identity(ReductionKind::Max, ElementType::F32)));
    }
}
