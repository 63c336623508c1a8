//! A slice that several threads change.

#![allow(unsafe_code, reason = "threads change different parts of one slice")]

use std::marker::PhantomData;
use std::ops::Range;

/// A slice, different parts of which several threads change.
pub(crate) struct DisjointSlice<'a, T> {
    start: *mut T,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: sharing lets threads call only `part`, which gives an element to one thread at a time. So elements only move
// between threads, which `T: Send` allows.
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}

impl<'a, T> DisjointSlice<'a, T> {
    /// Lets threads change parts of a slice.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), of: PhantomData }
    }

    /// Returns the elements of a range, which must be in bounds.
    ///
    /// # Safety
    ///
    /// While they are in use, no other part with one of these elements may be.
    #[expect(clippy::mut_from_ref, reason = "parts are disjoint")]
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "a part outside of the slice");
        // SAFETY: the assertion shows that the range is in bounds of the slice, which `of` borrows exclusively. This
        // function's contract makes the part exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
