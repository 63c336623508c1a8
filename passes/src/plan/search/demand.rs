//! Counts of the distributions in which users want values with many users, so that the time to price a plan doesn't
//! grow with the number of layers that use the same scalar.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::Choice;
use crate::plan::program::graph::{Graph, OpId, Places, ValueId};
use crate::plan::reshard::cache::Dist;

/// By value with many users: the distributions that users want, and the number of users of each.
#[derive(Default)]
pub(super) struct UserDemand(FxHashMap<ValueId, SmallVec<[(Dist, usize); 4]>>);

impl UserDemand {
    /// Counts the users under the plan `choice`.
    pub(super) fn of(graph: &Graph, choice: &Choice) -> Self {
        let mut demand = Self::default();
        for (value, v) in graph.values.iter_enumerated().filter(|v| v.1.uses.len() > PLAN.few_users) {
            let counts = demand.0.entry(value).or_default();
            let needs = v.uses.iter().filter_map(|&(op, i)| choice.places[op].operands.get(i as usize));
            needs.for_each(|&at| add(counts, at));
        }
        demand
    }

    /// Returns the distributions in which a value's users want it; `None` where there are few users.
    pub(super) fn needs(&self, graph: &Graph, value: ValueId) -> Option<SmallVec<[Dist; 4]>> {
        let counts = (graph.values[value].uses.len() > PLAN.few_users).then(|| self.0.get(&value))??;
        Some(counts.iter().map(|c| c.0).collect())
    }

    /// Updates the counts after an op's places changed.
    pub(super) fn replace(&mut self, graph: &Graph, op: OpId, before: &Places, after: &Places) {
        if self.0.is_empty() {
            return;
        }
        for (i, value) in graph.ops[op].operands.iter().enumerate() {
            let Some(value) = value.filter(|&v| graph.values[v].uses.len() > PLAN.few_users) else { continue };
            let Some(counts) = self.0.get_mut(&value) else { continue };
            if let Some(at) = before.operands.get(i) {
                counts.iter_mut().filter(|c| c.0 == *at).for_each(|c| c.1 -= 1);
                counts.retain(|c| c.1 > 0);
            }
            after.operands.get(i).into_iter().for_each(|&at| add(counts, at));
        }
    }
}

fn add(counts: &mut SmallVec<[(Dist, usize); 4]>, at: Dist) {
    match counts.iter_mut().find(|c| c.0 == at) {
        Some(known) => known.1 += 1,
        None => counts.push((at, 1)),
    }
}
