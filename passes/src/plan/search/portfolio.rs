//! Runs the searches and chooses among their plans.
//!
//! Every search adds up the costs of collectives, but later small collectives are combined. Where start-up costs
//! dominate, a plan from a less thorough search may therefore be better, so both plans are considered. Where
//! collectives overlap arithmetic, the intermediate plan with the shortest step is used.

use dialect::ir::ElementType;
use dialect::op::CollectiveKind;
use dialect::sharding::{Axes, AxisPart, Pairs};
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::Draft;
use super::egraph::rewrite::Rewrite;
use super::step_time::step_seconds;
use super::{egraph, expand};
use crate::plan::effort::Effort;
use crate::plan::heuristics::PLAN;
use crate::plan::program::graph::{Graph, OpId, Places, ValueId};
use crate::plan::reshard::cache::{Copies, Copy, Dist, ReshardCache};

/// Replaces the plan by the cheapest one found whose peak memory is at most `limit` bytes or, if there is none, at most
/// that of the initial plan. Never makes it more expensive.
pub(crate) fn best(draft: &mut Draft<'_, '_>, limit: f64, rewrites: &[&'static Rewrite]) {
    let (start, start_cost) = (draft.choice.clone(), draft.whole_cost());
    let (seconds, moves) = expand::expand(draft);
    draft.effort.expanded = seconds;
    let expanded = draft.changes();
    let rounds = if draft.graph.ops.len() < PLAN.many_ops { PLAN.rewrite_rounds } else { PLAN.fewer_rounds };
    let blocks = expand::blocks(draft, moves);
    egraph::improve(draft, rewrites, rounds);
    if blocks {
        // Rewrites may find a cheaper plan without the blocks.
        let (cost, found) = (draft.total(), draft.saved());
        draft.undo_after(expanded);
        egraph::improve(draft, rewrites, rounds);
        if cost < draft.total() {
            draft.resume(found);
        }
    }
    draft.effort.rewritten = draft.total();
    let fits = draft.fit(limit);
    let step = (draft.rates.overlaps && fits).then(|| draft.shorten(limit));
    let (cost, startups) = (draft.whole_cost(), Startups::of(draft));
    if fits && startups.all <= PLAN.startups * cost.seconds {
        return;
    }
    let found = draft.restart(start, start_cost);
    let expanded = start_cost.total();
    if fits && expanded - Startups::of(draft).all > PLAN.far * cost.total() {
        draft.restart(found, cost);
        return;
    }
    egraph::improve(draft, rewrites, PLAN.rewrite_rounds);
    let rewritten = draft.total();
    let other_fits = draft.fit(limit);
    let (other, joined) = (draft.whole_cost(), Startups::of(draft).joined);
    let (this, that) = match step {
        Some(step) => (step - startups.joined, step_seconds(draft) - joined),
        None => (cost.total() - startups.joined, other.total() - joined),
    };
    if fits && !other_fits || fits == other_fits && this < that {
        draft.restart(found, cost);
    } else {
        draft.effort = Effort { roles: draft.effort.ops, expanded, rewritten, ..draft.effort };
    }
}

/// Returns the collective that makes a copy from another one, if there is one, and its axes.
fn made_by(cache: &ReshardCache<'_>, copies: &Copies, copy: &Copy) -> Option<(CollectiveKind, Axes)> {
    let (from, kind) = copy.from?;
    let (before, after, kind) = (copies.list[from].at, copy.at, cache.step(kind));
    Some((kind.collective()?, kind.group_axes(cache.distribution(before), cache.distribution(after))))
}

/// Seconds of start-up costs of collectives.
#[derive(Clone, Copy, Default)]
struct Startups {
    /// The sum over all collectives, none combined.
    all: f64,
    /// The saving by combining those that don't depend on each other.
    joined: f64,
}

impl Startups {
    fn of(draft: &mut Draft<'_, '_>) -> Self {
        let (graph, cache, choice) = (draft.graph, &mut *draft.cache, &draft.choice);
        let mut found = Startups::default();
        // The number of collectives before each copy of a value, and the kinds and axes of those that start at each
        // such depth.
        let mut levels: FxHashMap<(ValueId, Dist), u32> = FxHashMap::default();
        let mut started: FxHashSet<(u32, CollectiveKind, Axes, ElementType, u64)> = FxHashSet::default();
        let mut rows = Rows::default();
        // The op whose result was looked at last, and how many collectives come before it: it may have thousands of
        // results.
        let mut read: (Option<OpId>, u32) = (None, 0);
        for (value, v) in graph.values.iter_enumerated() {
            let made = v.maker.map_or(0, |(op, result)| {
                let (node, places) = (&graph.ops[op], &choice.places[op]);
                if read.0 != Some(op) {
                    let copies = node.operands.iter().zip(&places.operands);
                    let level = copies.filter_map(|(v, &at)| levels.get(&((*v)?, at)).copied()).max().unwrap_or(0);
                    read = (Some(op), level);
                }
                let level = read.1;
                if result == 0 && !places.exchanged.is_empty() {
                    found.joined += rows.joined(graph, cache, op, places, level);
                }
                level + u32::from(!places.exchanged.is_empty())
            });
            let copies = graph.copies(cache, &choice.places, value);
            let mut at: Vec<u32> = Vec::with_capacity(copies.list.len());
            for copy in &copies.list {
                let mut level = made;
                if let Some((from, kind)) = copy.from {
                    level = at[from];
                    if let Some((collective, axes)) = made_by(cache, &copies, copy) {
                        let startup = cache.prices().startup(collective, &axes) * v.weight;
                        let seconds = cache.step_seconds(v.ty, copies.list[from].at, copy.at, kind) * v.weight;
                        found.all += startup;
                        let element = cache.tensor_type(v.ty).element;
                        let key = (level, collective, axes, element, v.weight.to_bits());
                        if !started.insert(key) && startup >= PLAN.combined_startup * seconds {
                            found.joined += startup;
                        }
                        level += 1;
                    }
                }
                at.push(level);
                levels.insert((value, copy.at), level);
            }
        }
        found
    }
}

/// Rows sent to neighbors: the values whose rows are sent between the same devices at one level, and so together.
#[derive(Default)]
struct Rows<'a> {
    sent: FxHashMap<(u32, &'a [AxisPart], &'a Pairs, u64), FxHashSet<ValueId>>,
}

impl<'a> Rows<'a> {
    /// Returns the seconds of start-up that an op at this level saves because rows of other values are sent between the
    /// same devices.
    fn joined(&mut self, graph: &Graph, cache: &ReshardCache<'_>, op: OpId, places: &'a Places, level: u32) -> f64 {
        let node = &graph.ops[op];
        let mut saved = 0.0;
        // The rows that one op reads are already priced together.
        let mut own: Vec<(&[AxisPart], &Pairs)> = Vec::new();
        for e in &places.exchanged {
            let Some(value) = node.operands[e.operand] else { continue };
            let bytes = cache.local_bytes(graph.values[value].ty, places.operands[e.operand]);
            let startup = cache.prices().startup(CollectiveKind::CollectivePermute, &e.axes);
            for p in &e.sent {
                let values = self.sent.entry((level, &e.axes[..], &*p.pairs, node.weight.to_bits())).or_default();
                let others = !values.is_empty();
                let worth = startup >= PLAN.combined_startup * cache.prices().permute_seconds(p.share * bytes, &e.axes);
                let first = !own.contains(&(&e.axes[..], &*p.pairs));
                own.push((&e.axes[..], &*p.pairs));
                if values.insert(value) && first && others && worth {
                    saved += startup * node.weight;
                }
            }
        }
        saved
    }
}
