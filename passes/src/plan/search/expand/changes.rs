//! What a move could change: ops with their strategies after it.

use std::rc::Rc;

use dialect::sharding::AxisPart;
use dialect::sharding::axis::set_difference;
use smallvec::SmallVec;

use super::Move;
use super::classes::{DimensionClass, FactorSet, NO_FACTORS};
use super::cut::Question;
use super::moves::{Moves, Target};
use crate::bit_set::BitSet;
use crate::plan::model::choice::StrategyId;
use crate::plan::model::meaning::Model;
use crate::plan::model::strategy::Strategy;
use crate::plan::program::graph::{OpId, Places};

/// An op that a move could change, together with all of its role.
pub(super) struct Change {
    pub(super) op: OpId,
    pub(super) id: StrategyId,
    pub(super) places: Rc<Places>,
    /// Seconds of work that it adds in all ops of its role.
    pub(super) more: f64,
    pub(super) question: Question,
}

impl Move<'_, '_, '_> {
    /// The ops that would change.
    pub(super) fn options(&mut self) -> Vec<Change> {
        let (graph, target) = (self.draft.graph, self.target);
        let mut asked: Vec<(OpId, FactorSet)> = Vec::new();
        match target {
            Target::First(class) | Target::Last(class) => asked.extend_from_slice(self.moves.classes.ops(class)),
            Target::Only(class) => asked = self.only(class),
            Target::Replicated => asked.extend(self.moves.roles.ops.iter().map(|ops| (ops[0], NO_FACTORS))),
            Target::Propagated => asked.extend_from_slice(&self.all_propagated()),
        }
        let last = matches!(target, Target::Last(_));
        let mut options = Vec::new();
        for (op, factors) in asked {
            let now = self.draft.choice.strategies[op];
            let mut models = self.moves.roles.works(op).iter().filter_map(|m| graph.ops[m.0].model);
            let Some(model) = models.next() else { continue };
            let others: SmallVec<[Model; 1]> = models.collect();
            let Some(id) = self.after(model, now, factors, last).filter(|&id| id != now) else { continue };
            if others.into_iter().any(|other| self.after(other, now, factors, last) != Some(id)) {
                continue;
            }
            let draft = &mut *self.draft;
            let mut more = 0.0;
            for &(op, count) in self.moves.roles.works(op) {
                let Some(model) = graph.ops[op].model else { continue };
                let places = draft.placer.places(draft.models, draft.cache, model, id);
                more += (draft.work(op, &places) - draft.work(op, &draft.choice.places[op])) * count;
            }
            let places = draft.placer.places(draft.models, draft.cache, model, id);
            options.push(Change { op, id, places, more, question: Question::number(options.len()) });
        }
        options
    }

    /// The ops with factors of the class, and all others without any.
    fn only(&self, class: DimensionClass) -> Vec<(OpId, FactorSet)> {
        let Moves { roles, classes, .. } = &*self.moves;
        let mut asked = classes.ops(class).to_vec();
        let mut own = vec![false; roles.ops.len()];
        asked.iter().for_each(|&(op, _)| own[roles.of[op].index()] = true);
        asked.extend(roles.ops.iter().zip(own).filter(|role| !role.1).map(|role| (role.0[0], NO_FACTORS)));
        asked
    }

    /// The strategy that ops of `model` have after the move.
    fn after(&mut self, model: Model, now: StrategyId, factors: FactorSet, last: bool) -> Option<StrategyId> {
        let asked = (model, now, self.group, factors, last);
        match self.moves.strategies.get(&asked) {
            Some(&known) => known,
            None => {
                let found = self.strategy_id(model, now, factors, last);
                self.moves.strategies.insert(asked, found);
                found
            }
        }
    }

    /// The ops with factors that the axes shard in the propagated distributions, and these factors.
    fn all_propagated(&mut self) -> Rc<[(OpId, FactorSet)]> {
        if let Some(known) = self.moves.propagated.get(&self.group) {
            return known.clone();
        }
        let mut found = Vec::new();
        for op in self.moves.roles.ops.iter().map(|ops| ops[0]).collect::<Vec<_>>() {
            let factors = self.propagated_factors(op);
            if !factors.is_empty() {
                found.push((op, self.moves.classes.factor_set(factors)));
            }
        }
        let found: Rc<[(OpId, FactorSet)]> = found.into();
        self.moves.propagated.insert(self.group, found.clone());
        found
    }

    /// The factors of op `op` that the axes shard in the propagated distributions of its results and operands.
    fn propagated_factors(&self, op: OpId) -> BitSet {
        let axes = &self.moves.groups[self.group];
        let (graph, cache) = (self.draft.graph, &self.draft.cache);
        let node = &graph.ops[op];
        let Some(model) = node.model else { return BitSet::default() };
        let rule = &self.draft.models.get(model).rule;
        let tensors = node.results.iter().chain(&node.operands).zip(rule.results.iter().chain(&rule.operands));
        let mut found = BitSet::default();
        for (value, rule) in tensors {
            let Some(value) = *value else { continue };
            let propagated = cache.distribution(graph.values[value].propagated);
            let sharded = propagated
                .dims
                .iter()
                .zip(rule)
                .filter(|d| d.0.iter().any(|p| axes.iter().any(|a| p.conflicts_with(*a))));
            sharded.filter_map(|d| d.1.first()).for_each(|&f| found.insert(f as usize));
        }
        found
    }

    /// The strategy that follows from `now` when the axes shard one of `factors` instead.
    fn strategy_id(&mut self, model: Model, now: StrategyId, factors: FactorSet, last: bool) -> Option<StrategyId> {
        let Moves { groups, without: known, ranks, classes, .. } = &mut *self.moves;
        let (axes, rank) = (&groups[self.group], |p: AxisPart| ranks[p.axis as usize]);
        let whole = known.entry((now, self.group));
        let whole = &**whole.or_insert_with(|| Rc::new(without(self.draft.placer.strategy(now), axes)));
        let meaning = self.draft.models.get(model);
        let sharded = |f: usize| {
            let (&first, others) = axes.split_first()?;
            let begun = meaning.with_axis(whole, first, f, &rank)?;
            others.iter().try_fold(begun, |s, &axis| meaning.with_axis(&s, axis, f, &rank))
        };
        let factors = classes.factors(factors);
        let mut each = factors.iter();
        let found = match (factors.is_empty(), last) {
            // Without axes on a major factor, minor factors of the same dimension may lose theirs too.
            (true, _) => {
                let mut legal = whole.clone();
                meaning.legalize(&mut legal);
                Some(legal)
            }
            (_, false) => each.find_map(sharded),
            (_, true) => each.rev().find_map(sharded),
        };
        found.map(|s| self.draft.placer.strategy_id(&s))
    }
}

/// The strategy without these axes, and without parts of the same mesh axes that no division of those has beside them.
fn without(strategy: &Strategy, axes: &[AxisPart]) -> Strategy {
    let mut next = strategy.clone();
    let conflicts = |p: &AxisPart| axes.iter().any(|a| p.conflicts_with(*a));
    for parts in &mut next.factors {
        if parts.iter().any(conflicts) {
            *parts = parts.iter().flat_map(|&p| set_difference(&[p], axes)).filter(|p| !conflicts(p)).collect();
        }
    }
    next.through = set_difference(&next.through, axes);
    next.through.retain(|p| !conflicts(p));
    if next.through.is_empty() {
        next.set = BitSet::default();
    }
    next
}
