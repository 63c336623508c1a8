//! Turns shardings stated on inlined ops into constraints on values.

use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Op, Program, Value, ValueSource};
use dialect::ops::{func, sdy};
use dialect::sharding::{Reshard, TensorSharding};

/// Returns the shardings that the attribute `name` of `op` states.
pub(super) fn stated(program: &Program, op: Op, name: &str) -> Vec<TensorSharding> {
    match program.attr(op, name).map(|a| program.attr_data(a)) {
        Some(AttrData::ShardingPerValue(list)) => list.clone(),
        _ => Vec::new(),
    }
}

/// Returns the sharding that `op`, one of the user's collectives, expects of its operand where that is the result of an
/// inlined op, because the replacing value may be sharded differently. `is_inlined` takes the op and its result.
pub(super) fn expected_by_collective(
    program: &Program,
    op: Op,
    is_inlined: impl Fn(Op, Value) -> bool,
) -> Option<TensorSharding> {
    let view = program.view(op);
    let reshard = view.def().reshard(view).filter(|r| *r != Reshard::Identity)?;
    let &operand = view.operands().first()?;
    let ValueSource::Result(maker, i) = program.value_source(operand) else { return None };
    if !is_inlined(maker, operand) {
        return None;
    }
    let known = [func::SHARDING, sdy::OUT_SHARDINGS]
        .into_iter()
        .find_map(|name| stated(program, maker, name).get(i as usize).cloned());
    let starts = matches!(reshard, Reshard::AllSlice(_) | Reshard::AllReduce(..) | Reshard::ReduceScatter(..));
    let out = sdy::stated_sharding(view)?;
    known.or_else(|| starts.then(|| TensorSharding::replicated(out.mesh.clone(), out.rank())))
}

/// Makes `op` read its first operand through a constraint, which is appended to `ops`.
pub(super) fn constrain_first(program: &mut Program, op: Op, sharding: TensorSharding, ops: &mut Vec<Op>) {
    let operands = program.op(op).operands.to_vec();
    let read = constrained(program, op, &[sharding], operands, ops);
    program.op_mut(op).operands = read.into_iter().collect();
}

/// Returns `values`, each read through a constraint where `list` has a sharding.
pub(super) fn constrained(
    program: &mut Program,
    op: Op,
    list: &[TensorSharding],
    values: Vec<Value>,
    ops: &mut Vec<Op>,
) -> Vec<Value> {
    let (loc, span) = (program.op(op).loc, program.op(op).span);
    let mut read = Vec::new();
    for (i, value) in values.into_iter().enumerate() {
        let Some(sharding) = list.get(i).filter(|_| program.tensor_type(value).is_some()) else {
            read.push(value);
            continue;
        };
        let ty = program.value_type(value);
        let attr = program.intern_attr(AttrData::Sharding(sharding.clone()));
        let attrs = [(sdy::SHARDING, attr)];
        let made = Builder::new(program, ops, loc).op(&sdy::ShardingConstraint, &[value], &[ty], &attrs);
        program.op_mut(made).span = span;
        read.push(program.result(made, 0));
    }
    read
}
