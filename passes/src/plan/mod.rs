//! plan: chooses how every value is sharded, so that each op is computed from shards that the device holds and little
//! data is moved.
//!
//! Requires the program that `propagate` leaves: calls inlined, a sharding for every value that has one. Leaves a
//! program in which the operands and results of every op agree under its sharding rule, every change of distribution is
//! a collective of the sdy dialect with its cause, every result has a closed `sdy.sharding`, and all shardings refer to
//! one mesh. Keeps all shardings that the user fixed: arguments and results of `@main`, constraints, operands and
//! results of manual regions.

mod candidates;
mod effort;
mod heuristics;
pub mod model;
mod planner;
mod program;
pub mod reshard;
mod search;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Attr, Op, Program, Stage, Ty};
use dialect::memory::MemorySpaces;
use dialect::ops::func::Signature;
use dialect::ops::{func, sdy};
use dialect::sharding::{Distribution, MeshAxes, MeshRef};

pub use effort::Effort;
pub use search::egraph::rewrite::{Class, Derivation, PlannedOp, Plans, Rewrite};

use crate::check_memory::OVER_MEMORY;
use crate::compile_options::{CompileOptions, Field, MEMORY, TARGET};
use crate::estimate::Target;
use crate::layouts::Layouts;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::prepare;
use model::machine_cost::MachineCost;
use planner::{Body, Planner};
use program::{emit, reader};
use reshard::cache::ReshardCache;
use search::egraph;

/// How much of the program the plan considers at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// Each op on its own.
    Greedy,
    /// The whole program.
    #[default]
    Full,
}

/// Options of the plan.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlanOptions {
    /// How much of the program it considers at once.
    pub search: Search,
    /// The machine that runs the program.
    pub target: Target,
    /// The bytes that a device may hold at once; `None` for no limit.
    pub memory: Option<u64>,
}

/// The cost of a plan under its model for one run of the program; loops count as often as they are expected to run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlanReport {
    /// Seconds of communication and computation of the greedy plan.
    pub greedy_seconds: f64,
    /// Bytes a device moves in the greedy plan.
    pub greedy_bytes: f64,
    /// Seconds of communication and computation of the chosen plan.
    pub seconds: f64,
    /// Bytes a device moves in the chosen plan.
    pub bytes: f64,
    /// Most bytes a device holds at once in the greedy plan: the maximum over all blocks that are planned separately.
    pub greedy_peak: f64,
    /// Most bytes a device holds at once in the chosen plan.
    pub peak: f64,
    /// Statistics of the searches.
    pub effort: Effort,
}

/// The pass.
pub static PASS: Pass = Pass {
    name: "plan",
    doc: "Chooses the layout of every value and writes each redistribution as an sdy collective.",
    effect: Effect::Reach(Stage::Planned),
    options: &[
        OptionDef::field("search", Field::Search, "full", "Plan the whole program, or each op independently."),
        OptionDef { doc: "The machine to plan for: flat, or a slice of TPUs like v5e:4x2.", ..TARGET },
        MEMORY,
        OVER_MEMORY,
    ],
    run: |program, given, diagnostics| {
        let CompileOptions { search, memory, .. } = given.compile;
        let Some(target) = given.target(diagnostics) else { return };
        let options = PlanOptions { search, target, memory };
        let report = candidates::plan_best(program, given, &options, diagnostics);
        effort::count(given, &report);
    },
};

/// Returns the names and descriptions of the rewrites that the search uses.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    egraph::rules()
}

/// Prepares `program` by the passes of `prepare` and plans it.
pub fn plan(program: &mut Program, options: &PlanOptions, diagnostics: &mut Diagnostics) -> PlanReport {
    dialect::verify_transitions(program, diagnostics);
    if diagnostics.has_errors() {
        return PlanReport::default();
    }
    prepare::prepare(program, options.search, options.target, diagnostics);
    plan_with(program, options, &[], diagnostics)
}

/// Plans a prepared program, unless it has errors, with `rewrites` in addition to the built-in ones.
fn plan_with(
    program: &mut Program,
    options: &PlanOptions,
    rewrites: &[&'static Rewrite],
    diagnostics: &mut Diagnostics,
) -> PlanReport {
    if diagnostics.has_errors() {
        return PlanReport::default();
    }
    let Some(main) = func::function(program, "main") else {
        let d = Diagnostic::error(codes::NO_MAIN, Span::default(), "the module has no function @main");
        diagnostics.push(d.note("the function that is planned must be called main"));
        return PlanReport::default();
    };
    let Some(block) = func::block(program, main) else { return PlanReport::default() };
    let layouts = Layouts::of(program, main, block);
    let mesh_axes = layouts.mesh_axes();
    crate::custom_partitioning::refuse(program, mesh_axes.data.devices(), diagnostics);
    layouts.check(program, main, block, diagnostics);
    if diagnostics.has_errors() {
        return PlanReport::default();
    }
    let Some(machine) = prepare::machine(mesh_axes, options.target, diagnostics) else { return PlanReport::default() };
    let cost = MachineCost::new(&machine);
    program.rename(layouts.combined());
    let (args, wanted) = reader::signature(program, &layouts, main, block, diagnostics);
    let mut cache = ReshardCache::new(mesh_axes, &cost);
    let (models, report) = (program.take_memo(), PlanReport::default());
    let donated = program.block_args(block).iter().enumerate().filter(|a| func::is_donated(program, main, a.0));
    let donated = donated.map(|a| *a.1).collect();
    let spaces = MemorySpaces::of(program, main);
    let mut pass = Planner {
        layouts: &layouts,
        models,
        diagnostics,
        report,
        options,
        rewrites,
        machine: &machine,
        donated,
        spaces,
    };
    pass.block(program, &mut cache, Body { block, args: &args, wanted: &wanted });
    let Planner { report, models, .. } = pass;
    program.keep_memo(models);
    state_signature(program, mesh_axes, main, &args, &wanted);
    keep_one_mesh(program, &mesh_axes.mesh);
    report
}

/// Writes the shardings of arguments and results into the function.
fn state_signature(
    program: &mut Program,
    mesh_axes: &MeshAxes,
    main: Op,
    args: &[Distribution],
    wanted: &[Distribution],
) {
    let Signature { inputs, results } = func::signature(program, main);
    let tensors = |program: &Program, types: &[Ty]| -> Vec<bool> {
        types.iter().map(|&t| program.type_data(t).tensor().is_some()).collect()
    };
    let (inputs, results) = (tensors(program, inputs), tensors(program, results));
    let mut attrs = |all: &[Distribution], tensors: &[bool]| -> Vec<(usize, Option<Attr>)> {
        let placed = all.iter().enumerate().filter(|a| tensors.get(a.0) == Some(&true));
        placed.map(|(i, at)| (i, Some(emit::sharding_attr(program, mesh_axes, at)))).collect()
    };
    let (args, wanted) = (attrs(args, &inputs), attrs(wanted, &results));
    func::set_arg_attrs(program, main, func::SHARDING, &args);
    func::set_result_attrs(program, main, func::SHARDING, &wanted);
}

/// Removes the meshes that no sharding refers to any more.
fn keep_one_mesh(program: &mut Program, mesh: &MeshRef) {
    let MeshRef::Symbol(name) = mesh else { return };
    let kept = program.name_text(*name);
    let others: Vec<Op> = sdy::meshes(program).filter(|m| m.1 != kept).map(|m| m.0).collect();
    let body = program.body();
    let ops = program.block_ops(body).iter().copied().filter(|op| !others.contains(op)).collect();
    program.set_block_ops(body, ops);
    // A sharding of an op without results names the device that runs the op, over a mesh of that device alone.
    for op in program.ops_under(body) {
        if program.result_count(op) == 0 && !program.op(op).def.terminator() {
            program.remove_attr(op, func::SHARDING);
        }
    }
}
