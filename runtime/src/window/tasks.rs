//! Tasks on several threads.

use rayon::prelude::*;

use crate::subnormals::Mode;

/// Runs tasks `0..n`, on several threads if `threads` is larger than 1. All threads treat subnormal floats as the
/// calling thread does.
pub(super) fn each(threads: usize, n: usize, task: impl Fn(usize) + Sync) {
    if threads <= 1 || n <= 1 {
        return (0..n).for_each(task);
    }
    let subnormals = Mode::current();
    (0..n).into_par_iter().for_each(|i| {
        let _mode = Mode::set(subnormals);
        task(i);
    });
}

/// A pointer that tasks share.
pub(super) struct Shared<T>(*mut T);

#[allow(unsafe_code, reason = "tasks write different parts, or only read")]
// SAFETY: sending the pointer is safe by itself. Tasks dereference it in `unsafe` code, and write different parts.
unsafe impl<T: Send> Send for Shared<T> {}

#[allow(unsafe_code, reason = "tasks write different parts, or only read")]
// SAFETY: sharing only lets other threads copy the pointer.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    pub(super) fn get(&self) -> *mut T {
        self.0
    }
}
