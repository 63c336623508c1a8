//! The ways to compute one op in shards: the mesh axes that shard each factor of its sharding rule, and the resulting
//! distributions of operands and results.

use std::collections::BTreeSet;
use std::sync::Arc;

use dialect::ir::gcd;
use dialect::sharding::axis::{after_prefix, common_prefix, merged, push_merged, set_of, size_of};
use dialect::sharding::{
    Assembly, Axes, AxisPart, Distribution, FactorKind, Reach, ReductionKind, ShardDim, ShardingRule, TensorFactors,
};
use smallvec::SmallVec;

use crate::layouts::helps;

/// The properties of an op that the plan reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OpModel {
    /// Which dimensions are sharded together.
    pub rule: ShardingRule,
    /// How partial results combine when reduction factors are sharded; `None` when they can't be combined.
    pub reduction: Option<ReductionKind>,
    /// Operands that are added to the reduced value (its initial values, a scatter's target), which must be counted
    /// only once.
    pub accumulated: SmallVec<[usize; 2]>,
    /// Sets of operands in which the op is linear: partial sums pass through it.
    pub linear: Vec<BTreeSet<usize>>,
    /// Factors that may only be sharded by axes whose size divides them.
    pub rigid: SmallVec<[u32; 2]>,
    /// Operand dimensions that are read along a factor at other positions than the factor's own.
    pub shifted: Vec<Shifted>,
    /// The factor along which the result is assembled from rows of operands, and the assembly.
    pub assembled: Option<(u32, Arc<Assembly>)>,
    /// Factors along which operands are read to the end of a shard, and those operands: their padding must be masked.
    pub masked: SmallVec<[(u32, u32); 2]>,
}

/// An operand dimension of which a device needs its neighbors' rows where a factor is sharded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shifted {
    /// The factor.
    pub factor: u32,
    /// The index of the operand.
    pub operand: u32,
    /// The positions at which it is read.
    pub reach: Reach,
}

/// Axes for each factor, and axes along which partial sums pass through.
#[derive(PartialEq, Eq, Hash, Debug, Default)]
pub struct Strategy {
    /// The axes of each factor, major first; empty for a factor that isn't sharded.
    pub factors: Vec<Axes>,
    /// Axes along which the operands in `set`, and so the results, are partial sums.
    pub through: Axes,
    /// One of the model's linear sets; empty when no partial sums pass through.
    pub set: BTreeSet<usize>,
}

/// The part of one tensor's distribution that a strategy keeps.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kept<'a> {
    /// The axes that shard each factor; factors without axes are omitted.
    axes: SmallVec<[(usize, Axes); 4]>,
    /// Axes along which reduction factors are sharded.
    unreduced: &'a [AxisPart],
}

impl Clone for Strategy {
    fn clone(&self) -> Self {
        let axes = |axes: &Axes| Axes::from_slice(axes);
        Self { factors: self.factors.iter().map(axes).collect(), through: axes(&self.through), set: self.set.clone() }
    }
}

/// The distributions of operands and results under a strategy.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    /// The distribution that each operand must have.
    pub operands: Vec<Distribution>,
    /// The distribution that each result has.
    pub results: Vec<Distribution>,
}

impl OpModel {
    /// Returns whether the factor may be sharded.
    pub fn divisible(&self, factor: usize) -> bool {
        match self.rule.factors[factor].kind {
            FactorKind::PassThrough => true,
            FactorKind::Reduction => self.reduction.is_some(),
            FactorKind::Permutation => true,
            FactorKind::NeedReplication => false,
        }
    }

    /// Returns the strategy that shards nothing.
    pub fn whole(&self) -> Strategy {
        Strategy { factors: vec![Axes::new(); self.rule.factors.len()], ..Strategy::default() }
    }

    /// Returns the strategy that keeps as much as it can of the given distributions, earlier ones first. Each comes
    /// with the index of its tensor, operands counted before results.
    pub fn keeping<'a>(&self, order: impl IntoIterator<Item = (usize, &'a Distribution)>) -> Strategy {
        let order: SmallVec<[Kept<'_>; 4]> = order.into_iter().map(|(tensor, at)| self.kept(tensor, at)).collect();
        self.keeping_all(&order)
    }

    /// Returns the part of the distribution `at` of tensor `tensor` that a strategy keeps.
    pub(crate) fn kept<'a>(&self, tensor: usize, at: &'a Distribution) -> Kept<'a> {
        let mut axes = self.project(self.tensor(tensor), at);
        axes.retain(|(factor, parts)| !parts.is_empty() && self.divisible(*factor));
        // A result that is unreduced along axes by a maximum or minimum comes from a reduction factor sharded along
        // them.
        let combined =
            tensor >= self.rule.operands.len() && at.kind != ReductionKind::Sum && self.reduction == Some(at.kind);
        Kept { axes, unreduced: if combined { &at.unreduced } else { &[] } }
    }

    /// Returns the strategy that keeps as much as it can of these, earlier ones first.
    pub(crate) fn keeping_all<'k, 'a: 'k>(&self, order: impl IntoIterator<Item = &'k Kept<'a>>) -> Strategy {
        let mut strategy = self.whole();
        for kept in order {
            kept.axes.iter().for_each(|(factor, parts)| extend(&mut strategy.factors, *factor, parts));
            if kept.unreduced.is_empty() {
                continue;
            }
            let is_reduced = |f: &usize| self.rule.factors[*f].kind == FactorKind::Reduction && self.divisible(*f);
            let reduced = (0..self.rule.factors.len()).filter(is_reduced);
            reduced.for_each(|factor| extend(&mut strategy.factors, factor, kept.unreduced));
        }
        self.legalize(&mut strategy);
        strategy
    }

    /// Returns the strategy nearest to `strategy` that shards tensor `tensor` (operands counted before results) as `at`
    /// does: other factors give up the axes needed for it. `None` when no strategy does.
    pub fn adopting(&self, strategy: &Strategy, tensor: usize, at: &Distribution) -> Option<Strategy> {
        let factors = self.tensor(tensor);
        let mut next = strategy.clone();
        let mut taken = Axes::new();
        factors.iter().flatten().for_each(|&f| next.factors[f as usize].clear());
        for (f, parts) in self.project(factors, at) {
            if !parts.is_empty() && !self.divisible(f) {
                return None;
            }
            taken.extend(parts.iter().copied());
            next.factors[f] = parts;
        }
        if taken.iter().any(|p| next.through.iter().any(|q| q.conflicts_with(*p))) {
            return None;
        }
        for f in (0..next.factors.len()).filter(|&f| !factors.iter().flatten().any(|&g| g as usize == f)) {
            let axes = &mut next.factors[f];
            let first = axes.iter().position(|p| taken.iter().any(|q| q.conflicts_with(*p)));
            axes.truncate(first.unwrap_or(axes.len()));
        }
        self.legalize(&mut next);
        let place = |f: &SmallVec<[u32; 1]>| merged(f.iter().flat_map(|&f| next.factors[f as usize].iter().copied()));
        (factors.iter().map(place).eq(at.dims.iter().cloned())).then_some(next)
    }

    /// Adds `axis` to factor `factor` of `strategy`, which must not use it yet. The axes of one factor are ordered by
    /// `rank`, the parts of one axis by position. `None` when the factor can't be sharded this way.
    pub fn with_axis(
        &self,
        strategy: &Strategy,
        axis: AxisPart,
        factor: usize,
        rank: &dyn Fn(AxisPart) -> usize,
    ) -> Option<Strategy> {
        if !self.divisible(factor) {
            return None;
        }
        let mut axes = Axes::from_slice(&strategy.factors[factor]);
        let place = |p: AxisPart| (rank(p), p.pre);
        let at = axes.iter().position(|&p| place(p) > place(axis)).unwrap_or(axes.len());
        axes.insert(at, axis);
        let wanted = merged(axes);
        if !helps(self.extent(factor), &strategy.factors[factor], &wanted) {
            return None;
        }
        if self.rigid.contains(&(factor as u32)) && self.rule.factors[factor].size.max(0) % size_of(&wanted) != 0 {
            return None;
        }
        let mut next = strategy.clone();
        next.factors[factor] = Axes::from_slice(&wanted);
        self.legalize(&mut next);
        (next.factors[factor] == wanted).then_some(next)
    }

    /// Returns the size of the largest dimension with this factor: where data moves along it, sizes differ.
    fn extent(&self, factor: usize) -> i64 {
        let moved = self.shifted.iter().filter(|s| s.factor as usize == factor);
        let sizes = moved.map(|s| s.reach.iterations.max(s.reach.size));
        let assembled = self.assembled.iter().filter(|a| a.0 as usize == factor);
        let sizes = sizes.chain(assembled.flat_map(|a| a.1.sizes.iter().flatten().copied()));
        sizes.fold(self.rule.factors[factor].size, i64::max)
    }

    /// Returns the factors of a tensor's dimensions, operands counted before results.
    pub(crate) fn tensor(&self, tensor: usize) -> &TensorFactors {
        let operands = self.rule.operands.len();
        if tensor < operands { &self.rule.operands[tensor] } else { &self.rule.results[tensor - operands] }
    }

    /// Returns the axes of a distribution by factor, without axes that fit no factor.
    pub(crate) fn project(&self, dims: &TensorFactors, distribution: &Distribution) -> SmallVec<[(usize, Axes); 4]> {
        let mut out = SmallVec::new();
        for (factors, parts) in dims.iter().zip(&distribution.dims) {
            if let [factor] = factors[..] {
                out.push((factor as usize, Axes::from_slice(parts)));
                continue;
            }
            let mut parts = parts.iter().copied();
            let mut next = parts.next();
            for &factor in factors {
                let mut rest = self.rule.factors[factor as usize].size.max(1) as u64;
                let mut taken = Axes::new();
                while let Some(part) = next
                    && rest > 1
                {
                    let size = gcd(rest as i64, part.size.into()) as u32;
                    if size == 1 {
                        break;
                    }
                    push_merged(&mut taken, AxisPart { size, ..part });
                    rest /= u64::from(size);
                    let left = AxisPart { axis: part.axis, pre: part.pre * size, size: part.size / size };
                    next = if left.size > 1 { Some(left) } else { parts.next() };
                    if left.size > 1 && rest > 1 {
                        break;
                    }
                }
                out.push((factor as usize, taken));
                if rest > 1 {
                    // Minor factors can't be sharded below one that isn't sharded down to single elements.
                    break;
                }
            }
        }
        out
    }

    /// Removes axes that can't shard a dimension: axes below a factor that isn't sharded down to single elements, and
    /// axes that don't divide one of several factors of a dimension or a rigid factor.
    pub fn legalize(&self, strategy: &mut Strategy) {
        for s in &self.shifted {
            let axes = &mut strategy.factors[s.factor as usize];
            // An empty dimension has no rows to send.
            while !axes.is_empty() && (s.reach.size < 1 || s.reach.window(size_of(axes)).is_none()) {
                axes.pop();
            }
        }
        for &f in &self.rigid {
            let axes = &mut strategy.factors[f as usize];
            while self.rule.factors[f as usize].size.max(0) % size_of(axes) != 0 {
                axes.pop();
            }
        }
        loop {
            let mut changed = false;
            for factors in self.rule.tensors().flatten().filter(|f| f.len() > 1) {
                let mut open = true;
                for &f in factors {
                    let (size, axes) = (self.rule.factors[f as usize].size.max(1), &mut strategy.factors[f as usize]);
                    while !axes.is_empty() && (!open || size % size_of(axes) != 0) {
                        axes.pop();
                        changed = true;
                    }
                    open &= size_of(axes) == size;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns the axes that shard reduction factors.
    pub fn reduced(&self, strategy: &Strategy) -> Axes {
        let factors = self.rule.factors.iter().zip(&strategy.factors);
        let sharded = factors.filter(|(f, _)| f.kind == FactorKind::Reduction);
        set_of(sharded.flat_map(|(_, axes)| axes.iter().copied()))
    }

    /// Returns the distributions of operands and results.
    pub fn assignment(&self, strategy: &Strategy) -> Assignment {
        let reduced = self.reduced(strategy);
        let one = |tensor| self.distribution(strategy, &reduced, tensor);
        let (operands, results) = (self.rule.operands.len(), self.rule.results.len());
        Assignment {
            operands: (0..operands).map(one).collect(),
            results: (operands..operands + results).map(one).collect(),
        }
    }

    /// Returns the distribution of a tensor (operands counted before results); `reduced` must be [`Self::reduced`].
    pub(crate) fn distribution(&self, strategy: &Strategy, reduced: &[AxisPart], tensor: usize) -> Distribution {
        let axes = |factors: &SmallVec<[u32; 1]>| match factors[..] {
            [factor] if strategy.factors[factor as usize].len() < 2 => {
                Axes::from_slice(&strategy.factors[factor as usize])
            }
            _ => merged(factors.iter().flat_map(|&f| strategy.factors[f as usize].iter().copied())),
        };
        let dims = self.tensor(tensor).iter().map(axes).collect();
        let at = Distribution { dims, ..Distribution::default() };
        let kind = self.reduction.unwrap_or_default();
        let is_result = tensor >= self.rule.operands.len();
        // A maximum or minimum doesn't change when an operand counts more than once.
        let at = match is_result || kind == ReductionKind::Sum && self.accumulated.contains(&tensor) {
            true => at.with_unreduced(reduced, kind),
            false => at,
        };
        match !strategy.through.is_empty() && (is_result || strategy.set.contains(&tensor)) {
            true => at.with_unreduced(&strategy.through, ReductionKind::Sum),
            false => at,
        }
    }

    /// Returns the number of devices that share the work: fewer than all devices where some of them compute padding.
    pub fn speedup(&self, strategy: &Strategy) -> f64 {
        let factors = self.rule.factors.iter().zip(&strategy.factors).filter(|f| !f.1.is_empty());
        factors.map(|(f, axes)| ShardDim::new(f.size, size_of(axes)).speedup()).product()
    }

    /// Returns the operands in which padding must be masked for a reduction.
    pub fn masked<'a>(&'a self, strategy: &'a Strategy) -> impl Iterator<Item = usize> + 'a {
        let shows = |f: u32| {
            let axes = &strategy.factors[f as usize];
            !axes.is_empty() && !ShardDim::new(self.rule.factors[f as usize].size, size_of(axes)).is_even()
        };
        self.masked.iter().filter(move |m| shows(m.0)).map(|m| m.1 as usize)
    }
}

/// Adds to `factor` the axes of `parts` that continue its axes and that no other factor uses.
fn extend(factors: &mut [Axes], factor: usize, parts: &[AxisPart]) {
    let kept = &factors[factor];
    if common_prefix(kept, parts) != *kept {
        return;
    }
    let rest = after_prefix(parts, kept);
    for part in rest {
        if factors.iter().flatten().any(|p| p.conflicts_with(part)) {
            return;
        }
        push_merged(&mut factors[factor], part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::reshard::tests::{dist, mesh_axes};

    fn dot() -> OpModel {
        let mut rule = ShardingRule::new(&[2, 2], &[2]);
        rule.add(64, FactorKind::PassThrough, &[(0, 0)], &[(0, 0)]);
        rule.add(256, FactorKind::PassThrough, &[(1, 1)], &[(0, 1)]);
        rule.add(128, FactorKind::Reduction, &[(0, 1), (1, 0)], &[]);
        OpModel {
            rule,
            reduction: Some(ReductionKind::Sum),
            masked: [(2, 0), (2, 1)].into_iter().collect(),
            ..OpModel::default()
        }
    }

    #[test]
    fn the_first_tensor_wins() {
        let g = mesh_axes(&[2, 4]);
        let (lhs, rhs, out) = (dist(&g, "x|y"), dist(&g, "y|"), dist(&g, "x|y"));
        let model = dot();
        let reducing = model.keeping([(0, &lhs), (1, &rhs), (2, &out)]);
        let places = model.assignment(&reducing);
        assert_eq!(places.operands, [lhs.clone(), rhs.clone()]);
        assert_eq!(places.results, [dist(&g, "x|;y")]);
        let gathering = model.keeping([(2, &out), (0, &lhs), (1, &rhs)]);
        let places = model.assignment(&gathering);
        assert_eq!(places.operands, [dist(&g, "x|"), dist(&g, "|y")]);
        assert_eq!(places.results, [out]);
        assert_eq!(model.speedup(&gathering), 8.0);
    }

    #[test]
    fn minor_factors_wait_for_major_ones() {
        let g = mesh_axes(&[2, 4]);
        let mut rule = ShardingRule::new(&[1], &[2]);
        rule.add(4, FactorKind::PassThrough, &[(0, 0)], &[(0, 0)]);
        rule.add(8, FactorKind::PassThrough, &[(0, 0)], &[(0, 1)]);
        let model = OpModel { rule, ..OpModel::default() };
        let split = model.keeping([(0, &dist(&g, "x y"))]);
        // Axis x and half of y make up the 4; the other half of y shards the 8.
        assert_eq!(model.assignment(&split).results, [dist(&g, "x y:1:2|y:2:2")]);
        assert_eq!(model.assignment(&split).operands, [dist(&g, "x y")]);
        let minor = model.keeping([(1, &dist(&g, "|y"))]);
        assert_eq!(minor, model.whole());
        let whole = model.keeping([(1, &dist(&g, "y|x"))]);
        assert_eq!(model.assignment(&whole).operands, [dist(&g, "y x")]);
    }

    #[test]
    fn partial_sums_pass_through_any_number_of_operands() {
        let g = mesh_axes(&[2, 4]);
        let mut rule = ShardingRule::new(&[1; 40], &[1]);
        rule.add(8, FactorKind::PassThrough, &(0..40).map(|i| (i, 0)).collect::<Vec<_>>(), &[(0, 0)]);
        let all: BTreeSet<usize> = (0..40).collect();
        let model = OpModel { rule, linear: vec![all.clone()], ..OpModel::default() };
        let mut strategy = model.keeping([(0, &dist(&g, "x"))]);
        (strategy.set, strategy.through) = (all, [g.whole(1)].into_iter().collect());
        let places = model.assignment(&strategy);
        assert_eq!(places.operands, vec![dist(&g, "x;y"); 40]);
        assert_eq!(places.results, [dist(&g, "x;y")]);
    }

    #[test]
    fn initial_values_count_once() {
        let g = mesh_axes(&[2, 4]);
        let mut rule = ShardingRule::new(&[2, 0], &[1]);
        rule.add(8, FactorKind::PassThrough, &[(0, 0)], &[(0, 0)]);
        rule.add(8, FactorKind::Reduction, &[(0, 1)], &[]);
        let model = OpModel {
            rule,
            reduction: Some(ReductionKind::Sum),
            accumulated: [1].into_iter().collect(),
            ..OpModel::default()
        };
        let strategy = model.keeping([(0, &dist(&g, "x|y"))]);
        let places = model.assignment(&strategy);
        assert_eq!(places.operands[1], Distribution::replicated(0).with_unreduced(&[g.whole(1)], ReductionKind::Sum));
        assert_eq!(places.results, [dist(&g, "x;y")]);
    }

    #[test]
    fn what_does_not_divide_is_shared_by_fewer() {
        let g = mesh_axes(&[2, 4]);
        let rank = |p: AxisPart| p.axis as usize;
        let mut model = dot();
        model.rule.factors[0].size = 66;
        model.rule.factors[2].size = 9;
        let rows = model.with_axis(&model.whole(), g.whole(1), 0, &rank).unwrap();
        assert_eq!(model.speedup(&rows), 66.0 / 17.0);
        assert_eq!(model.masked(&rows).count(), 0);
        let sums = model.with_axis(&rows, g.whole(0), 2, &rank).unwrap();
        assert_eq!(model.speedup(&sums), (66.0 / 17.0) * (9.0 / 5.0));
        assert_eq!(model.masked(&sums).collect::<Vec<_>>(), [0, 1]);
        model.rigid.push(0);
        assert_eq!(model.with_axis(&model.whole(), g.whole(1), 0, &rank), None);
        assert!(model.with_axis(&model.whole(), g.whole(0), 0, &rank).is_some());
        // With three rows, four devices leave one idle; the other axis adds nothing.
        model.rule.factors[0] = dialect::sharding::Factor { size: 3, ..model.rule.factors[0] };
        model.rigid.clear();
        let four = model.with_axis(&model.whole(), g.whole(1), 0, &rank).unwrap();
        assert_eq!(model.speedup(&four), 3.0);
        assert_eq!(model.with_axis(&four, g.whole(0), 0, &rank), None);
    }
}
