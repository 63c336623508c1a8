//! The `shardc` program. All of it is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

#[cfg(feature = "jit")]
runtime::without_all_of_mlir!();

mod allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    shardc::main()
}
