//! Exchanges of rows between devices that give every device of a sharded dimension its window of rows.
//!
//! The windows of a stencil advance by the size of a shard: each device then receives the same rows from the neighbor
//! at the same distance, in one permute per neighbor. Windows that advance differently (a slice of half a dimension, a
//! concatenation) are built from permutes in which every device sends at most one run of rows and receives at most one;
//! the start of a run then differs between devices.

use std::ops::Range;

use super::{Pairs, Reach, RowWindow, ShardDim};

/// The shard count above which an exchange is derived from one over this many shards, by adding devices in the middle
/// that do the same as their neighbors.
const MOST_SHARDS: i64 = 64;

/// The exchange by which the devices of a group get the rows they read.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    /// The rows of each device.
    pub window: RowWindow,
    /// The division of the dimension into shards.
    pub shards: ShardDim,
    /// Whether a device reads rows outside of the dimension, in iterations that exist.
    pub reads_outside: bool,
    /// The permutes.
    pub rounds: Vec<Run>,
    /// Rows that devices have in their own shards, if any: each pair is a device and itself.
    pub own: Option<Run>,
    reach: Reach,
}

/// One permute: the same number of rows from each source's shard to its target's window.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Pairs of source and target places in the group.
    pub pairs: Pairs,
    /// Number of rows, at most those of a shard.
    pub rows: i64,
    /// The first row in the shard of each source.
    pub from: PerDevice,
    /// The first row in the window of each target; the rows may be partly outside of it.
    pub to: PerDevice,
}

impl Run {
    fn is_uniform(&self) -> bool {
        matches!((&self.from, &self.to), (PerDevice::Same(_), PerDevice::Same(_)))
    }
}

/// A number for each device of the group; it is unspecified for devices that don't take part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PerDevice {
    /// One number for all devices that take part.
    Same(i64),
    /// A number by place in the group.
    Each(Vec<i64>),
}

impl PerDevice {
    /// Returns the number of device `device`.
    pub fn of(&self, device: usize) -> i64 {
        match self {
            PerDevice::Same(v) => *v,
            PerDevice::Each(list) => list[device],
        }
    }

    /// Creates it from each device's number; `None` for devices that don't take part.
    pub fn from_each(numbers: impl IntoIterator<Item = Option<i64>>) -> Self {
        let list: Vec<Option<i64>> = numbers.into_iter().collect();
        let mut known = list.iter().flatten();
        let first = known.next().copied().unwrap_or(0);
        match known.all(|&v| v == first) {
            true => PerDevice::Same(first),
            false => PerDevice::Each(list.into_iter().map(|v| v.unwrap_or(first)).collect()),
        }
    }

    /// Creates it from the numbers of the devices that take part.
    fn of_some(devices: usize, some: impl Iterator<Item = (usize, i64)> + Clone) -> Self {
        let mut values = some.clone().map(|s| s.1);
        let first = values.next().unwrap_or(0);
        if values.all(|v| v == first) {
            return PerDevice::Same(first);
        }
        let mut list = vec![0; devices];
        some.for_each(|(d, v)| list[d] = v);
        PerDevice::Each(list)
    }
}

/// One run of rows: from a source's shard into a target's window.
#[derive(Clone, Copy)]
struct Transfer {
    source: i64,
    target: i64,
    /// Global rows.
    first: i64,
    end: i64,
}

impl Exchange {
    /// Returns the exchange that fills the windows of `reach` if the loop and the dimension are in `shards` shards;
    /// `None` if that isn't possible.
    ///
    /// The time depends on the number of shards only if windows don't advance by the size of a shard.
    pub fn of(reach: Reach, shards: i64) -> Option<Self> {
        stretch::stretched(reach, shards, MOST_SHARDS).or_else(|| Self::by_device(reach, shards, false))
    }

    /// Returns an exchange of only [uniform](Self::is_uniform) permutes, even if fewer permutes would do otherwise:
    /// with two devices that send each other rows from different ends of their shards, this takes two permutes instead
    /// of one.
    pub fn uniform(reach: Reach, shards: i64) -> Option<Self> {
        let found = Self::of(reach, shards)?;
        if found.is_uniform() { Some(found) } else { Self::by_device(reach, shards, true).filter(Self::is_uniform) }
    }

    /// Computes the exchange device by device.
    fn by_device(reach: Reach, shards: i64, uniform: bool) -> Option<Self> {
        let window = reach.window(shards)?;
        let dim = ShardDim::new(reach.size, shards);
        if dim.size() < 1 {
            return None;
        }
        let mut transfers = Vec::new();
        let mut reads_outside = false;
        for target in 0..shards {
            let needed = reach.needed(shards, target);
            let (start, count) = ShardDim::new(reach.iterations, shards).valid(target);
            if count > 0 {
                let (first, last) = reach.positions(start..start + count);
                reads_outside |= first < 0 || last >= reach.size;
            }
            let mut first = needed.start;
            while first < needed.end {
                let source = first / dim.size();
                let end = needed.end.min((source + 1) * dim.size());
                transfers.push(Transfer { source, target, first, end });
                first = end;
            }
        }
        let (own, sent): (Vec<_>, Vec<_>) = transfers.into_iter().partition(|t| t.source == t.target);
        let bring = |transfers: &[Transfer]| run(transfers, &window, dim, shards);
        let fits = |plan: &Vec<Vec<Transfer>>| !uniform || plan.iter().all(|t| bring(t).is_uniform());
        let rounds = rounds(&sent, shards, &fits);
        Some(Self {
            window,
            shards: dim,
            reads_outside,
            own: (!own.is_empty()).then(|| bring(&own)),
            rounds: rounds.iter().map(|transfers| bring(transfers)).collect(),
            reach,
        })
    }

    /// Returns the rows of each device's window that `run` fills; an empty range where it fills none.
    pub fn valid(&self, run: &Run) -> Vec<Range<i64>> {
        let mut valid = vec![0..0; self.shards.shards as usize];
        for (source, target) in run.pairs.iter() {
            let needed = self.reach.needed(self.shards.shards, target);
            let shard = source * self.shards.size()..(source + 1) * self.shards.size();
            let start = self.window.start + target * self.window.advance;
            let first = needed.start.max(shard.start);
            valid[target as usize] = first - start..needed.end.min(shard.end).max(first) - start;
        }
        valid
    }

    /// Returns whether every device takes rows from the same places of its own shard and of its neighbors', so that the
    /// rows can be concatenated in order.
    pub fn is_uniform(&self) -> bool {
        self.rounds.iter().all(Run::is_uniform) && self.own.as_ref().is_none_or(Run::is_uniform)
    }

    /// Returns the pairs of all permutes combined, if there are two permutes between the same two devices: each device
    /// then sends the rows for both ends at once.
    pub fn between_all(&self) -> Option<Pairs> {
        match &self.rounds[..] {
            [a, b] if self.shards.shards == 2 => a.pairs.union(&b.pairs),
            _ => None,
        }
    }

    /// Iterates over the number of rows that each permute moves.
    pub fn moved(&self) -> impl Iterator<Item = i64> + '_ {
        self.rounds.iter().map(|r| r.rows)
    }
}

/// Divides transfers into rounds in which every device sends at most once and receives at most once.
///
/// Neighbors at the same distance form one round (`source - target`, or `source + target` if the order is reversed), or
/// else the first, second, … runs of each window do. Of the ways that fit, this takes the one that moves the fewest
/// rows.
fn rounds(transfers: &[Transfer], shards: i64, fits: &dyn Fn(&Vec<Vec<Transfer>>) -> bool) -> Vec<Vec<Transfer>> {
    let mut nth: Vec<i64> = Vec::with_capacity(transfers.len());
    for (i, t) in transfers.iter().enumerate() {
        nth.push(if i > 0 && transfers[i - 1].target == t.target { nth[i - 1] + 1 } else { 0 });
    }
    let by_distance = |i: usize| transfers[i].source - transfers[i].target;
    // Distances modulo the group's size.
    let by_turn = |i: usize| (transfers[i].source - transfers[i].target).rem_euclid(shards);
    let by_mirror = |i: usize| transfers[i].source + transfers[i].target;
    let by_number = |i: usize| nth[i];
    let keys: [&dyn Fn(usize) -> i64; 4] = [&by_turn, &by_distance, &by_mirror, &by_number];
    let plans = keys.map(|key| divided(transfers, &|t| (t.source, t.target), key));
    // Each permute counts one row in addition to those it moves, because even an empty permute has a cost.
    let cost = |plan: &Vec<Vec<Transfer>>| plan.iter().map(|r| 1 + rows(r)).sum::<i64>();
    let best = plans.iter().filter(|p| fits(p)).min_by_key(|p| cost(p));
    best.or_else(|| plans.first()).cloned().unwrap_or_default()
}

fn rows(transfers: &[Transfer]) -> i64 {
    transfers.iter().map(|t| t.end - t.first).max().unwrap_or(0)
}

/// Divides transfers by their keys into rounds in which every device sends at most once and receives at most once;
/// `ends` gives source and target. The round of the first transfer comes first. It avoids hashing because windows that
/// grow along the dimension have a transfer for every two devices.
pub(super) fn divided<T: Copy>(
    transfers: &[T],
    ends: &dyn Fn(&T) -> (i64, i64),
    key: &dyn Fn(usize) -> i64,
) -> Vec<Vec<T>> {
    let devices = transfers.iter().map(ends).map(|(source, target)| source.max(target) + 1).max().unwrap_or(0);
    let keys: Vec<i64> = (0..transfers.len()).map(key).collect();
    let (least, most) = (keys.iter().min().copied().unwrap_or(0), keys.iter().max().copied().unwrap_or(0));
    // Keys are differences or sums of devices, or numbers of transfers.
    let mut by_key: Vec<Vec<usize>> = vec![Vec::new(); (most - least + 1) as usize];
    keys.iter().enumerate().for_each(|(i, &key)| by_key[(key - least) as usize].push(i));
    // Each round: its first transfer's number, and its transfers.
    let mut rounds: Vec<(usize, Vec<T>)> = Vec::new();
    // The number of rounds of one key in which each device takes part, as a source and as a target.
    let mut used = vec![[0usize; 2]; devices as usize];
    for same in by_key {
        let begin = rounds.len();
        for &i in &same {
            let (source, target) = ends(&transfers[i]);
            let again = used[source as usize][0].max(used[target as usize][1]);
            used[source as usize][0] = again + 1;
            used[target as usize][1] = again + 1;
            match rounds.get_mut(begin + again) {
                Some(round) => round.1.push(transfers[i]),
                None => rounds.push((i, vec![transfers[i]])),
            }
        }
        for i in same {
            let (source, target) = ends(&transfers[i]);
            used[source as usize][0] = 0;
            used[target as usize][1] = 0;
        }
    }
    rounds.sort_unstable_by_key(|round| round.0);
    rounds.into_iter().map(|round| round.1).collect()
}

fn run(transfers: &[Transfer], window: &RowWindow, dim: ShardDim, shards: i64) -> Run {
    let rows = rows(transfers);
    // All sources send the same number of rows; a target that needs fewer ignores the rest.
    let from = |t: &Transfer| {
        let first = t.first - t.source * dim.size();
        // If the window of each device continues in the same way before or after, so do the rows.
        first.min(dim.size() - rows)
    };
    let start = |t: &Transfer| window.start + t.target * window.advance;
    let to = |t: &Transfer| t.source * dim.size() + from(t) - start(t);
    let (sources, targets) = (|t: &Transfer| t.source as usize, |t: &Transfer| t.target as usize);
    Run {
        pairs: Pairs::of(transfers.iter().map(|t| (t.source, t.target))),
        rows,
        from: PerDevice::of_some(shards as usize, transfers.iter().map(|t| (sources(t), from(t)))),
        to: PerDevice::of_some(shards as usize, transfers.iter().map(|t| (targets(t), to(t)))),
    }
}

#[path = "stretch.rs"]
mod stretch;

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
