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
mod program;
pub mod reshard;
mod search;

use std::time::Instant;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Attr, AttrData, Block, Op, Program, Stage, Ty, Value};
use dialect::memory::MemorySpaces;
use dialect::ops::func::Signature;
use dialect::ops::{func, sdy};
use dialect::sharding::{Axes, AxisPart, Distribution, MeshAxes, MeshRef};

use rustc_hash::FxHashSet;

pub use effort::Effort;
pub use search::egraph::rewrite::{Class, Made, PlannedOp, Plans, Rewrite};

use crate::check_memory::OVER_MEMORY;
use crate::compile_options::{CompileOptions, Field, MEMORY, TARGET};
use crate::estimate::{Machine, Target};
use crate::layouts::Layouts;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::plan::heuristics::PLAN;
use crate::prepare;
use crate::variants::{Best, Figures};
use model::choice::{Choice, Cost, Rates};
use model::machine_cost::MachineCost;
use model::meaning::Models;
use program::carried::{PartialSum, Planned};
use program::emit::{self, Emit};
use program::graph::{self, Graph, Reader, ValueId, Variant};
use reshard::cache::ReshardCache;
use search::draft::{Draft, Learned};
use search::{between, egraph, greedy, portfolio};

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
    let (args, wanted) = graph::signature(program, &layouts, main, block, diagnostics);
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

/// A block to plan: that of `@main`, or of a partly manual region.
#[derive(Clone, Copy)]
struct Body<'a> {
    block: Block,
    /// The distributions of its arguments.
    args: &'a [Distribution],
    /// The distributions in which its terminator wants its operands.
    wanted: &'a [Distribution],
}

/// The state shared by the planning of all blocks.
struct Planner<'a> {
    layouts: &'a Layouts,
    models: Models,
    diagnostics: &'a mut Diagnostics,
    report: PlanReport,
    options: &'a PlanOptions,
    rewrites: &'a [&'static Rewrite],
    machine: &'a Machine,
    /// Arguments of `@main` whose memory may be reused.
    donated: FxHashSet<Value>,
    /// Where the program's values are in memory.
    spaces: MemorySpaces,
}

impl Planner<'_> {
    /// Plans one block.
    fn block(&mut self, program: &mut Program, cache: &mut ReshardCache<'_>, body: Body<'_>) {
        cache.send_parts(false);
        let (start, mut learned) = (Variant::default(), Learned::default());
        let Some(found) = self.search(program, cache, body, &start, &mut learned, None) else { return };
        let figures = found.figures();
        let mut best = Best::new((found, start), figures, self.limit(), 0.0);
        let found = &best.kept.0;
        let too_large = best.excess() > 0.0;
        if found.graph.is_uneven && (too_large || found.graph.padding_costs(cache, &found.choice)) {
            let next = Variant { even: true, ..Variant::default() };
            let even = self.search(program, cache, body, &next, &mut learned, None);
            if let Some(even) = even {
                best.offer(even.figures(), || (even, next));
            }
        }
        if self.options.search == Search::Full {
            for stacks in [true, false] {
                let (found, variant) = &best.kept;
                let (graph, places, models) = (&found.graph, &found.choice.places, &self.models);
                let planned = Planned { program, graph, places, models, cache };
                let moved =
                    if stacks { planned.as_made() } else { self.sums_to_carry(&planned.partial_sums(), found, cache) };
                if moved.is_empty() {
                    continue;
                }
                let mut next = variant.clone();
                next.carried.extend(moved);
                let carried = self.search(program, cache, body, &next, &mut learned, Some(found));
                if let Some(carried) = carried {
                    best.offer(carried.figures(), || (carried, next));
                }
            }
        }
        let Found { graph, mut choice, mut greedy, mut greedy_peak, mut cost, mut peak, mut effort } = best.kept.0;
        cache.send_parts(true);
        let in_parts = graph.peak(cache, &choice);
        if in_parts > peak && self.options.memory.is_some_and(|bytes| in_parts > bytes as f64) {
            cache.send_parts(false);
        } else {
            peak = in_parts;
            if self.options.search == Search::Full {
                let limit = self.limit();
                let mut draft = Draft::new(&graph, cache, &self.models, &mut learned, self.rates(), (choice, None));
                between::settle(&mut draft, limit);
                choice = draft.choice;
                peak = graph.peak(cache, &choice);
            }
            cost = graph.cost(cache, self.rates(), &choice);
        }
        if self.options.search == Search::Greedy {
            (greedy, greedy_peak) = (cost, peak);
            (effort.expanded, effort.rewritten) = (cost.total(), cost.total());
        }
        self.report.effort.adopt(&effort);
        self.report.greedy_seconds += greedy.total();
        self.report.greedy_bytes += greedy.bytes;
        self.report.seconds += cost.total();
        self.report.bytes += cost.bytes;
        self.report.greedy_peak = self.report.greedy_peak.max(greedy_peak);
        self.report.peak = self.report.peak.max(peak);
        let mut partly_manual: Vec<Op> = Vec::new();
        Emit::new(program, &graph, &choice.places, cache, &mut |_, op| partly_manual.push(op)).block(body.block);
        for op in partly_manual {
            self.inside(program, cache, op);
        }
    }

    /// Returns those of `sums` that another search carries as partial sums: all, or none where the possible gain is too
    /// small.
    fn sums_to_carry(
        &self,
        sums: &[PartialSum],
        found: &Found,
        cache: &mut ReshardCache<'_>,
    ) -> Vec<(Value, Distribution)> {
        let most = PartialSum::most_gained(sums, &found.graph, &found.choice, cache, self.rates());
        if found.graph.ops.len() > PLAN.replanned_ops && most < PLAN.clear_gain * found.cost.total() {
            return Vec::new();
        }
        sums.iter().map(|sum| (sum.result, sum.at.clone())).collect()
    }

    fn rates(&self) -> Rates {
        Rates { memory: self.machine.memory_bandwidth(), overlaps: self.machine.overlaps_communication() }
    }

    /// Returns the bytes that a device may hold at once.
    fn limit(&self) -> f64 {
        self.options.memory.map_or(f64::INFINITY, |bytes| bytes as f64)
    }

    /// Returns the best plan found for one block, starting from the layouts of `variant`, or from a plan `before` of
    /// the same block in another variant.
    fn search(
        &mut self,
        program: &Program,
        cache: &mut ReshardCache<'_>,
        body: Body<'_>,
        variant: &Variant,
        learned: &mut Learned,
        before: Option<&Found>,
    ) -> Option<Found> {
        let graph = self.graph(program, cache, body, variant)?;
        let rates = self.rates();
        let start = Instant::now();
        let mut choice = greedy::greedy(&graph, cache, &self.models, &mut learned.placer, rates);
        // A greedy plan that isn't compared with another plan is priced only once, when it is used.
        let compared = self.options.search == Search::Full || self.options.memory.is_some() || graph.is_uneven;
        let price = |cache: &mut ReshardCache<'_>| (graph.cost(cache, rates, &choice), graph.peak(cache, &choice));
        let (mut cost, mut peak) = if compared { price(cache) } else { Default::default() };
        if let Some(before) = before {
            let known = before.on(&graph, &choice);
            let known_cost = graph.cost(cache, rates, &known);
            if known_cost.total() <= cost.total() {
                (peak, cost, choice) = (graph.peak(cache, &known), known_cost, known);
            }
        }
        let (greedy, greedy_peak) = before.map_or((cost, peak), |before| (before.greedy, before.greedy_peak));
        let begun = cost.total();
        let ops = graph.ops.len();
        let mut effort = Effort { ops, roles: ops, expanded: begun, rewritten: begun, ..Effort::default() };
        effort.greedy_time = start.elapsed();
        if self.options.search == Search::Full {
            let limit = self.limit();
            let mut draft = Draft::new(&graph, cache, &self.models, learned, rates, (choice, Some(cost)));
            draft.effort = effort;
            portfolio::best(&mut draft, limit, self.rewrites);
            cost = draft.whole_cost();
            (choice, effort) = (draft.choice, draft.effort);
            peak = graph.peak(cache, &choice);
            debug_assert!(cost.total() <= begun * (1.0 + 1e-6), "the plan is more expensive than the initial plan");
        }
        self.report.effort.add(&effort);
        Some(Found { graph, choice, greedy, greedy_peak, cost, peak, effort })
    }

    /// Returns the graph of one block; `None` where the program has errors.
    fn graph(
        &mut self,
        program: &Program,
        cache: &mut ReshardCache<'_>,
        body: Body<'_>,
        variant: &Variant,
    ) -> Option<Graph> {
        let (layouts, models, diagnostics) = (self.layouts, &mut self.models, &mut *self.diagnostics);
        let mut reader = Reader {
            program,
            layouts,
            variant,
            models,
            cache,
            diagnostics,
            machine: self.machine,
            donated: &self.donated,
            spaces: &self.spaces,
            graph: Graph::with_capacity(program.ops_under(body.block).len()),
            moments: Vec::new(),
            weight: 1.0,
        };
        reader.block(body.block, body.args, body.wanted);
        let graph = reader.finish();
        (!self.diagnostics.has_errors()).then_some(graph)
    }

    /// Plans the body of a partly manual region over the axes that are not manual.
    fn inside(&mut self, program: &mut Program, cache: &ReshardCache<'_>, op: Op) {
        let Some(manual) = sdy::ManualComputation::of(program.view(op)) else { return };
        let axes = manual.manual_axes.to_vec();
        let Some(block) = program.region_block(op, 0) else { return };
        let mesh_axes = cache.mesh_axes();
        let (operands, results) = graph::manual_places(program, mesh_axes, op, self.diagnostics);
        let is_manual = |p: AxisPart| axes.contains(&mesh_axes.axis_ref(p).name);
        let free = |list: &[Distribution]| list.iter().map(|d| graph::without(d, &is_manual)).collect::<Vec<_>>();
        let along: Axes = mesh_axes.nontrivial().filter(|&a| is_manual(a)).collect();
        let mut inner = cache.without_axes(&along);
        self.block(program, &mut inner, Body { block, args: &free(&operands), wanted: &free(&results) });
        // A region that is manual over all axes also lists axes of size 1, but not those that are manual in the region
        // around it.
        for op in program.ops_under(block) {
            let Some(nested) = sdy::ManualComputation::of(program.view(op)) else { continue };
            if nested.manual_axes.iter().any(|axis| axes.contains(axis)) {
                let own = nested.manual_axes.iter().copied().filter(|axis| !axes.contains(axis)).collect();
                let attr = program.intern_attr(AttrData::ManualAxes(own));
                program.set_attr(op, sdy::MANUAL_AXES, attr);
            }
        }
    }
}

/// A plan of one block.
struct Found {
    graph: Graph,
    choice: Choice,
    greedy: Cost,
    greedy_peak: f64,
    cost: Cost,
    peak: f64,
    effort: Effort,
}

impl Found {
    /// Maps this plan to another graph of the same ops; takes the strategies of `otherwise` for ops that differ there
    /// or whose values begin in other distributions.
    fn on(&self, graph: &Graph, otherwise: &Choice) -> Choice {
        let mut choice = otherwise.clone();
        let same_value = |(a, b): (&Option<ValueId>, &Option<ValueId>)| match (*a, *b) {
            (Some(a), Some(b)) => {
                let (a, b) = (&self.graph.values[a], &graph.values[b]);
                (a.ty, a.propagated, a.fixed) == (b.ty, b.propagated, b.fixed)
            }
            (a, b) => a == b,
        };
        for ((before, after), op) in self.graph.ops.iter().zip(&graph.ops).zip(graph.ops.keys()) {
            let same = before.model == after.model
                && before.fixed.is_none()
                && after.fixed.is_none()
                && before.operands.len() == after.operands.len()
                && before.results.len() == after.results.len()
                && before
                    .operands
                    .iter()
                    .chain(&before.results)
                    .zip(after.operands.iter().chain(&after.results))
                    .all(same_value);
            if same {
                choice.strategies[op] = self.choice.strategies[op];
                choice.places[op] = self.choice.places[op].clone();
            }
        }
        choice
    }

    fn figures(&self) -> Figures {
        Figures { seconds: self.cost.total(), bytes: self.peak }
    }
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
