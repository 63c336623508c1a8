//! The values that a device holds, when they are read, and which of them may be recomputed.

use dialect::buffers::{Buffers, Facts, simplify};
use dialect::ir::{Block, Op, Program, Value, ValueSource};
use dialect::kernel::Kernel;
use dialect::memory::MemorySpace;
use dialect::op::Control;
use dialect::ops::func;
use rustc_hash::FxHashMap;

use crate::estimate::bytes_of;
use crate::heuristics::HEURISTICS;

/// The memory of a device while it runs a program.
pub(super) struct MemoryUse {
    /// Bytes of all buffers.
    pub(super) bytes: u64,
    /// The program after `simplify`, which drops ops that a device needn't compute.
    simple: Program,
    /// The original op of each op that exists only in `simple`.
    written: FxHashMap<Op, Op>,
    buffers: Buffers,
    /// The step that needs the most bytes, and their number.
    most: (u32, u64),
    /// The ops that read each value from memory, in order; for ops that share a kernel, the kernel's root.
    readers: FxHashMap<Value, Vec<Op>>,
    /// Values that barriers pass through, by the barrier's result.
    names: FxHashMap<Value, Value>,
    blocks: Blocks,
}

/// The position of ops in blocks and regions.
#[derive(Default)]
pub(super) struct Blocks {
    block: FxHashMap<Op, Block>,
    inside: FxHashMap<Block, Op>,
}

impl Blocks {
    fn add(&mut self, program: &Program, block: Block, all: &mut Vec<Op>) {
        for &op in program.block_ops(block) {
            self.block.insert(op, block);
            all.push(op);
            let view = program.view(op);
            if view.def().control(view).is_some() {
                for &inner in program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)) {
                    self.inside.insert(inner, op);
                    self.add(program, inner, all);
                }
            }
        }
    }

    /// Returns the op of `block` that is `op` or contains it.
    pub(super) fn within(&self, block: Block, mut op: Op) -> Option<Op> {
        loop {
            let own = *self.block.get(&op)?;
            if own == block {
                return Some(op);
            }
            op = *self.inside.get(&own)?;
        }
    }
}

/// A value that may be recomputed.
pub(super) struct Candidate {
    /// The value.
    pub(super) value: Value,
    /// The late users, in order, and the block of the value's op.
    pub(super) late: Vec<Op>,
    pub(super) block: Block,
    /// The values in memory that it is computed from.
    pub(super) reads: Vec<Value>,
    /// Bytes that recomputing frees at the step that needs most.
    pub(super) freed: f64,
    /// Seconds to compute it.
    seconds: f64,
}

impl Candidate {
    /// Returns the seconds per freed byte.
    pub(super) fn price(&self) -> f64 {
        self.seconds / self.freed
    }
}

impl MemoryUse {
    /// Computes the memory of a device that runs `main`.
    pub(super) fn of(program: &Program, main: Op) -> Option<Self> {
        let block = func::block(program, main)?;
        let mut simple = program.clone();
        let written = simplify(&mut simple, block);
        let buffers = Buffers::of(&simple, main);
        let (mut blocks, mut all) = (Blocks::default(), Vec::new());
        blocks.add(&simple, block, &mut all);
        let (mut readers, mut names) = (FxHashMap::<Value, Vec<Op>>::default(), FxHashMap::default());
        for &op in &all {
            let view = simple.view(op);
            let ends = view.def().terminator();
            if !ends && !buffers.steps.contains_key(&op) {
                continue;
            }
            let mut read = |value: Value| {
                let value = names.get(&value).copied().unwrap_or(value);
                readers.entry(value).or_default().push(op);
                value
            };
            match view.def().control(view) {
                Some(Control::Identity) => {
                    let operands: Vec<Value> = view.operands().iter().map(|&value| read(value)).collect();
                    names.extend(view.results().zip(operands));
                }
                None if !ends => {
                    buffers.fusion.reads(&simple, op).iter().for_each(|source| _ = read(source.value));
                    // The values that its regions read, too.
                    let regions = simple.op(op).regions.iter().flat_map(|&region| simple.region_blocks(region));
                    for inner in regions.flat_map(|&block| simple.ops_under(block)) {
                        simple.op(inner).operands.iter().for_each(|&value| _ = read(value));
                    }
                }
                _ => view.operands().iter().for_each(|&value| _ = read(value)),
            }
        }
        for (&stage, &whole) in &written {
            if let Some(&block) = blocks.block.get(&stage) {
                blocks.block.insert(whole, block);
            }
        }
        let mut changes: Vec<i64> = Vec::new();
        for buffer in buffers.buffers.iter().filter(|b| b.memory == MemorySpace::Device) {
            let (first, last) = (buffer.live.0 as usize, buffer.live.1 as usize);
            changes.resize(changes.len().max(last + 2), 0);
            changes[first] += buffer.bytes as i64;
            changes[last + 1] -= buffer.bytes as i64;
        }
        let (mut now, mut most) = (0, (0, 0));
        for (step, change) in changes.into_iter().enumerate() {
            now += change;
            if now > most.1 {
                most = (step as u32, now);
            }
        }
        let most = (most.0, most.1.unsigned_abs());
        Some(Self { bytes: buffers.device_bytes as u64, simple, written, buffers, most, readers, names, blocks })
    }

    /// Returns the value that is in memory under this name.
    pub(super) fn named(&self, value: Value) -> Value {
        self.names.get(&value).copied().unwrap_or(value)
    }

    /// Returns the most bytes that any step needs.
    pub(super) fn most_needed(&self) -> u64 {
        self.most.1
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns whether an op of the program takes no memory: it is computed in the kernels of its users, or its users
    /// read its operands instead.
    pub(super) fn is_folded(&self, program: &Program, op: Op) -> bool {
        let moves = || {
            let view = program.view(op);
            Facts::of(view).is_some_and(|facts| facts.copies) && !view.operands().is_empty()
        };
        self.buffers.fusion.is_folded(op) || !self.buffers.steps.contains_key(&op) && moves()
    }

    /// Returns the first and the last step in which an op reads a value of `block`.
    fn reading(&self, block: Block, reader: Op) -> Option<(u32, u32)> {
        self.buffers.steps.get(&self.blocks.within(block, reader)?).copied()
    }

    /// Returns whether a value is in memory at the step that needs most.
    fn is_held(&self, value: Value) -> bool {
        let ValueSource::Result(op, _) = self.simple.value_source(value) else { return true };
        let (Some(block), Some(made)) = (self.blocks.block.get(&op), self.buffers.steps.get(&op)) else { return true };
        let readers = self.readers.get(&value).map_or(&[][..], |readers| readers);
        made.0 <= self.most.0
            && readers.iter().any(|&reader| self.reading(*block, reader).is_none_or(|(_, last)| last >= self.most.0))
    }

    /// Returns the values that are live at the step that needs most only because later ops read them.
    pub(super) fn candidates(&self, program: &Program, seconds: &FxHashMap<Op, f64>) -> Vec<Candidate> {
        let mut values: Vec<Value> = self.readers.keys().copied().collect();
        values.sort_unstable();
        values.into_iter().filter_map(|value| self.candidate(program, seconds, value)).collect()
    }

    fn candidate(&self, program: &Program, seconds: &FxHashMap<Op, f64>, value: Value) -> Option<Candidate> {
        let bytes = bytes_of(&self.simple, value);
        let on_host = self.buffers.get(value).is_some_and(|id| self.buffers.buffer(id).memory == MemorySpace::Host);
        if bytes < HEURISTICS.rematerialized_share * self.bytes as f64 || on_host {
            return None;
        }
        let ValueSource::Result(op, _) = self.simple.value_source(value) else { return None };
        let (&block, made) = (self.blocks.block.get(&op)?, self.buffers.steps.get(&op)?);
        if made.1 >= self.most.0 || op.index() >= program.op_count() || !is_repeatable(program, op) {
            return None;
        }
        let mut late = Vec::new();
        for &reader in self.readers.get(&value)? {
            // The end of a block keeps it live to the last step, too.
            let (first, last) = self.reading(block, reader)?;
            if first > self.most.0 {
                late.push(self.written.get(&reader).copied().unwrap_or(reader));
            } else if last >= self.most.0 {
                return None;
            }
        }
        if late.is_empty() {
            return None;
        }
        let reads = self.buffers.fusion.reads(&self.simple, op);
        let reads: Vec<Value> = reads.iter().map(|source| self.named(source.value)).collect();
        let kept = reads.iter().filter(|&&read| !self.is_held(read)).map(|&read| bytes_of(&self.simple, read));
        let freed = bytes - kept.sum::<f64>();
        let seconds = seconds.get(&op).copied().unwrap_or_default();
        (freed > 0.0).then_some(Candidate { value, late, block, reads, freed, seconds })
    }
}

/// Returns whether an op gives the same result when it runs again: a loop nest, or a collective.
fn is_repeatable(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    let def = view.def();
    let computes = || match def.collective(view) {
        Some(_) => true,
        None => matches!(def.kernel(view), Kernel::Nest(_)),
    };
    program.result_count(op) == 1
        && !def.side_effect(view)
        && !def.terminator()
        && def.constant(view).is_none()
        && def.control(view).is_none()
        && computes()
}
