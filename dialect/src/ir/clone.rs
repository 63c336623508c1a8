//! Copying ops with everything inside, values renamed on the way: inlining, outlining, partitioning.

use rustc_hash::FxHashMap;

use super::entity::{Block, Loc, Op, Region, Value};
use super::loc::LocData;
use super::program::Program;

/// What copying renames.
#[derive(Default)]
pub struct Renaming {
    /// New values for old ones; others stay.
    pub values: FxHashMap<Value, Value>,
    /// Called from here: locations become `callsite(old at this)`.
    pub call_site: Option<Loc>,
}

impl Renaming {
    /// The new name of `value`.
    pub fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }
}

impl Program {
    /// A copy of `op` that stands nowhere yet; its results are renamed for what is copied next.
    pub fn clone_op(&mut self, op: Op, renaming: &mut Renaming) -> Op {
        let data = self.op(op).clone();
        let operands: Vec<Value> = data.operands.iter().map(|&v| renaming.value(v)).collect();
        let regions: Vec<Region> = data.regions.iter().map(|&r| self.clone_region(r, renaming)).collect();
        let types: Vec<_> = self.results(op).map(|v| self.value_type(v)).collect();
        let loc = self.called_from(data.loc, renaming.call_site);
        let name = self.name_text(data.name).to_owned();
        let copy = self.new_op(data.def, &name, &operands, &types, &data.attrs, &regions, loc);
        for (i, old) in self.results(op).enumerate() {
            let new = self.result(copy, i);
            self.values[new.index()].span = self.value_span(old);
            renaming.values.insert(old, new);
        }
        let to = self.op_mut(copy);
        (to.span, to.operand_spans, to.text_span) = (data.span, data.operand_spans, data.text_span);
        copy
    }

    /// A copy of a region.
    pub fn clone_region(&mut self, region: Region, renaming: &mut Renaming) -> Region {
        let blocks: Vec<Block> = self.region_blocks(region).to_vec();
        let copies: Vec<Block> = blocks.into_iter().map(|b| self.clone_block(b, renaming)).collect();
        self.new_region(&copies)
    }

    /// A copy of a block.
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

    fn called_from(&mut self, loc: Loc, call_site: Option<Loc>) -> Loc {
        match call_site {
            Some(site) if self.canonical_loc(loc) == Loc::UNKNOWN => site,
            Some(site) if self.canonical_loc(site) != Loc::UNKNOWN => self.intern_loc(LocData::CallSite(loc, site)),
            _ => loc,
        }
    }
}
