//! Writes ops that need all of a dimension which propagation shards as several ops that don't. Reductions whose partial
//! results no collective combines (the index of a maximum) and the first elements of a sort are computed in each shard
//! and then over the shards' results. Cumulative sums start in each shard from the total of the shards before it. Long
//! sorts deal elements out to all devices between two sorts of shards. Triangular systems are solved block by block,
//! and transforms over several dimensions are done one dimension after the other.

use std::cell::OnceCell;
use std::ops::Range;

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, Program, Uses, Value, ValueSource};
use dialect::op::{CollectiveKind, Like, Surroundings};
use dialect::ops::stablehlo::slicing::SliceRanges;
use dialect::sharding::Distribution;
use dialect::sharding::axis::size_of;
use rustc_hash::{FxHashMap, FxHashSet};

use super::propagated::Propagated;
use crate::plan::model::cost::CollectiveCost;
use crate::plan::model::strategy::even_part;

/// Splits the ops under `block` into several where that saves moving data.
pub(crate) fn split(program: &mut Program, propagated: &mut Propagated, cost: &dyn CollectiveCost, block: Block) {
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    let uses = OnceCell::new();
    let mut replaced = Vec::new();
    for inner in program.blocks_under(block) {
        let old = program.block_ops(inner).to_vec();
        let mut ops = Vec::with_capacity(old.len());
        for &op in &old {
            let first = ops.len();
            let results = split_op(program, propagated, cost, op, (block, &uses), &mut ops);
            for &made in &ops[first..] {
                program.op_mut(made).span = program.op(op).span;
            }
            match results {
                Some(results) => {
                    renamed.extend(program.results(op).zip(results));
                    replaced.push(op);
                }
                None => ops.push(op),
            }
        }
        if ops != old {
            program.set_block_ops(inner, ops);
        }
    }
    if !replaced.is_empty() {
        program.rename(&renamed);
        remove_unread(program, block, &replaced);
    }
}

/// Removes ops that only the `replaced` ops read, since the plan would otherwise plan them too.
fn remove_unread(program: &mut Program, block: Block, replaced: &[Op]) {
    let uses = Uses::of(program, block);
    let mut removed: FxHashSet<Op> = FxHashSet::default();
    let mut left: Vec<Value> = replaced.iter().flat_map(|&op| program.op(op).operands.iter().copied()).collect();
    while let Some(value) = left.pop() {
        let ValueSource::Result(op, _) = program.value_source(value) else { continue };
        let unread = |v: Value| uses.get(v).iter().all(|u| removed.contains(&u.0));
        let view = program.view(op);
        if !view.def().side_effect(view) && program.results(op).all(unread) && removed.insert(op) {
            left.extend(&program.op(op).operands);
        }
    }
    for block in program.blocks_under(block) {
        if program.block_ops(block).iter().any(|op| removed.contains(op)) {
            let ops = program.block_ops(block).iter().copied().filter(|op| !removed.contains(op)).collect();
            program.set_block_ops(block, ops);
        }
    }
}

fn split_op(
    program: &mut Program,
    propagated: &mut Propagated,
    cost: &dyn CollectiveCost,
    op: Op,
    (block, uses): (Block, &OnceCell<Uses>),
    ops: &mut Vec<Op>,
) -> Option<Vec<Value>> {
    let (def, loc) = (program.op(op).def, program.op(op).loc);
    let around = Around { propagated, cost, block, uses };
    let steps = def.in_steps(op, &around, &mut Builder::new(program, ops, loc))?;
    for (new, old) in steps.results.iter().zip(program.results(op)) {
        let place = propagated.get(program, old);
        propagated.set(*new, place);
    }
    for (value, Like { of, dims }) in steps.made {
        let like = |of: &Distribution| {
            let axes = |list: &Vec<usize>| list.iter().flat_map(|&d| of.dims[d].iter().copied()).collect();
            Distribution::of_dims(dims.iter().map(axes).collect::<Vec<_>>())
        };
        let stated = like(&propagated.get(program, of));
        let divides = program.tensor_type(value).is_some_and(|ty| stated.is_even(&ty.shape));
        propagated.set(value, if divides { stated } else { like(&even(program, propagated, of)) });
    }
    Some(steps.results)
}

fn even(program: &Program, propagated: &Propagated, value: Value) -> Distribution {
    let found = propagated.get(program, value);
    program.tensor_type(value).map_or_else(|| found.clone(), |ty| even_part(&found, ty))
}

struct Around<'a> {
    propagated: &'a Propagated,
    cost: &'a dyn CollectiveCost,
    block: Block,
    uses: &'a OnceCell<Uses>,
}

impl Surroundings for Around<'_> {
    fn pieces(&self, program: &Program, value: Value) -> Vec<i64> {
        even(program, self.propagated, value).dims.iter().map(|axes| size_of(axes)).collect()
    }

    fn shards(&self, program: &Program, value: Value) -> Vec<i64> {
        self.propagated.get(program, value).dims.iter().map(|axes| size_of(axes)).collect()
    }

    fn read(&self, program: &Program, value: Value, dim: usize) -> Range<i64> {
        let Some(&size) = program.tensor_type(value).and_then(|t| t.shape.get(dim)) else { return 0..0 };
        let uses = self.uses.get_or_init(|| Uses::of(program, self.block)).get(value).iter();
        let ranges = uses.map(|u| SliceRanges::of(program.view(u.0)).map_or(0..size, |r| r.start[dim]..r.limit[dim]));
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    fn seconds(&self, program: &Program, kind: CollectiveKind, of: (Value, usize), bytes: (f64, f64)) -> f64 {
        let place = self.propagated.get(program, of.0);
        place.dims.get(of.1).map_or(0.0, |axes| self.cost.seconds(kind, bytes.0, bytes.1, axes))
    }
}
