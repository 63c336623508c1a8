//! The cause of each collective in a planned program: the value that is resharded, the op that reads it, the shardings
//! that both need, and the annotations that those shardings come from.

use std::collections::HashMap;

use dialect::ir::{AttrData, Op, Program, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, Reshard, ShardingTable, TensorSharding};
use dialect::text::CAUSE;
use passes::partition::neighbor_reads;
use passes::propagate::{Origin, OriginTable, Start, written_origin};

use crate::module::main_block;

/// One reshard of the planned program.
pub(crate) struct Cause {
    /// The collective.
    pub(crate) op: Op,
    /// The kind, such as `all_gather`.
    pub(crate) kind: String,
    /// The value of the user's program that is resharded.
    pub(crate) value: Value,
    /// The op of the user's program that reads the value, and the operand's index; `None` if no op reads it.
    pub(crate) user: Option<(Op, usize)>,
    /// The sharding of the value.
    pub(crate) from: Option<TensorSharding>,
    /// The sharding that the user of the value needs.
    pub(crate) to: Option<TensorSharding>,
    /// The sharding before and after this collective, if it is one of several steps.
    pub(crate) step: Option<(TensorSharding, TensorSharding)>,
    /// The axes that move.
    pub(crate) axes: Vec<AxisRef>,
    /// Whether the user wrote the collective, in a manual computation or between replicas.
    pub(crate) manual: bool,
    /// Whether `op` isn't a collective, but reads rows of its neighbors' shards.
    pub(crate) neighbors: bool,
}

/// Identifies a collective across two versions of one program.
pub(super) type Key = (Value, Option<(Op, usize)>, String);

impl Cause {
    /// Returns the collective's key.
    pub(super) fn key(&self) -> Key {
        (self.value, self.user, self.kind.clone())
    }
}

/// Returns whether the program is already planned: its collectives carry their causes.
pub(super) fn is_planned(program: &Program) -> bool {
    program.ops_under(program.body()).into_iter().any(|op| made(program, op))
}

/// Returns whether the compiler inserted this reshard. If so, the op carries its cause.
fn made(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    program.attr(op, CAUSE).is_some() && view.def().reshard(view).is_some()
}

/// Returns all collectives of a planned program that exchange data, in order.
pub(crate) fn causes(planned: &Program) -> Vec<Cause> {
    let Some(main) = func::function(planned, "main") else { return Vec::new() };
    let Some(block) = func::block(planned, main) else { return Vec::new() };
    let all = planned.ops_under(block);
    let mut readers: HashMap<Value, (Op, usize)> = HashMap::new();
    for &op in all.iter().rev() {
        for (i, &v) in planned.op(op).operands.iter().enumerate() {
            readers.insert(v, (op, i));
        }
    }
    let mut found = Vec::new();
    let mut neighbors = neighbor_reads(planned).into_iter().peekable();
    for &op in &all {
        if let Some(read) = neighbors.next_if(|read| read.op == op) {
            let operand = planned.op(op).operands[read.operand];
            found.push(Cause {
                op,
                kind: "collective_permute".to_owned(),
                value: written(planned, operand),
                user: Some((op, read.operand)),
                from: None,
                to: None,
                step: None,
                axes: read.axes,
                manual: false,
                neighbors: true,
            });
            continue;
        }
        let view = planned.view(op);
        let kind = view.name().split('.').next_back().unwrap_or_default().to_owned();
        let Some(&operand) = view.operands().first() else { continue };
        if view.def().collective(view).is_some() {
            let user = view.results().next().and_then(|r| readers.get(&r)).copied();
            found.push(Cause {
                op,
                kind,
                value: operand,
                user,
                from: None,
                to: None,
                step: None,
                axes: Vec::new(),
                manual: true,
                neighbors: false,
            });
            continue;
        }
        let Some(reshard) = view.def().reshard(view) else { continue };
        if !sends(&reshard) {
            continue;
        }
        // Skip the chain of collectives to the user's value before it and the user's op after it.
        let (value, first) = written_and_first(planned, operand);
        let (mut user, mut last) = (view.results().next().and_then(|r| readers.get(&r)).copied(), op);
        while let Some((next, _)) = user
            && made(planned, next)
        {
            last = next;
            user = planned.results(next).next().and_then(|r| readers.get(&r)).copied();
        }
        let (from, to) = wishes(planned, op);
        let ends = (first.map_or(from.clone(), |first| wishes(planned, first).0), wishes(planned, last).1);
        let axes = match &reshard {
            permute if permute.permutes() => moved(from.as_ref(), to.as_ref()),
            other => other.axes().to_vec(),
        };
        let step = from.zip(to).filter(|(from, to)| (Some(from), Some(to)) != (ends.0.as_ref(), ends.1.as_ref()));
        let (from, to) = ends;
        found.push(Cause { op, kind, value, user, from, to, step, axes, manual: false, neighbors: false });
    }
    found
}

/// Returns the value of the user's program to which compiler-made collectives were applied.
pub(super) fn written(planned: &Program, value: Value) -> Value {
    written_and_first(planned, value).0
}

/// Returns that value and the first of those collectives.
fn written_and_first(planned: &Program, value: Value) -> (Value, Option<Op>) {
    let (mut value, mut first) = (value, None);
    while let ValueSource::Result(source, _) = planned.value_source(value)
        && made(planned, source)
        && let Some(&before) = planned.op(source).operands.first()
    {
        (value, first) = (before, Some(source));
    }
    (value, first)
}

/// Returns whether devices exchange any data.
fn sends(reshard: &Reshard) -> bool {
    reshard.collective().is_some()
        && (!reshard.axes().is_empty() || reshard.permutes() || matches!(reshard, Reshard::ReduceScatter(..)))
}

/// Returns the shardings on both sides, from the collective's `shardc.cause`.
fn wishes(planned: &Program, op: Op) -> (Option<TensorSharding>, Option<TensorSharding>) {
    let Some(AttrData::Dict(fields)) = planned.view(op).attr(CAUSE) else { return (None, None) };
    let field = |name: &str| {
        let found = fields.iter().find(|f| planned.name_text(f.0) == name)?;
        planned.attr_data(found.1).as_sharding().cloned()
    };
    (field("from"), field("to"))
}

/// Returns the axes that shard a dimension in `from` but not the same dimension in `to`.
fn moved(from: Option<&TensorSharding>, to: Option<&TensorSharding>) -> Vec<AxisRef> {
    let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
    let mut axes = Vec::new();
    for (a, b) in from.dims.iter().zip(&to.dims) {
        axes.extend(a.axes.iter().filter(|x| !b.axes.contains(x)).copied());
    }
    axes
}

/// An annotation that the user can change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Annotation {
    /// The annotation of an argument of `@main`.
    Argument(usize),
    /// The annotation of a result of `@main`.
    Result(usize),
    /// A constraint, or an op with a sharding attribute.
    Op(Op),
}

/// The origins of the axes in a propagated program.
#[derive(Default)]
pub(super) struct Origins {
    /// The origins that propagation found; `None` for a program that came with its shardings, which contains its
    /// origins.
    table: Option<OriginTable>,
    /// The constraint that reads each value, and so determines its sharding.
    constraints: HashMap<Value, Op>,
    /// The shardings after propagation; the plan may change them.
    shardings: Option<ShardingTable>,
}

impl Origins {
    /// Returns the origins that propagation found in `propagated`.
    pub(super) fn new(propagated: &Program, table: OriginTable) -> Self {
        let mut constraints = HashMap::new();
        // Propagation rewrites constraints in place; the constants they read may be copies.
        for op in propagated.ops_under(propagated.body()).into_iter().filter(|&op| !propagated.op(op).is_made()) {
            let data = propagated.op(op);
            if propagated.attr(op, "sharding").is_some_and(|a| propagated.attr_data(a).as_sharding().is_some()) {
                data.operands.iter().for_each(|&v| {
                    constraints.entry(v).or_insert(op);
                });
            }
        }
        Self { table: Some(table), constraints, shardings: Some(ShardingTable::of(propagated)) }
    }

    /// Returns whether propagation sharded dimension `d` of `value` along `axis`, so that an annotation is the cause.
    pub(super) fn sharded(&self, value: Value, axis: AxisRef, d: usize) -> bool {
        let Some(table) = &self.shardings else { return true };
        let dims = table.get(value).map(|s| &s.dims);
        dims.and_then(|dims| dims.get(d)).is_some_and(|dim| dim.axes.iter().any(|a| a.name == axis.name))
    }

    /// Returns the annotation that put `axis` on `value`, and the ops through which it propagated.
    pub(super) fn find(&self, program: &Program, value: Value, axis: AxisRef) -> Option<(Annotation, Vec<Op>)> {
        let origin = match &self.table {
            Some(table) => table.origin_of(value, axis)?,
            None => Origin { start: written_origin(program, value, axis)?, path: Vec::new() },
        };
        let annotation = match origin.start {
            Start::FunctionResult(i) => Annotation::Result(i),
            Start::Value(value) => match program.value_source(value) {
                ValueSource::Result(op, _) => Annotation::Op(self.constraints.get(&value).copied().unwrap_or(op)),
                ValueSource::Arg(block, i) => {
                    let main = main_block(program);
                    if main != Some(block) {
                        return None;
                    }
                    Annotation::Argument(i as usize)
                }
            },
        };
        Some((annotation, origin.path))
    }
}
