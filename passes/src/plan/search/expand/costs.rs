//! The costs of a move: those of the current plan, which bound what it can save, and the resharding costs of values
//! before and after it, as costs of questions. The latter are read from the graph once for all cuts of the move, and
//! computed again only where they were lower bounds.

use std::ops::Range;

use dialect::id::TiVec;
use smallvec::SmallVec;

use super::Move;
use super::candidates::Candidates;
use super::cut::{Cut, Question};
use super::moves::Moves;
use super::roles::{Role, Roles, ValueRole, Values};
use crate::plan::program::graph::{OpId, Places};
use crate::plan::reshard::cache::Dist;
use crate::plan::search::draft::Draft;

/// Costs under the current plan.
pub(super) struct CurrentCosts {
    /// Seconds of work of all ops of each role.
    work: TiVec<Role, f64>,
    /// Whether redistributing the values of each role costs anything.
    moved: TiVec<ValueRole, bool>,
    /// The roles for which it does, in order.
    list: Vec<ValueRole>,
}

impl CurrentCosts {
    pub(super) fn of(roles: &Roles, draft: &mut Draft<'_, '_>) -> Self {
        let work = roles.ops.iter().map(|ops| work(roles, draft, ops[0])).collect();
        let moved: TiVec<ValueRole, bool> = roles.values.iter().map(|values| is_moved(values, draft)).collect();
        let list = list(&moved);
        Self { work, moved, list }
    }

    /// Updates the costs after the roles of these ops, which read or make these values, got other strategies.
    pub(super) fn update(
        &mut self,
        roles: &Roles,
        draft: &mut Draft<'_, '_>,
        ops: impl IntoIterator<Item = OpId>,
        values: &[ValueRole],
    ) {
        ops.into_iter().for_each(|op| self.work[roles.of[op]] = work(roles, draft, op));
        values.iter().for_each(|&role| self.moved[role] = is_moved(&roles.values[role], draft));
        self.list = list(&self.moved);
    }

    /// Returns the seconds of work of all ops of a role.
    pub(super) fn work(&self, role: Role) -> f64 {
        self.work[role]
    }

    /// Returns the values that are redistributed at some cost, in order.
    pub(super) fn moved(&self) -> &[ValueRole] {
        &self.list
    }
}

fn list(moved: &TiVec<ValueRole, bool>) -> Vec<ValueRole> {
    moved.keys().filter(|&role| moved[role]).collect()
}

fn work(roles: &Roles, draft: &Draft<'_, '_>, op: OpId) -> f64 {
    roles.works(op).iter().map(|&(op, count)| draft.work(op, &draft.choice.places[op]) * count).sum()
}

fn is_moved(values: &Values, draft: &mut Draft<'_, '_>) -> bool {
    let v = &draft.graph.values[values.value];
    let made = draft.graph.made(&draft.choice.places, values.value);
    let needs = draft.graph.needs(&draft.choice.places, values.value);
    needs
        .into_iter()
        .any(|to| !draft.cache.is_free(v.rematerializable, to) && draft.cache.seconds(v.ty, made, to) > 0.0)
}

/// The values that one move may redistribute, by role; the lists of all roles are ranges of shared vectors.
#[derive(Default)]
pub(super) struct MoveCosts {
    /// By role, if computed: the index in `ends`, or `None` if the move changes neither its producer nor any reader.
    of: Vec<Option<Option<u32>>>,
    ends: Vec<ValueCosts>,
    groups: Vec<Group>,
    readers: Vec<Question>,
    anyway: Vec<Dist>,
}

/// The producer and the readers of the values of a role.
struct ValueCosts {
    role: ValueRole,
    /// The distributions in which they are computed now and after the move.
    made: [Dist; 2],
    /// The producer, if it changes.
    maker: Option<Question>,
    /// The distributions that readers which don't change want.
    anyway: Range<usize>,
    groups: Range<usize>,
    /// The increase of the cost of `anyway` if the producer changes.
    more: f64,
    /// Whether all costs are exact, so that they won't change.
    exact: bool,
}

/// Readers that want a value in the same distribution now, and in the same other one after the move.
struct Group {
    wanted: [Dist; 2],
    readers: Range<usize>,
    /// Seconds to the distribution wanted now and after the move, from where it is computed now and after the move.
    seconds: [[f64; 2]; 2],
}

impl MoveCosts {
    /// Clears the table for another move.
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
    /// Adds the costs of redistributing the values of a role, exactly or at lower bounds; returns whether all are
    /// exact.
    pub(super) fn price(&mut self, candidates: &mut Candidates, role: ValueRole, exact: bool, cut: &mut Cut) -> bool {
        let known = match self.moves.costs.of[role.index()] {
            Some(known) => known,
            None => {
                let found = self.ends(candidates, role);
                self.moves.costs.of[role.index()] = Some(found);
                found
            }
        };
        let Some(i) = known.map(|i| i as usize) else { return true };
        if !self.moves.costs.ends[i].exact {
            self.find_seconds(i, exact);
        }
        let MoveCosts { ends, groups, readers, .. } = &self.moves.costs;
        let ValueCosts { maker, groups: of, more, exact, .. } = &ends[i];
        maker.iter().for_each(|&maker| cut.yes_costs(maker, *more));
        groups[of.clone()].iter().for_each(|group| add(*maker, group, &readers[group.readers.clone()], cut));
        *exact
    }

    /// Reads the producer and readers of the values of a role; `None` if the move changes none of them.
    fn ends(&mut self, candidates: &mut Candidates, role: ValueRole) -> Option<u32> {
        let Values { value, ref uses, .. } = self.moves.roles.values[role];
        let readers = uses.len();
        let made = self.draft.graph.made(&self.draft.choice.places, value);
        let (mut maker, mut made) = (None, [made; 2]);
        if let Some((op, i)) = self.draft.graph.values[value].maker
            && let Some((q, then)) = self.change_at(candidates, op, |places| places.results[i as usize])
        {
            (maker, made[1]) = (Some(q), then);
        }
        let (begin, first) = (self.moves.costs.anyway.len(), self.moves.costs.groups.len());
        // Readers that change, with their group.
        let mut changed: SmallVec<[(usize, Question); 8]> = SmallVec::new();
        let mut changes = maker.is_some();
        for reader in 0..readers {
            let (op, i) = self.moves.roles.values[role].uses[reader];
            let Some(&now) = self.draft.choice.places[op].operands.get(i as usize) else { continue };
            let change = self.change_at(candidates, op, |places| places.operands[i as usize]);
            changes |= change.is_some();
            let MoveCosts { groups, anyway, .. } = &mut self.moves.costs;
            match change {
                Some((q, then)) if then != now => {
                    let known = groups[first..].iter().position(|g| g.wanted == [now, then]);
                    changed.push((known.unwrap_or(groups.len() - first), q));
                    if known.is_none() {
                        groups.push(Group { wanted: [now, then], readers: 0..0, seconds: [[0.0; 2]; 2] });
                    }
                }
                _ if anyway[begin..].contains(&now) => {}
                _ => anyway.push(now),
            }
        }
        let MoveCosts { ends, groups, readers, anyway, .. } = &mut self.moves.costs;
        if !changes {
            anyway.truncate(begin);
            return None;
        }
        changed.sort_by_key(|c| c.0);
        for of in changed.chunk_by(|a, b| a.0 == b.0) {
            let start = readers.len();
            readers.extend(of.iter().map(|c| c.1));
            groups[first + of[0].0].readers = start..readers.len();
        }
        let (anyway, groups) = (begin..anyway.len(), first..groups.len());
        ends.push(ValueCosts { role, made, maker, anyway, groups, more: 0.0, exact: false });
        Some(ends.len() as u32 - 1)
    }

    /// Returns the question of an op and the distribution that `at` reads from its places after the move, if the move
    /// changes it.
    fn change_at(
        &mut self,
        candidates: &mut Candidates,
        op: OpId,
        at: impl Fn(&Places) -> Dist,
    ) -> Option<(Question, Dist)> {
        let role = self.moves.roles.of[op];
        let q = candidates.of(role, self.moves.question_of[role])?;
        let change = self.change(candidates, q)?;
        Some((q, at(&change.places)))
    }

    /// Computes the costs of the values of these ends, exactly or at lower bounds.
    fn find_seconds(&mut self, ends: usize, exact: bool) {
        let Moves { roles, costs, .. } = &mut *self.moves;
        let ends = &mut costs.ends[ends];
        let Values { value, count, .. } = roles.values[ends.role];
        let (v, cache) = (&self.draft.graph.values[value], &mut *self.draft.cache);
        ends.exact = true;
        // The current plan is priced exactly: a lower bound would let moves that save something seem useless.
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
        let (made, anyway) = (ends.made, &costs.anyway[ends.anyway.clone()]);
        if ends.maker.is_some() {
            let mut sum = |from: Dist, is_now| anyway.iter().map(|&to| seconds(from, to, is_now)).sum::<f64>();
            let [now, then] = [sum(made[0], true), sum(made[1], false)];
            ends.more = then - now;
        }
        for group in &mut costs.groups[ends.groups.clone()] {
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
