//! Scatters that change each element update by update.

use std::ops::Range;

use dialect::scalar::ScalarOp;

use super::places::{Places, Start};
use crate::native::number::Number;

/// Calls `work` on parts of `out` that together are all of it, each with where it begins.
pub(super) fn parts<T: Send>(threads: usize, out: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    use rayon::prelude::*;
    let size = out.len().div_ceil(threads).max(1);
    if threads <= 1 {
        work(0, out);
    } else {
        out.par_chunks_mut(size).enumerate().for_each(|(i, part)| work(i * size, part));
    }
}

/// The elements that a run and a part have in common: where in the part, and where in the updates.
pub(super) fn common(part: &Range<usize>, input: usize, update: usize, len: usize) -> Option<(Range<usize>, usize)> {
    let (from, to) = (input.max(part.start), (input + len).min(part.end));
    (from < to).then(|| (from - part.start..to - part.start, update + (from - input)))
}

/// Calls `visit` for the runs of all windows. Where windows don't touch, the order in which rows of one window come
/// doesn't matter: rows at the same place in their windows come after each other if that is how memory has them.
fn runs(places: &Places, starts: &[Start], mut visit: impl FnMut(usize, usize, usize)) {
    let by_row = places.separate && places.row < 8 && places.rows.len() > 1;
    if by_row && starts.iter().all(|s| s.clipped.is_none()) {
        for &(input, update) in &places.rows {
            starts.iter().for_each(|s| visit(s.input + input, s.update + update, places.row));
        }
    } else {
        starts.iter().for_each(|s| places.runs(s, &mut visit));
    }
}

/// Replaces elements of `width` bytes.
pub(super) fn replace(places: &Places, starts: &[Start], updates: &[u8], out: &mut [u8], width: usize, threads: usize) {
    match width {
        1 => replace_all::<u8>(places, starts, updates, out, threads),
        2 => {
            replace_all(places, starts, bytemuck::cast_slice(updates), bytemuck::cast_slice_mut::<_, u16>(out), threads)
        }
        4 => {
            replace_all(places, starts, bytemuck::cast_slice(updates), bytemuck::cast_slice_mut::<_, u32>(out), threads)
        }
        8 => {
            replace_all(places, starts, bytemuck::cast_slice(updates), bytemuck::cast_slice_mut::<_, u64>(out), threads)
        }
        _ => replace_all(
            places,
            starts,
            bytemuck::cast_slice(updates),
            bytemuck::cast_slice_mut::<_, [u64; 2]>(out),
            threads,
        ),
    }
}

fn replace_all<T: Copy + Send + Sync>(places: &Places, starts: &[Start], updates: &[T], out: &mut [T], threads: usize) {
    parts(threads, out, |first, part| {
        let range = first..first + part.len();
        runs(places, starts, |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                let from = &updates[from..from + to.len()];
                match (&mut part[to], from) {
                    // Single elements are faster without a call that copies.
                    ([to], [from]) => *to = *from,
                    (to, from) => to.copy_from_slice(from),
                }
            }
        });
    });
}

/// Combines elements by an operation that [`has`](crate::native::number::has) the type.
pub(super) fn combine<T: Number>(
    places: &Places,
    starts: &[Start],
    updates: &[T],
    out: &mut [T],
    op: ScalarOp,
    threads: usize,
) {
    use ScalarOp::{Add, And, Max, Min, Mul, Or, Xor};
    // One copy of the loops for each operation, so that they vectorize.
    let part = |first: usize, part: &mut [T]| match op {
        Add => one(places, starts, updates, first, part, |a: T, b| a.combine(Add, b)),
        Mul => one(places, starts, updates, first, part, |a: T, b| a.combine(Mul, b)),
        Max => one(places, starts, updates, first, part, |a: T, b| a.combine(Max, b)),
        Min => one(places, starts, updates, first, part, |a: T, b| a.combine(Min, b)),
        And => one(places, starts, updates, first, part, |a: T, b| a.combine(And, b)),
        Or => one(places, starts, updates, first, part, |a: T, b| a.combine(Or, b)),
        _ => one(places, starts, updates, first, part, |a: T, b| a.combine(Xor, b)),
    };
    parts(threads, out, part);
}

fn one<T: Number>(
    places: &Places,
    starts: &[Start],
    updates: &[T],
    first: usize,
    part: &mut [T],
    combine: impl Fn(T, T) -> T,
) {
    let range = first..first + part.len();
    pulp::Arch::new().dispatch(|| {
        runs(places, starts, |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                let n = to.len();
                let (to, from) = (&mut part[to], &updates[from..from + n]);
                for i in 0..n {
                    to[i] = combine(to[i], from[i]);
                }
            }
        });
    });
}
