//! The cost of collectives on a target, for the plan.

use std::cell::RefCell;

use dialect::sharding::{Axes, AxisPart};
use rustc_hash::FxHashMap;

use dialect::op::CollectiveKind;

use super::cost::CollectiveCost;
use crate::estimate::{Flat, Group, Machine, Target};

/// Costs of collectives on a machine; the groups of each set of axes are computed once.
pub struct MachineCost<'a> {
    machine: &'a Machine,
    /// Set when the machine has no topology: then a simple formula gives the costs.
    flat: Option<Flat>,
    entry_bandwidth: f64,
    groups: RefCell<FxHashMap<Axes, Group>>,
}

impl<'a> MachineCost<'a> {
    /// Creates the costs for a machine whose mesh has the mesh axes of the plan.
    pub fn new(machine: &'a Machine) -> Self {
        let flat = match machine.target() {
            Target::Flat(flat) => Some(flat),
            _ => None,
        };
        Self { machine, flat, entry_bandwidth: machine.entry_bandwidth(), groups: RefCell::default() }
    }
}

impl CollectiveCost for MachineCost<'_> {
    fn seconds(&self, kind: CollectiveKind, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64 {
        if let Some(flat) = &self.flat {
            return flat.seconds(kind, operand_bytes, result_bytes, axes);
        }
        let mut groups = self.groups.borrow_mut();
        let parts = axes.iter().copied().collect();
        let group = groups.entry(parts).or_insert_with_key(|parts: &Axes| self.machine.group(parts));
        self.machine.collective_seconds(kind, operand_bytes, result_bytes, group)
    }

    fn floor(&self, bytes: f64) -> f64 {
        // On a torus the bytes may arrive on all links at once.
        self.flat.map_or_else(|| bytes.max(0.0) / self.entry_bandwidth, |flat| flat.floor(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::reshard::tests::mesh_axes;

    #[test]
    fn prices_are_the_machines() {
        let g = mesh_axes(&[4, 2]);
        let (x, y) = (g.whole(0), g.whole(1));
        let machine = |t: &str| Machine::new(Target::parse(t).unwrap(), &[4, 2]).unwrap();
        let flat = machine("flat");
        let seconds = MachineCost::new(&flat).seconds(CollectiveKind::AllGather, 9.0, 72.0, &[x, y]);
        assert_eq!(seconds, 1e-6 + 63.0 * (1.0 / 90e9));
        // A line of 4 chips; at the ends, three quarters of 64 MiB arrive by one link, at 97 % of 45 GB/s.
        let v5e = machine("v5e:4x2");
        let cost = MachineCost::new(&v5e);
        let gather = cost.seconds(CollectiveKind::AllGather, (1 << 24) as f64, (1 << 26) as f64, &[x]);
        let (start, round) = (4.95e-6, 3.0 * 1.54e-6 + (1u64 << 26) as f64 * 0.75 / (0.97 * 45e9));
        let is_close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-12, "{found} {wanted}");
        is_close(gather, start + round);
        let sum = cost.seconds(CollectiveKind::AllReduce, (1 << 26) as f64, (1 << 26) as f64, &[x]);
        is_close(sum, start + 2.0 * round);
    }
}
