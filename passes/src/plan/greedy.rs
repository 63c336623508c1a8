//! The greedy plan: every op, in program order, takes the strategy that is cheapest for itself.
//!
//! Candidates keep what one of the tensors has and as much of the others as fits; each is priced by the redistributions
//! of operands and results it needs and the work it leaves to a device. Nothing looks beyond one op.

use dialect::ir::{AttrData, OpRef, TensorType};
use dialect::kernel::{External, Init, Kernel};
use dialect::scalar::Scalar;

use super::copies::{Anywhere, Copies};
use super::distribution::Distribution;
use super::reshard::Resharder;
use super::strategy::{Assignment, OpModel, Strategy};

/// Floating-point operations a second of the model without a target.
const FLOPS: f64 = 2e14;
/// Bytes of memory a second of the model without a target.
const MEMORY: f64 = 1e12;

/// What the plan asks of an op's meaning; `None` for ops that shardings don't cross.
pub(super) fn model(op: OpRef<'_>) -> Option<OpModel> {
    let def = op.def();
    let rule = match op.attr("sdy.sharding_rule") {
        Some(AttrData::ShardingRule(rule)) => (**rule).clone(),
        _ => def.sharding_rule(op)?,
    };
    let fits = rule.operands.len() == op.operands().len()
        && rule.results.len() == op.result_count()
        && rule.operands.iter().enumerate().all(|(i, t)| op.operand_tensor(i).is_none_or(|ty| ty.rank() == t.len()))
        && rule.results.iter().enumerate().all(|(i, t)| op.result_tensor(i).is_none_or(|ty| ty.rank() == t.len()));
    if !fits {
        return None;
    }
    let accumulated = match def.kernel(op) {
        Kernel::Nest(nest) => {
            let operand = |init: &Init| if let Init::Operand(i) = init { Some(*i) } else { None };
            nest.init.iter().filter_map(operand).collect()
        }
        Kernel::External(External::Scatter) => (0..op.result_count()).collect(),
        _ => Default::default(),
    };
    Some(OpModel { rule, reduction: def.reduction(op), accumulated })
}

/// Where an op without operands can be computed just for the pieces wanted there: constants and iota.
pub(super) fn anywhere(op: OpRef<'_>) -> Anywhere {
    let def = op.def();
    let zero = |l: &dialect::literal::Literal| l.splat_value().is_some_and(|v| v == Scalar::zero(l.element));
    match (def.constant(op), def.kernel(op)) {
        (Some(literal), _) if zero(literal) => Anywhere::Zero,
        (Some(_), _) => Anywhere::Whole,
        (None, Kernel::Nest(nest)) if nest.inputs.is_empty() => Anywhere::Whole,
        _ => Anywhere::No,
    }
}

/// One operand as the choice sees it.
pub(super) struct Operand<'a> {
    pub(super) copies: &'a Copies,
    pub(super) home: Distribution,
}

/// One result as the choice sees it.
pub(super) struct ResultAt {
    pub(super) ty: TensorType,
    pub(super) home: Distribution,
}

/// The strategy that is cheapest for one op, and where that puts its operands and results.
pub(super) fn choose(
    model: &OpModel,
    flops: f64,
    operands: &[Option<Operand<'_>>],
    results: &[Option<ResultAt>],
    resharder: &mut Resharder<'_>,
) -> Assignment {
    let mut best: Option<(f64, Assignment)> = None;
    for strategy in candidates(model, operands, results) {
        let assignment = model.assignment(&strategy);
        let mut seconds = flops / FLOPS / model.ways(&strategy);
        let limit = best.as_ref().map_or(f64::INFINITY, |b| b.0);
        for (operand, at) in operands.iter().zip(&assignment.operands) {
            if let Some(operand) = operand
                && seconds < limit
            {
                seconds += operand.copies.seconds(resharder, at) + at.local_bytes(&operand.copies.ty) / MEMORY;
            }
        }
        for (result, at) in results.iter().zip(&assignment.results) {
            if let Some(result) = result
                && seconds < limit
            {
                seconds += resharder.sequence(&result.ty, at, &result.home).seconds + at.local_bytes(&result.ty) / MEMORY;
            }
        }
        if seconds < limit {
            best = Some((seconds, assignment));
        }
    }
    best.map_or_else(|| model.assignment(&model.whole()), |b| b.1)
}

/// Strategies that begin with what one tensor has, then take what fits of the others, the largest first.
fn candidates(model: &OpModel, operands: &[Option<Operand<'_>>], results: &[Option<ResultAt>]) -> Vec<Strategy> {
    let mut tensors: Vec<(usize, &Distribution, f64)> = Vec::new();
    for (i, result) in results.iter().enumerate() {
        if let Some(result) = result {
            let bytes = result.ty.bytes().unwrap_or(0) as f64;
            tensors.push((operands.len() + i, &result.home, bytes));
        }
    }
    for (i, operand) in operands.iter().enumerate() {
        if let Some(operand) = operand {
            let bytes = operand.copies.ty.bytes().unwrap_or(0) as f64;
            tensors.push((i, &operand.home, bytes));
            let made = &operand.copies.list[0].at;
            if operand.copies.anywhere == Anywhere::No && *made != operand.home {
                tensors.push((i, made, bytes));
            }
        }
    }
    tensors.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut out: Vec<Strategy> = Vec::new();
    for first in 0..tensors.len() {
        let order = std::iter::once(&tensors[first]).chain(tensors.iter().enumerate().filter(|t| t.0 != first).map(|t| t.1));
        let strategy = model.keeping(order.map(|t| (t.0, t.1)));
        if !out.contains(&strategy) {
            out.push(strategy);
        }
    }
    let whole = model.whole();
    if !out.contains(&whole) {
        out.push(whole);
    }
    out
}
