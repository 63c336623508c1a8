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
        doc: "Gives every value a sharding. The user's annotations stay, because the partitioner pads uneven \
            dimensions.",
        passes: "import,propagate{keep-annotated=true keep-conflicts=true},unify-meshes",
    },
    Pipeline {
        name: "planned",
        doc: "Produces the global program, with every redistribution as a collective.",
        passes: "sharded,one-device,cse{elementwise=false},plan,replicate",
    },
    Pipeline {
        name: prepare::PIPELINE,
        doc: "Rewrites ops that move less data in another form; plan runs it before each plan that it compares.",
        passes: "decompose-sharded,slice-gathers,assemble-rows,merge-shifts",
    },
    Pipeline {
        name: "several-meshes",
        doc: "Turns a program over several meshes into one that all their devices run; leaves others unchanged.",
        passes: "mpmd-meshes,mpmd-scopes,mpmd-microbatch,mpmd-assign,mpmd-partition,mpmd-schedule,mpmd-spmd",
    },
    Pipeline {
        name: "per-device",
        doc: "Turns the planned program into the per-device program; the planner compares plans by the result.",
        passes: "partition,rematerialize,collective-matmul,schedule,decompose-hierarchical",
    },
    Pipeline {
        name: "compile",
        doc: "Turns the global program into the per-device program.",
        passes: "several-meshes,planned,per-device,check-memory,check-spmd",
    },
    Pipeline {
        name: "compile-manual",
        doc: "Produces the per-device program under the global signature, in syntax that JAX's parser reads.",
        passes: "compile{several-operands=false pack=false},manual",
    },
    Pipeline {
        name: "compile-gspmd",
        doc: "Produces the per-device program without Shardy's ops and attributes, for XLA without Shardy.",
        passes: "compile-manual,gspmd",
    },
    Pipeline {
        name: "sdy-import-pipeline",
        doc: "Does what Shardy's pipeline of this name does: removes unused functions, inlines calls.",
        passes: "symbol-dce,import",
    },
    Pipeline {
        name: "sdy-propagation-pipeline",
        doc: "Does what Shardy's pipeline of this name does: propagates and closes shardings, inlines calls.",
        passes: "sdy-import-pipeline,propagate",
    },
];
