//! The region of a reduction as a scalar computation, for reduce, scatter, reduce_window, select_and_scatter and the
//! reducing collectives.
//!
//! Such a region takes N accumulators, then N elements, and returns N accumulators.

use super::constraint::{Checked, require};
use crate::eval::{Context, EvalError, EvalResult, region_on_lane};
use crate::ir::{Block, ElementClass, ElementType, OpRef, Program, Quantized, TensorType};
use crate::kernel::body_of_region;
use crate::kernel::{Arg, Body, Inst, Kernel};
use crate::literal::Literal;
use crate::op::Problem;
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::ReductionKind;

/// The largest number of terms in a sum that is rounded after every step, in f32 at least, as in XLA: StableHLO's test
/// suite requires such sums to three units in the last place. Longer sums would drift, so they are kept in f64 and
/// rounded once; up to this length any order stays within 8 eps of the sum of absolute values.
pub(crate) const SHORT_SUM: usize = 16;

/// Returns region `region` of `op` as a body of `n` inputs and `n` accumulators; `None` if it isn't scalar. Inputs have
/// the types `elements`, converted if the region computes in another type.
pub fn combining_body(op: OpRef<'_>, region: usize, elements: &[ElementType]) -> Option<Body> {
    let n = elements.len();
    let args: Vec<Arg> = (0..n).map(Arg::Accumulator).chain((0..n).map(Arg::Input)).collect();
    let body = body_of_region(op.program, op.region(region)?, &args)?;
    (body.results.len() == n).then(|| convert_inputs(body, elements))
}

fn convert_inputs(body: Body, elements: &[ElementType]) -> Body {
    let mut out = Body { inputs: elements.to_vec(), accumulators: body.accumulators.clone(), ..Body::default() };
    let inputs: Vec<Arg> = (0..elements.len())
        .map(|i| match body.inputs[i] {
            ty if ty == elements[i] => Arg::Input(i),
            ty => out.op(ScalarOp::Convert, &[Arg::Input(i)], ty),
        })
        .collect();
    let shift = out.insts.len();
    let renamed = |arg: Arg| match arg {
        Arg::Input(i) => inputs[i],
        Arg::Inst(i) => Arg::Inst(i + shift),
        accumulator => accumulator,
    };
    for inst in &body.insts {
        let inst = match inst {
            Inst::Op { op, args, ty } => {
                Inst::Op { op: *op, args: args.iter().map(|&a| renamed(a)).collect(), ty: *ty }
            }
            other => other.clone(),
        };
        out.insts.push(inst);
    }
    out.results = body.results.iter().map(|&r| renamed(r)).collect();
    out
}

/// Returns the commutative operation by which region `region` combines each of `n` accumulators with its element;
/// `None` if it does anything else, or combines them differently.
pub fn combiner(op: OpRef<'_>, region: usize, n: usize) -> Option<ScalarOp> {
    let program = op.program;
    let block = op.block(region)?;
    let args = program.block_args(block);
    let (&end, _) = program.block_ops(block).split_last()?;
    let end = program.view(end);
    if args.len() != 2 * n || end.operands().len() != n || n == 0 || !end.def().terminator() {
        return None;
    }
    let mut found = None;
    for (i, &value) in end.operands().iter().enumerate() {
        let crate::ir::ValueSource::Result(maker, _) = program.value_source(value) else { return None };
        let maker = program.view(maker);
        let pair = [args[i], args[n + i]];
        let both = maker.operands() == pair || maker.operands() == [pair[1], pair[0]];
        let Kernel::Nest(nest) = maker.def().kernel(maker) else { return None };
        let op = nest.body.as_binary().filter(|_| both && nest.loops.is_empty())?;
        if *found.get_or_insert(op) != op {
            return None;
        }
    }
    found
}

/// Returns how partial results of a reduction by `op` over elements of type `element` combine, if shardings can express
/// it.
pub fn reduction_kind(op: ScalarOp, element: ElementType) -> Option<ReductionKind> {
    match (op, element.class()) {
        (ScalarOp::Add, _) => Some(ReductionKind::Sum),
        (ScalarOp::Max, _) | (ScalarOp::Or, ElementClass::Bool) => Some(ReductionKind::Max),
        (ScalarOp::Min, _) | (ScalarOp::And | ScalarOp::Mul, ElementClass::Bool) => Some(ReductionKind::Min),
        _ => None,
    }
}

/// Returns how the partial results of the reduction by `op`, with `n` inputs, combine.
pub(crate) fn region_reduction(op: OpRef<'_>, region: usize, n: usize) -> Option<ReductionKind> {
    let combine = combiner(op, region, n)?;
    let mut kinds = (0..n).map(|i| reduction_kind(combine, op.result_tensor(i)?.element));
    let first = kinds.next()??;
    kinds.all(|k| k == Some(first)).then_some(first)
}

/// A reduction's region for the evaluator: scalar bodies run directly, all others through the evaluation context.
pub(crate) enum Combine {
    /// A scalar computation.
    Body(Body),
    /// A region with ops that aren't scalar computations.
    Region(crate::ir::Region),
}

impl Combine {
    /// Returns region `region` of `op`, over elements already converted to `elements`.
    pub(crate) fn of(op: OpRef<'_>, region: usize, elements: &[ElementType]) -> EvalResult<Self> {
        if let Some(body) = combining_body(op, region, elements) {
            return Ok(Combine::Body(body));
        }
        op.region(region).map(Combine::Region).ok_or_else(|| EvalError::new("the region is missing"))
    }

    /// Returns the new accumulators.
    pub(crate) fn apply(
        &self,
        accumulators: &[Scalar],
        elements: &[Scalar],
        types: &[ElementType],
        cx: &mut dyn Context,
    ) -> EvalResult<Vec<Scalar>> {
        match self {
            Combine::Body(body) => Ok(body.eval(elements, accumulators)),
            Combine::Region(region) => {
                cx.step()?;
                let all = accumulators.iter().zip(types).chain(elements.iter().zip(types));
                let args: Vec<Literal> = all.map(|(&v, &ty)| Literal::scalar(ty, v)).collect();
                let results = region_on_lane(cx, *region, &args)?;
                if results.len() != types.len() || results.iter().any(Literal::is_empty) {
                    return Err(EvalError::new("the region returns other types than it takes"));
                }
                Ok(results.iter().map(|r| r.get(0)).collect())
            }
        }
    }
}

/// Returns `value` as an element of type `to`.
pub(crate) fn promote(value: Scalar, from: ElementType, to: ElementType) -> Scalar {
    if from == to { value } else { ScalarOp::Convert.apply(from, to, &[value]) }
}

/// Checks a reducing region over inputs of the element types `inputs`: (accumulators…, elements…) → accumulators…, all
/// of rank 0. Returns the accumulators' types.
pub(crate) fn check_region(
    op: OpRef<'_>,
    region: usize,
    inputs: &[ElementType],
    label: &str,
) -> Checked<Vec<ElementType>> {
    let n = inputs.len();
    let block = op.block(region).ok_or_else(|| Problem::new(format!("expected a region ({label})")))?;
    let program = op.program;
    let args = program.block_args(block);
    require!(args.len() == 2 * n, "expected a region of {} arguments, found {} ({label})", 2 * n, args.len());
    let scalar = |ty: Option<&TensorType>| ty.filter(|t| t.rank() == 0).map(|t| t.element);
    let types: Option<Vec<ElementType>> = args.iter().map(|&a| scalar(program.tensor_type(a))).collect();
    let types = types.ok_or_else(|| Problem::new(format!("expected region arguments of rank 0 ({label})")))?;
    let results = terminator_types(op, block).ok_or_else(|| {
        Problem::new(format!("expected the region to end by returning {n} tensors of rank 0 ({label})"))
    })?;
    let same = types[..n] == types[n..] && results == types[..n];
    require!(
        same,
        "expected the region's first {n} and last {n} arguments and its results to have the same types ({label})"
    );
    for (i, (&from, &to)) in inputs.iter().zip(&types).enumerate() {
        let fits = promotable(program, from, to);
        require!(fits, "expected the region to take elements of the type of input {i} or a wider one ({label})");
    }
    Ok(types[..n].to_vec())
}

fn terminator_types(op: OpRef<'_>, block: Block) -> Option<Vec<ElementType>> {
    let program = op.program;
    let end = program.view(*program.block_ops(block).last()?);
    if !end.def().terminator() {
        return None;
    }
    end.operands().iter().map(|&v| program.tensor_type(v).filter(|t| t.rank() == 0).map(|t| t.element)).collect()
}

/// Returns whether every value of `from` is also a value of `to`, of the same kind: the specification's
/// `is_promotable`.
pub(crate) fn promotable(program: &Program, from: ElementType, to: ElementType) -> bool {
    if from == to {
        return true;
    }
    match (Quantized::of(program, from), Quantized::of(program, to)) {
        (Some(from), Some(to)) => from.expressed == to.expressed && from.storage.bits() <= to.storage.bits(),
        (None, None) => from.class() == to.class() && from.class() != ElementClass::Other && from.bits() <= to.bits(),
        _ => false,
    }
}
