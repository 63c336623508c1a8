//! A sort of which only the first elements are read: sorts each piece, then the first elements of all pieces.

use super::Sort;
use crate::ir::build::Builder;
use crate::ir::{AttrData, Op, OpRef, Region, Renaming, Value};
use crate::kernel::{Body, Inst};
use crate::op::{Like, Steps, Surroundings};
use crate::ops::build;
use crate::ops::support::comparator::comparing_body;
use crate::ops::support::constraint::is_static;
use crate::scalar::{Comparison, ScalarOp};

/// Builds the steps. Pieces stay in order and both sorts are stable, so equal elements are in the same order as in one
/// sort.
pub(super) fn first_of_pieces(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let view = b.program.view(op);
    let dim = Sort::dim(view).filter(|_| is_static(view))?;
    let shape = view.operand_tensor(0)?.shape.to_vec();
    let pieces = around.pieces(b.program, view.operands()[0])[dim];
    let kept = view.results().map(|v| around.read(b.program, v, dim).end).max()?;
    if pieces < 2 || kept == 0 || kept * pieces >= shape[dim] || order(view).is_none() {
        return None;
    }
    let data = b.program.op(op).clone();
    let sort = |b: &mut Builder<'_>, values: &[Value], dim: usize| {
        let region = b.program.clone_region(data.regions[0], &mut Renaming::default());
        stable_sort(b, values, dim, region)
    };
    let (mut divided, mut first) = (shape.clone(), shape.clone());
    divided.splice(dim..=dim, [pieces, shape[dim] / pieces]);
    first[dim] = kept * pieces;
    let whole: Vec<Vec<usize>> = (0..shape.len()).map(|d| vec![d]).collect();
    let mut split = whole.clone();
    split.insert(dim + 1, Vec::new());
    let mut steps = Steps::default();
    let of = data.operands[0];
    let mut made = |values: &[Value], dims: &[Vec<usize>]| {
        steps.made.extend(values.iter().map(|&v| (v, Like { of, dims: dims.to_vec() })));
    };
    let mut values: Vec<Value> = data.operands.iter().map(|&v| build::shape::reshape(b, v, &divided)).collect();
    made(&values, &split);
    values = sort(b, &values, dim + 1);
    made(&values, &split);
    values.iter_mut().for_each(|v| *v = build::shape::slice_dim(b, *v, dim + 1, 0, kept));
    made(&values, &split);
    values.iter_mut().for_each(|v| *v = build::shape::reshape(b, *v, &first));
    made(&values, &whole);
    values = sort(b, &values, dim);
    split.remove(dim);
    made(&values, &split);
    steps.results = values;
    Some(steps)
}

/// Builds a stable sort of `values` along `dim` by the comparator `region`.
pub(super) fn stable_sort(b: &mut Builder<'_>, values: &[Value], dim: usize, region: Region) -> Vec<Value> {
    let (dim, stable) = (b.program.attr_i64(dim as i64), b.program.intern_attr(AttrData::Bool(true)));
    b.inferred(&Sort, values, &[("dimension", dim), ("is_stable", stable)], &[region])
}

/// Returns the comparator as a straight-line body, if it orders all elements: by `<` on floats, a NaN is neither before
/// nor after any other element, so that the result would depend on the sorting algorithm.
pub(super) fn order(op: OpRef<'_>) -> Option<Body> {
    let body = comparing_body(op, 0, op.operands().len())?;
    let ordered = body.insts.iter().all(|inst| match inst {
        Inst::Op { op: ScalarOp::Compare(by), args, .. } => {
            matches!(by, Comparison::Eq | Comparison::Ne) || !body.arg_type(args[0]).is_float()
        }
        _ => true,
    });
    ordered.then_some(body)
}
