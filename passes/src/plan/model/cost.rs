//! The cost of collectives, as an interface for the plan.

use dialect::op::CollectiveKind;
use dialect::sharding::AxisPart;
use dialect::sharding::axis::size_of;

use crate::estimate::{CollectiveLoad, Flat};

/// The seconds that collectives take. Additive: a program's communication is the sum over its collectives.
pub trait CollectiveCost {
    /// Returns the seconds of one collective over `axes`, given the bytes a device holds before and after it. `axes`
    /// are those that form its groups; for a permute, all axes that change position.
    fn seconds(&self, kind: CollectiveKind, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64;

    /// Returns a lower bound on the seconds a device needs to receive `bytes`, in any number of collectives; 0 is
    /// always valid.
    fn floor(&self, bytes: f64) -> f64;

    /// Returns the start-up seconds of a collective over `axes`: its time without any bytes.
    fn startup(&self, kind: CollectiveKind, axes: &[AxisPart]) -> f64 {
        self.seconds(kind, 0.0, 0.0, axes)
    }

    /// Returns the seconds of a permute of `bytes` from every device along `axes`.
    fn permute_seconds(&self, bytes: f64, axes: &[AxisPart]) -> f64 {
        self.seconds(CollectiveKind::CollectivePermute, bytes, bytes, axes)
    }
}

impl CollectiveCost for Flat {
    fn seconds(&self, kind: CollectiveKind, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64 {
        self.collective_seconds(&CollectiveLoad::new(kind, operand_bytes, result_bytes, size_of(axes) as u64))
    }

    fn floor(&self, bytes: f64) -> f64 {
        if bytes > 0.0 { self.latency + bytes * (1.0 / self.bandwidth) } else { 0.0 }
    }
}
