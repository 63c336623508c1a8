//! Deep stacks for threads that parse or run passes. Both recurse deeply on deeply nested programs, and the size of the
//! main thread's stack depends on the system.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};
use dialect::parallel::STACK_BYTES;

use crate::diagnostic::Diagnostic;
use crate::source::Source;

/// The stack size used if a limit of the process forbids [`STACK_BYTES`]; enough for hand-written programs.
const LEAST_BYTES: usize = 64 << 20;

/// The memory that work needs in addition to a deep stack. Without memory, LLVM ends the process.
const OTHER_BYTES: usize = 256 << 20;

/// Runs `work` on a thread whose stack is deep enough for every program within the limits of the language, and
/// propagates a panic to the caller.
///
/// # Panics
/// The system has no room for such a thread.
pub fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    try_on_deep_stack(work).expect("the system can start one more thread")
}

/// Like [`on_deep_stack`], but returns an error if there is no room for a thread.
///
/// # Errors
/// The system has no room for such a thread.
pub fn try_on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    // A thread that fails to start would drop the work, so the work is kept outside.
    let work = Mutex::new(Some(work));
    let take = || work.lock().ok().and_then(|mut work| work.take()).map(|work| work());
    thread::scope(|scope| {
        let start = |bytes| thread::Builder::new().stack_size(bytes).spawn_scoped(scope, take);
        let left = runtime::limits::reservable_memory();
        let fits = left.is_none_or(|left| left.bytes >= (STACK_BYTES + OTHER_BYTES) as u64);
        let started = start(if fits { STACK_BYTES } else { LEAST_BYTES }).or_else(|_| start(LEAST_BYTES));
        match started.map_err(|e| no_room(&e.to_string()))?.join() {
            Ok(value) => value.ok_or_else(|| no_room("the thread returned no result")),
            Err(panic) => resume_unwind(panic),
        }
    })
}

fn no_room(why: &str) -> String {
    let bytes = crate::units::bytes(LEAST_BYTES as f64);
    format!("the system can't start a thread with {bytes} of stack ({why}): raise its limits (ulimit -v, ulimit -u)")
}

/// Like [`try_on_deep_stack`], for callers that can't handle panics, such as other languages: a panic becomes a
/// diagnostic that reports a bug in shardc.
///
/// # Errors
/// `work` panicked, or the system has no room for a thread.
pub fn guarded<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Box<Diagnostic>> {
    // Unwind safety: state that the panic left inconsistent isn't used again, because the caller gets only the
    // diagnostic.
    let done = catch_unwind(AssertUnwindSafe(|| try_on_deep_stack(work))).map_err(|panic| Box::new(bug(&*panic)))?;
    let plain = |e: String| Plain::error(codes::DEVICE_MEMORY, Span::default(), e);
    done.map_err(|e| Box::new(Diagnostic::new(&Source::new("", ""), &plain(e))))
}

fn bug(panic: &(dyn Any + Send)) -> Diagnostic {
    let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let message = format!("internal error: {}", why.unwrap_or("of an unknown kind"));
    let note = "this is a bug in shardc, not in your program; please report it with the program";
    Diagnostic::new(&Source::new("", ""), &Plain::error(codes::BUG, Span::default(), message).note(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_diagnostic() {
        assert_eq!(guarded(|| 3), Ok(3));
        let fault = guarded(|| -> i32 { panic!("{} things", 2) }).expect_err("it panicked");
        assert_eq!((fault.code, fault.message.as_str()), ("bug", "internal error: 2 things"));
        assert!(fault.place.is_none() && fault.notes.len() == 1, "{fault:?}");
    }
}
