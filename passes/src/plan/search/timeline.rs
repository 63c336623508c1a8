//! The step time of a plan on a machine where collectives overlap arithmetic.
//!
//! This is the model of `estimate`, on the graph: ops run in program order, collectives start where a value is first
//! read in another distribution, and each stream runs one op at a time. An op in a loop counts the time of all its
//! runs.

use rustc_hash::FxHashMap;

use super::draft::Draft;
use crate::plan::program::graph::ValueId;
use crate::plan::reshard::cache::Dist;

/// The time in seconds when each stream is free, and when each copy of a value is ready.
#[derive(Default)]
struct Clock {
    computing: f64,
    communicating: f64,
    ready: FxHashMap<(ValueId, Dist), f64>,
}

/// Returns the seconds of a step under a plan.
pub(crate) fn step_seconds(draft: &mut Draft<'_, '_>) -> f64 {
    let graph = draft.graph;
    let mut clock = Clock::default();
    for (op, node) in graph.ops.iter_enumerated() {
        let places = draft.choice.places[op].clone();
        let mut start = 0.0f64;
        for (value, &at) in node.operands.iter().zip(&places.operands) {
            if let Some(value) = *value {
                start = start.max(clock.copy(draft, value, at));
            }
        }
        let seconds = draft.work(op, &places);
        if seconds > 0.0 {
            start = start.max(clock.computing) + seconds;
            clock.computing = start;
        }
        for (value, &at) in node.results.iter().zip(&places.results) {
            if let Some(value) = *value {
                clock.ready.insert((value, at), start);
            }
        }
    }
    clock.computing.max(clock.communicating)
}

impl Clock {
    /// Returns the time when a copy of a value is ready; it is sent now if no earlier op read it.
    fn copy(&mut self, draft: &mut Draft<'_, '_>, value: ValueId, at: Dist) -> f64 {
        if let Some(&ready) = self.ready.get(&(value, at)) {
            return ready;
        }
        let graph = draft.graph;
        let copies = graph.copies(draft.cache, &draft.choice.places, value);
        let mut way: Vec<usize> = copies.list.iter().position(|copy| copy.at == at).into_iter().collect();
        while let Some((from, _)) = way.last().and_then(|&last| copies.list[last].from.as_ref()) {
            way.push(*from);
        }
        // Arguments, and constants that each device computes itself, are ready from the start.
        let mut there = 0.0;
        for &i in way.iter().rev() {
            let copy = &copies.list[i];
            let known = self.ready.get(&(value, copy.at)).copied();
            there = match (&copy.from, known) {
                (_, Some(known)) => known,
                (None, None) => 0.0,
                (Some((from, kind)), None) => {
                    let (ty, weight) = (graph.values[value].ty, graph.values[value].weight);
                    let seconds = draft.cache.step_seconds(ty, copies.list[*from].at, copy.at, kind) * weight;
                    if seconds > 0.0 {
                        self.communicating = self.communicating.max(there) + seconds;
                        self.communicating
                    } else {
                        there
                    }
                }
            };
            self.ready.insert((value, copy.at), there);
        }
        there
    }
}
