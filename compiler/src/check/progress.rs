//! The progress of a check, which another thread can read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The progress of a check. Clones share the state of one check.
#[derive(Clone, Debug, Default)]
pub struct CheckProgress(Arc<Mutex<Stage>>);

#[derive(Debug, Default)]
struct Stage {
    text: String,
    /// The estimated total time, and when it was estimated.
    expected: Option<(Duration, Instant)>,
}

impl CheckProgress {
    /// Returns the current stage, in words.
    pub fn stage(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text.clone()
    }

    /// Returns the estimated total time of the check on this machine if nothing differs: once it is known, and until it
    /// is over, because then the estimate was wrong.
    pub fn expected(&self) -> Option<Duration> {
        let expected = self.0.lock().unwrap_or_else(PoisonError::into_inner).expected;
        expected.filter(|(expected, since)| since.elapsed() < *expected).map(|(expected, _)| expected)
    }

    pub(crate) fn enter(&self, stage: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text = stage.to_owned();
    }

    pub(crate) fn expect(&self, expected: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).expected = Some((expected, Instant::now()));
    }
}
