//! Background work: threads that run one job after another, and results that callers may wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::guarded;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs. After all handles are dropped, it ends with the jobs that are queued; dropping a handle
/// doesn't wait for it.
#[derive(Clone)]
pub(super) struct Worker(Sender<Job>);

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no room for one more thread.
    pub(super) fn new(name: &str) -> std::io::Result<Self> {
        let (jobs, next) = channel::<Job>();
        let work = move || {
            while let Ok(job) = next.recv() {
                // A job that has a waiting caller reports its own panic, so this result is dropped.
                let _ = guarded(job);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self(jobs))
    }

    pub(super) fn start(&self, job: impl FnOnce() + Send + 'static) {
        // Sending fails only if the thread is gone, and then there is no receiver for an error either.
        let _ = self.0.send(Box::new(job));
    }
}

/// A result that is computed on first request, by another thread.
pub(super) struct Later<T> {
    asked: AtomicBool,
    value: Mutex<Option<Arc<T>>>,
    came: Condvar,
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self { asked: AtomicBool::new(false), value: Mutex::new(None), came: Condvar::new() }
    }
}

impl<T> Later<T> {
    /// Returns whether this is the first request.
    pub(super) fn ask(&self) -> bool {
        !self.asked.swap(true, Ordering::Relaxed)
    }

    pub(super) fn set(&self, value: T) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(value));
        self.came.notify_all();
    }

    /// Waits at most `patience` for the result.
    pub(super) fn wait(&self, patience: Duration) -> Option<Arc<T>> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.came.wait_timeout_while(value, patience, |value| value.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_even_after_an_earlier_job_panicked() {
        let worker = Worker::new("test").expect("a thread");
        let later: Arc<Later<i32>> = Arc::default();
        assert!(later.ask() && !later.ask());
        assert_eq!(later.wait(Duration::ZERO), None);
        worker.start(|| panic!("of which the next job hears nothing"));
        let result = Arc::clone(&later);
        worker.start(move || result.set(7));
        assert_eq!(later.wait(Duration::from_secs(60)).as_deref(), Some(&7));
    }
}
