//! Reductions of whole tensors in two stages, so that threads can share the work: first rows are reduced, then the
//! rows' results.
//!
//! The number of rows depends only on shapes. A result has the same bits on any number of threads.

use crate::ir::build::Builder;
use crate::ir::{Block, ElementClass, Op, OpRef, Program, Value};
use crate::ops::build::{self, region};
use crate::ops::stablehlo::reduction::ReduceDims;
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::reduction_op;
use rustc_hash::FxHashMap;

/// The largest number of results of a reduction that is divided; one with more results can be divided by them.
const FEW: i64 = 8;
/// The smallest number of elements per result for which a second kernel pays off.
const LARGE: i64 = 1 << 16;
/// The smallest and the largest number of rows.
const ROWS: std::ops::RangeInclusive<i64> = 4..=64;

/// Splits such reductions in these blocks. Returns the original op of each op that it writes.
pub(super) fn in_stages(program: &mut Program, blocks: &[Block]) -> FxHashMap<Op, Op> {
    let mut written = FxHashMap::default();
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for &inner in blocks {
        let old = program.block_ops(inner).to_vec();
        let mut ops = Vec::with_capacity(old.len());
        for op in old {
            match Rows::of(program.view(op)) {
                Some(rows) => {
                    let (whole, before) = (program.result(op, 0), ops.len());
                    renamed.insert(whole, rows.write(program, &mut ops, op));
                    written.extend(ops[before..].iter().map(|&stage| (stage, op)));
                }
                None => ops.push(op),
            }
        }
        program.set_block_ops(inner, ops);
    }
    program.rename(&renamed);
    written
}

/// The division of a reduction into rows.
struct Rows {
    dims: ReduceDims,
    operation: ScalarOp,
    /// The initial value of a row: the operation's identity.
    nothing: Scalar,
    /// The reduced dimension that is divided.
    dim: usize,
    /// The number of rows.
    count: i64,
}

impl Rows {
    fn of(op: OpRef<'_>) -> Option<Self> {
        let dims = ReduceDims::of(op).filter(|dims| dims.inputs == 1)?;
        let operation = reduction_op(op.def().reduction(op)?);
        let ty = op.operand_tensor(0).filter(|ty| ty.is_static())?;
        let results: i64 = dims.kept.iter().map(|&d| ty.shape[d]).product();
        // A sum in a narrow type is rounded once, at its end.
        let exact = ty.element.class() != ElementClass::Float || ty.element.bytes() >= 4 || operation != ScalarOp::Add;
        let same = op.result_tensor(0)?.element == ty.element;
        let each: i64 = dims.reduced.iter().map(|&d| ty.shape[d]).product();
        if !exact || !same || !(1..=FEW).contains(&results) || each < LARGE {
            return None;
        }
        let nothing = operation.identity(ty.element)?;
        let most = |size: i64| ROWS.rev().find(|count| size % count == 0);
        let (dim, count) = dims.reduced.iter().find_map(|&d| Some((d, most(ty.shape[d])?)))?;
        Some(Self { dims, operation, nothing, dim, count })
    }

    /// Appends both stages to `ops`, and returns the result of the second one.
    fn write(self, program: &mut Program, ops: &mut Vec<Op>, op: Op) -> Value {
        let Self { dims, operation, nothing, dim, count } = self;
        let loc = program.op(op).loc;
        let (mut x, init) = (program.op(op).operands[0], program.op(op).operands[1]);
        let b = &mut Builder::new(program, ops, loc);
        let ty = b.tensor(x).clone();
        let mut shape = ty.shape.to_vec();
        let mut within: Vec<i64> = dims.reduced.iter().filter(|&&d| d != dim).map(|&d| d as i64).collect();
        if shape[dim] > count {
            shape[dim] /= count;
            shape.insert(dim, count);
            x = build::shape::reshape(b, x, &shape);
            within.iter_mut().filter(|d| **d > dim as i64).for_each(|d| *d += 1);
            within.push(dim as i64 + 1);
            within.sort_unstable();
        }
        let nothing = build::scalar(b, ty.element, nothing);
        let rows = region::reduce(b, x, nothing, &within, operation);
        let place = dims.kept.iter().filter(|&&d| d < dim).count();
        region::reduce(b, rows, init, &[place as i64], operation)
    }
}
