//! Rewrites of the propagated program before the plan, which then only chooses shardings: ops that need all of a
//! sharded dimension become several that don't, and ops that move rows along a sharded dimension move them directly.
//!
//! Each pass states the shardings of the values that it creates. A new value has the layout that propagation would give
//! it; the plan may still choose another.

mod assemble_rows;
mod decompose_sharded;
mod merge_shifts;
mod slice_gathers;

pub(crate) use assemble_rows::PASS as ASSEMBLE_ROWS;
pub(crate) use decompose_sharded::PASS as DECOMPOSE_SHARDED;
pub(crate) use merge_shifts::PASS as MERGE_SHIFTS;
pub(crate) use slice_gathers::PASS as SLICE_GATHERS;

use std::cell::OnceCell;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{AttrData, Block, Op, Program, Uses, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{Distribution, MeshAxes};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::estimate::{Machine, Target};
use crate::layouts::{self, Layouts};
use crate::plan::Search;

/// The pipeline of these passes.
pub(crate) const PIPELINE: &str = "prepare";

/// Runs the standard passes of [`PIPELINE`].
pub(crate) fn prepare(program: &mut Program, search: Search, target: Target, diagnostics: &mut Diagnostics) {
    decompose_sharded::decompose(program, search, target, diagnostics);
    slice_gathers::slice(program);
    assemble_rows::assemble(program, target, diagnostics);
    merge_shifts::merge(program);
}

/// The program's `@main` and the layouts under it, which are read when a pass needs the first one.
struct Prepared {
    main: Op,
    block: Block,
    read: OnceCell<Layouts>,
    /// The layouts of values that the pass created.
    created: FxHashMap<Value, Distribution>,
}

impl Prepared {
    /// Returns `None` where the program has no `@main`, which `plan` reports.
    fn of(program: &Program) -> Option<Self> {
        let main = func::function(program, "main")?;
        let block = func::block(program, main)?;
        Some(Self { main, block, read: OnceCell::new(), created: FxHashMap::default() })
    }

    fn layouts(&self, program: &Program) -> &Layouts {
        self.read.get_or_init(|| Layouts::of(program, self.main, self.block))
    }

    /// Returns the layout of a value; replicated if it has none.
    fn get(&self, program: &Program, value: Value) -> Distribution {
        let created = self.created.get(&value).zip(program.tensor_type(value));
        let found =
            created.map_or_else(|| self.layouts(program).get(program, value), |(found, ty)| layouts::useful(found, ty));
        found.into_owned()
    }

    /// Returns the layout of a value without axes that don't divide a dimension.
    fn even(&self, program: &Program, value: Value) -> Distribution {
        let found = self.get(program, value);
        program.tensor_type(value).map_or_else(|| found.clone(), |ty| layouts::even(found.clone(), ty))
    }

    fn set(&mut self, value: Value, layout: Distribution) {
        self.created.insert(value, layout);
    }

    /// Returns the machine with the mesh of the layouts; reports an error where they don't fit.
    fn machine(&self, program: &Program, target: Target, diagnostics: &mut Diagnostics) -> Option<Machine> {
        machine(self.layouts(program).mesh_axes(), target, diagnostics)
    }

    /// Replaces ops under `@main`: `rewrite` gets each op in order, with the block that it is in and the ops written
    /// to that block so far, and returns the values that replace its results, or `None` to keep the op. New ops get
    /// their shardings, and ops that only replaced ops read are removed.
    fn rewrite(
        mut self,
        program: &mut Program,
        mut rewrite: impl FnMut(&mut Self, &mut Program, (Op, Block), &mut Vec<Op>) -> Option<Vec<Value>>,
    ) {
        let (mut renamed, mut replaced): (FxHashMap<Value, Value>, Vec<Op>) = Default::default();
        for block in program.blocks_under(self.block) {
            let old = program.block_ops(block).to_vec();
            let mut ops = Vec::with_capacity(old.len());
            for &op in &old {
                let first = ops.len();
                let results = rewrite(&mut self, program, (op, block), &mut ops);
                for &created in &ops[first..] {
                    program.op_mut(created).span = program.op(op).span;
                }
                let Some(results) = results else {
                    ops.push(op);
                    continue;
                };
                for (old, new) in program.results(op).zip(results) {
                    let new = renamed.get(&new).copied().unwrap_or(new);
                    renamed.insert(old, new);
                }
                replaced.push(op);
            }
            if ops != old {
                program.set_block_ops(block, ops);
            }
        }
        if !replaced.is_empty() {
            self.state(program);
            program.rename(&renamed);
            remove_unread(program, self.block, &replaced);
        }
    }

    /// States the layouts of created values in the program.
    fn state(&self, program: &mut Program) {
        let mut ops: Vec<Op> = self.created.keys().filter_map(|&v| defining(program, v)).collect();
        ops.sort_unstable();
        ops.dedup();
        for op in ops {
            let layouts: Vec<Distribution> = program.results(op).map(|v| self.get(program, v)).collect();
            let axes = self.layouts(program).mesh_axes();
            let list = layouts.iter().map(|layout| axes.sharding(layout)).collect();
            let attr = program.intern_attr(AttrData::ShardingPerValue(list));
            program.set_attr(op, func::SHARDING, attr);
        }
    }
}

/// Returns the machine that has the mesh of these axes; reports an error where they don't fit.
pub(crate) fn machine(axes: &MeshAxes, target: Target, diagnostics: &mut Diagnostics) -> Option<Machine> {
    let sizes: Vec<u64> = axes.data.axes.iter().map(|a| a.1.max(1) as u64).collect();
    match Machine::new(target, &sizes) {
        Ok(machine) => Some(machine),
        Err(fault) => {
            let d = Diagnostic::error(codes::TARGET_SIZE, Span::default(), fault.message);
            diagnostics.push(d.note("name a slice whose number of chips is a multiple of the mesh's devices"));
            None
        }
    }
}

fn defining(program: &Program, value: Value) -> Option<Op> {
    match program.value_source(value) {
        ValueSource::Result(op, _) => Some(op),
        ValueSource::Arg(..) => None,
    }
}

/// Removes ops that only the `replaced` ops read, since the plan would otherwise plan them too.
fn remove_unread(program: &mut Program, block: Block, replaced: &[Op]) {
    let uses = Uses::of(program, block);
    let mut removed: FxHashSet<Op> = FxHashSet::default();
    let mut left: Vec<Value> = replaced.iter().flat_map(|&op| program.op(op).operands.iter().copied()).collect();
    while let Some(value) = left.pop() {
        let Some(op) = defining(program, value) else { continue };
        let unread = |v: Value| uses.get(v).iter().all(|u| removed.contains(&u.0));
        let view = program.view(op);
        if !view.def().side_effect(view) && program.results(op).all(unread) && removed.insert(op) {
            left.extend(&program.op(op).operands);
        }
    }
    remove_ops(program, block, &removed);
}

/// Removes ops from the blocks under `block`.
pub(crate) fn remove_ops(program: &mut Program, block: Block, removed: &FxHashSet<Op>) {
    for block in program.blocks_under(block) {
        if program.block_ops(block).iter().any(|op| removed.contains(op)) {
            let ops = program.block_ops(block).iter().copied().filter(|op| !removed.contains(op)).collect();
            program.set_block_ops(block, ops);
        }
    }
}
