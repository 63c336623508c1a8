//! The answers to a move: a minimum cut over the costs of work and redistributions.

use smallvec::SmallVec;

use super::Move;
use super::changes::{Asked, Change};
use super::cut::{Cut, Question};
use super::moves::Moves;
use super::roles::{ValueRole, Values};
use crate::plan::program::graph::OpId;
use crate::plan::reshard::cache::Dist;

/// Most cuts of one move before all redistributions are searched for.
const MAX_CUTS: usize = 16;

/// Ops whose answer is yes, and what that saves.
struct Answers {
    yeses: Vec<Question>,
    /// Seconds.
    gain: f64,
    /// Whether all redistributions that were looked at had their exact costs.
    exact: bool,
}

impl Move<'_, '_, '_> {
    /// The ops whose answer is yes in the cheapest answers, with redistributions that nobody has asked for yet at lower
    /// bounds, but for those that these answers need: most moves help nowhere, which is found without many searches. None if
    /// they aren't worth it.
    pub(super) fn answers(&mut self, asked: &mut Asked) -> Vec<Question> {
        for _ in 0..MAX_CUTS {
            let Answers { yeses, gain, exact } = self.solve(asked, false);
            if gain < self.worth {
                return Vec::new();
            }
            if exact || yeses.is_empty() || !self.search_for(asked, &yeses, gain - self.worth) {
                return yeses;
            }
        }
        self.solve(asked, true).yeses
    }

    /// Searches for the redistributions that these answers need, until they cost so many seconds `more` than was known;
    /// returns whether any cost more.
    fn search_for(&mut self, asked: &Asked, yeses: &[Question], more: f64) -> bool {
        let Moves { roles, question_of, .. } = &*self.moves;
        let draft = &mut *self.draft;
        let mut is_yes = vec![false; asked.len()];
        yeses.iter().for_each(|q| is_yes[q.index()] = true);
        let changed = |op: OpId| {
            let question = question_of[roles.of[op]].filter(|q| is_yes[q.index()]);
            question.and_then(|q| asked.change(q))
        };
        let mut dearer = 0.0;
        for role in roles.values_of(yeses.iter().map(|&q| asked.op(q))) {
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

    /// The cheapest answers, with redistributions at their exact costs or at lower bounds.
    fn solve(&mut self, asked: &mut Asked, exact: bool) -> Answers {
        let mut cut = Cut::new(asked.len());
        let mut priced = vec![false; self.moves.roles.values.len()];
        let mut all_exact = true;
        // Only what is moved now can be moved less, and only work that is done now can become less.
        for role in self.moves.now.moved() {
            priced[role.index()] = true;
            all_exact &= self.price(asked, role, exact, &mut cut);
        }
        let begin: Vec<Question> = asked.questions().filter(|&q| self.may_save(asked, q, &cut)).collect();
        let worth = self.worth;
        let (mut yeses, gain) = cut.solve(&begin, worth, &mut |cut, q| {
            let Some(change) = self.change(asked, q) else { return };
            cut.yes_costs(q, change.more);
            let op = change.op;
            for i in 0..self.moves.roles.touched(op).len() {
                let role = self.moves.roles.touched(op)[i];
                if !std::mem::replace(&mut priced[role.index()], true) {
                    all_exact &= self.price(asked, role, exact, cut);
                }
            }
        });
        yeses.retain(|q| q.index() < asked.len());
        Answers { yeses, gain, exact: all_exact }
    }

    /// Whether a yes may save something, before all about it is known.
    fn may_save(&mut self, asked: &mut Asked, q: Question, cut: &Cut) -> bool {
        let works = self.moves.now.work(self.moves.roles.of[asked.op(q)]) > 0.0;
        cut.yes_saves(q) || works && self.change(asked, q).is_some_and(|change| change.more < 0.0)
    }

    /// Adds the costs of redistributing the values of a role, exactly or at lower bounds; returns whether all are exact.
    fn price(&mut self, asked: &mut Asked, role: ValueRole, exact: bool, cut: &mut Cut) -> bool {
        let mut changes = false;
        // All ends are looked at: what follows knows them then.
        for end in 0..=self.moves.roles.values[role].uses.len() {
            let Values { value, ref uses, .. } = self.moves.roles.values[role];
            let op = match end.checked_sub(1) {
                Some(reader) => Some(uses[reader].0),
                None => self.draft.graph.values[value].maker.map(|m| m.0),
            };
            if let Some(q) = op.and_then(|op| self.moves.question_of[self.moves.roles.of[op]]) {
                changes |= self.change(asked, q).is_some();
            }
        }
        if !changes {
            return true;
        }
        let draft = &mut *self.draft;
        let Moves { roles, question_of, .. } = &*self.moves;
        let change = |op: OpId| -> Option<(Question, &Change)> {
            let q = question_of[roles.of[op]]?;
            Some((q, asked.change(q)?))
        };
        let mut all_exact = true;
        let Values { value, count, ref uses } = roles.values[role];
        let v = &draft.graph.values[value];
        let maker = v.maker.and_then(|(op, i)| Some((change(op)?, i as usize)));
        let made = draft.graph.made(&draft.choice.places, value);
        let made = [made, maker.map_or(made, |((_, change), i)| change.places.results[i])];
        let maker = maker.map(|m| m.0.0);
        // Distributions that readers want which don't change; the readers that change, by what they want now and after the
        // move.
        let mut anyway: SmallVec<[Dist; 4]> = SmallVec::new();
        let mut groups: SmallVec<[([Dist; 2], SmallVec<[Question; 4]>); 4]> = SmallVec::new();
        for &(op, i) in uses {
            let Some(&now) = draft.choice.places[op].operands.get(i as usize) else { continue };
            match change(op).map(|(q, change)| (q, change.places.operands[i as usize])) {
                Some((q, then)) if then != now => match groups.iter_mut().find(|g| g.0 == [now, then]) {
                    Some(group) => group.1.push(q),
                    None => groups.push(([now, then], SmallVec::from_elem(q, 1))),
                },
                _ if anyway.contains(&now) => {}
                _ => anyway.push(now),
            }
        }
        let cache = &mut *draft.cache;
        // What the plan has now isn't taken for cheaper than it is: a move that is must be one.
        let mut seconds = |from: Dist, to: Dist, is_now: bool| {
            let each = match () {
                _ if cache.is_free(v.rematerializable, to) => 0.0,
                _ if exact || is_now => cache.seconds(v.ty, from, to),
                _ => {
                    let (seconds, is_exact) = cache.at_least(v.ty, from, to);
                    all_exact &= is_exact;
                    seconds
                }
            };
            each * v.weight * count
        };
        if let Some(maker) = maker {
            let mut sum = |from: Dist, is_now| anyway.iter().map(|&to| seconds(from, to, is_now)).sum::<f64>();
            let [now, then] = [sum(made[0], true), sum(made[1], false)];
            cut.yes_costs(maker, then - now);
        }
        for ([now, then], readers) in groups {
            let mut to = |to: Dist, is_now| match anyway.contains(&to) {
                true => [0.0; 2],
                false => [seconds(made[0], to, is_now), seconds(made[1], to, is_now && made[0] == made[1])],
            };
            let (now, then) = (to(now, true), to(then, false));
            // Paid once if at least one reader wants it there.
            let (some, all) = match readers[..] {
                [one] => (one, one),
                _ => {
                    let (some, all) = (cut.question(), cut.question());
                    for &reader in &readers {
                        cut.implies(reader, some);
                        cut.implies(all, reader);
                    }
                    (some, all)
                }
            };
            match maker {
                Some(maker) if some == all => cut.pair(maker, some, [[now[0], then[0]], [now[1], then[1]]]),
                Some(maker) => {
                    cut.pair(maker, some, [[0.0, then[0]], [0.0, then[1]]]);
                    cut.pair(maker, all, [[now[0], 0.0], [now[1], 0.0]]);
                }
                None => {
                    cut.yes_costs(some, then[0]);
                    cut.yes_costs(all, -now[0]);
                }
            }
        }
        all_exact
    }
}
