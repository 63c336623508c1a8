//! Random numbers: rng_bit_generator, whose numbers match XLA's, and the older rng.

mod bits;
mod generator;
mod rng;

use crate::op::OpDef;
pub use generator::RngBitGenerator;
pub use rng::Rng;

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&RngBitGenerator, &Rng];
