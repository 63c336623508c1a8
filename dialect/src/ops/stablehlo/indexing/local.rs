//! The per-device forms of gather and scatter.
//!
//! If a dimension that indices point into is sharded, indices become relative to the device's shard. A gather masks the
//! slices that start elsewhere, so that its results are partial sums; a scatter drops elements that are out of bounds
//! anyway. Slices of several positions of such a dimension may span several devices: a gather then gives each position
//! its own index; a scatter, if possible, was rewritten in this way before.

use super::{GatherDims, ScatterDims, SliceDims, Words, gather};
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, ElementType, Shape, Value};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::ops::build;
use crate::scalar::{Comparison, Scalar};

/// Builds `values`, one rank-0 value per index component, broadcast to indices of `shape`.
fn along(b: &mut Builder<'_>, values: &[Value], shape: &[i64], dim: usize) -> Value {
    if let [only] = values {
        return build::shape::splat(b, *only, shape);
    }
    let values: Vec<Value> = values.iter().map(|&v| build::shape::reshape(b, v, &[1])).collect();
    let vector = build::shape::concatenate(b, &values, 0);
    build::shape::broadcast_in_dim(b, vector, shape, &[dim as i64])
}

/// Builds `indices` as `element`, each component clamped to `0..=last`.
fn clamped(b: &mut Builder<'_>, dims: &SliceDims, indices: Value, element: ElementType, last: &[i64]) -> Value {
    let shape = b.tensor(indices).shape.clone();
    build::clamped_position(b, indices, element, |b, ty| {
        let last: Vec<Value> = last.iter().map(|&v| build::integer(b, ty, v)).collect();
        let last = along(b, &last, &shape, dims.index_vector_dim);
        [build::splat(b, ty, &shape, Scalar::Int(0)), last]
    })
}

/// Builds `indices` minus the first position of the device's shard if `starts` has one, which have the same type.
fn relative(b: &mut Builder<'_>, dims: &SliceDims, indices: Value, starts: &[Option<Value>]) -> Value {
    let (shape, element) = (b.tensor(indices).shape.clone(), b.tensor(indices).element);
    let starts: Vec<Value> = starts.iter().map(|&s| s.unwrap_or_else(|| build::integer(b, element, 0))).collect();
    let starts = along(b, &starts, &shape, dims.index_vector_dim);
    build::subtract(b, indices, starts)
}

/// Gives every position that slices take along the dimensions `spread` of the slices tensor its own index: these
/// dimensions then run over indices instead of inside a slice.
pub(super) fn spread_windows(
    b: &mut Builder<'_>,
    dims: &SliceDims,
    indices: Value,
    slices: &[i64],
    spread: &[usize],
) -> (SliceDims, Value) {
    let mut new = dims.clone();
    let windows = || dims.window.iter().copied().zip(dims.operand_window.iter().copied());
    (new.window, new.operand_window) = windows().filter(|w| !spread.contains(&w.0)).unzip();
    new.batch.extend(spread);
    new.batch.sort_unstable();
    new.collapsed.extend(windows().filter(|w| spread.contains(&w.0)).map(|w| w.1));
    new.collapsed.sort_unstable();
    new.index_vector_dim = new.batch.len();
    // Returns the indices' dimension for a dimension of the slices; the components are the last dimension of the
    // indices.
    let place = |d: usize| new.batch.iter().position(|&other| other == d).unwrap_or_default();
    new.indices_batching = dims.indices_batching.iter().map(|&i| place(dims.batch[dims.batch_number(i)])).collect();
    let components = dims.index_map.len() as i64;
    let shape: Shape = new.batch.iter().map(|&d| slices[d]).chain([components]).collect();
    let to: Vec<i64> = (0..b.tensor(indices).rank())
        .map(|i| match i == dims.index_vector_dim {
            true => new.index_vector_dim as i64,
            false => place(dims.batch[dims.batch_number(i)]) as i64,
        })
        .collect();
    let element = b.tensor(indices).element;
    let mut indices = build::shape::broadcast_in_dim(b, indices, &shape, &to);
    for (d, operand) in windows().filter(|w| spread.contains(&w.0)) {
        let mut inside = build::iota(b, element, &shape, place(d));
        if components > 1 {
            let component = dims.index_map.iter().position(|&to| to == operand).unwrap_or_default();
            let one = |c: usize| Scalar::Int(i128::from(c == component));
            let ones = Literal::from_scalars(element, &[components], (0..dims.index_map.len()).map(one));
            let ones = build::constant(b, ones);
            let ones = build::shape::broadcast_in_dim(b, ones, &shape, &[new.index_vector_dim as i64]);
            inside = build::multiply(b, inside, ones);
        }
        indices = build::add(b, indices, inside);
    }
    (new, indices)
}

/// Fills in the local result of a gather.
pub(super) fn gather(cx: &mut Localize<'_>) {
    let op = cx.build.program.view(cx.op);
    let Some(GatherDims { mut dims, mut sizes }) = GatherDims::of(op) else { return cx.same_op() };
    let operand = cx.operand(0);
    let last: Vec<i64> = dims.index_map.iter().map(|&d| operand.dims[d].global - sizes[d]).collect();
    let starts: Vec<Option<Value>> = dims
        .index_map
        .iter()
        .zip(&last)
        .map(|(&d, &last)| if last > 0 { cx.operand_start(0, d) } else { None })
        .collect();
    let sharded = |d: usize| dims.index_map.iter().zip(&starts).any(|(&to, start)| to == d && start.is_some());
    let windows = dims.window.iter().zip(&dims.operand_window);
    let spread: Vec<usize> = windows.filter(|w| sizes[*w.1] != 1 && sharded(*w.1)).map(|w| *w.0).collect();
    let slices = dims.slices_shape(&cx.build.tensor(cx.operands[1]).shape, &sizes);
    for (size, dim) in sizes.iter_mut().zip(&operand.dims) {
        if *size == dim.global {
            *size = dim.size();
        }
    }
    let mut changed = Vec::new();
    let mut indices = cx.operands[1];
    let b = &mut cx.build;
    if let Some(&start) = starts.iter().flatten().next() {
        let element = b.tensor(start).element;
        indices = clamped(b, &dims, indices, element, &last);
        if !spread.is_empty() {
            let window = |d: usize| dims.window.iter().position(|&w| w == d).map(|k| dims.operand_window[k]);
            spread.iter().filter_map(|&d| window(d)).for_each(|d| sizes[d] = 1);
            (dims, indices) = spread_windows(b, &dims, indices, &slices, &spread);
            changed.push((gather::WORDS.attr, dims_attr(b, "stablehlo.gather", &dims, &gather::WORDS)));
            changed.push(("indices_are_sorted", b.program.intern_attr(AttrData::Bool(false))));
        }
        indices = relative(b, &dims, indices, &starts);
    }
    changed.push(("slice_sizes", b.program.attr_i64s(&sizes)));
    cx.same_op_on(&[cx.operands[0], indices], &changed);
    if starts.iter().all(Option::is_none) {
        return;
    }
    let (gathered, b) = (cx.results[0], &mut cx.build);
    let element = b.tensor(indices).element;

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
        let first = build::splat(b, element, &batch, Scalar::Int(0));
        let end = build::splat(b, element, &batch, Scalar::Int(operand.dims[d].size().into()));
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
    let (whole, updates) = (cx.operand(0), cx.operand(n + 1));
    // Returns whether an update writes one position of a dimension of the operand.
    let one = |d: usize| match dims.operand_window.iter().position(|&w| w == d) {
        Some(k) => updates.dims[dims.window[k]].global == 1,
        None => true,
    };
    let mut starts: Vec<Option<Value>> = dims
        .index_map
        .iter()
        .map(|&d| if one(d) && whole.dims[d].global != 1 { cx.result_start(0, d) } else { None })
        .collect();
    if let Some(&start) = starts.iter().flatten().next() {
        // Indices outside of the operand may have any value of their type. The difference of a signed index and a start
        // may wrap, but then it is at least the type's last value less a start, so it stays outside of the shard.
        let b = &mut cx.build;
        let (own, element) = (b.tensor(operands[n]).element, b.tensor(start).element);
        let element = if element.has_values_of(own) { element } else { ElementType::I64 };
        starts.iter_mut().flatten().for_each(|s| *s = build::convert(b, *s, element));
        let indices = build::convert(b, operands[n], element);
        operands[n] = relative(b, &dims, indices, &starts);
    }
    cx.same_op_on(&operands, &[]);
}

/// Returns the dimension numbers as an attribute.
pub(super) fn dims_attr(b: &mut Builder<'_>, name: &str, dims: &SliceDims, words: &Words) -> Attr {
    let list = |dims: &[usize]| dims.iter().map(|&d| d as i64).collect::<Vec<i64>>();
    let lists = [
        (words.window.0, list(&dims.window)),
        (words.collapsed.0, list(&dims.collapsed)),
        (words.operand_batching.0, list(&dims.operand_batching)),
        (words.indices_batching.0, list(&dims.indices_batching)),
        (words.index_map.0, list(&dims.index_map)),
    ];
    let lists: Vec<(&str, &[i64])> = lists.iter().map(|(name, list)| (*name, &list[..])).collect();
    b.program.attr_struct(name, &lists, &[("index_vector_dim", dims.index_vector_dim as i64)])
}
