//! Rewrites a scatter of windows into a sharded dimension to have one index per position, so that each device can write
//! the positions that it holds.
//!
//! If a window is partly out of bounds, the specification drops only the elements outside, so one index per position
//! means the same. (XLA drops the whole window instead; JAX clamps or checks indices before.)

use super::local::{dims_attr, spread_windows};
use super::{ScatterDims, scatter};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, Renaming, Value};
use crate::op::{Like, Steps, Surroundings};
use crate::ops::support::constraint::is_static;
use crate::ops::{build, sdy};
use crate::scalar::{Scalar, ScalarOp};

/// See [`OpDef::in_steps`](crate::op::OpDef::in_steps).
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
    // Windows without an index start at 0.
    if parts.is_empty() || !parts.iter().all(|p| dims.index_map.contains(&p.1)) {
        return None;
    }
    let spread: Vec<usize> = parts.iter().map(|p| p.0).collect();
    let data = b.program.op(op).clone();
    let types: Vec<_> = b.program.results(op).map(|v| b.program.value_type(v)).collect();
    let (indices, start) = (operands[n], b.ops.len());
    let mut known = indices;
    if b.tensor(indices).element == ElementType::UI64 {
        // Values beyond i64 are out of bounds, and so is the last element of their window.
        let shape = b.tensor(indices).shape.clone();
        let far = build::splat(b, ElementType::UI64, &shape, Scalar::Int(1 << 62));
        known = build::pointwise(b, ScalarOp::Min, &[indices, far]);
    }
    let wide = build::convert(b, known, ElementType::I64);
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
        let whole_indices = b.tensor(value).shape == b.tensor(indices).shape;
        let dims = if whole_indices { &whole } else { &split };
        (whole_indices || b.tensor(value).rank() == rank).then(|| (value, Like { of: indices, dims: dims.clone() }))
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
