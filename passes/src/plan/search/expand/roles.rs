//! Roles: ops and values of repeated layers that correspond to each other; one of them represents all.
//!
//! Ops of one role begin with the same strategy, get the same one with every move, and so have their operands and
//! results in the same distributions. Values of one role have producers and readers of the same roles, so
//! redistributing any of them costs the same. The time of a move therefore grows with the number of distinct layers,
//! not with the number of layers. Models of one role may differ in where they read (each layer takes its own slice of a
//! parameter).

use dialect::define_id;
use dialect::id::{Interner, TiVec};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::layers::Repeat;
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::{Choice, StrategyId};
use crate::plan::model::meaning::Model;
use crate::plan::program::graph::{Graph, OpId, ValueId};
use crate::plan::reshard::cache::{Dist, Rematerializable, ReshardCache, Type};
use crate::plan::search::draft::Draft;

define_id! {
    /// The position of an op in its layer.
    pub(super) Role, "role"
}

define_id! {
    /// The position of a value in its layer.
    pub(super) ValueRole, "value"
}

/// The roles of a graph.
pub(super) struct Roles {
    /// The role of each op; an op outside of repeated layers has a role for itself.
    pub(super) of: TiVec<OpId, Role>,
    /// The ops of each role; the first represents all.
    pub(super) ops: TiVec<Role, SmallVec<[OpId; 1]>>,
    /// For each role, one op of those with the same work under every strategy, and their number.
    works: TiVec<Role, SmallVec<[(OpId, f64); 1]>>,
    pub(super) values: TiVec<ValueRole, Values>,
    /// Values that the ops of each role read or make, sorted.
    touched: TiVec<Role, SmallVec<[ValueRole; 4]>>,
}

/// The values of one role.
pub(super) struct Values {
    /// One of them.
    pub(super) value: ValueId,
    /// The number of values.
    pub(super) count: f64,
    /// Its readers: one op of each role, one border of each distribution.
    pub(super) uses: SmallVec<[(OpId, u32); 4]>,
}

/// A producer or reader of a value: a result or an operand of ops of one role, or a fixed distribution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum End {
    Op(Role, u32),
    Fixed(Dist),
}

/// The properties that values of one role share.
#[derive(PartialEq, Eq, Hash)]
struct Look {
    ty: Type,
    weight: u64,
    rematerializable: Rematerializable,
    made: End,
    uses: SmallVec<[End; 4]>,
}

impl Roles {
    /// Returns the roles of the ops in `graph`, where the layers in `repeats` are equal.
    pub(super) fn of(graph: &Graph, choice: &Choice, repeats: &[Repeat]) -> Self {
        let mut first: Vec<usize> = (0..graph.ops.len()).collect();
        for repeat in repeats {
            repeat.ops().for_each(|op| first[op] = repeat.first(op));
        }
        let mut known: FxHashMap<(usize, StrategyId), Role> = FxHashMap::default();
        let mut ops: TiVec<Role, SmallVec<[OpId; 1]>> = TiVec::new();
        let mut of = TiVec::with_capacity(graph.ops.len());
        for (op, first) in graph.ops.keys().zip(first) {
            let role = *known.entry((first, choice.strategies[op])).or_insert_with(|| {
                ops.push(SmallVec::new());
                Role::new(ops.len() - 1)
            });
            ops[role].push(op);
            of.push(role);
        }
        let works = ops.iter().map(|ops| works(graph, ops)).collect();
        let touched = vec![SmallVec::new(); ops.len()].into();
        let mut roles = Self { of, ops, works, values: TiVec::new(), touched };
        roles.read_values(graph, choice);
        roles
    }

    fn read_values(&mut self, graph: &Graph, choice: &Choice) {
        let mut looks: Interner<ValueRole, Look> = Interner::default();
        for (value, v) in graph.values.iter_enumerated() {
            let end = |op: OpId, i: u32| graph.ops[op].model.map(|_| End::Op(self.of[op], i));
            let maker = if v.fixed.is_some() { None } else { v.maker.and_then(|(op, i)| end(op, i)) };
            let made = maker.unwrap_or_else(|| End::Fixed(graph.made(&choice.places, value)));
            let mut uses: SmallVec<[(End, (OpId, u32)); 4]> = SmallVec::new();
            for &(op, i) in &v.uses {
                let wanted = choice.places[op].operands.get(i as usize).map(|&at| End::Fixed(at));
                uses.extend(end(op, i).or(wanted).map(|end| (end, (op, i))));
            }
            uses.sort_unstable_by_key(|u| u.0);
            uses.dedup_by_key(|u| u.0);
            let look = Look {
                ty: v.ty,
                weight: v.weight.to_bits(),
                rematerializable: v.rematerializable,
                made,
                uses: uses.iter().map(|u| u.0).collect(),
            };
            let role = looks.intern(look);
            if role.index() < self.values.len() {
                self.values[role].count += 1.0;
                continue;
            }
            let uses: SmallVec<[(OpId, u32); 4]> = uses.iter().map(|u| u.1).collect();
            for op in uses.iter().map(|u| u.0).chain(v.maker.map(|m| m.0)) {
                let touched = &mut self.touched[self.of[op]];
                if touched.last() != Some(&role) {
                    touched.push(role);
                }
            }
            self.values.push(Values { value, count: 1.0, uses });
        }
    }

    /// Returns the op that represents op `op`.
    pub(super) fn first(&self, op: OpId) -> OpId {
        self.ops[self.of[op]][0]
    }

    /// Returns all ops that op `op` represents.
    pub(super) fn all(&self, op: OpId) -> &[OpId] {
        &self.ops[self.of[op]]
    }

    /// Returns, of all ops that op `op` represents, one op of those with the same work under every strategy, and their
    /// number.
    pub(super) fn works(&self, op: OpId) -> &[(OpId, f64)] {
        &self.works[self.of[op]]
    }

    /// Returns the values that op `op` and the ops it represents read or make, sorted.
    pub(super) fn touched(&self, op: OpId) -> &[ValueRole] {
        &self.touched[self.of[op]]
    }

    /// Returns the values that these ops and the ops they represent read or make, sorted.
    pub(super) fn values_of(&self, ops: impl IntoIterator<Item = OpId>) -> Vec<ValueRole> {
        let mut values: Vec<ValueRole> = ops.into_iter().flat_map(|op| self.touched(op)).copied().collect();
        if values.len() >= self.values.len() / PLAN.marked_part {
            let mut touched = vec![false; self.values.len()];
            values.iter().for_each(|&v| touched[v.index()] = true);
            return self.values.keys().filter(|v| touched[v.index()]).collect();
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the seconds of redistributing these values under a plan.
    pub(super) fn moving(
        &self,
        graph: &Graph,
        cache: &mut ReshardCache<'_>,
        choice: &Choice,
        values: &[ValueRole],
    ) -> f64 {
        let seconds = values.iter().map(|&role| {
            let Values { value, count, .. } = self.values[role];
            graph.copies_cost(cache, &choice.places, value).0 * graph.values[value].weight * count
        });
        seconds.sum()
    }

    /// Returns the seconds of the whole plan (work of ops and redistributing values), summed by roles.
    pub(super) fn total(&self, draft: &mut Draft<'_, '_>) -> f64 {
        let values: Vec<ValueRole> = self.values.keys().collect();
        let works = self.works.iter().flatten();
        let work: f64 = works.map(|&(op, count)| draft.work(op, &draft.choice.places[op]) * count).sum();
        work + self.moving(draft.graph, draft.cache, &draft.choice, &values)
    }
}

/// Returns one op of those with the same work under every strategy, and their number. The positions that ops read, and
/// which of their results are written, may differ between layers.
fn works(graph: &Graph, ops: &[OpId]) -> SmallVec<[(OpId, f64); 1]> {
    if let [op] = ops {
        return [(*op, 1.0)].into_iter().collect();
    }
    type Written = SmallVec<[bool; 1]>;
    type Shares = SmallVec<[[u64; 2]; 1]>;
    let mut known: FxHashMap<(Option<Model>, Written, Shares), usize> = FxHashMap::default();
    let mut found: SmallVec<[(OpId, f64); 1]> = SmallVec::new();
    for &op in ops {
        let node = &graph.ops[op];
        let written = node.results.iter().map(|v| v.is_some_and(|v| graph.values[v].written)).collect();
        let shares = node.shares.iter().map(|s| [s.sent.to_bits(), s.copied.to_bits()]).collect();
        let at = *known.entry((node.model, written, shares)).or_insert(found.len());
        match found.get_mut(at) {
            Some((_, count)) => *count += 1.0,
            None => found.push((op, 1.0)),
        }
    }
    found
}
