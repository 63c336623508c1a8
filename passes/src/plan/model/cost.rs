//! What collectives cost: the trait the plan minimizes under, and the flat model.

use dialect::sharding::AxisPart;
use dialect::sharding::axis::size_of;

/// A change of distribution that one collective makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collective {
    /// Axes leave dimensions; pieces are concatenated.
    AllGather,
    /// Axes move from some dimensions to others.
    AllToAll,
    /// Devices exchange whole pieces.
    CollectivePermute,
    /// Unreduced axes are combined.
    AllReduce,
    /// Unreduced axes are combined and cut dimensions.
    ReduceScatter,
}

impl Collective {
    /// Bytes a device moves along a group of `n` devices on a ring, from the bytes it holds before and after.
    pub fn moved_bytes(self, operand_bytes: f64, result_bytes: f64, n: u64) -> f64 {
        let part = (n as f64 - 1.0) / n as f64;
        match self {
            Collective::AllGather => result_bytes * part,
            Collective::AllToAll | Collective::ReduceScatter => operand_bytes * part,
            Collective::AllReduce => 2.0 * operand_bytes * part,
            Collective::CollectivePermute => operand_bytes,
        }
    }
}

/// Seconds of collectives. Additive: a program's communication is the sum over its collectives.
pub trait CollectiveCost {
    /// Seconds of one collective over `axes`, from the bytes a device holds before and after it. `axes` are those
    /// that form its groups; for a permute all that change place.
    fn seconds(&self, kind: Collective, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64;

    /// A time that a device needs at least to receive `bytes`, however many collectives bring them; 0 is always true.
    fn floor(&self, bytes: f64) -> f64;
}

/// The model without a target: every group is a ring of one speed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flat {
    /// Seconds every collective takes at least.
    pub latency: f64,
    /// Bytes a second.
    pub bandwidth: f64,
}

impl Default for Flat {
    fn default() -> Self {
        Self { latency: 1e-6, bandwidth: 90e9 }
    }
}

impl CollectiveCost for Flat {
    fn seconds(&self, kind: Collective, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64 {
        self.latency + kind.moved_bytes(operand_bytes, result_bytes, size_of(axes) as u64) / self.bandwidth
    }

    fn floor(&self, bytes: f64) -> f64 {
        if bytes > 0.0 { self.latency + bytes / self.bandwidth } else { 0.0 }
    }
}
