//! Algorithms over all ops: they ask ops for their roles and never name one.
//!
//! This crate knows nothing of machine code, files and command lines, and it never sees the runtime.
//! A pass is one module, one row in [`PASSES`] and one folder of lit-tests.

pub mod estimate;
pub mod import;
pub mod options;
pub mod partition;
mod pass;
pub mod plan;
pub mod propagate;
mod registry;
pub mod schedule;
mod symbols;

pub use pass::{Pass, Report, Step, run_passes, run_unverified};
pub use registry::{Pipeline, Registry};

/// All passes, in the order they usually run.
pub static PASSES: &[&Pass] = &[
    &import::PASS,
    &import::UNIFY_MESHES,
    &propagate::PASS,
    &plan::PASS,
    &partition::PASS,
    &schedule::PASS,
    &partition::MANUAL,
];

/// Lists of passes that have a name.
pub static PIPELINES: &[Pipeline] = &[Pipeline {
    name: "compile",
    doc: "From the global program to what each device runs.",
    passes: &["import", "propagate", "unify-meshes", "plan", "partition", "schedule"],
}];
