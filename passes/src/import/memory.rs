//! Copies between the memory of a device and that of its host that a program leaves to others: of a result that is
//! wanted in another memory than it is in. And the order of copies and constraints.

use dialect::ir::build::Builder;
use dialect::ir::{Op, Program, Uses, Value, ValueSource};
use dialect::memory::{MemorySpace, MemorySpaces};
use dialect::op::Annotation;
use dialect::ops::{build, func};
use rustc_hash::FxHashMap;

/// Writes these copies down.
pub(super) fn state(program: &mut Program) {
    let Some(main) = func::function(program, "main") else { return };
    let spaces = MemorySpaces::of(program, main);
    results(program, main, &spaces);
    if spaces.any_on_host() {
        constrain_on_device(program, main, &spaces);
    }
}

/// Copies each result of `@main` to the memory that its attribute names.
fn results(program: &mut Program, main: Op, spaces: &MemorySpaces) {
    let Some(block) = func::block(program, main) else { return };
    let Some(last) = program.terminator(block).filter(|_| program.attr(main, func::RES_ATTRS).is_some()) else {
        return;
    };
    let returned = program.op(last).operands.to_vec();
    let wanted = |(i, &value): (usize, &Value)| {
        let space = MemorySpace::of_result(program, main, i)?;
        (space != spaces.get(value)).then_some((i, value, space))
    };
    let wanted: Vec<(usize, Value, MemorySpace)> = returned.iter().enumerate().filter_map(wanted).collect();
    if wanted.is_empty() {
        return;
    }
    let mut ops = program.block_ops(block).to_vec();
    ops.pop();
    let loc = program.op(last).loc;
    for (i, value, space) in wanted {
        let copy = build::move_to(&mut Builder::new(program, &mut ops, loc), value, space);
        program.op_mut(last).operands[i] = copy;
    }
    ops.push(last);
    program.set_block_ops(block, ops);
}

/// JAX constrains the sharding of a value and then copies it to the device. In the other order devices send each other
/// shards from their own memory, which they do faster, and XLA has no collectives in the host's.
fn constrain_on_device(program: &mut Program, main: Op, spaces: &MemorySpaces) {
    let Some(block) = func::block(program, main) else { return };
    let uses = Uses::of(program, block);
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for inner in program.blocks_under(block) {
        let mut ops = program.block_ops(inner).to_vec();
        let mut at = 0;
        while let Some(&copy) = ops.get(at) {
            at += 1;
            let Some(constraint) = constrained_before(program, spaces, &uses, copy) else { continue };
            let Some(before) = ops[..at].iter().position(|&op| op == constraint) else { continue };
            // The constraint comes after the copy now.
            ops[before..at].rotate_left(1);
            let (copied, stated) = (program.result(copy, 0), program.result(constraint, 0));
            renamed.insert(copied, stated);
            program.op_mut(copy).operands[0] = program.op(constraint).operands[0];
        }
        program.set_block_ops(inner, ops);
    }
    program.rename(&renamed);
    for (copied, stated) in renamed {
        let ValueSource::Result(constraint, _) = program.value_source(stated) else { continue };
        program.op_mut(constraint).operands[0] = copied;
    }
}

/// The constraint whose result is read by `copy` alone, which copies it to the device.
fn constrained_before(program: &Program, spaces: &MemorySpaces, uses: &Uses, copy: Op) -> Option<Op> {
    let view = program.view(copy);
    let &[operand] = view.operands() else { return None };
    let ValueSource::Result(constraint, _) = program.value_source(operand) else { return None };
    let of = program.view(constraint);
    let is_one = of.def().annotation(of) == Some(Annotation::Constraint);
    let only = uses.get(operand).len() == 1;
    (is_one && only && spaces.moved(view) == Some(MemorySpace::Device)).then_some(constraint)
}
