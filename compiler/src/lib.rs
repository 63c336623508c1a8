//! `shardc`, the sharding compiler: the driver, the command line, reports and pictures.
//!
//! [`run`] is the whole program as a function of its arguments and streams; `main.rs` and the tests call it.
//! Everything said to the user is made in this crate: `dialect`, `passes` and `runtime` return plain data.

mod causes;
mod changes;
mod cli;
mod compare;
mod execution;
mod place;
mod source;
mod stack;
mod units;

pub use cli::pipeline::Registry;
pub use cli::session::Io;
pub use cli::{main, run, run_with};
