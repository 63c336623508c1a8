//! The per-device forms of gather and scatter.
//!
//! Where a dimension that indices point into is sharded, indices become relative to the device's shard. A gather masks
//! the slices that start elsewhere, so that its results are partial sums; a scatter drops what is out of bounds anyway.

use super::{GatherDims, ScatterDims, SliceDims};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Value};
use crate::localize::Localize;
use crate::ops::build;
use crate::scalar::{Comparison, Scalar};

/// `values`, one rank-0 value per index component, broadcast to indices of `shape`.
fn along(b: &mut Builder<'_>, values: &[Value], shape: &[i64], dim: usize) -> Value {
    if let [only] = values {
        return build::shape::splat(b, *only, shape);
    }
    let values: Vec<Value> = values.iter().map(|&v| build::shape::reshape(b, v, &[1])).collect();
    let vector = build::shape::concatenate(b, &values, 0);
    build::shape::broadcast_in_dim(b, vector, shape, &[dim as i64])
}

/// `indices` as `i64`, minus the first position of the device's shard where `starts` has one. With `last`, they are
/// first clamped into the global dimension.
fn relative(
    b: &mut Builder<'_>,
    dims: &SliceDims,
    indices: Value,
    starts: &[Option<Value>],
    last: Option<Vec<i64>>,
) -> Value {
    let shape = b.tensor(indices).shape.clone();
    let mut indices = build::convert(b, indices, ElementType::I64);
    if let Some(last) = last {
        let last: Vec<Value> = last.into_iter().map(|v| build::index(b, v)).collect();
        let last = along(b, &last, &shape, dims.index_vector_dim);
        let first = build::splat(b, ElementType::I64, &shape, Scalar::Int(0));
        indices = build::clamp(b, first, indices, last);
    }
    let starts: Vec<Value> = starts.iter().map(|&s| s.unwrap_or_else(|| build::index(b, 0))).collect();
    let starts = along(b, &starts, &shape, dims.index_vector_dim);
    build::subtract(b, indices, starts)
}

/// Fills in the local result of a gather.
pub(super) fn gather(cx: &mut Localize<'_>) {
    let op = cx.build.program.view(cx.op);
    let Some(GatherDims { dims, mut sizes }) = GatherDims::of(op) else { return cx.same_op() };
    let operand = cx.operand(0);
    let last: Vec<i64> = dims.index_map.iter().map(|&d| operand.dims[d].global - sizes[d]).collect();
    let starts: Vec<Option<Value>> = dims
        .index_map
        .iter()
        .map(|&d| if sizes[d] == 1 && operand.dims[d].global != 1 { cx.operand_start(0, d) } else { None })
        .collect();
    for (size, dim) in sizes.iter_mut().zip(&operand.dims) {
        if *size == dim.global {
            *size = dim.size();
        }
    }
    let sizes = cx.build.program.attr_i64s(&sizes);
    if starts.iter().all(Option::is_none) {
        return cx.same_op_with(&[("slice_sizes", sizes)]);
    }
    let indices = relative(&mut cx.build, &dims, cx.operands[1], &starts, Some(last));
    cx.same_op_on(&[cx.operands[0], indices], &[("slice_sizes", sizes)]);
    let (gathered, b) = (cx.results[0], &mut cx.build);

    // Which slices start in this shard, over the batch dimensions.
    let table = b.tensor(indices).shape.to_vec();
    let batch: Vec<i64> = (0..dims.batch.len()).map(|k| table[dims.indices_dim(k)]).collect();
    let mut here: Option<Value> = None;
    for (component, &d) in dims.index_map.iter().enumerate().filter(|c| starts[c.0].is_some()) {
        let mut at = indices;
        if dims.index_vector_dim < table.len() {
            at = build::shape::slice_dim(b, indices, dims.index_vector_dim, component as i64, component as i64 + 1);
            at = build::shape::reshape(b, at, &batch);
        }
        let first = build::splat(b, ElementType::I64, &batch, Scalar::Int(0));
        let end = build::splat(b, ElementType::I64, &batch, Scalar::Int(operand.dims[d].size().into()));
        let (low, high) = (build::compare(b, Comparison::Ge, at, first), build::compare(b, Comparison::Lt, at, end));
        let inside = build::and(b, low, high);
        here = Some(here.map_or(inside, |h| build::and(b, h, inside)));
    }
    let Some(here) = here else { return };
    let ty = b.tensor(gathered).clone();
    let to: Vec<i64> = dims.batch.iter().map(|&d| d as i64).collect();
    let here = build::shape::broadcast_in_dim(b, here, &ty.shape, &to);
    let nothing = build::splat(b, ty.element, &ty.shape, Scalar::zero(ty.element));
    cx.results = vec![build::select(b, here, gathered, nothing)];
}

/// Fills in the local results of a scatter.
pub(super) fn scatter(cx: &mut Localize<'_>) {
    let op = cx.build.program.view(cx.op);
    let Some(ScatterDims { dims, inputs: n }) = ScatterDims::of(op) else { return cx.same_op() };
    let mut operands = cx.operands.to_vec();
    let one = |d: usize| {
        let window = dims.operand_window.iter().position(|&w| w == d);
        let updates = |dim: usize| cx.operand(n + 1).dims[dim].global;
        window
            .map_or(dims.collapsed.contains(&d), |i| updates(dims.window[i]) == 1 && cx.operand(0).dims[d].global != 1)
    };
    let ones: Vec<bool> = dims.index_map.iter().map(|&d| one(d)).collect();
    let starts: Vec<Option<Value>> =
        dims.index_map.iter().zip(ones).map(|(&d, one)| if one { cx.result_start(0, d) } else { None }).collect();
    if starts.iter().any(Option::is_some) {
        operands[n] = relative(&mut cx.build, &dims, operands[n], &starts, None);
    }
    cx.same_op_on(&operands, &[]);
}
