//! The search over whole programs: it moves one mesh axis for one dimension class (a *class*) at a time.
//!
//! The steps of one move, in order:
//!
//! 1. `moves` chooses a group of axes and a [`Target`]: shard a class along the axes, remove them from all ops, or
//!    restore the propagated sharding along them. Classes are in `classes`. Ops with the same role in repeated layers
//!    (`layers`, `roles`) are treated as one.
//! 2. `candidates` has the ops that the move may change, and computes the strategy of each after the move.
//! 3. `costs` has what ops and values cost now, the upper bound of what the move can save, and after the move.
//! 4. `solve` decides for all candidates at once, whether they change, by a minimum cut (`cut`) over these costs: the
//!    expansion moves of Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via graph cuts",
//!    2001.
//! 5. [`Move::parts`] splits the changes into independent groups, and [`Move::take`] keeps a group only if it lowers
//!    the exact cost.
//!
//! At the end, `trades` shard one class along a part of an axis and remove that part from all other ops, or make it
//! innermost in them, by the same five steps.

mod candidates;
mod classes;
mod costs;
mod cut;
mod layers;
mod moves;
mod roles;
mod solve;
mod trades;

use std::time::Instant;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::Draft;
use crate::heuristics::HEURISTICS;
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::StrategyId;
use candidates::Change;
pub(crate) use moves::Moves;
use moves::Target;
use roles::ValueRole;

/// Makes a plan cheaper; returns its seconds, and all moves for [`blocks`].
pub(crate) fn expand(draft: &mut Draft<'_, '_>) -> (f64, Moves) {
    let start = Instant::now();
    let mut moves = Moves::of(draft);
    draft.effort.roles = moves.roles.ops.len();
    let mut seconds = rounds(draft, &mut moves);
    if trades::narrow(draft, &mut moves) {
        seconds = draft.total();
    }
    draft.effort.expand_time += start.elapsed();
    (seconds, moves)
}

/// Shards blocks of layers along parts of axes that shard other dimensions around them; returns whether that made the
/// plan cheaper.
pub(crate) fn blocks(draft: &mut Draft<'_, '_>, mut moves: Moves) -> bool {
    // Where collectives overlap arithmetic, gathers of weights already do, but ops that read activations would wait for
    // gathers of activations.
    if draft.rates.overlaps {
        return false;
    }
    let start = Instant::now();
    let helped = trades::blocks(draft, &mut moves);
    draft.effort.expand_time += start.elapsed();
    helped
}

/// Makes rounds of all moves while they help; returns the seconds of the plan.
fn rounds(draft: &mut Draft<'_, '_>, moves: &mut Moves) -> f64 {
    let mut last = draft.total();
    // Parts of axes that didn't help in a round.
    let mut idle = vec![false; moves.halves];
    for round in 0..PLAN.expand_rounds {
        let mut helped = vec![false; moves.targets.len()];
        let groups = if round == 0 { moves.wholes } else { moves.halves };
        for group in 0..groups {
            // If one half of an axis didn't help, the other half doesn't either, unless the two have different links.
            idle[group] |= !draft.rates.overlaps && moves.first_half(group).is_some_and(|first| idle[first]);
            if idle[group] {
                continue;
            }
            idle[group] = group >= moves.wholes;
            for (i, helped) in helped.iter_mut().enumerate() {
                let target = moves.targets[i];
                // Several axes, which propagation doesn't always keep together, are restored one by one.
                if target == Target::Propagated && moves.groups[group].len() > 1 {
                    continue;
                }
                let tried = moves.tried(group, target);
                if tried.is_some_and(|tried| moves.is_settled(target, tried)) {
                    continue;
                }
                let made = Move { draft, moves, group, target, tried, worth: last * PLAN.cut_share }.make();
                draft.effort.moves += 1;
                draft.effort.helpful_moves += usize::from(made);
                *helped |= made;
                idle[group] &= !made;
            }
        }
        // Parts and targets that didn't help aren't tried again; nor are last factors, whose savings come in the first
        // round.
        let mut helped = helped.into_iter();
        moves.targets.retain(|&target| {
            let helped = helped.next() == Some(true);
            target == Target::Propagated || helped && !matches!(target, Target::Last(_))
        });
        let total = draft.total();
        debug_assert!((moves.roles.total(draft) - total).abs() <= 1e-6 * total, "layers that are not alike");
        if total > last * (1.0 - HEURISTICS.gain) && groups == moves.halves {
            return total;
        }
        last = total;
    }
    last
}

/// One move.
struct Move<'d, 'a, 's> {
    draft: &'d mut Draft<'a, 's>,
    moves: &'d mut Moves,
    group: usize,
    target: Target,
    /// The number of changes when it was last tried.
    tried: Option<usize>,
    /// The seconds that its cut must save to be worth a search.
    worth: f64,
}

impl Move<'_, '_, '_> {
    /// Makes the changes that lower the cost; returns whether it made any.
    fn make(&mut self) -> bool {
        let mut candidates = self.candidates();
        let yeses = self.cheapest(&mut candidates);
        self.moves.computed += candidates.found();
        let chosen: Vec<&Change> = yeses.into_iter().filter_map(|q| candidates.change(q)).collect();
        let mut changed = false;
        for part in self.parts(&chosen) {
            changed |= self.take(&part);
        }
        changed
    }

    /// Splits changes into groups that share no value.
    fn parts<'o>(&self, chosen: &[&'o Change]) -> Vec<Vec<&'o Change>> {
        let roles = &self.moves.roles;
        let mut touching: FxHashMap<ValueRole, SmallVec<[u32; 4]>> = FxHashMap::default();
        for (i, option) in chosen.iter().enumerate() {
            roles.touched(option.op).iter().for_each(|&v| touching.entry(v).or_default().push(i as u32));
        }
        let mut seen = vec![false; chosen.len()];
        let mut parts = Vec::new();
        for start in 0..chosen.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let (mut part, mut next) = (vec![chosen[start]], 0);
            while next < part.len() {
                let op = part[next].op;
                next += 1;
                for v in roles.touched(op) {
                    for i in touching.remove(v).unwrap_or_default() {
                        if !std::mem::replace(&mut seen[i as usize], true) {
                            part.push(chosen[i as usize]);
                        }
                    }
                }
            }
            parts.push(part);
        }
        parts
    }

    /// Makes these changes if they make the plan cheaper; returns whether they do.
    fn take(&mut self, part: &[&Change]) -> bool {
        let (draft, Moves { roles, changes, now, .. }) = (&mut *self.draft, &mut *self.moves);
        let values = roles.values_of(part.iter().map(|o| o.op));
        let cost = |draft: &mut Draft<'_, '_>| {
            let moving = roles.moving(draft.graph, draft.cache, &draft.choice, &values);
            let works = part.iter().flat_map(|o| roles.works(o.op));
            let work = works.map(|&(op, count)| draft.work(op, &draft.choice.places[op]) * count);
            moving + work.sum::<f64>()
        };
        let before = cost(draft);
        let old: Vec<StrategyId> = part.iter().map(|o| draft.choice.strategies[o.op]).collect();
        let all = |o: &Change, id: StrategyId| roles.all(o.op).iter().map(move |&op| (op, id));
        part.iter().flat_map(|o| all(o, o.id)).for_each(|(op, id)| draft.try_out(op, id));
        let after = cost(draft);
        part.iter().zip(&old).flat_map(|(o, &id)| all(o, id)).for_each(|(op, id)| draft.try_out(op, id));
        let cheaper = after < before * (1.0 - 1e-9);
        if cheaper {
            draft.change(part.iter().flat_map(|o| all(o, o.id)));
            changes.note(&values);
            now.update(roles, draft, part.iter().map(|o| o.op), &values);
        }
        cheaper
    }
}
