//! Positions of an operand that a shard of a loop reads: the data that neighbors must send before the shard is
//! computed.
//!
//! This is derived from the loop nest alone. A loop `i` that reads a dimension at `(step * i + offset) / divisor` can
//! be sharded: a device reads a window of the dimension that moves by the same distance from each device to the next,
//! so that after [`Exchange`](super::Exchange) has brought the rows of that window, every device computes the same
//! thing.

use std::ops::Range;

use smallvec::SmallVec;

use super::ShardDim;
use crate::kernel::{Affine, Index, Nest, Outside};

/// The positions at which a dimension of an operand is read along one loop: in iteration `i` at every `floor((step * i
/// + offset) / divisor)`, `offset` in `first..=last`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reach {
    /// Iterations of the loop.
    pub iterations: i64,
    /// Global size of the dimension.
    pub size: i64,
    /// Distance between the positions that neighboring iterations read, before the division. Not zero.
    pub step: i64,
    /// Smallest offset.
    pub first: i64,
    /// Largest offset.
    pub last: i64,
    /// Number of positions per element; positive.
    pub divisor: i64,
}

/// A dimension that is read along a loop at positions other than the loop's own position.
#[derive(Clone, PartialEq, Debug)]
pub struct ShiftedRead {
    /// The operand's number.
    pub operand: usize,
    /// The dimension's number.
    pub dim: usize,
    /// The number of the nest's loop along which it is read.
    pub along: usize,
    /// The positions that are read.
    pub reach: Reach,
    /// The replacement for positions outside the dimension; `None` if there are none.
    pub outside: Option<Outside>,
}

/// The rows that the devices of a sharded loop read: device `d` reads `rows` rows from `start + d * advance` on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowWindow {
    /// The first row that device 0 reads; may be outside the dimension.
    pub start: i64,
    /// The distance between the windows of consecutive devices.
    pub advance: i64,
    /// Number of rows.
    pub rows: i64,
}

impl Reach {
    /// Returns the first and last position that iterations `range` read; `range` isn't empty.
    pub fn positions(&self, range: Range<i64>) -> (i64, i64) {
        let ends = [self.step.saturating_mul(range.start), self.step.saturating_mul(range.end - 1)];
        let first = ends[0].min(ends[1]).saturating_add(self.first);
        let last = ends[0].max(ends[1]).saturating_add(self.last);
        // Positions between elements aren't read.
        (-(first.saturating_neg().div_euclid(self.divisor)), last.div_euclid(self.divisor))
    }

    /// Returns how many rows before and after its own a shard of any size reads, counted around the ends of the
    /// dimension if that is shorter. `None` if the loop doesn't advance one row per iteration.
    pub fn beyond(&self) -> Option<(i64, i64)> {
        if (self.step, self.divisor) != (1, 1) {
            return None;
        }
        let near = |offset: i64| match offset.rem_euclid(self.size.max(1)) {
            n if n > self.size / 2 => n - self.size,
            n => n,
        };
        let around = self.last - self.first < self.size / 2;
        let (first, last) = if around { (near(self.first), near(self.last)) } else { (self.first, self.last) };
        Some(((-first).max(0), last.max(0)))
    }

    /// Returns the rows that devices read if the loop is in `shards` shards; `None` if the windows of two devices would
    /// differ in more than their start.
    pub fn window(&self, shards: i64) -> Option<RowWindow> {
        let iterations = ShardDim::new(self.iterations, shards).size();
        let moved = self.step.checked_mul(iterations)?;
        if moved % self.divisor != 0 || iterations < 1 {
            return None;
        }
        let (start, last) = self.positions(0..iterations);
        // A shard may read only positions between elements.
        Some(RowWindow { start, advance: moved / self.divisor, rows: (last - start + 1).max(1) })
    }

    /// Returns the rows inside the dimension that device `device` reads in iterations that exist; may be empty.
    pub fn needed(&self, shards: i64, device: i64) -> Range<i64> {
        let (start, count) = ShardDim::new(self.iterations, shards).valid(device);
        if count < 1 {
            return 0..0;
        }
        let (first, last) = self.positions(start..start + count);
        let (first, end) = (first.max(0), (last + 1).min(self.size));
        first..end.max(first)
    }
}

/// Returns the dimensions that `nest` reads along `along` at positions other than the loop's own; `shapes` are the
/// shapes of its operands. `None` if the loop can't be sharded because a position depends on it in another way.
pub fn shifted_reads(nest: &Nest, shapes: &[&[i64]], along: usize) -> Option<SmallVec<[ShiftedRead; 2]>> {
    let ranges = nest.ranges();
    let mut found: SmallVec<[ShiftedRead; 2]> = SmallVec::new();
    for input in &nest.inputs {
        let mut moved = 0;
        for (dim, index) in input.index.iter().enumerate().filter(|i| i.1.depends_on(along)) {
            moved += 1;
            let size = *shapes.get(input.operand)?.get(dim)?;
            let guarded = input.guards.iter().any(|g| g.index.depends_on(along));
            // Of no rows, none is anywhere else, whatever the stride.
            let moves = *index != Index::Loop(along) && size != 0;
            if !moves && nest.loops[along] == size && !guarded {
                continue;
            }
            let reach = reach(index, size, nest, along, &ranges)?;
            let outside = input.outside.clone().filter(|_| guarded);
            match found.iter_mut().find(|r| (r.operand, r.dim) == (input.operand, dim)) {
                None => found.push(ShiftedRead { operand: input.operand, dim, along, reach, outside }),
                Some(other) => {
                    let same = (other.reach.step, other.reach.divisor) == (reach.step, reach.divisor);
                    if !same || other.outside != outside {
                        return None;
                    }
                    other.reach.first = other.reach.first.min(reach.first);
                    other.reach.last = other.reach.last.max(reach.last);
                }
            }
        }
        // Sharding one dimension of a diagonal doesn't shard the other; a guard on a dimension that doesn't move would
        // count from the shard's beginning.
        let guards = input.guards.iter().any(|g| g.index.depends_on(along));
        if moved > 1 || moved == 0 && guards {
            return None;
        }
    }
    // If one operand is read in two ways, one shard of it can't serve both.
    let plain = |operand: usize, dim: usize| {
        let mut reads = nest.inputs.iter().filter(|i| i.operand == operand);
        reads.any(|i| i.index.get(dim) == Some(&Index::Loop(along)) && i.guards.is_empty())
    };
    let mixed = found.iter().any(|r| r.reach.size == nest.loops[along] && plain(r.operand, r.dim));
    (!mixed).then_some(found)
}

fn reach(index: &Index, size: i64, nest: &Nest, along: usize, ranges: &[Range<i64>]) -> Option<Reach> {
    let (at, divisor) = match index {
        Index::FloorDiv(at, by) => (&**at, *by),
        at => (at, 1),
    };
    let mut at = Affine::of(at, ranges);
    let step = std::mem::take(&mut at.loops[along]);
    let other_results = (0..nest.parallel).any(|l| l != along && at.loops[l] != 0);
    if !at.is_affine() || step == 0 || other_results && along < nest.parallel {
        return None;
    }
    let offsets = at.positions(ranges);
    Some(Reach { iterations: nest.loops[along], size, step, first: offsets.first, last: offsets.last, divisor })
}
