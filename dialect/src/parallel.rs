//! Independent work on all cores, on threads whose stacks are deep enough for deeply nested programs.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::interrupt;

/// The bytes of stack that are enough for every program within the limits of the language.
pub const STACK_BYTES: usize = 256 << 20;

/// Returns `work(0)` to `work(count - 1)`, in this order, computed on all cores, or only on this thread if no other can
/// be started. A panic of one of them is propagated.
pub fn on_all_cores<T: Send + Sync>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let some = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < count) {
            let _ = results[i].set(work(i));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(count);
    let flag = interrupt::flag();
    thread::scope(|scope| {
        let helper = |_| {
            let (flag, some) = (flag.clone(), &some);
            let work = move || interrupt::with(flag, some);
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).ok()
        };
        let helpers: Vec<_> = (1..cores).filter_map(helper).collect();
        some();
        for helper in helpers {
            // An interruption ends this thread, too, and a panic keeps its message.
            helper.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    // Every item was taken by some thread, and all threads have ended.
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}
