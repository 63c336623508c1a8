//! Cancellation of work whose result the caller no longer needs, such as planning after Ctrl-C in Python.
//!
//! A caller runs the work by [`with`] and sets the flag later. Long computations call [`check`], which unwinds the
//! thread once the flag is set, so that functions in between need no additional kind of result.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set to cancel the work.
pub type Flag = Arc<AtomicBool>;

thread_local! {
    static FLAG: RefCell<Option<Flag>> = const { RefCell::new(None) };
}

/// The payload with which [`check`] unwinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupted;

/// Runs `work` on this thread so that it ends soon after `flag` is set.
pub fn with<T>(flag: Option<Flag>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Flag>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FLAG.set(self.0.take());
        }
    }
    let _restore = Restore(FLAG.replace(flag));
    work()
}

/// Returns the flag of this thread, for its helper threads.
pub fn flag() -> Option<Flag> {
    FLAG.with_borrow(Clone::clone)
}

/// Unwinds this thread if its flag is set, without a message.
pub fn check() {
    if FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))) {
        resume_unwind(Box::new(Interrupted));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn work_ends_once_its_flag_is_set() {
        let flag = Flag::default();
        let ended = catch_unwind(|| {
            with(Some(flag.clone()), || {
                check();
                flag.store(true, Ordering::Relaxed);
                check();
            });
        });
        assert_eq!(ended.expect_err("it was interrupted").downcast_ref(), Some(&Interrupted));
        // The flag is removed after the work.
        assert!(super::flag().is_none());
        check();
    }
}
