//! Values that the threads of one op use together.

#![allow(unsafe_code, reason = "threads use one value that has addresses")]

/// A value with addresses that several threads use.
pub(crate) struct AcrossThreads<T>(T);

// SAFETY: by the contract of `new`, only raw pointers keep the value from being `Send`, and sending those is safe:
// dereferencing them needs `unsafe` code.
unsafe impl<T> Send for AcrossThreads<T> {}
// SAFETY: the same contract says so for `Sync`.
unsafe impl<T> Sync for AcrossThreads<T> {}

impl<T> AcrossThreads<T> {
    /// Wraps a value.
    ///
    /// # Safety
    ///
    /// Everything in the value except raw pointers must be `Send` and `Sync`.
    pub(crate) unsafe fn new(value: T) -> Self {
        Self(value)
    }

    pub(crate) fn get(&self) -> &T {
        &self.0
    }
}
