//! The `shardc` program. All of it is in the library, so that tests can run it inside their own process.

use std::process::ExitCode;

fn main() -> ExitCode {
    shardc::main()
}
