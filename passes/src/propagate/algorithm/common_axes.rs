//! Chooses one list of axes for every factor of an op whose tensors disagree, as Shardy does when it inserts reshards.
//!
//! Lists of axes compete: the one found on the larger tensors wins, then pass-through factors before reductions before
//! permutations, then the larger number of shards. Lists that overlap the winner are shortened or dropped, and the next
//! winner is chosen until no list is left. A factor may not be sharded before the factors to its left in a dimension
//! are fully sharded. Source: Shardy, `findCommonAxes`.

use std::cmp::Ordering;

use dialect::sharding::axis::{Prefix, prefix, push_merged, size_of};
use dialect::sharding::{Axes, AxisPart, FactorKind};

use super::projection::{Projection, TensorFactors};
use super::rule::Rule;

/// Returns the axes of each factor. `elements` are the sizes of all tensors; `name_of` orders axes by name to break
/// ties.
pub fn common_axes(
    rule: &Rule,
    projection: &Projection,
    elements: &[i64],
    name_of: &dyn Fn(u32) -> String,
) -> Vec<Axes> {
    if let Some(axes) = already_common(rule, projection) {
        return axes;
    }
    let not_scalar: Vec<usize> = (0..rule.tensors.len()).filter(|&t| !rule.tensors[t].dims.is_empty()).collect();
    let simple = rule.kinds.iter().all(|&k| k != FactorKind::NeedReplication)
        && rule.tensors.iter().all(|t| t.dims.iter().all(|d| d.len() <= 1));
    if let ([a, b], true) = (not_scalar.as_slice(), simple) {
        return of_one_tensor(rule, projection, elements, *a, *b);
    }
    let mut axes = best_of_all(rule, projection, elements, name_of);
    redistribute(rule, &not_scalar, &mut axes);
    axes
}

/// Returns the axes of each factor if all tensors agree, no axis shards two factors, and factors that must be
/// replicated aren't sharded.
fn already_common(rule: &Rule, projection: &Projection) -> Option<Vec<Axes>> {
    let mut seen: Vec<AxisPart> = Vec::new();
    let mut out = Vec::new();
    for f in 0..rule.factors() {
        let mut axes: Option<&Axes> = None;
        for factor in projection.tensors.iter().filter_map(|t| t.factors[f].as_ref()) {
            if *axes.get_or_insert(&factor.axes) != &factor.axes {
                return None;
            }
        }
        let axes = axes.cloned().unwrap_or_default();
        if rule.kinds[f] == FactorKind::NeedReplication {
            if !axes.is_empty() {
                return None;
            }
        } else if axes.iter().any(|a| seen.iter().any(|s| s.overlaps(*a))) {
            return None;
        }
        seen.extend(&axes);
        out.push(axes);
    }
    Some(out)
}

/// Returns the axes that keep the sharding of one of two tensors: the one whose permutation factors aren't sharded,
/// then the larger, then the one with more shards.
fn of_one_tensor(rule: &Rule, projection: &Projection, elements: &[i64], a: usize, b: usize) -> Vec<Axes> {
    let preference = |t: usize| {
        let tensor: &TensorFactors = &projection.tensors[t];
        let permutes = tensor.factors.iter().zip(&rule.kinds).any(|(factor, &kind)| {
            kind == FactorKind::Permutation && factor.as_ref().is_some_and(|f| !f.axes.is_empty())
        });
        (!permutes, elements[t], tensor.shards())
    };
    let (first, second) = if preference(a) >= preference(b) { (a, b) } else { (b, a) };
    let (first, second) = (&projection.tensors[first].factors, &projection.tensors[second].factors);
    let taken: Vec<AxisPart> = first.iter().flatten().flat_map(|f| f.axes.iter().copied()).collect();
    let of = |f: usize| match (&first[f], &second[f]) {
        (Some(factor), _) => factor.axes.clone(),
        (None, Some(factor)) => shortened(&factor.axes, &taken).unwrap_or_else(|| factor.axes.clone()),
        (None, None) => Axes::new(),
    };
    (0..rule.factors()).map(of).collect()
}

/// Returns the part of `axes` before the first that overlaps `others`; `None` if none overlaps.
fn shortened(axes: &[AxisPart], others: &[AxisPart]) -> Option<Axes> {
    let (i, fit) =
        axes.iter().enumerate().map(|(i, a)| (i, a.prefix_without_all(others))).find(|(i, p)| *p != Some(axes[*i]))?;
    Some(axes[..i].iter().copied().chain(fit).collect())
}

struct Candidate {
    factor: usize,
    axes: Axes,
    elements: i64,
    shards: i64,
}

fn precedence(kind: FactorKind) -> u8 {
    match kind {
        FactorKind::PassThrough => 3,
        FactorKind::Reduction => 2,
        FactorKind::Permutation => 1,
        FactorKind::NeedReplication => 0,
    }
}

fn best_of_all(rule: &Rule, projection: &Projection, elements: &[i64], name_of: &dyn Fn(u32) -> String) -> Vec<Axes> {
    let mut chosen = vec![Axes::new(); rule.factors()];
    let mut candidates = candidates(projection, elements);
    // For each factor, the factors to its left in some dimension that are not fully sharded.
    let mut waits_for = vec![Vec::new(); rule.factors()];
    for dim in rule.tensors.iter().flat_map(|t| &t.dims) {
        for pair in dim.windows(2) {
            waits_for[pair[1] as usize].push(pair[0] as usize);
        }
    }
    let names = |a: &AxisPart, b: &AxisPart| (name_of(a.axis), a.pre, a.size).cmp(&(name_of(b.axis), b.pre, b.size));
    let order = |a: &Candidate, b: &Candidate| {
        let key = |c: &Candidate| (c.elements, precedence(rule.kinds[c.factor]), c.shards, c.factor, c.axes.len());
        let by_name = || a.axes.iter().zip(&b.axes).map(|(x, y)| names(x, y)).find(|o| o.is_ne());
        key(a).cmp(&key(b)).then_with(|| by_name().unwrap_or(Ordering::Equal))
    };
    loop {
        let valid = candidates.iter().filter(|c| waits_for[c.factor].is_empty());
        let Some(best) = valid.max_by(|a, b| order(a, b)) else { return chosen };
        let (factor, axes) = (best.factor, best.axes.clone());
        if size_of(&axes) == rule.sizes[factor] {
            waits_for.iter_mut().for_each(|w| w.retain(|&other| other != factor));
        }
        chosen[factor] = axes.clone();
        candidates.retain_mut(|c| {
            if c.factor == factor {
                c.shards = size_of(&c.axes) / size_of(&axes);
                return prefix(&axes, &c.axes) == Prefix::Strict;
            }
            let Some(short) = shortened(&c.axes, &axes) else {
                c.shards = size_of(&c.axes);
                return true;
            };
            c.axes = short;
            c.shards = size_of(&c.axes) / size_of(&chosen[c.factor]).max(1);
            c.axes != chosen[c.factor]
        });
    }
}

/// Returns every list that shards a factor of some tensor, and its prefixes, with the total elements of all tensors
/// that have it.
fn candidates(projection: &Projection, elements: &[i64]) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    for (f, factor) in projection.tensors.iter().flat_map(|t| t.factors.iter().enumerate()) {
        let axes = factor.as_ref().map(|f| &f.axes[..]).unwrap_or_default();
        for len in 1..=axes.len() {
            let axes = Axes::from_slice(&axes[..len]);
            if out.iter().all(|c| c.factor != f || c.axes != axes) {
                let shards = size_of(&axes);
                out.push(Candidate { factor: f, axes, elements: 0, shards });
            }
        }
    }
    for (tensor, &size) in projection.tensors.iter().zip(elements) {
        for candidate in &mut out {
            let has = tensor.factors[candidate.factor]
                .as_ref()
                .is_some_and(|f| prefix(&candidate.axes, &f.axes) != Prefix::None);
            candidate.elements = candidate.elements.saturating_add(if has { size } else { 0 });
        }
    }
    out
}

/// Moves axes of factors that must be replicated to factors that all tensors have, as far as these can take them.
fn redistribute(rule: &Rule, not_scalar: &[usize], axes: &mut [Axes]) {
    let in_all = |f: usize| {
        let has = |&t: &usize| rule.tensors[t].dims.iter().any(|d| d.contains(&(f as u32)));
        not_scalar.iter().all(has)
    };
    for f in 0..rule.factors() {
        if rule.kinds[f] != FactorKind::NeedReplication {
            continue;
        }
        let mut left = std::mem::take(&mut axes[f]);
        if !in_all(f) {
            continue;
        }
        for to in 0..rule.factors() {
            let shards = size_of(&axes[to]);
            let batching = rule.kinds[to] == FactorKind::PassThrough && in_all(to);
            if !batching || rule.sizes[to] == 0 || shards == 0 || rule.sizes[to] % shards != 0 {
                continue;
            }
            let mut capacity = rule.sizes[to] / shards;
            while let Some(&axis) = left.first() {
                if capacity % i64::from(axis.size) != 0 {
                    break;
                }
                push_merged(&mut axes[to], axis);
                capacity /= i64::from(axis.size);
                left.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dialect::sharding::ShardingRule;

    use super::super::sharding::Sharding;
    use super::*;

    const X: AxisPart = AxisPart { axis: 0, pre: 1, size: 2 };
    const Y: AxisPart = AxisPart { axis: 1, pre: 1, size: 4 };

    fn sharded(dims: [&[AxisPart]; 2]) -> Sharding {
        let mut s = Sharding::replicated(0, 2);
        for (dim, axes) in s.dims.iter_mut().zip(dims) {
            dim.axes = Axes::from_slice(axes);
        }
        s
    }

    /// Concatenates two 8x8 tensors along dimension 0.
    fn concatenate() -> Rule {
        let mut rule = ShardingRule::new(&[2, 2], &[2]);
        rule.add(16, FactorKind::NeedReplication, &[(0, 0), (1, 0)], &[(0, 0)]);
        rule.add(8, FactorKind::PassThrough, &[(0, 1), (1, 1)], &[(0, 1)]);
        Rule::new(&rule, &[&[8, 8], &[8, 8], &[16, 8]]).unwrap()
    }

    fn check(rule: &Rule, shardings: [Sharding; 3], expect: [&[AxisPart]; 2]) {
        let projection = Projection::new(rule, &shardings.each_ref().map(Some), true);
        let axes = common_axes(rule, &projection, &[64, 64, 128], &|a| a.to_string());
        assert_eq!(axes.iter().map(|a| &a[..]).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_larger_tensor_wins() {
        // Both operands together are as large as the result, which has fewer shards.
        check(&concatenate(), [sharded([&[], &[X]]), sharded([&[], &[X]]), sharded([&[], &[Y]])], [&[], &[Y]]);
        // Axes that extend the winner are appended to it.
        check(&concatenate(), [sharded([&[], &[X]]), sharded([&[], &[X, Y]]), sharded([&[], &[X]])], [&[], &[X, Y]]);
        check(&concatenate(), [sharded([&[], &[X]]), sharded([&[], &[X]]), sharded([&[], &[X]])], [&[], &[X]]);
    }

    #[test]
    fn what_must_be_replicated_is_sharded_elsewhere() {
        check(&concatenate(), [sharded([&[X], &[]]), sharded([&[X], &[]]), sharded([&[X], &[]])], [&[], &[X]]);
        check(&concatenate(), [sharded([&[Y], &[X]]), sharded([&[], &[X]]), sharded([&[Y], &[]])], [&[], &[X, Y]]);
    }
}
