//! Scatters that sum floats in f64 and round each sum once.

use std::ops::Range;

use super::apply::{common, parts, singles};
use super::places::{Block, Places};
use crate::kernels::native::number::Float;
use crate::kernels::native::{View, Zeros, prefetch};

/// The maximum number of elements whose sums in f64 fit into a cache.
const SMALL: usize = 1 << 17;

/// The maximum number of elements of a row that are summed at a time.
const BLOCK: usize = 1024;

/// Adds all updates.
pub(super) fn sum<T: Float>(places: &Places, indices: View<'_>, updates: &[T], out: &mut [T], threads: usize) {
    let few = out.len() <= SMALL || !places.separate;
    if !few && by_place(places, indices, updates, out, threads) {
        return;
    }
    parts(places.threads(threads), out, |first, part| {
        for (i, part) in part.chunks_mut(4 * SMALL).enumerate() {
            dense(places, indices, updates, first + i * 4 * SMALL, part);
        }
    });
}

/// Adds updates to sums of all elements of a part of the input, which begins at `first`.
fn dense<T: Float>(places: &Places, indices: View<'_>, updates: &[T], first: usize, part: &mut [T]) {
    let range = first..first + part.len();
    let mut memory = Zeros::<f64>::new(part.len());
    let sums = memory.elements();
    sums.iter_mut().zip(part.iter()).for_each(|(sum, v)| *sum = v.wide());
    let arch = pulp::Arch::new();
    let mut any = false;
    if places.are_single() {
        any = singles(places, indices, updates, first, sums, |sum, update: T| *sum += update.wide());
    } else if places.rows.len() == 1 && places.separate {
        places.blocks(indices, &mut |block| {
            let Block::Inside(windows) = block else { return };
            any |= !windows.is_empty();
            arch.dispatch(Windows { windows, first, row: places.row, sums: &mut *sums, updates });
        });
    } else {
        places.runs(indices, |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                let from = &updates[from..from + to.len()];
                arch.dispatch(Add { sums: &mut sums[to], updates: from });
                any = true;
            }
        });
    }
    if any {
        part.iter_mut().zip(&*sums).for_each(|(to, &sum)| *to = T::narrow(sum));
    }
}

/// Adds neighboring elements.
struct Add<'a, T> {
    sums: &'a mut [f64],
    updates: &'a [T],
}

impl<T: Float> pulp::WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (sum, update) in self.sums.iter_mut().zip(self.updates) {
            *sum += update.wide();
        }
    }
}

/// Adds windows of one row each to sums that begin at position `first`. Windows at other positions are skipped.
struct Windows<'a, T> {
    windows: &'a [(usize, usize)],
    first: usize,
    row: usize,
    sums: &'a mut [f64],
    updates: &'a [T],
}

impl<T: Float> pulp::WithSimd for Windows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { windows, first, row, sums, updates } = self;
        let range = first..first + sums.len();
        for (i, &(input, update)) in windows.iter().enumerate() {
            // The sums may be anywhere in memory.
            if let Some(next) = windows.get(i + AHEAD) {
                let next = next.0.wrapping_sub(first);
                prefetch(sums.get(next..).unwrap_or_default(), (row * size_of::<f64>()).min(2 * BYTES));
            }
            if let Some((to, from)) = common(&range, input, update, row) {
                let from = &updates[from..from + to.len()];
                Add { sums: &mut sums[to], updates: from }.with_simd(simd);
            }
        }
    }
}

/// The prefetch distance in rows, and the maximum number of prefetched bytes of each row.
const AHEAD: usize = 16;
const BYTES: usize = 512;

/// A position of the input, and the position of an update for it.
type Pair = (u32, u32);

/// Adds the updates of one position after the other, so that every element of the input is read and written at most
/// once. Returns false if it can't: there are too many elements, or a window is partly outside.
fn by_place<T: Float>(places: &Places, indices: View<'_>, updates: &[T], out: &mut [T], threads: usize) -> bool {
    if out.len().max(updates.len()) > u32::MAX as usize {
        return false;
    }
    let Some(pairs) = counted(places, indices, out.len(), threads).or_else(|| sorted(places, indices)) else {
        return false;
    };
    let arch = pulp::Arch::new();
    let row = |out: &mut [T], base: usize, pairs: &[Pair]| arch.dispatch(Rows { places, updates, out, base, pairs });
    // Windows of one row are disjoint in the order of their positions, so threads can share them.
    if threads > 1 && places.rows.len() == 1 && pairs.len() > threads {
        let mut rest = out;
        let mut base = 0;
        let mut shares = Vec::new();
        let mut pairs = &pairs[..];
        for thread in (1..=threads).rev() {
            let mut count = pairs.len().div_ceil(thread);
            while count < pairs.len() && count > 0 && pairs[count].0 == pairs[count - 1].0 {
                count += 1;
            }
            let (mine, others) = pairs.split_at(count);
            let end = others.first().map_or(base + rest.len(), |p| p.0 as usize);
            let (part, after) = rest.split_at_mut(end - base);
            shares.push((part, base, mine));
            (rest, base, pairs) = (after, end, others);
        }
        use rayon::prelude::*;
        shares.into_par_iter().for_each(|(part, base, pairs)| row(part, base, pairs));
    } else {
        row(out, 0, &pairs);
    }
    true
}

/// The sums of one position after the other. `out` begins at position `base`, and pairs are sorted.
struct Rows<'a, T> {
    places: &'a Places,
    updates: &'a [T],
    out: &'a mut [T],
    base: usize,
    pairs: &'a [Pair],
}

impl<T: Float> pulp::WithSimd for Rows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { places, updates, out, base, pairs } = self;
        let row = places.row;
        // The updates of one position may be anywhere in memory.
        let near = (row * size_of::<T>()).min(BYTES);
        let mut sums = [0f64; BLOCK];
        let mut done = 0;
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let input = group[0].0 as usize - base;
            for &(to, from) in &places.rows {
                for begin in (0..row).step_by(BLOCK) {
                    let n = BLOCK.min(row - begin);
                    let to = &mut out[input + to + begin..][..n];
                    let sums = &mut sums[..n];
                    sums.iter_mut().zip(to.iter()).for_each(|(sum, v)| *sum = v.wide());
                    for (i, &(_, update)) in group.iter().enumerate() {
                        if begin == 0
                            && let Some(next) = pairs.get(done + i + AHEAD)
                        {
                            prefetch(&updates[next.1 as usize + from..], near);
                        }
                        let updates = &updates[update as usize + from + begin..][..n];
                        Add { sums: &mut *sums, updates }.with_simd(simd);
                    }
                    to.iter_mut().zip(sums.iter()).for_each(|(v, &sum)| *v = T::narrow(sum));
                }
            }
            done += group.len();
        }
    }
}

/// Returns the windows sorted by position, equal ones in order; `None` if a window is partly outside.
fn sorted(places: &Places, indices: View<'_>) -> Option<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::with_capacity(places.windows());
    let mut clipped = false;
    places.blocks(indices, &mut |block| match block {
        Block::Inside(windows) => pairs.extend(windows.iter().map(|&(input, update)| (input as u32, update as u32))),
        Block::Clipped(..) => clipped = true,
    });
    sort(&mut pairs);
    (!clipped).then_some(pairs)
}

/// Does the same as [`sorted`] by counting the windows of each position. Returns `None` also if there are more than
/// four times as many positions as windows.
fn counted(places: &Places, indices: View<'_>, elements: usize, threads: usize) -> Option<Vec<Pair>> {
    // Windows are disjoint, and so are their first rows.
    let row = places.row.max(1);
    let (keys, row) = (elements.div_ceil(row), row as u32);
    if keys > 4 * places.windows() {
        return None;
    }
    let mut starts = vec![0u32; keys + 1];
    let mut clipped = false;
    places.blocks(indices, &mut |block| match block {
        Block::Inside(windows) => windows.iter().for_each(|&(input, _)| starts[(input as u32 / row) as usize + 1] += 1),
        Block::Clipped(..) => clipped = true,
    });
    if clipped {
        return None;
    }
    for i in 0..keys {
        starts[i + 1] += starts[i];
    }
    let mut pairs: Vec<Pair> = vec![(0, 0); starts[keys] as usize];
    // Each thread sorts the windows of some neighboring positions.
    let mut shares = Vec::new();
    let (mut rest, mut first) = (&mut pairs[..], 0);
    for thread in (1..=threads).rev() {
        let base = starts[first];
        let end = base as usize + rest.len().div_ceil(thread);
        let last = starts.partition_point(|&start| (start as usize) < end).clamp(first, keys);
        let (mine, others) = rest.split_at_mut((starts[last] - base) as usize);
        shares.push((mine, first..last));
        (rest, first) = (others, last);
    }
    let put = |(pairs, keys): (&mut [Pair], Range<usize>)| {
        let base = starts[keys.start];
        let mut next: Vec<u32> = starts[keys.clone()].iter().map(|start| start - base).collect();
        places.blocks(indices, &mut |block| {
            let Block::Inside(windows) = block else { return };
            for &(input, update) in windows {
                if let Some(at) = next.get_mut(((input as u32 / row) as usize).wrapping_sub(keys.start)) {
                    pairs[*at as usize] = (input as u32, update as u32);
                    *at += 1;
                }
            }
        });
    };
    match threads {
        1 => shares.into_iter().for_each(put),
        _ => {
            use rayon::prelude::*;
            shares.into_par_iter().for_each(put);
        }
    }
    Some(pairs)
}

/// Sorts by position, equal ones in order: by digits, from the lowest.
fn sort(pairs: &mut Vec<Pair>) {
    const BITS: u32 = 11;
    if pairs.is_sorted_by_key(|p| p.0) {
        return;
    }
    let largest = pairs.iter().map(|p| p.0).max().unwrap_or(0);
    let mut other = vec![(0, 0); pairs.len()];
    let mut shift = 0;
    while shift < 32 && largest >> shift != 0 {
        let digit = |p: &Pair| (p.0 >> shift) as usize & ((1 << BITS) - 1);
        let mut next = [0u32; 1 << BITS];
        pairs.iter().for_each(|p| next[digit(p)] += 1);
        let mut before = 0;
        for n in &mut next {
            (before, *n) = (before + *n, before);
        }
        for p in pairs.iter() {
            let to = &mut next[digit(p)];
            other[*to as usize] = *p;
            *to += 1;
        }
        std::mem::swap(pairs, &mut other);
        shift += BITS;
    }
}
