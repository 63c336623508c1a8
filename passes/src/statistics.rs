//! What passes count: numbers about what a pass did, besides what it made of the program.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// One number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statistic {
    /// Its name, in kebab-case.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
    /// The number.
    pub value: f64,
    /// What it is a number of.
    pub unit: Unit,
}

/// What a [`Statistic`] is a number of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// Things.
    Count,
    /// Seconds under a cost model: the same in every run.
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

    /// All of them; none are left.
    pub(crate) fn take(&self) -> Vec<Statistic> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
