//! The per-device forms of `dynamic_slice` and `dynamic_update_slice` if dimensions of which they read or replace a
//! part are sharded.
//!
//! Every device reads the positions in its own shard and zeros for the others, so that the results are partial sums; or
//! it has the whole update and writes the positions in its shard. Starts are first clamped against the global sizes, as
//! the program requires.

use crate::ir::build::Builder;
use crate::ir::{ElementType, Shape, Value};
use crate::localize::Localize;
use crate::ops::build;
use crate::scalar::{Comparison, Scalar};

/// A sharded dimension: the position of the slice's or update's first element relative to the device's shard, of rank 0
/// and the type of positions. It may be before or past the shard.
struct ShardedDim {
    dim: usize,
    at: Value,
}

/// Returns the start of the slice or update in the device's shard for each dimension, from operand `first` on, and the
/// sharded dimensions. `last` has the last position at which each may start, `firsts` the start of the shard.
fn local_starts(
    cx: &mut Localize<'_>,
    first: usize,
    last: &[i64],
    firsts: &[Option<Value>],
) -> (Vec<Value>, Vec<ShardedDim>) {
    let b = &mut cx.build;
    let element = element_of(b, firsts);
    let (mut starts, mut sharded) = (Vec::new(), Vec::new());
    for (d, shard) in firsts.iter().enumerate() {
        let given = cx.operands[first + d];
        if shard.is_none() && element.has_values_of(b.tensor(given).element) {
            // The local op clamps it.
            starts.push(build::convert(b, given, element));
            continue;
        }
        let bounds = |b: &mut Builder<'_>, ty| [0, last[d]].map(|v| build::integer(b, ty, v));
        let mut start = build::clamped_position(b, given, element, bounds);
        if let Some(shard) = *shard {
            start = build::subtract(b, start, shard);
            sharded.push(ShardedDim { dim: d, at: start });
        }
        starts.push(start);
    }
    (starts, sharded)
}

/// Returns the type of positions, from the starts of shards, at least one of which must exist.
fn element_of(b: &Builder<'_>, starts: &[Option<Value>]) -> ElementType {
    let start = starts.iter().flatten().next().expect("an indexed dimension is sharded");
    b.tensor(*start).element
}

/// Builds whether the single position along every dimension of `sharded` is in the device's shard: rank-0 `i1`.
fn all_here<'a>(b: &mut Builder<'_>, sharded: impl IntoIterator<Item = &'a ShardedDim>, part: &[i64]) -> Option<Value> {
    let here: Vec<Value> = sharded.into_iter().map(|c| inside(b, c.at, part[c.dim])).collect();
    here.into_iter().reduce(|x, y| build::and(b, x, y))
}

/// Fills in the local result of a `dynamic_slice`.
pub(super) fn slice(cx: &mut Localize<'_>) {
    let (whole, result) = (cx.operand(0), cx.result(0));
    let last: Vec<i64> = whole.dims.iter().zip(&result.dims).map(|(w, r)| w.global - r.global).collect();
    let firsts: Vec<Option<Value>> =
        (0..last.len()).map(|d| if last[d] == 0 { None } else { cx.operand_start(0, d) }).collect();
    let (part, size) = (whole.shape(), result.shape());
    if firsts.iter().all(Option::is_none) {
        let sizes = cx.build.program.attr_i64s(&size);
        return cx.same_op_with(&[("slice_sizes", sizes)]);
    }
    let (mut starts, sharded) = local_starts(cx, 1, &last, &firsts);
    let (value, b) = (cx.operands[0], &mut cx.build);
    let integer = element_of(b, &firsts);
    let zero = build::integer(b, integer, 0);
    // The part that is read from the shard, and its offset in the slice.
    let (mut read, mut padding) = (size.clone(), vec![0; size.len()]);
    let mut shown = vec![zero; size.len()];
    for c in sharded.iter().filter(|c| size[c.dim] != 1) {
        let (d, n) = (c.dim, size[c.dim]);
        (read[d], padding[d]) = (n.min(part[d]), n);
        let end = build::integer(b, integer, part[d] - read[d]);
        starts[d] = build::clamp(b, zero, c.at, end);
        let later = build::subtract(b, starts[d], c.at);
        let low = build::integer(b, integer, n);
        shown[d] = build::subtract(b, low, later);
    }
    let mut found = build::shape::dynamic_slice(b, value, &starts, &read);
    let element = b.tensor(value).element;
    if padding.iter().any(|&n| n > 0) {
        // The part is padded by as many zeros as the slice has positions, so that positions outside of the shard are
        // zero.
        let nothing = build::scalar(b, element, Scalar::zero(element));
        let padded = build::shape::pad(b, found, nothing, &padding, &padding, &vec![0; size.len()]);
        found = build::shape::dynamic_slice(b, padded, &shown, &size);
    }
    if let Some(here) = all_here(b, sharded.iter().filter(|c| size[c.dim] == 1), &part) {
        let nothing = build::splat(b, element, &size, Scalar::zero(element));
        found = build::select(b, here, found, nothing);
    }
    cx.results = vec![found];
}

/// Fills in the local results of a `dynamic_update_slice`.
pub(super) fn update(cx: &mut Localize<'_>) {
    let (whole, updated) = (cx.operand(0), cx.operand(1));
    let (value, update) = (cx.operands[0], cx.operands[1]);
    // The last position at which the update can start, and the start of the shard if only part of the dimension is
    // updated.
    let last: Vec<i64> = whole.dims.iter().zip(&updated.dims).map(|(w, u)| w.global - u.global).collect();
    let firsts: Vec<Option<Value>> =
        (0..last.len()).map(|d| if last[d] == 0 { None } else { cx.result_start(0, d) }).collect();
    if firsts.iter().all(Option::is_none) {
        return cx.same_op();
    }
    let (part, size) = (whole.shape(), updated.shape());
    let (starts, sharded) = local_starts(cx, 2, &last, &firsts);
    let b = &mut cx.build;
    let result = if sharded.iter().all(|c| size[c.dim] == 1) {
        update_one(b, value, update, &starts, &sharded, &part, &size)
    } else {
        update_many(b, value, update, &starts, &sharded, &part, &size)
    };
    cx.results = vec![result];
}

/// Builds whether `at` is in `0..size`: rank-0 `i1`.
fn inside(b: &mut Builder<'_>, at: Value, size: i64) -> Value {
    let integer = b.tensor(at).element;
    let [zero, end] = [0, size].map(|v| build::integer(b, integer, v));
    let (low, high) = (build::compare(b, Comparison::Ge, at, zero), build::compare(b, Comparison::Lt, at, end));
    build::and(b, low, high)
}

/// Builds the result if the update has one position along every sharded dimension, which is in the shard or not.
fn update_one(
    b: &mut Builder<'_>,
    value: Value,
    update: Value,
    starts: &[Value],
    sharded: &[ShardedDim],
    part: &[i64],
    size: &[i64],
) -> Value {
    let here = all_here(b, sharded, part).expect("an indexed dimension is sharded");
    let old = build::shape::dynamic_slice(b, value, starts, size);
    let new = build::select(b, here, update, old);
    build::shape::dynamic_update_slice(b, value, new, starts)
}

/// Builds the result if part of the update may be in the shard. The update is padded by the shard's size on both sides,
/// so that a window of that size has this device's part; a mask distinguishes padding from the update.
fn update_many(
    b: &mut Builder<'_>,
    value: Value,
    update: Value,
    starts: &[Value],
    sharded: &[ShardedDim],
    part: &[i64],
    size: &[i64],
) -> Value {
    let integer = b.tensor(starts[0]).element;
    let zero = build::integer(b, integer, 0);
    let mut padding = vec![0; part.len()];
    let mut window: Shape = Shape::from_slice(size);
    let (mut window_starts, mut starts) = (vec![zero; part.len()], starts.to_vec());
    for c in sharded {
        padding[c.dim] = part[c.dim];
        window[c.dim] = part[c.dim];
        let whole = build::integer(b, integer, part[c.dim]);
        window_starts[c.dim] = build::subtract(b, whole, c.at);
        starts[c.dim] = zero;
    }
    let element = b.tensor(value).element;
    let nothing = build::scalar(b, element, Scalar::zero(element));
    let padded = build::shape::pad(b, update, nothing, &padding, &padding, &vec![0; part.len()]);
    let shown = build::shape::dynamic_slice(b, padded, &window_starts, &window);
    let mut mask: Option<Value> = None;
    for c in sharded {
        let position = build::iota(b, integer, &window, c.dim);
        let length = build::integer(b, integer, size[c.dim]);
        let end = build::add(b, c.at, length);
        let (first, end) = (build::shape::splat(b, c.at, &window), build::shape::splat(b, end, &window));
        let low = build::compare(b, Comparison::Ge, position, first);
        let high = build::compare(b, Comparison::Lt, position, end);
        let both = build::and(b, low, high);
        mask = Some(mask.map_or(both, |m| build::and(b, m, both)));
    }
    let mask = mask.expect("an indexed dimension is sharded");
    if window[..] == *part {
        return build::select(b, mask, shown, value);
    }
    let old = build::shape::dynamic_slice(b, value, &starts, &window);
    let new = build::select(b, mask, shown, old);
    build::shape::dynamic_update_slice(b, value, new, &starts)
}
