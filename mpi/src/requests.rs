//! Requests of the process's threads to the thread that makes all calls of MPI.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::collective::Watched;

use super::exchange::Exchange;

/// Requests of other threads, and the thread's replies.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) exchanges: Vec<Exchange>,
    /// Groups of ranks to be numbered.
    pub(super) groups: Option<Vec<Vec<usize>>>,
    /// The numbers of `groups`.
    pub(super) numbers: Option<Result<Vec<usize>, String>>,
    pub(super) watched: Option<Arc<dyn Watched>>,
    /// The devices of the current or last run, which know their names.
    pub(super) named: Option<Arc<dyn Watched>>,
    /// The reason why this rank has failed; to be sent to the other ranks.
    pub(super) failed: Option<String>,
    /// Whether the failure has been sent.
    pub(super) told: bool,
    /// The reason why no exchange works anymore.
    pub(super) ended: Option<String>,
    /// Whether to end the thread.
    pub(super) over: bool,
    /// A description of each rank.
    pub(super) places: Vec<String>,
    /// The number of ranks on this machine.
    pub(super) neighbors: usize,
}

/// State that other threads share with this one.
#[derive(Default)]
pub(super) struct Shared {
    asked: Mutex<Asked>,
    changed: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits until something has changed, at most for the time `most`.
    pub(super) fn wait<'l>(&self, asked: MutexGuard<'l, Asked>, most: Duration) -> MutexGuard<'l, Asked> {
        self.changed.wait_timeout(asked, most).unwrap_or_else(PoisonError::into_inner).0
    }
}
