//! The `shardc` program. All of it is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

/// Passes make and drop many small lists: the system's allocator takes a sixth of their time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    shardc::main()
}
