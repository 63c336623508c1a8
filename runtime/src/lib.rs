//! Runs programs: the reference evaluator, native code, devices and collectives.
//!
//! Without the feature `jit`, everything except native code is available, also on machines without LLVM.

mod across;
#[cfg(feature = "allocator")]
pub mod allocator;
pub mod collective;
#[cfg(feature = "jit")]
pub mod execute;
pub mod files;
#[cfg(feature = "jit")]
pub mod jit;
#[cfg(feature = "jit")]
pub mod kernels;
pub mod limits;
pub mod npz;
pub mod rates;
pub mod reference;
pub mod subnormals;
#[cfg(feature = "jit")]
mod threads;
