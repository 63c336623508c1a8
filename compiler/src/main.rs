//! The `shardc` program: everything is in the library, so that tests run it in their own process.

use std::process::ExitCode;

fn main() -> ExitCode {
    shardc::main()
}
