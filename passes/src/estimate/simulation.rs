//! The simulator behind every modeled step: of a per-device program, of a plan and of fragments on several meshes.
//!
//! A task starts when its operands are ready and the resources that it needs are free, occupies one resource, and its
//! results are ready when it ends. The user of the simulator chooses the order of tasks, their seconds and resources.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The times, in seconds, at which numbered resources are free and values are ready.
pub(crate) struct Simulation<V> {
    begin: f64,
    /// When each resource is free; those beyond the end, from the beginning on.
    free: SmallVec<[f64; 8]>,
    ready: FxHashMap<V, f64>,
}

impl<V: Eq + Hash> Simulation<V> {
    /// Begins at `begin`, with all resources free.
    pub(crate) fn beginning(begin: f64) -> Self {
        Self { begin, free: SmallVec::new(), ready: FxHashMap::default() }
    }

    /// Returns the resources that were occupied so far, and some others.
    pub(crate) fn resources(&self) -> std::ops::Range<usize> {
        0..self.free.len()
    }

    /// Returns when all tasks have ended.
    pub(crate) fn end(&self) -> f64 {
        self.start(self.begin, self.resources())
    }

    /// Returns when a value is ready; `None` if no task computed it.
    pub(crate) fn ready(&self, value: V) -> Option<f64> {
        self.ready.get(&value).copied()
    }

    /// Returns when a task starts whose operands are ready at `ready` and that needs these resources.
    pub(crate) fn start(&self, ready: f64, resources: impl IntoIterator<Item = usize>) -> f64 {
        let free = resources.into_iter().map(|resource| self.free.get(resource).copied().unwrap_or(self.begin));
        free.fold(ready.max(self.begin), f64::max)
    }

    /// Occupies a resource until `end`.
    pub(crate) fn occupy(&mut self, resource: usize, end: f64) {
        if self.free.len() <= resource {
            self.free.resize(resource + 1, self.begin);
        }
        self.free[resource] = end;
    }

    /// Makes values ready at `end`.
    pub(crate) fn finish(&mut self, values: impl IntoIterator<Item = V>, end: f64) {
        self.ready.extend(values.into_iter().map(|value| (value, end)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_starts_when_operands_and_resources_are_free() {
        let mut run = Simulation::beginning(1.0);
        assert_eq!((run.end(), run.start(0.0, [3]), run.start(2.0, [0])), (1.0, 1.0, 2.0));
        run.occupy(2, 5.0);
        run.finish(["a", "b"], 5.0);
        assert_eq!((run.start(0.0, [0, 1]), run.start(0.0, [1, 2]), run.start(7.0, [2])), (1.0, 5.0, 7.0));
        assert_eq!((run.ready("b"), run.ready("c"), run.end()), (Some(5.0), None, 5.0));
        run.occupy(0, 9.0);
        assert_eq!((run.end(), run.start(0.0, run.resources().filter(|&r| r > 0))), (9.0, 5.0));
    }
}
