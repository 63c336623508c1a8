//! The machine model: the cost in seconds of operations and collectives on a target.
//!
//! [`Machine`] is the entry point: a [`Target`] with a mesh on it. Sharding plans, cost reports and explanations all
//! use it, so they agree. The model is independent of programs: it takes shapes, bytes and sub-axes of a mesh;
//! [`estimate`] queries it for every op of a program. The formulas are those of the public book jax-ml/scaling-book,
//! cited by file and line where they are used; every published case there that this module can answer is a test.

pub mod chip;
pub mod clouds;
pub mod collective;
pub mod custom;
pub mod gpus;
pub mod group;
pub mod kernels;
pub mod machine;
pub mod measured;
pub mod placement;
pub mod precision;
pub mod program;
pub mod reached;
pub mod residuals;
mod resources;
pub mod result;
pub mod roofline;
mod simulation;
pub mod target;
mod targets;
pub mod tiling;
mod traffic;
mod trips;

pub use chip::Chip;
pub use collective::{CollectiveKind, CollectiveLoad, Links, Route};
pub use custom::{CostModel, Custom};
pub use group::{Group, Line, Switch};
pub use kernels::KernelCost;
pub use machine::Machine;
pub use measured::Measured;
pub use placement::{Placement, PlacementError};
pub use precision::Precision;
pub use program::{estimate, estimate_ranges, estimate_time};
pub use reached::Reached;
pub use residuals::Residual;
pub use result::{Communication, Estimate, Event, HostCopy, Range, Ranges, Stream, Unpriced};
pub use roofline::{Matmul, OpSeconds, Work};
pub(crate) use simulation::Simulation;
pub use target::{Flat, Slice, Target, TargetError, UNKNOWN_TRIP_COUNT};
pub use targets::Targets;
pub(crate) use traffic::bytes_of;
pub use trips::{Trips, remove_trips, state_trips};
