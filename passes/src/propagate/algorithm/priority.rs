//! User priorities: dimensions of priority 0 are propagated first, as if the others were unsharded, except that the
//! others' axes stay reserved; then those of the next priority, and so on. Source: Shardy, `UserPriorityPropagation`.

use std::collections::BTreeMap;

use dialect::ir::Program;

use super::engine::Engine;
use super::sharding::{Sharding, ShardingId};
use crate::propagate::graph::Slot;

/// Propagates priority by priority.
pub fn run(engine: &mut Engine, program: &Program) {
    let mut waiting: BTreeMap<u32, Vec<(Slot, ShardingId)>> = BTreeMap::new();
    for slot in engine.graph.slots.keys() {
        let id = engine.graph.slots[slot];
        let Some(sharding) = engine.shardings.get(id) else {
            continue;
        };
        if sharding.dims.iter().all(|d| d.priority.is_none()) {
            continue;
        }
        let mut priorities: Vec<u32> = sharding.dims.iter().filter_map(|d| d.priority).filter(|&p| p > 0).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let first = initial(sharding);
        for priority in priorities {
            waiting.entry(priority).or_default().push((slot, id));
        }
        engine.graph.slots[slot] = engine.shardings.intern(first);
    }
    engine.run_rounds(program);
    for (priority, slots) in waiting {
        for (slot, original) in slots {
            let current = engine.graph.slots[slot];
            let (Some(current), Some(original)) = (engine.shardings.get(current), engine.shardings.get(original))
            else {
                continue;
            };
            let next = with_priority(current, original, priority);
            engine.graph.slots[slot] = engine.shardings.intern(next);
        }
        engine.run_rounds(program);
    }
}

/// Returns the initial form of a sharding: dimensions of a later priority are closed and their axes moved to
/// `replicated`.
fn initial(sharding: &Sharding) -> Sharding {
    let mut first = sharding.clone();
    for dim in &mut first.dims {
        if dim.priority.unwrap_or(0) > 0 {
            first.replicated.extend(std::mem::take(&mut dim.axes));
            dim.open = false;
        }
        dim.priority = None;
    }
    first.replicated.sort_unstable();
    first
}

/// Returns `current` with the dimensions of `original` that have `priority`.
fn with_priority(current: &Sharding, original: &Sharding, priority: u32) -> Sharding {
    let mut next = current.clone();
    for (dim, original) in next.dims.iter_mut().zip(&original.dims) {
        if original.priority.unwrap_or(0) == priority {
            next.replicated.retain(|a| !original.axes.contains(a));
            *dim = original.clone();
            dim.priority = None;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::sharding::{Axes, AxisPart};

    #[test]
    fn later_dimensions_wait_with_their_axes_kept() {
        let axis = |axis| AxisPart { axis, pre: 1, size: 2 };
        let mut sharding = Sharding::open(0, 3);
        sharding.dims[0].axes = Axes::from_slice(&[axis(2)]);
        sharding.dims[0].priority = Some(1);
        sharding.dims[1].axes = Axes::from_slice(&[axis(1)]);
        sharding.dims[1].priority = Some(0);
        sharding.dims[2].axes = Axes::from_slice(&[axis(0)]);
        sharding.dims[2].priority = Some(3);
        let first = initial(&sharding);
        assert!(first.dims[0].axes.is_empty() && !first.dims[0].open && first.dims[1].open);
        assert_eq!(first.replicated[..], [axis(0), axis(2)]);
        let second = with_priority(&first, &sharding, 1);
        assert_eq!(second.dims[0].axes[..], [axis(2)]);
        assert_eq!(second.replicated[..], [axis(0)]);
        assert!(second.dims[2].axes.is_empty());
    }
}
