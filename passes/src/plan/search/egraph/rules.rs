//! The built-in rewrites, one row each. A row returns classes equal to the class it is given; every row is tested by
//! evaluating both sides on simulated devices (`rules_tests.rs`).

use std::collections::BTreeSet;

use dialect::sharding::axis::{set_difference, set_of};
use dialect::sharding::{Axes, AxisPart, FactorKind, ReductionKind, Reshard};
use egg::Id;
use smallvec::SmallVec;

use super::rewrite::Rewrite;
use super::term::{Term, TermKind, Terms, ValueAt, add, computed, moved};
use crate::plan::model::choice::StrategyId;
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::{OpId, ValueId};
use crate::plan::reshard::cache::Dist;

/// Classes equal to the given one.
pub(super) type Equal = SmallVec<[Id; 4]>;

/// All rewrites, in the order they are tried.
pub(super) static ROWS: [Rewrite; 16] = [
    Rewrite::row("slice_of_gather", "all_slice(all_gather x) = x, or what is left of the longer of the two", |t, n| {
        pair(t, n, is_gather, is_slice, |k| is_gather(k) || is_slice(k))
    }),
    Rewrite::row("gather_of_slice", "all_gather(all_slice x) = x, or what is left of the longer of the two", |t, n| {
        pair(t, n, is_slice, is_gather, |k| is_gather(k) || is_slice(k))
    }),
    Rewrite::row("slice_of_all_reduce", "all_slice(all_reduce x) = reduce_scatter x", |t, n| {
        pair(t, n, is_reduce, is_slice, is_scatter)
    }),
    Rewrite::row("gather_of_reduce_scatter", "all_gather(reduce_scatter x) = all_reduce x", |t, n| {
        pair(t, n, is_scatter, is_gather, is_reduce)
    }),
    Rewrite::row("slice_and_gather", "all_slice(all_gather x) = all_gather(all_slice x) = all_to_all x", |t, n| {
        let mut found = pair(t, n, is_gather, is_slice, is_exchange);
        found.extend(pair(t, n, is_slice, is_gather, is_exchange));
        found
    }),
    Rewrite::row("permute_of_permute", "permute(permute x) = permute x, or x", |t, n| {
        pair(t, n, is_permute, is_permute, is_permute)
    }),
    Rewrite::row("exchange_of_slice", "all_to_all(all_slice x) = all_slice x, and the same of permutes", |t, n| {
        pair(t, n, is_slice, |k| is_exchange(k) || is_permute(k), is_slice)
    }),
    Rewrite::row("shortest_reshard", "two collectives in a row = the cheapest steps with the same ends", shortest),
    Rewrite::row("all_reduce_by_scatter", "all_reduce x = all_gather(reduce_scatter x)", by_scatter),
    Rewrite::row("sum_of_all_reduces", "all_reduce x + all_reduce y = all_reduce(x + y)", |t, n| {
        pull(t, n, |operands| operands >= 2)
    }),
    Rewrite::row(
        "all_reduce_through_linear",
        "f(all_reduce x) = all_reduce(f x), f linear and not narrowing; all_reduce(f x) = f(all_reduce x) where f keeps the type",
        |t, n| {
            let mut found = pull(t, n, |operands| operands == 1);
            found.extend(push(t, n));
            found
        },
    ),
    Rewrite::row(
        "gather_through",
        "f(all_gather x, y) = all_gather(f(x, all_slice y)), both ways, f working on each element or slice alone",
        |t, n| {
            let mut found = through(t, n, is_gather, |kind| kind == FactorKind::PassThrough);
            found.extend(result_through(t, n, is_gather));
            found
        },
    ),
    Rewrite::row("exchange_through", "f(all_to_all x) = all_to_all(f x), and the same of permutes", |t, n| {
        let mut found = through(t, n, |k| is_exchange(k) || is_permute(k), |kind| kind == FactorKind::PassThrough);
        found.extend(result_through(t, n, |k| is_exchange(k) || is_permute(k)));
        found
    }),
    Rewrite::row("slice_through", "all_slice(f(x, y)) = f(all_slice x, all_slice y)", |t, n| {
        result_through(t, n, is_slice)
    }),
    Rewrite::row(
        "contraction_by_reducing",
        "dot(all_gather x, y) = all_reduce(dot(x, all_slice y)) where what is gathered is contracted",
        |t, n| through(t, n, |k| is_gather(k) || is_exchange(k), |kind| kind == FactorKind::Reduction),
    ),
    Rewrite::row(
        "contraction_by_gathering",
        "all_reduce(dot(x, y)) = dot(all_gather x, all_gather y) where what is reduced was contracted",
        by_gathering,
    ),
];

fn is_gather(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::AllGather(_))
}

fn is_slice(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::AllSlice(_))
}

fn is_reduce(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::AllReduce(..))
}

fn is_scatter(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::ReduceScatter(..))
}

fn is_exchange(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::AllToAll(_))
}

fn is_permute(kind: &Reshard<AxisPart>) -> bool {
    matches!(kind, Reshard::CollectivePermute)
}

type Is = fn(&Reshard<AxisPart>) -> bool;

/// If a term is a step, returns its kind, the class it starts from and the distribution it ends in.
fn step<'t>(terms: &'t Terms<'_, '_>, term: &Term) -> Option<(&'t Reshard<AxisPart>, Id, Dist)> {
    match term.head {
        TermKind::Step { kind, to } => Some((terms.analysis.cache.step(kind), term.children[0], to)),
        _ => None,
    }
}

/// Returns the classes from which a step accepted by `is` leads to class `to`.
fn before(terms: &Terms<'_, '_>, to: Id, is: Is) -> SmallVec<[Id; 4]> {
    let steps = terms[to].nodes.iter().filter_map(|n| step(terms, n)).filter(|s| is(s.0));
    steps.map(|s| terms.find(s.1)).collect()
}

/// An op under a strategy, with its result's index and operands.
type OpTerm = (OpId, StrategyId, u32, SmallVec<[Id; 3]>);

/// Returns the ops under strategies in a class.
fn ops(terms: &Terms<'_, '_>, class: Id) -> SmallVec<[OpTerm; 4]> {
    let of = |n: &Term| match n.head {
        TermKind::Op { op, id, result } => Some((op, id, result, n.children.clone())),
        _ => None,
    };
    terms[class].nodes.iter().filter_map(of).collect()
}

fn meaning(terms: &Terms<'_, '_>, class: Id) -> ValueAt {
    terms[class].data
}

/// Replaces an `outer` step after an `inner` one by a single step accepted by `becomes`, or by none.
fn pair(terms: &mut Terms<'_, '_>, term: &Term, inner: Is, outer: Is, becomes: Is) -> Equal {
    let mut found = Equal::new();
    let Some((_, between, to)) = step(terms, term).filter(|s| outer(s.0)) else { return found };
    for from in before(terms, between, inner) {
        let Some((value, at)) = meaning(terms, from) else { continue };
        if at == to {
            found.push(from);
            continue;
        }
        let ty = terms.analysis.ty(value);
        if let [(kind, _)] = terms.analysis.cache.path(ty, at, to).steps[..]
            && becomes(terms.analysis.cache.step(kind))
        {
            found.push(add(terms, TermKind::Step { kind, to }, [from]));
        }
    }
    found
}

fn shortest(terms: &mut Terms<'_, '_>, term: &Term) -> Equal {
    let Some((_, between, to)) = step(terms, term).filter(|s| s.0.collective().is_some()) else { return Equal::new() };
    before(terms, between, |k| k.collective().is_some()).into_iter().map(|from| moved(terms, from, to)).collect()
}

fn by_scatter(terms: &mut Terms<'_, '_>, term: &Term) -> Equal {
    let mut found = Equal::new();
    let Some((Reshard::AllReduce(parts, kind), from, to)) = step(terms, term) else { return found };
    let (parts, kind) = (parts.clone(), *kind);
    let Some((value, at)) = meaning(terms, from) else { return found };
    let ty = terms.analysis.ty(value);
    let shape = terms.analysis.cache.tensor_type(ty).shape.clone();
    for dim in 0..shape.len() {
        let per_dim = (0..shape.len()).map(|d| if d == dim { parts.clone() } else { Axes::new() }).collect();
        let scatter = Reshard::ReduceScatter(per_dim, kind);
        let Ok(after) = scatter.apply(terms.analysis.cache.distribution(at)) else { continue };
        let at = terms.analysis.cache.distribution(at);
        if after.shard_dim(dim, shape[dim]).refines(at.shard_dim(dim, shape[dim])) {
            let (kind, after) = (terms.analysis.cache.kind(&scatter), terms.analysis.cache.dist(&after));
            let scattered = add(terms, TermKind::Step { kind, to: after }, [from]);
            found.push(moved(terms, scattered, to));
        }
    }
    found
}

/// Returns whether partial sums along `through` may pass through the op in the operands of `set`.
fn passes(model: &OpModel, strategy: &Strategy, set: &BTreeSet<usize>) -> bool {
    let conflicts = |s: &Strategy| s.factors.iter().flatten().any(|p| s.through.iter().any(|q| q.conflicts_with(*p)));
    model.linear.contains(set) && !conflicts(strategy)
}

/// Rewrites `f(all_reduce x)`: moves the reduction after `f`.
fn pull(terms: &mut Terms<'_, '_>, term: &Term, count: fn(usize) -> bool) -> Equal {
    let mut found = Equal::new();
    let TermKind::Op { op, id, result } = term.head else { return found };
    let Some((model_id, model)) = terms.analysis.model(op).filter(|m| m.1.linear.iter().any(|s| count(s.len()))) else {
        return found;
    };
    let Some(&to) = terms.analysis.places(op, id).results.get(result as usize) else { return found };
    let tensors = tensors(terms, op);
    for set in model.linear.iter().filter(|s| count(s.len())) {
        for (&operand, &child) in tensors.iter().zip(&term.children).filter(|o| set.contains(o.0)) {
            for from in before(terms, child, |k| is_reduce(k) || is_scatter(k)) {
                let (Some((_, from_at)), Some((_, reduced))) = (meaning(terms, from), meaning(terms, child)) else {
                    continue;
                };
                let (cache, strategy) = (&terms.analysis.cache, terms.analysis.placer.strategy(id));
                let (at, reduced) = (cache.distribution(from_at), cache.distribution(reduced));
                if at.kind != ReductionKind::Sum || (!strategy.through.is_empty() && strategy.set != *set) {
                    continue;
                }
                let pending = set_difference(&at.unreduced, &reduced.unreduced);
                let Some(next) = terms.analysis.adopting(model_id, id, operand, from_at) else { continue };
                let mut next = terms.analysis.placer.strategy(next).clone();
                next.through = set_of(next.through.iter().chain(&pending).copied());
                next.set = set.clone();
                if passes(&model, &next, set) {
                    let next = terms.analysis.strategy_id(next);
                    let all = computed(terms, op, next, result, &term.children);
                    found.push(moved(terms, all, to));
                }
            }
        }
    }
    found
}

/// Rewrites `all_reduce(f x)`: moves the reduction before `f`, unless `f` widens, because then the sum would be
/// computed in the narrower type.
fn push(terms: &mut Terms<'_, '_>, term: &Term) -> Equal {
    let mut found = Equal::new();
    let Some((_, from, to)) = step(terms, term).filter(|s| is_reduce(s.0) || is_scatter(s.0)) else { return found };
    for (op, id, result, children) in ops(terms, from) {
        let Some((model_id, model)) = terms.analysis.model(op) else { continue };
        let strategy = terms.analysis.placer.strategy(id);
        let at = terms.analysis.cache.distribution(to);
        let kept = set_of(strategy.through.iter().copied().filter(|p| at.unreduced.contains(p)));
        if kept == strategy.through || !keeps_type(terms, op, &strategy.set) {
            continue;
        }
        let mut next = strategy.clone();
        if kept.is_empty() {
            next.set = BTreeSet::new();
        }
        next.through = kept;
        let next = terms.analysis.strategy_id(next);
        let tensor = model.rule.operands.len() + result as usize;
        let Some(next) = terms.analysis.adopting(model_id, next, tensor, to) else { continue };
        let all = computed(terms, op, next, result, &children);
        found.push(moved(terms, all, to));
    }
    found
}

/// Returns whether results have the element type of the operands in `set`.
fn keeps_type(terms: &Terms<'_, '_>, op: OpId, set: &BTreeSet<usize>) -> bool {
    let node = &terms.analysis.graph.ops[op];
    let element = |v: ValueId| terms.analysis.cache.tensor_type(terms.analysis.ty(v)).element;
    let mut operands = set.iter().filter_map(|&i| *node.operands.get(i)?).map(element);
    operands.all(|e| node.results.iter().flatten().all(|&r| element(r) == e))
}

/// Returns the indices of an op's operands that are tensors.
fn tensors(terms: &Terms<'_, '_>, op: OpId) -> SmallVec<[usize; 4]> {
    let operands = terms.analysis.graph.ops[op].operands.iter().enumerate();
    operands.filter(|(_, v)| v.is_some()).map(|(i, _)| i).collect()
}

/// Rewrites `f(step x)`: applies `f` to x before the step, if the factors sharded further are of a kind that `of`
/// accepts.
fn through(terms: &mut Terms<'_, '_>, term: &Term, is: Is, of: fn(FactorKind) -> bool) -> Equal {
    let mut found = Equal::new();
    let TermKind::Op { op, id, result } = term.head else { return found };
    let Some((model_id, model)) = terms.analysis.model(op) else { return found };
    let Some(&to) = terms.analysis.places(op, id).results.get(result as usize) else { return found };
    for (operand, &child) in tensors(terms, op).into_iter().zip(&term.children) {
        for from in before(terms, child, is) {
            let Some((_, at)) = meaning(terms, from) else { continue };
            let next = terms.analysis.adopting(model_id, id, operand, at);
            let Some(next) = next.filter(|&next| next != id) else { continue };
            let [old, new] = [id, next].map(|id| &terms.analysis.placer.strategy(id).factors);
            let mut kinds = model.rule.factors.iter().zip(old.iter().zip(new)).filter(|f| f.1.1.len() > f.1.0.len());
            if kinds.all(|f| of(f.0.kind)) {
                let all = computed(terms, op, next, result, &term.children);
                found.push(moved(terms, all, to));
            }
        }
    }
    found
}

/// Rewrites `step(f x)`: computes `f` under a strategy that gives its result in the step's end.
fn result_through(terms: &mut Terms<'_, '_>, term: &Term, is: Is) -> Equal {
    let mut found = Equal::new();
    let Some((_, from, to)) = step(terms, term).filter(|s| is(s.0)) else { return found };
    for (op, id, result, children) in ops(terms, from) {
        let Some((model_id, model)) = terms.analysis.model(op) else { continue };
        let tensor = model.rule.operands.len() + result as usize;
        let next = terms.analysis.adopting(model_id, id, tensor, to);
        let Some(next) = next.filter(|&next| next != id) else { continue };
        let all = computed(terms, op, next, result, &children);
        found.push(moved(terms, all, to));
    }
    found
}

fn by_gathering(terms: &mut Terms<'_, '_>, term: &Term) -> Equal {
    let mut found = Equal::new();
    let Some((_, from, to)) = step(terms, term).filter(|s| is_reduce(s.0) || is_scatter(s.0)) else { return found };
    for (op, id, result, children) in ops(terms, from) {
        let Some((model_id, model)) = terms.analysis.model(op) else { continue };
        let strategy = terms.analysis.placer.strategy(id);
        let at = terms.analysis.cache.distribution(to);
        let contracted = model.reduced(strategy);
        let done = set_difference(&contracted, &at.unreduced);
        if done.is_empty() {
            continue;
        }
        let mut next = strategy.clone();
        for (factor, axes) in model.rule.factors.iter().zip(&mut next.factors) {
            if factor.kind == FactorKind::Reduction {
                let first = axes.iter().position(|p| done.iter().any(|q| q.conflicts_with(*p)));
                axes.truncate(first.unwrap_or(axes.len()));
            }
        }
        let next = terms.analysis.strategy_id(next);
        let tensor = model.rule.operands.len() + result as usize;
        let Some(next) = terms.analysis.adopting(model_id, next, tensor, to) else { continue };
        let all = computed(terms, op, next, result, &children);
        found.push(moved(terms, all, to));
    }
    found
}
