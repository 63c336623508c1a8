//! Random numbers: rng_bit_generator, whose numbers are those of XLA, and the old rng.

mod bits;
mod generator;
mod rng;

pub use generator::RngBitGenerator;
pub use rng::Rng;
