//! The proof of a sharding rule: it shards every dimension to which a factor maps, runs the op's per-device form on
//! each of the shards, and assembles the results.

use crate::ir::build::Builder;
use crate::ir::{Loc, Op, Program, Shape, TensorType, TypeData};
use crate::literal::{Indices, Literal};
use crate::localize::{Localize, Tensor};
use crate::ops::build;
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{DimFactors, FactorKind, ReductionKind, Shard, ShardingRule, TensorFactors, identity};
use std::ops::Range;

use super::context::{Plain, evaluate, inputs, same};

/// Returns the positions of each dimension that belong to the factor's positions `part`.
fn positions(
    tensor: &TensorFactors,
    rule: &ShardingRule,
    shape: &[i64],
    factor: u32,
    part: &Range<i64>,
) -> Vec<Vec<i64>> {
    let of_dim = |(factors, &size): (&_, &i64)| {
        let factors: &crate::sharding::DimFactors = factors;
        let Some(at) = factors.iter().position(|&f| f == factor) else { return (0..size).collect() };
        let minor: i64 = factors[at + 1..].iter().map(|&f| rule.factors[f as usize].size).product();
        (0..size).filter(|i| part.contains(&(i / minor % rule.factors[factor as usize].size))).collect()
    };
    tensor.iter().zip(shape).map(of_dim).collect()
}

/// Returns the elements at these positions.
fn pick(literal: &Literal, positions: &[Vec<i64>]) -> Literal {
    let shape: Shape = positions.iter().map(|p| p.len() as i64).collect();
    let global = |at: Shape| at.iter().zip(positions).map(|(&i, p)| p[i as usize]).collect::<Shape>();
    let values = Indices::of(&shape).map(|at| literal.get(literal.position(&global(at))));
    Literal::from_scalars(literal.element, &shape, values)
}

/// Checks that sharding along any factor that needs no communication, or only a reduction, leaves the results
/// unchanged.
///
/// # Errors
/// The factor and the first element that differs.
pub fn holds(program: &Program, op: Op, rule: &ShardingRule) -> Result<(), String> {
    let view = program.view(op);
    let whole = inputs(program, op);
    let want = evaluate(program, op, &whole)?;
    for (tensor, literal) in rule.tensors().zip(whole.iter().chain(&want)) {
        if tensor.len() != literal.shape.len() {
            return Err(format!("the rule has {} dimensions for shape {:?}", tensor.len(), literal.shape));
        }
    }
    for (f, factor) in rule.factors.iter().enumerate() {
        let reduced = factor.kind == FactorKind::Reduction;
        if factor.size < 2 || !(reduced || factor.kind == FactorKind::PassThrough) {
            continue;
        }
        let combine = match (reduced, view.def().reduction(view)) {
            (false, _) => ScalarOp::Add,
            (true, Some(ReductionKind::Sum)) => ScalarOp::Add,
            (true, Some(ReductionKind::Max)) => ScalarOp::Max,
            (true, Some(ReductionKind::Min)) => ScalarOp::Min,
            // Shardings propagate along the factor, but partial results can't be combined.
            (true, None) => continue,
        };
        let mut together: Vec<Vec<Option<Scalar>>> = want.iter().map(|w| vec![None; w.len()]).collect();
        // Uses few, even shards: as many as the smallest prime that divides the factor.
        let shards = (2..=factor.size).find(|n| factor.size % n == 0).unwrap_or(factor.size);
        let size = factor.size / shards;
        for part in (0..shards).map(|i| i * size..(i + 1) * size) {
            let mut operands: Vec<Literal> = whole
                .iter()
                .zip(&rule.operands)
                .map(|(l, t)| pick(l, &positions(t, rule, &l.shape, f as u32, &part)))
                .collect();
            // Operands that must be added only once are on the first shard.
            if let Some(kind) = view.def().reduction(view).filter(|_| reduced && part.start > 0) {
                for i in view.def().kernel(view).accumulated(want.len()) {
                    let l = &operands[i];
                    operands[i] = Literal::splat(l.element, &l.shape, identity(kind, l.element));
                }
            }
            let place: Vec<Vec<Vec<i64>>> =
                want.iter().zip(&rule.results).map(|(l, t)| positions(t, rule, &l.shape, f as u32, &part)).collect();
            let locals = local(program, op, rule, f as u32, (shards, part.start), &operands)
                .map_err(|e| format!("factor {f}, from {}: {e}", part.start))?;
            for (r, local) in locals.iter().enumerate() {
                for at in Indices::of(&local.shape) {
                    let global: Shape = at.iter().zip(&place[r]).map(|(&i, p)| p[i as usize]).collect();
                    let slot = &mut together[r][want[r].position(&global)];
                    let value = local.get(local.position(&at));
                    *slot = Some(match *slot {
                        Some(other) if reduced => combine.apply(local.element, local.element, &[other, value]),
                        _ => value,
                    });
                }
            }
        }
        for (w, values) in want.iter().zip(together) {
            let values: Option<Vec<Scalar>> = values.into_iter().collect();
            let values = values.ok_or_else(|| format!("factor {f}: the shards leave holes"))?;
            let found = Literal::from_scalars(w.element, &w.shape, values);
            same(w, &found, 0.0).map_err(|e| format!("factor {f} ({:?}): {e}", factor.kind))?;
        }
    }
    Ok(())
}

/// Returns the shard of a tensor of `shape` if one factor is divided into this many shards.
fn shard(factors: &TensorFactors, shape: &[i64], factor: u32, shards: i64) -> Shard {
    let of_dim = |factors: &DimFactors| if factors.contains(&factor) { shards } else { 1 };
    Shard::new(shape, factors.iter().map(of_dim))
}

/// Returns the results of the op's per-device form on `operands`, on the device whose shard begins at the factor's
/// position `first`.
fn local(
    program: &Program,
    op: Op,
    rule: &ShardingRule,
    factor: u32,
    (shards, first): (i64, i64),
    operands: &[Literal],
) -> Result<Vec<Literal>, String> {
    let view = program.view(op);
    let of = |tensors: &[TensorFactors], types: &[TensorType]| -> Vec<Shard> {
        tensors.iter().zip(types).map(|(t, ty)| shard(t, &ty.shape, factor, shards)).collect()
    };
    let tensors = |types: Option<Vec<TensorType>>| types.ok_or("not all operands and results are tensors");
    // A scalar counts as a tensor without dimensions.
    let scalar = |i: usize| Some(operands[i].ty()).filter(|ty| ty.rank() == 0);
    let operand_types = (0..operands.len()).map(|i| view.operand_tensor(i).cloned().or_else(|| scalar(i)));
    let operand_types = tensors(operand_types.collect())?;
    let result_types = tensors((0..rule.results.len()).map(|i| view.result_tensor(i).cloned()).collect())?;
    let (operand_shards, result_shards) = (of(&rule.operands, &operand_types), of(&rule.results, &result_types));
    let mut start = |b: &mut Builder<'_>, tensor: Tensor, dim: usize| {
        let factors = match tensor {
            Tensor::Operand(i) => &rule.operands[i][dim],
            Tensor::Result(i) => &rule.results[i][dim],
        };
        let minor: i64 = factors.iter().skip(1).map(|&f| rule.factors[f as usize].size).product();
        (factors.first() == Some(&factor)).then(|| build::index(b, first * minor))
    };
    let mut program = program.clone();
    let block = program.new_block();
    let mut args = Vec::new();
    for literal in operands {
        let ty = program.intern_type(literal.ty());
        args.push(program.add_block_arg(block, ty, Loc::UNKNOWN, Default::default()));
    }
    let types = result_shards.iter().zip(&result_types).map(|(s, ty)| program.tensor(&s.shape(), ty.element)).collect();
    let mut ops = Vec::new();
    let mut cx = Localize {
        build: Builder::new(&mut program, &mut ops, Loc::UNKNOWN),
        op,
        operands: &args,
        operand_shards: &operand_shards,
        result_shards: &result_shards,
        result_types: types,
        fetched: &[],
        results: Vec::new(),
        start: &mut start,
    };
    let def = cx.build.program.op(op).def;
    def.localize(&mut cx);
    let results = cx.results;
    for &op in &ops {
        let view = program.view(op);
        let types = view.def().infer(view).map_err(|p| format!("invalid local {}: {p:?}", view.name()))?;
        let declared: Vec<TypeData> = view.result_types().cloned().collect();
        if types != declared {
            return Err(format!("local {}: inferred {types:?}, declared {declared:?}", view.name()));
        }
    }
    let mut context = Plain::new(&program);
    for (&arg, literal) in args.iter().zip(operands) {
        context.set(arg, literal.clone());
    }
    context.run(&ops).and_then(|_| context.get(&results)).map_err(|e| e.message)
}
