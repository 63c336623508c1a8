//! The proof of a sharding rule: shards every dimension a factor maps to in two, runs the op's per-device form on both
//! halves, and assembles the results.

use crate::ir::build::Builder;
use crate::ir::{Loc, Op, Program, Shape, TypeData, Value};
use crate::literal::{Indices, Literal};
use crate::localize::{Localize, Position};
use crate::ops::build;
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{DimFactors, FactorKind, ReductionKind, ShardingRule, TensorFactors, identity};
use std::ops::Range;

use super::context::{Plain, evaluate, inputs, same};

/// The positions of each dimension that belong to the factor's positions `half`.
fn positions(
    tensor: &TensorFactors,
    rule: &ShardingRule,
    shape: &[i64],
    factor: u32,
    half: &Range<i64>,
) -> Vec<Vec<i64>> {
    let of_dim = |(factors, &size): (&_, &i64)| {
        let factors: &crate::sharding::DimFactors = factors;
        let Some(at) = factors.iter().position(|&f| f == factor) else { return (0..size).collect() };
        let minor: i64 = factors[at + 1..].iter().map(|&f| rule.factors[f as usize].size).product();
        (0..size).filter(|i| half.contains(&(i / minor % rule.factors[factor as usize].size))).collect()
    };
    tensor.iter().zip(shape).map(of_dim).collect()
}

/// The elements at these positions.
fn pick(literal: &Literal, positions: &[Vec<i64>]) -> Literal {
    let shape: Shape = positions.iter().map(|p| p.len() as i64).collect();
    let global = |at: Shape| at.iter().zip(positions).map(|(&i, p)| p[i as usize]).collect::<Shape>();
    let values = Indices::of(&shape).map(|at| literal.get(literal.position(&global(at))));
    Literal::from_scalars(literal.element, &shape, values)
}

/// Whether sharding along any factor that needs no communication, or only a reduction, leaves the results unchanged.
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
        for half in [0..factor.size / 2, factor.size / 2..factor.size] {
            let mut operands: Vec<Literal> = whole
                .iter()
                .zip(&rule.operands)
                .map(|(l, t)| pick(l, &positions(t, rule, &l.shape, f as u32, &half)))
                .collect();
            // Operands that must count only once go to the first half.
            if let Some(kind) = view.def().reduction(view).filter(|_| reduced && half.start > 0) {
                for i in view.def().kernel(view).accumulated(want.len()) {
                    let l = &operands[i];
                    operands[i] = Literal::splat(l.element, &l.shape, identity(kind, l.element));
                }
            }
            let place: Vec<Vec<Vec<i64>>> =
                want.iter().zip(&rule.results).map(|(l, t)| positions(t, rule, &l.shape, f as u32, &half)).collect();
            let pieces = local(program, op, rule, f as u32, half.start, &operands, &place)
                .map_err(|e| format!("factor {f}, from {}: {e}", half.start))?;
            for (r, piece) in pieces.iter().enumerate() {
                for at in Indices::of(&piece.shape) {
                    let global: Shape = at.iter().zip(&place[r]).map(|(&i, p)| p[i as usize]).collect();
                    let slot = &mut together[r][want[r].position(&global)];
                    let value = piece.get(piece.position(&at));
                    *slot = Some(match *slot {
                        Some(other) if reduced => combine.apply(piece.element, piece.element, &[other, value]),
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

/// The device that holds one half.
struct Half<'a> {
    rule: &'a ShardingRule,
    factor: u32,
    /// The factor's first position in this half.
    start: i64,
}

impl Half<'_> {
    fn offset(&self, b: &mut Builder<'_>, factors: &DimFactors) -> Option<Value> {
        let minor: i64 = factors.iter().skip(1).map(|&f| self.rule.factors[f as usize].size).product();
        (factors.first() == Some(&self.factor)).then(|| build::index(b, self.start * minor))
    }
}

impl Position for Half<'_> {
    fn result_offset(&mut self, b: &mut Builder<'_>, result: usize, dim: usize) -> Option<Value> {
        self.offset(b, &self.rule.results[result][dim])
    }

    fn operand_offset(&mut self, b: &mut Builder<'_>, operand: usize, dim: usize) -> Option<Value> {
        self.offset(b, &self.rule.operands[operand][dim])
    }
}

/// The results of the op's per-device form on `operands`; results cover `place`.
fn local(
    program: &Program,
    op: Op,
    rule: &ShardingRule,
    factor: u32,
    start: i64,
    operands: &[Literal],
    place: &[Vec<Vec<i64>>],
) -> Result<Vec<Literal>, String> {
    let mut program = program.clone();
    let block = program.new_block();
    let mut args = Vec::new();
    for literal in operands {
        let ty = program.intern_type(literal.ty());
        args.push(program.add_block_arg(block, ty, Loc::UNKNOWN, Default::default()));
    }
    let mut types = Vec::new();
    for (r, dims) in place.iter().enumerate() {
        let shape: Shape = dims.iter().map(|d| d.len() as i64).collect();
        let element = program.view(op).result_tensor(r).ok_or("a result is no tensor")?.element;
        types.push(program.tensor(&shape, element));
    }
    let mut ops = Vec::new();
    let mut half = Half { rule, factor, start };
    let mut cx = Localize {
        build: Builder::new(&mut program, &mut ops, Loc::UNKNOWN),
        op,
        operands: &args,
        result_types: types,
        fetched: &[],
        results: Vec::new(),
        offsets: &mut half,
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
