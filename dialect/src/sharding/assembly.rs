//! Exchanges of rows between devices that build a sharded dimension from rows of several tensors.
//!
//! A device has rows of every operand to send and may need rows of any operand, so one permute carries rows of
//! different operands between different devices: in each round, every device sends at most one run of rows, of any
//! operand, and receives at most one. Concatenating two tensors of equal size then takes as many rounds as a device has
//! runs in total, not that many for each tensor.

use std::ops::Range;

use smallvec::SmallVec;

use super::exchange::divided;
use super::{Pairs, ShardDim};
use crate::ir::OpRef;

/// One dimension that consists of rows of the same dimension of several tensors, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Assembly {
    /// The dimension.
    pub dim: usize,
    /// The size of each operand along the dimension; `None` for an operand of rank 0, which fills rows.
    pub sizes: SmallVec<[Option<i64>; 4]>,
    /// The rows of the result, from first to last.
    pub pieces: SmallVec<[AssemblyPiece; 4]>,
}

/// Consecutive rows of one operand that are consecutive in the result, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AssemblyPiece {
    /// The operand's number.
    pub operand: usize,
    /// The smallest row of the operand in this piece.
    pub start: i64,
    /// Number of rows.
    pub count: i64,
    /// Whether the rows come in reverse order.
    pub reversed: bool,
}

/// One permute: every source sends the same number of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct AssemblyRound {
    /// Pairs of source and target places in the group; a place may send to itself.
    pub pairs: Pairs,
    /// Number of rows.
    pub rows: i64,
    /// The rows that each place of the group sends, if any.
    pub sends: Vec<Option<SentRows>>,
    /// The destination of the rows that each place receives, if any.
    pub receives: Vec<Option<ReceivedRows>>,
}

/// `rows` rows of a shard; some may be past its end if the shard is smaller than that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentRows {
    /// The operand's number.
    pub operand: usize,
    /// The first row sent, counted in the shard.
    pub start: i64,
    /// Whether the rows are sent in reverse order.
    pub reversed: bool,
}

/// The destination of received rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedRows {
    /// The row of the result's shard for the first received row; may be outside of the shard if that row isn't valid.
    pub at: i64,
    /// The rows of the result's shard that this round fills; the other received rows are ignored.
    pub valid: Range<i64>,
}

/// The exchange by which the devices of a group build their shards of the result.
#[derive(Clone, PartialEq, Debug)]
pub struct AssemblyExchange {
    /// The permutes.
    pub rounds: Vec<AssemblyRound>,
    /// Rows that devices have already and that no permute brings: one run per device in each entry.
    pub own: Vec<AssemblyRound>,
}

/// One run of rows from a source's shard to a target's.
#[derive(Clone, Copy)]
struct Transfer {
    operand: usize,
    source: i64,
    target: i64,
    /// The smallest row in the source's shard.
    from: i64,
    /// The smallest row in the target's shard.
    to: i64,
    count: i64,
    reversed: bool,
    /// The number of transfers before it from the same source.
    nth: i64,
}

/// The largest number of pieces among which one kernel selects for every element; with more, each piece is copied
/// separately.
const MAX_SELECTED: usize = 16;

impl Assembly {
    /// Returns the assembly of `op` if it has more than `MAX_SELECTED` pieces, so that each should be copied to its
    /// place: selecting among `n` pieces for every element takes `n` times the time and instructions.
    pub fn of_many(op: OpRef<'_>) -> Option<Self> {
        op.def().assembly(op).filter(|assembly| assembly.pieces.len() > MAX_SELECTED)
    }

    /// Returns the size of the result along the dimension.
    pub fn size(&self) -> i64 {
        self.pieces.iter().map(|p| p.count).sum()
    }

    /// Returns the operand and its row that become row `row` of the result; the row is 0 for operands of rank 0.
    pub fn source(&self, row: i64) -> Option<(usize, i64)> {
        let mut first = 0;
        for p in &self.pieces {
            if (first..first + p.count).contains(&row) {
                let offset = if p.reversed { p.count - 1 - (row - first) } else { row - first };
                return Some((p.operand, if self.sizes[p.operand].is_some() { p.start + offset } else { 0 }));
            }
            first += p.count;
        }
        None
    }

    /// Iterates over the pieces, each with its range of rows in the result.
    pub fn placed(&self) -> impl Iterator<Item = (AssemblyPiece, Range<i64>)> + '_ {
        self.pieces.iter().scan(0, |end, &p| {
            let first = *end;
            *end += p.count;
            Some((p, first..*end))
        })
    }

    /// Returns the exchange by which devices build their shards of the result, if the result and all operands of rank 1
    /// and more are in `shards` shards. The time is proportional to the number of shards.
    pub fn exchange(&self, shards: i64) -> AssemblyExchange {
        let all = self.transfers(shards);
        let (own, sent): (Vec<_>, Vec<_>) = all.iter().partition(|t| t.source == t.target);
        let (together, apart) = (rounds(&all, shards), rounds(&sent, shards));
        // A device that has nothing else to send may take its own rows from a permute that other devices need anyway.
        let (sent, own) = match cost(&together) <= cost(&apart) {
            true => (together, Vec::new()),
            false => (apart, divided(&own, &ends, &|_| 0)),
        };
        let build = |rounds: Vec<Vec<Transfer>>| rounds.iter().map(|r| self.round(r, shards)).collect();
        AssemblyExchange { rounds: build(sent), own: build(own) }
    }

    fn transfers(&self, shards: i64) -> Vec<Transfer> {
        let result = ShardDim::new(self.size(), shards);
        let mut transfers = Vec::new();
        let mut sent = vec![0; shards as usize];
        for (p, place) in self.placed() {
            let Some(size) = self.sizes[p.operand] else { continue };
            let shard = ShardDim::new(size, shards).size();
            // Splits the piece at the ends of shards of the operand and of the result, counted in the operand.
            let to_result =
                |row: i64| if p.reversed { place.end - 1 - (row - p.start) } else { place.start + row - p.start };
            let end = p.start + p.count;
            let mut first = p.start;
            while first < end {
                let source = first / shard;
                let target = to_result(first) / result.size();
                let left = if p.reversed {
                    to_result(first) - target * result.size() + 1
                } else {
                    (target + 1) * result.size() - to_result(first)
                };
                let next = end.min((source + 1) * shard).min(first + left);
                let to = to_result(first).min(to_result(next - 1)) - target * result.size();
                let (from, count) = (first - source * shard, next - first);
                let nth = sent[source as usize];
                sent[source as usize] += 1;
                let (operand, reversed) = (p.operand, p.reversed);
                transfers.push(Transfer { operand, source, target, from, to, count, reversed, nth });
                first = next;
            }
        }
        transfers
    }

    fn round(&self, transfers: &[Transfer], shards: i64) -> AssemblyRound {
        let rows = rows(transfers);
        let window = ShardDim::new(self.size(), shards).size();
        let mut sends = vec![None; shards as usize];
        let mut receives = vec![None; shards as usize];
        for t in transfers {
            let shard = ShardDim::new(self.sizes[t.operand].unwrap_or(0), shards).size();
            // Rows that are sent but not needed are taken from inside the shard, preferably so that all of them have a
            // place in the window.
            let (least, most) = ((t.from + t.count - rows).max(0), t.from.min((shard - rows).max(0)));
            // The first received row belongs to row `offset - start` or `offset + start` of the window.
            let (start, at) = if t.reversed {
                let offset = t.to + t.from + t.count - rows;
                let start = t.from.min(offset).max(offset - (window - rows)).clamp(least.min(most), most);
                (start, offset - start)
            } else {
                let offset = t.to - t.from;
                let start = t.from.min(window - rows - offset).max(-offset).clamp(least.min(most), most);
                (start, offset + start)
            };
            sends[t.source as usize] = Some(SentRows { operand: t.operand, start, reversed: t.reversed });
            receives[t.target as usize] = Some(ReceivedRows { at, valid: t.to..t.to + t.count });
        }
        let mut pairs: Vec<_> = transfers.iter().map(|t| (t.operand, t.source, t.target)).collect();
        pairs.sort_unstable();
        AssemblyRound { pairs: Pairs::of(pairs.into_iter().map(|p| (p.1, p.2))), rows, sends, receives }
    }
}

impl AssemblyExchange {
    /// Iterates over the number of rows that each permute moves.
    pub fn moved(&self) -> impl Iterator<Item = i64> + '_ {
        self.rounds.iter().map(|r| r.rows)
    }
}

fn ends(transfer: &Transfer) -> (i64, i64) {
    (transfer.source, transfer.target)
}

fn rows(transfers: &[Transfer]) -> i64 {
    transfers.iter().map(|t| t.count).max().unwrap_or(0)
}

/// Divides transfers into rounds in which every device sends at most once and receives at most once. Of several regular
/// pairings and one plan with the fewest rounds, takes the plan that moves the fewest rows.
fn rounds(transfers: &[Transfer], shards: i64) -> Vec<Vec<Transfer>> {
    let most = |place: &dyn Fn(&Transfer) -> i64| {
        let mut counts = vec![0_i64; shards as usize];
        transfers.iter().for_each(|t| counts[place(t) as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    };
    let fewest = most(&|t| t.source).max(most(&|t| t.target)).max(1);
    let by_turn = |i: usize| (transfers[i].source - transfers[i].target).rem_euclid(shards);
    let by_mirror = |i: usize| transfers[i].source + transfers[i].target;
    // Neighboring devices begin with different operands.
    let in_turn = |i: usize| (transfers[i].nth + transfers[i].source).rem_euclid(fewest);
    let keys: [&dyn Fn(usize) -> i64; 3] = [&in_turn, &by_turn, &by_mirror];
    let regular = keys.into_iter().map(|key| divided(transfers, &ends, key));
    let plans = regular.chain([colored(transfers, shards, fewest as usize)]);
    plans.min_by_key(|plan| cost(plan)).unwrap_or_default()
}

/// Each permute counts one row in addition to those it moves, because even an empty permute has a cost.
fn cost(plan: &[Vec<Transfer>]) -> i64 {
    plan.iter().map(|r| 1 + rows(r)).sum()
}

/// Divides transfers into `fewest` rounds, the largest number of transfers of any device, with long transfers in the
/// same rounds: the edges of a bipartite graph can be colored with as many colors as the largest degree of a vertex
/// (Kőnig), by exchanging two colors along a path when an edge finds no free color.
fn colored(transfers: &[Transfer], shards: i64, fewest: usize) -> Vec<Vec<Transfer>> {
    let mut order: Vec<usize> = (0..transfers.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(transfers[i].count));
    // The transfer of each color of each device, first as a source, then as a target.
    let mut at: [Vec<Option<usize>>; 2] = [(); 2].map(|()| vec![None; shards as usize * fewest]);
    let place = |side: usize, i: usize, color: usize| {
        let t = &transfers[i];
        [t.source, t.target][side] as usize * fewest + color
    };
    for &i in &order {
        let is_free =
            |at: &[Vec<Option<usize>>; 2], side: usize, color: usize| at[side][place(side, i, color)].is_none();
        let both = (0..fewest).find(|&c| is_free(&at, 0, c) && is_free(&at, 1, c));
        let color = both.unwrap_or_else(|| {
            let [a, b] = [0, 1].map(|side| (0..fewest).find(|&c| is_free(&at, side, c)).unwrap_or(0));
            // Swaps colors a and b along the path that starts at the target: then a is free there, too.
            let (mut path, mut side, mut color) = (Vec::new(), 1, a);
            let mut next = at[1][place(1, i, a)];
            while let Some(edge) = next {
                path.push((edge, color));
                (side, color) = (1 - side, if color == a { b } else { a });
                next = at[side][place(side, edge, color)];
            }
            for &(edge, color) in &path {
                (0..2).for_each(|side| at[side][place(side, edge, color)] = None);
            }
            for &(edge, color) in &path {
                let other = if color == a { b } else { a };
                (0..2).for_each(|side| at[side][place(side, edge, other)] = Some(edge));
            }
            a
        });
        (0..2).for_each(|side| at[side][place(side, i, color)] = Some(i));
    }
    let mut rounds = vec![Vec::new(); fewest];
    for (slot, edge) in at[0].iter().enumerate() {
        if let Some(i) = edge {
            rounds[slot % fewest].push(transfers[*i]);
        }
    }
    rounds.retain(|r| !r.is_empty());
    rounds
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
