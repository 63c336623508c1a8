//! Compiles MLIR text to machine code for this processor and calls it.
//!
//! The input is text at the level of linalg, vector, scf, memref, arith, math and func. Each public function becomes a
//! kernel with one calling convention: an array of pointers to contiguous row-major buffers and an array of 64-bit
//! scalars. This module doesn't depend on ops or programs.

mod abi;
mod cache;
mod code;
mod engine;
mod lower;
mod math;
mod queue;
#[cfg(test)]
mod tests;
mod workbench;

pub use cache::{Cache, DEFAULT_LIMIT};
pub use code::KernelFn;
pub use engine::{Engine, Module, vector_bytes};
pub(crate) use math::STRICT;
