//! Plans one block: searches in several variants, keeps the best, and writes it into the program.

use std::time::Instant;

use dialect::diagnostic::Diagnostics;
use dialect::ir::{AttrData, Block, Op, Program, Value};
use dialect::memory::MemorySpaces;
use dialect::ops::sdy;
use dialect::sharding::{Axes, AxisPart, Distribution};
use rustc_hash::FxHashSet;

use super::effort::Effort;
use super::heuristics::PLAN;
use super::model::choice::{Choice, Cost, Rates};
use super::model::meaning::Models;
use super::program::carried::{PartialSum, Planned};
use super::program::emit::Emit;
use super::program::graph::{Graph, ValueId, Variant};
use super::program::reader::{self, Reader};
use super::reshard::cache::ReshardCache;
use super::search::draft::{Draft, Learned};
use super::search::egraph::rewrite::Rewrite;
use super::search::{between, greedy, portfolio};
use super::{PlanOptions, PlanReport, Search};
use crate::estimate::Machine;
use crate::layouts::Layouts;
use crate::variants::{Best, Figures};

/// A block to plan: that of `@main`, or of a partly manual region.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) block: Block,
    /// The distributions of its arguments.
    pub(super) args: &'a [Distribution],
    /// The distributions in which its terminator must read its operands.
    pub(super) wanted: &'a [Distribution],
}

/// The state shared by the planning of all blocks.
pub(super) struct Planner<'a> {
    pub(super) layouts: &'a Layouts,
    pub(super) models: Models,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) report: PlanReport,
    pub(super) options: &'a PlanOptions,
    pub(super) rewrites: &'a [&'static Rewrite],
    pub(super) machine: &'a Machine,
    /// Arguments of `@main` whose memory may be reused.
    pub(super) donated: FxHashSet<Value>,
    /// Where the program's values are in memory.
    pub(super) spaces: MemorySpaces,
}

impl Planner<'_> {
    /// Plans one block.
    pub(super) fn block(&mut self, program: &mut Program, cache: &mut ReshardCache<'_>, body: Body<'_>) {
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
                let mut draft = Draft::new(&graph, cache, &self.models, &mut learned, self.rates(), choice, None);
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
        if found.graph.ops.len() > PLAN.replanned_ops && most < PLAN.replanned_share * found.cost.total() {
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
            let mut draft = Draft::new(&graph, cache, &self.models, learned, rates, choice, Some(cost));
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
        let (operands, results) = reader::manual_places(program, mesh_axes, op, self.diagnostics);
        let is_manual = |p: AxisPart| axes.contains(&mesh_axes.axis_ref(p).name);
        let free = |list: &[Distribution]| list.iter().map(|d| reader::without(d, &is_manual)).collect::<Vec<_>>();
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
