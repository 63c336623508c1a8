//! What a device needn't compute: copies in another order before and after matrix products, which read and write in any
//! order, and small values that are the same in every run.

use dialect::fold::Constants;
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, Op, Program, Uses, Value, ValueSource};
use dialect::kernel::Kernel;
use dialect::ops::build;
use rustc_hash::FxHashMap;

/// The most elements of a value that is computed now.
const FEW: usize = 16;

const DIMS: &str = "dot_dimension_numbers";

/// The fields of [`DIMS`]: batching and contracting dimensions of the left and of the right operand.
const FIELDS: [[&str; 2]; 2] = [
    ["lhs_batching_dimensions", "lhs_contracting_dimensions"],
    ["rhs_batching_dimensions", "rhs_contracting_dimensions"],
];

/// Simplifies what is under a block.
pub(super) fn simplify(program: &mut Program, block: Block) {
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
    remove_unread(program, block, &blocks);
}

/// `block` and those inside its loops and branches.
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

/// The transpose that makes a value, and its permutation.
fn transpose(program: &Program, value: Value) -> Option<(Op, Vec<i64>)> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    let is_one = program.op_name(op) == "stablehlo.transpose";
    is_one.then(|| program.view(op).ints("permutation")).flatten().map(|permutation| (op, permutation))
}

/// The batching, contracting and free dimensions of one operand of a product.
fn dims(program: &Program, op: Op, side: usize) -> [Vec<i64>; 3] {
    let view = program.view(op);
    let [batch, contracted] = FIELDS[side].map(|field| view.field_ints(DIMS, field));
    let rank = view.operand_tensor(side).map_or(0, |ty| ty.shape.len() as i64);
    let free = (0..rank).filter(|d| !batch.contains(d) && !contracted.contains(d)).collect();
    [batch, contracted, free]
}

/// Makes a product read what an operand is a transpose of, if the result stays the same; false if not.
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

/// Where `op` makes a product that only a transpose reads, and one with the operands exchanged gives its result, it becomes
/// that one; returns what it makes now, and what it made before.
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

/// Where a small value is the same in every run: appends a constant, and returns what it replaces.
fn computed(program: &mut Program, constants: &mut Constants, op: Op, ops: &mut Vec<Op>) -> Option<(Value, Value)> {
    let &[result] = &program.results(op).collect::<Vec<Value>>()[..] else { return None };
    if program.op(op).operands.is_empty() || program.tensor_type(result)?.shape.iter().product::<i64>() > FEW as i64 {
        return None;
    }
    let literal = constants.get(program, result, FEW)?;
    let loc = program.op(op).loc;
    Some((result, build::constant(&mut Builder::new(program, ops, loc), literal)))
}

/// Removes loop nests of `blocks`, all those under `block`, whose results nobody reads.
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

#[cfg(test)]
mod tests {
    use dialect::diagnostic::Diagnostics;
    use dialect::ir::TensorType;
    use dialect::literal::Literal;
    use dialect::ops::func;
    use dialect::scalar::Scalar;

    use super::super::Executable;
    use super::*;
    use crate::reference::evaluate_global;

    /// The names of the ops that are left of a function, whose results natively are those of the reference.
    fn left(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let main = func::function(&program, "main").expect("a function");
        let block = func::block(&program, main).expect("a body");
        let types: Vec<TensorType> =
            program.block_args(block).iter().map(|&v| program.tensor_type(v).expect("tensors").clone()).collect();
        let mut random = fastrand::Rng::with_seed(4);
        let inputs: Vec<Literal> =
            types.iter().map(|ty| Literal::from_fn(ty, |_| Scalar::Float(f64::from(random.i32(-9..9))))).collect();
        let want = evaluate_global(&program, &inputs).expect("evaluates");
        let mut simple = program.clone();
        simplify(&mut simple, block);
        dialect::verify(&simple, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let executable = Executable::compile(program, None).expect("compiles");
        let session = executable.session().expect("memory");
        session.set_inputs(&inputs).expect("inputs fit");
        session.run().expect("runs");
        let got = session.results();
        for (g, w) in got.iter().zip(&want) {
            for i in 0..w.len() {
                assert_eq!(g.get(i).as_f64(), w.get(i).as_f64(), "element {i}\n{text}");
            }
        }
        let names = simple.ops_under(block).into_iter().map(|op| simple.op_name(op).to_owned());
        names.filter(|name| name != "func.return").collect()
    }

    #[test]
    fn products_read_transposes_where_they_lie() {
        for (dims, contracted) in [("[1, 0]", "[1] x [0]"), ("[1, 0]", "[0] x [0]")] {
            let ops = left(&format!(
                "func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {{
                 %t = stablehlo.transpose %x, dims = {dims} : (tensor<8x8xf32>) -> tensor<8x8xf32>
                 %u = stablehlo.transpose %y, dims = {dims} : (tensor<8x8xf32>) -> tensor<8x8xf32>
                 %r = stablehlo.dot_general %t, %u, contracting_dims = {contracted} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
                 return %r : tensor<8x8xf32> }}"
            ));
            assert_eq!(ops, ["stablehlo.dot_general"]);
        }
        // Two of them, and a batch.
        let ops = left(
            "func.func @main(%x: tensor<2x5x3x4xf32>, %y: tensor<2x5x4x6xf32>) -> tensor<5x2x3x6xf32> {
             %t = stablehlo.transpose %x, dims = [3, 0, 1, 2] : (tensor<2x5x3x4xf32>) -> tensor<4x2x5x3xf32>
             %u = stablehlo.transpose %t, dims = [2, 0, 3, 1] : (tensor<4x2x5x3xf32>) -> tensor<5x4x3x2xf32>
             %r = stablehlo.dot_general %u, %y, batching_dims = [0, 3] x [1, 0], contracting_dims = [1] x [2] : (tensor<5x4x3x2xf32>, tensor<2x5x4x6xf32>) -> tensor<5x2x3x6xf32>
             return %r : tensor<5x2x3x6xf32> }",
        );
        assert_eq!(ops, ["stablehlo.dot_general"]);
    }

    #[test]
    fn free_dimensions_keep_their_order() {
        let ops = left(
            "func.func @main(%x: tensor<3x4x5xf32>, %y: tensor<5x6xf32>) -> tensor<4x3x6xf32> {
             %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<3x4x5xf32>) -> tensor<4x3x5xf32>
             %r = stablehlo.dot_general %t, %y, contracting_dims = [2] x [0] : (tensor<4x3x5xf32>, tensor<5x6xf32>) -> tensor<4x3x6xf32>
             return %r : tensor<4x3x6xf32> }",
        );
        assert_eq!(ops, ["stablehlo.transpose", "stablehlo.dot_general"]);
    }

    #[test]
    fn products_write_transposes() {
        let ops = left(
            "func.func @main(%x: tensor<7x2x4x3xf32>, %y: tensor<2x7x5x4xf32>) -> tensor<7x2x5x3xf32> {
             %r = stablehlo.dot_general %x, %y, batching_dims = [1, 0] x [0, 1], contracting_dims = [2] x [3] : (tensor<7x2x4x3xf32>, tensor<2x7x5x4xf32>) -> tensor<2x7x3x5xf32>
             %t = stablehlo.transpose %r, dims = [1, 0, 3, 2] : (tensor<2x7x3x5xf32>) -> tensor<7x2x5x3xf32>
             return %t : tensor<7x2x5x3xf32> }",
        );
        assert_eq!(ops, ["stablehlo.dot_general"]);
        // The product itself is read, too; and a transpose that isn't an exchange of operands.
        let ops = left(
            "func.func @main(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>) {
             %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
             %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
             return %t, %r : tensor<5x3xf32>, tensor<3x5xf32> }",
        );
        assert_eq!(ops, ["stablehlo.dot_general", "stablehlo.transpose"]);
        let ops = left(
            "func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) -> tensor<3x2x5xf32> {
             %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
             %t = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
             return %t : tensor<3x2x5xf32> }",
        );
        assert_eq!(ops, ["stablehlo.dot_general", "stablehlo.transpose"]);
    }

    #[test]
    fn small_values_of_constants_are_constants() {
        let ops = left(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
             %c = stablehlo.constant dense<3> : tensor<i32>
             %f = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
             %d = stablehlo.subtract %f, %f : tensor<f32>
             %b = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<4xf32>
             %r = stablehlo.add %x, %b : tensor<4xf32>
             return %r : tensor<4xf32> }",
        );
        assert!(ops.iter().all(|op| op == "stablehlo.constant" || op == "stablehlo.add"), "{ops:?}");
    }
}
