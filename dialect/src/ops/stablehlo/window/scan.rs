//! Scans: a `reduce_window` whose windows cover everything before an element, or everything after it, such as
//! cumulative sums and maxima.
//!
//! In steps, the dimension is split into parts, one for each shard, and each part is scanned independently. The last
//! element of a part is its total; a scan over the totals, shifted by one, is the combination of everything before each
//! part, and is combined with every element of the part.

use super::reduce_window::{ReduceWindow, elements};
use super::{WindowDim, padding_attr};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, ElementType, Op, OpRef, Renaming, Value};
use crate::kernel::Body;
use crate::op::{Like, Steps, Surroundings};
use crate::ops::build;
use crate::ops::stablehlo::reduction::without_accumulators;
use crate::ops::support::combiner::{combiner, combining_body};
use crate::ops::support::constraint::{is_static, splat_operand};
use crate::scalar::{Scalar, ScalarOp};

/// A window that covers and reads one element.
const PLAIN: WindowDim =
    WindowDim { size: 1, stride: 1, low: 0, high: 0, base_dilation: 1, window_dilation: 1, reversed: false };

/// The combination of the elements along one dimension by a scan.
struct Scan {
    /// The scanned dimension.
    dim: usize,
    /// Whether each element is combined with all elements after it instead of all before it.
    backward: bool,
    /// The combination; takes the elements, then the accumulators.
    body: Body,
}

impl Scan {
    /// Returns the scan that `op` is; `None` if it isn't a scan, or if combining initial values more than once may
    /// change its results.
    fn of(op: OpRef<'_>) -> Option<Self> {
        let (windows, n) = ReduceWindow::check(op).ok().filter(|_| is_static(op))?;
        let dim = windows.iter().position(|window| !window.is_plain())?;
        let size = *op.operand_tensor(0)?.shape.get(dim)?;
        let reaching = |low: i64, high: i64| WindowDim { size, low, high, ..PLAIN };
        let backward = match windows[dim] {
            window if window == reaching(size - 1, 0) => false,
            window if window == reaching(0, size - 1) => true,
            _ => return None,
        };
        let types = elements(op, n);
        let body = combining_body(op, 0, &types)?;
        let inits = (n..2 * n).map(|i| splat_operand(op, i)).collect::<Option<Vec<Scalar>>>()?;
        let others = windows.iter().enumerate().all(|(d, window)| d == dim || window.is_plain());
        if !others || body.inputs != body.accumulators || !is_neutral(op, &body, &types, &inits) {
            return None;
        }
        Some(Self { dim, backward, body: without_accumulators(body) })
    }

    /// Builds `op` over the windows of this scan along `dim` of `values`, which has `size` elements. If `exclusive`, an
    /// element isn't combined with itself.
    fn build(
        &self,
        b: &mut Builder<'_>,
        op: Op,
        values: &[Value],
        (dim, size): (usize, i64),
        exclusive: bool,
    ) -> Vec<Value> {
        let rank = b.tensor(values[0]).rank();
        let (far, near) = if exclusive { (size, -1) } else { (size - 1, 0) };
        let (low, high) = if self.backward { (near, far) } else { (far, near) };
        let mut windows = vec![PLAIN; rank];
        windows[dim] = WindowDim { size, low, high, ..PLAIN };
        let sizes: Vec<i64> = windows.iter().map(|w| w.size).collect();
        let copy = b.program.clone_op(op, &mut Renaming::default());
        let copy = b.program.op(copy).clone();
        let operands = [values, &copy.operands[values.len()..]].concat();
        let (padding, sizes) = (padding_attr(b.program, &windows), b.program.attr_i64s(&sizes));
        b.inferred(&ReduceWindow, &operands, &[("padding", padding), ("window_dimensions", sizes)], &copy.regions)
    }
}

/// Returns whether combining `inits` any number of times, on either side, gives the same as combining them once. The
/// specification requires the region to be associative.
fn is_neutral(op: OpRef<'_>, body: &Body, types: &[ElementType], inits: &[Scalar]) -> bool {
    is_neutral_for(combiner(op, 0, types.len()), body, types, inits)
}

/// Returns whether `inits` are neutral for a body that takes elements, then accumulators; `single` is its operation, if
/// it consists of only one.
pub fn is_neutral_for(single: Option<ScalarOp>, body: &Body, types: &[ElementType], inits: &[Scalar]) -> bool {
    let n = types.len();
    match single {
        // Combining a limit twice gives the same result.
        Some(ScalarOp::Max | ScalarOp::Min | ScalarOp::And | ScalarOp::Or) => true,
        Some(op) => types.iter().zip(inits).all(|(&ty, &init)| op.identity(ty) == Some(init)),
        None => {
            let neutral = |values: &[Scalar]| body.eval(values, inits) == values && body.eval(inits, values) == values;
            let mut samples = (0..SAMPLES.len())
                .map(|at| (0..n).map(|i| sample(types[i], SAMPLES[(at + i) % SAMPLES.len()])).collect::<Vec<Scalar>>());
            neutral(inits) && samples.all(|values| neutral(&values))
        }
    }
}

/// The elements on which a combiner of several operations is tested.
const SAMPLES: [f64; 10] = [0.0, 1.0, -1.0, 2.5, -3.25, 17.0, -100.0, 1e4, f64::INFINITY, f64::NEG_INFINITY];

/// Returns a sample as an element of type `ty`.
fn sample(ty: ElementType, value: f64) -> Scalar {
    let value = match ty.class() {
        ElementClass::Float => Scalar::Float(value),
        ElementClass::Complex => Scalar::Complex(value, 1.0),
        _ => Scalar::Int(value as i64 as i128),
    };
    value.round(ty)
}

/// See [`OpDef::in_steps`](crate::op::OpDef::in_steps).
pub(super) fn in_steps(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let scan = Scan::of(b.program.view(op))?;
    let (dim, n) = (scan.dim, b.program.result_count(op));
    let operands = b.program.op(op).operands.to_vec();
    let shards = |value: Value| Some((value, *around.shards(b.program, value).get(dim)?));
    let (of, parts) = [operands[0], b.program.result(op, 0)].into_iter().filter_map(shards).find(|s| s.1 > 1)?;
    let shape = b.tensor(operands[0]).shape.to_vec();
    let (size, rows) = (shape[dim], (shape[dim] + parts - 1) / parts);
    if rows < 2 {
        return None;
    }
    let (mut rounded_up, mut split) = (shape.clone(), shape);
    rounded_up[dim] = parts * rows;
    split.splice(dim..=dim, [parts, rows]);
    let all: Vec<i64> = (0..split.len() as i64).collect();
    let mut edge = vec![0; rounded_up.len()];
    edge[dim] = parts * rows - size;
    let none = vec![0; edge.len()];

    let start = b.ops.len();
    let whole: Vec<Value> = match edge[dim] {
        0 => operands[..n].to_vec(),
        _ => (0..n).map(|i| build::shape::pad(b, operands[i], operands[n + i], &none, &edge, &none)).collect(),
    };
    let pieces: Vec<Value> = whole.iter().map(|&v| build::shape::reshape(b, v, &split)).collect();
    let local = scan.build(b, op, &pieces, (dim + 1, rows), false);
    let last = if scan.backward { 0 } else { rows - 1 };
    let totals: Vec<Value> = local.iter().map(|&v| build::shape::slice_dim(b, v, dim + 1, last, last + 1)).collect();
    let before = scan.build(b, op, &totals, (dim, parts), true);
    let before: Vec<Value> = before.iter().map(|&v| build::shape::broadcast_in_dim(b, v, &split, &all)).collect();
    let (accumulators, added) = if scan.backward { (&local, &before) } else { (&before, &local) };
    let finished = build::body(b, &scan.body, &[&added[..], accumulators].concat(), &split)?;
    let joined: Vec<Value> = finished.iter().map(|&v| build::shape::reshape(b, v, &rounded_up)).collect();
    let made: Vec<Value> = b.ops[start..].iter().flat_map(|&op| b.program.results(op)).collect();
    let results = match edge[dim] {
        0 => joined,
        _ => joined.iter().map(|&v| build::shape::slice_dim(b, v, dim, 0, size)).collect(),
    };
    // A part is a shard: split values are sharded along the parts, all others along the whole dimension.
    let mut dims: Vec<Vec<usize>> = (0..rounded_up.len()).map(|d| vec![d]).collect();
    let whole = dims.clone();
    dims.insert(dim + 1, Vec::new());
    let like = |value: Value| {
        let rank = b.tensor(value).rank();
        let dims = [&whole, &dims].into_iter().find(|dims| dims.len() == rank && !results.contains(&value))?;
        Some((value, Like { of, dims: dims.clone() }))
    };
    let made = made.into_iter().filter_map(like).collect();
    Some(Steps { made, results })
}
