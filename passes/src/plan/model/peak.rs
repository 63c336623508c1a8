//! Peak memory of a plan: the most a device holds at once, with ops in program order.
//!
//! A value is held from where it is made to its last reader, and so is each of its copies; arguments are held
//! throughout. A loop keeps what it reads from outside until it ends, since the loop op itself is the last reader.

use super::choice::Choice;
use crate::plan::program::graph::Graph;
use crate::plan::reshard::cache::ReshardCache;

impl Graph {
    /// Most bytes a device holds at once under a plan.
    pub(crate) fn peak(&self, cache: &mut ReshardCache<'_>, choice: &Choice) -> f64 {
        let mut change = vec![0.0; self.ops.len() + 2];
        for (index, value) in self.values.iter_enumerated() {
            let copies = self.copies(cache, &choice.places, index);
            let end = value.uses.iter().map(|u| u.0.index() + 1).max();
            let (begin, last) = match value.maker {
                Some((op, _)) => (op.index() + 1, end.unwrap_or(op.index() + 1)),
                None => (0, self.ops.len()),
            };
            for (i, copy) in copies.list.iter().enumerate() {
                let last = if i == 0 { last } else { end.unwrap_or(begin) };
                let bytes = cache.local_bytes(value.ty, copy.at);
                change[begin] += bytes;
                change[last + 1] -= bytes;
            }
        }
        let mut held = 0.0f64;
        change.iter().fold(0.0, |peak: f64, c| {
            held += c;
            peak.max(held)
        })
    }
}
