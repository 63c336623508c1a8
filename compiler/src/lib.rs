//! `shardc`, the sharding compiler: as a library, and as a program.
//!
//! A [`Compiler`] has registries of ops, passes, pipelines and targets; an embedder can add to them. Its methods are
//! functions from data to data: they neither print nor end the process, and they return the faults of a program in the
//! [`Outcome`].
//!
//! ```
//! use shardc::{CompileOptions, Compiler, ExecuteOptions, Backend, Interface, Source, random_inputs};
//!
//! let text = r#"
//!   sdy.mesh @mesh = <["x"=2]>
//!   func.func @main(%a: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
//!     %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
//!     return %0 : tensor<4x4xf32>
//!   }"#;
//! let compiler = Compiler::standard();
//! let module = compiler.parse(Source::new("model.mlir", text)).into_result()?;
//! let device = compiler.compile(module.clone(), "compile", &CompileOptions::default()).into_result()?;
//! assert!(compiler.print(&device, Default::default()).contains("stablehlo.all_reduce"));
//!
//! let inputs = random_inputs(&Interface::of(&module).unwrap().arguments, 0, 1);
//! let options = ExecuteOptions { backend: Backend::Reference, ..Default::default() };
//! let partitioned = compiler.execute(&device, &inputs, &options).into_result()?;
//! assert_eq!(partitioned.results, compiler.evaluate(&module, &inputs).into_result()?);
//! # Ok::<(), shardc::Diagnostics>(())
//! ```
//!
//! The program `shardc` is a client of this library: [`run`] is the whole program as a function of its arguments and
//! streams, and [`run_with`] is the same for a compiler with more ops, passes, pipelines or targets.

mod budget;
mod calibrate;
mod check;
#[cfg(feature = "cli")]
mod cli;
mod compare;
mod compiler;
mod cost;
mod cost_against;
mod cost_diff;
mod culprit;
mod diagnostic;
mod effects;
mod execute;
mod explain;
mod frames;
mod inputs;
mod memory;
mod module;
mod place;
mod program_text;
mod rounding;
mod sharding_search;
mod source;
mod spmd;
mod stack;
mod stragglers;
mod target_file;
mod trace;

pub use calibrate::{CalibrateOptions, Calibrating, Calibration, Figure, Series, read_measurements};
pub use check::{Check, CheckOptions, CheckProgress, CheckedResult};
#[cfg(feature = "cli")]
pub use cli::render::render;
#[cfg(feature = "cli")]
pub use cli::session::Io;
#[cfg(feature = "cli")]
pub use cli::{main, run, run_with};
pub use compare::{Comparison, Difference, Tolerance, compare};
#[cfg(feature = "unstable")]
pub use compiler::Refused;
pub use compiler::{Compiler, Times, Watch};
pub use cost::{CollectiveCost, Cost, CostRanges, HostCopyCost, MeshCost, PipelineCost, TimelineEvent, UnpricedKernel};
pub use cost_against::{CostAgainst, OpAgainst, Profiled};
pub use cost_diff::{CollectiveDiff, CollectiveSum, CostDiff};
pub use diagnostic::{Diagnostic, Diagnostics, Label, Outcome, Place, Severity};
pub use execute::{Backend, ExecuteOptions, Execution, HAS_NATIVE, Interface, MemoryPlan, Progress};
pub use execute::{Block, Compiled, RankInputs, Ranks, ResultShard};
pub use explain::ValueExplanation;
pub use explain::{
    AxisOrigin, CollectiveGroup, ExplainOptions, ExplainedCollective, Explanation, OpPlace, Removal, UnevenDimension,
};
pub use frames::Frame;
pub use inputs::{edge_inputs, random_inputs};
pub use memory::{HeldBuffer, MemoryUse};
pub use module::Module;
pub use place::{jax_name, layer_pattern, near_values, value_name, values_called, written_name};
pub use program_text::program_text;
pub use sharding_search::{
    Alternative, Proposal, ProposedAxis, ProposedConstraint, ProposedSharding, SearchOptions, SearchProgress,
};
pub use source::Source;
pub use spmd::SpmdCheck;
pub use stack::{guarded, on_deep_stack, try_on_deep_stack};
pub use stragglers::{DeviceWaits, Straggler};
pub use target_file::is_target_name;
pub use trace::{DeviceTrace, Profile, ProfiledOp, Trace, TracedOp, TracedStep};

pub use dialect::bytecode::is_bytecode;
pub use dialect::interrupt;
// The types that registries, options and results consist of.
pub use dialect::literal::Literal;
pub use dialect::op::OpDef;
pub use dialect::parallel::STACK_BYTES;
pub use dialect::text::PrintOptions;
pub use passes::estimate::{Chip, Flat, Slice, Target};
pub use passes::options::parse_bytes;
pub use passes::plan::Search;
pub use passes::units;
pub use passes::{CompileOptions, Microbatches, OverMemory, Replicate, Schedule};
pub use passes::{Effect, Pass, Pipeline, Stage, Statistic, Step, Steps, Unit};

// Unstable parts, which change between versions: the packages that this one depends on, rewrites, cost models.
#[cfg(feature = "unstable")]
pub use dialect;
#[cfg(feature = "unstable")]
pub use passes;
#[cfg(feature = "unstable")]
pub use passes::estimate::{CollectiveKind, CollectiveLoad, CostModel, Custom, Matmul, Precision};
#[cfg(feature = "unstable")]
pub use passes::plan::{Class, Derivation, PlannedOp, Plans, Rewrite};
