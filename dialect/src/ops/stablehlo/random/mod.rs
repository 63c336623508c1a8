//! Random numbers: rng_bit_generator, whose numbers match XLA's, and the older rng.

mod bits;
mod generator;
mod rng;

pub use generator::RngBitGenerator;
pub use rng::Rng;
