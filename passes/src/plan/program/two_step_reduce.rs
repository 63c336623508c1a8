//! Reductions whose partial results no collective combines (the index of a maximum), in two steps: each device reduces
//! its shard, and the results, which are small, are reduced again wherever that is best.

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, Program, Value};
use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, Distribution, FactorKind};
use rustc_hash::FxHashMap;

use super::propagated::Propagated;
use crate::plan::model::strategy::even_part;

/// Splits the reductions under `block` that can be split, along the axes that shard them in the propagated
/// distributions.
pub(crate) fn split(program: &mut Program, propagated: &mut Propagated, block: Block) {
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(block) {
        let found: FxHashMap<Op, (usize, Axes)> =
            program.block_ops(block).iter().filter_map(|&op| Some((op, cut(program, propagated, op)?))).collect();
        if found.is_empty() {
            continue;
        }
        let mut ops = Vec::new();
        for op in program.block_ops(block).to_vec() {
            match found.get(&op).and_then(|(dim, axes)| split_op(program, propagated, op, *dim, axes, &mut ops)) {
                Some(results) => renamed.extend(program.results(op).zip(results)),
                None => ops.push(op),
            }
        }
        program.set_block_ops(block, ops);
    }
    program.rename(&renamed);
}

/// The only dimension that `op` reduces and that propagation shards, with its axes, if no collective combines the
/// partial results.
fn cut(program: &Program, propagated: &Propagated, op: Op) -> Option<(usize, Axes)> {
    let view = program.view(op);
    if view.def().control(view).is_some() || view.def().reduction(view).is_some() {
        return None;
    }
    let rule = view.def().sharding_rule(view)?;
    let reduced =
        |d: &usize| rule.operands[0][*d].iter().any(|&f| rule.factors[f as usize].kind == FactorKind::Reduction);
    let operand = *view.operands().first()?;
    let propagated = even_part(&propagated.get(program, operand), program.tensor_type(operand)?);
    let mut cut = (0..propagated.dims.len())
        .filter(|d| !propagated.dims[*d].is_empty() && d < &rule.operands[0].len())
        .filter(reduced);
    let dim = cut.next()?;
    cut.next().is_none().then(|| (dim, propagated.dims[dim].clone()))
}

fn split_op(
    program: &mut Program,
    propagated: &mut Propagated,
    op: Op,
    dim: usize,
    axes: &Axes,
    ops: &mut Vec<Op>,
) -> Option<Vec<Value>> {
    let (def, loc) = (program.op(op).def, program.op(op).loc);
    let operands = program.op(op).operands.clone();
    let places: Vec<Distribution> = program.results(op).map(|v| propagated.get(program, v)).collect();
    let pieces = def.in_two_steps(op, dim, size_of(axes), &mut Builder::new(program, ops, loc))?;
    for (&piece, &operand) in pieces.operands.iter().zip(&operands) {
        let mut dims = propagated.get(program, operand).dims;
        dims[dim] = axes.clone();
        dims.insert(dim + 1, Axes::new());
        propagated.set(piece, Distribution::of_dims(dims));
    }
    for (&partial, place) in pieces.partial.iter().zip(&places) {
        let mut dims = place.dims.clone();
        dims.iter_mut().for_each(|d| d.retain(|p| !axes.iter().any(|a| a.conflicts_with(*p))));
        dims.insert(pieces.at, axes.clone());
        propagated.set(partial, Distribution::of_dims(dims));
    }
    pieces.results.iter().zip(places).for_each(|(&v, place)| propagated.set(v, place));
    Some(pieces.results)
}
