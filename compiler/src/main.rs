//! The `shardc` program. All of its code is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: runtime::allocator::Allocator = runtime::allocator::Allocator;

fn main() -> ExitCode {
    shardc::main()
}
