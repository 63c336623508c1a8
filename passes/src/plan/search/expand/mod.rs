//! The search over whole programs: one mesh axis and one dimension class (a *class*) at a time.
//!
//! A move asks every op with the class: keep the axis where it is, or shard the class along it? A minimum cut over the
//! joint cost finds all answers at once: the expansion moves of Y. Boykov, O. Veksler and R. Zabih, "Fast approximate
//! energy minimization via graph cuts", 2001. Two more moves remove the axis from everything or put it back where
//! propagation had it. The changes of a move are split into independent groups, and a group is kept only if it lowers
//! the exact cost.

mod classes;
mod cut;

use std::rc::Rc;

use dialect::id::TiVec;
use dialect::sharding::axis::set_difference;
use dialect::sharding::{Axes, AxisPart};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::Draft;
use crate::bit_set::BitSet;
use crate::plan::model::choice::StrategyId;
use crate::plan::model::meaning::Model;
use crate::plan::model::strategy::Strategy;
use crate::plan::program::graph::{OpId, Places, ValueId};
use crate::plan::reshard::cache::Dist;
use classes::{DimensionClass, DimensionClasses, FactorSet, NO_FACTORS};
use cut::{Cut, Question};

/// Most rounds over all moves.
const ROUNDS: usize = 4;
/// Another round follows one that saved at least this fraction of the total cost.
const WORTH: f64 = 1e-3;
/// Axes of at least this size are also moved in halves.
const MIN_SPLIT: u32 = 8;
/// Dimension classes tried on each axis, those with the most work.
const MAX_CLASSES: usize = 16;

/// Where a move puts an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// Along the first factor of the class, results' dimensions first.
    First(DimensionClass),
    /// Along the last factor: in a product of two values of one class, the contracted one.
    Last(DimensionClass),
    /// Along nothing: replicated.
    Replicated,
    /// Where propagation put it.
    Propagated,
}

/// Makes a plan cheaper.
pub(crate) fn expand(draft: &mut Draft<'_, '_>) {
    let mut moves = Moves::of(draft);
    let mut last = draft.total();
    for round in 0..ROUNDS {
        let mut helped = vec![false; moves.targets.len()];
        let groups = if round == 0 { moves.wholes } else { moves.groups.len() };
        for group in 0..groups {
            for (i, helped) in helped.iter_mut().enumerate() {
                let target = moves.targets[i];
                *helped |= Move { draft, moves: &mut moves, group, target }.make();
            }
        }
        // Targets that helped nowhere are not tried again.
        let mut helped = helped.into_iter();
        moves.targets.retain(|&target| helped.next() == Some(true) || target == Target::Propagated);
        let total = draft.total();
        if total > last * (1.0 - WORTH) && groups == moves.groups.len() {
            return;
        }
        last = total;
    }
}

/// The moves that can be made on one graph.
struct Moves {
    classes: DimensionClasses,
    /// The position of each axis in the order of axes that shard one dimension.
    ranks: Vec<usize>,
    /// Axes that are moved together: all of them; then each alone, the last one first; then halves of large ones.
    groups: Vec<Axes>,
    /// How many of these groups consist of whole axes.
    wholes: usize,
    /// Where the groups may be moved.
    targets: Vec<Target>,
    strategies: FxHashMap<Asked, Option<StrategyId>>,
    /// By group: the ops with factors that the group's axes shard in the propagated distributions, and these factors.
    propagated: FxHashMap<usize, Rc<[(OpId, FactorSet)]>>,
    /// For each op its index among the changes of the current move, or `NONE`.
    option_of: TiVec<OpId, u32>,
}

/// What determines an op's strategy after a move: the axes, the factors that may be sharded, whether the last comes
/// first.
type Asked = (Model, StrategyId, usize, FactorSet, bool);

const NONE: u32 = u32::MAX;

impl Moves {
    fn of(draft: &Draft<'_, '_>) -> Self {
        let (mesh_axes, manual) = (draft.cache.mesh_axes(), draft.cache.manual_axes());
        let axes: Axes = mesh_axes.nontrivial().filter(|a| !manual.contains(a)).collect();
        let mut groups: Vec<Axes> = axes.iter().rev().map(|&a| Axes::from_slice(&[a])).collect();
        if axes.len() > 1 {
            groups.insert(0, axes.clone());
        }
        let wholes = groups.len();
        for axis in axes.iter().rev().filter(|a| a.size >= MIN_SPLIT) {
            let Some(major) = (2..axis.size).filter(|d| axis.size % d == 0 && d * d <= axis.size).max() else {
                continue;
            };
            groups.push(Axes::from_slice(&[AxisPart { size: major, ..*axis }]));
            groups.push(Axes::from_slice(&[AxisPart { pre: major, size: axis.size / major, ..*axis }]));
        }
        let classes = DimensionClasses::of(draft.graph, draft.models, draft.cache, draft.rates);
        let mut targets: Vec<Target> = Vec::new();
        for &class in classes.by_weight.iter().take(MAX_CLASSES) {
            targets.push(Target::First(class));
            if classes.ops(class).iter().any(|op| classes.factors(op.1).len() > 1) {
                targets.push(Target::Last(class));
            }
        }
        targets.extend([Target::Replicated, Target::Propagated]);
        let option_of = vec![NONE; draft.graph.ops.len()].into();
        let (strategies, propagated) = Default::default();
        Self { classes, ranks: ranks(draft), groups, wholes, targets, strategies, propagated, option_of }
    }
}

/// The order of axes that shard one dimension: the most common order in the propagated distributions.
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

/// An op that a move could change.
struct Change {
    op: OpId,
    id: StrategyId,
    places: Rc<Places>,
    /// Seconds of work that it adds.
    more: f64,
    question: Question,
}

/// One move.
struct Move<'d, 'a, 's> {
    draft: &'d mut Draft<'a, 's>,
    moves: &'d mut Moves,
    group: usize,
    target: Target,
}

impl Move<'_, '_, '_> {
    /// Makes those changes that lower the cost; returns whether there were any.
    fn make(&mut self) -> bool {
        let options = self.options();
        if options.is_empty() {
            return false;
        }
        let values = self.draft.graph.values_of(options.iter().map(|o| o.op));
        options.iter().enumerate().for_each(|(i, o)| self.moves.option_of[o.op] = i as u32);
        let answers = self.answers(&options, &values);
        options.iter().for_each(|o| self.moves.option_of[o.op] = NONE);
        let chosen: Vec<&Change> = options.iter().zip(&answers).filter(|o| *o.1).map(|o| o.0).collect();
        let mut changed = false;
        for part in self.parts(&chosen) {
            changed |= self.take(&part);
        }
        changed
    }

    /// The cheapest answers. Most moves help nowhere, which is found without many searches: if redistributions that nobody
    /// has asked for yet cost what they cost at least.
    fn answers(&mut self, options: &[Change], values: &[ValueId]) -> Vec<bool> {
        match self.solve(options, values, false) {
            (answers, exact) if exact || !answers.contains(&true) => answers,
            _ => self.solve(options, values, true).0,
        }
    }

    /// The cheapest answers, with redistributions at their exact costs or at lower bounds, and whether all were exact.
    fn solve(&mut self, options: &[Change], values: &[ValueId], exact: bool) -> (Vec<bool>, bool) {
        let mut cut = Cut::new(options.len());
        let exact = self.price(options, values, exact, &mut cut);
        let mut answers = cut.solve();
        answers.truncate(options.len());
        (answers, exact)
    }

    /// The ops that would change.
    fn options(&mut self) -> Vec<Change> {
        let (graph, group, target) = (self.draft.graph, self.group, self.target);
        let mut asked: Vec<(OpId, FactorSet)> = Vec::new();
        match target {
            Target::First(class) | Target::Last(class) => asked.extend_from_slice(self.moves.classes.ops(class)),
            Target::Replicated => asked.extend(graph.ops.keys().map(|op| (op, NO_FACTORS))),
            Target::Propagated => asked.extend_from_slice(&self.all_propagated()),
        }
        let last = matches!(target, Target::Last(_));
        let mut options = Vec::new();
        for (op, factors) in asked {
            let Some(model) = graph.ops[op].model else { continue };
            let now = self.draft.choice.strategies[op];
            let id = match self.moves.strategies.get(&(model, now, group, factors, last)) {
                Some(&known) => known,
                None => {
                    let found = self.strategy_id(model, now, factors, last);
                    self.moves.strategies.insert((model, now, group, factors, last), found);
                    found
                }
            };
            let Some(id) = id.filter(|&w| w != now) else { continue };
            let draft = &mut *self.draft;
            let places = draft.placer.places(draft.models, draft.cache, model, id);
            let more = draft.work(op, &places) - draft.work(op, &draft.choice.places[op]);
            options.push(Change { op, id, places, more, question: Question::number(options.len()) });
        }
        options
    }

    /// The ops with factors that the axes shard in the propagated distributions, and these factors.
    fn all_propagated(&mut self) -> Rc<[(OpId, FactorSet)]> {
        if let Some(known) = self.moves.propagated.get(&self.group) {
            return known.clone();
        }
        let mut found = Vec::new();
        for op in self.draft.graph.ops.keys() {
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
        let (axes, rank) = (&self.moves.groups[self.group], |p: AxisPart| self.moves.ranks[p.axis as usize]);
        let whole = without(self.draft.placer.strategy(now), axes);
        let meaning = self.draft.models.get(model);
        let sharded = |f: usize| axes.iter().try_fold(whole.clone(), |s, &axis| meaning.with_axis(&s, axis, f, &rank));
        let factors = self.moves.classes.factors(factors);
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

    /// Adds the costs of the answers: work of each op, redistributions of each value, exactly or at lower bounds; returns
    /// whether all are exact.
    fn price(&mut self, options: &[Change], values: &[ValueId], exact: bool, cut: &mut Cut) -> bool {
        let draft = &mut *self.draft;
        options.iter().for_each(|o| cut.yes_costs(o.question, o.more));
        let option_of = |op: OpId| options.get(self.moves.option_of[op] as usize);
        let mut all_exact = true;
        for &value in values {
            let v = &draft.graph.values[value];
            let maker = v.maker.and_then(|(op, i)| Some((option_of(op)?, i as usize)));
            let made = draft.graph.made(&draft.choice.places, value);
            let made = [made, maker.map_or(made, |(o, i)| o.places.results[i])];
            let maker = maker.map(|m| m.0.question);
            // Distributions that readers want which don't change; the readers that change, by what they want now and
            // after the move.
            let mut anyway: SmallVec<[Dist; 4]> = SmallVec::new();
            let mut groups: Vec<([Dist; 2], SmallVec<[Question; 4]>)> = Vec::new();
            for &(op, i) in &v.uses {
                let Some(&now) = draft.choice.places[op].operands.get(i as usize) else { continue };
                let option = option_of(op);
                let then = option.map_or(now, |o| o.places.operands[i as usize]);
                match option {
                    Some(option) if then != now => match groups.iter_mut().find(|g| g.0 == [now, then]) {
                        Some(group) => group.1.push(option.question),
                        None => groups.push(([now, then], SmallVec::from_elem(option.question, 1))),
                    },
                    _ if anyway.contains(&now) => {}
                    _ => anyway.push(now),
                }
            }
            let cache = &mut *draft.cache;
            // What the plan has now isn't taken for cheaper than it is: a move that is must be one.
            let mut seconds = |from: Dist, to: Dist, is_now: bool| {
                let each = match () {
                    _ if cache.is_free(v.rematerializable, to) => 0.0,
                    _ if exact || is_now => cache.seconds(v.ty, from, to),
                    _ => {
                        let (seconds, is_exact) = cache.at_least(v.ty, from, to);
                        all_exact &= is_exact;
                        seconds
                    }
                };
                each * v.weight
            };
            if let Some(maker) = maker {
                let mut sum = |from: Dist, is_now| anyway.iter().map(|&to| seconds(from, to, is_now)).sum::<f64>();
                let [now, then] = [sum(made[0], true), sum(made[1], false)];
                cut.yes_costs(maker, then - now);
            }
            for ([now, then], readers) in groups {
                let mut to = |to: Dist, is_now| match anyway.contains(&to) {
                    true => [0.0; 2],
                    false => [seconds(made[0], to, is_now), seconds(made[1], to, is_now && made[0] == made[1])],
                };
                let (now, then) = (to(now, true), to(then, false));
                // Paid once if at least one reader wants it there.
                let (some, all) = match readers[..] {
                    [one] => (one, one),
                    _ => {
                        let (some, all) = (cut.question(), cut.question());
                        for &reader in &readers {
                            cut.implies(reader, some);
                            cut.implies(all, reader);
                        }
                        (some, all)
                    }
                };
                match maker {
                    Some(maker) if some == all => cut.pair(maker, some, [[now[0], then[0]], [now[1], then[1]]]),
                    Some(maker) => {
                        cut.pair(maker, some, [[0.0, then[0]], [0.0, then[1]]]);
                        cut.pair(maker, all, [[now[0], 0.0], [now[1], 0.0]]);
                    }
                    None => {
                        cut.yes_costs(some, then[0]);
                        cut.yes_costs(all, -now[0]);
                    }
                }
            }
        }
        all_exact
    }

    /// Splits changes into groups that share no value.
    fn parts<'o>(&self, chosen: &[&'o Change]) -> Vec<Vec<&'o Change>> {
        let graph = self.draft.graph;
        let mut touching: FxHashMap<ValueId, SmallVec<[u32; 4]>> = FxHashMap::default();
        for (i, option) in chosen.iter().enumerate() {
            let values = graph.ops[option.op].values();
            values.for_each(|v| touching.entry(v).or_default().push(i as u32));
        }
        let mut seen = vec![false; chosen.len()];
        let mut parts = Vec::new();
        for start in 0..chosen.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let (mut part, mut next) = (vec![chosen[start]], 0);
            while next < part.len() {
                let node = &graph.ops[part[next].op];
                next += 1;
                for v in node.values() {
                    for i in touching.remove(&v).unwrap_or_default() {
                        if !std::mem::replace(&mut seen[i as usize], true) {
                            part.push(chosen[i as usize]);
                        }
                    }
                }
            }
            parts.push(part);
        }
        parts
    }

    /// Makes these changes if they make the plan cheaper; returns whether they do.
    fn take(&mut self, part: &[&Change]) -> bool {
        let ops: Vec<OpId> = part.iter().map(|o| o.op).collect();
        let values = self.draft.graph.values_of(ops.iter().copied());
        let before = self.draft.cost(&ops, &values);
        let old: Vec<StrategyId> = ops.iter().map(|&op| self.draft.choice.strategies[op]).collect();
        part.iter().for_each(|o| self.draft.try_out(o.op, o.id));
        let after = self.draft.cost(&ops, &values);
        ops.iter().zip(&old).for_each(|(&op, &id)| self.draft.try_out(op, id));
        let cheaper = after < before * (1.0 - 1e-9);
        if cheaper {
            self.draft.change(part.iter().map(|o| (o.op, o.id)));
        }
        cheaper
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
