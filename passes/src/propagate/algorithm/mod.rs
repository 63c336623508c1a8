//! Shardy's algorithm: shardings over compact axes propagate from tensor to tensor along the factors of sharding rules.

pub mod common_axes;
pub mod driver;
pub mod engine;
pub mod factor;
pub mod manual;
pub mod origin;
pub mod priority;
pub mod projection;
pub mod rule;
pub mod sharding;
