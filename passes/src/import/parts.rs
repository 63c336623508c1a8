//! States unreduced axes that Shardy's partitioner leaves implicit: a value whose only user is `sdy.all_reduce` or
//! `sdy.reduce_scatter` is unreduced along their axes, although no sharding states it. With the axes stated, devices
//! add up parts of one value and not copies of it.

use dialect::ir::{AttrData, Block, Op, Program, Uses, Value, ValueSource};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisRef, ReductionKind, Reshard, TensorSharding};

/// States the unreduced axes of every argument and result that only reducing collectives read.
pub(super) fn state(program: &mut Program) {
    let body = program.body();
    let mut ops = Vec::new();
    program.walk(body, &mut |op| ops.extend(reduced(program, op).is_some().then_some(op)));
    if ops.is_empty() {
        return;
    }
    let uses = Uses::of(program, body);
    // Readers first: axes that one collective leaves unreduced for the next are unreduced in its operand, too.
    for op in ops.into_iter().rev() {
        if let Some((value, sharding)) = parts(program, op)
            && uses.get(value).len() == 1
        {
            place(program, value, sharding);
        }
    }
}

/// Returns the axes along which one of Shardy's collectives combines its operand, and the reduction.
fn reduced(program: &Program, op: Op) -> Option<(Vec<AxisRef>, ReductionKind)> {
    let view = program.view(op);
    match view.def().reshard(view)? {
        Reshard::AllReduce(axes, kind) => Some((axes.to_vec(), kind)),
        Reshard::ReduceScatter(dims, kind) => Some((dims.into_iter().flatten().collect(), kind)),
        _ => None,
    }
}

/// Returns the value that `op` combines, and its sharding with all axes that `op` combines or leaves unreduced; `None`
/// where that is already stated.
fn parts(program: &Program, op: Op) -> Option<(Value, TensorSharding)> {
    let (axes, kind) = reduced(program, op)?;
    let view = program.view(op);
    let &value = view.operands().first()?;
    let after = sdy::stated_sharding(view)?;
    let mut sharding = match stated(program, value) {
        Some(known) => known.clone(),
        // The sharding after the collective, without the axes that it scatters over.
        None => {
            let mut before = after.clone();
            before.dims.iter_mut().for_each(|d| d.axes.retain(|a| !axes.contains(a)));
            before.unreduced.clear();
            before
        }
    };
    let mesh = sdy::resolve(program, &sharding.mesh)?;
    let known = |axis: AxisRef| sharding.all_axes().any(|a| a.overlaps(axis, mesh));
    if axes.iter().any(|&a| known(a)) || (!sharding.unreduced.is_empty() && sharding.kind != kind) {
        return None;
    }
    let left: Vec<AxisRef> = after.unreduced.iter().copied().filter(|&a| !known(a)).collect();
    sharding.unreduced.extend(axes.into_iter().chain(left));
    sharding.unreduced.sort_by_key(|a| (mesh.axis_index(a.name), a.sub.map(|s| s.pre)));
    sharding.kind = kind;
    Some((value, sharding))
}

fn stated(program: &Program, value: Value) -> Option<&TensorSharding> {
    match program.value_source(value) {
        ValueSource::Result(op, i) => {
            let view = program.view(op);
            sdy::result_shardings(view).and_then(|list| list.get(i as usize)).or_else(|| sdy::stated_sharding(view))
        }
        ValueSource::Arg(block, i) => func::arg_sharding(program, function_of(program, block)?, i as usize),
    }
}

/// Returns the function with this body.
fn function_of(program: &Program, block: Block) -> Option<Op> {
    func::functions(program).find(|&f| func::block(program, f) == Some(block))
}

fn place(program: &mut Program, value: Value, sharding: TensorSharding) {
    match program.value_source(value) {
        ValueSource::Arg(block, i) => {
            let Some(function) = function_of(program, block) else { return };
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            func::set_arg_attr(program, function, i as usize, func::SHARDING, attr);
        }
        ValueSource::Result(op, _) if program.attr(op, sdy::OUT_SHARDING).is_some() => {
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            program.set_attr(op, sdy::OUT_SHARDING, attr);
        }
        // A constraint already states its sharding.
        ValueSource::Result(op, _) if sdy::stated_sharding(program.view(op)).is_some() => {}
        ValueSource::Result(op, i) => {
            let rank = |program: &Program, r: Value| program.tensor_type(r).map_or(0, |t| t.rank());
            let list = sdy::result_shardings(program.view(op)).map(<[_]>::to_vec);
            let mut list = list.unwrap_or_else(|| {
                program.results(op).map(|r| TensorSharding::open(sharding.mesh.clone(), rank(program, r))).collect()
            });
            if let Some(entry) = list.get_mut(i as usize) {
                *entry = sharding;
                let attr = program.intern_attr(AttrData::ShardingPerValue(list));
                program.set_attr(op, func::SHARDING, attr);
            }
        }
    }
}
