//! The greedy plan: every op, in program order, gets the strategy that is cheapest for it alone.
//!
//! Each candidate keeps the distribution of one of the tensors and as much of the others as fits. Its cost is that of
//! the redistributions of operands and results, and of a device's work. Nothing beyond one op is considered.

use std::rc::Rc;

use dialect::id::{TiSlice, TiVec};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::{Choice, Placer, Rates, StrategyId};
use crate::plan::model::meaning::{Model, Models};
use crate::plan::model::strategy::{Kept, OpModel, Strategy};
use crate::plan::program::graph::{Graph, Places, ValueId};
use crate::plan::reshard::cache::{Dist, Rematerializable, ReshardCache, Type};

/// The type of an operand or result, the copies that exist, and the distribution that propagation gave it.
type Copies = (Option<Type>, SmallVec<[Dist; 2]>);

/// The key of an op's choice: its model, the copies of its operands, and the distributions wanted for its results.
type Situation = (Model, SmallVec<[Copies; 4]>);

/// Returns the greedy choice for a whole graph.
pub(crate) fn greedy(
    graph: &Graph,
    cache: &mut ReshardCache<'_>,
    models: &Models,
    placer: &mut Placer,
    rates: Rates,
) -> Choice {
    // The distributions in which each value exists so far.
    let mut have: TiVec<ValueId, SmallVec<[Dist; 2]>> = vec![SmallVec::new(); graph.values.len()].into();
    let mut known: FxHashMap<Situation, StrategyId> = FxHashMap::default();
    let mut choice = Choice { strategies: TiVec::new(), places: TiVec::new() };
    for (value, v) in graph.values.iter_enumerated() {
        if let Some(at) = v.fixed {
            have[value].push(at);
        }
    }
    for node in &graph.ops {
        let (id, places) = match (&node.fixed, node.model) {
            (None, Some(model)) => {
                let tensor = |v: &Option<ValueId>, have: &TiSlice<ValueId, SmallVec<[Dist; 2]>>, result: bool| {
                    let Some(v) = *v else { return (None, SmallVec::new()) };
                    let made = &graph.values[v];
                    let mut at = if result { SmallVec::new() } else { have[v].clone() };
                    at.push(made.propagated);
                    (Some(made.ty), at)
                };
                let operands = node.operands.iter().map(|v| tensor(v, &have, false));
                let situation: Situation =
                    (model, operands.chain(node.results.iter().map(|v| tensor(v, &have, true))).collect());
                let id = match known.get(&situation) {
                    Some(&id) => id,
                    None => {
                        let free: SmallVec<[Rematerializable; 4]> = node
                            .operands
                            .iter()
                            .map(|v| v.map_or(Rematerializable::Whole, |v| graph.values[v].rematerializable))
                            .collect();
                        let op = Moved { tensors: &situation.1, free: &free, seconds: node.seconds, rates };
                        let found = choose(&op, models, model, cache, placer);
                        known.insert(situation, found);
                        found
                    }
                };
                (id, placer.places(models, cache, model, id))
            }
            (fixed, _) => (placer.strategy_id(Strategy::default()), Rc::new(fixed.clone().unwrap_or_default())),
        };
        for (v, &at) in node.operands.iter().zip(&places.operands) {
            if let Some(v) = v
                && !have[*v].contains(&at)
            {
                have[*v].push(at);
            }
        }
        for (v, &at) in node.results.iter().zip(&places.results) {
            if let Some(v) = v {
                have[*v].push(at);
            }
        }
        choice.strategies.push(id);
        choice.places.push(places);
    }
    choice
}

/// What the choice of an op's strategy depends on, besides its model.
struct Moved<'a> {
    /// The operands, then the results.
    tensors: &'a [Copies],
    /// Which operands can be computed anywhere.
    free: &'a [Rematerializable],
    /// The seconds of the op's arithmetic on one device.
    seconds: f64,
    rates: Rates,
}

fn choose(
    op: &Moved<'_>,
    models: &Models,
    model: Model,
    cache: &mut ReshardCache<'_>,
    placer: &mut Placer,
) -> StrategyId {
    let meaning = models.get(model).clone();
    let mut best: Option<(f64, StrategyId)> = None;
    for strategy in candidates(&meaning, op, cache) {
        let id = placer.strategy_id(strategy);
        let places = placer.places(models, cache, model, id);
        let limit = best.as_ref().map_or(f64::INFINITY, |b| b.0);
        if let Some(seconds) = op.seconds_below(limit, &places, cache) {
            best = Some((seconds, id));
        }
    }
    best.map_or_else(|| placer.strategy_id(meaning.whole()), |b| b.1)
}

impl Moved<'_> {
    /// Returns the seconds of the op under `places`, if they are less than `limit`. Most candidates exceed it before
    /// all of their moves are priced.
    fn seconds_below(&self, limit: f64, places: &Places, cache: &mut ReshardCache<'_>) -> Option<f64> {
        let &Self { tensors, free, seconds: arithmetic, rates } = self;
        let mut seconds = arithmetic / places.speedup;
        for (i, &at) in places.operands.iter().enumerate() {
            let (Some(ty), have) = &tensors[i] else { continue };
            if !cache.is_free(free[i], at) {
                // The rest of the limit is rounded up, because the final comparison uses the sum.
                let left = (limit - seconds).max(0.0) + limit * 1e-12;
                seconds += cache.nearest_below(left, *ty, &have[..have.len() - 1], at)?;
            }
            let passes = if places.masked.contains(&i) { 2.0 } else { 1.0 };
            seconds += passes * cache.local_bytes(*ty, at) / rates.memory;
        }
        for (i, &at) in places.results.iter().enumerate() {
            let (Some(ty), propagated) = &tensors[free.len() + i] else { continue };
            if seconds >= limit {
                return None;
            }
            seconds += cache.seconds(*ty, at, propagated[0]) + cache.local_bytes(*ty, at) / rates.memory;
        }
        (seconds < limit).then_some(seconds)
    }
}

/// Returns strategies that start from the distribution of one tensor and add what fits of the others, the largest
/// first.
fn candidates(model: &OpModel, op: &Moved<'_>, cache: &ReshardCache<'_>) -> Vec<Strategy> {
    let &Moved { tensors, free, .. } = op;
    let mut given: SmallVec<[(Kept<'_>, usize); 8]> = SmallVec::new();
    let results = (free.len()..tensors.len()).chain(0..free.len());
    for i in results {
        let (Some(ty), dists) = &tensors[i] else { continue };
        let bytes = cache.tensor_type(*ty).bytes().unwrap_or(0);
        let last = dists.len() - 1;
        given.push((model.kept(i, cache.distribution(dists[last])), bytes));
        if free.get(i) == Some(&Rematerializable::No) && last > 0 && dists[0] != dists[last] {
            given.push((model.kept(i, cache.distribution(dists[0])), bytes));
        }
    }
    given.sort_by_key(|g| std::cmp::Reverse(g.1));
    // Most tensors of an op with thousands of operands are sharded alike and keep the same axes, so duplicates are
    // dropped.
    let mut known = FxHashSet::default();
    let given: Vec<&Kept<'_>> = given.iter().map(|g| &g.0).filter(|kept| known.insert(*kept)).collect();
    let mut out: Vec<Strategy> = Vec::new();
    for first in 0..given.len().min(PLAN.tried_per_op) {
        let others = given.iter().enumerate().filter(|g| g.0 != first).map(|g| *g.1);
        let strategy = model.keeping_all(std::iter::once(given[first]).chain(others));
        if !out.contains(&strategy) {
            out.push(strategy);
        }
    }
    let whole = model.whole();
    if !out.contains(&whole) {
        out.push(whole);
    }
    out
}
