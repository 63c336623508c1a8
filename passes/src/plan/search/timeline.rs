//! How long a plan's step takes on a machine where collectives run beside arithmetic.
//!
//! The model of `estimate`, on the graph: ops in the order of the program, collectives where a value is first read in
//! another distribution, each stream one thing after another. What a loop repeats takes as long as all its runs.

use rustc_hash::FxHashMap;

use super::draft::Draft;
use crate::plan::program::graph::ValueId;
use crate::plan::reshard::cache::Dist;

/// When each stream is free, and when each copy of a value is there, in seconds.
#[derive(Default)]
struct Clock {
    computing: f64,
    communicating: f64,
    ready: FxHashMap<(ValueId, Dist), f64>,
}

/// Seconds of a step under a plan.
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
    /// When a copy of a value is there, which is sent now if nobody read it before.
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
        // What nothing made is there from the start: arguments, and constants that each device makes for itself.
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
