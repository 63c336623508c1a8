//! The executor: a per-device program as a list of steps over one preplanned arena, run by one thread per device.
//!
//! An [`Executable`] is made in this order: `lower` turns the program into steps, `fuse` merges ops and steps that
//! share data, and `codegen` writes each kernel as MLIR, which `jit` compiles. Products are computed by a matrix
//! library and everything else by native code (`kernels`). Then `device` runs the steps: collectives read the other
//! devices' memory, and ops without native code run by the reference evaluator. One compiled program serves all
//! devices.

mod codegen;
#[cfg(test)]
mod compared;
mod device;
mod executable;
mod fuse;
mod lower;
mod tuning;

pub use codegen::arith::Math;
pub use codegen::linalg::linalg;
#[cfg(test)]
pub(crate) use codegen::routine::linked;
pub use device::session::Session;
pub use device::trace::{Event, MAX_EVENTS, Track};
pub use executable::Executable;
pub use lower::SharedKernel;
pub use lower::planned::Planned;
