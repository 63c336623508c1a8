//! Statistics of the searches for a plan: what they looked at, their time, and their gains.

use std::time::Duration;

use crate::options::Options;
use crate::plan::PlanReport;
use crate::statistics::{Statistic, Unit};

/// Counts, costs and times of the searches for a plan.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Effort {
    /// Ops that are planned.
    pub ops: usize,
    /// Ops of different roles: equal layers count once.
    pub roles: usize,
    /// Moves of mesh axes examined in the search over the whole program.
    pub moves: usize,
    /// Moves that made the plan cheaper.
    pub helpful_moves: usize,
    /// Windows around values that are moved.
    pub windows: usize,
    /// Distinct windows: equal ones share one result.
    pub distinct_windows: usize,
    /// Windows in which rewrites made the plan cheaper.
    pub helpful_windows: usize,
    /// Nodes of the e-graphs of all distinct windows.
    pub e_nodes: usize,
    /// Classes of these e-graphs.
    pub e_classes: usize,
    /// Modeled seconds of the plan after the search over the whole program.
    pub expanded: f64,
    /// Modeled seconds after rewrites, before changes are undone to save memory or to shorten the step.
    pub rewritten: f64,
    /// Time to find the greedy plan.
    pub greedy_time: Duration,
    /// Time of the search over the whole program.
    pub expand_time: Duration,
    /// Time of rewriting.
    pub rewrite_time: Duration,
}

impl Effort {
    /// Adds the counts and times of a search whose plan isn't used.
    pub(crate) fn add(&mut self, other: &Self) {
        self.moves += other.moves;
        self.helpful_moves += other.helpful_moves;
        self.windows += other.windows;
        self.distinct_windows += other.distinct_windows;
        self.helpful_windows += other.helpful_windows;
        self.e_nodes += other.e_nodes;
        self.e_classes += other.e_classes;
        self.greedy_time += other.greedy_time;
        self.expand_time += other.expand_time;
        self.rewrite_time += other.rewrite_time;
    }

    /// Adds the sizes and costs of a plan that is used.
    pub(crate) fn adopt(&mut self, other: &Self) {
        self.ops += other.ops;
        self.roles += other.roles;
        self.expanded += other.expanded;
        self.rewritten += other.rewritten;
    }
}

/// Reports the search's counts as statistics of the pass.
pub(super) fn count(given: &Options, report: &PlanReport) {
    let e = &report.effort;
    let counts = [
        ("ops", "planned ops", e.ops),
        ("roles", "distinct ops: equal layers count once", e.roles),
        ("moves", "moves of mesh axes that expand evaluated", e.moves),
        ("helpful-moves", "moves that reduced the cost of the plan", e.helpful_moves),
        ("windows", "windows around redistributed values", e.windows),
        ("distinct-windows", "distinct windows", e.distinct_windows),
        ("helpful-windows", "windows in which rewrites reduced the cost of the plan", e.helpful_windows),
        ("e-nodes", "nodes of the e-graphs of distinct windows", e.e_nodes),
        ("e-classes", "classes of these e-graphs", e.e_classes),
    ];
    let modelled = [
        ("greedy", "modelled time of the greedy plan", report.greedy_seconds),
        ("expand", "modelled time after expand", e.expanded),
        ("rewrite", "modelled time after rewrites", e.rewritten),
        ("plan", "modelled time of the final plan", report.seconds),
    ];
    let times = [
        ("greedy", "the greedy plan", e.greedy_time),
        ("expand", "the search over the whole program", e.expand_time),
        ("rewrite", "the search by rewrites", e.rewrite_time),
    ];
    let counts = counts.map(|(name, doc, count)| (name, doc, count as f64, Unit::Count));
    let modelled = modelled.map(|(name, doc, value)| (name, doc, value, Unit::Modelled));
    let times = times.map(|(name, doc, time)| (name, doc, time.as_secs_f64(), Unit::Time));
    let all = counts.into_iter().chain(modelled).chain(times);
    all.for_each(|(name, doc, value, unit)| given.count(Statistic { name, doc, value, unit }));
}
