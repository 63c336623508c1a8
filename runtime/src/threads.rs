//! The threads of the process. Devices run on threads that are kept from one run to the next, so that starting a run
//! takes microseconds. The parallel work inside one op runs in a pool with one thread for each core.
//!
//! A device blocks while it waits for others, so it needs a separate thread. In a pool, a device's thread that waits
//! for its part of an op might start another device, which waits for the first. Only work that waits for nothing may
//! run in the pool.

#![allow(unsafe_code, reason = "kept threads run closures that borrow from the caller, who waits for them")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use crate::subnormals::{Mode, Subnormals};

/// The stack size of a device's thread in bytes.
const STACK: usize = 1 << 20;

/// The part of a run that one thread does.
struct Job {
    work: Work,
    index: usize,
    latch: Arc<Latch>,
}

/// The work of all threads of a run, which is called with a number for each thread.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure is `Sync`, so any thread may call it. It is alive until the latch of its run opens, because
// `all_at_once` waits for that.
unsafe impl Send for Work {}

/// A latch that opens after a number of `count_down` calls.
pub(crate) struct Latch {
    left: Mutex<usize>,
    open: Condvar,
}

impl Latch {
    pub(crate) fn new(left: usize) -> Self {
        Self { left: Mutex::new(left), open: Condvar::new() }
    }

    /// Counts one unit of work as done.
    pub(crate) fn count_down(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            self.open.notify_all();
        }
    }

    /// Waits until all work is done.
    pub(crate) fn wait(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            left = self.open.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Threads that wait for work.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

/// Calls `work` with each number below `count`, all at once, each on a separate thread. Calls `missing` with a number
/// and an error if no thread can be started for it.
pub(crate) fn all_at_once(count: usize, work: &(dyn Fn(usize) + Sync), missing: &dyn Fn(usize, std::io::Error)) {
    if count == 1 {
        // A single call runs on this thread, because no other thread waits for it.
        let _ = catch_unwind(AssertUnwindSafe(|| work(0)));
        return;
    }
    let latch = Arc::new(Latch::new(count));
    // SAFETY: only the lifetime changes. Threads use the closure only before they count down the latch, and this
    // function returns after all have.
    let erased = Work(unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) });
    let mut idle = {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let from = idle.len().saturating_sub(count);
        idle.split_off(from)
    };
    for index in 0..count {
        let job = Job { work: erased, index, latch: Arc::clone(&latch) };
        let sent = match idle.pop() {
            Some(thread) => thread.send(job).map_err(|_| std::io::Error::other("a thread has ended")),
            None => start(job),
        };
        if let Err(error) = sent {
            missing(index, error);
            latch.count_down();
        }
    }
    latch.wait();
}

/// Starts a thread with its first job.
fn start(first: Job) -> std::io::Result<()> {
    let (sender, jobs) = channel::<Job>();
    let work = move || {
        let mut next = Some(first);
        while let Some(job) = next {
            // SAFETY: `all_at_once` keeps the closure alive until this thread has counted down the latch, which is
            // below.
            let work = unsafe { &*job.work.0 };
            let _ = catch_unwind(AssertUnwindSafe(|| work(job.index)));
            // Pushed before the latch opens, so that the next run, which may begin then, finds this thread.
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(sender.clone());
            job.latch.count_down();
            next = jobs.recv().ok();
        }
    };
    std::thread::Builder::new().name("device".to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// Runs `work`, which may divide itself among the threads of a pool, and must not wait for other devices. All threads
/// treat subnormal floats in the same way.
pub(crate) fn inside<R: Send>(subnormals: Subnormals, work: impl FnOnce() -> R + Send) -> R {
    match pool(subnormals) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Calls `part` with each number below `parts`, on this thread, which begins at once, and on the pool's threads, on at
/// most `threads` together. Each thread takes the next part when it is done, so that a thread that comes late leaves
/// its share to the others.
pub(crate) fn in_parts(subnormals: Subnormals, threads: usize, parts: i64, part: impl Fn(i64) + Sync) {
    let next = AtomicI64::new(0);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= parts {
                break;
            }
            part(i);
        }
    };
    let helpers = threads.min(usize::try_from(parts).unwrap_or(0)).saturating_sub(1);
    match pool(subnormals).filter(|_| helpers > 0) {
        Some(pool) => pool.in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| work()));
            work();
        }),
        None => work(),
    }
}

/// Returns the pool whose threads treat subnormal floats in this way; `None` if its threads can't be started.
fn pool(subnormals: Subnormals) -> Option<&'static rayon::ThreadPool> {
    static POOLS: [OnceLock<Option<rayon::ThreadPool>>; 2] = [const { OnceLock::new() }; 2];
    let pool = POOLS[usize::from(subnormals == Subnormals::Keep)].get_or_init(|| {
        let enter = move |_| std::mem::forget(Mode::set(subnormals));
        let name = |i| format!("op {i}");
        rayon::ThreadPoolBuilder::new().start_handler(enter).thread_name(name).build().ok()
    });
    pool.as_ref()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::thread::ThreadId;

    use super::*;

    /// Returns the threads that run `count` jobs, all of which must run at the same time.
    fn threads(count: usize) -> HashSet<ThreadId> {
        let (barrier, seen) = (Barrier::new(count), Mutex::new(HashSet::new()));
        let work = |_: usize| {
            barrier.wait();
            seen.lock().expect("no panic").insert(std::thread::current().id());
        };
        all_at_once(count, &work, &|i, e| panic!("no thread {i}: {e}"));
        seen.into_inner().expect("no panic")
    }

    #[test]
    fn threads_are_kept_and_survive_panics() {
        let first = threads(5);
        assert_eq!(first.len(), 5);
        all_at_once(3, &|i| assert!(i != 1, "on purpose"), &|_, _| {});
        // Runs of other tests may have taken some of the threads meanwhile.
        assert!((0..50).any(|_| threads(5).intersection(&first).count() > 0));
    }

    #[test]
    fn each_part_runs_once_on_at_most_so_many_threads() {
        for (helpers, parts) in [(1, 5), (2, 1), (2, 9), (3, 0)] {
            let seen = Mutex::new(Vec::new());
            let note = |i| seen.lock().expect("no panic").push((i, std::thread::current().id()));
            in_parts(Subnormals::Flush, helpers, parts, note);
            let seen = seen.into_inner().expect("no panic");
            let mut numbers: Vec<i64> = seen.iter().map(|part| part.0).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..parts).collect::<Vec<_>>());
            assert!(seen.iter().map(|part| part.1).collect::<HashSet<ThreadId>>().len() <= helpers);
        }
    }

    #[test]
    fn runs_inside_each_other_have_their_own() {
        let sum = Mutex::new(0);
        let outer = |i: usize| all_at_once(3, &|j| *sum.lock().expect("no panic") += 10 * i + j, &|_, _| {});
        all_at_once(4, &outer, &|_, _| {});
        assert_eq!(*sum.lock().expect("no panic"), 3 * 60 + 4 * 3);
    }
}
