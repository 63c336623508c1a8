//! Typed builders for the ops that move, slice, join and contract tensors. Each appends one op and returns its result;
//! each panics if the op would be invalid, because that is a bug of the calling pass.

use crate::ir::build::Builder;
use crate::ir::{Attr, ElementType, Value};
use crate::op::OpDef;
use crate::ops::stablehlo::contraction::DotGeneral;
use crate::ops::stablehlo::joining::{Concatenate, Pad};
use crate::ops::stablehlo::reshape::Reshape;
use crate::ops::stablehlo::shape::{BroadcastInDim, Reverse, Transpose};
use crate::ops::stablehlo::slicing::{DynamicSlice, DynamicUpdateSlice, Slice};

fn one(b: &mut Builder<'_>, def: &'static dyn OpDef, operands: &[Value], attrs: &[(&str, Attr)]) -> Value {
    b.inferred(def, operands, attrs, &[])[0]
}

/// Builds an op whose result type doesn't follow from operands and attributes.
fn typed(
    b: &mut Builder<'_>,
    def: &'static dyn OpDef,
    operands: &[Value],
    shape: &[i64],
    element: ElementType,
    attrs: &[(&str, Attr)],
) -> Value {
    let ty = b.program.tensor(shape, element);
    let op = b.op(def, operands, &[ty], attrs);
    if let Err(problems) = def.infer(b.program.view(op)) {
        panic!("built an invalid {}: {problems:?}", def.name());
    }
    b.program.result(op, 0)
}

/// Builds `value[start:limit:stride, …]`.
pub fn slice(b: &mut Builder<'_>, value: Value, start: &[i64], limit: &[i64], stride: &[i64]) -> Value {
    let [start, limit, stride] = [start, limit, stride].map(|v| b.program.attr_i64s(v));
    one(b, &Slice, &[value], &[("start_indices", start), ("limit_indices", limit), ("strides", stride)])
}

/// Builds the slice of positions `start..limit` of dimension `dim`, and all positions of the others.
pub fn slice_dim(b: &mut Builder<'_>, value: Value, dim: usize, start: i64, limit: i64) -> Value {
    let mut limits = b.tensor(value).shape.to_vec();
    let (mut starts, strides) = (vec![0; limits.len()], vec![1; limits.len()]);
    (starts[dim], limits[dim]) = (start, limit);
    slice(b, value, &starts, &limits, &strides)
}

/// Returns `starts`, of one integer type, with zeros in place of missing ones.
pub fn all_starts(b: &mut Builder<'_>, starts: Vec<Option<Value>>) -> Vec<Value> {
    let element = starts.iter().flatten().next().map_or(ElementType::I64, |&v| b.tensor(v).element);
    starts.into_iter().map(|start| start.unwrap_or_else(|| super::integer(b, element, 0))).collect()
}

/// Builds the slice of `sizes` at rank-0 integer `starts`, one per dimension, clamped so that it fits into `value`.
pub fn dynamic_slice(b: &mut Builder<'_>, value: Value, starts: &[Value], sizes: &[i64]) -> Value {
    let sizes = b.program.attr_i64s(sizes);
    let operands: Vec<Value> = [value].into_iter().chain(starts.iter().copied()).collect();
    one(b, &DynamicSlice, &operands, &[("slice_sizes", sizes)])
}

/// Builds `value` with `update` written over it at rank-0 integer `starts`, clamped so that it fits.
pub fn dynamic_update_slice(b: &mut Builder<'_>, value: Value, update: Value, starts: &[Value]) -> Value {
    let operands: Vec<Value> = [value, update].into_iter().chain(starts.iter().copied()).collect();
    one(b, &DynamicUpdateSlice, &operands, &[])
}

/// Builds a reshape to `shape`; returns `value` if it has this shape already.
pub fn reshape(b: &mut Builder<'_>, value: Value, shape: &[i64]) -> Value {
    let ty = b.tensor(value);
    if ty.shape[..] == *shape {
        return value;
    }
    let element = ty.element;
    typed(b, &Reshape, &[value], shape, element, &[])
}

/// Builds a transpose: result dimension `d` is dimension `permutation[d]`.
pub fn transpose(b: &mut Builder<'_>, value: Value, permutation: &[i64]) -> Value {
    let permutation = b.program.attr_i64s(permutation);
    one(b, &Transpose, &[value], &[("permutation", permutation)])
}

/// Builds the reversal of `value` along `dims`.
pub fn reverse(b: &mut Builder<'_>, value: Value, dims: &[i64]) -> Value {
    let dims = b.program.attr_i64s(dims);
    one(b, &Reverse, &[value], &[("dimensions", dims)])
}

/// Builds a broadcast: dimension `d` of `value` becomes dimension `dims[d]` of `shape`.
pub fn broadcast_in_dim(b: &mut Builder<'_>, value: Value, shape: &[i64], dims: &[i64]) -> Value {
    let element = b.tensor(value).element;
    let dims = b.program.attr_i64s(dims);
    typed(b, &BroadcastInDim, &[value], shape, element, &[("broadcast_dimensions", dims)])
}

/// Builds a broadcast of a rank-0 value to `shape`; returns the value if `shape` has rank 0.
pub fn splat(b: &mut Builder<'_>, value: Value, shape: &[i64]) -> Value {
    if shape.is_empty() { value } else { broadcast_in_dim(b, value, shape, &[]) }
}

/// Builds the concatenation of `values` along `dim`; returns a single value unchanged.
pub fn concatenate(b: &mut Builder<'_>, values: &[Value], dim: usize) -> Value {
    if let [only] = values {
        return *only;
    }
    let dim = b.program.attr_i64(dim as i64);
    one(b, &Concatenate, values, &[("dimension", dim)])
}

/// Builds `value` with the rank-0 `padding` around and between its elements.
pub fn pad(b: &mut Builder<'_>, value: Value, padding: Value, low: &[i64], high: &[i64], interior: &[i64]) -> Value {
    let [low, high, interior] = [low, high, interior].map(|v| b.program.attr_i64s(v));
    let attrs = [("edge_padding_low", low), ("edge_padding_high", high), ("interior_padding", interior)];
    one(b, &Pad, &[value, padding], &attrs)
}

/// Builds the product of `lhs` and `rhs` over pairs of batching and contracting dimensions, with result elements of
/// type `element`. `attrs` may have `precision_config` and `algorithm`.
pub fn dot_general(
    b: &mut Builder<'_>,
    (lhs, rhs): (Value, Value),
    (lhs_batch, rhs_batch): (&[i64], &[i64]),
    (lhs_contract, rhs_contract): (&[i64], &[i64]),
    element: ElementType,
    attrs: &[(&str, Attr)],
) -> Value {
    let dims = b.program.attr_struct(
        "stablehlo.dot",
        &[
            ("lhs_batching_dimensions", lhs_batch),
            ("rhs_batching_dimensions", rhs_batch),
            ("lhs_contracting_dimensions", lhs_contract),
            ("rhs_contracting_dimensions", rhs_contract),
        ],
        &[],
    );
    let (l, r) = (b.tensor(lhs).shape.clone(), b.tensor(rhs).shape.clone());
    let free = |shape: &[i64], taken: [&[i64]; 2]| {
        let taken = taken.concat();
        shape.iter().enumerate().filter(|(d, _)| !taken.contains(&(*d as i64))).map(|(_, &n)| n).collect::<Vec<i64>>()
    };
    let mut shape: Vec<i64> = lhs_batch.iter().map(|&d| l[d as usize]).collect();
    shape.extend(free(&l, [lhs_batch, lhs_contract]));
    shape.extend(free(&r, [rhs_batch, rhs_contract]));
    let mut all = vec![("dot_dimension_numbers", dims)];
    all.extend(attrs);
    typed(b, &DotGeneral, &[lhs, rhs], &shape, element, &all)
}
