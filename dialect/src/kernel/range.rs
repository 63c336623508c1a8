//! The positions of an index expression while its loops stay in ranges: the part of an operand that a device needs to
//! compute a part of a result.
//!
//! Every position that is read is included. For affine expressions the first, the last and the step are exact.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Affine, Guard, Index, Input, Nest};
use crate::ir::gcd;

/// The positions `first, first + step, ..., last`. The step of a single position is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Positions {
    /// The smallest.
    pub first: i64,
    /// The largest.
    pub last: i64,
    /// The distance between consecutive positions.
    pub step: i64,
}

impl Positions {
    /// Any position, because positions read from a table are unknown.
    pub const ALL: Self = Self { first: i64::MIN, last: i64::MAX, step: 1 };

    /// Returns a single position.
    pub fn at(position: i64) -> Self {
        Self { first: position, last: position, step: 0 }
    }

    /// Returns all positions of a range; the start of an empty range.
    pub fn of(range: &Range<i64>) -> Self {
        let last = range.end.saturating_sub(1).max(range.start);
        Self { first: range.start, last, step: i64::from(last > range.start) }
    }

    /// Returns the positions from `first` in steps of `step`, up to `last` at most.
    fn stepping(first: i64, last: i64, step: i64) -> Self {
        match last.checked_sub(first) {
            _ if first == last => Self::at(first),
            Some(length) if step > 1 && first > i64::MIN => {
                let last = first + length / step * step;
                Self { first, last, step: if last == first { 0 } else { step } }
            }
            // Only unknown positions are that far apart.
            _ => Self { first, last, step: 1 },
        }
    }

    /// Returns the position, if there is only one.
    pub fn single(self) -> Option<i64> {
        (self.first == self.last).then_some(self.first)
    }

    /// Returns the number of positions.
    pub fn count(self) -> u64 {
        match self.step {
            0 => 1,
            step => (self.last.abs_diff(self.first) / step.unsigned_abs()).saturating_add(1),
        }
    }

    /// Returns whether `position` is one of them.
    pub fn contains(self, position: i64) -> bool {
        let inside = (self.first..=self.last).contains(&position);
        inside && position.abs_diff(self.first).checked_rem(self.step.unsigned_abs()).is_none_or(|r| r == 0)
    }

    /// Returns the sums of a position of `self` and a position of `other`.
    pub fn plus(self, other: Self) -> Self {
        let (first, last) = (self.first.saturating_add(other.first), self.last.saturating_add(other.last));
        Self::stepping(first, last, gcd(self.step, other.step))
    }

    /// Returns each position times `factor`.
    pub fn times(self, factor: i64) -> Self {
        let (a, b) = (self.first.saturating_mul(factor), self.last.saturating_mul(factor));
        Self::stepping(a.min(b), a.max(b), self.step.saturating_mul(factor.saturating_abs()))
    }

    /// Returns each position divided by the positive `by`, rounded down.
    pub fn floor_div(self, by: i64) -> Self {
        let step = if self.step % by == 0 { self.step / by } else { 1 };
        Self::stepping(self.first.div_euclid(by), self.last.div_euclid(by), step)
    }

    /// Returns the remainders modulo the positive `by`.
    pub fn modulo(self, by: i64) -> Self {
        let (first, last) = (self.first.rem_euclid(by), self.last.rem_euclid(by));
        if self.first.div_euclid(by) == self.last.div_euclid(by) {
            return Self::stepping(first, last, self.step);
        }
        let step = gcd(self.step, by);
        Self::stepping(first % step, by - 1, step)
    }

    /// Returns each position clamped to `lo..=hi`.
    pub fn clamp(self, lo: i64, hi: i64) -> Self {
        let clamp = |x: i64| x.min(hi).max(lo);
        let (first, last) = (clamp(self.first), clamp(self.last));
        let kept = |end: i64, to: i64| if end == to { 0 } else { self.last.saturating_sub(to) };
        Self::stepping(first, last, gcd(gcd(self.step, kept(self.first, first)), kept(self.last, last)))
    }

    /// Returns the positions in `lo..hi`; `None` if there are none.
    pub fn within(self, lo: i64, hi: i64) -> Option<Self> {
        let step = self.step.max(1);
        let up = (i128::from(lo) - i128::from(self.first)).max(0) as u128;
        let first = i128::from(self.first) + up.next_multiple_of(step as u128) as i128;
        let last = self.last.min(hi.saturating_sub(1));
        (first <= i128::from(last)).then(|| Self::stepping(first as i64, last, step))
    }
}

impl Index {
    /// Returns the positions that it takes while the loops stay in `ranges`.
    pub fn positions(&self, ranges: &[Range<i64>]) -> Positions {
        Affine::of(self, ranges).positions(ranges)
    }
}

impl Nest {
    /// Returns the range of each loop.
    pub fn ranges(&self) -> SmallVec<[Range<i64>; 6]> {
        self.loops.iter().map(|&n| 0..n).collect()
    }
}

impl Input {
    /// Returns the positions read in each dimension of the operand while the loops stay in `ranges`; `None` if nothing
    /// is read, because a range is empty or a guard never holds.
    pub fn positions(&self, ranges: &[Range<i64>]) -> Option<SmallVec<[Positions; 4]>> {
        let mut ranges: SmallVec<[Range<i64>; 6]> = ranges.iter().cloned().collect();
        if ranges.iter().any(Range::is_empty) {
            return None;
        }
        // Narrowing a loop by one guard may let another guard narrow a second loop.
        for _ in 0..2 {
            for guard in &self.guards {
                narrow(&mut ranges, guard)?;
            }
        }
        let guards: SmallVec<[(Affine, &Guard); 2]> =
            self.guards.iter().map(|g| (Affine::of(&g.index, &ranges), g)).collect();
        let dimension = |index: &Index| {
            let at = Affine::of(index, &ranges);
            guards.iter().try_fold(at.positions(&ranges), |positions, (guarded, guard)| match at.minus(guarded) {
                Some(apart) => positions.within(guard.lo.saturating_add(apart), guard.hi.saturating_add(apart)),
                None => Some(positions),
            })
        };
        self.index.iter().map(dimension).collect()
    }
}

/// Removes from each range the positions that the guard excludes for any values of the other loops; `None` if nothing
/// remains.
fn narrow(ranges: &mut [Range<i64>], guard: &Guard) -> Option<()> {
    let mut sum = Affine::of(&guard.index, ranges);
    sum.positions(ranges).within(guard.lo, guard.hi)?;
    for l in 0..ranges.len() {
        let c = std::mem::take(&mut sum.loops[l]);
        if c == 0 {
            continue;
        }
        let rest = sum.positions(ranges);
        // `c * l` is in `lo..=hi`.
        let (lo, hi) = (guard.lo.saturating_sub(rest.last), guard.hi.saturating_sub(1).saturating_sub(rest.first));
        let (lo, hi) = if c > 0 { (lo, hi) } else { (hi.saturating_neg(), lo.saturating_neg()) };
        let size = c.saturating_abs();
        let (first, last) = (-(lo.saturating_neg().div_euclid(size)), hi.div_euclid(size));
        let range = &mut ranges[l];
        *range = range.start.max(first)..range.end.min(last.saturating_add(1));
        if range.is_empty() {
            return None;
        }
        sum.loops[l] = c;
    }
    Some(())
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
