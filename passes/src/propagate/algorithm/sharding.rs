//! Shardings over numbered meshes and axes, hash-consed, so that the algorithm compares and stores ids.

use dialect::define_id;
use dialect::id::Interner;
use dialect::sharding::{AxisPart, TensorSharding};

/// The sharding of a tensor on the mesh with this number.
pub type Sharding = TensorSharding<u32, AxisPart>;

define_id!(
    /// The id of a sharding; [`ShardingId::NONE`] for a value without one.
    pub ShardingId, "sharding", NONE
);

/// All shardings seen so far.
pub type Shardings = Interner<ShardingId, Sharding>;
