//! Tests of the rules and of their proofs.

use dialect::sharding::{Axes, FactorKind, MeshAxes, Reshard};

use super::proofs::{CONVERT, DOT, OpText, Random, Written, prove_on};
use super::rewrite::{Derivation, Rewrite};
use super::rules::ROWS;
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::ValueId;

#[test]
fn no_sum_moves_to_a_narrower_type() {
    let row = ROWS.iter().find(|r| r.name == "all_reduce_through_linear").expect("the row");
    let reduced = |element: &'static str| -> Vec<ValueId> {
        let ops: [OpText<'_>; 2] = [(DOT, &[0, 1], &[8, 8], "f32"), (CONVERT, &[2], &[8, 8], element)];
        let written = Written::new(&[&[8, 8], &[8, 8]], &ops, &[2, 2]);
        // Shards the dot along its contracting dimension; lets any partial sums pass through the conversion that can.
        let mut choose = |meaning: &OpModel, mesh_axes: &MeshAxes, _: &mut Random| {
            let axis: Axes = [mesh_axes.whole(0)].into_iter().collect();
            let mut strategy = meaning.whole();
            match meaning.rule.factors.iter().position(|f| f.kind == FactorKind::Reduction) {
                Some(contracted) => strategy.factors[contracted] = axis,
                None if !meaning.linear.is_empty() => {
                    (strategy.set, strategy.through) = (meaning.linear[0].clone(), axis)
                }
                None => {}
            }
            strategy
        };
        let mut found = Vec::new();
        for seed in 0..20 {
            let mut random = Random(fastrand::Rng::with_seed(seed * 31 + 5));
            prove_on(row, &written, &[2, 2], &mut random, &mut choose, &mut found).expect("a true row");
        }
        found
    };
    // Value 2 is the dot, 3 its conversion. With f64 the reduction may move after the conversion, but not back before
    // it; with bf16 it stays before; a conversion that changes nothing lets it move both ways.
    assert!(!reduced("f64").contains(&ValueId::new(2)));
    assert!(!reduced("bf16").contains(&ValueId::new(3)));
    assert!(reduced("f32").contains(&ValueId::new(2)));
}

/// A rewrite as an extension would write it: a gather followed by a slice equals the value before it, or one exchange.
static ADDED: Rewrite =
    Rewrite::new("added", "all_slice(all_gather x) = what the cheapest steps give", |plans, at, made| {
        let Derivation::Step { kind: Reshard::AllSlice(_), from } = made else { return Vec::new() };
        let Some(to) = plans.distribution(at).cloned() else { return Vec::new() };
        let gathered = plans.derivations(*from).into_iter().filter_map(|made| match made {
            Derivation::Step { kind: Reshard::AllGather(_), from } => Some(from),
            _ => None,
        });
        gathered.collect::<Vec<_>>().into_iter().map(|before| plans.moved(before, &to)).collect()
    });

/// Claims that a value equals its operand. It is ignored because the operand is another value.
static WRONG: Rewrite = Rewrite::new("wrong", "f(x) = x", |_, _, made| match made {
    Derivation::Op { operands, .. } => operands.clone(),
    _ => Vec::new(),
});

#[test]
fn every_row_is_true_and_fires() {
    let mut idle = Vec::new();
    for row in ROWS.iter().chain([&ADDED]) {
        let found = row.prove().unwrap_or_else(|fault| panic!("{fault}"));
        if found < 10 {
            idle.push((row.name, found));
        }
    }
    assert!(idle.is_empty(), "rows without proof: {idle:?}");
}

/// Lets partial sums pass through any op with one operand, even a nonlinear one.
static UNTRUE: Rewrite = Rewrite::new("untrue", "f(all_reduce x) = all_reduce(f x)", |plans, at, made| {
    let Derivation::Op { op, strategy, result, operands } = made else { return Vec::new() };
    let ([operand], Some(to)) = (&operands[..], plans.distribution(at).cloned()) else { return Vec::new() };
    let partial = plans.derivations(*operand).into_iter().find_map(|made| match made {
        Derivation::Step { kind: Reshard::AllReduce(..), from } => Some(from),
        _ => None,
    });
    let through = partial.and_then(|from| Some((from, plans.distribution(from)?.unreduced.clone())));
    let Some((from, through)) = through else { return Vec::new() };
    let strategy = Strategy { set: [0].into_iter().collect(), through, ..strategy.clone() };
    let early = plans.computed(*op, strategy, *result, &[from]);
    vec![plans.moved(early, &to)]
});

#[test]
fn what_is_not_true_or_never_seen_is_refused() {
    assert!(WRONG.prove().is_err_and(|fault| fault.contains("finds nothing")));
    let fault = UNTRUE.prove().expect_err("the absolute value of a sum is not the sum of absolute values");
    assert!(fault.contains("untrue: f(all_reduce x) = all_reduce(f x) doesn't hold"), "{fault}");
}
