//! Scatters that change each element update by update.

use std::ops::Range;

use dialect::scalar::ScalarOp;

use super::places::{Block, Places};
use crate::kernels::native::number::Number;
use crate::kernels::native::{View, prefetch};

/// The prefetch distance, in single elements.
const AHEAD: usize = 16;

/// Calls `work` on parts of `out` that together cover it, each with its first position.
pub(super) fn parts<T: Send>(threads: usize, out: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    use rayon::prelude::*;
    let size = out.len().div_ceil(threads).max(1);
    if threads <= 1 {
        work(0, out);
    } else {
        out.par_chunks_mut(size).enumerate().for_each(|(i, part)| work(i * size, part));
    }
}

/// Returns the elements that a run and a part have in common: their range in the part, and their first position in the
/// updates.
pub(super) fn common(part: &Range<usize>, input: usize, update: usize, len: usize) -> Option<(Range<usize>, usize)> {
    let (from, to) = (input.max(part.start), (input + len).min(part.end));
    (from < to).then(|| (from - part.start..to - part.start, update + (from - input)))
}

/// Changes elements of `part`, which begins at position `first`, by updates of [one element](Places::are_single) each.
/// Returns whether any of these updates is inside the input.
pub(super) fn singles<T, U: Copy>(
    places: &Places,
    indices: View<'_>,
    updates: &[U],
    first: usize,
    part: &mut [T],
    change: impl Fn(&mut T, U),
) -> bool {
    let mut any = false;
    places.blocks(indices, &mut |block| {
        let Block::Inside(windows) = block else { return };
        any |= !windows.is_empty();
        for (i, &(input, update)) in windows.iter().enumerate() {
            // The elements may be anywhere in memory.
            if let Some(next) = windows.get(i + AHEAD) {
                prefetch(part.get(next.0.wrapping_sub(first)..).unwrap_or_default(), size_of::<T>());
            }
            if let Some(to) = part.get_mut(input.wrapping_sub(first)) {
                change(to, updates[update]);
            }
        }
    });
    any
}

/// Replaces elements of `width` bytes.
pub(super) fn replace(
    places: &Places,
    indices: View<'_>,
    updates: &[u8],
    out: &mut [u8],
    width: usize,
    threads: usize,
) {
    match width {
        1 => replace_all::<u8>(places, indices, updates, out, threads),
        2 => replace_all(
            places,
            indices,
            bytemuck::cast_slice(updates),
            bytemuck::cast_slice_mut::<_, u16>(out),
            threads,
        ),
        4 => replace_all(
            places,
            indices,
            bytemuck::cast_slice(updates),
            bytemuck::cast_slice_mut::<_, u32>(out),
            threads,
        ),
        8 => replace_all(
            places,
            indices,
            bytemuck::cast_slice(updates),
            bytemuck::cast_slice_mut::<_, u64>(out),
            threads,
        ),
        _ => replace_all(
            places,
            indices,
            bytemuck::cast_slice(updates),
            bytemuck::cast_slice_mut::<_, [u64; 2]>(out),
            threads,
        ),
    }
}

fn replace_all<T: Copy + Send + Sync>(
    places: &Places,
    indices: View<'_>,
    updates: &[T],
    out: &mut [T],
    threads: usize,
) {
    parts(places.threads(threads), out, |first, part| {
        if places.are_single() {
            singles(places, indices, updates, first, part, |to, update| *to = update);
            return;
        }
        let range = first..first + part.len();
        places.runs(indices, |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                let from = &updates[from..from + to.len()];
                part[to].copy_from_slice(from);
            }
        });
    });
}

/// Combines elements by an operation that [`has`](crate::kernels::native::number::has) allows for the type.
pub(super) fn combine<T: Number>(
    places: &Places,
    indices: View<'_>,
    updates: &[T],
    out: &mut [T],
    op: ScalarOp,
    threads: usize,
) {
    use ScalarOp::{Add, And, Max, Min, Mul, Or, Xor};
    // Each operation has its own copy of the loops, so that they vectorize.
    let part = |first: usize, part: &mut [T]| match op {
        Add => one(places, indices, updates, first, part, |a: T, b| a.combine(Add, b)),
        Mul => one(places, indices, updates, first, part, |a: T, b| a.combine(Mul, b)),
        Max => one(places, indices, updates, first, part, |a: T, b| a.combine(Max, b)),
        Min => one(places, indices, updates, first, part, |a: T, b| a.combine(Min, b)),
        And => one(places, indices, updates, first, part, |a: T, b| a.combine(And, b)),
        Or => one(places, indices, updates, first, part, |a: T, b| a.combine(Or, b)),
        _ => one(places, indices, updates, first, part, |a: T, b| a.combine(Xor, b)),
    };
    parts(places.threads(threads), out, part);
}

fn one<T: Number>(
    places: &Places,
    indices: View<'_>,
    updates: &[T],
    first: usize,
    part: &mut [T],
    combine: impl Fn(T, T) -> T,
) {
    if places.are_single() {
        singles(places, indices, updates, first, part, |to, update| *to = combine(*to, update));
        return;
    }
    let range = first..first + part.len();
    let arch = pulp::Arch::new();
    places.runs(indices, |input, update, len| {
        if let Some((to, from)) = common(&range, input, update, len) {
            let from = &updates[from..from + to.len()];
            arch.dispatch(Each { to: &mut part[to], from, combine: &combine });
        }
    });
}

/// Combines neighboring elements.
struct Each<'a, T, F> {
    to: &'a mut [T],
    from: &'a [T],
    combine: &'a F,
}

impl<T: Number, F: Fn(T, T) -> T> pulp::WithSimd for Each<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.to.iter_mut().zip(self.from).for_each(|(to, &from)| *to = (self.combine)(*to, from));
    }
}
