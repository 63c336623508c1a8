//! A scatter of windows into a sharded dimension, with an index for each position instead: then each device can write what
//! it holds.
//!
//! What becomes of a window that is partly out of bounds is seen in two ways: the specification drops the elements outside,
//! XLA the whole window. So this is done only where indices are known to be in bounds.

use super::local::{dims_attr, spread_windows};
use super::{ScatterDims, SliceDims, scatter};
use crate::fold::Constants;
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, Program, Renaming, Value, ValueSource};
use crate::literal::{Indices, Literal};
use crate::op::{Like, OpDef, Steps, Surroundings};
use crate::ops::stablehlo::elementwise::CLAMP;
use crate::ops::support::constraint::is_static;
use crate::ops::{build, sdy};
use crate::scalar::Scalar;

/// Bounds with more elements aren't looked at.
const MAX_BOUNDS: usize = 1 << 16;

/// See [`OpDef::in_steps`].
pub(super) fn in_steps(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let view = b.program.view(op);
    let ScatterDims { dims, inputs: n } = ScatterDims::of(view).filter(|_| is_static(view))?;
    let mut operands = view.operands().to_vec();
    let whole = &view.operand_tensor(0)?.shape;
    let updates = view.operand_tensor(n + 1)?.shape.to_vec();
    let tensors: Vec<Value> = operands[..n].iter().copied().chain(view.results()).collect();
    let sharded = |to: usize| tensors.iter().any(|&v| around.shards(b.program, v)[to] > 1);
    let windows = dims.window.iter().zip(&dims.operand_window);
    let parts = windows.filter(|&(&d, &to)| (2..whole[to]).contains(&updates[d]) && sharded(to));
    let parts: Vec<(usize, usize)> = parts.map(|(&d, &to)| (d, to)).collect();
    let mut constants = Constants::default();
    let mut known = |&(d, to): &(usize, usize)| {
        let component = dims.index_map.iter().position(|&other| other == to);
        let last = i128::from(whole[to] - updates[d]);
        component.is_some_and(|c| in_bounds(&mut constants, b.program, operands[n], &dims, c, last))
    };
    if parts.is_empty() || !parts.iter().all(&mut known) {
        return None;
    }
    let spread: Vec<usize> = parts.iter().map(|p| p.0).collect();
    let data = b.program.op(op).clone();
    let types: Vec<_> = b.program.results(op).map(|v| b.program.value_type(v)).collect();
    let (indices, start) = (operands[n], b.ops.len());
    let wide = build::convert(b, indices, ElementType::I64);
    let (new, each) = spread_windows(b, &dims, wide, &updates, &spread);
    operands[n] = each;

    let rank = b.tensor(each).rank();
    let place = |d: &usize| match dims.batch.iter().position(|batch| batch == d) {
        Some(k) => vec![dims.indices_dim(k)],
        None => Vec::new(),
    };
    let whole: Vec<Vec<usize>> = (0..b.tensor(indices).rank()).map(|d| vec![d]).collect();
    let split: Vec<Vec<usize>> = new.batch.iter().map(place).chain([Vec::new()]).collect();
    let made = b.ops[start..].iter().flat_map(|&op| b.program.results(op)).filter_map(|value| {
        let dims = if value == wide { &whole } else { &split };
        (value == wide || b.tensor(value).rank() == rank).then(|| (value, Like { of: indices, dims: dims.clone() }))
    });
    let made = made.collect();

    let no = b.program.intern_attr(AttrData::Bool(false));
    let numbers = dims_attr(b, "stablehlo.scatter", &new, &scatter::WORDS);
    let changed = [(scatter::WORDS.attr, numbers), ("indices_are_sorted", no), ("unique_indices", no)];
    let changed = changed.map(|(key, attr)| (b.program.name(key), attr));
    let mut attrs: Vec<_> = data.attrs.to_vec();
    attrs.retain(|a| changed.iter().all(|c| c.0 != a.0) && !sdy::is_attribute(b.program.name_text(a.0)));
    attrs.extend(changed);
    let regions: Vec<_> = data.regions.iter().map(|&r| b.program.clone_region(r, &mut Renaming::default())).collect();
    let op = b.raw(data.def, data.def.name(), &operands, &types, &attrs, &regions);
    Some(Steps { made, results: b.program.results(op).collect() })
}

/// Whether component `component` of all of `indices` is in `0..=last` in every run: they are constants, or clamped.
fn in_bounds(
    constants: &mut Constants,
    program: &Program,
    indices: Value,
    dims: &SliceDims,
    component: usize,
    last: i128,
) -> bool {
    let within = |bounds: &Literal| {
        let mut all = Indices::of(&bounds.shape)
            .filter(|at| at.get(dims.index_vector_dim).is_none_or(|&c| c == component as i64));
        all.all(|at| matches!(bounds.get(bounds.position(&at)), Scalar::Int(v) if (0..=last).contains(&v)))
    };
    if let Some(values) = constants.get(program, indices, MAX_BOUNDS) {
        return within(&values);
    }
    let ValueSource::Result(maker, _) = program.value_source(indices) else { return false };
    let view = program.view(maker);
    let mut bound = |i: usize| constants.get(program, view.operands()[i], MAX_BOUNDS).is_some_and(|b| within(&b));
    view.name() == CLAMP.name() && view.operands().len() == 3 && bound(0) && bound(2)
}
