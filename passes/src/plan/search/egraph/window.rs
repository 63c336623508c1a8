//! Windows: a few neighboring ops around a value that is moved, as one e-graph.
//!
//! The inputs of a window are given in the distribution in which they are computed and in those that readers outside
//! need anyway; its outputs are wanted in the distributions of readers outside. Windows with equal keys (layers of a
//! model) share one result.

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::extract::extract;
use super::rewrite::Rewrite;
use super::term::{Facts, Term, TermKind, Terms, add, class, moved};
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::{Choice, Rates, StrategyId};
use crate::plan::program::graph::{Graph, OpId, ValueId};
use crate::plan::reshard::cache::{Dist, Rematerializable};

/// Some ops of a graph, in program order.
pub(super) struct Window {
    pub(super) ops: SmallVec<[OpId; 8]>,
    /// Every value that they read or make.
    pub(super) values: Vec<ValueId>,
}

/// The result of solving a window, op by op.
pub(super) struct Solved {
    /// The strategies of the cheapest plan found.
    pub(super) found: Vec<Option<StrategyId>>,
    /// All strategies that occur.
    pub(super) others: Vec<Vec<StrategyId>>,
    /// Nodes and classes of the e-graph.
    pub(super) size: (usize, usize),
}

/// The key of a window: windows with equal keys have equal results.
pub(super) type WindowKey = Vec<u64>;

impl Window {
    /// Returns the window of the ops nearest to value `value`.
    pub(super) fn around(graph: &Graph, value: ValueId) -> Self {
        let mut ops: SmallVec<[OpId; 8]> = SmallVec::new();
        let mut queue = vec![value];
        let mut at = 0;
        while at < queue.len() && ops.len() < PLAN.window_ops {
            let v = &graph.values[queue[at]];
            at += 1;
            if v.rematerializable != Rematerializable::No || v.uses.len() > PLAN.window_users {
                continue;
            }
            for op in v.maker.iter().map(|m| m.0).chain(v.uses.iter().map(|u| u.0)) {
                let node = &graph.ops[op];
                let is_wide = node.operands.len() + node.results.len() > PLAN.window_tensors;
                if node.model.is_none() || is_wide || ops.contains(&op) || ops.len() == PLAN.window_ops {
                    continue;
                }
                ops.push(op);
                for next in node.values() {
                    if !queue.contains(&next) {
                        queue.push(next);
                    }
                }
            }
        }
        ops.sort_unstable();
        let values = graph.values_of(ops.iter().copied());
        Self { ops, values }
    }

    fn makes(&self, graph: &Graph, value: ValueId) -> bool {
        graph.values[value].maker.is_some_and(|m| self.ops.contains(&m.0))
    }

    /// Returns the distributions in which readers outside want a value, sorted.
    fn needed_outside(&self, graph: &Graph, choice: &Choice, value: ValueId) -> SmallVec<[Dist; 4]> {
        let uses = graph.values[value].uses.iter().filter(|u| !self.ops.contains(&u.0));
        let mut needs: SmallVec<[Dist; 4]> =
            uses.filter_map(|&(op, i)| choice.places[op].operands.get(i as usize).copied()).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    /// Returns the key: everything that the result depends on.
    pub(super) fn look(&self, graph: &Graph, choice: &Choice) -> WindowKey {
        let mut look = WindowKey::new();
        let mut number: FxHashMap<ValueId, u64> = FxHashMap::default();
        for &op in &self.ops {
            let node = &graph.ops[op];
            let id = choice.strategies[op];
            look.extend([node.model.map_or(u64::MAX, |m| m.index() as u64), id.index() as u64, node.weight.to_bits()]);
            for v in node.operands.iter().chain(&node.results) {
                let Some(v) = *v else {
                    look.push(u64::MAX);
                    continue;
                };
                let next = number.len() as u64;
                let known = *number.entry(v).or_insert(next);
                look.push(known);
                if known != next {
                    continue;
                }
                let (made, value) = (graph.made(&choice.places, v), &graph.values[v]);
                let rematerializable = value.rematerializable as u64;
                look.extend([value.ty.index() as u64, made.index() as u64, rematerializable, value.weight.to_bits()]);
                let needs = self.needed_outside(graph, choice, v);
                look.push(needs.len() as u64);
                look.extend(needs.iter().map(|n| n.index() as u64));
            }
        }
        look
    }

    /// Builds the terms of the current plan. Returns the class of the root.
    pub(super) fn seed(&self, terms: &mut Terms<'_, '_>, choice: &Choice) -> Id {
        let graph = terms.analysis.graph;
        for &v in self.values.iter().filter(|&&v| !self.makes(graph, v)) {
            // Copies that readers outside need anyway cost nothing here.
            let value = &graph.values[v];
            let (made, needs) = (graph.made(&choice.places, v), self.needed_outside(graph, choice, v));
            let copies = terms.analysis.cache.copies(value.ty, value.rematerializable, made, &needs);
            for copy in &copies.list {
                add(terms, TermKind::Given { value: v, at: copy.at }, []);
            }
        }
        let mut wanted: Vec<Id> = Vec::new();
        for &op in &self.ops {
            let node = &graph.ops[op];
            let id = choice.strategies[op];
            let places = terms.analysis.places(op, id);
            let mut children: SmallVec<[Id; 3]> = SmallVec::new();
            for (v, &at) in node.operands.iter().zip(&places.operands) {
                let Some(v) = *v else { continue };
                let made = class(terms, v, graph.made(&choice.places, v));
                let Some(from) = class(terms, v, at).or(made) else { continue };
                children.push(moved(terms, from, at));
            }
            for (i, v) in node.results.iter().enumerate() {
                let Some(v) = *v else { continue };
                let made =
                    terms.add(Term { head: TermKind::Op { op, id, result: i as u32 }, children: children.clone() });
                for at in self.needed_outside(graph, choice, v) {
                    wanted.push(moved(terms, made, at));
                }
            }
        }
        add(terms, TermKind::Wanted, wanted)
    }

    /// Returns the cheapest plan found.
    pub(super) fn solve(
        &self,
        facts: Facts<'_, '_>,
        choice: &Choice,
        rates: Rates,
        rewrites: &[&'static Rewrite],
        rounds: usize,
    ) -> Solved {
        let mut terms = Terms::new(facts);
        let root = self.seed(&mut terms, choice);
        terms.rebuild();
        saturate(&mut terms, rewrites, rounds);
        let root = terms.find(root);
        let all: Vec<Term> = terms.classes().flat_map(|c| c.nodes.clone()).collect();
        let prices: Vec<f64> = all.iter().map(|term| price(&mut terms, term, rates)).collect();
        let chosen = extract(&terms, root, prices).unwrap_or_default();
        let way_of = |op: OpId| {
            let mut strategies = chosen.iter().filter_map(|t| match t.head {
                TermKind::Op { op: o, id, .. } if o == op => Some(id),
                _ => None,
            });
            strategies.next()
        };
        let found = self.ops.iter().map(|&op| way_of(op)).collect();
        let others = self.ops.iter().map(|&op| {
            let mut strategies: Vec<StrategyId> = terms
                .classes()
                .flat_map(|c| &c.nodes)
                .filter_map(|t| match t.head {
                    TermKind::Op { op: o, id, .. } if o == op => Some(id),
                    _ => None,
                })
                .collect();
            strategies.sort_unstable();
            strategies.dedup();
            strategies
        });
        let (others, size) = (others.collect(), (terms.total_number_of_nodes(), terms.number_of_classes()));
        Solved { found, others, size }
    }
}

/// Returns the seconds of one term.
fn price(terms: &mut Terms<'_, '_>, term: &Term, rates: Rates) -> f64 {
    match term.head {
        TermKind::Given { .. } | TermKind::Wanted => 0.0,
        TermKind::Op { op, id, .. } => {
            if terms.analysis.model(op).is_none() {
                return 0.0;
            }
            let places = terms.analysis.places(op, id);
            let facts = &terms.analysis;
            let node = &facts.graph.ops[op];
            let seconds = facts.graph.work(facts.cache, rates, op, &places);
            seconds * node.weight / node.results.len().max(1) as f64
        }
        TermKind::Step { kind, to } => {
            let Some((value, from)) = terms[term.children[0]].data else { return 0.0 };
            let facts = &terms.analysis;
            let weight = facts.graph.values[value].weight;
            facts.cache.step_seconds(facts.ty(value), from, to, kind) * weight
        }
    }
}

/// Applies all rewrites to all terms, at most `rounds` times, until they add nothing new or a limit is reached.
fn saturate(terms: &mut Terms<'_, '_>, rewrites: &[&'static Rewrite], rounds: usize) {
    // Rewrites read a term and the terms of its operands: the number of operand terms when the rewrites last ran.
    let mut seen: FxHashMap<Term, usize> = FxHashMap::default();
    for _ in 0..rounds {
        let mut todo: Vec<(Id, Term)> = Vec::new();
        for class in terms.classes() {
            for term in &class.nodes {
                let operands: usize = term.children.iter().map(|&c| terms[c].len()).sum();
                if seen.insert(term.clone(), operands) != Some(operands) {
                    todo.push((class.id, term.clone()));
                }
            }
        }
        if todo.is_empty() {
            return;
        }
        for rewrite in rewrites {
            for (id, term) in &todo {
                for equal in rewrite.equal(terms, *id, term) {
                    terms.union(*id, equal);
                }
            }
            if terms.total_number_of_nodes() > PLAN.max_nodes {
                terms.rebuild();
                return;
            }
        }
        terms.rebuild();
    }
}
