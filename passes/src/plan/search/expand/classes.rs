//! Dimension classes of a graph, each with the factors of ops that a move of the class shards.
//!
//! Dimensions of two values are in one class when an op's sharding rule maps both to one factor: the batch of a network
//! is one class, its features, heads and vocabulary are others. Sharding a class along an axis shards the whole program
//! and moves only partial sums.

use std::collections::BTreeSet;

use dialect::define_id;
use dialect::id::{Interner, TiVec};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::layers::Repeat;
use super::roles::Roles;
use crate::plan::model::choice::Rates;
use crate::plan::model::meaning::Models;
use crate::plan::model::strategy::OpModel;
use crate::plan::program::graph::{Graph, OpId, ValueId};
use crate::plan::reshard::cache::ReshardCache;
use dialect::disjoint_sets::DisjointSets;

/// A class of dimensions.
pub(super) type DimensionClass = u32;

/// The dimension classes of a graph, with the ops that have factors of each. `crate::dimension_classes` has the classes
/// of a program's text instead, with its products.
pub(super) struct FactorClasses {
    /// All classes, those with the most work first.
    pub(super) by_weight: Vec<DimensionClass>,
    /// The ops with factors of each class, one per role, and these factors.
    ops: FxHashMap<DimensionClass, Vec<(OpId, FactorSet)>>,
    sets: Interner<FactorSet, BTreeSet<usize>>,
}

define_id! {
    /// A set of factors of one rule; equal sets have one id.
    pub(super) FactorSet, "factors"
}

/// The dimensions of a graph's values, merged into classes.
pub(super) struct Dimensions {
    sets: DisjointSets,
    /// For each op and factor, a dimension with that factor.
    members: TiVec<OpId, SmallVec<[Option<u32>; 6]>>,
}

impl Dimensions {
    /// Merges dimensions that share a factor in any op.
    pub(super) fn of(graph: &Graph, models: &Models, cache: &ReshardCache<'_>) -> Self {
        let mut first: TiVec<ValueId, u32> = TiVec::with_capacity(graph.values.len());
        let mut dims = 0u32;
        for value in &graph.values {
            first.push(dims);
            dims += cache.tensor_type(value.ty).rank() as u32;
        }
        let mut sets = DisjointSets::new(dims);
        let mut members = TiVec::with_capacity(graph.ops.len());
        for (op, node) in graph.ops.iter_enumerated() {
            let Some(model) = node.model else {
                members.push(SmallVec::new());
                continue;
            };
            let model = models.get(model);
            let mut member: SmallVec<[Option<u32>; 6]> = SmallVec::from_elem(None, model.rule.factors.len());
            each_dim(graph, model, op, &mut |factor, value, dim| {
                let dim = first[value] + dim as u32;
                match member[factor] {
                    Some(other) => sets.join(other, dim),
                    None => member[factor] = Some(dim),
                }
            });
            members.push(member);
        }
        Self { sets, members }
    }

    /// Merges the dimensions of equal layers, unless that merges two dimensions of one op: then the layers are equal by
    /// chance, as updates of two weights of the same shape are. Returns whether it merged them.
    pub(super) fn join(&mut self, repeat: Repeat) -> bool {
        // The classes that occur in these layers, numbered from 0, and which of them are merged.
        let mut known: Interner<usize, u32> = Interner::default();
        let mut number = |dim: u32| known.intern(self.sets.root(dim)) as u32;
        let members: Vec<SmallVec<[Option<u32>; 6]>> = repeat
            .ops()
            .map(|op| self.members[OpId::new(op)].iter().map(|dim| dim.map(&mut number)).collect())
            .collect();
        let mut joined = DisjointSets::new(known.count() as u32);
        let (first, later) = members.split_at(repeat.period);
        for (member, first) in later.iter().zip(first.iter().cycle()) {
            member.iter().zip(first).filter_map(|(a, b)| a.zip(*b)).for_each(|(a, b)| joined.join(a, b));
        }
        let distinct = first.iter().all(|member| {
            let dims: SmallVec<[u32; 6]> = member.iter().copied().flatten().collect();
            let mut pairs = dims.iter().enumerate().flat_map(|(i, a)| dims[..i].iter().map(move |b| (*a, *b)));
            pairs.all(|(a, b)| a == b || joined.root(a) != joined.root(b))
        });
        if distinct {
            for class in 0..known.count() {
                self.sets.join(known[class], known[joined.root(class as u32) as usize]);
            }
        }
        distinct
    }
}

impl FactorClasses {
    /// Builds the classes of these dimensions; each class lists one op per role.
    pub(super) fn of(
        dimensions: Dimensions,
        graph: &Graph,
        cache: &ReshardCache<'_>,
        rates: Rates,
        roles: &Roles,
    ) -> Self {
        let Dimensions { mut sets, mut members } = dimensions;
        let mut weights: FxHashMap<DimensionClass, f64> = FxHashMap::default();
        let mut ops: FxHashMap<DimensionClass, Vec<(OpId, BTreeSet<usize>)>> = FxHashMap::default();
        for ((node, member), op) in graph.ops.iter().zip(&mut members).zip(graph.ops.keys()) {
            let bytes = node.results.iter().flatten().map(|&v| cache.tensor_type(graph.values[v].ty).bytes());
            let bytes: usize = bytes.map(|b| b.unwrap_or(0)).sum();
            let seconds = (node.seconds + bytes as f64 / rates.memory) * node.weight;
            for dim in member.iter_mut().flatten() {
                *dim = sets.root(*dim);
                *weights.entry(*dim).or_default() += seconds;
            }
            if roles.first(op) != op {
                continue;
            }
            for (f, dim) in member.iter().enumerate() {
                let Some(class) = *dim else { continue };
                let list = ops.entry(class).or_default();
                match list.last_mut() {
                    Some((last, factors)) if *last == op => {
                        factors.insert(f);
                    }
                    _ => list.push((op, BTreeSet::from([f]))),
                }
            }
        }
        let mut by_weight: Vec<(DimensionClass, f64)> = weights.into_iter().collect();
        by_weight.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let by_weight = by_weight.into_iter().map(|c| c.0).collect();
        let mut classes = Self { by_weight, ops: FxHashMap::default(), sets: Interner::default() };
        for (class, list) in ops {
            let list = list.into_iter().map(|(op, factors)| (op, classes.factor_set(factors))).collect();
            classes.ops.insert(class, list);
        }
        classes
    }

    /// Returns the id of a set of factors.
    pub(super) fn factor_set(&mut self, factors: BTreeSet<usize>) -> FactorSet {
        self.sets.intern(factors)
    }

    /// Returns the factors of a set.
    pub(super) fn factors(&self, set: FactorSet) -> &BTreeSet<usize> {
        &self.sets[set]
    }

    /// Returns the ops with factors of the class, one per role, and these factors.
    pub(super) fn ops(&self, class: DimensionClass) -> &[(OpId, FactorSet)] {
        self.ops.get(&class).map_or(&[], |list| list)
    }
}

/// Calls `each` with the major factor of every dimension of an op's values, the value, and the dimension.
fn each_dim(graph: &Graph, model: &OpModel, op: OpId, each: &mut dyn FnMut(usize, ValueId, usize)) {
    let node = &graph.ops[op];
    for (value, factors) in
        node.results.iter().chain(&node.operands).zip(model.rule.results.iter().chain(&model.rule.operands))
    {
        let Some(value) = *value else { continue };
        for (dim, factors) in factors.iter().enumerate() {
            let major = factors.iter().find(|&&f| model.rule.factors[f as usize].size > 1);
            if let Some(&factor) = major {
                each(factor as usize, value, dim);
            }
        }
    }
}
