//! Removal of work that a device needn't do: transposes before and after matrix products, which read and write in any
//! order, and small values that are the same in every run. Also splits reductions of whole tensors.

use crate::fold::Constants;
use crate::ir::build::Builder;
use crate::ir::{AttrData, Block, Op, Program, Uses, Value, ValueSource};
use crate::kernel::Kernel;
use crate::ops::build;
use rustc_hash::FxHashMap;

use super::stages::in_stages;

/// The largest number of elements of a value that is computed at compile time.
const FEW: usize = 16;

const DIMS: &str = "dot_dimension_numbers";

/// The fields of [`DIMS`]: batching and contracting dimensions of the left and of the right operand.
const FIELDS: [[&str; 2]; 2] = [
    ["lhs_batching_dimensions", "lhs_contracting_dimensions"],
    ["rhs_batching_dimensions", "rhs_contracting_dimensions"],
];

/// Simplifies the ops under a block, before memory is planned and before a step is priced. Returns the original op of
/// each op that it writes.
pub fn simplify(program: &mut Program, block: Block) -> FxHashMap<Op, Op> {
    for op in program.ops_under(block) {
        if is_product(program, op) {
            (0..2).for_each(|side| while read_through(program, op, side) {});
        }
    }
    let uses = Uses::of(program, block);
    let mut constants = Constants::default();
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    let blocks = blocks(program, block);
    for &inner in &blocks {
        let old = program.block_ops(inner).to_vec();
        let mut ops = Vec::with_capacity(old.len());
        for op in old {
            let before = ops.len();
            renamed.extend(turn(program, &uses, op).or_else(|| computed(program, &mut constants, op, &mut ops)));
            if ops.len() == before {
                ops.push(op);
            }
        }
        program.set_block_ops(inner, ops);
    }
    program.rename(&renamed);
    let written = in_stages(program, &blocks);
    remove_unread(program, block, &blocks);
    written
}

/// Returns `block` and the blocks inside its loops and branches.
fn blocks(program: &Program, block: Block) -> Vec<Block> {
    let mut found = vec![block];
    let mut next = 0;
    while let Some(&open) = found.get(next) {
        for &op in program.block_ops(open) {
            let view = program.view(op);
            if view.def().control(view).is_some() {
                found.extend(program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)));
            }
        }
        next += 1;
    }
    found
}

fn is_product(program: &Program, op: Op) -> bool {
    program.op_name(op) == "stablehlo.dot_general"
}

/// Returns the transpose that produces a value, and its permutation.
fn transpose(program: &Program, value: Value) -> Option<(Op, Vec<i64>)> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    let is_one = program.op_name(op) == "stablehlo.transpose";
    is_one.then(|| program.view(op).ints("permutation")).flatten().map(|permutation| (op, permutation))
}

/// Returns the batching, contracting and free dimensions of one operand of a product.
fn dims(program: &Program, op: Op, side: usize) -> [Vec<i64>; 3] {
    let view = program.view(op);
    let [batch, contracted] = FIELDS[side].map(|field| view.field_ints(DIMS, field));
    let rank = view.operand_tensor(side).map_or(0, |ty| ty.shape.len() as i64);
    let free = (0..rank).filter(|d| !batch.contains(d) && !contracted.contains(d)).collect();
    [batch, contracted, free]
}

/// Makes a product read the operand of a transpose in place of its result, if the product stays the same; returns false
/// if it can't.
fn read_through(program: &mut Program, op: Op, side: usize) -> bool {
    let Some((moved, permutation)) = transpose(program, program.op(op).operands[side]) else { return false };
    let [batch, contracted, free] =
        dims(program, op, side).map(|dims| dims.into_iter().map(|d| permutation[d as usize]).collect::<Vec<i64>>());
    // The result has the free dimensions in the operand's order.
    if !free.is_sorted() {
        return false;
    }
    let [other_batch, other_contracted, _] = dims(program, op, 1 - side);
    let mut both: [[&[i64]; 2]; 2] = [[&batch, &contracted], [&other_batch, &other_contracted]];
    both.rotate_right(side);
    set_dims(program, op, both);
    let source = program.op(moved).operands[0];
    program.op_mut(op).operands[side] = source;
    true
}

/// Exchanges the operands of the product `op`, if its only user is a transpose and the exchanged product equals the
/// transpose's result. Returns the transpose's result, and the result of `op` that replaces it.
fn turn(program: &mut Program, uses: &Uses, op: Op) -> Option<(Value, Value)> {
    if !is_product(program, op) || program.view(op).attr("algorithm").is_some() {
        return None;
    }
    let result = program.result(op, 0);
    let &[(reader, 0)] = uses.get(result) else { return None };
    let moved = program.results(reader).next()?;
    let (_, permutation) = transpose(program, moved)?;
    let [left, right] = [0, 1].map(|side| dims(program, op, side));
    let (batch, rows, columns) = (left[0].len(), left[2].len(), right[2].len());
    let (around, rest) = permutation.split_at_checked(batch)?;
    let wanted = (batch + rows..batch + rows + columns).chain(batch..batch + rows);
    if around.iter().any(|&d| d as usize >= batch) || !rest.iter().map(|&d| d as usize).eq(wanted) {
        return None;
    }
    let ordered = |batch: &[i64]| around.iter().map(|&d| batch[d as usize]).collect::<Vec<i64>>();
    set_dims(program, op, [[&ordered(&right[0]), &right[1]], [&ordered(&left[0]), &left[1]]]);
    program.op_mut(op).operands.reverse();
    if let Some(AttrData::Array(precision)) = program.view(op).attr("precision_config") {
        let reversed = AttrData::Array(precision.iter().rev().copied().collect());
        let reversed = program.intern_attr(reversed);
        program.set_attr(op, "precision_config", reversed);
    }
    program.set_value_type(result, program.value_type(moved));
    Some((moved, result))
}

/// Sets the batching and contracting dimensions of both operands of a product.
fn set_dims(program: &mut Program, op: Op, [left, right]: [[&[i64]; 2]; 2]) {
    let [[lhs_batch, lhs_contracted], [rhs_batch, rhs_contracted]] = FIELDS;
    let fields = [(lhs_batch, left[0]), (rhs_batch, right[0]), (lhs_contracted, left[1]), (rhs_contracted, right[1])];
    let numbers = program.attr_struct("stablehlo.dot", &fields, &[]);
    program.set_attr(op, DIMS, numbers);
}

/// Appends a constant if the result of `op` is small and the same in every run; returns the result and its replacement.
fn computed(program: &mut Program, constants: &mut Constants, op: Op, ops: &mut Vec<Op>) -> Option<(Value, Value)> {
    let &[result] = &program.results(op).collect::<Vec<Value>>()[..] else { return None };
    if program.op(op).operands.is_empty() || program.tensor_type(result)?.shape.iter().product::<i64>() > FEW as i64 {
        return None;
    }
    let literal = constants.get(program, result, FEW)?;
    let loc = program.op(op).loc;
    Some((result, build::constant(&mut Builder::new(program, ops, loc), literal)))
}

/// Removes loop nests without used results from `blocks`, which are all those under `block`.
fn remove_unread(program: &mut Program, block: Block, blocks: &[Block]) {
    let mut readers = vec![0u32; program.value_count()];
    let all = program.ops_under(block);
    for &op in &all {
        program.op(op).operands.iter().for_each(|v| readers[v.index()] += 1);
    }
    let mut gone = rustc_hash::FxHashSet::default();
    for &op in all.iter().rev() {
        let view = program.view(op);
        let is_plain = matches!(view.def().kernel(view), Kernel::Nest(_)) && !program.op(op).operands.is_empty();
        if is_plain && program.results(op).all(|v| readers[v.index()] == 0) {
            program.op(op).operands.iter().for_each(|v| readers[v.index()] -= 1);
            gone.insert(op);
        }
    }
    for &inner in blocks {
        let left = program.block_ops(inner).iter().copied().filter(|op| !gone.contains(op)).collect();
        program.set_block_ops(inner, left);
    }
}
