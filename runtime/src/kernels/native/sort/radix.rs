//! Stable sorts of words, alone or with the number of their element.

/// An item that is sorted by a word.
pub(super) trait Item: Copy + Default + Send + Sync {
    /// Returns 8 bits of the word, from bit `shift` on.
    fn digit(&self, shift: u32) -> usize;
    /// Compares the words, and then the numbers if there are any.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering;
}

const DIGIT: usize = 256;

impl Item for u32 {
    #[inline(always)]
    fn digit(&self, shift: u32) -> usize {
        (self >> shift) as usize % DIGIT
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        Ord::cmp(self, other)
    }
}

/// Either the upper half is the word and the lower half the number, or all of it is the word.
impl Item for u64 {
    #[inline(always)]
    fn digit(&self, shift: u32) -> usize {
        (self >> shift) as usize % DIGIT
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        Ord::cmp(self, other)
    }
}

/// A word and a number.
impl Item for (u64, u32) {
    #[inline(always)]
    fn digit(&self, shift: u32) -> usize {
        (self.0 >> shift) as usize % DIGIT
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        Ord::cmp(&self.0, &other.0)
    }
}

/// The number of items below which they are sorted by comparing.
const FEW: usize = 400;

/// The number of items below which a part isn't worth a thread.
const SHARE: usize = 1 << 15;

/// Sorts by the bits `bits` of the items, equal ones in order. `memory` is scratch memory, with arbitrary contents
/// afterwards.
pub(super) fn sort<T: Item>(items: &mut Vec<T>, memory: &mut Vec<T>, bits: std::ops::Range<u32>, threads: usize) {
    memory.clear();
    memory.resize(items.len(), T::default());
    let threads = threads.min(items.len() / SHARE);
    if threads <= 1 {
        return one(items, memory, bits);
    }
    use rayon::prelude::*;
    let size = items.len().div_ceil(threads.next_power_of_two());
    let parts = items.par_chunks_mut(size).zip(memory.par_chunks_mut(size));
    parts.for_each(|(items, memory)| one(items, memory, bits.clone()));
    let mut size = size;
    while size < items.len() {
        memory.par_chunks_mut(2 * size).zip(items.par_chunks(2 * size)).for_each(|(to, from)| {
            let (left, right) = from.split_at(size.min(from.len()));
            merge(left, right, to, threads);
        });
        std::mem::swap(items, memory);
        size *= 2;
    }
}

fn one<T: Item>(items: &mut [T], memory: &mut [T], bits: std::ops::Range<u32>) {
    if items.len() < FEW {
        return items.sort_by(Item::cmp);
    }
    let shifts: Vec<u32> = bits.step_by(8).collect();
    let mut counts = vec![[0u32; DIGIT]; shifts.len()];
    for item in items.iter() {
        for (counts, &shift) in counts.iter_mut().zip(&shifts) {
            counts[item.digit(shift)] += 1;
        }
    }
    let (mut from, mut to) = (items, memory);
    let mut swapped = false;
    for (counts, &shift) in counts.iter_mut().zip(&shifts) {
        if counts.iter().any(|&n| n as usize == from.len()) {
            continue;
        }
        let mut before = 0;
        for n in counts.iter_mut() {
            (before, *n) = (before + *n, before);
        }
        for item in from.iter() {
            let at = &mut counts[item.digit(shift)];
            to[*at as usize] = *item;
            *at += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// Merges two sorted lists. Among equal items, those of `left` come first.
fn merge<T: Item>(left: &[T], right: &[T], to: &mut [T], threads: usize) {
    if threads > 1 && to.len() > SHARE {
        // Finds how many items of `left` belong to the first half of all.
        let half = to.len() / 2;
        let (mut low, mut high) = (half.saturating_sub(right.len()), half.min(left.len()));
        while low < high {
            let middle = low.midpoint(high);
            let other = half - middle - 1;
            // Tests whether the item of `left` at `middle` is in the first half.
            if right.get(other).is_none_or(|r| left[middle].cmp(r).is_le()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let ((a, b), (c, d)) = (left.split_at(low), right.split_at(half - low));
        let (first, second) = to.split_at_mut(half);
        rayon::join(|| merge(a, c, first, threads / 2), || merge(b, d, second, threads - threads / 2));
        return;
    }
    let (mut l, mut r) = (0, 0);
    for slot in to {
        let from_left = match (left.get(l), right.get(r)) {
            (Some(a), Some(b)) => a.cmp(b).is_le(),
            (a, _) => a.is_some(),
        };
        *slot = if from_left { left[l] } else { right[r] };
        l += usize::from(from_left);
        r += usize::from(!from_left);
    }
}
