//! The answers to a move, by a minimum cut over the costs of work and redistributions.

use super::Move;
use super::candidates::Candidates;
use super::cut::{Cut, Question};
use super::moves::Moves;
use super::roles::Values;
use crate::plan::heuristics::PLAN;
use crate::plan::program::graph::OpId;

/// Ops whose answer is yes, and the seconds saved.
struct Solution {
    yeses: Vec<Question>,
    /// Seconds saved.
    gain: f64,
    /// Whether all redistributions that the cut read had their exact costs.
    exact: bool,
}

impl Move<'_, '_, '_> {
    /// Returns the ops whose answer is yes in the cheapest answers; none if they save less than `worth`. Starts with
    /// lower bounds for unevaluated redistributions and computes exact costs only for those that these answers need,
    /// because most moves save nothing, which lower bounds show without many searches.
    pub(super) fn cheapest(&mut self, candidates: &mut Candidates) -> Vec<Question> {
        let Moves { costs, roles, .. } = &mut *self.moves;
        costs.clear(roles.values.len());
        for _ in 0..PLAN.max_cuts {
            let Solution { yeses, gain, exact } = self.solve(candidates, false);
            if gain < self.worth {
                return Vec::new();
            }
            if exact || yeses.is_empty() || !self.search_for(candidates, &yeses, gain - self.worth) {
                return yeses;
            }
        }
        self.solve(candidates, true).yeses
    }

    /// Computes the exact costs of the redistributions that these answers need, until they exceed the known costs by
    /// `more` seconds; returns whether any cost more than its bound.
    fn search_for(&mut self, candidates: &Candidates, yeses: &[Question], more: f64) -> bool {
        let Moves { roles, question_of, .. } = &*self.moves;
        let draft = &mut *self.draft;
        let mut is_yes = vec![false; candidates.len()];
        yeses.iter().for_each(|q| is_yes[q.index()] = true);
        let changed = |op: OpId| {
            let role = roles.of[op];
            let question = candidates.of(role, question_of[role]).filter(|q| is_yes[q.index()]);
            question.and_then(|q| candidates.change(q))
        };
        let mut dearer = 0.0;
        for role in roles.values_of(yeses.iter().map(|&q| candidates.op(q))) {
            let Values { value, count, ref uses } = roles.values[role];
            let v = &draft.graph.values[value];
            let made = match v.maker.and_then(|(op, i)| Some((changed(op)?, i as usize))) {
                Some((change, i)) => change.places.results[i],
                None => draft.graph.made(&draft.choice.places, value),
            };
            for &(op, i) in uses {
                let places = changed(op).map_or(&draft.choice.places[op], |change| &change.places);
                let Some(&to) = places.operands.get(i as usize) else { continue };
                if draft.cache.is_free(v.rematerializable, to) {
                    continue;
                }
                if let (bound, false) = draft.cache.at_least(v.ty, made, to) {
                    dearer += (draft.cache.seconds(v.ty, made, to) - bound) * v.weight * count;
                    if dearer > more {
                        return true;
                    }
                }
            }
        }
        dearer > 0.0
    }

    /// Returns the cheapest answers, with redistributions at their exact costs or at lower bounds.
    fn solve(&mut self, candidates: &mut Candidates, exact: bool) -> Solution {
        let mut cut = std::mem::take(&mut self.moves.cut);
        cut.begin(candidates.len());
        let mut priced = vec![false; self.moves.roles.values.len()];
        let mut all_exact = true;
        // Only values that are moved now can be moved less, and only work that is done now can be reduced.
        for role in self.moves.now.moved().to_vec() {
            priced[role.index()] = true;
            all_exact &= self.price(candidates, role, exact, &mut cut);
        }
        let begin: Vec<Question> = candidates.questions().filter(|&q| self.may_save(candidates, q, &cut)).collect();
        let worth = self.worth;
        let (mut yeses, gain) = cut.solve(&begin, worth, &mut |cut, q| {
            let Some(change) = self.change(candidates, q) else { return };
            cut.yes_costs(q, change.more);
            let op = change.op;
            for i in 0..self.moves.roles.touched(op).len() {
                let role = self.moves.roles.touched(op)[i];
                if !std::mem::replace(&mut priced[role.index()], true) {
                    all_exact &= self.price(candidates, role, exact, cut);
                }
            }
        });
        self.moves.cut = cut;
        yeses.retain(|q| q.index() < candidates.len());
        Solution { yeses, gain, exact: all_exact }
    }

    /// Returns whether a yes may save something, by the costs known so far.
    fn may_save(&mut self, candidates: &mut Candidates, q: Question, cut: &Cut) -> bool {
        let works = self.moves.now.work(self.moves.roles.of[candidates.op(q)]) > 0.0;
        cut.yes_saves(q) || works && self.change(candidates, q).is_some_and(|change| change.more < 0.0)
    }
}
