//! Walking a program: ops in order, the ops in their regions, and the uses of a value.

use rustc_hash::FxHashMap;

use super::entity::{Block, Op, Value};
use super::program::Program;

impl Program {
    /// Calls `f` on every op under `block`, an op before the ops inside it.
    pub fn walk(&self, block: Block, f: &mut dyn FnMut(Op)) {
        for &op in self.block_ops(block) {
            f(op);
            for &region in &self.op(op).regions {
                for &inner in self.region_blocks(region) {
                    self.walk(inner, f);
                }
            }
        }
    }

    /// Returns every op under `block`, an op before the ops inside it.
    pub fn ops_under(&self, block: Block) -> Vec<Op> {
        let mut ops = Vec::new();
        self.walk(block, &mut |op| ops.push(op));
        ops
    }

    /// `block` and every block inside its ops.
    pub fn blocks_under(&self, block: Block) -> Vec<Block> {
        let mut blocks = vec![block];
        self.walk(block, &mut |op| blocks.extend(self.op(op).regions.iter().flat_map(|&r| self.region_blocks(r))));
        blocks
    }

    /// Returns every value under `block`: arguments of its blocks and results of its ops.
    pub fn values_under(&self, block: Block) -> Vec<Value> {
        let mut values = self.block_args(block).to_vec();
        self.walk(block, &mut |op| {
            values.extend(self.results(op));
            let blocks = self.op(op).regions.iter().flat_map(|&r| self.region_blocks(r));
            blocks.for_each(|&inner| values.extend(self.block_args(inner)));
        });
        values
    }

    /// Replaces the operands of `op` that are renamed.
    pub fn rename_operands(&mut self, op: Op, renamed: &FxHashMap<Value, Value>) {
        for operand in &mut self.op_mut(op).operands {
            *operand = renamed.get(operand).copied().unwrap_or(*operand);
        }
    }

    /// Replaces renamed operands of every op of the program.
    pub fn rename(&mut self, renamed: &FxHashMap<Value, Value>) {
        if renamed.is_empty() {
            return;
        }
        for op in self.ops_under(self.body()) {
            self.rename_operands(op, renamed);
        }
    }
}

/// The uses of each value under one block: (op, operand index), in program order.
pub struct Uses {
    start: Vec<u32>,
    list: Vec<(Op, u32)>,
}

impl Uses {
    /// Collects the uses under `block`, regions included.
    pub fn of(program: &Program, block: Block) -> Self {
        let ops = program.ops_under(block);
        let mut start = vec![0u32; program.value_count() + 1];
        for &op in &ops {
            for v in &program.op(op).operands {
                start[v.index() + 1] += 1;
            }
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let mut next = start.clone();
        let mut list = vec![(Op::new(0), 0); *start.last().unwrap_or(&0) as usize];
        for &op in &ops {
            for (i, v) in program.op(op).operands.iter().enumerate() {
                list[next[v.index()] as usize] = (op, i as u32);
                next[v.index()] += 1;
            }
        }
        Self { start, list }
    }

    /// Returns the uses of `value`.
    pub fn get(&self, value: Value) -> &[(Op, u32)] {
        match (self.start.get(value.index()), self.start.get(value.index() + 1)) {
            (Some(&a), Some(&b)) => &self.list[a as usize..b as usize],
            _ => &[],
        }
    }
}
