//! One step over one op: which axes propagate along which factor to which tensor.
//!
//! Both strategies start from the *compatible major axes* of a factor, the longest list of axes that no tensor
//! contradicts. The basic one keeps the part of it that every tensor can take; the aggressive one lets every tensor
//! take what it can, the larger source first. Source: Shardy, `BasicFactorPropagation`, `AggressiveFactorPropagation`.

use std::cmp::Reverse;

use dialect::ir::gcd;
use dialect::sharding::axis::{Prefix, prefix, size_of};
use dialect::sharding::{Axes, AxisPart};
use smallvec::SmallVec;

use super::projection::{FactorSharding, Projection, TensorFactors};
use super::rule::Rule;

/// The direction in which shardings may cross an op.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Neither way.
    None,
    /// From operands to results.
    Forward,
    /// From results to operands.
    Backward,
    /// Both ways.
    Both,
}

impl Direction {
    /// Returns the union of both directions.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Forward, Self::Backward) | (Self::Backward, Self::Forward) => Self::Both,
            _ => self.max(other),
        }
    }

    /// Returns the intersection of both directions.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Forward, Self::Backward) | (Self::Backward, Self::Forward) => Self::None,
            _ => self.min(other),
        }
    }
}

/// The resolution of conflicts between tensors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// An axis propagates only where all tensors can take it.
    Basic,
    /// Every tensor takes the axes it can.
    Aggressive,
}

/// The inputs of a step besides the projection.
pub struct Step<'a> {
    /// The op's rule.
    pub rule: &'a Rule,
    /// The direction along each factor.
    pub directions: &'a [Direction],
    /// The strategy.
    pub strategy: Strategy,
    /// Whether the op is elementwise.
    pub elementwise: bool,
    /// Sizes of the mesh's axes, if axes may not be split.
    pub whole_axes: Option<&'a [u32]>,
}

impl Step<'_> {
    /// Propagates axes in `projection`; returns true for each tensor that changed.
    pub fn run(&self, projection: &mut Projection) -> SmallVec<[bool; 4]> {
        match self.strategy {
            Strategy::Basic => self.basic(projection),
            Strategy::Aggressive => self.aggressive(projection),
        }
    }

    fn basic(&self, projection: &mut Projection) -> SmallVec<[bool; 4]> {
        let mut changed = SmallVec::from_elem(false, projection.tensors.len());
        for f in 0..self.rule.factors() {
            let mut axes = compatible_axes(projection, f, self.directions[f]);
            let size = self.rule.sizes[f];
            truncate(&mut axes, self.whole_axes, |axis, before| {
                projection.tensors.iter().try_fold(axis, |axis, tensor| fits(axis, tensor, f, before, size))
            });
            for (tensor, changed) in projection.tensors.iter_mut().zip(&mut changed) {
                *changed |= tensor.expand(f, &axes);
            }
        }
        changed
    }

    fn aggressive(&self, projection: &mut Projection) -> SmallVec<[bool; 4]> {
        let mut changed = SmallVec::from_elem(false, projection.tensors.len());
        let axes: SmallVec<[Axes; 6]> =
            (0..self.rule.factors()).map(|f| compatible_axes(projection, f, self.directions[f])).collect();
        if axes.iter().all(|a| a.is_empty()) {
            return changed;
        }
        let order = self.order(projection, &axes);
        let operands = projection.operands;
        for t in (operands..projection.tensors.len()).chain(0..operands) {
            for &f in &order {
                let Some(mut new) = self.for_tensor(&projection.tensors[t], f, &axes[f]) else {
                    continue;
                };
                if t < operands && self.elementwise {
                    // An operand gets only axes that its result can take, because the result couldn't use others.
                    for result in projection.results() {
                        if let Some(factor) = &result.factors[f]
                            && prefix(&factor.axes, &new) == Prefix::Strict
                        {
                            new = factor.axes.clone();
                        }
                    }
                }
                changed[t] |= projection.tensors[t].expand(f, &new);
            }
        }
        changed
    }

    /// Returns the factors, those with the larger source tensor first.
    fn order(&self, projection: &Projection, axes: &[Axes]) -> SmallVec<[usize; 6]> {
        let mut sources: SmallVec<[(i64, i64); 6]> = SmallVec::from_elem((-1, -1), axes.len());
        for (t, tensor) in projection.tensors.iter().enumerate() {
            let size = tensor.elements(self.rule);
            for (f, factor) in tensor.factors.iter().enumerate() {
                let Some(factor) = factor else { continue };
                let is_source = !axes[f].is_empty() && prefix(&axes[f], &factor.axes) != Prefix::None;
                if is_source && size > sources[f].0 {
                    sources[f] = (size, t as i64);
                }
            }
        }
        let mut order: SmallVec<[usize; 6]> = (0..axes.len()).collect();
        order.sort_by_key(|&f| {
            let shards = if self.elementwise { size_of(&axes[f]) } else { 0 };
            (Reverse(sources[f].0), Reverse(shards), sources[f].1, f)
        });
        order
    }

    /// Returns the part of `axes` that `tensor` can take on factor `f`.
    fn for_tensor(&self, tensor: &TensorFactors, f: usize, axes: &Axes) -> Option<Axes> {
        let factor = tensor.factors[f].as_ref()?;
        if axes.is_empty() {
            return None;
        }
        let mut new = axes.clone();
        truncate(&mut new, self.whole_axes, |axis, before| {
            fits_factor(axis, tensor, factor, before, self.rule.sizes[f])
        });
        if prefix(&factor.axes, &new) != Prefix::Strict {
            return None;
        }
        truncate(&mut new, self.whole_axes, |axis, _| fits_beside(axis, tensor, f));
        (!new.is_empty()).then_some(new)
    }
}

/// Returns the axes that shard factor `f` in some tensor and that no tensor contradicts. In a single direction, the
/// receiving tensors may contradict axes but add none.
fn compatible_axes(projection: &Projection, f: usize, direction: Direction) -> Axes {
    let mut axes = Axes::new();
    let mut expand = true;
    let (first, second) = match direction {
        Direction::None => return axes,
        Direction::Both | Direction::Forward => (projection.operands(), projection.results()),
        Direction::Backward => (projection.results(), projection.operands()),
    };
    for tensor in first {
        if let Some(factor) = &tensor.factors[f] {
            expand = meet(&mut axes, &factor.axes, expand);
        }
    }
    expand &= direction == Direction::Both;
    for tensor in second {
        if let Some(factor) = &tensor.factors[f] {
            expand = meet(&mut axes, &factor.axes, expand);
        }
    }
    axes
}

/// Shortens `axes` where `new` contradicts them and, if `expand`, extends them where `new` continues. Returns whether
/// later lists may extend the result.
fn meet(axes: &mut Axes, new: &[AxisPart], expand: bool) -> bool {
    let common = axes.len().min(new.len());
    for i in 0..common {
        let (old, other) = (axes[i], new[i]);
        if old == other {
            continue;
        }
        let (last_old, last_new) = (i + 1 == axes.len(), i + 1 == new.len());
        if other.is_prefix_of(old) {
            if last_new {
                // The list ends inside this axis: that's no contradiction, but a shorter list can't add anything
                // either.
                continue;
            }
            // The list continues with another axis before this one is used up.
            axes.truncate(i);
            axes.push(other);
            return false;
        }
        if old.is_prefix_of(other) {
            if expand && last_old {
                axes[i] = other;
                continue;
            }
            axes.truncate(i + 1);
            return false;
        }
        axes.truncate(i);
        return false;
    }
    if expand && new.len() > axes.len() {
        axes.extend_from_slice(&new[common..]);
    }
    expand
}

/// Keeps the axes up to the first that `fit` rejects; an axis that `fit` shortens is the last.
fn truncate(axes: &mut Axes, whole_axes: Option<&[u32]>, fit: impl Fn(AxisPart, i64) -> Option<AxisPart>) {
    let mut before = 1i64;
    for i in 0..axes.len() {
        let fitting = fit(axes[i], before);
        let Some(new) = fitting.filter(|n| whole_axes.is_none_or(|sizes| sizes[n.axis as usize] == n.size)) else {
            axes.truncate(i);
            return;
        };
        if new != axes[i] {
            axes[i] = new;
            axes.truncate(i + 1);
            return;
        }
        before = before.saturating_mul(i64::from(new.size));
    }
}

/// Returns the part of `axis` that a tensor can take on factor `f`, which has `before` shards already.
fn fits(axis: AxisPart, tensor: &TensorFactors, f: usize, before: i64, size: i64) -> Option<AxisPart> {
    let axis = fits_beside(axis, tensor, f)?;
    match &tensor.factors[f] {
        Some(factor) => fits_factor(axis, tensor, factor, before, size),
        None => Some(axis),
    }
}

/// Returns the part of `axis` that doesn't shard another factor of the tensor.
fn fits_beside(axis: AxisPart, tensor: &TensorFactors, f: usize) -> Option<AxisPart> {
    let others = tensor.factors.iter().enumerate().filter(|&(other, _)| other != f);
    others
        .filter_map(|(_, factor)| factor.as_ref())
        .try_fold(axis, |axis, other| axis.prefix_without_all(&other.overflow)?.prefix_without_all(&other.axes))
}

/// Returns the part of `axis` that the factor can take: the factor must be open and have no overflow, and either be the
/// last of its dimension or have a remaining size that `axis` divides.
fn fits_factor(
    axis: AxisPart,
    tensor: &TensorFactors,
    factor: &FactorSharding,
    before: i64,
    size: i64,
) -> Option<AxisPart> {
    let axis = axis.prefix_without_all(&tensor.replicated)?.prefix_without_all(&tensor.unreduced)?;
    if factor.axes.iter().any(|a| a.contains(axis)) {
        return Some(axis);
    }
    if !factor.closed && factor.overflow.is_empty() {
        if factor.minor_most {
            return Some(axis);
        }
        if before != 0 && size % before == 0 {
            let common = gcd(size / before, i64::from(axis.size));
            if common == i64::from(axis.size) {
                return Some(axis);
            }
            if common != 1 {
                return Some(AxisPart { size: common as u32, ..axis });
            }
        }
    }
    factor.axes.last().copied().filter(|last| last.is_prefix_of(axis))
}
