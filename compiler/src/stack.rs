//! Stacks of threads that parse or run passes: deep programs nest deeply there, and the main thread's stack is the
//! system's choice.

/// Bytes of stack that are enough for every program within the limits of the language.
pub(crate) const STACK_BYTES: usize = 256 << 20;
