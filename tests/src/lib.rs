//! The tests of this package live in its tests folder; what several of them share is here.

#[path = "../../passes/tests/propagate/listing.rs"]
pub mod listing;
pub mod oracle;
pub mod propagation;
