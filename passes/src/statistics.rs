//! Statistics of passes: numbers about a pass's work, in addition to the resulting program.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// One number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statistic {
    /// Its name, in kebab-case.
    pub name: &'static str,
    /// A description of the number.
    pub doc: &'static str,
    /// The number.
    pub value: f64,
    /// The unit of the number.
    pub unit: Unit,
}

/// The unit of a [`Statistic`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// A count.
    Count,
    /// Seconds under a cost model, equal in every run.
    Modelled,
    /// Seconds that a part of the pass took.
    Time,
}

/// Numbers that a pass has counted; copies share them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Statistics(Arc<Mutex<Vec<Statistic>>>);

impl Statistics {
    pub(crate) fn add(&self, statistic: Statistic) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(statistic);
    }

    /// Returns all numbers and removes them.
    pub(crate) fn take(&self) -> Vec<Statistic> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
