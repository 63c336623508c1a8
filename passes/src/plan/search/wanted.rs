//! Where the many readers of shared values want them: counted, so that looking at a plan doesn't take longer the more layers
//! read the same scalar.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::plan::model::choice::Choice;
use crate::plan::program::graph::{Graph, OpId, Places, ValueId};
use crate::plan::reshard::cache::Dist;

/// Values with at most so many readers are looked at reader by reader.
const FEW: usize = 16;

/// By value with many readers: in which distributions they want it, and how many want it there.
#[derive(Default)]
pub(super) struct Wanted(FxHashMap<ValueId, SmallVec<[(Dist, usize); 4]>>);

impl Wanted {
    /// Under the plan `choice`.
    pub(super) fn of(graph: &Graph, choice: &Choice) -> Self {
        let mut wanted = Self::default();
        for (value, v) in graph.values.iter_enumerated().filter(|v| v.1.uses.len() > FEW) {
            let counts = wanted.0.entry(value).or_default();
            let needs = v.uses.iter().filter_map(|&(op, i)| choice.places[op].operands.get(i as usize));
            needs.for_each(|&at| add(counts, at));
        }
        wanted
    }

    /// The distributions in which a value's readers want it; `None` where there are few readers.
    pub(super) fn needs(&self, graph: &Graph, value: ValueId) -> Option<SmallVec<[Dist; 4]>> {
        let counts = (graph.values[value].uses.len() > FEW).then(|| self.0.get(&value))??;
        Some(counts.iter().map(|c| c.0).collect())
    }

    /// Notes that an op has other places from now on.
    pub(super) fn replace(&mut self, graph: &Graph, op: OpId, before: &Places, after: &Places) {
        if self.0.is_empty() {
            return;
        }
        for (i, value) in graph.ops[op].operands.iter().enumerate() {
            let Some(value) = value.filter(|&v| graph.values[v].uses.len() > FEW) else { continue };
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
