//! `shardc`, the sharding compiler: the driver, the command line, reports and pictures.
//!
//! [`run`] is the whole program as a function of its arguments and streams; `main.rs` and the tests call it.
//! Everything said to the user is made in this crate: `dialect`, `passes` and `runtime` return plain data.

mod arrays;
mod causes;
mod cells;
mod changes;
pub mod cli;
mod command;
mod compare;
mod execution;
mod expectation;
mod json;
mod picture;
pub mod pipeline;
mod place;
mod render;
mod session;
mod source;
mod svg;
mod units;

pub use cli::{main, run, run_with};
pub use session::Io;
