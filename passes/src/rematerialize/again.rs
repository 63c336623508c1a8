//! Writes ops that recompute values.

use dialect::ir::build::Builder;
use dialect::ir::{Op, Program, Renaming, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::build;
use rustc_hash::{FxHashMap, FxHashSet};

use super::held::{Candidate, MemoryUse};
use crate::partition::first_channel;

/// Recomputes the values before their late users.
pub(super) fn make(program: &mut Program, held: &MemoryUse, chosen: &[Candidate]) {
    let channel = first_channel(program, program.body());
    let mut writer = Writer {
        program,
        held,
        channel,
        before: FxHashMap::default(),
        original: FxHashMap::default(),
        replaced: FxHashSet::default(),
    };
    chosen.iter().for_each(|candidate| writer.make(candidate));
    writer.finish();
}

struct Writer<'a> {
    program: &'a mut Program,
    held: &'a MemoryUse,
    channel: i64,
    /// The ops to insert before each op.
    before: FxHashMap<Op, Vec<Op>>,
    /// The original op of each copy.
    original: FxHashMap<Op, Op>,
    /// Ops that a copy replaces for some user, so that they may have no users left.
    replaced: FxHashSet<Op>,
}

impl Writer<'_> {
    fn make(&mut self, candidate: &Candidate) {
        let Some(&first) = candidate.late.first() else { return };
        let Some(place) = self.held.blocks().within(candidate.block, first) else { return };
        let mut ops = Vec::new();
        let value = self.copy(candidate.value, &mut FxHashMap::default(), &mut ops);
        self.before.entry(place).or_default().extend(ops);
        for &reader in &candidate.late {
            let (mut known, mut ops) = (FxHashMap::from_iter([(candidate.value, value)]), Vec::new());
            for i in 0..self.program.op(reader).operands.len() {
                let operand = self.program.op(reader).operands[i];
                if let Some(instead) = self.reading(operand, &mut known, &mut ops) {
                    self.program.op_mut(reader).operands[i] = instead;
                }
            }
            self.before.entry(reader).or_default().extend(ops);
        }
    }

    /// Returns the op that defines a value, if the op takes no memory.
    fn folded(&self, value: Value) -> Option<Op> {
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return None };
        let original = self.original.get(&op).copied().unwrap_or(op);
        self.held.is_folded(self.program, original).then_some(op)
    }

    /// Copies the op that defines a value, and those computed in its kernel. The copy reads its operands through a
    /// barrier, because otherwise XLA's CSE would merge it with the original.
    fn copy(&mut self, value: Value, known: &mut FxHashMap<Value, Value>, ops: &mut Vec<Op>) -> Value {
        if let Some(&copy) = known.get(&value) {
            return copy;
        }
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return value };
        let mut renaming = Renaming::default();
        for operand in self.program.op(op).operands.clone() {
            let copy = match (self.folded(operand), known.get(&operand)) {
                (_, Some(&copy)) => copy,
                (Some(_), None) => self.copy(operand, known, ops),
                (None, None) => {
                    let barrier = self.barrier(operand, ops);
                    known.insert(operand, barrier);
                    barrier
                }
            };
            renaming.values.insert(operand, copy);
        }
        let copy = self.clone(op, &mut renaming, ops);
        known.insert(value, copy);
        copy
    }

    fn barrier(&mut self, value: Value, ops: &mut Vec<Op>) -> Value {
        let is_constant = match self.program.value_source(value) {
            ValueSource::Result(op, _) => {
                let view = self.program.view(op);
                view.def().constant(view).is_some()
            }
            ValueSource::Arg(..) => false,
        };
        if is_constant {
            return value;
        }
        let loc = self.program.value_loc(value);
        build::optimization_barrier(&mut Builder::new(self.program, ops, loc), value)
    }

    /// Returns the replacement of `value` for a user of recomputed values; `None` if it depends on none of them.
    fn reading(&mut self, value: Value, known: &mut FxHashMap<Value, Value>, ops: &mut Vec<Op>) -> Option<Value> {
        if let Some(&copy) = known.get(&self.held.named(value)) {
            return (copy != value).then_some(copy);
        }
        let op = self.folded(value)?;
        let mut renaming = Renaming::default();
        for operand in self.program.op(op).operands.clone() {
            if let Some(copy) = self.reading(operand, known, ops) {
                renaming.values.insert(operand, copy);
            }
        }
        if renaming.values.is_empty() {
            known.insert(value, value);
            return None;
        }
        self.replaced.insert(op);
        let copy = self.clone(op, &mut renaming, ops);
        known.insert(value, copy);
        Some(copy)
    }

    fn clone(&mut self, op: Op, renaming: &mut Renaming, ops: &mut Vec<Op>) -> Value {
        let copy = self.program.clone_op(op, renaming);
        if self.program.attr(copy, CHANNEL).is_some() {
            let handle = build::collective::handle(self.program, self.channel);
            self.program.set_attr(copy, CHANNEL, handle);
            self.channel += 1;
        }
        let original = self.original.get(&op).copied().unwrap_or(op);
        self.original.insert(copy, original);
        ops.push(copy);
        self.program.result(copy, 0)
    }

    /// Inserts all written ops, and removes ops without users.
    fn finish(mut self) {
        let body = self.program.body();
        let all = self.program.blocks_under(body);
        for &block in &all {
            let mut ops = Vec::with_capacity(self.program.block_ops(block).len());
            for &op in self.program.block_ops(block) {
                ops.extend(self.before.remove(&op).unwrap_or_default());
                ops.push(op);
            }
            self.program.set_block_ops(block, ops);
        }
        let mut readers = vec![0u32; self.program.value_count()];
        let ops = self.program.ops_under(body);
        for &op in &ops {
            self.program.op(op).operands.iter().for_each(|v| readers[v.index()] += 1);
        }
        let mut gone = FxHashSet::default();
        for &op in ops.iter().rev() {
            let view = self.program.view(op);
            let is_free = self.replaced.contains(&op) || view.def().control(view) == Some(Control::Identity);
            if is_free && self.program.results(op).all(|v| readers[v.index()] == 0) {
                self.program.op(op).operands.iter().for_each(|v| readers[v.index()] -= 1);
                gone.insert(op);
            }
        }
        for block in all {
            let left = self.program.block_ops(block).iter().copied().filter(|op| !gone.contains(op)).collect();
            self.program.set_block_ops(block, left);
        }
    }
}

/// The attribute that holds a collective's channel.
const CHANNEL: &str = "channel_handle";
