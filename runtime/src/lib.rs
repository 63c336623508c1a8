//! Makes programs run: the reference evaluator, native code, devices and collectives.

pub mod reference;
