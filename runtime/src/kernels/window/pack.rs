//! Packs one side of a product into panels: for each step of the sum, the elements of neighboring lanes.

#![allow(unsafe_code, reason = "tensors are read by address and stride")]

use std::ops::Range;

use super::loops::{GUARDS, Guard, Place};
use crate::kernels::micro::Number;

/// Lanes that are computed together.
pub(super) struct Panel {
    /// The panel's first element in packed memory.
    pub first: usize,
    /// Number of elements for each step.
    pub width: usize,
    /// Number of vectors for each step; 0 for a panel of one lane that isn't a vector.
    pub vectors: usize,
    /// The existing lanes, at most `width`. Missing lanes are zeros.
    pub lanes: Vec<Place>,
}

impl Panel {
    /// Returns whether neighboring lanes have neighboring elements, by the offset `of`.
    pub(super) fn is_dense(&self, of: impl Fn(&Place) -> isize) -> bool {
        self.lanes.windows(2).all(|pair| of(&pair[1]) == of(&pair[0]) + 1)
    }
}

/// A tensor to pack.
pub(super) struct Source<'g, T> {
    /// The first element.
    pub from: *const T,
    /// The stride of the sum's last loop.
    pub stride: isize,
    /// Returns the offset of a position.
    pub of: fn(&Place) -> isize,
    /// The tensor's guarded dimensions.
    pub guards: &'g [Guard],
}

/// Writes the elements of `panel` for all steps: `taps` times `steps` of the sum's last loop.
///
/// # Safety
///
/// The tensor must have all elements of the positions, apart from padding, and `to` must be valid for all elements of
/// the panel.
pub(super) unsafe fn pack<T: Number>(
    source: &Source<'_, T>,
    outer: &Place,
    taps: &[Place],
    steps: Range<usize>,
    panel: &Panel,
    to: *mut T,
) {
    let (of, width, lanes) = (source.of, panel.width, &panel.lanes[..]);
    let mut to = to;
    let mut inside = vec![true; lanes.len()];
    // The lanes that are read together: the first lane and the number of lanes.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    dense_runs(lanes, of, &inside, &mut runs);
    // The smallest and largest positions of the lanes in guarded dimensions.
    let mut bounds = [(i64::MAX, i64::MIN); GUARDS];
    for lane in lanes {
        for (bounds, &at) in bounds.iter_mut().zip(&lane.at) {
            *bounds = (bounds.0.min(at), bounds.1.max(at));
        }
    }
    let mut whole = true;
    for tap in taps {
        let at = of(tap) + steps.start as isize * source.stride;
        let from = source.from.wrapping_offset(at);
        let begin = |g: usize| source.guards[g].first + outer.at[g] + tap.at[g];
        let all = (0..source.guards.len())
            .all(|g| begin(g) + bounds[g].0 >= 0 && begin(g) + bounds[g].1 < source.guards[g].size);
        if !(all && whole) {
            for (inside, lane) in inside.iter_mut().zip(lanes) {
                let is_inside = |g: usize| (0..source.guards[g].size).contains(&(begin(g) + lane.at[g]));
                *inside = all || (0..source.guards.len()).all(is_inside);
            }
            dense_runs(lanes, of, &inside, &mut runs);
            whole = all;
        }
        let place = |lane: usize, step: usize| from.wrapping_offset(of(&lanes[lane]) + step as isize * source.stride);
        // SAFETY: `runs` and `inside` have only lanes whose elements are inside of the tensor, and the panel has room
        // for all steps by this function's contract.
        unsafe {
            if runs[..] == [(0, width)] && width == 32 {
                // These are the sizes of common vectors; the compiler generates better code for constant sizes.
                for step in 0..steps.len() {
                    to.add(step * width).cast::<[T; 32]>().write(place(0, step).cast::<[T; 32]>().read_unaligned());
                }
            } else if runs[..] == [(0, width)] && width == 16 {
                for step in 0..steps.len() {
                    to.add(step * width).cast::<[T; 16]>().write(place(0, step).cast::<[T; 16]>().read_unaligned());
                }
            } else if 4 * runs.len() <= lanes.len().max(4) {
                for step in 0..steps.len() {
                    let row = to.add(step * width);
                    (0..width).for_each(|lane| row.add(lane).write(T::default()));
                    for &(first, n) in &runs {
                        let from = place(first, step);
                        (0..n).for_each(|lane| *row.add(first + lane) = *from.add(lane));
                    }
                }
            } else {
                // Copies some steps of all lanes at a time, so that elements read along either direction are still in
                // the cache.
                for some in (0..steps.len()).step_by(16) {
                    let end = (some + 16).min(steps.len());
                    for lane in 0..lanes.len() {
                        for step in some..end {
                            let value = if inside[lane] { *place(lane, step) } else { T::default() };
                            *to.add(step * width + lane) = value;
                        }
                    }
                    for lane in lanes.len()..width {
                        (some..end).for_each(|step| *to.add(step * width + lane) = T::default());
                    }
                }
            }
            to = to.add(steps.len() * width);
        }
    }
}

/// Divides the lanes inside into runs of lanes with neighboring elements.
fn dense_runs(lanes: &[Place], of: impl Fn(&Place) -> isize, inside: &[bool], runs: &mut Vec<(usize, usize)>) {
    runs.clear();
    for lane in (0..lanes.len()).filter(|&lane| inside[lane]) {
        match runs.last_mut() {
            Some((first, n)) if *first + *n == lane && of(&lanes[lane]) == of(&lanes[lane - 1]) + 1 => *n += 1,
            _ => runs.push((lane, 1)),
        }
    }
}
