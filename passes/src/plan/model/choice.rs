//! A choice of one strategy for every op, and its cost.

use std::rc::Rc;

use dialect::define_id;
use dialect::id::{Interner, TiSlice, TiVec};
use dialect::op::CollectiveKind;
use dialect::sharding::axis::size_of;
use dialect::sharding::{AxisPart, Pairs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::exchanged::{Exchanged, Exchanges};
use super::meaning::{Model, Models};
use super::strategy::Strategy;
use crate::plan::program::graph::{Graph, Node, OpId, Places, Share, ValueId};
use crate::plan::reshard::cache::{Copies, Dist, ReshardCache};

/// The speed of a device's memory, and whether it computes during collectives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rates {
    /// Bytes of memory traffic per second.
    pub(crate) memory: f64,
    /// Whether collectives overlap arithmetic.
    pub(crate) overlaps: bool,
}

/// Modeled cost of a plan; loops count as often as they are expected to run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Cost {
    /// Seconds of communication.
    pub(crate) seconds: f64,
    /// Bytes a device moves.
    pub(crate) bytes: f64,
    /// Seconds of arithmetic and of writing results to memory.
    pub(crate) work: f64,
}

impl Cost {
    /// Returns the seconds of communication and work together.
    pub(crate) fn total(&self) -> f64 {
        self.seconds + self.work
    }
}

define_id!(
    /// A strategy of one [`Placer`].
    pub(crate) StrategyId, "strategy"
);

/// Rows that are sent in one permute, of which an op pays a share.
struct SentRows<'a> {
    pairs: &'a Pairs,
    axes: &'a [AxisPart],
    /// The op's share of the bytes, and of the permute's start-up time.
    bytes: f64,
    startup: f64,
}

/// Returns the seconds of permutes between the same devices. They are sent as one where that is cheaper; packing and
/// unpacking the rows each write and read them once more.
fn permutes(cache: &ReshardCache<'_>, rates: Rates, list: &[SentRows<'_>]) -> f64 {
    let Some(first) = list.first() else { return 0.0 };
    let startup = cache.prices().startup(CollectiveKind::CollectivePermute, first.axes);
    let seconds = |bytes: f64, share: f64| cache.prices().permute_seconds(bytes, first.axes) - startup * (1.0 - share);
    let apart = list.iter().map(|s| seconds(s.bytes, s.startup)).sum::<f64>();
    let bytes = list.iter().map(|s| s.bytes).sum::<f64>();
    let most = list.iter().map(|s| s.startup).fold(0.0, f64::max);
    apart.min(seconds(bytes, most) + 4.0 * (bytes - first.bytes) / rates.memory)
}

/// One strategy for every op, and the distributions that follow; the strategies of borders are meaningless.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) strategies: TiVec<OpId, StrategyId>,
    pub(crate) places: TiVec<OpId, Rc<Places>>,
}

/// Interns strategies, and caches the distributions that follow from each.
#[derive(Default)]
pub(crate) struct Placer {
    strategies: Interner<StrategyId, Strategy>,
    known: FxHashMap<(Model, StrategyId), Rc<Places>>,
    adopted: FxHashMap<(Model, StrategyId, usize, Dist), Option<StrategyId>>,
    /// By strategy and rank: the distribution, without partial sums, of a tensor whose dimensions are the first
    /// factors.
    plain: FxHashMap<(StrategyId, usize), Dist>,
    exchanges: Exchanges,
}

impl Placer {
    /// Returns the id of a strategy.
    pub(crate) fn strategy_id(&mut self, strategy: Strategy) -> StrategyId {
        self.strategies.intern(strategy)
    }

    /// Returns the strategy with an id.
    pub(crate) fn strategy(&self, id: StrategyId) -> &Strategy {
        &self.strategies[id]
    }

    /// Returns the distributions of an op's operands and results.
    pub(crate) fn places(
        &mut self,
        models: &Models,
        cache: &mut ReshardCache<'_>,
        model: Model,
        id: StrategyId,
    ) -> Rc<Places> {
        if let Some(known) = self.known.get(&(model, id)) {
            return known.clone();
        }
        let (meaning, strategy) = (models.get(model), &self.strategies[id]);
        let reduced = meaning.reduced(strategy);
        let is_whole = reduced.is_empty() && strategy.through.is_empty();
        let operands = meaning.rule.operands.len();
        let mut dists: SmallVec<[Dist; 8]> = SmallVec::new();
        for tensor in 0..operands + meaning.rule.results.len() {
            // Tensors with the same factors are sharded alike, for example all tensors of elementwise ops.
            let is_alike = |&t: &usize| meaning.tensor(t) == meaning.tensor(tensor);
            let alike = (tensor.saturating_sub(2)..tensor).rev().filter(|_| is_whole).find(is_alike);
            let mut find = || cache.dist(&meaning.distribution(strategy, &reduced, tensor));
            let (factors, mut order) = (meaning.tensor(tensor), 0..);
            let dist = match alike {
                Some(t) => dists[t],
                // Tensors of other models whose dimensions are the first factors are sharded alike, too.
                None if is_whole && factors.iter().all(|f| f[..] == [order.next().unwrap_or(0)]) => {
                    *self.plain.entry((id, factors.len())).or_insert_with(find)
                }
                None => find(),
            };
            dists.push(dist);
        }
        let places = Places {
            operands: dists[..operands].iter().copied().collect(),
            results: dists[operands..].iter().copied().collect(),
            speedup: meaning.speedup(strategy),
            masked: meaning.masked(strategy).collect(),
            exchanged: meaning.exchanged(strategy, &mut self.exchanges),
        };
        let places = Rc::new(places);
        self.known.insert((model, id), places.clone());
        places
    }

    /// Returns the strategy nearest to `id` under which tensor `tensor` of an op of `model` (operands counted before
    /// results) is sharded as at `at`, whatever is unreduced at `at`.
    pub(crate) fn adopting(
        &mut self,
        models: &Models,
        cache: &ReshardCache<'_>,
        model: Model,
        id: StrategyId,
        tensor: usize,
        at: Dist,
    ) -> Option<StrategyId> {
        if let Some(&known) = self.adopted.get(&(model, id, tensor, at)) {
            return known;
        }
        let next = models.get(model).adopting(self.strategy(id), tensor, &cache.distribution(at).reduced());
        let next = next.map(|next| self.strategy_id(next));
        self.adopted.insert((model, id, tensor, at), next);
        next
    }
}

impl Graph {
    /// Returns the distribution in which value `value` is computed.
    pub(crate) fn made(&self, places: &TiSlice<OpId, Rc<Places>>, value: ValueId) -> Dist {
        let v = &self.values[value];
        match (v.fixed, v.maker) {
            (Some(fixed), _) => fixed,
            (None, Some((op, i))) => places[op].results.get(i as usize).copied().unwrap_or(v.propagated),
            (None, None) => v.propagated,
        }
    }

    /// Returns the distributions in which the users of value `value` want it.
    pub(crate) fn needs(&self, places: &TiSlice<OpId, Rc<Places>>, value: ValueId) -> SmallVec<[Dist; 4]> {
        let uses = self.values[value].uses.iter();
        uses.filter_map(|&(op, i)| places[op].operands.get(i as usize).copied()).collect()
    }

    /// Returns the copies of value `value` under a plan.
    pub(crate) fn copies(
        &self,
        cache: &mut ReshardCache<'_>,
        places: &TiSlice<OpId, Rc<Places>>,
        value: ValueId,
    ) -> Rc<Copies> {
        let v = &self.values[value];
        cache.copies(v.ty, v.rematerializable, self.made(places, value), &self.needs(places, value))
    }

    /// Returns the seconds of [`Self::copies`], and the bytes that a device moves.
    pub(crate) fn copies_cost(
        &self,
        cache: &mut ReshardCache<'_>,
        places: &TiSlice<OpId, Rc<Places>>,
        value: ValueId,
    ) -> (f64, f64) {
        let v = &self.values[value];
        cache.copies_cost(v.ty, v.rematerializable, self.made(places, value), &self.needs(places, value))
    }

    /// Returns the seconds of an op's arithmetic, of writing its results that are kept in memory, of masking padding in
    /// operands, and of receiving rows from neighbors.
    pub(crate) fn work(&self, cache: &ReshardCache<'_>, rates: Rates, op: OpId, places: &Places) -> f64 {
        let node = &self.ops[op];
        let written = node.results.iter().zip(&places.results).filter_map(|(v, &at)| {
            let v = &self.values[(*v)?];
            v.written.then(|| cache.local_bytes(v.ty, at))
        });
        let masks = places.masked.iter().filter_map(|&i| {
            let v = &self.values[node.operands[i]?];
            Some(cache.local_bytes(v.ty, places.operands[i]))
        });
        let traffic = (written.sum::<f64>() + masks.sum::<f64>()) / rates.memory;
        node.seconds / places.speedup + traffic + self.exchanges(cache, rates, node, places)
    }

    /// Returns the seconds to send rows to neighbors and to write received rows next to a device's own. Ops that read
    /// the same rows share this cost.
    fn exchanges(&self, cache: &ReshardCache<'_>, rates: Rates, node: &Node, places: &Places) -> f64 {
        let mut seconds = 0.0;
        let mut sent: SmallVec<[SentRows<'_>; 4]> = SmallVec::new();
        for e in &places.exchanged {
            let Some(v) = node.operands[e.operand] else { continue };
            let bytes = cache.local_bytes(self.values[v].ty, places.operands[e.operand]);
            let share = e.shifted.map_or(Share::WHOLE, |shifted| node.shares[shifted]);
            seconds += e.rows * bytes / rates.memory * share.copied;
            for p in &e.sent {
                // Two neighbors send each other the rows of both sides in one permute.
                let startup = if size_of(&e.axes) == 2 { share.copied } else { share.sent };
                sent.push(SentRows { pairs: &p.pairs, axes: &e.axes, bytes: p.share * bytes * share.sent, startup });
            }
        }
        while let Some(first) = sent.first() {
            let (pairs, axes) = (first.pairs, first.axes);
            type List<'a> = SmallVec<[SentRows<'a>; 4]>;
            let joins = |s: &SentRows<'_>| s.pairs == pairs && s.axes == axes;
            let (same, others): (List<'_>, List<'_>) = sent.into_iter().partition(joins);
            seconds += permutes(cache, rates, &same);
            sent = others;
        }
        seconds
    }

    /// Returns whether uneven shards cost anything under a plan: values are moved from or to them, padding is masked or
    /// multiplied, or rows are sent between them.
    pub(crate) fn padding_costs(&self, cache: &mut ReshardCache<'_>, choice: &Choice) -> bool {
        let uneven = |cache: &ReshardCache<'_>, value: ValueId, at: Dist| {
            !cache.distribution(at).is_even(&cache.tensor_type(self.values[value].ty).shape)
        };
        let moved = self.values.keys().any(|value| {
            let copies = self.copies(cache, &choice.places, value);
            let given = usize::from(self.values[value].fixed.is_some());
            copies.seconds > 0.0 && copies.list.iter().skip(given).any(|copy| uneven(cache, value, copy.at))
        });
        moved
            || self.ops.iter().zip(&choice.places).filter(|(node, _)| node.model.is_some()).any(|(node, places)| {
                let sent = |e: &Exchanged| node.operands[e.operand].map(|v| (v, places.operands[e.operand]));
                !places.masked.is_empty()
                    || node.seconds > 0.0 && places.speedup.fract() != 0.0
                    || places.exchanged.iter().filter_map(sent).any(|(v, at)| uneven(cache, v, at))
            })
    }

    /// Returns the cost of a plan.
    pub(crate) fn cost(&self, cache: &mut ReshardCache<'_>, rates: Rates, choice: &Choice) -> Cost {
        let mut cost = Cost::default();
        for value in self.values.keys() {
            let (seconds, bytes) = self.copies_cost(cache, &choice.places, value);
            let weight = self.values[value].weight;
            cost.seconds += seconds * weight;
            cost.bytes += bytes * weight;
        }
        for (op, node) in self.ops.iter_enumerated() {
            if node.model.is_some() {
                cost.work += self.work(cache, rates, op, &choice.places[op]) * node.weight;
            }
        }
        cost
    }
}
