//! The `shardc` program. All of its code is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

#[cfg(feature = "jit")]
runtime::without_all_of_mlir!();

#[global_allocator]
static ALLOCATOR: runtime::allocator::Allocator = runtime::allocator::Allocator;

fn main() -> ExitCode {
    // Only commands with an input profit; other invocations end too soon.
    if std::env::args_os().len() > 2 {
        ALLOCATOR.make_ready();
    }
    shardc::main()
}
