//! The projection of an op's tensor shardings to factors, and back.
//!
//! The axes of a dimension are assigned to its factors from the major end: a factor takes axes until it is full; an
//! axis larger than the rest of the factor is split; axes that can't be placed overflow and end the dimension. Source:
//! Shardy, `ShardingProjection`.

use dialect::ir::gcd;
use dialect::sharding::axis::{Prefix, prefix, push_merged, size_of};
use dialect::sharding::{Axes, AxisPart, DimSharding, ReductionKind};
use smallvec::SmallVec;

use super::rule::{Rule, TensorRule};
use super::sharding::Sharding;

/// The sharding of one factor of one tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FactorSharding {
    /// The axes that shard it, major first.
    pub axes: Axes,
    /// Axes of the dimension that fit neither this factor nor the next ones.
    pub overflow: Axes,
    /// Whether axes may not be added.
    pub closed: bool,
    /// Whether it is the last factor of its dimension, which may be padded.
    pub minor_most: bool,
}

/// One tensor, factor by factor; `None` for a factor it does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorFactors {
    /// One entry per factor.
    pub factors: SmallVec<[Option<FactorSharding>; 6]>,
    /// Axes that may not shard it.
    pub replicated: Axes,
    /// Axes along which it holds partial results.
    pub unreduced: Axes,
    /// The reduction that combines the partial results.
    pub kind: ReductionKind,
}

/// All tensors of an op, operands first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projection {
    /// The tensors.
    pub tensors: SmallVec<[TensorFactors; 4]>,
    /// The number of operands among them.
    pub operands: usize,
}

impl Projection {
    /// Projects `shardings`; a missing one has open dimensions, or closed ones if `closed_if_missing`.
    pub fn new(rule: &Rule, shardings: &[Option<&Sharding>], closed_if_missing: bool) -> Self {
        let tensors = rule
            .tensors
            .iter()
            .zip(shardings)
            .map(|(tensor, sharding)| project(rule, tensor, *sharding, closed_if_missing))
            .collect();
        Self { tensors, operands: rule.operands }
    }

    /// Returns the results.
    pub fn results(&self) -> &[TensorFactors] {
        &self.tensors[self.operands..]
    }

    /// Returns the operands.
    pub fn operands(&self) -> &[TensorFactors] {
        &self.tensors[..self.operands]
    }
}

impl TensorFactors {
    /// Shards factor `f` along `axes` if they extend its current axes.
    pub fn expand(&mut self, f: usize, axes: &[AxisPart]) -> bool {
        match &mut self.factors[f] {
            Some(factor) if prefix(&factor.axes, axes) == Prefix::Strict => {
                factor.axes = Axes::from_slice(axes);
                true
            }
            _ => false,
        }
    }

    /// Shards factor `f` along exactly `axes`.
    pub fn replace(&mut self, f: usize, axes: &[AxisPart]) -> bool {
        match &mut self.factors[f] {
            Some(factor) if factor.axes[..] != *axes || !factor.overflow.is_empty() => {
                factor.axes = Axes::from_slice(axes);
                factor.overflow.clear();
                true
            }
            _ => false,
        }
    }

    /// Returns the number of elements, as far as its factors determine it.
    pub fn elements(&self, rule: &Rule) -> i64 {
        let sizes = self.factors.iter().zip(&rule.sizes).filter(|(f, _)| f.is_some());
        sizes.fold(1i64, |n, (_, &size)| n.saturating_mul(size))
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> i64 {
        let factors = self.factors.iter().flatten();
        factors.fold(1i64, |n, f| n.saturating_mul(size_of(&f.axes)).saturating_mul(size_of(&f.overflow)))
    }

    /// Returns the sharding of the tensor by these factors. A dimension ends at the first factor that is not fully
    /// sharded, since axes on later factors would make its shards strided.
    pub fn sharding(&self, rule: &Rule, tensor: &TensorRule, mesh: u32) -> Sharding {
        let dims = tensor
            .dims
            .iter()
            .map(|factors| {
                let mut dim = DimSharding::open();
                for &f in factors {
                    let Some(factor) = &self.factors[f as usize] else {
                        break;
                    };
                    dim.open &= !factor.closed;
                    append(&mut dim.axes, &factor.axes);
                    if !factor.overflow.is_empty() {
                        append(&mut dim.axes, &factor.overflow);
                        break;
                    }
                    if size_of(&factor.axes) < rule.sizes[f as usize] {
                        break;
                    }
                }
                dim
            })
            .collect();
        Sharding { mesh, dims, replicated: self.replicated.clone(), unreduced: self.unreduced.clone(), kind: self.kind }
    }
}

/// Appends the axes of a factor; the first may continue the last axis of the previous factor.
fn append(axes: &mut Axes, more: &[AxisPart]) {
    if let Some((&first, rest)) = more.split_first() {
        push_merged(axes, first);
        axes.extend_from_slice(rest);
    }
}

fn project(rule: &Rule, tensor: &TensorRule, sharding: Option<&Sharding>, closed_if_missing: bool) -> TensorFactors {
    let mut out = TensorFactors {
        factors: SmallVec::from_elem(None, rule.factors()),
        replicated: sharding.map_or_else(Axes::new, |s| s.replicated.clone()),
        unreduced: sharding.map_or_else(Axes::new, |s| s.unreduced.clone()),
        kind: sharding.map_or(ReductionKind::Sum, |s| s.kind),
    };
    for (d, factors) in tensor.dims.iter().enumerate() {
        let dim = sharding.and_then(|s| s.dims.get(d));
        let closed = dim.map_or(closed_if_missing, |d| !d.open);
        let mut rest = Dealer::new(dim.map_or(&[][..], |d| &d.axes));
        let mut overflowed = false;
        for (i, &f) in factors.iter().enumerate() {
            let minor_most = i + 1 == factors.len();
            let mut factor = FactorSharding { closed, minor_most, ..FactorSharding::default() };
            if overflowed {
                // This factor can't be sharded; later factors are missing for this tensor.
                factor.closed = true;
                out.factors[f as usize] = Some(factor);
                break;
            }
            if minor_most {
                // The last factor may be sharded along axes that don't divide it: it is padded.
                rest.all(&mut factor.axes);
            } else {
                let left = rest.fill(&mut factor.axes, rule.sizes[f as usize]);
                if left > 1 && rest.current.is_some() {
                    overflowed = true;
                    rest.all(&mut factor.overflow);
                }
            }
            out.factors[f as usize] = Some(factor);
        }
    }
    out
}

/// Assigns the axes of a dimension to its factors.
struct Dealer<'a> {
    axes: &'a [AxisPart],
    next: usize,
    /// The rest of the axis before `next`.
    current: Option<AxisPart>,
}

impl<'a> Dealer<'a> {
    fn new(axes: &'a [AxisPart]) -> Self {
        Self { axes, next: 1, current: axes.first().copied() }
    }

    fn advance(&mut self) {
        self.current = self.axes.get(self.next).copied();
        self.next += 1;
    }

    /// Moves all remaining axes to `to`.
    fn all(&mut self, to: &mut Axes) {
        while let Some(axis) = self.current {
            push_merged(to, axis);
            self.advance();
        }
    }

    /// Moves axes to `to` until a factor of `size` is full or the next axis has no common divisor with the remaining
    /// size, which is returned.
    fn fill(&mut self, to: &mut Axes, size: i64) -> i64 {
        let mut left = size;
        while let Some(axis) = self.current {
            let common = gcd(left, i64::from(axis.size));
            if axis.size != 1 && common <= 1 {
                break;
            }
            if axis.size != 1 && i64::from(axis.size) > common {
                let common = common as u32;
                to.push(AxisPart { size: common, ..axis });
                self.current = Some(AxisPart { pre: axis.pre * common, size: axis.size / common, ..axis });
                left /= i64::from(common);
            } else {
                to.push(axis);
                left /= i64::from(axis.size);
                self.advance();
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use dialect::sharding::{FactorKind, ShardingRule};

    use super::*;

    fn axis(axis: u32, size: u32) -> AxisPart {
        AxisPart { axis, pre: 1, size }
    }

    /// Returns a rule that merges the factors `sizes` into one dimension.
    fn merged(sizes: &[i64]) -> Rule {
        let ranks = vec![1; sizes.len()];
        let mut rule = ShardingRule::new(&ranks, &[1]);
        for (i, &size) in sizes.iter().enumerate() {
            rule.add(size, FactorKind::PassThrough, &[(i, 0)], &[(0, 0)]);
        }
        let shapes: Vec<[i64; 1]> = sizes.iter().map(|&s| [s]).chain([[sizes.iter().product()]]).collect();
        Rule::new(&rule, &shapes.iter().map(|s| &s[..]).collect::<Vec<_>>()).unwrap()
    }

    fn sharded(axes: &[AxisPart]) -> Sharding {
        let mut s = Sharding::open(0, 1);
        s.dims[0].axes = Axes::from_slice(axes);
        s
    }

    /// Projects the merged dimension sharded along `axes`; expects each factor's axes and overflow.
    fn check(sizes: &[i64], axes: &[AxisPart], expect: &[(&[AxisPart], &[AxisPart])]) {
        let rule = merged(sizes);
        let sharding = sharded(axes);
        let mut shardings = vec![None; sizes.len()];
        shardings.push(Some(&sharding));
        let projection = Projection::new(&rule, &shardings, false);
        let result = &projection.results()[0];
        let found: Vec<_> = result.factors.iter().flatten().map(|f| (&f.axes[..], &f.overflow[..])).collect();
        assert_eq!(found, expect);
        assert_eq!(result.sharding(&rule, &rule.tensors[sizes.len()], 0), sharding);
    }

    #[test]
    fn a_dimension_is_dealt_to_its_factors() {
        let (x, y) = (axis(0, 2), axis(1, 4));
        check(&[2, 8], &[x, y], &[(&[x], &[]), (&[y], &[])]);
        check(&[4, 8], &[x], &[(&[x], &[]), (&[], &[])]);
        // y is split between the factors.
        let (major, minor) = (AxisPart { size: 2, ..y }, AxisPart { pre: 2, size: 2, ..y });
        check(&[4, 8], &[x, y], &[(&[x, major], &[]), (&[minor], &[])]);
        // The last factor takes the remaining axes, divisible or not.
        check(&[2, 3], &[x, y], &[(&[x], &[]), (&[y], &[])]);
        // Three and four have no common divisor.
        check(&[3, 8, 2], &[y, x], &[(&[], &[y, x]), (&[], &[])]);
        // An axis of size one always fits.
        check(&[2, 2], &[axis(2, 1), x], &[(&[axis(2, 1), x], &[]), (&[], &[])]);
    }

    #[test]
    fn a_half_sharded_factor_ends_its_dimension() {
        let rule = merged(&[4, 8]);
        let mut projection = Projection::new(&rule, &[None, None, None], false);
        let (x, y) = (axis(0, 2), axis(1, 4));
        let result = &mut projection.tensors[2];
        assert!(result.expand(0, &[x]) && result.expand(1, &[y]) && !result.expand(1, &[x]));
        assert_eq!(result.sharding(&rule, &rule.tensors[2], 0), sharded(&[x]));
        assert!(result.expand(0, &[x, AxisPart { axis: 2, pre: 1, size: 2 }]));
        assert_eq!(result.sharding(&rule, &rule.tensors[2], 0).dims[0].axes.len(), 3);
        assert_eq!((result.elements(&rule), result.shards()), (32, 16));
    }

    #[test]
    fn closed_where_the_dimension_is_closed() {
        let rule = merged(&[4, 8]);
        let mut sharding = sharded(&[axis(0, 2)]);
        sharding.dims[0].open = false;
        let projection = Projection::new(&rule, &[None, None, Some(&sharding)], false);
        assert!(projection.results()[0].factors.iter().flatten().all(|f| f.closed));
        assert!(projection.operands()[0].factors.iter().flatten().all(|f| !f.closed && f.minor_most));
        let missing = Projection::new(&rule, &[None, None, None], true);
        assert!(missing.results()[0].factors.iter().flatten().all(|f| f.closed));
    }
}
