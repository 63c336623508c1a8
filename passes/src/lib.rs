//! Algorithms over all ops: they query the roles of ops and never name one.
//!
//! This crate knows nothing of machine code, files and command lines, and it never sees the runtime.
//! A pass is one module, one row in [`PASSES`] and one folder of lit-tests.

mod bit_set;
mod context;
mod cse;
pub mod estimate;
pub mod import;
mod one_device;
pub mod options;
mod padding;
pub mod partition;
mod pass;
pub mod plan;
pub mod propagate;
mod registry;
mod replicate;
pub mod schedule;
pub mod spmd;
mod symbols;

pub use context::Context;
pub use pass::{Pass, Report, Step, Verify, run_pass_with, run_passes, run_passes_verifying, run_unverified};
pub use registry::{Pipeline, Registry};

/// All passes, in the order they usually run.
pub static PASSES: &[&Pass] = &[
    &import::PASS,
    &import::UNIFY_MESHES,
    &propagate::PASS,
    &one_device::PASS,
    &plan::PASS,
    &replicate::PASS,
    &partition::PASS,
    &schedule::PASS,
    &spmd::PASS,
    &partition::MANUAL,
    &cse::PASS,
];

/// Pipelines: lists of passes with a name; they may name other pipelines.
pub static PIPELINES: &[Pipeline] = &[
    Pipeline {
        name: "sharded",
        doc: "Gives every value its sharding. What the user annotated stays: the partitioner pads what doesn't divide.",
        passes: "import,propagate{keep-annotated=true},unify-meshes",
    },
    Pipeline {
        name: "planned",
        doc: "To the global program with every change of distribution as a collective.",
        passes: "sharded,one-device,plan,replicate",
    },
    Pipeline {
        name: "compile",
        doc: "From the global program to what each device runs.",
        passes: "planned,partition,schedule,check-spmd",
    },
    Pipeline {
        name: "compile-manual",
        doc: "The same under the global signature, in words that JAX's parser knows.",
        passes: "compile{several-operands=false},manual",
    },
];
