//! Code shared by the tests in this package's tests folder.

pub mod accuracy;
pub mod attempt;
pub mod command;
pub mod corpus;
pub mod families;
#[path = "../../passes/tests/propagate/listing.rs"]
pub mod listing;
pub mod minimize;
pub mod models;
pub mod mutation;
pub mod needs;
pub mod oracle;
pub mod programs;
pub mod propagation;
pub mod sharded;
mod tensors;
pub mod tools;
pub mod training;

#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/library.md")]
struct Guide;
