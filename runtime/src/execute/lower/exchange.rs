//! Runs an all_to_all whose pieces are only combined as one reduction of the members' shards: each device reads its
//! part of every other operand once, and the pieces are never written.

use dialect::buffers::Fusion;
use dialect::collective::{Collective, CollectiveKind};
use dialect::ir::{Op, Program, Value, ValueSource};
use dialect::kernel::{Arg, Body, Index, Init, Inst, Nest};
use smallvec::smallvec;

use crate::execute::fuse::build::nest_of;

/// Merges an all_to_all and the op that combines its pieces into a reduce_scatter. Returns the combining op, the
/// operand and the reduce_scatter.
///
/// `ops` are the ops after `op` in its block, and `readers` returns the number of operands that are a given value.
pub(super) fn reduced(
    program: &Program,
    fusion: &Fusion,
    op: Op,
    ops: &[Op],
    readers: impl Fn(Value) -> usize,
) -> Option<(Op, Value, Collective)> {
    let view = program.view(op);
    let collective = view.def().collective(view).filter(|c| c.kind == CollectiveKind::AllToAll)?;
    let &[operand] = &program.op(op).operands[..] else { return None };
    let pieces = program.result(op, 0);
    let shape = &program.tensor_type(operand)?.shape;
    // The size of the concatenated dimension is 1 on each device, so after the all_to_all its elements are the pieces.
    if collective.dim == collective.concat_dim || shape.get(collective.concat_dim) != Some(&1) || readers(pieces) != 1 {
        return None;
    }
    // The reader must be the next op with a step of its own, so that no step in between overwrites the operand's
    // memory.
    let is_step = |&&other: &&Op| {
        let view = program.view(other);
        !fusion.is_folded(other) && view.def().constant(view).is_none()
    };
    let &reader = ops.iter().find(is_step)?;
    let nest = fusion.facts(reader).filter(|f| f.compiled).and_then(|_| nest_of(program, reader))?;
    let combine = nest.body.as_binary()?;
    if program.op(reader).operands.get(nest.inputs.first()?.operand) != Some(&pieces)
        || !combines(program, reader, &nest, collective.concat_dim)
    {
        return None;
    }
    let ty = nest.body.inputs[0];
    let mut body = Body { inputs: vec![ty, ty], ..Body::default() };
    let both = body.push(Inst::Op { op: combine, args: smallvec![Arg::Input(0), Arg::Input(1)], ty });
    body.results = vec![both];
    let computation = Some(body);
    Some((reader, operand, Collective { kind: CollectiveKind::ReduceScatter, computation, ..collective }))
}

/// Returns whether an op only combines the elements along one dimension of its only input.
fn combines(program: &Program, op: Op, nest: &Nest, dim: usize) -> bool {
    let ([input], [init], Some(combine)) = (&nest.inputs[..], &nest.init[..], nest.body.as_binary()) else {
        return false;
    };
    let constant = |operand: usize| match program.value_source(*program.op(op).operands.get(operand)?) {
        ValueSource::Result(maker, _) => {
            let view = program.view(maker);
            view.def().constant(view)?.splat_value()
        }
        ValueSource::Arg(..) => None,
    };
    let start = match init {
        Init::Const(value) => Some(*value),
        Init::Operand(operand) => constant(*operand),
    };
    let element = nest.body.inputs[0];
    let kept = (0..nest.parallel).map(Index::Loop);
    let mut index: Vec<Index> = kept.collect();
    if dim > index.len() {
        return false;
    }
    index.insert(dim, Index::Loop(nest.parallel));
    program.result_count(op) == 1
        && nest.loops.len() == nest.parallel + 1
        && input.guards.is_empty()
        && input.index[..] == index[..]
        && nest.body.accumulators == [element]
        && start.is_some()
        && start == combine.identity(element)
}
