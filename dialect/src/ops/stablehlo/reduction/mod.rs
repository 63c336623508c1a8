//! `reduce`: combines all elements along some dimensions.
//!
//! The nest runs over the kept dimensions, then over the reduced ones, both in order. Source: the StableHLO
//! specification; sharding rules as Shardy registers them.

mod steps;
mod syntax;

use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, TensorType, TypeData};
use crate::kernel::{Init, Input, Kernel, Nest};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Steps, Surroundings};
use crate::ops::support::combiner::{
    Combine, check_region, combiner, combining_body, promotable, promote, region_reduction,
};
use crate::ops::support::constraint::{
    Checked, agreeing, dims, ints, is_static, others, require, result, row_major, same_shape, scalar, show,
    splat_operand, tensor, unique, walk,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};
use crate::text::Syntax;

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Reduce];

/// `reduce`: <https://openxla.org/stablehlo/spec#reduce>
pub struct Reduce;

/// The dimensions that a `reduce` keeps and combines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReduceDims {
    /// The number of inputs; the same number of initial values follows them.
    pub inputs: usize,
    /// The dimensions combined, ascending.
    pub reduced: Vec<usize>,
    /// The dimensions of the results, ascending.
    pub kept: Vec<usize>,
}

impl ReduceDims {
    /// Returns the dimensions of a `reduce`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Reduce.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<Self> {
        let (count, results) = (op.operands().len(), op.result_count());
        require!(count > 0 && count % 2 == 0, "expected as many initial values as inputs, found {count} operands (C3)");
        let inputs = count / 2;
        require!(results == 0 || results == inputs, "expected {inputs} results, found {results} (C3)");
        let first = tensor(op, 0)?;
        for i in 1..inputs {
            same_shape(op, i, 0, "C1")?;
        }
        let mut reduced = dims(&ints(op, "dimensions")?, first.rank(), "dimensions", "C4")?;
        unique(&reduced, "dimensions", "C5")?;
        reduced.sort_unstable();
        let kept = others(first.rank(), &reduced);
        Ok(Self { inputs, reduced, kept })
    }

    /// Returns the results' shape for inputs of `shape` (C7).
    pub fn result_shape(&self, shape: &[i64]) -> Shape {
        self.kept.iter().map(|&d| shape[d]).collect()
    }
}

/// Returns the element types of the inputs.
fn elements(op: OpRef<'_>, n: usize) -> Option<Vec<ElementType>> {
    (0..n).map(|i| Some(op.operand_tensor(i)?.element)).collect()
}

impl OpDef for Reduce {
    fn name(&self) -> &'static str {
        "stablehlo.reduce"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&syntax::REDUCE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let dims = ReduceDims::check(op)?;
        let n = dims.inputs;
        let inputs = elements(op, n).unwrap_or_default();
        let accumulators = check_region(op, 0, &inputs, "C6")?;
        for i in 0..n {
            let init = scalar(op, n + i, "I2")?;
            require!(
                promotable(op.program, init.element, accumulators[i]),
                operand = n + i,
                "expected {want} like the elements of input {i}, found {found} (C2)",
                want = show(op, &init.with_element(inputs[i])),
                found = show(op, init)
            );
        }
        // (C8)
        let shape = dims.result_shape(&tensor(op, 0)?.shape);
        let types: Vec<TensorType> = accumulators.iter().map(|&e| TensorType::new(&shape, e)).collect();
        if !is_static(op) {
            return agreeing(op, &types, "C8");
        }
        Ok(types.into_iter().map(TypeData::Tensor).collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        nest(op).map_or(Kernel::None, Kernel::Nest)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dims = ReduceDims::of(op)?;
        let mut rule = ShardingRule::of_op(op);
        let mut kept = 0;
        for (d, &size) in op.operand_tensor(0)?.shape.iter().enumerate() {
            let operands: Vec<(usize, usize)> = (0..dims.inputs).map(|i| (i, d)).collect();
            if dims.reduced.contains(&d) {
                rule.add(size, FactorKind::Reduction, &operands, &[]);
            } else {
                let results: Vec<(usize, usize)> = (0..dims.inputs).map(|i| (i, kept)).collect();
                rule.add(size, FactorKind::PassThrough, &operands, &results);
                kept += 1;
            }
        }
        Some(rule)
    }

    /// Evaluates it with sums of floats in f64, rounded once.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dims = ReduceDims::check(op)?;
        let n = dims.inputs;
        let types: Vec<ElementType> = (0..n).map(|i| result(op, i).map(|t| t.element)).collect::<Result<_, _>>()?;
        let shape = dims.result_shape(&operands[0].shape);
        let count: usize = shape.iter().map(|&d| d.max(0) as usize).product();
        let start: Vec<Scalar> =
            (0..n).map(|i| promote(operands[n + i].get(0), operands[n + i].element, types[i])).collect();
        let mut steps = vec![0; operands[0].shape.len()];
        dims.kept.iter().zip(row_major(&shape)).for_each(|(&d, step)| steps[d] = step);
        if let (1, Some(combine)) = (n, combiner(op, 0, 1)) {
            let (ty, from) = (types[0], &operands[0]);
            let rounded = cx.rounds_sums() && ty.epsilon() <= ElementType::F32.epsilon();
            let exact = ty.is_float() && combine == ScalarOp::Add && !rounded;
            let (mut values, mut position) = (vec![start[0]; count], 0);
            walk(&from.shape, &steps, 0, &mut |at| {
                let element = promote(from.get(position), from.element, ty);
                position += 1;
                values[at] = match (exact, values[at], element) {
                    (true, Scalar::Float(sum), Scalar::Float(element)) => Scalar::Float(sum + element),
                    (_, so_far, element) => combine.apply(ty, ty, &[so_far, element]),
                };
            });
            return Ok(vec![Literal::from_scalars(ty, &shape, values)]);
        }
        let mut values = vec![start; count];
        let combine = Combine::of(op, 0, &types)?;
        let at = |index: &[i64]| {
            dims.kept.iter().fold(0usize, |at, &d| at * operands[0].shape[d] as usize + index[d] as usize)
        };
        for (position, index) in Indices::of(&operands[0].shape).enumerate() {
            let value = &mut values[at(&index)];
            let element = |i: usize| promote(operands[i].get(position), operands[i].element, types[i]);
            let elements: Vec<Scalar> = (0..n).map(element).collect();
            *value = combine.apply(value, &elements, &types, cx)?;
        }
        let literal = |i: usize| Literal::from_scalars(types[i], &shape, values.iter().map(|v| v[i]));
        Ok((0..n).map(literal).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %c = stablehlo.constant dense<0.0> : tensor<f32> %r = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>",
            "(%a: tensor<2x4x6xi32>) %c = stablehlo.constant dense<-2147483648> : tensor<i32> %r = stablehlo.reduce(%a init: %c) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2x4x6xi32>, tensor<i32>) -> tensor<4xi32>",
            "(%a: tensor<4xi32>) %c = stablehlo.constant dense<1> : tensor<i32> %r = stablehlo.reduce(%a init: %c) applies stablehlo.multiply across dimensions = [] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>",
            "(%a: tensor<4x6xf32>, %b: tensor<4x6xi32>, %x: tensor<f32>, %i: tensor<i32>) %r:2 = stablehlo.reduce(%a init: %x), (%b init: %i) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
             reducer(%p: tensor<f32>, %q: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
               %less = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
               %v = stablehlo.select %less, %p, %q : tensor<i1>, tensor<f32>
               %w = stablehlo.select %less, %j, %k : tensor<i1>, tensor<i32>
               stablehlo.return %v, %w : tensor<f32>, tensor<i32>
             }",
        ]
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        region_reduction(op, 0, op.operands().len() / 2)
    }

    /// Builds the steps if combining the initial values with themselves doesn't change them, because every step
    /// combines them.
    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        let view = b.program.view(op);
        let dims = ReduceDims::of(view).filter(|_| self.reduction(view).is_none() && is_static(view))?;
        let body = combining_body(view, 0, &elements(view, dims.inputs)?)?;
        let inits = (dims.inputs..2 * dims.inputs).map(|i| splat_operand(view, i)).collect::<Option<Vec<Scalar>>>()?;
        if body.inputs != body.accumulators || body.eval(&inits, &inits) != inits {
            return None;
        }
        steps::in_steps(op, dims, around, b)
    }
}

fn nest(op: OpRef<'_>) -> Option<Nest> {
    let dims = ReduceDims::of(op)?;
    let n = dims.inputs;
    let elements = elements(op, n)?;
    let mut body = combining_body(op, 0, &elements)?;
    let inits: Option<Vec<ElementType>> = (n..2 * n).map(|i| Some(op.operand_tensor(i)?.element)).collect();
    if !is_static(op) || inits? != body.accumulators {
        return None;
    }
    let shape = &op.operand_tensor(0)?.shape;
    let mut loops = vec![0; shape.len()];
    for (i, &d) in dims.kept.iter().chain(&dims.reduced).enumerate() {
        loops[d] = i;
    }
    let mut inputs: Vec<Input> = (0..n).map(|i| Input::at(i, loops.iter().copied())).collect();
    let mut init: Vec<Init> = (n..2 * n).map(Init::Operand).collect();
    if dims.reduced.is_empty() {
        // Without reduction loops there are no accumulators, so the initial values are ordinary inputs.
        inputs.extend((n..2 * n).map(|i| Input::at(i, [])));
        body = without_accumulators(body);
        init.clear();
    }
    let trips = dims.kept.iter().chain(&dims.reduced).map(|&d| shape[d]);
    Some(Nest { loops: trips.collect(), parallel: dims.kept.len(), inputs, init, body })
}

/// Returns the same computation with the accumulators as additional inputs.
pub(crate) fn without_accumulators(mut body: crate::kernel::Body) -> crate::kernel::Body {
    use crate::kernel::{Arg, Inst};
    let n = body.inputs.len();
    let renamed = |arg: &mut Arg| {
        if let Arg::Accumulator(i) = *arg {
            *arg = Arg::Input(n + i);
        }
    };
    for inst in &mut body.insts {
        if let Inst::Op { args, .. } = inst {
            args.iter_mut().for_each(renamed);
        }
    }
    body.results.iter_mut().for_each(renamed);
    body.inputs.append(&mut body.accumulators);
    body
}
