//! The moves that can be made on a graph: groups of mesh axes, and their targets.

use std::rc::Rc;

use dialect::id::TiVec;
use dialect::sharding::{Axes, AxisPart};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::classes::{DimensionClass, Dimensions, FactorClasses, FactorSet};
use super::costs::{CurrentCosts, MoveCosts};
use super::cut::{Cut, Question};
use super::layers;
use super::roles::{Role, Roles, ValueRole};
use crate::plan::heuristics::PLAN;
use crate::plan::model::choice::StrategyId;
use crate::plan::model::meaning::Model;
use crate::plan::model::strategy::Strategy;
use crate::plan::program::graph::{Graph, OpId, Places};
use crate::plan::search::draft::Draft;

/// The target of a move of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Target {
    /// Along the first factor of the class, results' dimensions first.
    First(DimensionClass),
    /// Along the last factor: in a product of two values of one class, the contracted one.
    Last(DimensionClass),
    /// Along the first factor of the class, and along nothing in ops that don't have it.
    Only(DimensionClass),
    /// Along the first factor of the class; in ops without the class, inside of all other axes of the same dimension,
    /// so that a gather along it alone removes it.
    Inside(DimensionClass),
    /// Along nothing: replicated.
    Replicated,
    /// As in the propagated distributions; one axis or part of an axis at a time.
    Propagated,
}

/// The moves that can be made on one graph.
pub(crate) struct Moves {
    pub(super) roles: Roles,
    /// The number of changes of ops computed so far.
    pub(super) computed: usize,
    pub(super) classes: FactorClasses,
    /// The position of each axis in the order of axes that shard one dimension.
    pub(super) ranks: Vec<usize>,
    /// Axes that are moved together: all of them; then pairs; then each alone, the last one first; then halves of large
    /// axes; then other parts of them.
    pub(super) groups: Vec<Axes>,
    /// The number of these groups that consist of whole axes.
    pub(super) wholes: usize,
    /// The number of these groups that consist of whole axes or halves.
    pub(super) halves: usize,
    /// The targets of the groups.
    pub(super) targets: Vec<Target>,
    /// Strategies of ops after moves that change them, and their distributions.
    pub(super) strategies: FxHashMap<StrategyKey, Option<(StrategyId, Rc<Places>)>>,
    /// Strategies without the axes of a group.
    pub(super) without: FxHashMap<(StrategyId, usize), Rc<Strategy>>,
    /// By group: the ops with factors that the group's axes shard in the propagated distributions, and these factors.
    pub(super) propagated: FxHashMap<usize, Rc<[(OpId, FactorSet)]>>,
    /// The question that the last move which asked each role gave it.
    pub(super) question_of: TiVec<Role, Question>,
    pub(super) now: CurrentCosts,
    pub(super) changes: Changes,
    /// The last cut, kept to reuse its memory.
    pub(super) cut: Cut,
    pub(super) costs: MoveCosts,
    /// The number of changes when each move was last tried.
    tried: FxHashMap<(usize, Target), usize>,
    /// The values that the ops of each class read or make.
    values: FxHashMap<DimensionClass, Vec<ValueRole>>,
}

/// The times, counted in changes, at which the producers and readers of values last changed.
pub(super) struct Changes {
    /// The number of changes so far.
    count: usize,
    /// The number of changes when the producer or a reader of each value last changed.
    last: TiVec<ValueRole, usize>,
}

impl Changes {
    /// Records one change of ops that read or make these values.
    pub(super) fn note(&mut self, values: &[ValueRole]) {
        self.count += 1;
        values.iter().for_each(|&v| self.last[v] = self.count);
    }
}

/// The factors of one op that the axes shard after a move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Along {
    /// The first of these factors.
    First(FactorSet),
    /// The last of these factors.
    Last(FactorSet),
    /// No factor.
    Nothing,
    /// The factor that they already shard, inside of all other axes.
    Inside,
}

/// The key of an op's strategy after a move: its model, its strategy, the index of the group of axes, and what they
/// shard.
pub(super) type StrategyKey = (Model, StrategyId, usize, Along);

impl Moves {
    /// Returns all moves on the graph of `draft`.
    pub(super) fn of(draft: &mut Draft<'_, '_>) -> Self {
        let (mesh_axes, manual) = (draft.cache.mesh_axes(), draft.cache.manual_axes());
        let axes: Axes = mesh_axes.nontrivial().filter(|a| !manual.contains(a)).collect();
        let mut groups: Vec<Axes> = axes.iter().rev().map(|&a| Axes::from_slice(&[a])).collect();
        if axes.len() > 2 {
            let pairs = (0..axes.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
            groups.splice(0..0, pairs.map(|(j, i)| Axes::from_slice(&[axes[j], axes[i]])).collect::<Vec<_>>());
        }
        if axes.len() > 1 {
            groups.insert(0, axes.clone());
        }
        let wholes = groups.len();
        let large = || axes.iter().rev().filter(|a| a.size >= PLAN.halved_axis);
        for (axis, major) in large().filter_map(|a| Some((a, half(a)?))) {
            groups.extend(split(axis, major));
        }
        let halves = groups.len();
        for axis in axes.iter().rev() {
            let known = |major: u32| axis.size >= PLAN.halved_axis && half(axis) == Some(major);
            let others = (2..axis.size).filter(|&major| axis.size.is_multiple_of(major) && !known(major));
            groups.extend(others.flat_map(|major| split(axis, major)));
        }
        let mut dimensions = Dimensions::of(draft.graph, draft.models, draft.cache);
        let repeats = layers::repeats(&layers::keys(draft), &mut |repeat| dimensions.join(repeat));
        let roles = Roles::of(draft.graph, &draft.choice, &repeats);
        let classes = FactorClasses::of(dimensions, draft.graph, draft.cache, draft.rates, &roles);
        let mut targets: Vec<Target> = Vec::new();
        for &class in classes.by_weight.iter().take(PLAN.moved_classes) {
            targets.push(Target::First(class));
            if classes.ops(class).iter().any(|op| classes.factors(op.1).len() > 1) {
                targets.push(Target::Last(class));
            }
        }
        targets.extend([Target::Replicated, Target::Propagated]);
        let question_of = vec![Question::number(0); roles.ops.len()].into();
        let now = CurrentCosts::of(&roles, draft);
        let ranks = ranks(draft);
        let changes = Changes { count: 0, last: vec![0; roles.values.len()].into() };
        let (without, propagated, cut, costs, tried, values) = Default::default();
        // Most ops are asked once per group and per each of a few targets.
        let strategies = FxHashMap::with_capacity_and_hasher(4 * roles.ops.len(), FxBuildHasher);
        Self {
            roles,
            computed: 0,
            classes,
            ranks,
            groups,
            wholes,
            halves,
            targets,
            strategies,
            without,
            propagated,
            question_of,
            now,
            changes,
            cut,
            costs,
            tried,
            values,
        }
    }

    /// Returns the other half of the same axis, if it is moved before this group.
    pub(super) fn first_half(&self, group: usize) -> Option<usize> {
        let is_second = (self.wholes..self.halves).contains(&group) && (group - self.wholes) % 2 == 1;
        is_second.then(|| group - 1)
    }

    /// Returns the number of changes when a move was last tried, and records that it is tried now.
    pub(super) fn tried(&mut self, group: usize, target: Target) -> Option<usize> {
        self.tried.insert((group, target), self.changes.count)
    }

    /// Returns whether nothing that a move reads has changed since it was tried after `tried` changes, so that it can't
    /// help.
    pub(super) fn is_settled(&mut self, target: Target, tried: usize) -> bool {
        let Self { roles, classes, changes, values, .. } = self;
        match target {
            Target::First(class) | Target::Last(class) => {
                let values = values.entry(class);
                let values = values.or_insert_with(|| roles.values_of(classes.ops(class).iter().map(|op| op.0)));
                values.iter().all(|&v| changes.last[v] <= tried)
            }
            // Replicating saves what it can at first, whatever changes later.
            Target::Replicated => true,
            Target::Only(_) | Target::Inside(_) | Target::Propagated => changes.count == tried,
        }
    }

    /// Returns the ops near those that changed after the first `tried` changes: if a move that didn't help before helps
    /// now, it is because of these.
    pub(super) fn near(&self, candidates: Vec<(OpId, Along)>, tried: usize, graph: &Graph) -> Vec<(OpId, Along)> {
        let Self { roles, changes, .. } = self;
        let mut left = vec![false; roles.ops.len()];
        candidates.iter().for_each(|(op, _)| left[roles.of[*op].index()] = true);
        let mut near = vec![false; roles.ops.len()];
        let mut reached: Vec<bool> = changes.last.iter().map(|&last| last > tried).collect();
        let mut border: Vec<ValueRole> = changes.last.keys().filter(|v| reached[v.index()]).collect();
        for _ in 0..PLAN.near {
            let mut next = Vec::new();
            for value in border {
                let maker = graph.values[roles.values[value].value].maker.map(|(op, _)| op);
                for op in roles.values[value].uses.iter().map(|u| u.0).chain(maker) {
                    let role = roles.of[op];
                    if std::mem::take(&mut left[role.index()]) {
                        near[role.index()] = true;
                        next.extend(
                            roles.touched(op).iter().filter(|v| !std::mem::replace(&mut reached[v.index()], true)),
                        );
                    }
                }
            }
            border = next;
        }
        candidates.into_iter().filter(|(op, _)| near[roles.of[*op].index()]).collect()
    }
}

/// Returns the size of the major part when an axis is split into two parts nearest to each other in size.
fn half(axis: &AxisPart) -> Option<u32> {
    (2..axis.size).filter(|d| axis.size.is_multiple_of(*d) && d * d <= axis.size).max()
}

/// Returns the two parts of an axis whose major part has this size.
fn split(axis: &AxisPart, major: u32) -> [Axes; 2] {
    let minor = AxisPart { pre: axis.pre * major, size: axis.size / major, ..*axis };
    [AxisPart { size: major, ..*axis }, minor].map(|part| Axes::from_slice(&[part]))
}

/// Returns the order of axes that shard one dimension: the most common order in the propagated distributions.
fn ranks(draft: &Draft<'_, '_>) -> Vec<usize> {
    let n = draft.cache.mesh_axes().len();
    let mut votes = vec![0i64; n * n];
    for value in &draft.graph.values {
        for dim in &draft.cache.distribution(value.propagated).dims {
            for (i, major) in dim.iter().enumerate() {
                for minor in &dim[i + 1..] {
                    votes[major.axis as usize * n + minor.axis as usize] += 1;
                }
            }
        }
    }
    let before =
        |a: usize, b: usize| votes[a * n + b] > votes[b * n + a] || votes[a * n + b] == votes[b * n + a] && a < b;
    let others = |a: usize| draft.cache.mesh_axes().nontrivial().map(|b| b.axis as usize).filter(move |&b| b != a);
    (0..n).map(|a| others(a).filter(|&b| before(b, a)).count()).collect()
}
