//! Deep stacks for threads that parse or run passes: both recurse deeply on deeply nested programs, and the size of the
//! main thread's stack is up to the system.

use std::panic::resume_unwind;
use std::thread;

/// Bytes of stack that are enough for every program within the limits of the language.
pub const STACK_BYTES: usize = 256 << 20;

/// Runs `work` on a thread whose stack is deep enough for every program within the limits of the language. A panic
/// there is passed on to the caller.
pub fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match worker.expect("the system has room for one more thread").join() {
            Ok(value) => value,
            Err(panic) => resume_unwind(panic),
        }
    })
}
