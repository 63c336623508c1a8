//! Search by equality saturation: rewrites windows around each moved value by the rules of [`rules`], and uses the
//! cheapest equal program where it makes the whole plan cheaper under the model.
//!
//! The search starts from the given plan and never makes it more expensive: a window's result is used only if the exact
//! cost of everything it affects goes down. All limits are counts, not times, so the result is the same on every
//! machine.

mod extract;
mod proofs;
pub(crate) mod rewrite;
mod rules;
#[cfg(test)]
mod rules_tests;
mod term;
mod window;

use std::collections::VecDeque;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::Draft;
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::StrategyId;
use crate::plan::program::graph::ValueId;
use rewrite::Rewrite;
use term::Facts;
use window::{Solved, Window, WindowKey};

/// Strategies for the ops of windows, by key; `None` where the search found nothing better. They hold for all plans
/// with the same models, strategies and distributions by id.
#[derive(Default)]
pub(crate) struct Answers(FxHashMap<WindowKey, Option<Vec<StrategyId>>>);

/// Returns the names and descriptions of the rewrites.
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    rules::ROWS.iter().map(|row| (row.name, row.doc))
}

/// Makes a plan cheaper by the built-in rewrites and those in `more`, applied at most `rounds` times in each window.
pub(crate) fn improve(draft: &mut Draft<'_, '_>, more: &[&'static Rewrite], rounds: usize) {
    let rewrites: Vec<&'static Rewrite> = rules::ROWS.iter().chain(more.iter().copied()).collect();
    let start = Instant::now();
    // egg measures the time of every rebuild for its log; a mock clock avoids its calibration of up to 0.2 s.
    let (still, _) = quanta::Clock::mock();
    quanta::with_clock(&still, || Search { draft, rewrites: &rewrites, rounds }.run());
    draft.effort.rewrite_time += start.elapsed();
}

struct Search<'d, 'a, 's> {
    draft: &'d mut Draft<'a, 's>,
    rewrites: &'d [&'static Rewrite],
    rounds: usize,
}

impl Search<'_, '_, '_> {
    fn run(&mut self) {
        let all = self.draft.graph.values.keys();
        let mut queue: VecDeque<ValueId> = all.filter(|&v| self.draft.is_moved(v)).collect();
        let mut queued: FxHashSet<ValueId> = queue.iter().copied().collect();
        let mut visits = queue.len() * PLAN.visits_per_value;
        // The number of searched windows without improvement that each value was in.
        let mut failed: FxHashMap<ValueId, usize> = FxHashMap::default();
        let worth = self.draft.total() * PLAN.window_share;
        while let Some(value) = queue.pop_front() {
            if visits == 0 {
                return;
            }
            visits -= 1;
            queued.remove(&value);
            let is_settled = failed.get(&value).is_some_and(|&windows| windows >= PLAN.failed_windows);
            if is_settled || !self.draft.is_moved(value) {
                continue;
            }
            let window = Window::around(self.draft.graph, value);
            if self.draft.cost(&[], &window.values) < worth {
                continue;
            }
            if self.window(&window) {
                window.values.iter().for_each(|v| _ = failed.remove(v));
                queue.extend(window.values.iter().copied().filter(|&v| self.draft.is_moved(v) && queued.insert(v)));
            } else {
                window.values.iter().for_each(|&v| *failed.entry(v).or_default() += 1);
            }
        }
    }

    /// Replaces a window's strategies by cheaper ones; returns whether it found any.
    fn window(&mut self, window: &Window) -> bool {
        dialect::interrupt::check();
        if window.ops.is_empty() {
            return false;
        }
        self.draft.effort.windows += 1;
        let mut look = window.look(self.draft.graph, &self.draft.choice);
        look.push(self.rounds as u64);
        let answer = match self.draft.answers.0.get(&look) {
            Some(known) => known.clone(),
            None => {
                let found = self.answer(window);
                self.draft.answers.0.insert(look, found.clone());
                found
            }
        };
        let Some(strategies) = answer else { return false };
        self.draft.effort.helpful_windows += 1;
        self.draft.change(window.ops.iter().copied().zip(strategies));
        true
    }

    /// Returns strategies for a window that make it cheaper.
    fn answer(&mut self, window: &Window) -> Option<Vec<StrategyId>> {
        let before: Vec<StrategyId> = window.ops.iter().map(|&op| self.draft.choice.strategies[op]).collect();
        let at_first = self.draft.cost(&window.ops, &window.values);
        let d = &mut *self.draft;
        let facts = Facts::new(d.graph, d.models, d.cache, d.placer);
        let Solved { found, others, size } = window.solve(facts, &d.choice, d.rates, self.rewrites, self.rounds);
        d.effort.distinct_windows += 1;
        d.effort.e_nodes += size.0;
        d.effort.e_classes += size.1;
        let strategies: Vec<StrategyId> = found.iter().zip(&before).map(|(w, &b)| w.unwrap_or(b)).collect();
        self.set_all(window, &strategies);
        let mut strategies = strategies;
        let found = self.draft.cost_below(at_first.next_up(), &window.ops, &window.values);
        let mut cost = found.unwrap_or(at_first);
        if found.is_none() {
            strategies.clone_from(&before);
            self.set_all(window, &strategies);
        }
        cost -= self.polish(window, &mut strategies, &others);
        self.set_all(window, &before);
        (cost < at_first * (1.0 - 1e-9)).then_some(strategies)
    }

    fn set_all(&mut self, window: &Window, strategies: &[StrategyId]) {
        window.ops.iter().zip(strategies).for_each(|(&op, &id)| self.draft.try_out(op, id));
    }

    /// Gives each op the best of its strategies while the others keep theirs; returns the saved seconds.
    fn polish(&mut self, window: &Window, strategies: &mut [StrategyId], others: &[Vec<StrategyId>]) -> f64 {
        let mut gained = 0.0;
        for (i, &op) in window.ops.iter().enumerate() {
            let values = self.draft.graph.values_of([op]);
            let mut best = (self.draft.cost(&[op], &values), strategies[i]);
            let now = best.0;
            for &id in others[i].iter().filter(|&&w| w != strategies[i]) {
                self.draft.try_out(op, id);
                if let Some(cost) = self.draft.cost_below(best.0 * (1.0 - 1e-9), &[op], &values) {
                    best = (cost, id);
                }
            }
            self.draft.try_out(op, best.1);
            gained += now - best.0;
            strategies[i] = best.1;
        }
        gained
    }
}
