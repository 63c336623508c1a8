//! Packing one side of a product into panels: for each step of the sum, the elements of neighboring lanes.

#![allow(unsafe_code, reason = "tensors are read by address and stride")]

use std::ops::Range;

use super::micro::Number;
use super::product::{Guard, Place};

/// Lanes that are computed together.
pub(super) struct Panel {
    /// Where it begins in packed memory, in elements.
    pub first: usize,
    /// Elements for each step.
    pub width: usize,
    /// Vectors for each step; none for a panel of one lane that is no vector.
    pub vectors: usize,
    /// The lanes there are, at most `width`; zeros stand for the others.
    pub lanes: Vec<Place>,
}

impl Panel {
    /// Whether neighboring lanes are neighbors there.
    pub(super) fn is_dense(&self, of: impl Fn(&Place) -> isize) -> bool {
        self.lanes.windows(2).all(|pair| of(&pair[1]) == of(&pair[0]) + 1)
    }
}

/// A tensor that is packed.
pub(super) struct Source<'g, T> {
    /// The first element.
    pub from: *const T,
    /// The stride of the sum's last loop.
    pub stride: isize,
    /// The offset of a position.
    pub of: fn(&Place) -> isize,
    /// Its guarded dimensions.
    pub guards: &'g [Guard],
}

/// Writes the elements of `panel` for all steps: `taps` times `steps` of the sum's last loop.
///
/// # Safety
///
/// The tensor has all elements that positions reach, apart from padding; there is memory for the panel.
pub(super) unsafe fn pack<T: Number>(
    source: &Source<'_, T>,
    outer: &Place,
    taps: &[Place],
    steps: Range<usize>,
    panel: &Panel,
    to: *mut T,
) {
    let (of, width, lanes) = (source.of, panel.width, &panel.lanes[..]);
    let dense = panel.is_dense(of);
    let mut to = to;
    let mut inside = vec![true; lanes.len()];
    for tap in taps {
        let at = of(tap) + steps.start as isize * source.stride;
        let from = source.from.wrapping_offset(at);
        let mut all = true;
        if !source.guards.is_empty() {
            for (inside, lane) in inside.iter_mut().zip(lanes) {
                *inside =
                    source.guards.iter().enumerate().all(|(g, guard)| {
                        (0..guard.size).contains(&(guard.first + outer.at[g] + tap.at[g] + lane.at[g]))
                    });
                all &= *inside;
            }
        }
        let place = |lane: usize, step: usize| from.wrapping_offset(of(&lanes[lane]) + step as isize * source.stride);
        // SAFETY: the caller's promise: what is inside is there, and the panel has room for all steps.
        unsafe {
            if all && dense {
                for step in 0..steps.len() {
                    let (row, first) = (to.add(step * width), place(0, step));
                    if lanes.len() == 16 {
                        // The size of a common vector, known to the compiler.
                        row.cast::<[T; 16]>().write(first.cast::<[T; 16]>().read_unaligned());
                    } else {
                        std::ptr::copy_nonoverlapping(first, row, lanes.len());
                    }
                }
            } else {
                // Some steps of all lanes at a time, so that what is read along either direction is still in the cache.
                for some in (0..steps.len()).step_by(16) {
                    let end = (some + 16).min(steps.len());
                    for lane in 0..lanes.len() {
                        for step in some..end {
                            let value = if inside[lane] { *place(lane, step) } else { T::default() };
                            *to.add(step * width + lane) = value;
                        }
                    }
                }
            }
            for step in 0..steps.len() {
                for lane in lanes.len()..width {
                    *to.add(step * width + lane) = T::default();
                }
            }
            to = to.add(steps.len() * width);
        }
    }
}
