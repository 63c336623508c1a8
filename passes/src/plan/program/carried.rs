//! Finds values that a loop could carry in a different distribution than propagation chose, because nothing outside of
//! the loop fixes it.
//!
//! Sums that a loop adds to in every iteration, such as the gradients of microbatches: where the added value is a
//! partial sum, the loop may carry partial sums, which are then combined once after the loop instead of in every
//! iteration. Values that a loop stacks, such as those that the loop of a backward pass reads: where they are computed
//! in another distribution, both loops may carry the stack in that distribution.

use dialect::id::TiSlice;
use dialect::ir::{Op, Program, Value};
use dialect::op::Control;
use dialect::sharding::{Axes, AxisPart, Distribution, ReductionKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

use super::graph::{Graph, OpId, Places, ValueId};
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::{Choice, Rates};
use crate::plan::model::meaning::Models;
use crate::plan::reshard::cache::{Dist, ReshardCache};

/// A plan of one block.
pub(crate) struct Planned<'a, 's> {
    pub(crate) program: &'a Program,
    pub(crate) graph: &'a Graph,
    pub(crate) places: &'a TiSlice<OpId, Rc<Places>>,
    pub(crate) models: &'a Models,
    pub(crate) cache: &'a ReshardCache<'s>,
}

/// A result of a loop that could be carried as partial sums.
pub(crate) struct PartialSum {
    pub(crate) result: Value,
    /// The distribution that it would then have.
    pub(crate) at: Distribution,
    /// The values of the loop that then wouldn't have to be moved, and the ops that might then be computed in shards.
    freed: Freed,
}

/// Values whose moves, and ops whose work, a loop might save.
#[derive(Default)]
struct Freed {
    values: Vec<ValueId>,
    ops: Vec<OpId>,
}

impl PartialSum {
    /// Returns an upper bound on the seconds that a plan gains by carrying all of `sums`: the current cost of moving
    /// values and of the work of ops in the loops. It doesn't subtract the cost of combining after the loops.
    pub(crate) fn most_gained(
        sums: &[PartialSum],
        graph: &Graph,
        choice: &Choice,
        cache: &mut ReshardCache<'_>,
        rates: Rates,
    ) -> f64 {
        let mut values: Vec<ValueId> = sums.iter().flat_map(|s| s.freed.values.iter().copied()).collect();
        let mut ops: Vec<OpId> = sums.iter().flat_map(|s| s.freed.ops.iter().copied()).collect();
        values.sort_unstable();
        values.dedup();
        ops.sort_unstable();
        ops.dedup();
        let mut gained = 0.0;
        for value in values {
            gained += graph.copies(cache, &choice.places, value).seconds * graph.values[value].weight;
        }
        for op in ops {
            gained += graph.work(cache, rates, op, &choice.places[op]) * graph.ops[op].weight;
        }
        for sum in sums {
            let Some(&value) = graph.value_at.get(&sum.result) else { continue };
            let (at, v) = (cache.dist(&sum.at), &graph.values[value]);
            let needs = graph.needs(&choice.places, value);
            let least = needs.iter().map(|&to| cache.at_least(v.ty, at, to).0).min_by(f64::total_cmp);
            gained -= least.unwrap_or(0.0) * v.weight;
        }
        gained
    }
}

impl Planned<'_, '_> {
    /// Returns the results of loops that could be carried as partial sums.
    pub(crate) fn partial_sums(&self) -> Vec<PartialSum> {
        self.loops().into_iter().flat_map(|(at, op)| self.of_loop(at, op)).collect()
    }

    /// Finds the stacks among the results of loops whose elements are computed in another distribution than the stack
    /// has. Returns each with the distribution that avoids the move, together with results of later loops that pass the
    /// same values through.
    pub(crate) fn as_made(&self) -> Vec<(Value, Distribution)> {
        let mut found: Vec<(Value, Distribution)> = Vec::new();
        let mut at_result: FxHashMap<Value, usize> = FxHashMap::default();
        for (at, op) in self.loops() {
            let view = self.program.view(op);
            let Some(body) = view.block(1) else { continue };
            let next = self.program.terminator(body).map_or(&[][..], |op| &self.program.op(op).operands);
            let args = self.program.block_args(body).iter().zip(next);
            for (i, ((arg, next), initial)) in args.zip(view.operands()).enumerate() {
                let moved = if arg == next {
                    at_result.get(initial).map(|&earlier| found[earlier].1.clone())
                } else {
                    let place = self.places[at].results.get(i);
                    self.ids([*arg, *next]).zip(place).and_then(|([arg, next], &at)| self.origin(arg, next, at))
                };
                if let Some(moved) = moved {
                    let result = self.program.result(op, i);
                    at_result.insert(result, found.len());
                    found.push((result, moved));
                }
            }
        }
        found
    }

    /// Returns all loops in program order.
    fn loops(&self) -> Vec<(OpId, Op)> {
        let mut loops: Vec<(OpId, Op)> = self.graph.op_at.iter().map(|(&op, &at)| (at, op)).collect();
        loops.retain(|&(_, op)| {
            let view = self.program.view(op);
            view.def().control(view) == Some(Control::While)
        });
        loops.sort_unstable_by_key(|l| l.0);
        loops
    }

    /// Returns the distribution of `value`, a stack carried at `at` whose loop argument is `arg`, if its elements
    /// stayed in the distribution in which they are computed; `None` if that is `at`, or if `value` is no stack.
    fn origin(&self, arg: ValueId, value: ValueId, at: Dist) -> Option<Distribution> {
        let (mut value, mut path) = (value, Vec::new());
        let mut made = loop {
            let (op, _) = self.graph.values[value].maker.filter(|_| path.len() < PLAN.carried_ops)?;
            let node = &self.graph.ops[op];
            node.model?;
            let others = node.operands.iter().enumerate().filter_map(|(i, v)| Some((i, v.filter(|&v| v != arg)?)));
            let bytes = |v: ValueId| self.cache.tensor_type(self.graph.values[v].ty).bytes().unwrap_or(0);
            // The stacked element is the largest of the other operands, since the remaining ones are positions. Ops
            // before the update must have a single operand.
            let others: SmallVec<[(usize, ValueId); 2]> = others.collect();
            let &(operand, from) = others.iter().max_by_key(|o| bytes(o.1))?;
            let is_put = others.len() < node.operands.len();
            if is_put != path.is_empty() || !is_put && others.len() > 1 {
                return None;
            }
            path.push((op, operand));
            let made = self.graph.made(self.places, from);
            if made != self.places[op].operands[operand] {
                break self.cache.distribution(made).clone();
            }
            value = from;
        };
        if !made.unreduced.is_empty() {
            return None;
        }
        for &(op, operand) in path.iter().rev() {
            let model = self.models.get(self.graph.ops[op].model?);
            let strategy = model.keeping([(operand, &made)]);
            made = model.assignment(&strategy).results.first()?.clone();
        }
        (&made != self.cache.distribution(at)).then_some(made)
    }

    fn of_loop(&self, at: OpId, op: Op) -> Vec<PartialSum> {
        let view = self.program.view(op);
        let (Some(condition), Some(body)) = (view.block(0), view.block(1)) else { return Vec::new() };
        let next = self.program.terminator(body).map_or(&[][..], |op| &self.program.op(op).operands);
        let args = self.program.block_args(body).iter().zip(self.program.block_args(condition));
        let mut found = Vec::new();
        for (i, ((arg, tested), next)) in args.zip(next).enumerate() {
            let Some([arg, tested, next]) = self.ids([*arg, *tested, *next]) else { continue };
            let Some(&place) = self.places[at].results.get(i) else { continue };
            let place = self.cache.distribution(place);
            if !place.unreduced.is_empty() || !self.graph.values[tested].uses.is_empty() {
                continue;
            }
            let mut freed = Freed::default();
            if let Some(axes) = self.added(arg, next, &mut freed) {
                let taken = |p: &AxisPart| axes.iter().any(|a| a.conflicts_with(*p));
                let dims = place.dims.iter().map(|dim| dim.iter().copied().take_while(|p| !taken(p)).collect());
                let at = Distribution::of_dims(dims).with_unreduced(&axes, ReductionKind::Sum);
                found.push(PartialSum { result: self.program.result(op, i), at, freed });
            }
        }
        found
    }

    fn ids<const N: usize>(&self, values: [Value; N]) -> Option<[ValueId; N]> {
        let ids: Vec<ValueId> = values.iter().map_while(|v| self.graph.value_at.get(v).copied()).collect();
        ids.try_into().ok()
    }

    /// Returns the axes along which every value added to `from` on the way to `to` is partial; `None` if `from` has any
    /// other use on the way.
    fn added(&self, from: ValueId, to: ValueId, freed: &mut Freed) -> Option<Axes> {
        let (mut at, mut axes) = (from, None);
        for _ in 0..PLAN.carried_ops {
            let [(op, operand)] = self.graph.values[at].uses[..] else { return None };
            if at == to {
                return axes;
            }
            let node = &self.graph.ops[op];
            let model = self.models.get(node.model?);
            let set = model.linear.iter().find(|set| set.contains(&(operand as usize)))?;
            for other in set.iter().copied().filter(|&i| i != operand as usize) {
                let partial = self.partial(node.operands[other]?, freed)?;
                if axes.get_or_insert_with(|| partial.clone()) != &partial {
                    return None;
                }
            }
            let [Some(result)] = node.results[..] else { return None };
            at = result;
        }
        None
    }

    /// Returns the axes along which `value`, or the value that linear ops compute it from, is partial where it is
    /// computed, or would be if that op read its operands as propagation sharded them.
    fn partial(&self, mut value: ValueId, freed: &mut Freed) -> Option<Axes> {
        for _ in 0..PLAN.carried_ops {
            freed.values.push(value);
            let made = self.cache.distribution(self.graph.made(self.places, value));
            if !made.unreduced.is_empty() {
                return (made.kind == ReductionKind::Sum).then(|| made.unreduced.clone());
            }
            let op = self.graph.values[value].maker?.0;
            let node = &self.graph.ops[op];
            let model = self.models.get(node.model?);
            let operands = node.operands.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
            let there = operands.map(|(i, v)| (i, self.cache.distribution(self.graph.values[v].propagated)));
            let combined = model.reduced(&model.keeping(there));
            if !combined.is_empty() && model.reduction == Some(ReductionKind::Sum) {
                freed.values.extend(node.operands.iter().flatten());
                freed.ops.push(op);
                return Some(combined);
            }
            let only = model.linear.iter().find(|set| set.len() == 1)?.first()?;
            value = node.operands[*only]?;
        }
        None
    }
}
