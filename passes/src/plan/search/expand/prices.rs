//! What redistributing values costs before and after a move, as costs of questions: read off the graph once for all cuts of
//! the move, and priced again only where what was known were lower bounds.

use std::ops::Range;

use smallvec::SmallVec;

use super::Move;
use super::changes::{Asked, Change};
use super::cut::{Cut, Question};
use super::moves::Moves;
use super::roles::{ValueRole, Values};
use crate::plan::program::graph::OpId;
use crate::plan::reshard::cache::Dist;

/// The values that one move may redistribute, by role; lists of all of them are stored in one.
#[derive(Default)]
pub(super) struct Prices {
    /// By role, where it was asked for: `None` if the move changes neither its maker nor any reader.
    of: Vec<Option<Option<u32>>>,
    ends: Vec<Ends>,
    groups: Vec<Group>,
    readers: Vec<Question>,
    anyway: Vec<Dist>,
}

/// Who makes and reads the values of a role.
struct Ends {
    role: ValueRole,
    /// Where they are made now and after the move.
    made: [Dist; 2],
    /// The maker, if it changes.
    maker: Option<Question>,
    /// Where readers that don't change want them.
    anyway: Range<usize>,
    groups: Range<usize>,
    /// What `anyway` costs more if the maker changes.
    more: f64,
    /// Whether all costs are exact, so that they stay the same.
    exact: bool,
}

/// Readers that want a value in the same place now, and in the same other one after the move.
struct Group {
    wanted: [Dist; 2],
    readers: Range<usize>,
    /// Seconds to where they want it now and after the move, from where it is made now and after the move.
    seconds: [[f64; 2]; 2],
}

impl Prices {
    /// Forgets what is known, for another move.
    pub(super) fn clear(&mut self, roles: usize) {
        self.of.clear();
        self.of.resize(roles, None);
        self.ends.clear();
        self.groups.clear();
        self.readers.clear();
        self.anyway.clear();
    }
}

impl Move<'_, '_, '_> {
    /// Adds the costs of redistributing the values of a role, exactly or at lower bounds; returns whether all are exact.
    pub(super) fn price(&mut self, asked: &mut Asked, role: ValueRole, exact: bool, cut: &mut Cut) -> bool {
        let known = match self.moves.prices.of[role.index()] {
            Some(known) => known,
            None => {
                let found = self.ends(asked, role);
                self.moves.prices.of[role.index()] = Some(found);
                found
            }
        };
        let Some(i) = known.map(|i| i as usize) else { return true };
        if !self.moves.prices.ends[i].exact {
            self.find_seconds(i, exact);
        }
        let Prices { ends, groups, readers, .. } = &self.moves.prices;
        let Ends { maker, groups: of, more, exact, .. } = &ends[i];
        maker.into_iter().for_each(|&maker| cut.yes_costs(maker, *more));
        groups[of.clone()].iter().for_each(|group| add(*maker, group, &readers[group.readers.clone()], cut));
        *exact
    }

    /// Reads who makes and reads the values of a role; `None` if the move changes none of them.
    fn ends(&mut self, asked: &mut Asked, role: ValueRole) -> Option<u32> {
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
            return None;
        }
        let draft = &*self.draft;
        let Moves { roles, question_of, prices, .. } = &mut *self.moves;
        let change = |op: OpId| -> Option<(Question, &Change)> {
            let q = question_of[roles.of[op]]?;
            Some((q, asked.change(q)?))
        };
        let Values { value, ref uses, .. } = roles.values[role];
        let maker = draft.graph.values[value].maker.and_then(|(op, i)| Some((change(op)?, i as usize)));
        let made = draft.graph.made(&draft.choice.places, value);
        let made = [made, maker.map_or(made, |((_, change), i)| change.places.results[i])];
        let begin = prices.anyway.len();
        let mut groups: SmallVec<[([Dist; 2], SmallVec<[Question; 4]>); 4]> = SmallVec::new();
        for &(op, i) in uses {
            let Some(&now) = draft.choice.places[op].operands.get(i as usize) else { continue };
            match change(op).map(|(q, change)| (q, change.places.operands[i as usize])) {
                Some((q, then)) if then != now => match groups.iter_mut().find(|g| g.0 == [now, then]) {
                    Some(group) => group.1.push(q),
                    None => groups.push(([now, then], SmallVec::from_elem(q, 1))),
                },
                _ if prices.anyway[begin..].contains(&now) => {}
                _ => prices.anyway.push(now),
            }
        }
        let first = prices.groups.len();
        for (wanted, of) in groups {
            let start = prices.readers.len();
            prices.readers.extend(of);
            prices.groups.push(Group { wanted, readers: start..prices.readers.len(), seconds: [[0.0; 2]; 2] });
        }
        let (anyway, groups) = (begin..prices.anyway.len(), first..prices.groups.len());
        let maker = maker.map(|m| m.0.0);
        prices.ends.push(Ends { role, made, maker, anyway, groups, more: 0.0, exact: false });
        Some(prices.ends.len() as u32 - 1)
    }

    /// Finds what the values of these ends cost, exactly or at lower bounds.
    fn find_seconds(&mut self, ends: usize, exact: bool) {
        let Moves { roles, prices, .. } = &mut *self.moves;
        let ends = &mut prices.ends[ends];
        let Values { value, count, .. } = roles.values[ends.role];
        let (v, cache) = (&self.draft.graph.values[value], &mut *self.draft.cache);
        ends.exact = true;
        // What the plan has now isn't taken for cheaper than it is: a move that is must be one.
        let mut seconds = |from: Dist, to: Dist, is_now: bool| {
            let each = match () {
                _ if cache.is_free(v.rematerializable, to) => 0.0,
                _ if exact || is_now => cache.seconds(v.ty, from, to),
                _ => {
                    let (seconds, is_exact) = cache.at_least(v.ty, from, to);
                    ends.exact &= is_exact;
                    seconds
                }
            };
            each * v.weight * count
        };
        let (made, anyway) = (ends.made, &prices.anyway[ends.anyway.clone()]);
        if ends.maker.is_some() {
            let mut sum = |from: Dist, is_now| anyway.iter().map(|&to| seconds(from, to, is_now)).sum::<f64>();
            let [now, then] = [sum(made[0], true), sum(made[1], false)];
            ends.more = then - now;
        }
        for group in &mut prices.groups[ends.groups.clone()] {
            let mut to = |to: Dist, is_now| match anyway.contains(&to) {
                true => [0.0; 2],
                false => [seconds(made[0], to, is_now), seconds(made[1], to, is_now && made[0] == made[1])],
            };
            group.seconds = [to(group.wanted[0], true), to(group.wanted[1], false)];
        }
    }
}

/// Adds the costs of a group of readers: paid once if at least one of them wants the value there.
fn add(maker: Option<Question>, group: &Group, readers: &[Question], cut: &mut Cut) {
    let [now, then] = group.seconds;
    let (some, all) = match readers[..] {
        [one] => (one, one),
        _ => {
            let (some, all) = (cut.question(), cut.question());
            for &reader in readers {
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
