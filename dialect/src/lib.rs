//! The language of shardc: IR, text, types, meshes and shardings, every op, the verifier, diagnostics as plain data.
//!
//! This crate doesn't depend on LLVM, e-graphs, command lines or files: it defines what a sharded program *is*. Passes
//! and the runtime build on it and never on each other.
//!
//! ```
//! use shardc_dialect::diagnostic::Diagnostics;
//!
//! let text = "func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
//!   %0 = stablehlo.negate %arg0 : tensor<8xf32>
//!   return %0 : tensor<8xf32>
//! }";
//! let mut diagnostics = Diagnostics::default();
//! let program = shardc_dialect::parse(text, &mut diagnostics);
//! shardc_dialect::verify(&program, &mut diagnostics);
//! assert!(!diagnostics.has_errors());
//! assert!(shardc_dialect::print(&program).contains("%0 = stablehlo.negate %arg0 : tensor<8xf32>"));
//! ```

pub mod buffers;
pub mod bytecode;
pub mod codes;
pub mod collective;
mod complex;
pub mod diagnostic;
pub mod disjoint_sets;
pub mod eval;
pub mod fold;
pub mod id;
pub mod interrupt;
pub mod ir;
pub mod kernel;
pub mod literal;
pub mod localize;
pub mod memory;
pub mod op;
pub mod ops;
pub mod parallel;
mod pieces;
mod precision;
pub mod proofs;
pub mod scalar;
mod scalar_eval;
pub mod sharding;
pub mod signature;
pub mod small_float;
pub mod text;
mod verify;

pub use precision::Rounding;
pub use text::{parse, parse_with, print, print_with};
pub use verify::{verify, verify_transitions};
