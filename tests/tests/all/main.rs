//! Tests that need several crates. They are one program, because linking one for each file takes longer than most of
//! them run.
//!
//! `cargo test -p shardc-tests --test all families::` runs the tests of one file.

mod accuracy;
mod bytes;
mod calibrate;
mod check;
mod commands;
mod damaged;
mod devices;
mod embedding;
mod evaluator;
#[cfg(feature = "jit")]
mod exchange;
mod explain;
mod families;
mod flags;
mod floats;
mod full_plan;
mod gpt;
mod groups;
mod json;
mod limits;
#[cfg(feature = "jit")]
mod linalg;
#[cfg(feature = "jit")]
mod memory;
mod mesh_order;
mod mutate;
mod oracles;
mod passes_alone;
mod pipelines;
mod plan;
mod propagation;
mod proposed;
mod python;
mod random;
#[cfg(feature = "jit")]
mod ranks;
mod replicas;
mod reread;
mod resources;
mod sessions;
mod spmd;
mod tidy;
mod tolerance;
mod tpu;
mod trained;
mod xla;
