//! A plan during the search: strategies that are cheaper together are changed together, and undone together.

use std::mem;
use std::rc::Rc;

use smallvec::SmallVec;

use super::demand::UserDemand;
use super::egraph;
use super::step_time::step_seconds;
use crate::heuristics::HEURISTICS;
use crate::plan::effort::Effort;
use crate::plan::heuristics::{PLAN, ROUNDING};
use crate::plan::model::choice::{Choice, Cost, Placer, Rates, StrategyId};
use crate::plan::model::meaning::Models;
use crate::plan::program::graph::{Graph, OpId, Places, ValueId};
use crate::plan::reshard::cache::{Dist, ReshardCache};
use crate::variants::{Best, Figures};

/// Results of searches that later searches of the same block reuse.
#[derive(Default)]
pub(crate) struct Learned {
    pub(crate) placer: Placer,
    pub(crate) answers: egraph::Answers,
}

/// A plan, the state to compute its cost, and the history of its changes.
pub(crate) struct Draft<'a, 's> {
    pub(crate) graph: &'a Graph,
    pub(crate) cache: &'a mut ReshardCache<'s>,
    pub(crate) models: &'a Models,
    pub(crate) placer: &'a mut Placer,
    pub(crate) answers: &'a mut egraph::Answers,
    pub(crate) rates: Rates,
    pub(crate) choice: Choice,
    pub(crate) effort: Effort,
    demand: UserDemand,
    /// The cost of `choice`, if it has been computed.
    cost: Option<Cost>,
    /// The strategies that each kept change replaced, oldest first. Each change as a whole made the plan cheaper.
    undo: Undo,
}

/// Changes, oldest first, each with the strategies that it replaced.
type Undo = Vec<Vec<(OpId, StrategyId, Rc<Places>)>>;

/// A plan with the history of its changes.
pub(crate) struct Saved {
    choice: Choice,
    undo: Undo,
}

impl<'a, 's> Draft<'a, 's> {
    /// Begins with `choice`, and its cost if known.
    pub(crate) fn new(
        graph: &'a Graph,
        cache: &'a mut ReshardCache<'s>,
        models: &'a Models,
        learned: &'a mut Learned,
        rates: Rates,
        choice: Choice,
        cost: Option<Cost>,
    ) -> Self {
        let Learned { placer, answers } = learned;
        let demand = UserDemand::of(graph, &choice);
        Self {
            graph,
            cache,
            models,
            placer,
            answers,
            rates,
            choice,
            effort: Effort::default(),
            demand,
            cost,
            undo: Vec::new(),
        }
    }

    /// Starts over with `choice`, whose cost is known; returns the previous plan.
    pub(crate) fn restart(&mut self, choice: Choice, cost: Cost) -> Choice {
        self.undo.clear();
        self.cost = Some(cost);
        self.demand = UserDemand::of(self.graph, &choice);
        mem::replace(&mut self.choice, choice)
    }

    /// Returns a copy of the plan and its history.
    pub(crate) fn saved(&self) -> Saved {
        Saved { choice: self.choice.clone(), undo: self.undo.clone() }
    }

    /// Continues with a saved plan.
    pub(crate) fn resume(&mut self, saved: Saved) {
        (self.choice, self.undo, self.cost) = (saved.choice, saved.undo, None);
        self.demand = UserDemand::of(self.graph, &self.choice);
    }

    /// Returns the number of changes.
    pub(crate) fn changes(&self) -> usize {
        self.undo.len()
    }

    /// Undoes all but the first `changes` changes.
    pub(crate) fn undo_after(&mut self, changes: usize) {
        self.go(self.undo.len(), changes);
        self.undo.truncate(changes);
    }

    /// Switches these ops to these strategies and records the change.
    pub(crate) fn change(&mut self, strategies: impl IntoIterator<Item = (OpId, StrategyId)>) {
        self.cost = None;
        let replaced: Vec<_> = strategies.into_iter().filter_map(|(op, id)| self.exchange(op, id)).collect();
        self.undo.push(replaced);
    }

    /// Switches one op without recording it, to compare costs. The caller must restore the previous strategy before
    /// anything reads the cost of the whole plan, which stays cached.
    pub(crate) fn try_out(&mut self, op: OpId, id: StrategyId) {
        self.exchange(op, id);
    }

    fn exchange(&mut self, op: OpId, id: StrategyId) -> Option<(OpId, StrategyId, Rc<Places>)> {
        let model = self.graph.ops[op].model?;
        let (old, at) = (&mut self.choice.strategies[op], &mut self.choice.places[op]);
        if *old == id {
            return None;
        }
        let places = self.placer.places(self.models, self.cache, model, id);
        self.demand.replace(self.graph, op, at, &places);
        Some((op, mem::replace(old, id), mem::replace(at, places)))
    }

    /// Returns the cost of the whole plan.
    pub(crate) fn whole_cost(&mut self) -> Cost {
        dialect::interrupt::check();
        *self.cost.get_or_insert_with(|| self.graph.cost(self.cache, self.rates, &self.choice))
    }

    /// Returns the seconds of the whole plan.
    pub(crate) fn total(&mut self) -> f64 {
        self.whole_cost().total()
    }

    /// Returns the most bytes that a device holds at once.
    pub(crate) fn peak(&mut self) -> f64 {
        self.graph.peak(self.cache, &self.choice)
    }

    /// Returns whether value `value` is redistributed after it is computed.
    pub(crate) fn is_moved(&mut self, value: ValueId) -> bool {
        self.copies_seconds(value) > 0.0
    }

    /// Returns the seconds of redistributing value `value` each time it is computed.
    fn copies_seconds(&mut self, value: ValueId) -> f64 {
        let v = &self.graph.values[value];
        let (made, needs) = self.made_and_needs(value);
        self.cache.copies_cost(v.ty, v.rematerializable, made, &needs).0
    }

    /// Returns the distribution in which a value is computed, and those in which its users want it.
    fn made_and_needs(&self, value: ValueId) -> (Dist, SmallVec<[Dist; 4]>) {
        let places = &self.choice.places;
        let needs = self.demand.needs(self.graph, value);
        (self.graph.made(places, value), needs.unwrap_or_else(|| self.graph.needs(places, value)))
    }

    /// Returns the seconds of work of these ops and of all copies of these values.
    pub(crate) fn cost(&mut self, ops: &[OpId], values: &[ValueId]) -> f64 {
        let copies: f64 = values.iter().map(|&v| self.copies_seconds(v) * self.graph.values[v].weight).sum();
        let work = ops.iter().map(|&op| self.work(op, &self.choice.places[op]));
        copies + work.sum::<f64>()
    }

    /// Returns [`Self::cost`] if it is less than `limit`. Lower bounds on the copies reject most plans that are tried,
    /// without a search.
    pub(crate) fn cost_below(&mut self, limit: f64, ops: &[OpId], values: &[ValueId]) -> Option<f64> {
        let work: f64 = ops.iter().map(|&op| self.work(op, &self.choice.places[op])).sum();
        let bound = |draft: &mut Self, v: ValueId| {
            let value = &draft.graph.values[v];
            let (made, needs) = draft.made_and_needs(v);
            let (seconds, exact) = draft.cache.copies_at_least(value.ty, value.rematerializable, made, &needs);
            (seconds * value.weight, exact)
        };
        let bounds: SmallVec<[(f64, bool); 16]> = values.iter().map(|&v| bound(self, v)).collect();
        let mut least = work + bounds.iter().map(|b| b.0).sum::<f64>();
        for (&v, (bound, exact)) in values.iter().zip(bounds) {
            if least * (1.0 - ROUNDING) > limit {
                return None;
            }
            if !exact {
                least += self.copies_seconds(v) * self.graph.values[v].weight - bound;
            }
        }
        Some(self.cost(ops, values)).filter(|&cost| cost < limit)
    }

    /// Returns the seconds of work of op `op` under `places`, over all its runs; 0 for a border.
    pub(crate) fn work(&self, op: OpId, places: &Places) -> f64 {
        let node = &self.graph.ops[op];
        if node.model.is_none() {
            return 0.0;
        }
        self.graph.work(self.cache, self.rates, op, places) * node.weight
    }

    /// Undoes changes, the last first, until the plan fits into `limit` bytes; if it never fits, until it needs no more
    /// bytes than the plan it began with. Returns whether it fits.
    pub(crate) fn fit(&mut self, limit: f64) -> bool {
        let all = self.undo.len();
        let stay = self.take_back(limit);
        let peak = self.peak();
        if peak > limit {
            self.go(stay, all);
            self.take_back(peak);
        }
        peak <= limit
    }

    /// Undoes changes, the last first, back to the plan with the shortest step among a few intermediate plans that fit
    /// into `limit` bytes; returns its seconds. Each change lowered the sum of all costs, but not necessarily the step,
    /// because a collective may cost nothing where it overlaps computation.
    pub(crate) fn shorten(&mut self, limit: f64) -> f64 {
        let all = self.undo.len();
        let mut now = all;
        let mut best = Best::new(all, self.step(), limit, HEURISTICS.gain);
        for changes in (0..PLAN.intermediate_plans).rev().map(|i| i * all / PLAN.intermediate_plans) {
            if changes != now {
                self.go(now, changes);
                now = changes;
                best.offer(self.step(), || changes);
            }
        }
        self.go(now, best.kept);
        self.undo.truncate(best.kept);
        best.figures.seconds
    }

    /// Returns the seconds of a step and the plan's peak.
    fn step(&mut self) -> Figures {
        Figures { seconds: step_seconds(self), bytes: self.peak() }
    }

    /// Undoes changes until the plan fits, or all of them; returns how many remain.
    fn take_back(&mut self, limit: f64) -> usize {
        let all = self.undo.len();
        if self.peak() <= limit {
            return all;
        }
        // Binary search for the most changes that fit.
        let (mut fits, mut too_many) = (0, all);
        let mut now = too_many;
        while fits + 1 < too_many {
            let next = fits.midpoint(too_many);
            self.go(now, next);
            now = next;
            match self.peak() <= limit {
                true => fits = next,
                false => too_many = next,
            }
        }
        self.go(now, fits);
        fits
    }

    /// Switches from the plan with the first `from` changes to the plan with the first `to`.
    fn go(&mut self, from: usize, to: usize) {
        self.cost = None;
        let mut swap = |i: usize| {
            for (op, id, places) in &mut self.undo[i] {
                mem::swap(id, &mut self.choice.strategies[*op]);
                mem::swap(places, &mut self.choice.places[*op]);
                self.demand.replace(self.graph, *op, places, &self.choice.places[*op]);
            }
        };
        (to..from).rev().for_each(&mut swap);
        (from..to).for_each(swap);
    }
}
