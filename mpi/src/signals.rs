//! Signals that tell this process to end, and its end.

#![allow(unsafe_code, reason = "calls the system")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that told this process to end; 0 if there was none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(number: c_int) {
    SIGNAL.store(number, Ordering::SeqCst);
}

unsafe extern "C" {
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn _exit(code: c_int) -> !;
}

/// Lets each rank report its reason before it ends, because launchers end ranks by signals.
pub(super) fn handle() {
    // SAFETY: the handler only stores a number.
    unsafe {
        signal(INTERRUPTED, on_signal);
        signal(TERMINATED, on_signal);
    }
}

/// Ends this process at once, whatever its other threads do. Skips the libraries' exit handlers, which might free
/// memory that those threads use.
pub fn exit_at_once(code: u8) -> ! {
    runtime::files::remove_drafts();
    // SAFETY: `_exit` can be called at any time.
    unsafe { _exit(code.into()) }
}

const INTERRUPTED: c_int = 2;
const TERMINATED: c_int = 15;

/// Returns a description of the signal that told this process to end, if there was one. Reading it doesn't reset it.
pub(super) fn asked_to_end() -> Option<&'static str> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => None,
        INTERRUPTED => Some("an interrupt (SIGINT)"),
        _ => Some("its launcher (SIGTERM)"),
    }
}
