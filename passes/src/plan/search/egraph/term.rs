//! The terms of the e-graph: values in a distribution, ops under a strategy, steps of redistributions.
//!
//! A class is a value in one distribution: two terms are equal when they give the same value in the same distribution.
//! Terms of one value in one distribution are therefore merged when they are added; merging anything else is a bug in a
//! rule, and panics in tests.

use std::rc::Rc;
use std::sync::Arc;

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::plan::model::choice::{Placer, StrategyId};
use crate::plan::model::meaning::{Model, Models};
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::{Graph, OpId, Places, ValueId};
use crate::plan::reshard::cache::{Dist, ReshardCache, StepKind, Type};

/// The operation of a term on its operands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum TermKind {
    /// A value that is given.
    Given { value: ValueId, at: Dist },
    /// One result of an op of the graph under a strategy; its children are the op's tensor operands.
    Op { op: OpId, id: StrategyId, result: u32 },
    /// One step of a redistribution.
    Step { kind: StepKind, to: Dist },
    /// The root: all wanted classes.
    Wanted,
}

/// A node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term {
    pub(super) head: TermKind,
    pub(super) children: SmallVec<[Id; 3]>,
}

impl Language for Term {
    type Discriminant = TermKind;

    fn discriminant(&self) -> TermKind {
        self.head
    }

    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// The meaning of a class: a value of the graph and its distribution; `None` for the root.
pub(super) type ValueAt = Option<(ValueId, Dist)>;

/// The e-graph.
pub(super) type Terms<'a, 's> = EGraph<Term, Facts<'a, 's>>;

/// The data that rules read, and the tables that intern parts of terms.
pub(super) struct Facts<'a, 's> {
    pub(super) graph: &'a Graph,
    pub(super) models: &'a Models,
    pub(super) cache: &'a mut ReshardCache<'s>,
    pub(super) placer: &'a mut Placer,
    /// The class of each value in each distribution.
    classes: FxHashMap<(ValueId, Dist), Id>,
}

impl<'a, 's> Facts<'a, 's> {
    /// Creates facts about one graph.
    pub(super) fn new(
        graph: &'a Graph,
        models: &'a Models,
        cache: &'a mut ReshardCache<'s>,
        placer: &'a mut Placer,
    ) -> Self {
        Self { graph, models, cache, placer, classes: FxHashMap::default() }
    }

    /// Returns the model of op `op`; only ops that have one occur in terms.
    pub(super) fn model(&self, op: OpId) -> Option<(Model, Arc<OpModel>)> {
        let model = self.graph.ops[op].model?;
        Some((model, self.models.get(model).clone()))
    }

    /// Returns the distributions of the operands and results of op `op`.
    pub(super) fn places(&mut self, op: OpId, id: StrategyId) -> Rc<Places> {
        let Some(model) = self.graph.ops[op].model else { return Rc::default() };
        self.placer.places(self.models, self.cache, model, id)
    }

    /// Returns the strategy nearest to `id` under which tensor `tensor` of an op of `model` is sharded as at `at`.
    pub(super) fn adopting(&mut self, model: Model, id: StrategyId, tensor: usize, at: Dist) -> Option<StrategyId> {
        self.placer.adopting(self.models, self.cache, model, id, tensor, at)
    }

    /// Returns the id of `strategy`.
    pub(super) fn strategy_id(&mut self, strategy: Strategy) -> StrategyId {
        self.placer.strategy_id(strategy)
    }

    /// Returns the type of value `value`.
    pub(super) fn ty(&self, value: ValueId) -> Type {
        self.graph.values[value].ty
    }
}

impl Analysis<Term> for Facts<'_, '_> {
    type Data = ValueAt;

    fn make(terms: &mut EGraph<Term, Self>, term: &Term, _: Id) -> ValueAt {
        match term.head {
            TermKind::Given { value, at } => Some((value, at)),
            TermKind::Op { op, id, result } => {
                let value = terms.analysis.graph.ops[op].results.get(result as usize).copied().flatten()?;
                let at = terms.analysis.places(op, id).results.get(result as usize).copied()?;
                Some((value, at))
            }
            TermKind::Step { to, .. } => terms[term.children[0]].data.map(|(value, _)| (value, to)),
            TermKind::Wanted => None,
        }
    }

    fn merge(&mut self, a: &mut ValueAt, b: ValueAt) -> DidMerge {
        debug_assert_eq!(*a, b, "two values, or one in two distributions, are not equal");
        DidMerge(false, false)
    }

    fn modify(terms: &mut EGraph<Term, Self>, id: Id) {
        let Some(meaning) = terms[id].data else { return };
        let known = *terms.analysis.classes.entry(meaning).or_insert(id);
        if terms.find(known) != terms.find(id) {
            terms.union(known, id);
        }
    }
}

/// Returns the class of a value in a distribution, if some term makes it.
pub(super) fn class(terms: &Terms<'_, '_>, value: ValueId, at: Dist) -> Option<Id> {
    terms.analysis.classes.get(&(value, at)).map(|&id| terms.find(id))
}

/// Adds a term.
pub(super) fn add(terms: &mut Terms<'_, '_>, head: TermKind, children: impl IntoIterator<Item = Id>) -> Id {
    terms.add(Term { head, children: children.into_iter().collect() })
}

/// Adds the steps that move the value of class `from` to `to` most cheaply.
pub(super) fn moved(terms: &mut Terms<'_, '_>, from: Id, to: Dist) -> Id {
    let Some((value, at)) = terms[from].data else { return from };
    if at == to {
        return from;
    }
    let rematerializable = terms.analysis.graph.values[value].rematerializable;
    if terms.analysis.cache.is_free(rematerializable, to) {
        return add(terms, TermKind::Given { value, at: to }, []);
    }
    let ty = terms.analysis.ty(value);
    let path = terms.analysis.cache.path(ty, at, to);
    path.steps.iter().fold(from, |id, &(kind, to)| add(terms, TermKind::Step { kind, to }, [id]))
}

/// Adds result `result` of op `op` under a strategy, with its operands moved from the classes in `from` to its
/// distributions.
pub(super) fn computed(terms: &mut Terms<'_, '_>, op: OpId, id: StrategyId, result: u32, from: &[Id]) -> Id {
    let places = terms.analysis.places(op, id);
    let graph = terms.analysis.graph;
    let tensors = graph.ops[op].operands.iter().zip(&places.operands).filter_map(|(v, &at)| Some(((*v)?, at)));
    let mut children: SmallVec<[Id; 3]> = SmallVec::new();
    for ((value, at), &from) in tensors.zip(from) {
        children.push(class(terms, value, at).unwrap_or_else(|| moved(terms, from, at)));
    }
    terms.add(Term { head: TermKind::Op { op, id, result }, children })
}
