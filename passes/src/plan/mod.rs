//! plan: chooses where every value lies, so that each op is computed from what a device holds and as little as
//! possible is moved.
//!
//! Assumes what `propagate` leaves: calls inlined, a sharding for every value that has one. Leaves a program in which
//! the operands and results of every op agree under its sharding rule, every change of distribution is a collective
//! of the sdy dialect with its cause, every result has a closed `sdy.sharding`, and all speak of one mesh.
//! What the user fixed stays: arguments and results of `@main`, constraints, operands and results of manual regions.

mod copies;
pub mod cost;
pub mod distribution;
mod emit;
mod greedy;
mod homes;
pub mod reshard;
mod search;
pub mod step;
pub mod strategy;

#[cfg(test)]
mod reshard_tests;
#[cfg(test)]
mod simulate;

use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Op, Program};
use dialect::ops::func;
use dialect::sharding::MeshRef;

use crate::options::{OptionDef, OptionType};
use crate::pass::Pass;
use cost::{CollectiveCost, Flat};
use emit::Emit;
use homes::Homes;
use reshard::Resharder;

/// How far the plan looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// Every op for itself.
    Greedy,
    /// The whole program.
    #[default]
    Full,
}

/// What the plan is asked for.
pub struct PlanOptions<'a> {
    /// How far it looks.
    pub search: Search,
    /// What collectives cost; the flat model when `None`.
    pub cost: Option<&'a dyn CollectiveCost>,
}

impl Default for PlanOptions<'_> {
    fn default() -> Self {
        Self { search: Search::Full, cost: None }
    }
}

/// What the plan costs under its model, once through the program: loops count as often as they are thought to run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlanReport {
    /// Seconds of communication of the greedy plan.
    pub greedy_seconds: f64,
    /// Bytes a device moves in it.
    pub greedy_bytes: f64,
    /// Seconds of communication of the plan chosen.
    pub seconds: f64,
    /// Bytes a device moves in it.
    pub bytes: f64,
}

/// The pass.
pub static PASS: Pass = Pass {
    name: "plan",
    doc: "Choose where every value lies and write each change of distribution as an sdy collective.",
    options: &[OptionDef {
        name: "search",
        ty: OptionType::Choice(&["full", "greedy"]),
        default: "full",
        doc: "Choose for the whole program, or for each op alone.",
    }],
    run: |program, options, diagnostics| {
        let search = if options.text("search") == "greedy" { Search::Greedy } else { Search::Full };
        plan(program, &PlanOptions { search, cost: None }, diagnostics);
    },
};

/// Plans `program`.
pub fn plan(program: &mut Program, options: &PlanOptions<'_>, diagnostics: &mut Diagnostics) -> PlanReport {
    let Some(main) = func::function(program, "main") else {
        let d = Diagnostic::error("plan", Span::default(), "the module has no function @main");
        diagnostics.push(d.note("name the function to plan main"));
        return PlanReport::default();
    };
    let Some(block) = func::block(program, main) else { return PlanReport::default() };
    let grid = homes::main_grid(program, main, block);
    let homes = Homes::read(program, &grid, main, block, diagnostics);
    if diagnostics.has_errors() {
        return PlanReport::default();
    }
    let flat = Flat::default();
    let cost = options.cost.unwrap_or(&flat);
    let mut emit = Emit {
        program,
        diagnostics,
        grid: &grid,
        resharder: Resharder::new(&grid, cost),
        homes,
        copies: Default::default(),
        open: Vec::new(),
        weight: 1.0,
        seconds: 0.0,
        bytes: 0.0,
    };
    emit.main(main, block);
    let (seconds, bytes) = (emit.seconds, emit.bytes);
    keep_one_mesh(program, &grid.mesh);
    PlanReport { greedy_seconds: seconds, greedy_bytes: bytes, seconds, bytes }
}

/// Takes out the meshes that no sharding speaks of any more.
fn keep_one_mesh(program: &mut Program, mesh: &MeshRef) {
    let MeshRef::Symbol(name) = mesh else { return };
    let kept = program.name_text(*name);
    let others: Vec<Op> = program.top_level("sdy.mesh").filter(|&m| func::symbol(program, m) != Some(kept)).collect();
    let body = program.body();
    let ops = program.block_ops(body).iter().copied().filter(|op| !others.contains(op)).collect();
    program.set_block_ops(body, ops);
}
