//! Stable radix sorts, divided among threads.

use radsort::Key;
use rayon::prelude::*;

/// The number of items below which they are sorted by comparing.
const FEW: usize = 400;

/// The number of items below which a part isn't worth a thread.
const SHARE: usize = 1 << 15;

/// Sorts by a key of the items, those with equal keys in order.
pub(super) fn sort<T: Copy + Default + Send + Sync, K: Key + Ord>(
    items: &mut Vec<T>,
    key: impl Fn(&T) -> K + Copy + Send + Sync,
    threads: usize,
) {
    let threads = threads.min(items.len() / SHARE);
    if threads <= 1 {
        return one(items, key);
    }
    let mut size = items.len().div_ceil(threads.next_power_of_two());
    items.par_chunks_mut(size).for_each(|items| one(items, key));
    let mut memory = vec![T::default(); items.len()];
    while size < items.len() {
        memory.par_chunks_mut(2 * size).zip(items.par_chunks(2 * size)).for_each(|(to, from)| {
            let (left, right) = from.split_at(size.min(from.len()));
            merge(left, right, to, key, threads);
        });
        std::mem::swap(items, &mut memory);
        size *= 2;
    }
}

fn one<T, K: Key + Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    if items.len() < FEW { items.sort_by_key(key) } else { radsort::sort_by_key(items, key) }
}

/// Merges two sorted lists. Among equal items, those of `left` come first.
fn merge<T: Copy + Send + Sync, K: Ord>(
    left: &[T],
    right: &[T],
    to: &mut [T],
    key: impl Fn(&T) -> K + Copy + Send + Sync,
    threads: usize,
) {
    if threads > 1 && to.len() > SHARE {
        // Finds how many items of `left` belong to the first half of all.
        let half = to.len() / 2;
        let (mut low, mut high) = (half.saturating_sub(right.len()), half.min(left.len()));
        while low < high {
            let middle = low.midpoint(high);
            let other = half - middle - 1;
            // Tests whether the item of `left` at `middle` is in the first half.
            if right.get(other).is_none_or(|r| key(&left[middle]) <= key(r)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let ((a, b), (c, d)) = (left.split_at(low), right.split_at(half - low));
        let (first, second) = to.split_at_mut(half);
        rayon::join(|| merge(a, c, first, key, threads / 2), || merge(b, d, second, key, threads - threads / 2));
        return;
    }
    let (mut l, mut r) = (0, 0);
    for slot in to {
        let from_left = match (left.get(l), right.get(r)) {
            (Some(a), Some(b)) => key(a) <= key(b),
            (a, _) => a.is_some(),
        };
        *slot = if from_left { left[l] } else { right[r] };
        l += usize::from(from_left);
        r += usize::from(!from_left);
    }
}
