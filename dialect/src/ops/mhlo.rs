//! The attributes of MHLO's dialect that modules still carry; its ops are StableHLO's now.

/// Of a module: how many replicas run it, each over arguments of its own.
pub const NUM_REPLICAS: &str = "mhlo.num_replicas";
/// Of a module: how many devices run each replica.
pub const NUM_PARTITIONS: &str = "mhlo.num_partitions";
/// Of arguments, results and ops: a sharding from before Shardy, in the words of HLO.
pub const SHARDING: &str = "mhlo.sharding";
/// Of modules, arguments, results and ops: what a frontend left for others, as text.
pub const FRONTEND_ATTRIBUTES: &str = "mhlo.frontend_attributes";
