//! Meshes, axes, shardings and sharding rules, with exactly Shardy's terms.

mod assembly;
pub mod axis;
mod distribution;
mod distributions;
mod exchange;
mod groups;
mod layout;
mod mesh;
mod mesh_axes;
#[cfg(test)]
mod model_tests;
mod of_nest;
mod pairs;
mod parts;
mod reach;
mod reshard;
mod rule;
mod shard;
#[allow(clippy::module_inception, reason = "the file is named after the attribute it describes")]
mod sharding;
mod table;

pub use assembly::{Assembly, AssemblyExchange, AssemblyPiece, AssemblyRound, ReceivedRows, SentRows};
pub use axis::{Axes, AxesPerDim, AxisPart};
pub use distribution::Distribution;
pub use distributions::Distributions;
pub use exchange::{Exchange, PerDevice, Run};
pub use groups::{Digit, digit, digits, groups, index};
pub(crate) use groups::{position, unused};
pub use layout::{Layout, identity, reduction_op};
pub use mesh::{AxisList, AxisRef, MAX_DEVICES, Mesh, SubAxis, axes_size};
pub use mesh_axes::MeshAxes;
pub use of_nest::rule_of_nest;
pub use pairs::{PairRun, Pairs};
pub use parts::ShardParts;
pub use reach::{Reach, RowWindow, ShiftedRead, shifted_reads};
pub use reshard::{Move, PerDim, Reshard, ReshardFault};
pub use rule::{DimFactors, Factor, FactorKind, ShardingRule, TensorFactors};
pub use shard::{Padding, Shard, ShardDim};
pub use sharding::{DimSharding, MeshRef, ReductionKind, TensorSharding};
pub use table::{ShardingId, ShardingTable};
