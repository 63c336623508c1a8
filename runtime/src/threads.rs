//! The threads of the process. Devices run on threads that are kept from one run to the next, so that starting a run
//! takes microseconds; what several threads do inside one op runs in a pool with one thread a core.
//!
//! A device blocks while it waits for others, so it needs a thread of its own: in a pool, a device's thread that waits
//! for its part of an op might take up another device, which waits for the first. Only work that waits for nothing may
//! run in the pool.

#![allow(unsafe_code, reason = "kept threads run closures that borrow from the caller, who waits for them")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use crate::subnormals::{Mode, Subnormals};

/// Bytes of a device thread's stack.
const STACK: usize = 1 << 20;

/// Part of a run.
struct Job {
    work: Work,
    index: usize,
    latch: Arc<Latch>,
}

/// What all threads of a run do, with a number for each.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure may be called from any thread, and is alive until the latch of its run opens.
unsafe impl Send for Work {}

/// Opens when so many things are done.
pub(crate) struct Latch {
    left: Mutex<usize>,
    open: Condvar,
}

impl Latch {
    pub(crate) fn new(left: usize) -> Self {
        Self { left: Mutex::new(left), open: Condvar::new() }
    }

    /// One of them is done.
    pub(crate) fn count_down(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            self.open.notify_all();
        }
    }

    /// Waits until all are done.
    pub(crate) fn wait(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            left = self.open.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Threads that wait for work.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

/// Calls `work` with each number below `count`, each on a thread of its own, all at once. `missing` is called with a
/// number for which there is no thread, and says why.
pub(crate) fn all_at_once(count: usize, work: &(dyn Fn(usize) + Sync), missing: &dyn Fn(usize, std::io::Error)) {
    if count == 1 {
        // Nobody has to wait for the only one.
        let _ = catch_unwind(AssertUnwindSafe(|| work(0)));
        return;
    }
    let latch = Arc::new(Latch::new(count));
    // SAFETY: only the lifetime changes. Threads use the closure before they count down the latch, and this function
    // returns when all have.
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
            // SAFETY: the closure is alive until this thread has counted down.
            let work = unsafe { &*job.work.0 };
            let _ = catch_unwind(AssertUnwindSafe(|| work(job.index)));
            // The next run may begin as soon as the latch opens, and should find this thread.
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(sender.clone());
            job.latch.count_down();
            next = jobs.recv().ok();
        }
    };
    std::thread::Builder::new().name("device".to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// Runs `work`, which may divide itself among the threads of a pool and must not wait for other devices. Subnormal
/// floats are treated alike by all of them.
pub(crate) fn inside<R: Send>(subnormals: Subnormals, work: impl FnOnce() -> R + Send) -> R {
    match pool(subnormals) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Calls `part` with each number below `parts`, on this thread, which begins at once, and on the pool's, up to so many
/// together: whoever is done takes the next part, so that a thread that comes late leaves its share to the others.
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

/// The pool whose threads treat subnormal floats so; `None` if there are no threads for one.
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

    /// The threads that run `count` jobs, all of which must be there at once.
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
        // Runs of other tests may have taken some meanwhile.
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
