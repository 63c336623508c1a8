//! Copying ops with their regions while renaming values: for inlining, outlining, partitioning.

use rustc_hash::FxHashMap;

use super::entity::{Block, Loc, Op, Region, Value};
use super::loc::LocData;
use super::program::Program;

/// The renaming that a copy applies.
#[derive(Default)]
pub struct Renaming {
    /// New values by old values; other values stay the same.
    pub values: FxHashMap<Value, Value>,
    /// The call site of the copied ops: their locations become `callsite(old at this)`.
    pub call_site: Option<Loc>,
}

impl Renaming {
    /// Returns the new name of `value`.
    pub fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }
}

impl Program {
    /// Returns a copy of `op` in no block yet, and adds its results to `renaming` for the ops that are copied next.
    pub fn clone_op(&mut self, op: Op, renaming: &mut Renaming) -> Op {
        let mut regions = self.op(op).regions.clone();
        regions.iter_mut().for_each(|r| *r = self.clone_region(*r, renaming));
        let loc = self.called_from(self.op(op).loc, renaming.call_site);
        let copy = self.copy_op(op);
        for (old, new) in self.results(op).zip(self.results(copy)) {
            self.values[new].loc = loc;
            renaming.values.insert(old, new);
        }
        let data = self.op_mut(copy);
        data.operands.iter_mut().for_each(|v| *v = renaming.value(*v));
        (data.regions, data.loc) = (regions, loc);
        copy
    }

    /// Returns a copy of a region.
    pub fn clone_region(&mut self, region: Region, renaming: &mut Renaming) -> Region {
        let blocks: Vec<Block> = self.region_blocks(region).to_vec();
        let copies: Vec<Block> = blocks.iter().map(|&b| self.clone_block(b, renaming)).collect();
        if blocks.len() > 1 {
            let of: FxHashMap<Block, Block> = blocks.into_iter().zip(copies.iter().copied()).collect();
            for op in copies.iter().filter_map(|&copy| self.terminator(copy)).collect::<Vec<_>>() {
                let next = self.op_mut(op).successors.iter_mut().flat_map(|s| s.iter_mut());
                next.for_each(|block| *block = of.get(block).copied().unwrap_or(*block));
            }
        }
        self.new_region(&copies)
    }

    /// Returns a copy of a block.
    pub fn clone_block(&mut self, block: Block, renaming: &mut Renaming) -> Block {
        let copy = self.new_block();
        for arg in self.block_args(block).to_vec() {
            let loc = self.called_from(self.value_loc(arg), renaming.call_site);
            let new = self.add_block_arg(copy, self.value_type(arg), loc, self.value_span(arg));
            renaming.values.insert(arg, new);
        }
        let ops: Vec<Op> = self.block_ops(block).to_vec().into_iter().map(|op| self.clone_op(op, renaming)).collect();
        self.set_block_ops(copy, ops);
        copy
    }

    /// Returns `loc` as called from `call_site`, if that is given.
    pub fn called_from(&mut self, loc: Loc, call_site: Option<Loc>) -> Loc {
        match call_site {
            Some(site) if self.canonical_loc(loc) == Loc::UNKNOWN => site,
            Some(site) if self.canonical_loc(site) != Loc::UNKNOWN => self.intern_loc(LocData::CallSite(loc, site)),
            _ => loc,
        }
    }
}
