//! Sorting along a sharded dimension without gathering it, after Leighton's columnsort: every device sorts its shard
//! and deals the elements out to all devices like cards; these sort the elements they received and send a consecutive
//! stretch of them back to each shard.
//!
//! Take any threshold. The devices' hands differ by at most one element below the threshold for each shard that was
//! dealt, so after the stretches are put together, elements that are still on the wrong side of the threshold are
//! within `n * n` places around it, for `n` shards. After one more sort of each shard, only the ends of adjacent shards
//! can be out of order: devices send each other `n * n` elements from their ends, and sort those again. The steps don't
//! depend on the elements, which is why shapes are static; two shards are sent per device instead of all shards.
//!
//! This isn't stable: if equal elements are distinguishable, their positions are sorted along as the last key. A
//! dimension that doesn't divide evenly is padded at the end of each shard by elements after all others, which are
//! recognized by their positions.

use super::Sort;
use super::steps::{order, stable_sort};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Program, Region, Ty, Value, ValueSource};
use crate::kernel::{Arg, Body, Inst};
use crate::op::{CollectiveKind, Like, OpDef, Steps, Surroundings};
use crate::ops::build;
use crate::ops::stablehlo::constant::IOTA;
use crate::ops::stablehlo::control;
use crate::ops::support::constraint::is_static;
use crate::scalar::{Comparison, Scalar, ScalarOp};

/// Sorts values together along a dimension.
type SortAlong<'a> = dyn Fn(&mut Builder<'_>, &[Value], usize) -> Vec<Value> + 'a;

/// See [`OpDef::in_steps`].
pub(super) fn in_steps(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let view = b.program.view(op);
    let dim = Sort::dim(view).filter(|_| is_static(view))?;
    let less = order(view).filter(is_strict)?;
    let operands = view.operands().to_vec();
    let plan = Columns::of(view, dim, &less, around)?;
    if plan.seconds(b.program, &operands, around) >= gathering(b.program, &operands, dim, plan.shards, around) {
        return None;
    }
    Some(plan.build(b, &operands, &less))
}

/// Returns whether no element is before an equal one.
fn is_strict(less: &Body) -> bool {
    use Comparison::{Eq, Gt, Lt, Ne};
    less.insts.iter().all(|inst| match inst {
        Inst::Op { op: ScalarOp::Compare(by) | ScalarOp::CompareTotal(by), .. } => matches!(by, Lt | Gt | Eq | Ne),
        _ => true,
    })
}

/// Returns whether elements are the same, bit for bit, if neither is before the other.
fn tells_apart(less: &Body, operands: usize) -> bool {
    let [Inst::Op { op, args, .. }] = &less.insts[..] else { return false };
    let exact = match op {
        ScalarOp::Compare(_) => !less.arg_type(args[0]).is_float(),
        ScalarOp::CompareTotal(_) => true,
        _ => false,
    };
    let both = matches!(args[..], [Arg::Input(0), Arg::Input(1)] | [Arg::Input(1), Arg::Input(0)]);
    exact && both && operands == 1 && less.results == [Arg::Inst(0)]
}

/// Returns the bytes of an element of `value`.
fn element_bytes(program: &Program, value: Value) -> f64 {
    program.tensor_type(value).map_or(0.0, |ty| ty.element.bytes() as f64)
}

/// Returns the number of elements of `value` on a device.
fn local_elements(program: &Program, value: Value, around: &dyn Surroundings) -> f64 {
    let Some(ty) = program.tensor_type(value) else { return 0.0 };
    let sizes = ty.shape.iter().zip(around.shards(program, value)).map(|(n, shards)| (n + shards - 1) / shards);
    sizes.map(|n| n as f64).product()
}

/// Returns whether `value` is an iota along `dim`, in a type that can represent all positions.
fn counts(program: &Program, value: Value, dim: usize) -> bool {
    let ValueSource::Result(maker, _) = program.value_source(value) else { return false };
    let (view, ty) = (program.view(maker), program.tensor_type(value));
    let wide = |element| matches!(element, ElementType::I32 | ElementType::UI32 | ElementType::I64 | ElementType::UI64);
    view.name() == IOTA.name() && view.int("iota_dimension") == Some(dim as i64) && ty.is_some_and(|t| wide(t.element))
}

/// Returns the seconds of gathering the operands, after which every device sorts all of them. Positions needn't be
/// sent.
fn gathering(program: &Program, operands: &[Value], dim: usize, shards: i64, around: &dyn Surroundings) -> f64 {
    let sent = operands.iter().copied().filter(|&v| !(0..rank(program, v)).any(|d| counts(program, v, d)));
    let elements = local_elements(program, operands[0], around);
    let seconds = |v: Value| {
        let bytes = element_bytes(program, v) * elements;
        around.seconds(program, CollectiveKind::AllGather, (operands[0], dim), (bytes, bytes * shards as f64))
    };
    sent.map(seconds).sum()
}

fn rank(program: &Program, value: Value) -> usize {
    program.tensor_type(value).map_or(0, |ty| ty.rank())
}

/// The parameters of a sort in columns.
struct Columns {
    dim: usize,
    /// The number of elements sorted together.
    size: i64,
    /// The number of columns: one for each shard.
    shards: i64,
    /// The number of elements in a column, without and with padding.
    rows: (i64, i64),
    /// The number of elements that are sorted again at the ends of columns.
    end: i64,
    positions: Positions,
}

/// The positions that distinguish equal elements.
enum Positions {
    /// No positions are needed.
    None,
    /// This operand has the positions.
    Operand(usize),
    /// The positions are added as an operand of this type.
    Added(ElementType),
}

impl Columns {
    fn of(op: OpRef<'_>, dim: usize, less: &Body, around: &dyn Surroundings) -> Option<Self> {
        let operands = op.operands();
        let shape = &op.operand_tensor(0)?.shape;
        let size = shape[dim];
        let shards = around.shards(op.program, operands[0]);
        let n = shards[dim];
        let read = |v: &Value| !around.read(op.program, *v, dim).is_empty();
        let wanted = |v: Value| around.shards(op.program, v)[dim] == n;
        if n < 2 || !op.results().filter(read).all(wanted) {
            return None;
        }
        // If other dimensions can be sharded instead, elements that are sorted together are on one device.
        let takes_all = |d: usize| d != dim && shape[d] % (shards[d] * n) == 0;
        if (0..shape.len()).any(takes_all) {
            return None;
        }
        let given = (size + n - 1) / n;
        let rows = (given, (given + n - 1) / n * n);
        let filled = n.checked_mul(rows.1)? != size;
        let counted = operands.iter().position(|&v| counts(op.program, v, dim));
        let positions = match counted {
            Some(i) => Positions::Operand(i),
            None if tells_apart(less, operands.len()) && !filled => Positions::None,
            None if size <= i32::MAX.into() => Positions::Added(ElementType::I32),
            None => Positions::Added(ElementType::I64),
        };
        let this = Self { dim, size, shards: n, rows, end: n * n, positions };
        (2 * this.end <= rows.1).then_some(this)
    }

    /// Returns whether columns have padding.
    fn is_filled(&self) -> bool {
        self.shards * self.rows.1 != self.size
    }

    /// Returns the seconds of communication.
    fn seconds(&self, program: &Program, operands: &[Value], around: &dyn Surroundings) -> f64 {
        let added = match self.positions {
            Positions::Added(ty) => Some(ty.bytes() as f64),
            _ => None,
        };
        let filled = self.rows.1 as f64 / self.rows.0 as f64;
        let elements = local_elements(program, operands[0], around) * filled;
        let ends = elements * (self.end as f64 / self.rows.1 as f64);
        // Padding is removed again, so each shard then begins earlier, by up to as many elements.
        let times = if self.is_filled() { 3.0 } else { 2.0 };
        let seconds = |kind, bytes| around.seconds(program, kind, (operands[0], self.dim), (bytes, bytes));
        let one = |bytes: f64| {
            2.0 * seconds(CollectiveKind::AllToAll, bytes * elements)
                + times * seconds(CollectiveKind::CollectivePermute, bytes * ends)
        };
        operands.iter().map(|&v| element_bytes(program, v)).chain(added).map(one).sum()
    }

    fn build(&self, b: &mut Builder<'_>, operands: &[Value], less: &Body) -> Steps {
        let start = b.ops.len();
        let (dim, n, (given, rows)) = (self.dim, self.shards, self.rows);
        let shape = b.tensor(operands[0]).shape.to_vec();
        let with = |sizes: &[i64]| {
            let mut shape = shape.clone();
            shape.splice(dim..=dim, sizes.iter().copied());
            shape
        };
        let mut values = operands.to_vec();
        let by = match self.positions {
            Positions::None => None,
            Positions::Operand(i) => Some(i),
            Positions::Added(ty) => {
                values.push(build::iota(b, ty, &with(&[n * given]), dim));
                Some(operands.len())
            }
        };
        for (i, value) in values.iter_mut().enumerate() {
            // Padding has positions past the end.
            let element = b.tensor(*value).element;
            let fill = if by == Some(i) { Scalar::Int(self.size.into()) } else { Scalar::zero(element) };
            *value = filled(b, *value, dim, n * given, fill);
            *value = build::shape::reshape(b, *value, &with(&[n, given]));
            *value = filled(b, *value, dim + 1, rows, fill);
        }
        let sort = |b: &mut Builder<'_>, values: &[Value], dim: usize| {
            let types: Vec<ElementType> = values.iter().map(|&v| b.tensor(v).element).collect();
            let region = self.comparator(b, less, &types, by);
            stable_sort(b, values, dim, region)
        };
        let rank = shape.len() as i64;
        let order = |moved: [i64; 3]| -> Vec<i64> {
            (0..dim as i64).chain(moved.map(|d| d + dim as i64)).chain(dim as i64 + 3..rank + 2).collect()
        };
        values = sort(b, &values, dim + 1);
        // Deal the elements out.
        for value in &mut values {
            *value = build::shape::reshape(b, *value, &with(&[n, rows / n, n]));
            *value = build::shape::transpose(b, *value, &order([2, 0, 1]));
            *value = build::shape::reshape(b, *value, &with(&[n, rows]));
        }
        values = sort(b, &values, dim + 1);
        // Put the stretches together.
        for value in &mut values {
            *value = build::shape::reshape(b, *value, &with(&[n, n, rows / n]));
            *value = build::shape::transpose(b, *value, &order([1, 2, 0]));
            *value = build::shape::reshape(b, *value, &with(&[n, rows]));
        }
        values = sort(b, &values, dim + 1);
        values = self.join_ends(b, &values, &sort);
        values.truncate(operands.len());
        let mut joined: Vec<Value> = values.iter().map(|&v| build::shape::reshape(b, v, &with(&[n * rows]))).collect();
        let made: Vec<Value> = b.ops[start..].iter().flat_map(|&op| b.program.results(op)).collect();
        if self.is_filled() {
            joined.iter_mut().for_each(|v| *v = build::shape::slice_dim(b, *v, dim, 0, self.size));
        }
        // A column is a shard.
        let whole: Vec<Vec<usize>> = (0..shape.len()).map(|d| vec![d]).collect();
        let like = |value: Value| {
            let rank = b.tensor(value).rank();
            if joined.contains(&value) || rank < shape.len() {
                return None;
            }
            let mut dims = whole.clone();
            dims.splice(dim + 1..dim + 1, vec![Vec::new(); rank - shape.len()]);
            Some((value, Like { of: operands[0], dims }))
        };
        let made = made.into_iter().filter_map(like).collect();
        Steps { made, results: joined }
    }

    /// Builds the columns `values` with the ends of adjacent columns sorted together.
    fn join_ends(&self, b: &mut Builder<'_>, values: &[Value], sort: &SortAlong<'_>) -> Vec<Value> {
        let (column, row, end, rows) = (self.dim, self.dim + 1, self.end, self.rows.1);
        let (mut heads, mut tails) = (Vec::new(), Vec::new());
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for &value in values {
            let head = build::shape::slice_dim(b, value, row, 0, end);
            let tail = build::shape::slice_dim(b, value, row, rows - end, rows);
            let (before, after) = (shifted(b, tail, column, 1), shifted(b, head, column, -1));
            upper.push(build::shape::concatenate(b, &[before, head], row));
            lower.push(build::shape::concatenate(b, &[tail, after], row));
            heads.push(head);
            tails.push(tail);
        }
        let (upper, lower) = (sort(b, &upper, row), sort(b, &lower, row));
        let shape = b.tensor(heads[0]).shape.to_vec();
        let number = build::iota(b, ElementType::I32, &shape, column);
        let [first, last] = [0, self.shards - 1].map(|at| {
            let at = build::splat(b, ElementType::I32, &shape, Scalar::Int(at.into()));
            build::compare(b, Comparison::Eq, number, at)
        });
        let mut joined = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            let head = build::shape::slice_dim(b, upper[i], row, end, 2 * end);
            let tail = build::shape::slice_dim(b, lower[i], row, 0, end);
            let head = build::select(b, first, heads[i], head);
            let tail = build::select(b, last, tails[i], tail);
            let middle = build::shape::slice_dim(b, value, row, end, rows - end);
            joined.push(build::shape::concatenate(b, &[head, middle, tail], row));
        }
        joined
    }

    /// Builds `less` on elements of these types, then by the positions in operand `by`.
    fn comparator(&self, b: &mut Builder<'_>, less: &Body, types: &[ElementType], by: Option<usize>) -> Region {
        let pairs: Vec<Ty> = types.iter().flat_map(|&ty| [b.program.tensor(&[], ty); 2]).collect();
        b.region(&pairs, |b, args| {
            let holds = |b: &mut Builder<'_>, args: &[Value]| {
                build::body(b, less, args, &[]).expect("a comparator computes its result from its arguments")[0]
            };
            let mut before = holds(b, args);
            if let Some(by) = by {
                let swapped: Vec<Value> = args.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
                let after = holds(b, &swapped);
                let same = build::not(b, after);
                let (left, right) = (args[2 * by], args[2 * by + 1]);
                let earlier = build::compare(b, Comparison::Lt, left, right);
                let earlier = build::and(b, same, earlier);
                before = build::or(b, before, earlier);
                if self.is_filled() {
                    let end = build::scalar(b, types[by], Scalar::Int(self.size.into()));
                    let is_there = build::compare(b, Comparison::Lt, left, end);
                    let other_is_not = build::compare(b, Comparison::Ge, right, end);
                    before = build::or(b, before, other_is_not);
                    before = build::and(b, is_there, before);
                }
            }
            b.op(&control::RETURN, &[before], &[], &[]);
        })
    }
}

/// Builds `value` with dimension `dim` padded to `size`.
fn filled(b: &mut Builder<'_>, value: Value, dim: usize, size: i64, fill: Scalar) -> Value {
    let ty = b.tensor(value).clone();
    let mut high = vec![0; ty.rank()];
    high[dim] = size - ty.shape[dim];
    if high[dim] == 0 {
        return value;
    }
    let (fill, none) = (build::scalar(b, ty.element, fill), vec![0; ty.rank()]);
    build::shape::pad(b, value, fill, &none, &high, &none)
}

/// Builds `value` shifted by `by` positions along `dim`, with the same size and zeros after it.
fn shifted(b: &mut Builder<'_>, value: Value, dim: usize, by: i64) -> Value {
    let ty = b.tensor(value).clone();
    let (mut low, mut high, none) = (vec![0; ty.rank()], vec![0; ty.rank()], vec![0; ty.rank()]);
    (low[dim], high[dim]) = (by, -by);
    let zero = build::scalar(b, ty.element, Scalar::zero(ty.element));
    build::shape::pad(b, value, zero, &low, &high, &none)
}
