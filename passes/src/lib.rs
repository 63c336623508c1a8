//! Algorithms over all ops: they query the roles of ops and never name an op.
//!
//! This crate doesn't depend on native code, files or command lines, and never on the runtime.
//! A pass is one module, its line in `passes!` and one folder of lit-tests.

mod compile_options;
pub mod dimension_classes;
pub mod estimate;
mod heuristics;
mod layouts;
pub mod options;
mod padding;
mod pass;
mod registry;
mod statistics;
mod symbols;
pub mod units;
mod variants;

pub use compile_options::{CompileOptions, Field, MEMORY, Microbatches, OverMemory, Replicate, Schedule, TARGET};
pub use dialect::ir::Stage;
pub use pass::{
    Effect, Pass, Report, Step, Steps, Verify, run_pass_with, run_passes, run_passes_verifying, run_unverified,
};
pub use registry::{Pipeline, Registry};
pub use statistics::{Statistic, Unit};

/// Declares the modules that contain passes, and the list of those passes.
macro_rules! passes {
    ($($visibility:vis mod $module:ident: $($pass:ident),+;)+) => {
        $($visibility mod $module;)+

        /// All passes, in the order they usually run.
        pub static PASSES: &[&Pass] = &[$($(&$module::$pass),+),+];
    };
}

// rustfmt doesn't see modules declared by a macro, so `make format` passes their files to it.
passes! {
    pub mod mpmd: MESHES, SCOPES, MICROBATCH, ASSIGN, PARTITION, SCHEDULE, SPMD;
    pub mod import: PASS, UNIFY_MESHES;
    pub mod propagate: PASS;
    mod one_device: PASS;
    pub mod prepare: DECOMPOSE_SHARDED, SLICE_GATHERS, ASSEMBLE_ROWS, MERGE_SHIFTS;
    pub mod plan: PASS;
    mod replicate: PASS;
    pub mod partition: PASS;
    mod rematerialize: PASS;
    mod collective_matmul: PASS;
    mod decompose_hierarchical: PASS;
    pub mod schedule: PASS;
    pub mod spmd: PASS;
    pub mod manual: PASS;
    mod gspmd: PASS;
    mod custom_partitioning: PASS;
    mod cse: PASS;
    mod check_memory: PASS;
    mod symbol_dce: PASS;
}

/// Pipelines: named lists of passes, which may contain other pipelines.
pub static PIPELINES: &[Pipeline] = &[
    Pipeline {
        name: "sharded",
        doc: "Gives every value its sharding. What the user annotated stays: the partitioner pads what doesn't divide.",
        passes: "import,propagate{keep-annotated=true keep-conflicts=true},unify-meshes",
    },
    Pipeline {
        name: "planned",
        doc: "To the global program with every change of distribution as a collective.",
        passes: "sharded,one-device,cse{elementwise=false},plan,replicate",
    },
    Pipeline {
        name: prepare::PIPELINE,
        doc: "Rewrites ops that move less data in another form; plan runs it before each plan that it compares.",
        passes: "decompose-sharded,slice-gathers,assemble-rows,merge-shifts",
    },
    Pipeline {
        name: "several-meshes",
        doc: "From a program over several meshes to one that all their devices run; others stay as they are.",
        passes: "mpmd-meshes,mpmd-scopes,mpmd-microbatch,mpmd-assign,mpmd-partition,mpmd-schedule,mpmd-spmd",
    },
    Pipeline {
        name: "per-device",
        doc: "From the planned program to what each device runs; plans are compared by what these passes make of them.",
        passes: "partition,rematerialize,collective-matmul,schedule,decompose-hierarchical",
    },
    Pipeline {
        name: "compile",
        doc: "From the global program to what each device runs.",
        passes: "several-meshes,planned,per-device,check-memory,check-spmd",
    },
    Pipeline {
        name: "compile-manual",
        doc: "The same under the global signature, in words that JAX's parser knows.",
        passes: "compile{several-operands=false pack=false},manual",
    },
    Pipeline {
        name: "compile-gspmd",
        doc: "The same without a word of Shardy, for XLA that is told to skip it.",
        passes: "compile-manual,gspmd",
    },
    Pipeline {
        name: "sdy-import-pipeline",
        doc: "What Shardy's pipeline of this name is for, by our passes: unused functions go, calls are inlined.",
        passes: "symbol-dce,import",
    },
    Pipeline {
        name: "sdy-propagation-pipeline",
        doc: "Shardy's, by our passes: the same shardings, written as closed ones, calls inlined.",
        passes: "sdy-import-pipeline,propagate",
    },
];
