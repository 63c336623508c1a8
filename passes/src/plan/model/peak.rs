//! The peak memory of a plan: the most bytes a device holds at once, with ops in program order.

use super::choice::Choice;
use crate::plan::program::graph::Graph;
use crate::plan::reshard::cache::ReshardCache;

impl Graph {
    /// Returns the most bytes that a device holds at once under a plan. A value that its readers' kernels compute is in
    /// memory only where a reader needs another distribution of it that the reader can't compute itself.
    pub(crate) fn peak(&self, cache: &mut ReshardCache<'_>, choice: &Choice) -> f64 {
        let mut held = Vec::with_capacity(self.values.len());
        for (index, value) in self.values.iter_enumerated() {
            let copies = self.copies(cache, &choice.places, index);
            if !value.written && copies.list.iter().all(|copy| copy.from.is_none()) {
                continue;
            }
            // What changes a distribution computes in the device's memory.
            for (i, copy) in copies.list.iter().enumerate().filter(|(i, _)| *i > 0 || !value.on_host) {
                let live = if i == 0 { value.held.made } else { value.held.copies };
                held.push((live, cache.local_bytes(value.ty, copy.at)));
            }
        }
        dialect::buffers::peak(held)
    }
}
