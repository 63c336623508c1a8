//! Writes collectives in stages.
//!
//! Data is small when it goes over the network: it is combined and scattered inside of slices before, and gathered
//! inside of them after. Where both levels shard a dimension with the slices major, the shards of a slice are next to
//! those of other slices; the dimension is then split into one per level until the end, which moves nothing.

use dialect::collective::MeshAttr;
use dialect::ir::build::Builder;
use dialect::ir::{Block, Loc, Op, Program, Value};
use dialect::ops::build::collective::{Along, all_gather, all_reduce, reduce_scatter};
use dialect::ops::build::shape::reshape;
use dialect::scalar::ScalarOp;
use dialect::sharding::Mesh;
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;

use super::find::{Candidate, LevelAxes, Operation};
use crate::partition::first_channel;

/// The position of gathers inside of slices that come after the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Last {
    /// At the position of the collective.
    AtOnce,
    /// Before the first user, so that other stages inside of slices don't wait for the network.
    Late,
}

/// Rewrites these candidates.
pub(super) fn apply(program: &mut Program, mesh: &Mesh, chosen: &[Candidate], last: Last) {
    let mut pass = Apply {
        groups: MeshAttr::new(program, mesh),
        channel: first_channel(program, program.body()),
        of: chosen.iter().map(|c| (c.op, c)).collect(),
        renamed: FxHashMap::default(),
        last,
    };
    for block in program.blocks_under(program.body()) {
        pass.block(program, block);
    }
    program.rename(&pass.renamed);
}

struct Apply<'a> {
    groups: MeshAttr,
    channel: i64,
    of: FxHashMap<Op, &'a Candidate>,
    renamed: FxHashMap<Value, Value>,
    last: Last,
}

impl Apply<'_> {
    fn block(&mut self, program: &mut Program, block: Block) {
        if !program.block_ops(block).iter().any(|op| self.of.contains_key(op)) {
            return;
        }
        let mut ops = Vec::new();
        // Ops of last stages whose value has no user yet, by the value that they produce.
        let mut late: Vec<(Value, Vec<Op>)> = Vec::new();
        for op in program.block_ops(block).to_vec() {
            let read = reads(program, op);
            let terminates = program.view(op).def().terminator();
            for (_, stage) in late.extract_if(.., |(value, _)| terminates || read.contains(value)) {
                ops.extend(stage);
            }
            let Some(&candidate) = self.of.get(&op) else {
                ops.push(op);
                continue;
            };
            let [first, rest] = self.stages(program, candidate);
            ops.extend(first);
            match self.last {
                Last::AtOnce => ops.extend(rest),
                Last::Late => late.push((program.result(op, 0), rest)),
            }
        }
        program.set_block_ops(block, ops);
    }

    /// Returns a builder at the end of `ops`.
    fn stage<'b>(&self, program: &'b mut Program, ops: &'b mut Vec<Op>, loc: Loc) -> Stage<'b> {
        Stage { b: Builder::new(program, ops, loc), groups: self.groups, channel: self.channel }
    }

    /// Returns the ops that replace a collective: those up to the network, and the gathers inside of slices after it.
    fn stages(&mut self, program: &mut Program, candidate: &Candidate) -> [Vec<Op>; 2] {
        let old = program.op(candidate.op).clone();
        let cause = program.attr(candidate.op, CAUSE);
        let result = program.result(candidate.op, 0);
        let operand = self.renamed.get(&old.operands[0]).copied().unwrap_or(old.operands[0]);
        let mut stages = [Vec::new(), Vec::new()];
        let [first, rest] = &mut stages;
        let mut stage = self.stage(program, first, old.loc);
        let shape = stage.b.tensor(result).shape.to_vec();
        let runs = &candidate.runs[..];
        let across = |at: &usize| runs[*at].across;
        let made = match candidate.kind {
            Operation::Reduce(op, dim) => {
                let all = |across: bool| {
                    let parts = runs.iter().filter(|r| r.across == across).flat_map(|r| r.axes.iter().copied());
                    LevelAxes { across, axes: parts.collect() }
                };
                let [inside, network] = [all(false), all(true)];
                let part = stage.scatter(operand, op, dim, &inside);
                let sum = stage.reduce(part, op, &network);
                self.channel = stage.channel;
                let mut stage = self.stage(program, rest, old.loc);
                let made = stage.gather(sum, dim, &inside);
                self.channel = stage.channel;
                made
            }
            Operation::Gather(dim) => {
                // Slices first, and on each level the minor run first.
                let apart = !(runs.len() == 2 && across(&1));
                let at = |r: usize| if apart { dim + r } else { dim };
                let order = || (0..runs.len()).rev();
                let mut value = stage.apart(operand, dim, &vec![1; if apart { runs.len() } else { 1 }]);
                for r in order().filter(across) {
                    value = stage.gather(value, at(r), &runs[r]);
                }
                self.channel = stage.channel;
                let mut stage = self.stage(program, rest, old.loc);
                for r in order().filter(|r| !across(r)) {
                    value = stage.gather(value, at(r), &runs[r]);
                }
                self.channel = stage.channel;
                reshape(&mut stage.b, value, &shape)
            }
            Operation::Scatter(op, dim) => {
                // The opposite order.
                let apart = !(runs.len() == 2 && across(&1));
                let at = |r: usize| if apart { dim + r } else { dim };
                let sizes: Vec<i64> = if apart { runs.iter().map(LevelAxes::devices).collect() } else { vec![1] };
                let mut value = stage.apart(operand, dim, &sizes);
                for r in (0..runs.len()).filter(|r| !across(r)).chain((0..runs.len()).filter(across)) {
                    value = stage.scatter(value, op, at(r), &runs[r]);
                }
                self.channel = stage.channel;
                reshape(&mut stage.b, value, &shape)
            }
        };
        self.renamed.insert(result, made);
        for &op in stages.iter().flatten() {
            program.op_mut(op).span = old.span;
            let view = program.view(op);
            if let Some(cause) = cause.filter(|_| view.def().collective(view).is_some()) {
                program.set_attr(op, CAUSE, cause);
            }
        }
        stages
    }
}

/// Returns the values that an op reads, including its regions.
fn reads(program: &Program, op: Op) -> Vec<Value> {
    let mut read = program.op(op).operands.to_vec();
    for &region in &program.op(op).regions {
        for &inner in program.region_blocks(region) {
            program.walk(inner, &mut |op| read.extend(&program.op(op).operands));
        }
    }
    read
}

/// A builder of collectives along runs of axes.
struct Stage<'b> {
    b: Builder<'b>,
    groups: MeshAttr,
    channel: i64,
}

impl Stage<'_> {
    fn along<'a>(&mut self, run: &'a LevelAxes) -> (Along<'a>, i64) {
        self.channel += 1;
        (Along { mesh: self.groups, axes: &run.axes, devices: run.devices() }, self.channel - 1)
    }

    fn gather(&mut self, x: Value, dim: usize, run: &LevelAxes) -> Value {
        let (groups, channel) = self.along(run);
        all_gather(&mut self.b, x, dim, groups, channel)
    }

    fn scatter(&mut self, x: Value, op: ScalarOp, dim: usize, run: &LevelAxes) -> Value {
        let (groups, channel) = self.along(run);
        reduce_scatter(&mut self.b, x, op, dim, groups, channel)
    }

    fn reduce(&mut self, x: Value, op: ScalarOp, run: &LevelAxes) -> Value {
        let (groups, channel) = self.along(run);
        all_reduce(&mut self.b, x, op, groups, channel)
    }

    /// Splits a dimension into several of these sizes; the last one takes the rest.
    fn apart(&mut self, x: Value, dim: usize, sizes: &[i64]) -> Value {
        let shape = self.b.tensor(x).shape.to_vec();
        let (before, size, after) = (&shape[..dim], shape[dim], &shape[dim + 1..]);
        let major = &sizes[..sizes.len() - 1];
        let left = size / major.iter().product::<i64>();
        let new: Vec<i64> = [before, major, &[left], after].concat();
        reshape(&mut self.b, x, &new)
    }
}
