//! The answers to a move: a minimum cut over the costs of work and redistributions.

use smallvec::SmallVec;

use super::Move;
use super::changes::Change;
use super::cut::{Cut, Question};
use super::moves::Moves;
use super::roles::{ValueRole, Values};
use crate::plan::program::graph::OpId;
use crate::plan::reshard::cache::Dist;

/// Most cuts of one move before all redistributions are searched for.
const MAX_CUTS: usize = 8;

impl Move<'_, '_, '_> {
    /// The cheapest answers, with redistributions that nobody has asked for yet at lower bounds, but for those that these
    /// answers need: most moves help nowhere, which is found without many searches. All no if they aren't worth it.
    pub(super) fn answers(&mut self, options: &[Change], values: &[ValueRole]) -> Vec<bool> {
        for _ in 0..MAX_CUTS {
            let (answers, gain, exact) = self.solve(options, values, false);
            if gain < self.worth {
                return vec![false; options.len()];
            }
            if exact || !answers.contains(&true) || !self.search_for(options, values, &answers) {
                return answers;
            }
        }
        self.solve(options, values, true).0
    }

    /// Searches for the redistributions that these answers need; returns whether any cost more than was known.
    fn search_for(&mut self, options: &[Change], values: &[ValueRole], answers: &[bool]) -> bool {
        let Moves { roles, option_of, .. } = &*self.moves;
        let draft = &mut *self.draft;
        let changed = |op: OpId| {
            let i = option_of[roles.of[op]] as usize;
            options.get(i).filter(|_| answers[i])
        };
        let mut dearer = false;
        for &role in values {
            let Values { value, ref uses, .. } = roles.values[role];
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
                    dearer |= draft.cache.seconds(v.ty, made, to) > bound;
                }
            }
        }
        dearer
    }

    /// The cheapest answers, with redistributions at their exact costs or at lower bounds, the seconds that they save, and
    /// whether all were exact.
    fn solve(&mut self, options: &[Change], values: &[ValueRole], exact: bool) -> (Vec<bool>, f64, bool) {
        let mut cut = Cut::new(options.len());
        let exact = self.price(options, values, exact, &mut cut);
        let (mut answers, gain) = cut.solve(self.worth);
        answers.truncate(options.len());
        (answers, gain, exact)
    }

    /// Adds the costs of the answers: work of each op, redistributions of each value, exactly or at lower bounds; returns
    /// whether all are exact.
    fn price(&mut self, options: &[Change], values: &[ValueRole], exact: bool, cut: &mut Cut) -> bool {
        let draft = &mut *self.draft;
        options.iter().for_each(|o| cut.yes_costs(o.question, o.more));
        let Moves { roles, option_of, .. } = &*self.moves;
        let option_of = |op: OpId| options.get(option_of[roles.of[op]] as usize);
        let mut all_exact = true;
        for &role in values {
            let Values { value, count, ref uses } = roles.values[role];
            let v = &draft.graph.values[value];
            let maker = v.maker.and_then(|(op, i)| Some((option_of(op)?, i as usize)));
            let made = draft.graph.made(&draft.choice.places, value);
            let made = [made, maker.map_or(made, |(o, i)| o.places.results[i])];
            let maker = maker.map(|m| m.0.question);
            // Distributions that readers want which don't change; the readers that change, by what they want now and
            // after the move.
            let mut anyway: SmallVec<[Dist; 4]> = SmallVec::new();
            let mut groups: SmallVec<[([Dist; 2], SmallVec<[Question; 4]>); 4]> = SmallVec::new();
            for &(op, i) in uses {
                let Some(&now) = draft.choice.places[op].operands.get(i as usize) else { continue };
                let option = option_of(op);
                let then = option.map_or(now, |o| o.places.operands[i as usize]);
                match option {
                    Some(option) if then != now => match groups.iter_mut().find(|g| g.0 == [now, then]) {
                        Some(group) => group.1.push(option.question),
                        None => groups.push(([now, then], SmallVec::from_elem(option.question, 1))),
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
        }
        all_exact
    }
}
