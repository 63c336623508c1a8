//! The rows of neighbors' shards that an op reads under a strategy.

use std::rc::Rc;

use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, Exchange, Pairs, Reach, ShardDim};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::strategy::{OpModel, Shifted, Strategy};

/// Rows that devices send each other before they compute an op.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchanged {
    /// The index of the operand.
    pub operand: usize,
    /// The index in the model's `shifted`; `None` where rows of several operands are assembled.
    pub shifted: Option<usize>,
    /// The axes along which rows are sent.
    pub axes: Axes,
    /// The permutes.
    pub sent: SmallVec<[Permuted; 2]>,
    /// The rows that a device copies in total, as a share of its shard.
    pub rows: f64,
}

/// A cache of the permutes for a reach and a number of shards; `None` where permutes can't send the rows.
#[derive(Default)]
pub struct Exchanges(FxHashMap<(Reach, i64), Option<Permutes>>);

/// The permutes, and the rows that a device copies in total, as a share of its shard.
type Permutes = (SmallVec<[Permuted; 2]>, f64);

impl Exchanges {
    fn of(&mut self, reach: Reach, shards: i64) -> Option<&Permutes> {
        self.0.entry((reach, shards)).or_insert_with(|| sent(reach, shards)).as_ref()
    }
}

fn sent(reach: Reach, shards: i64) -> Option<Permutes> {
    let exchange = Exchange::of(reach, shards)?;
    let size = exchange.shards.size().max(1) as f64;
    let all = exchange.between_all();
    let sent = exchange.rounds.iter().map(|round| {
        let pairs = Rc::new(all.as_ref().unwrap_or(&round.pairs).clone());
        Permuted { share: round.rows as f64 / size, pairs }
    });
    let sent = sent.collect();
    // Without permutes a device reads its own shard, or a part of it.
    let copied = !exchange.rounds.is_empty() || !exchange.is_uniform();
    Some((sent, if copied { exchange.window.rows as f64 / size } else { 0.0 }))
}

/// One permute of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Permuted {
    /// The rows it sends, as a share of a device's shard of the operand.
    pub share: f64,
    /// The sender and receiver of each row, by position along the axes.
    pub pairs: Rc<Pairs>,
}

impl OpModel {
    /// Returns the operands of which devices receive rows from their neighbors, with the axes and the rows sent.
    pub fn exchanged(&self, strategy: &Strategy, known: &mut Exchanges) -> SmallVec<[Exchanged; 1]> {
        if self.shifted.is_empty() && self.assembled.is_none() {
            return SmallVec::new();
        }
        let sharded = self.shifted.iter().enumerate().filter(|s| !strategy.factors[s.1.factor as usize].is_empty());
        let one = |(shifted, s): (usize, &Shifted)| {
            let axes = Axes::from_slice(&strategy.factors[s.factor as usize]);
            let (sent, rows) = known.of(s.reach, size_of(&axes))?.clone();
            Some(Exchanged { operand: s.operand as usize, shifted: Some(shifted), axes, sent, rows })
        };
        sharded.filter_map(one).chain(self.put_together(strategy)).collect()
    }

    /// Returns the rows that devices send each other where the result is assembled from several operands, as shares of
    /// the first operand's shard.
    fn put_together(&self, strategy: &Strategy) -> Option<Exchanged> {
        let (factor, assembly) = self.assembled.as_ref()?;
        let axes = strategy.factors[*factor as usize].clone();
        if axes.is_empty() {
            return None;
        }
        let shards = size_of(&axes);
        let rows = |global: i64| ShardDim::new(global, shards).size() as f64;
        let (operand, size) = assembly.sizes.iter().enumerate().find_map(|(i, size)| Some((i, rows((*size)?))))?;
        let sent = assembly.exchange(shards).rounds.into_iter();
        let sent = sent.map(|r| Permuted { share: r.rows as f64 / size.max(1.0), pairs: Rc::new(r.pairs) }).collect();
        Some(Exchanged { operand, shifted: None, axes, sent, rows: rows(assembly.size()) / size.max(1.0) })
    }
}
