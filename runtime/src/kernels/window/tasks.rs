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
