//! Recomputes ops between two moves of data once shards may be sent in parts. Before that, moving an operand and then
//! the result may have been cheaper than computing the op in the distribution of either, since the single move would
//! need parts. A reshape that merges two dimensions, the minor one sharded, is such an op: one move in parts replaces
//! an all_to_all before and one after it.

use dialect::sharding::Distribution;
use rustc_hash::FxHashSet;

use super::draft::Draft;
use crate::heuristics::HEURISTICS;
use crate::plan::heuristics::PLAN;
use crate::plan::model::strategy::Kept;
use crate::plan::program::graph::OpId;

/// Computes ops whose operands and results are both moved in the distribution of one of them, if that makes the plan
/// cheaper and its peak memory stays within `limit` bytes.
pub(crate) fn settle(draft: &mut Draft<'_, '_>, limit: f64) {
    let (graph, models) = (draft.graph, draft.models);
    let ops: Vec<OpId> = graph.ops.iter_enumerated().filter(|o| o.1.model.is_some()).map(|o| o.0).collect();
    for op in ops {
        let node = &graph.ops[op];
        let Some(model) = node.model.map(|m| models.get(m)) else { continue };
        let places = draft.choice.places[op].clone();
        let mut wanted = Vec::new();
        for (i, (v, &at)) in node.operands.iter().zip(&places.operands).enumerate() {
            let made = v.map(|v| graph.made(&draft.choice.places, v)).filter(|&made| made != at);
            wanted.extend(made.map(|made| (i, made)));
        }
        let operands = wanted.len();
        for (i, (v, &at)) in node.results.iter().zip(&places.results).enumerate() {
            let needs = v.map(|v| graph.needs(&draft.choice.places, v)).unwrap_or_default();
            wanted.extend(needs.into_iter().filter(|&need| need != at).map(|need| (node.operands.len() + i, need)));
        }
        if operands == 0 || operands == wanted.len() {
            continue;
        }
        let values = graph.values_of([op]);
        let (first, mut best) = (draft.choice.strategies[op], draft.cost(&[op], &values));
        let mut kept = first;
        let of = |(tensor, at)| (tensor, draft.cache.distribution(at).clone());
        let wanted: Vec<(usize, Distribution)> = wanted.into_iter().map(of).collect();
        // Of an op with thousands of operands most are sharded alike, and lead to the same strategy.
        let mut known: FxHashSet<Kept<'_>> = FxHashSet::default();
        let given = wanted.iter().map(|(tensor, at)| model.kept(*tensor, at)).filter(|kept| known.insert(kept.clone()));
        for given in given.take(PLAN.tried_per_op) {
            let id = draft.placer.strategy_id(model.keeping_all([&given]));
            draft.try_out(op, id);
            let seconds = draft.cost(&[op], &values);
            if seconds < best * (1.0 - HEURISTICS.gain) && draft.peak() <= limit {
                (kept, best) = (id, seconds);
            }
            draft.try_out(op, first);
        }
        if kept != first {
            draft.change([(op, kept)]);
        }
    }
}
