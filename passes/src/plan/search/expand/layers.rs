//! Repeated layers: consecutive stretches of a program that are equal op by op.

use std::ops::Range;

use dialect::id::Interner;
use rustc_hash::FxHashMap;

use crate::plan::heuristics::PLAN;
use crate::plan::model::meaning::Model;
use crate::plan::model::strategy::OpModel;
use crate::plan::search::draft::Draft;

/// A repeated stretch: `times` layers of `period` ops each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repeat {
    /// The index of the first op.
    pub(super) start: usize,
    /// Ops of one layer.
    pub(super) period: usize,
    /// The number of layers, at least two.
    pub(super) times: usize,
}

impl Repeat {
    /// Returns the range of all its ops.
    pub(super) fn ops(self) -> Range<usize> {
        self.start..self.start + self.period * self.times
    }

    /// Returns the op of the first layer that corresponds to op `op`.
    pub(super) fn first(self, op: usize) -> usize {
        self.start + (op - self.start) % self.period
    }
}

/// Returns the repeats in a list of ops, where equal ops have equal keys. Repeats don't overlap; of several that begin
/// at one op, the longest that `may_join` allows is taken. Takes O(n log n) steps, not counting `may_join`.
pub(super) fn repeats(keys: &[u32], may_join: &mut dyn FnMut(Repeat) -> bool) -> Vec<Repeat> {
    let prefixes = Prefixes::of(keys);
    let mut starts: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    for at in 0..(keys.len() + 1).saturating_sub(PLAN.layer_prefix) {
        starts.entry(prefixes.hash(at, PLAN.layer_prefix)).or_default().push(at as u32);
    }
    let mut found = Vec::new();
    // A refused repeat isn't tried again one op later.
    let mut refused: FxHashMap<usize, usize> = FxHashMap::default();
    let mut start = 0;
    while start + 2 * PLAN.layer_prefix <= keys.len() {
        let same = &starts[&prefixes.hash(start, PLAN.layer_prefix)];
        let later = &same[same.partition_point(|&at| at as usize <= start)..];
        let mut repeats: Vec<Repeat> = Vec::new();
        for &next in later.iter().take(PLAN.layer_distances) {
            let period = next as usize - start;
            let common = prefixes.common(start, next as usize);
            let is_refused = refused.get(&period).is_some_and(|&end| start < end);
            if common >= period && !is_refused {
                repeats.push(Repeat { start, period, times: common / period + 1 });
            }
        }
        repeats.sort_by_key(|r| (usize::MAX - r.ops().end, r.period));
        let allowed = repeats.into_iter().find(|&repeat| {
            let allowed = keys[start..repeat.ops().end - repeat.period]
                == keys[start + repeat.period..repeat.ops().end]
                && may_join(repeat);
            if !allowed {
                refused.insert(repeat.period, repeat.ops().end - repeat.period);
            }
            allowed
        });
        start = allowed.map_or(start + 1, |repeat| repeat.ops().end);
        found.extend(allowed);
    }
    found
}

/// Returns the keys of ops: ops with equal keys play the same part in a move.
pub(super) fn keys(draft: &Draft<'_, '_>) -> Vec<u32> {
    let graph = draft.graph;
    let mut known: Interner<usize, Vec<u64>> = Interner::default();
    let mut frames: FxHashMap<Model, u64> = FxHashMap::default();
    let mut distinct: Interner<usize, OpModel> = Interner::default();
    // The positions that an op reads don't affect the distributions of its operands and results.
    let mut frame = |model: &OpModel| {
        let (rule, reduction, linear) = (model.rule.clone(), model.reduction, model.linear.clone());
        let accumulated = model.accumulated.clone();
        distinct.intern(OpModel { rule, reduction, accumulated, linear, ..OpModel::default() }) as u64
    };
    let keys = graph.ops.iter().map(|node| {
        let frame = node.model.map_or(u64::MAX, |m| *frames.entry(m).or_insert_with(|| frame(draft.models.get(m))));
        let mut key = Vec::with_capacity(3 + 3 * (node.results.len() + node.operands.len()));
        key.extend([frame, node.weight.to_bits()]);
        key.push(node.seconds.to_bits());
        for value in node.results.iter().chain(&node.operands) {
            let Some(value) = value.map(|v| &graph.values[v]) else {
                key.push(u64::MAX);
                continue;
            };
            key.extend([value.ty.index(), value.propagated.index(), value.rematerializable as usize].map(|n| n as u64));
        }
        let fixed = node.fixed.iter().flat_map(|f| f.results.iter().chain(&f.operands));
        key.extend(fixed.map(|at| at.index() as u64));
        known.intern(key) as u32
    });
    keys.collect()
}

/// Hashes of all stretches of a list (M. O. Rabin and R. M. Karp, 1987).
struct Prefixes {
    hashes: Vec<u64>,
    powers: Vec<u64>,
}

const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x1234_5678_9abc_def1 % PRIME;

impl Prefixes {
    fn of(keys: &[u32]) -> Self {
        let (mut hashes, mut powers) = (vec![0], vec![1]);
        for (i, &key) in keys.iter().enumerate() {
            hashes.push((times(hashes[i], BASE) + u64::from(key) + 1) % PRIME);
            powers.push(times(powers[i], BASE));
        }
        Self { hashes, powers }
    }

    fn hash(&self, start: usize, length: usize) -> u64 {
        (self.hashes[start + length] + PRIME - times(self.hashes[start], self.powers[length])) % PRIME
    }

    /// Returns the number of equal ops from `a` and from the later `b` on.
    fn common(&self, a: usize, b: usize) -> usize {
        let (mut alike, mut too_many) = (0, self.hashes.len() - b);
        while alike + 1 < too_many {
            let next = alike.midpoint(too_many);
            match self.hash(a, next) == self.hash(b, next) {
                true => alike = next,
                false => too_many = next,
            }
        }
        alike
    }
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(keys: &[u32]) -> Vec<Repeat> {
        repeats(keys, &mut |_| true)
    }

    #[test]
    fn layers_are_found_with_their_period() {
        // A beginning, 5 layers of 10 ops that repeat a pair inside, and an end.
        let layer = [1, 2, 3, 4, 3, 4, 5, 6, 7, 8];
        let keys: Vec<u32> = [90, 91].into_iter().chain(layer.repeat(5)).chain([1, 2, 92]).collect();
        assert_eq!(all(&keys), [Repeat { start: 2, period: 10, times: 5 }]);
        assert_eq!(all(&keys)[0].first(25), 5);
        assert_eq!(all(&[1; 40]), [Repeat { start: 0, period: 1, times: 40 }]);
        assert_eq!(all(&(0..40).collect::<Vec<_>>()), []);
        assert_eq!(all(&[]), []);
    }

    #[test]
    fn what_may_not_be_joined_leaves_what_may() {
        // 3 layers of 4 groups that are equal, too: the groups may not be merged.
        let layer: Vec<u32> = (0..10).collect::<Vec<_>>().repeat(4).into_iter().chain([50, 51, 52]).collect();
        let mut candidates = Vec::new();
        let found = repeats(&layer.repeat(3), &mut |r| {
            candidates.push(r.period);
            r.period != 10
        });
        assert_eq!(found, [Repeat { start: 0, period: 43, times: 3 }]);
        let found = repeats(&layer, &mut |_| false);
        assert_eq!(found, []);
        assert!(candidates.len() < 4, "{candidates:?}");
    }
}
