//! The search by equality saturation: windows around whatever is moved are rewritten by the rules of [`rules`], and
//! the cheapest equal program is taken where it makes the whole cheaper under the model.
//!
//! Seeded with the greedy plan and never worse: a window's answer counts only if the exact cost of all it touches goes
//! down. All limits are counts, so the answer is the same everywhere.

mod extract;
#[cfg(test)]
mod rules_tests;
mod rules;
mod term;
mod window;

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::choice::{Choice, Placer, Rates};
use super::graph::{Graph, Places};
use super::model::Models;
use super::space::Space;
use super::strategy::Strategy;
use term::{Facts, Tables, Way};
use window::{Look, Window};

/// A window is looked at again at most this often for every value that is moved at first.
const VISITS_PER_VALUE: usize = 4;
/// Sweeps over the ops of a window, each taking the best of the strategies the e-graph knows for it.
const SWEEPS: usize = 3;

/// Strategies for the ops of windows that look alike; `None` where nothing better was found.
type Answers = FxHashMap<Look, Option<Vec<Way>>>;

/// Names of the rewrites and what they say.
pub(super) fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    rules::ROWS.iter().map(|row| (row.name, row.doc))
}

/// A plan at most as dear as `choice`, whose peak memory is at most `limit` bytes, or that of `choice`.
pub(super) fn improve(
    graph: &Graph,
    space: &mut Space<'_>,
    models: &Models,
    placer: &mut Placer,
    rates: Rates,
    choice: Choice,
    limit: f64,
) -> Choice {
    let (tables, answers, undo) = (Tables::default(), Answers::default(), Vec::new());
    let mut search = Search { graph, space, models, placer, rates, choice, tables, answers, undo };
    search.run();
    search.fit(limit);
    search.choice
}

struct Search<'a, 's> {
    graph: &'a Graph,
    space: &'a mut Space<'s>,
    models: &'a Models,
    placer: &'a mut Placer,
    rates: Rates,
    choice: Choice,
    tables: Tables,
    answers: Answers,
    /// What every change replaced, oldest first.
    undo: Vec<(u32, Strategy, Places)>,
}

impl Search<'_, '_> {
    fn run(&mut self) {
        let all = 0..self.graph.values.len() as u32;
        let mut queue: VecDeque<u32> = all.filter(|&v| self.is_moved(v)).collect();
        let mut queued: FxHashSet<u32> = queue.iter().copied().collect();
        let mut visits = queue.len() * VISITS_PER_VALUE;
        // Values in the middle of a window in which nothing better was found.
        let mut settled: FxHashSet<u32> = FxHashSet::default();
        while let Some(value) = queue.pop_front() {
            if visits == 0 {
                return;
            }
            visits -= 1;
            queued.remove(&value);
            if settled.contains(&value) || !self.is_moved(value) {
                continue;
            }
            let window = Window::around(self.graph, value);
            if self.window(&window) {
                settled.retain(|v| !window.values.contains(v));
                queue.extend(window.values.iter().copied().filter(|&v| self.is_moved(v) && queued.insert(v)));
            } else {
                settled.extend(window.values.iter().copied().filter(|&v| window.is_inside(self.graph, v)));
            }
        }
    }

    fn is_moved(&mut self, value: u32) -> bool {
        self.graph.copies(self.space, &self.choice.places, value).seconds > 0.0
    }

    /// Whether a window became cheaper.
    fn window(&mut self, window: &Window) -> bool {
        if window.ops.is_empty() {
            return false;
        }
        let look = window.look(self.graph, &mut self.tables, &self.choice);
        let answer = match self.answers.get(&look) {
            Some(known) => known.clone(),
            None => {
                let found = self.answer(window);
                self.answers.insert(look, found.clone());
                found
            }
        };
        let Some(ways) = answer else { return false };
        for (&op, way) in window.ops.iter().zip(ways) {
            self.set(op, way, true);
        }
        true
    }

    fn set(&mut self, op: u32, way: Way, keep: bool) {
        let Some(model) = self.graph.ops[op as usize].model else { return };
        let strategy = self.tables.strategy(way).clone();
        let places = self.placer.places(self.models, self.space, model, &strategy);
        let (old, at) = (&mut self.choice.strategies[op as usize], &mut self.choice.places[op as usize]);
        if *old == strategy {
            return;
        }
        let replaced = (op, std::mem::replace(old, strategy), std::mem::replace(at, places));
        if keep {
            self.undo.push(replaced);
        }
    }

    /// Strategies for a window that make it cheaper.
    fn answer(&mut self, window: &Window) -> Option<Vec<Way>> {
        let before: Vec<Way> =
            window.ops.iter().map(|&op| self.tables.way(&self.choice.strategies[op as usize])).collect();
        let at_first = self.cost(&window.ops, &window.values);
        let facts = Facts::new(self.graph, self.models, self.space, self.placer, &mut self.tables);
        let (found, others) = window.solve(facts, &self.choice, self.rates);
        let ways: Vec<Way> = found.iter().zip(&before).map(|(w, &b)| w.unwrap_or(b)).collect();
        self.set_all(window, &ways);
        let mut ways = ways;
        let mut cost = self.cost(&window.ops, &window.values);
        if cost > at_first {
            ways.clone_from(&before);
            self.set_all(window, &ways);
            cost = at_first;
        }
        cost -= self.polish(window, &mut ways, &others);
        self.set_all(window, &before);
        (cost < at_first * (1.0 - 1e-9)).then_some(ways)
    }

    fn set_all(&mut self, window: &Window, ways: &[Way]) {
        window.ops.iter().zip(ways).for_each(|(&op, &way)| self.set(op, way, false));
    }

    /// Gives each op the best of its strategies while the others keep theirs; the seconds gained.
    fn polish(&mut self, window: &Window, ways: &mut [Way], others: &[Vec<Way>]) -> f64 {
        let mut gained = 0.0;
        for _ in 0..SWEEPS {
            let mut changed = false;
            for (i, &op) in window.ops.iter().enumerate() {
                let node = &self.graph.ops[op as usize];
                let mut values: Vec<u32> = node.operands.iter().chain(&node.results).flatten().copied().collect();
                values.sort_unstable();
                values.dedup();
                let mut best = (self.cost(&[op], &values), ways[i]);
                let now = best.0;
                for &way in others[i].iter().filter(|&&w| w != ways[i]) {
                    self.set(op, way, false);
                    let cost = self.cost(&[op], &values);
                    if cost < best.0 * (1.0 - 1e-9) {
                        best = (cost, way);
                    }
                }
                self.set(op, best.1, false);
                gained += now - best.0;
                changed |= best.1 != ways[i];
                ways[i] = best.1;
            }
            if !changed {
                break;
            }
        }
        gained
    }

    /// Seconds of these ops and of all copies of these values.
    fn cost(&mut self, ops: &[u32], values: &[u32]) -> f64 {
        let mut seconds = 0.0;
        for &v in values {
            seconds += self.graph.copies(self.space, &self.choice.places, v).seconds * self.graph.values[v as usize].weight;
        }
        for &op in ops {
            let node = &self.graph.ops[op as usize];
            if let Some(model) = node.model {
                let ways = self.models.get(model).ways(&self.choice.strategies[op as usize]);
                let places = &self.choice.places[op as usize];
                seconds += self.graph.work(self.space, self.rates, op, ways, places) * node.weight;
            }
        }
        seconds
    }

    /// Takes changes back, the last first, until the plan fits into `limit` bytes.
    fn fit(&mut self, limit: f64) {
        if self.graph.peak(self.space, &self.choice) <= limit {
            return;
        }
        // Halving: the number of changes that stay.
        let (mut fits, mut too_many) = (0, self.undo.len());
        let mut now = too_many;
        while fits + 1 < too_many {
            let next = fits.midpoint(too_many);
            self.exchange(now, next);
            now = next;
            match self.graph.peak(self.space, &self.choice) <= limit {
                true => fits = next,
                false => too_many = next,
            }
        }
        self.exchange(now, fits);
    }

    /// Goes from a plan with the first `from` changes to that with the first `to`.
    fn exchange(&mut self, from: usize, to: usize) {
        let mut swap = |i: usize| {
            let (op, strategy, places) = &mut self.undo[i];
            std::mem::swap(strategy, &mut self.choice.strategies[*op as usize]);
            std::mem::swap(places, &mut self.choice.places[*op as usize]);
        };
        (to..from).rev().for_each(&mut swap);
        (from..to).for_each(swap);
    }
}
