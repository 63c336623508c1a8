//! The ops that a move could change, and their strategies after it.

use std::collections::BTreeSet;
use std::rc::Rc;

use dialect::sharding::AxisPart;
use dialect::sharding::axis::{merged, set_difference, set_of};
use smallvec::SmallVec;

use super::Move;
use super::classes::{DimensionClass, FactorSet};
use super::cut::Question;
use super::moves::{Along, Moves, Target};
use super::roles::Role;
use crate::plan::model::choice::StrategyId;
use crate::plan::model::meaning::Model;
use crate::plan::model::strategy::Strategy;
use crate::plan::program::graph::{OpId, Places};

/// An op that a move could change, together with all ops of its role.
pub(super) struct Change {
    pub(super) op: OpId,
    pub(super) id: StrategyId,
    pub(super) places: Rc<Places>,
    /// Seconds of work that it adds in all ops of its role.
    pub(super) more: f64,
}

/// The ops that a move asks, one per role, numbered by their [`Question`]s, and their changes as far as computed.
pub(super) struct Candidates {
    ops: Vec<(OpId, Along)>,
    roles: Vec<Role>,
    /// The computed changes; an inner `None` means that the move doesn't change the op.
    changes: Vec<Option<Option<Change>>>,
}

impl Candidates {
    /// Returns the number of ops.
    pub(super) fn len(&self) -> usize {
        self.ops.len()
    }

    pub(super) fn questions(&self) -> impl Iterator<Item = Question> + use<> {
        (0..self.len()).map(Question::number)
    }

    pub(super) fn op(&self, question: Question) -> OpId {
        self.ops[question.index()].0
    }

    /// Returns the question for the ops of a role, if the move asks them; `last` is the last question any move
    /// candidates them.
    pub(super) fn of(&self, role: Role, last: Question) -> Option<Question> {
        (self.roles.get(last.index()) == Some(&role)).then_some(last)
    }

    /// Returns the change of the op, if it has been computed and isn't empty.
    pub(super) fn change(&self, question: Question) -> Option<&Change> {
        self.changes[question.index()].as_ref()?.as_ref()
    }

    /// Returns the number of changes found.
    pub(super) fn found(&self) -> usize {
        self.changes.iter().filter(|change| matches!(change, Some(Some(_)))).count()
    }
}

impl Move<'_, '_, '_> {
    /// Returns the ops that the move asks.
    pub(super) fn candidates(&mut self) -> Candidates {
        let (graph, target) = (self.draft.graph, self.target);
        let first = |of: &[(OpId, FactorSet)]| of.iter().map(|&(op, f)| (op, Along::First(f))).collect();
        let Moves { roles, classes, .. } = &*self.moves;
        let ops: Vec<(OpId, Along)> = match target {
            Target::First(class) => first(classes.ops(class)),
            Target::Last(class) => classes.ops(class).iter().map(|&(op, f)| (op, Along::Last(f))).collect(),
            Target::Only(class) => self.all(class, Along::Nothing),
            Target::Inside(class) => self.all(class, Along::Inside),
            Target::Replicated => roles.ops.iter().map(|ops| (ops[0], Along::Nothing)).collect(),
            Target::Propagated => first(&self.all_propagated()),
        };
        let ops = match self.tried {
            Some(tried) => self.moves.near(ops, tried, graph),
            None => ops,
        };
        let changes = ops.iter().map(|_| None).collect();
        let Moves { roles, question_of, .. } = &mut *self.moves;
        let roles: Vec<Role> = ops.iter().map(|&(op, _)| roles.of[op]).collect();
        roles.iter().enumerate().for_each(|(i, &role)| question_of[role] = Question::number(i));
        Candidates { ops, roles, changes }
    }

    /// Returns the change of the op, computed once.
    pub(super) fn change<'o>(&mut self, candidates: &'o mut Candidates, question: Question) -> Option<&'o Change> {
        let i = question.index();
        if candidates.changes[i].is_none() {
            let (op, along) = candidates.ops[i];
            candidates.changes[i] = Some(self.change_of(op, along));
        }
        candidates.change(question)
    }

    fn change_of(&mut self, op: OpId, along: Along) -> Option<Change> {
        let graph = self.draft.graph;
        let now = self.draft.choice.strategies[op];
        let mut models = self.moves.roles.works(op).iter().filter_map(|m| graph.ops[m.0].model);
        let model = models.next()?;
        let others: SmallVec<[Model; 1]> = models.collect();
        let (id, places) = self.after(model, now, along)?;
        if others.into_iter().any(|other| self.after(other, now, along).is_none_or(|after| after.0 != id)) {
            return None;
        }
        let draft = &mut *self.draft;
        let mut work = 0.0;
        for &(op, count) in self.moves.roles.works(op) {
            let places = match graph.ops[op].model {
                Some(other) if other == model => places.clone(),
                Some(other) => draft.placer.places(draft.models, draft.cache, other, id),
                None => continue,
            };
            work += draft.work(op, &places) * count;
        }
        Some(Change { op, id, places, more: work - self.moves.now.work(self.moves.roles.of[op]) })
    }

    /// Returns all ops: those with factors of the class along the first of these factors, the others along `others`.
    fn all(&self, class: DimensionClass, others: Along) -> Vec<(OpId, Along)> {
        let Moves { roles, classes, .. } = &*self.moves;
        let mut candidates: Vec<_> = classes.ops(class).iter().map(|&(op, f)| (op, Along::First(f))).collect();
        let mut own = vec![false; roles.ops.len()];
        candidates.iter().for_each(|&(op, _)| own[roles.of[op].index()] = true);
        candidates.extend(roles.ops.iter().zip(own).filter(|role| !role.1).map(|role| (role.0[0], others)));
        candidates
    }

    /// Returns the strategy that ops of `model` have after the move, and its distributions, if the move changes them.
    fn after(&mut self, model: Model, now: StrategyId, along: Along) -> Option<(StrategyId, Rc<Places>)> {
        let key = (model, now, self.group, along);
        if let Some(known) = self.moves.strategies.get(&key) {
            return known.clone();
        }
        let found = self.strategy_id(model, now, along).filter(|&id| id != now);
        let draft = &mut *self.draft;
        let found = found.map(|id| (id, draft.placer.places(draft.models, draft.cache, model, id)));
        self.moves.strategies.insert(key, found.clone());
        found
    }

    /// Returns the ops with factors that the axes shard in the propagated distributions, and these factors.
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

    /// Returns the factors of op `op` that the axes shard in the propagated distributions of its results and operands.
    fn propagated_factors(&self, op: OpId) -> BTreeSet<usize> {
        let axes = &self.moves.groups[self.group];
        let (graph, cache) = (self.draft.graph, &self.draft.cache);
        let node = &graph.ops[op];
        let Some(model) = node.model else { return BTreeSet::new() };
        let rule = &self.draft.models.get(model).rule;
        let tensors = node.results.iter().chain(&node.operands).zip(rule.results.iter().chain(&rule.operands));
        let mut found = BTreeSet::new();
        for (value, rule) in tensors {
            let Some(value) = *value else { continue };
            let propagated = cache.distribution(graph.values[value].propagated);
            let sharded = propagated
                .dims
                .iter()
                .zip(rule)
                .filter(|d| d.0.iter().any(|p| axes.iter().any(|a| p.conflicts_with(*a))));
            found.extend(sharded.filter_map(|d| d.1.first()).map(|&f| f as usize));
        }
        found
    }

    /// Returns the strategy after the move from `now`.
    fn strategy_id(&mut self, model: Model, now: StrategyId, along: Along) -> Option<StrategyId> {
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
        let found = match along {
            Along::First(factors) => classes.factors(factors).iter().copied().find_map(sharded),
            Along::Last(factors) => classes.factors(factors).iter().rev().copied().find_map(sharded),
            // Without axes on a major factor, minor factors of the same dimension may lose their axes, too.
            Along::Nothing => {
                let mut legal = whole.clone();
                meaning.legalize(&mut legal);
                Some(legal)
            }
            Along::Inside => {
                let inside = inside(self.draft.placer.strategy(now), whole, axes)?;
                let mut legal = inside.clone();
                meaning.legalize(&mut legal);
                (legal == inside).then_some(inside)
            }
        };
        found.map(|s| self.draft.placer.strategy_id(s))
    }
}

/// Returns the strategy with these axes innermost in each factor that they shard; `whole` is the strategy without them.
/// `None` where other parts of the same mesh axes take their place.
fn inside(strategy: &Strategy, whole: &Strategy, axes: &[AxisPart]) -> Option<Strategy> {
    let mut next = strategy.clone();
    for ((parts, rest), before) in next.factors.iter_mut().zip(&whole.factors).zip(&strategy.factors) {
        if rest != before {
            *parts = merged(rest.iter().chain(axes).copied());
            if set_of(parts.iter().copied()) != set_of(before.iter().copied()) {
                return None;
            }
        }
    }
    Some(next)
}

/// Removes these axes from the strategy, and parts of the same mesh axes that conflict with them.
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
        next.set = BTreeSet::new();
    }
    next
}
