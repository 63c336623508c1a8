//! Rewrites of plans, and the interface for custom ones.
//!
//! The search works on classes of equal plans: each class is one value in one distribution, with several known ways to
//! compute it. A [`Rewrite`] reads one of these ways and returns other classes that are equal to its class. It can't
//! build a wrong plan, since each class it builds is again one value in one distribution; a returned class with another
//! value or distribution is ignored.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;

use dialect::ir::TensorType;
use dialect::op::OpDef;
use dialect::sharding::{AxisPart, Distribution, Reshard};
use egg::Id;

use super::rules::Equal;
use super::term::{Term, TermKind, Terms, add, computed, moved};
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::OpId;

/// A rewrite of plans. The search tries the classes that it declares equal, and uses them where the exact cost goes
/// down.
pub struct Rewrite {
    /// Its name.
    pub name: &'static str,
    /// Its equation, for example `all_slice(all_gather x) = x`.
    pub doc: &'static str,
    how: How,
    /// The cached result of its proof, which takes a moment.
    proof: OnceLock<Result<usize, String>>,
}

/// Whether a rewrite reads terms as they are stored, or as [`Plans`] shows them.
enum How {
    Stored(fn(&mut Terms<'_, '_>, &Term) -> Equal),
    Shown(fn(&mut Plans<'_, '_, '_>, Class, &Derivation) -> Vec<Class>),
}

impl Rewrite {
    /// Creates a rewrite; `equal` returns the classes equal to a class that is made in a given way.
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        equal: fn(&mut Plans<'_, '_, '_>, Class, &Derivation) -> Vec<Class>,
    ) -> Self {
        Self { name, doc, how: How::Shown(equal), proof: OnceLock::new() }
    }

    /// Creates a built-in rewrite, over terms as they are stored.
    pub(super) const fn row(
        name: &'static str,
        doc: &'static str,
        equal: fn(&mut Terms<'_, '_>, &Term) -> Equal,
    ) -> Self {
        Self { name, doc, how: How::Stored(equal), proof: OnceLock::new() }
    }

    /// Proves it, once: evaluates on simulated devices every term that it adds to small programs on random
    /// distributions. Returns how often it added terms.
    ///
    /// # Errors
    /// Describes a term that isn't what the rewrite claims it equals, or reports that it never added a term, so that
    /// nothing is proved.
    pub fn prove(&self) -> Result<usize, String> {
        self.proof.get_or_init(|| super::proofs::prove(self)).clone()
    }

    /// Returns classes equal to `class`, which contains `term`.
    pub(super) fn equal(&self, terms: &mut Terms<'_, '_>, class: Id, term: &Term) -> Equal {
        match self.how {
            How::Stored(equal) => equal(terms, term),
            How::Shown(equal) => {
                let mut plans = Plans { terms };
                let Some(made) = plans.shown(term) else { return Equal::new() };
                let found = equal(&mut plans, Class(class), &made);
                let same = |c: &Class| terms[c.0].data == terms[class].data;
                found.into_iter().filter(same).map(|c| c.0).collect()
            }
        }
    }
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Equal plans: one value in one distribution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Class(Id);

/// An op of the program that is planned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PlannedOp(OpId);

/// One way to make a class.
#[derive(Clone, PartialEq, Debug)]
pub enum Derivation {
    /// The value is given.
    Given,
    /// A step of a redistribution.
    Step {
        /// The kind of step.
        kind: Reshard<AxisPart>,
        /// The class it starts from.
        from: Class,
    },
    /// A result of an op under a strategy.
    Op {
        /// The op.
        op: PlannedOp,
        /// The axes that shard its factors.
        strategy: Strategy,
        /// The index of the result.
        result: usize,
        /// Its tensor operands, in order.
        operands: Vec<Class>,
    },
}

/// The plans known to a search.
pub struct Plans<'t, 'a, 's> {
    terms: &'t mut Terms<'a, 's>,
}

impl Plans<'_, '_, '_> {
    /// Returns the known ways to make a class.
    pub fn derivations(&self, class: Class) -> Vec<Derivation> {
        self.terms[class.0].nodes.iter().filter_map(|term| self.shown(term)).collect()
    }

    fn shown(&self, term: &Term) -> Option<Derivation> {
        Some(match term.head {
            TermKind::Given { .. } => Derivation::Given,
            TermKind::Step { kind, .. } => {
                Derivation::Step { kind: self.terms.analysis.cache.step(kind).clone(), from: Class(term.children[0]) }
            }
            TermKind::Op { op, id, result } => Derivation::Op {
                op: PlannedOp(op),
                strategy: self.terms.analysis.placer.strategy(id).clone(),
                result: result as usize,
                operands: term.children.iter().map(|&id| Class(id)).collect(),
            },
            TermKind::Wanted => return None,
        })
    }

    /// Returns the distribution of a class.
    pub fn distribution(&self, class: Class) -> Option<&Distribution> {
        let (_, at) = self.terms[class.0].data?;
        Some(self.terms.analysis.cache.distribution(at))
    }

    /// Returns the global tensor type of a class's value.
    pub fn tensor(&self, class: Class) -> Option<&TensorType> {
        let (value, _) = self.terms[class.0].data?;
        Some(self.terms.analysis.cache.tensor_type(self.terms.analysis.ty(value)))
    }

    /// Returns the definition of an op.
    pub fn def(&self, op: PlannedOp) -> &'static dyn OpDef {
        self.terms.analysis.graph.ops[op.0].def
    }

    /// Returns the model of an op, from which strategies are made: which dimensions are sharded together, its
    /// reduction, and the sets of operands in which it is linear.
    pub fn model(&self, op: PlannedOp) -> Option<Arc<OpModel>> {
        self.terms.analysis.model(op.0).map(|(_, model)| model)
    }

    /// Returns the class of `from` after one step; `None` where the step can't be applied, leaves uneven shards, or
    /// doesn't determine its result's distribution.
    pub fn step(&mut self, from: Class, kind: &Reshard<AxisPart>) -> Option<Class> {
        let to = kind.apply(self.distribution(from)?).ok()?;
        if !to.is_even(&self.tensor(from)?.shape) {
            return None;
        }
        let (kind, to) = (self.terms.analysis.cache.kind(kind), self.terms.analysis.cache.dist(&to));
        Some(Class(add(self.terms, TermKind::Step { kind, to }, [from.0])))
    }

    /// Returns the class of `from` moved to `to` by the cheapest steps.
    pub fn moved(&mut self, from: Class, to: &Distribution) -> Class {
        let to = self.terms.analysis.cache.dist(to);
        Class(moved(self.terms, from.0, to))
    }

    /// Returns the class of result `result` of `op` under `strategy`, which must come from its model; moves `operands`
    /// to the distributions that it needs.
    pub fn computed(&mut self, op: PlannedOp, strategy: Strategy, result: usize, operands: &[Class]) -> Class {
        let operands: Vec<Id> = operands.iter().map(|c| c.0).collect();
        let id = self.terms.analysis.strategy_id(strategy);
        Class(computed(self.terms, op.0, id, result as u32, &operands))
    }
}
