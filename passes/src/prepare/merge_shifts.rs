//! merge-shifts: rewrites slices, pads and concatenations along sharded dimensions as one shift each of the tensor that
//! they move.
//!
//! A stencil is written as one pad, and a slice of it for each neighbor; a roll as a concatenation of two slices.
//! Planned one by one, the intermediate values would be split at other elements than the tensor itself, and rows would
//! move back and forth. So a move of a moved value becomes a move of the original value, and a concatenation becomes a
//! select among its operands, each shifted to its position: all of them are split like the result. Operands of equal
//! types are stacked instead, and the stack is resharded.

use crate::heuristics::HEURISTICS;
use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Op, Program, Value, ValueSource};
use dialect::ops::build;
use dialect::ops::stablehlo::joining::{Concatenate, Padding};
use dialect::ops::stablehlo::slicing::SliceRanges;
use dialect::scalar::{Comparison, Scalar};
use dialect::sharding::{Axes, Distribution};
use rustc_hash::FxHashMap;

use super::Prepared;
use crate::pass::{Effect, Pass};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "merge-shifts",
    doc: "Merges slices, pads and concatenations along sharded dimensions into one shift of each tensor they move.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, _| merge(program),
};

/// `source` with edges added or, where the counts are negative, removed.
#[derive(Clone, PartialEq, Debug)]
struct Shift {
    source: Value,
    low: Vec<i64>,
    high: Vec<i64>,
    /// The rank-0 value in the added edges; `None` where none are added.
    fill: Option<Value>,
}

impl Shift {
    /// Returns how an op shifts its operand; `None` for all other ops.
    fn of(program: &Program, op: Op) -> Option<Self> {
        let view = program.view(op);
        let (source, shape) = (*view.operands().first()?, &view.operand_tensor(0)?.shape);
        if let Some(ranges) = SliceRanges::of(view) {
            let high = ranges.limit.iter().zip(shape).map(|(limit, size)| limit - size).collect();
            let low = ranges.start.iter().map(|start| -start).collect();
            return ranges.stride.iter().all(|&s| s == 1).then_some(Self { source, low, high, fill: None });
        }
        let Padding { low, high, interior } = Padding::of(view)?;
        let adds = low.iter().chain(&high).any(|&n| n > 0);
        let fill = view.operands().get(1).copied().filter(|_| adds);
        interior.iter().all(|&n| n == 0).then_some(Self { source, low, high, fill })
    }

    /// Returns how `value` is shifted from a value that isn't itself moved.
    fn of_value(program: &Program, value: Value, known: &FxHashMap<Value, Shift>) -> Option<Self> {
        let ValueSource::Result(op, _) = program.value_source(value) else { return None };
        known.get(&value).cloned().or_else(|| Self::of(program, op))
    }

    /// Composes this shift of the result of `inner` with `inner`; `None` where elements that one removes and the other
    /// adds back would be visible.
    fn after(&self, inner: &Shift, program: &Program) -> Option<Self> {
        let covered = |(before, after): (&i64, &i64)| *before >= 0 || *after <= 0;
        let sides = inner.low.iter().zip(&self.low).chain(inner.high.iter().zip(&self.high));
        let fill = match (inner.fill, self.fill) {
            (Some(a), Some(b)) if a != b && !same_constant(program, a, b) => return None,
            (a, b) => a.or(b),
        };
        let sum = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let (low, high) = (sum(&inner.low, &self.low), sum(&inner.high, &self.high));
        sides.into_iter().all(covered).then_some(Self { source: inner.source, low, high, fill })
    }

    /// Returns whether it moves a dimension that is sharded in `distribution`.
    fn moves(&self, distribution: &Distribution) -> bool {
        let moved = self.low.iter().zip(&self.high).map(|edges| edges != (&0, &0));
        distribution.dims.iter().zip(moved).any(|(axes, moved)| moved && !axes.is_empty())
    }

    fn build(&self, b: &mut Builder<'_>) -> Value {
        let shape = b.tensor(self.source).shape.to_vec();
        if self.low.iter().chain(&self.high).all(|&n| n <= 0) {
            let start: Vec<i64> = self.low.iter().map(|n| -n).collect();
            let limit: Vec<i64> = shape.iter().zip(&self.high).map(|(size, n)| size + n).collect();
            return match start.iter().all(|&s| s == 0) && limit == shape {
                true => self.source,
                false => build::shape::slice(b, self.source, &start, &limit, &vec![1; shape.len()]),
            };
        }
        let element = b.tensor(self.source).element;
        let fill = self.fill.unwrap_or_else(|| build::scalar(b, element, Scalar::zero(element)));
        build::shape::pad(b, self.source, fill, &self.low, &self.high, &vec![0; shape.len()])
    }
}

fn same_constant(program: &Program, a: Value, b: Value) -> bool {
    let constant = |v: Value| match program.value_source(v) {
        ValueSource::Result(op, _) => program.op(op).def.constant(program.view(op)),
        ValueSource::Arg(..) => None,
    };
    constant(a).zip(constant(b)).is_some_and(|(a, b)| a == b)
}

/// Rewrites the ops under `@main` that move elements along sharded dimensions.
pub(super) fn merge(program: &mut Program) {
    let Some(prepared) = Prepared::of(program) else { return };
    let mut known: FxHashMap<Value, Shift> = FxHashMap::default();
    prepared.rewrite(program, |prepared, program, (op, _), ops| {
        join_op(program, prepared, op, &mut known, ops).map(|value| vec![value])
    });
}

/// Returns the value that replaces the result of `op`.
fn join_op(
    program: &mut Program,
    prepared: &mut Prepared,
    op: Op,
    known: &mut FxHashMap<Value, Shift>,
    ops: &mut Vec<Op>,
) -> Option<Value> {
    if let Some(shift) = Shift::of(program, op) {
        let result = program.result(op, 0);
        // An inner shift that only cuts off edges of unsharded dimensions needn't be composed.
        let moves = |inner: &Shift| {
            let moved = |value| inner.moves(&prepared.get(program, value));
            inner.fill.is_some() || moved(inner.source) || moved(shift.source)
        };
        let inner = Shift::of_value(program, shift.source, known).filter(moves);
        let joined = inner.and_then(|inner| shift.after(&inner, program));
        known.insert(result, joined.clone().unwrap_or(shift));
        let joined = joined?;
        let place = prepared.get(program, result);
        let nothing = joined.low.iter().chain(&joined.high).all(|&n| n == 0);
        if !nothing && !joined.moves(&prepared.get(program, joined.source)) && !joined.moves(&place) {
            return None;
        }
        let loc = program.op(op).loc;
        let value = joined.build(&mut Builder::new(program, ops, loc));
        if value != joined.source {
            prepared.set(value, place);
        }
        return Some(value);
    }
    let dim = Concatenate::of(program.view(op))?;
    concatenate(program, prepared, op, dim, known, ops)
}

/// Writes a concatenation along a sharded dimension as a select among its operands, each shifted to its position.
fn concatenate(
    program: &mut Program,
    prepared: &mut Prepared,
    op: Op,
    dim: usize,
    known: &FxHashMap<Value, Shift>,
    ops: &mut Vec<Op>,
) -> Option<Value> {
    let (operands, result) = (program.op(op).operands.to_vec(), program.result(op, 0));
    if let Some(value) = stack(program, prepared, op, dim, known, ops) {
        return Some(value);
    }
    let ty = program.tensor_type(result)?.clone();
    let place = prepared.get(program, result);
    let mut shifts = Vec::new();
    let mut start = 0;
    for &operand in &operands {
        let size = program.tensor_type(operand)?.shape[dim];
        let rank = ty.rank();
        // Shifting a source of another size would move all its rows to the result's shards, even those that aren't
        // selected.
        let moved = Shift::of_value(program, operand, known)
            .filter(|s| program.tensor_type(s.source).is_some_and(|t| t.shape[dim] == ty.shape[dim]));
        let mut shift = moved.unwrap_or(Shift { source: operand, low: vec![0; rank], high: vec![0; rank], fill: None });
        // Rows of the source outside of the operand are visible, but only where another operand is selected.
        shift.low[dim] += start;
        shift.high[dim] += ty.shape[dim] - start - size;
        start += size;
        shifts.push((shift, start));
    }
    let sharded = |p: &Prepared, program: &Program, value: Value| !p.get(program, value).dims[dim].is_empty();
    let any = !place.dims[dim].is_empty() || shifts.iter().any(|s| sharded(prepared, program, s.0.source));
    shifts.retain(|s| program.tensor_type(s.0.source).is_some_and(|t| !t.shape.contains(&0)));
    if !any || shifts.len() < 2 || shifts.len() > HEURISTICS.most_shifts || shifts.len() != operands.len() {
        return None;
    }
    let loc = program.op(op).loc;
    let mut b = Builder::new(program, ops, loc);
    let mut value = None;
    for (shift, end) in shifts.iter().rev() {
        let moved = shift.build(&mut b);
        if moved != shift.source {
            prepared.set(moved, place.clone());
        }
        let Some(others) = value else {
            value = Some(moved);
            continue;
        };
        let line = [ty.shape[dim]];
        let integer = if line[0] <= i64::from(i32::MAX) { ElementType::I32 } else { ElementType::I64 };
        let at = build::iota(&mut b, integer, &line, 0);
        let end = build::splat(&mut b, integer, &line, Scalar::Int((*end).into()));
        let before = build::compare(&mut b, Comparison::Lt, at, end);
        let along = Distribution::of_dims([place.dims[dim].clone()]);
        [at, end, before].into_iter().for_each(|v| prepared.set(v, along.clone()));
        let before = match ty.rank() {
            1 => before,
            _ => build::shape::broadcast_in_dim(&mut b, before, &ty.shape, &[dim as i64]),
        };
        let chosen = build::select(&mut b, before, moved, others);
        [before, chosen].into_iter().for_each(|v| prepared.set(v, place.clone()));
        value = Some(chosen);
    }
    value
}

/// Stacks operands of equal types, each sharded like the result, along a new dimension that is then merged with the
/// sharded dimension: the reshard between the two sends every shard straight to its destination.
fn stack(
    program: &mut Program,
    prepared: &mut Prepared,
    op: Op,
    dim: usize,
    known: &FxHashMap<Value, Shift>,
    ops: &mut Vec<Op>,
) -> Option<Value> {
    let (operands, result) = (program.op(op).operands.to_vec(), program.result(op, 0));
    let (ty, count) = (program.tensor_type(result)?.clone(), operands.len() as i64);
    let place = prepared.get(program, result);
    let shards = place.shards(dim);
    let alike = |&v: &Value| {
        let same = program.value_type(v) == program.value_type(operands[0]);
        same && Shift::of_value(program, v, known).is_none() && prepared.get(program, v) == place
    };
    let one = program.tensor_type(operands[0])?.shape.clone();
    let divides = count > 1 && shards % count == 0 && one[dim] % shards == 0 && one[dim] > 0;
    // The result's axes must divide between the two dimensions.
    let major = place.dims[dim].first().is_some_and(|a| i64::from(a.size) % count == 0);
    if shards <= 1 || !divides || !major || !operands.iter().all(alike) {
        return None;
    }
    let mut stacked = place.clone();
    stacked.dims.insert(dim, Axes::new());
    let mut single = one.to_vec();
    single.insert(dim, 1);
    let loc = program.op(op).loc;
    let mut b = Builder::new(program, ops, loc);
    let parts: Vec<Value> = operands.iter().map(|&v| build::shape::reshape(&mut b, v, &single)).collect();
    let all = build::shape::concatenate(&mut b, &parts, dim);
    parts.iter().chain([&all]).for_each(|&v| prepared.set(v, stacked.clone()));
    let merged = build::shape::reshape(&mut b, all, &ty.shape);
    prepared.set(merged, place);
    Some(merged)
}
