//! The `shardc` program. All of it is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

#[cfg(feature = "jit")]
runtime::without_all_of_mlir!();

/// Programs are many small vectors and lists, made on one thread and dropped on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    shardc::main()
}
