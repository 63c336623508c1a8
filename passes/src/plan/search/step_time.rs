//! The step time of a plan on a machine where collectives overlap arithmetic.
//!
//! This is the model of `estimate`, on the graph: ops run in program order, collectives start where a value is first
//! read in another distribution, and each stream runs one op at a time. An op in a loop counts the time of all its
//! runs.

use super::draft::Draft;
use crate::estimate::Simulation;
use crate::plan::program::graph::ValueId;
use crate::plan::reshard::cache::Dist;

/// A device's streams.
const COMPUTE: usize = 0;
const COMMUNICATION: usize = 1;

/// Returns the seconds of a step under a plan.
pub(crate) fn step_seconds(draft: &mut Draft<'_, '_>) -> f64 {
    let graph = draft.graph;
    let mut simulation = Simulation::beginning(0.0);
    for (op, node) in graph.ops.iter_enumerated() {
        let places = draft.choice.places[op].clone();
        let mut end = 0.0f64;
        for (value, &at) in node.operands.iter().zip(&places.operands) {
            if let Some(value) = *value {
                end = end.max(copy(&mut simulation, draft, value, at));
            }
        }
        let seconds = draft.work(op, &places);
        if seconds > 0.0 {
            end = simulation.start(end, [COMPUTE]) + seconds;
            simulation.occupy(COMPUTE, end);
        }
        simulation.finish(node.results.iter().zip(&places.results).filter_map(|(v, &at)| Some(((*v)?, at))), end);
    }
    simulation.end()
}

/// Returns the time when a copy of a value is ready; it is sent now if no earlier op read it.
fn copy(simulation: &mut Simulation<(ValueId, Dist)>, draft: &mut Draft<'_, '_>, value: ValueId, at: Dist) -> f64 {
    if let Some(ready) = simulation.ready((value, at)) {
        return ready;
    }
    let graph = draft.graph;
    let copies = graph.copies(draft.cache, &draft.choice.places, value);
    let mut way: Vec<usize> = copies.list.iter().position(|copy| copy.at == at).into_iter().collect();
    while let Some((from, _)) = way.last().and_then(|&last| copies.list[last].from) {
        way.push(from);
    }
    // Arguments, and constants that each device computes itself, are ready from the start.
    let mut end = 0.0;
    for &i in way.iter().rev() {
        let copy = &copies.list[i];
        end = match (copy.from, simulation.ready((value, copy.at))) {
            (_, Some(ready)) => ready,
            (None, None) => 0.0,
            (Some((from, kind)), None) => {
                let (ty, weight) = (graph.values[value].ty, graph.values[value].weight);
                let seconds = draft.cache.step_seconds(ty, copies.list[from].at, copy.at, kind) * weight;
                if seconds > 0.0 {
                    end = simulation.start(end, [COMMUNICATION]) + seconds;
                    simulation.occupy(COMMUNICATION, end);
                }
                end
            }
        };
        simulation.finish([(value, copy.at)], end);
    }
    end
}
