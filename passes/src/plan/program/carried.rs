//! Sums that a loop adds to in every iteration, such as the gradients of microbatches. Where what is added is a partial
//! sum, the loop may carry partial sums: they are then combined once after it instead of in every iteration.

use dialect::id::TiSlice;
use dialect::ir::{Op, Program, Value};
use dialect::op::Control;
use dialect::sharding::{Axes, AxisPart, Distribution, ReductionKind};
use std::rc::Rc;

use super::graph::{Graph, OpId, Places, ValueId};
use crate::plan::model::meaning::Models;
use crate::plan::reshard::cache::ReshardCache;

/// At most this many ops are followed from what a loop carries to what it passes on.
const MAX_OPS: usize = 64;

/// A plan of one block.
pub(crate) struct Planned<'a, 's> {
    pub(crate) program: &'a Program,
    pub(crate) graph: &'a Graph,
    pub(crate) places: &'a TiSlice<OpId, Rc<Places>>,
    pub(crate) models: &'a Models,
    pub(crate) cache: &'a ReshardCache<'s>,
}

impl Planned<'_, '_> {
    /// The results of loops that could be carried as partial sums, and how they then lie.
    pub(crate) fn partial_sums(&self) -> Vec<(Value, Distribution)> {
        let mut loops: Vec<(OpId, Op)> = self.graph.op_at.iter().map(|(&op, &at)| (at, op)).collect();
        loops.retain(|&(_, op)| {
            let view = self.program.view(op);
            view.def().control(view) == Some(Control::While)
        });
        loops.sort_unstable_by_key(|l| l.0);
        loops.into_iter().flat_map(|(at, op)| self.of_loop(at, op)).collect()
    }

    fn of_loop(&self, at: OpId, op: Op) -> Vec<(Value, Distribution)> {
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
            if let Some(axes) = self.added(arg, next) {
                let taken = |p: &AxisPart| axes.iter().any(|a| a.conflicts_with(*p));
                let dims = place.dims.iter().map(|dim| dim.iter().copied().take_while(|p| !taken(p)).collect());
                let partial = Distribution::of_dims(dims).with_unreduced(&axes, ReductionKind::Sum);
                found.push((self.program.result(op, i), partial));
            }
        }
        found
    }

    fn ids<const N: usize>(&self, values: [Value; N]) -> Option<[ValueId; N]> {
        let ids: Vec<ValueId> = values.iter().map_while(|v| self.graph.value_at.get(v).copied()).collect();
        ids.try_into().ok()
    }

    /// The axes along which all that is added to `from` on the way to `to` is partial, if nothing else is done to it.
    fn added(&self, from: ValueId, to: ValueId) -> Option<Axes> {
        let (mut at, mut axes) = (from, None);
        for _ in 0..MAX_OPS {
            let [(op, operand)] = self.graph.values[at].uses[..] else { return None };
            if at == to {
                return axes;
            }
            let node = &self.graph.ops[op];
            let model = self.models.get(node.model?);
            let set = model.linear.iter().find(|set| set.contains(operand as usize))?;
            for other in set.iter().filter(|&i| i != operand as usize) {
                let partial = self.partial(node.operands[other]?)?;
                if axes.get_or_insert_with(|| partial.clone()) != &partial {
                    return None;
                }
            }
            let [Some(result)] = node.results[..] else { return None };
            at = result;
        }
        None
    }

    /// The axes along which a value is partial where it, or what it follows from by linear ops alone, is computed; or
    /// would be if that op left its operands where propagation put them.
    fn partial(&self, mut value: ValueId) -> Option<Axes> {
        for _ in 0..MAX_OPS {
            let made = self.cache.distribution(self.graph.made(self.places, value));
            if !made.unreduced.is_empty() {
                return (made.kind == ReductionKind::Sum).then(|| made.unreduced.clone());
            }
            let node = &self.graph.ops[self.graph.values[value].maker?.0];
            let model = self.models.get(node.model?);
            let operands = node.operands.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
            let there = operands.map(|(i, v)| (i, self.cache.distribution(self.graph.values[v].propagated)));
            let combined = model.reduced(&model.keeping(there));
            if !combined.is_empty() && model.reduction == Some(ReductionKind::Sum) {
                return Some(combined);
            }
            let only = model.linear.iter().find(|set| set.len() == 1)?.iter().next()?;
            value = node.operands[only]?;
        }
        None
    }
}
