//! Rewrites of plans, and how anybody writes one.
//!
//! A search knows classes of equal plans: each is one value in one distribution, and knows several ways to come about. A
//! [`Rewrite`] looks at one way and gives further classes that are equal to the class it is of. What it builds can't be
//! wrong by itself, since each class built is again one value in one distribution; what isn't the value in the
//! distribution it should equal is passed over.

use std::fmt;
use std::rc::Rc;

use dialect::ir::TensorType;
use dialect::op::OpDef;
use dialect::sharding::{AxisPart, Distribution, Reshard};
use egg::Id;

use super::rules::Equal;
use super::term::{Term, TermKind, Terms, add, computed, moved};
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::program::graph::OpId;

/// A rewrite of plans: whatever it says is equal is tried, and taken where the exact cost goes down.
pub struct Rewrite {
    /// Its name.
    pub name: &'static str,
    /// What it says: `all_slice(all_gather x) = x`.
    pub doc: &'static str,
    how: How,
}

/// Terms as they are stored, or as [`Plans`] shows them.
enum How {
    Stored(fn(&mut Terms<'_, '_>, &Term) -> Equal),
    Shown(fn(&mut Plans<'_, '_, '_>, Class, &Made) -> Vec<Class>),
}

impl Rewrite {
    /// A rewrite that gives the classes equal to one that is made so.
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        equal: fn(&mut Plans<'_, '_, '_>, Class, &Made) -> Vec<Class>,
    ) -> Self {
        Self { name, doc, how: How::Shown(equal) }
    }

    /// One of ours, over terms as they are stored.
    pub(super) const fn row(
        name: &'static str,
        doc: &'static str,
        equal: fn(&mut Terms<'_, '_>, &Term) -> Equal,
    ) -> Self {
        Self { name, doc, how: How::Stored(equal) }
    }

    /// Classes equal to `class`, of which `term` is one.
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

/// One way in which a class comes about.
#[derive(Clone, PartialEq, Debug)]
pub enum Made {
    /// The value is there.
    Given,
    /// A step of a redistribution.
    Step {
        /// Which.
        kind: Reshard<AxisPart>,
        /// Of what.
        from: Class,
    },
    /// A result of an op under a strategy.
    Op {
        /// The op.
        op: PlannedOp,
        /// Which axes divide its factors.
        strategy: Strategy,
        /// Which of its results.
        result: usize,
        /// Those of its operands that are tensors, in order.
        operands: Vec<Class>,
    },
}

/// The plans a search knows.
pub struct Plans<'t, 'a, 's> {
    terms: &'t mut Terms<'a, 's>,
}

impl Plans<'_, '_, '_> {
    /// The ways known in which a class comes about.
    pub fn made(&self, class: Class) -> Vec<Made> {
        self.terms[class.0].nodes.iter().filter_map(|term| self.shown(term)).collect()
    }

    fn shown(&self, term: &Term) -> Option<Made> {
        Some(match term.head {
            TermKind::Given { .. } => Made::Given,
            TermKind::Step { kind, .. } => {
                Made::Step { kind: self.terms.analysis.step(kind).clone(), from: Class(term.children[0]) }
            }
            TermKind::Op { op, way, result } => Made::Op {
                op: PlannedOp(op),
                strategy: self.terms.analysis.placer.strategy(way).clone(),
                result: result as usize,
                operands: term.children.iter().map(|&id| Class(id)).collect(),
            },
            TermKind::Wanted => return None,
        })
    }

    /// How a class lies.
    pub fn distribution(&self, class: Class) -> Option<&Distribution> {
        let (_, at) = self.terms[class.0].data?;
        Some(self.terms.analysis.cache.distribution(at))
    }

    /// The type of the whole value of a class.
    pub fn tensor(&self, class: Class) -> Option<&TensorType> {
        let (value, _) = self.terms[class.0].data?;
        Some(self.terms.analysis.cache.tensor_type(self.terms.analysis.ty(value)))
    }

    /// What an op is.
    pub fn def(&self, op: PlannedOp) -> &'static dyn OpDef {
        self.terms.analysis.graph.ops[op.0].def
    }

    /// Which dimensions of an op move together, what it reduces, in what it is linear; from here come strategies.
    pub fn model(&self, op: PlannedOp) -> Option<Rc<OpModel>> {
        self.terms.analysis.model(op.0).map(|(_, model)| model)
    }

    /// `from` after one step; `None` where the step can't be taken there, leaves uneven shards, or doesn't say where it
    /// ends.
    pub fn step(&mut self, from: Class, kind: &Reshard<AxisPart>) -> Option<Class> {
        let to = kind.apply(self.distribution(from)?).ok()?;
        if !to.is_even(&self.tensor(from)?.shape) {
            return None;
        }
        let (kind, to) = (self.terms.analysis.kind(kind), self.terms.analysis.cache.dist(&to));
        Some(Class(add(self.terms, TermKind::Step { kind, to }, [from.0])))
    }

    /// `from`, moved to `to` by the cheapest steps.
    pub fn moved(&mut self, from: Class, to: &Distribution) -> Class {
        let to = self.terms.analysis.cache.dist(to);
        Class(moved(self.terms, from.0, to))
    }

    /// Result `result` of `op` under `strategy`, which its model gave; `operands` are moved to where it needs them.
    pub fn computed(&mut self, op: PlannedOp, strategy: Strategy, result: usize, operands: &[Class]) -> Class {
        let operands: Vec<Id> = operands.iter().map(|c| c.0).collect();
        Class(computed(self.terms, op.0, strategy, result as u32, &operands))
    }
}
