//! Reorders a block so that some ops run together, staying as close to the old order as dependences allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dialect::ir::{Block, Op, Program, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The dependences of each op of a block: the ops whose values it or its regions read, and the last op with side
/// effects before it, as positions in the block.
pub(super) struct Dependences {
    /// The ops, in order.
    pub(super) ops: Vec<Op>,
    /// For each position, the positions it waits for.
    pub(super) waits: Vec<SmallVec<[usize; 4]>>,
}

/// A group of ops that run together.
pub(super) struct Merged {
    /// Their positions in the block, ascending.
    pub(super) members: Vec<usize>,
    /// The ops that replace them.
    pub(super) ops: Vec<Op>,
}

impl Dependences {
    /// Finds the dependences of `block`.
    pub(super) fn of(program: &Program, block: Block) -> Self {
        let ops = program.block_ops(block).to_vec();
        let mut maker: FxHashMap<Value, usize> = FxHashMap::default();
        let mut waits = Vec::with_capacity(ops.len());
        let mut effect = None;
        for (i, &op) in ops.iter().enumerate() {
            let mut list: SmallVec<[usize; 4]> = SmallVec::new();
            let mut reads = |op: Op| list.extend(program.op(op).operands.iter().filter_map(|v| maker.get(v).copied()));
            reads(op);
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    program.walk(inner, &mut reads);
                }
            }
            let view = program.view(op);
            if view.def().terminator() {
                list = (0..i).collect();
            } else if view.def().side_effect(view) {
                list.extend(effect.replace(i));
            }
            list.sort_unstable();
            list.dedup();
            waits.push(list);
            maker.extend(program.results(op).map(|v| (v, i)));
        }
        Self { ops, waits }
    }

    /// Replaces the ops of each group by its merged form, and reorders the block so that they run together.
    pub(super) fn replace(&self, program: &mut Program, block: Block, groups: Vec<Merged>) {
        let mut together: Vec<usize> = (0..self.ops.len()).collect();
        let mut merged: FxHashMap<Op, Vec<Op>> = FxHashMap::default();
        for Merged { members, ops } in groups {
            let last = members[members.len() - 1];
            members.iter().for_each(|&member| together[member] = last);
            merged.insert(self.ops[last], ops);
        }
        let sorted = self.sorted(&together).into_iter();
        let ops = sorted.flat_map(|op| merged.remove(&op).unwrap_or_else(|| vec![op])).collect();
        program.set_block_ops(block, ops);
    }

    /// Returns the ops in an order in which every group (positions in ascending order) runs at its last op's old
    /// position, or earlier if another op needs it before. `together` gives each position its group's number, which is
    /// the position of the group's last op; an op in no group has its own position. Only that last op represents the
    /// group in the output.
    fn sorted(&self, together: &[usize]) -> Vec<Op> {
        let count = self.ops.len();
        let mut missing = vec![0usize; count];
        let mut next: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); count];
        let mut from: Vec<usize> = Vec::new();
        for (i, waits) in self.waits.iter().enumerate() {
            from.clear();
            from.extend(waits.iter().map(|&w| together[w]));
            from.sort_unstable();
            from.dedup();
            for &source in &from {
                next[source].push(together[i]);
                missing[together[i]] += 1;
            }
        }
        let own = (0..count).filter(|&i| together[i] == i);
        let mut ready: BinaryHeap<Reverse<usize>> = own.filter(|&i| missing[i] == 0).map(Reverse).collect();
        let mut sorted = Vec::with_capacity(count);
        while let Some(Reverse(i)) = ready.pop() {
            sorted.push(self.ops[i]);
            for &n in &next[i] {
                missing[n] -= 1;
                if missing[n] == 0 {
                    ready.push(Reverse(n));
                }
            }
        }
        sorted
    }
}
