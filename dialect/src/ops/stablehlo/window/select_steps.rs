//! `select_and_scatter` along sharded dimensions, in steps that only shift rows between neighbors.
//!
//! First, every window finds the position that it selects: the elements at one position of all windows are a strided
//! slice of the operand, so a chain of comparisons visits the positions in order. Then every element of the result
//! combines the values of the windows that selected it, again in the order of the windows. With strides, elements at
//! the same distance from a multiple of the stride are computed together and interleaved at the end. All tensors are
//! sharded like the operand and shifted by the distance of the positions in windows, and each element is computed by
//! the same operations in the same order as in the original op.

use super::{SelectAndScatter, WindowDim};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, Value, ValueSource};
use crate::kernel::{Arg, Body, body_of_region};
use crate::literal::Indices;
use crate::op::{Like, Steps, Surroundings};
use crate::ops::build;
use crate::ops::stablehlo::joining::Padding;
use crate::ops::stablehlo::reduction::without_accumulators;
use crate::ops::support::combiner::combining_body;
use crate::ops::support::constraint::is_static;
use crate::scalar::{Comparison, Scalar};
use rustc_hash::FxHashMap;

/// The largest number of positions in a window: comparing more one by one would cost more than moving the operand.
const MAX_POSITIONS: i64 = 64;

/// A window along one dimension, over a tensor that may be padded.
#[derive(Clone, Copy)]
struct Dim {
    /// The number of positions of a window.
    size: i64,
    /// The distance between windows.
    stride: i64,
    /// The distance from the start of the first window to the first element.
    before: i64,
    /// The number of windows.
    count: i64,
    /// The number of elements.
    elements: i64,
    /// The first element that can be selected; negative if padding was added before the tensor.
    first: i64,
    /// One past the last element that can be selected.
    end: i64,
}

impl Dim {
    /// Returns the shift such that position `at` of window `w` is element `stride * (w + shift) + residue`.
    fn shift(&self, at: i64) -> i64 {
        (at - self.before).div_euclid(self.stride)
    }

    fn residue(&self, at: i64) -> i64 {
        (at - self.before).rem_euclid(self.stride)
    }

    /// Returns the number of elements at the same distance from a multiple of the stride, of which the last may not
    /// exist.
    fn groups(&self) -> i64 {
        (self.elements + self.stride - 1) / self.stride
    }

    /// Returns the range of windows whose position `at` can be selected: the first and one past the last.
    fn windows(&self, at: i64) -> (i64, i64) {
        let ceil = |a: i64| -(-a).div_euclid(self.stride);
        let offset = at - self.before;
        (ceil(self.first - offset).max(0), ceil(self.end - offset).min(self.count))
    }

    /// Iterates over the positions that read elements at distance `residue` from multiples of the stride, the last
    /// position first, because it belongs to the first window.
    fn positions(self, residue: i64) -> impl Iterator<Item = i64> {
        (0..self.size).rev().filter(move |&at| self.residue(at) == residue)
    }
}

/// A `select_and_scatter` that can be done in steps.
struct Selection {
    dims: Vec<Dim>,
    operand: Value,
    source: Value,
    init: Value,
    /// The value of the padding of the operand, if it is padded.
    fill: Option<Value>,
    /// Takes the selected element and another one; returns whether the first stays selected.
    select: Body,
    /// Takes a value and the value it is combined with.
    scatter: Body,
    /// The number of positions of the result before and after the operand's elements, along each dimension.
    edges: (Vec<i64>, Vec<i64>),
}

impl Selection {
    fn of(op: OpRef<'_>, around: &dyn Surroundings) -> Option<Self> {
        let windows = SelectAndScatter::check(op).ok().filter(|_| is_static(op))?;
        let element = op.operand_tensor(0)?.element;
        let same = (0..3).all(|i| op.operand_tensor(i).is_some_and(|t| t.element == element));
        let scatter = combining_body(op, 1, &[element]).filter(|b| b.accumulators[..] == [element])?;
        let select = body_of_region(op.program, op.region(0)?, &[Arg::Input(0), Arg::Input(1)])?;
        if !same || select.results.len() != 1 || op.result_tensor(0)?.element != element {
            return None;
        }
        let operands = op.operands();
        let shape = &op.operand_tensor(0)?.shape;
        let counts = &op.operand_tensor(1)?.shape;
        let mut found = Self {
            dims: Vec::new(),
            operand: operands[0],
            source: operands[1],
            init: operands[2],
            fill: None,
            select,
            scatter: without_accumulators(scatter),
            edges: (vec![0; windows.len()], vec![0; windows.len()]),
        };
        let mut elements = shape.clone();
        if let Some((operand, fill, padding)) = padded(op, around) {
            elements.clone_from(&op.program.tensor_type(operand)?.shape);
            (found.operand, found.fill) = (operand, Some(fill));
            found.edges = (padding.low, padding.high);
        }
        for (d, &WindowDim { size, stride, low, .. }) in windows.iter().enumerate() {
            let (before, after) = (found.edges.0[d], found.edges.1[d]);
            let (first, end) = (-before, elements[d] + after);
            let dim = Dim { size, stride, before: low + before, count: counts[d], elements: elements[d], first, end };
            found.dims.push(dim);
        }
        let positions = windows.iter().fold(1, |n: i64, w| n.saturating_mul(w.size));
        let empty = elements.iter().chain(counts).any(|&n| n < 1);
        (positions <= MAX_POSITIONS && !empty).then_some(found)
    }
}

/// Returns the tensor of which the operand of `op` is a padded copy, the padding value, and the padding, if only the
/// positions of the tensor's own elements are read from the result.
fn padded(op: OpRef<'_>, around: &dyn Surroundings) -> Option<(Value, Value, Padding)> {
    let program = op.program;
    let ValueSource::Result(pad, _) = program.value_source(op.operands()[0]) else { return None };
    let padding = Padding::of(program.view(pad))?;
    let (tensor, fill) = (program.op(pad).operands[0], program.op(pad).operands[1]);
    let edges = padding.low.iter().chain(&padding.high);
    let shape = &program.tensor_type(tensor)?.shape;
    let result = op.results().next()?;
    let unread = |(d, &low): (usize, &i64)| {
        let read = around.read(program, result, d);
        read.start >= low && read.end <= low + shape[d]
    };
    let simple = edges.clone().all(|&n| n >= 0) && padding.interior.iter().all(|&n| n == 0);
    (simple && padding.low.iter().enumerate().all(unread)).then_some((tensor, fill, padding))
}

/// See [`OpDef::in_steps`](crate::op::OpDef::in_steps).
pub(super) fn in_steps(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let found = Selection::of(b.program.view(op), around)?;
    let moved = |d: &Dim| (d.size, d.stride, d.before) != (1, 1, 0);
    let sharded = |value: Value| {
        let shards = around.shards(b.program, value);
        found.dims.iter().zip(shards).any(|(dim, n)| moved(dim) && n > 1)
    };
    let of = [b.program.result(op, 0), found.operand, found.source].into_iter().find(|&v| sharded(v))?;
    let start = b.ops.len();
    let mut steps = Writer { b, found: &found, masks: FxHashMap::default(), along: FxHashMap::default() };
    let selected = steps.selected()?;
    let result = steps.scattered(selected)?;
    let Writer { along, .. } = steps;
    let made: Vec<Value> = b.ops[start..].iter().flat_map(|&op| b.program.results(op)).collect();
    let (low, high) = &found.edges;
    let result = match low.iter().chain(high).all(|&n| n == 0) {
        true => result,
        false => build::shape::pad(b, result, found.init, low, high, &vec![0; low.len()]),
    };
    let rank = found.dims.len();
    let like = |value: Value| {
        let mut dims: Vec<Vec<usize>> = (0..rank).map(|d| vec![d]).collect();
        match (b.tensor(value).rank(), along.get(&value)) {
            (1, Some(&d)) => dims = vec![vec![d]],
            (n, Some(&d)) if n == rank + 1 => dims.insert(d + 1, Vec::new()),
            (n, _) if n != rank || rank == 0 => return None,
            _ => {}
        }
        (value != result).then_some((value, Like { of, dims }))
    };
    let made = made.into_iter().filter_map(like).collect();
    Some(Steps { made, results: vec![result] })
}

struct Writer<'a, 'b> {
    b: &'a mut Builder<'b>,
    found: &'a Selection,
    /// The windows that can select a position, by dimension and position: a tensor of one dimension.
    masks: FxHashMap<(usize, i64), Value>,
    /// The dimension of a tensor of one dimension, or the dimension after which another one was inserted.
    along: FxHashMap<Value, usize>,
}

impl Writer<'_, '_> {
    fn counts(&self) -> Shape {
        self.found.dims.iter().map(|d| d.count).collect()
    }

    /// Builds `value` shifted by `low` along each dimension, in tensors of `shape`.
    fn moved(&mut self, value: Value, fill: Value, low: &[i64], shape: &[i64]) -> Value {
        let size = &self.b.tensor(value).shape;
        let high: Vec<i64> = (0..shape.len()).map(|d| shape[d] - size[d] - low[d]).collect();
        if low.iter().chain(&high).all(|&n| n == 0) {
            return value;
        }
        build::shape::pad(self.b, value, fill, low, &high, &vec![0; shape.len()])
    }

    /// Builds the position that each window selects, as its number in the window's order; -1 if none is selected.
    fn selected(&mut self) -> Option<Value> {
        let found = self.found;
        let counts = self.counts();
        let element = self.b.tensor(found.operand).element;
        let fill = found.fill.unwrap_or_else(|| build::scalar(self.b, element, Scalar::zero(element)));
        let sizes: Shape = found.dims.iter().map(|d| d.size).collect();
        let mut strided: FxHashMap<Vec<i64>, Value> = FxHashMap::default();
        // The selected elements, their numbers, and whether every window has one.
        let mut best: Option<(Value, Value, bool)> = None;
        for (number, at) in Indices::of(&sizes).enumerate() {
            let each = || found.dims.iter().zip(&at);
            if each().any(|(d, &at)| d.windows(at).0 >= d.windows(at).1) {
                continue;
            }
            let residues: Vec<i64> = each().map(|(d, &at)| d.residue(at)).collect();
            let low: Vec<i64> = each().map(|(d, &at)| -d.shift(at)).collect();
            let missing = found.dims.iter().zip(&residues).any(|(d, &residue)| residue >= d.elements);
            let value = match strided.get(&residues) {
                // All of them are in padding.
                _ if missing => build::shape::splat(self.b, fill, &counts),
                Some(&value) => self.moved(value, fill, &low, &counts),
                None => {
                    let value = self.strided(found.operand, &residues);
                    strided.insert(residues, value);
                    self.moved(value, fill, &low, &counts)
                }
            };
            let valid = self.valid(&at);
            let number = build::splat(self.b, ElementType::I32, &counts, Scalar::Int(number as i128));
            let Some((before, chosen, all)) = best else {
                let none = build::splat(self.b, ElementType::I32, &counts, Scalar::Int(-1));
                let chosen = valid.map_or(number, |valid| build::select(self.b, valid, number, none));
                best = Some((value, chosen, valid.is_none()));
                continue;
            };
            let keep = build::body(self.b, &found.select, &[before, value], &counts)?[0];
            let mut take = build::not(self.b, keep);
            if !all {
                let zero = build::splat(self.b, ElementType::I32, &counts, Scalar::Int(0));
                let none = build::compare(self.b, Comparison::Lt, chosen, zero);
                take = build::pointwise(self.b, crate::scalar::ScalarOp::Or, &[none, take]);
            }
            take = valid.map_or(take, |valid| build::and(self.b, valid, take));
            let value = build::select(self.b, take, value, before);
            let chosen = build::select(self.b, take, number, chosen);
            best = Some((value, chosen, all || valid.is_none()));
        }
        best.map(|b| b.1)
    }

    /// Builds every element of `value` at these distances from multiples of the strides; returns `value` without
    /// strides.
    fn strided(&mut self, value: Value, residues: &[i64]) -> Value {
        let strides: Vec<i64> = self.found.dims.iter().map(|d| d.stride).collect();
        if strides.iter().all(|&s| s == 1) {
            return value;
        }
        let limit = self.b.tensor(value).shape.to_vec();
        build::shape::slice(self.b, value, residues, &limit, &strides)
    }

    /// Builds which windows can select the element at position `at`; `None` if all can.
    fn valid(&mut self, at: &[i64]) -> Option<Value> {
        let counts = self.counts();
        let mut valid = None;
        for (d, &at) in at.iter().enumerate() {
            let (first, end) = self.found.dims[d].windows(at);
            if (first, end) == (0, counts[d]) {
                continue;
            }
            let mask = match self.masks.get(&(d, at)) {
                Some(&mask) => mask,
                None => self.mask(d, at, (first, end)),
            };
            valid = Some(valid.map_or(mask, |other| build::and(self.b, other, mask)));
        }
        valid
    }

    fn mask(&mut self, d: usize, at: i64, (first, end): (i64, i64)) -> Value {
        let counts = self.counts();
        let line = [counts[d]];
        let start = self.b.ops.len();
        let window = build::iota(self.b, ElementType::I64, &line, 0);
        let mut inside = None;
        for (comparison, bound, needed) in [(Comparison::Ge, first, first > 0), (Comparison::Lt, end, end < counts[d])]
        {
            if needed {
                let bound = build::splat(self.b, ElementType::I64, &line, Scalar::Int(bound.into()));
                let is = build::compare(self.b, comparison, window, bound);
                inside = Some(inside.map_or(is, |other| build::and(self.b, other, is)));
            }
        }
        let inside = inside.unwrap_or(window);
        for op in self.b.ops[start..].iter().copied() {
            self.along.insert(self.b.program.result(op, 0), d);
        }
        let mask = match counts.len() {
            1 => inside,
            _ => build::shape::broadcast_in_dim(self.b, inside, &counts, &[d as i64]),
        };
        self.masks.insert((d, at), mask);
        mask
    }

    /// Builds the result: the combination at each element, if window `w` selected position `selected[w]`.
    fn scattered(&mut self, selected: Value) -> Option<Value> {
        let found = self.found;
        let groups: Shape = found.dims.iter().map(|d| d.groups()).collect();
        let strides: Shape = found.dims.iter().map(|d| d.stride).collect();
        let element = self.b.tensor(found.source).element;
        let zero = build::scalar(self.b, element, Scalar::zero(element));
        let none = build::scalar(self.b, ElementType::I32, Scalar::Int(-1));
        let start = build::shape::splat(self.b, found.init, &groups);
        let mut moved: FxHashMap<Vec<i64>, (Value, Value)> = FxHashMap::default();
        let mut parts = Vec::new();
        for residues in Indices::of(&strides) {
            let mut value = start;
            let positions: Vec<Vec<i64>> =
                found.dims.iter().zip(&residues).map(|(d, &residue)| d.positions(residue).collect()).collect();
            let numbers: Shape = positions.iter().map(|p| p.len() as i64).collect();
            for choice in Indices::of(&numbers) {
                let at: Vec<i64> = positions.iter().zip(&choice).map(|(p, &i)| p[i as usize]).collect();
                let number = found.dims.iter().zip(&at).fold(0, |n, (d, at)| n * d.size + at);
                let low: Vec<i64> = found.dims.iter().zip(&at).map(|(d, &at)| d.shift(at)).collect();
                let (source, chosen) = match moved.get(&low) {
                    Some(&known) => known,
                    None => {
                        let source = self.moved(found.source, zero, &low, &groups);
                        let chosen = self.moved(selected, none, &low, &groups);
                        moved.insert(low, (source, chosen));
                        (source, chosen)
                    }
                };
                let number = build::splat(self.b, ElementType::I32, &groups, Scalar::Int(number.into()));
                let here = build::compare(self.b, Comparison::Eq, chosen, number);
                let combined = build::body(self.b, &found.scatter, &[source, value], &groups)?[0];
                value = build::select(self.b, here, combined, value);
            }
            parts.push(value);
        }
        Some(self.interleaved(parts))
    }

    /// Builds one tensor from tensors of the elements at each distance from multiples of the strides.
    fn interleaved(&mut self, mut parts: Vec<Value>) -> Value {
        // The last dimension's distances are consecutive in the list.
        for (d, dim) in self.found.dims.iter().enumerate().rev() {
            if dim.stride == 1 {
                continue;
            }
            let mut shape = self.b.tensor(parts[0]).shape.to_vec();
            shape.insert(d + 1, 1);
            let mut joined = Vec::new();
            for part in parts.chunks(dim.stride as usize) {
                let part: Vec<Value> = part.iter().map(|&v| build::shape::reshape(self.b, v, &shape)).collect();
                let all = build::shape::concatenate(self.b, &part, d + 1);
                self.along.extend(part.into_iter().chain([all]).map(|v| (v, d)));
                let mut merged = self.b.tensor(all).shape.to_vec();
                merged[d] *= merged.remove(d + 1);
                let merged = build::shape::reshape(self.b, all, &merged);
                joined.push(match dim.groups() * dim.stride == dim.elements {
                    true => merged,
                    false => build::shape::slice_dim(self.b, merged, d, 0, dim.elements),
                });
            }
            parts = joined;
        }
        parts[0]
    }
}
