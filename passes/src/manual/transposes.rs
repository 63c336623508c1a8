//! Moves transposes before the reduce_scatters whose results they read.
//!
//! A gradient is a product that is added up over devices and transposed to the shape of its weights. XLA fuses a
//! transpose into a product before it; a transpose after a collective is a copy, with a separate kernel to compile and
//! run.

use dialect::buffers::Facts;
use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, OpRef, Program, Uses, Value, ValueSource};
use dialect::kernel::{Index, Kernel};
use dialect::op::CollectiveKind;
use dialect::ops::build;
use rustc_hash::{FxHashMap, FxHashSet};

const SCATTERED: &str = "scatter_dimension";

/// Transposes products before they are scattered, where a transpose is the only user of the scattered value.
pub(super) fn before_scatters(program: &mut Program, block: Block) {
    let uses = Uses::of(program, block);
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(block) {
        let old = program.block_ops(block).to_vec();
        let here: FxHashSet<Op> = old.iter().copied().collect();
        let mut gone: FxHashSet<Op> = FxHashSet::default();
        let mut ops = Vec::with_capacity(old.len());
        for op in old {
            if gone.contains(&op) {
                continue;
            }
            if let Some((reader, permutation)) = transposed(program, &uses, op).filter(|t| here.contains(&t.0))
                && let Some(before) = program.view(op).int(SCATTERED)
                && let Some(after) = permutation.iter().position(|&dim| dim == before)
            {
                let (product, loc) = (program.op(op).operands[0], program.op(reader).loc);
                let product = build::shape::transpose(&mut Builder::new(program, &mut ops, loc), product, &permutation);
                program.op_mut(op).operands[0] = product;
                let after = program.attr_i64(after as i64);
                program.set_attr(op, SCATTERED, after);
                let (result, wanted) = (program.result(op, 0), program.result(reader, 0));
                program.set_value_type(result, program.value_type(wanted));
                renamed.insert(wanted, result);
                gone.insert(reader);
            }
            ops.push(op);
        }
        program.set_block_ops(block, ops);
    }
    program.rename(&renamed);
}

/// If `op` scatters a product without other users, and a transpose is the only user of its result, returns the
/// transpose and its permutation.
fn transposed(program: &Program, uses: &Uses, op: Op) -> Option<(Op, Vec<i64>)> {
    let view = program.view(op);
    let scatters = view.def().collective(view).is_some_and(|c| c.kind == CollectiveKind::ReduceScatter);
    let &[operand] = &program.op(op).operands[..] else { return None };
    let ValueSource::Result(maker, _) = program.value_source(operand) else { return None };
    let maker = program.view(maker);
    if !scatters || uses.get(operand).len() != 1 || maker.def().flops(maker) == 0.0 {
        return None;
    }
    let &[(reader, _)] = uses.get(program.result(op, 0)) else { return None };
    Some((reader, permutation(program.view(reader))?))
}

/// Returns for each dimension of the result the operand's dimension, if an op only exchanges dimensions.
fn permutation(op: OpRef<'_>) -> Option<Vec<i64>> {
    let (from, to) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    if !Facts::of(op)?.copies || from.element != to.element || from.rank() != to.rank() {
        return None;
    }
    let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
    let [input] = &nest.inputs[..] else { return None };
    let mut permutation = vec![None; to.rank()];
    for (dim, at) in input.index.iter().enumerate() {
        let Index::Loop(result) = at else { return None };
        *permutation.get_mut(*result)? = Some(dim as i64);
    }
    permutation.into_iter().collect::<Option<Vec<i64>>>().filter(|_| input.guards.is_empty())
}
