//! Constraints on values inside a program: which values may have a constraint, and how constraints are inserted.

use std::collections::HashMap;

use dialect::ir::{Block, Op, Program, Value, ValueSource};
use dialect::ops::{build, sdy};
use dialect::sharding::TensorSharding;

use crate::module::main_block;

/// Returns the values inside `@main` that may have a constraint, each with the block that defines it. Values in manual
/// computations are excluded, because they are shards already.
pub(super) fn placeable(program: &Program) -> HashMap<Value, Block> {
    let mut found = HashMap::new();
    if let Some(main) = main_block(program) {
        collect(program, main, &mut found);
        program.block_args(main).iter().for_each(|argument| {
            found.remove(argument);
        });
    }
    found
}

fn collect(program: &Program, block: Block, found: &mut HashMap<Value, Block>) {
    let ranked = |&value: &Value| program.tensor_type(value).is_some_and(|ty| ty.rank() > 0 && ty.is_static());
    found.extend(program.block_args(block).iter().copied().filter(ranked).map(|value| (value, block)));
    for &op in program.block_ops(block) {
        found.extend(program.results(op).filter(ranked).map(|value| (value, block)));
        if sdy::ManualComputation::of(program.view(op)).is_none() {
            let regions = program.op(op).regions.iter();
            regions.flat_map(|&region| program.region_blocks(region)).for_each(|&b| collect(program, b, found));
        }
    }
}

/// Inserts constraints on values. All users of a value then read it through its constraint.
pub(super) fn constrain(program: &mut Program, wanted: Vec<(Value, TensorSharding)>) {
    if wanted.is_empty() {
        return;
    }
    let blocks = placeable(program);
    let mut made: HashMap<Block, HashMap<Option<Op>, Vec<Op>>> = HashMap::new();
    let mut instead: HashMap<Value, Value> = HashMap::new();
    for (value, sharding) in wanted {
        let Some(&block) = blocks.get(&value) else { continue };
        let after = match program.value_source(value) {
            ValueSource::Result(op, _) => Some(op),
            ValueSource::Arg(..) => None,
        };
        let op = build::sdy::constraint(program, value, sharding);
        instead.insert(value, program.result(op, 0));
        made.entry(block).or_default().entry(after).or_default().push(op);
    }
    // The constraints are in no block yet, so renaming doesn't change their own operands.
    program.rename(&instead.into_iter().collect());
    for (block, mut made) in made {
        let mut ops = made.remove(&None).unwrap_or_default();
        for op in program.block_ops(block).to_vec() {
            ops.push(op);
            ops.extend(made.remove(&Some(op)).unwrap_or_default());
        }
        program.set_block_ops(block, ops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::diagnostic::Diagnostics;
    use dialect::sharding::{AxisRef, DimSharding, MeshRef};

    const TEXT: &str = r#"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %0:2 = stablehlo.while(%h = %x, %i = %n) : tensor<8xf32>, tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.tanh %h : tensor<8xf32>
    stablehlo.return %2, %i : tensor<8xf32>, tensor<i32>
  }
  %3 = sdy.manual_computation(%0#0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%y: tensor<4xf32>) {
    %4 = stablehlo.tanh %y : tensor<4xf32>
    sdy.return %4 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}"#;

    fn program() -> Program {
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(TEXT, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        program
    }

    #[test]
    fn manual_computations_and_arguments_have_no_constraints() {
        let program = program();
        let found = placeable(&program);
        let mut names: Vec<String> = found.keys().map(|&value| crate::place::value_name(&program, value)).collect();
        names.sort_unstable();
        // `%h` is an argument of both regions.
        assert_eq!(names, ["%0", "%2", "%3", "%h", "%h"]);
    }

    #[test]
    fn readers_read_a_value_through_its_constraint() {
        let mut program = program();
        let main = main_block(&program).expect("@main");
        let body = program.region_block(program.block_ops(main)[0], 1).expect("a body");
        let (carried, made) = (program.block_args(body)[0], program.result(program.block_ops(body)[0], 0));
        let (mesh, x) = (MeshRef::Symbol(program.name("mesh")), program.name("x"));
        let sharding =
            TensorSharding::with_dims(mesh, [DimSharding::closed(&[AxisRef::full(x)])].into_iter().collect());
        constrain(&mut program, vec![(made, sharding.clone()), (carried, sharding)]);
        let ops = program.block_ops(body).to_vec();
        let names: Vec<&str> = ops.iter().map(|&op| program.op_name(op)).collect();
        let constraint = "sdy.sharding_constraint";
        assert_eq!(names, [constraint, "stablehlo.tanh", constraint, "stablehlo.return"]);
        assert_eq!(program.op(ops[0]).operands[..], [carried]);
        assert_eq!(program.op(ops[1]).operands[..], [program.result(ops[0], 0)]);
        assert_eq!(program.op(ops[2]).operands[..], [made]);
        assert_eq!(program.op(ops[3]).operands[0], program.result(ops[2], 0));
        let mut diagnostics = Diagnostics::default();
        dialect::verify(&program, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    }
}
