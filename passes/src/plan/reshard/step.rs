//! One step of a redistribution: a collective of the sdy dialect on whole values, or a free local change.

use dialect::ir::TensorType;
use dialect::sharding::axis::size_of;
use dialect::sharding::{AxisPart, Distribution, Reshard};

use crate::estimate::CollectiveLoad;
use crate::plan::model::cost::CollectiveCost;

/// One step of a redistribution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// What it does.
    pub kind: Reshard<AxisPart>,
    /// Where the value lies after it.
    pub to: Distribution,
}

impl Step {
    /// Its modelled seconds and the bytes it moves on a ring.
    pub fn cost(&self, from: &Distribution, ty: &TensorType, cost: &dyn CollectiveCost) -> (f64, f64) {
        let Some(kind) = self.kind.collective() else { return (0.0, 0.0) };
        let axes = self.kind.group_axes(from, &self.to);
        let (operand, result) = (from.local_bytes(ty), self.to.local_bytes(ty));
        let n = size_of(&axes);
        let moved = CollectiveLoad::new(kind, operand, result, n as u64).moved_bytes();
        (cost.seconds(kind, operand, result, &axes), moved)
    }
}

/// Seconds and bytes of a sequence of steps that begins at `from`.
pub fn cost_of(steps: &[Step], from: &Distribution, ty: &TensorType, cost: &dyn CollectiveCost) -> (f64, f64) {
    let mut total = (0.0, 0.0);
    let mut at = from;
    for step in steps {
        let (seconds, bytes) = step.cost(at, ty, cost);
        total = (total.0 + seconds, total.1 + bytes);
        at = &step.to;
    }
    total
}
