//! The executor: a per-device program as a list of steps over one preplanned arena, run by one thread per device.
//!
//! Loop nests are fused into kernels and compiled; products are computed by a matrix library; collectives read the
//! other devices' memory. One compiled program serves all devices. Ops without native code run by the reference
//! evaluator.

mod arith;
mod chain;
mod common;
#[cfg(test)]
mod compared;
mod complex;
mod emit;
mod exchange;
mod fuse;
mod fused;
mod host;
mod linalg;
mod lower;
mod memory;
mod panels;
mod precision;
mod room;
mod routine;
mod run;
mod shared;
mod small;
mod step;
mod touched;
mod trace;
mod tuning;
mod update;

pub use arith::Math;
pub use linalg::linalg;
pub use lower::SharedKernel;
pub use room::Planned;
#[cfg(test)]
pub(crate) use routine::linked;
pub use run::{Executable, Session};
pub use trace::{Event, MAX_EVENTS, Track};
