//! The difference in cost of two plans, as data. Serialized, it is what `shardc diff --json` prints.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cost::{CollectiveCost, Cost};

/// Two costs and the differences of their collectives.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CostDiff {
    /// The first cost.
    pub before: Cost,
    /// The second cost.
    pub after: Cost,
    /// Collectives by kind and mesh axes, sorted by decreasing difference in seconds.
    pub kinds: Vec<CollectiveDiff>,
    /// Collectives by the source line, or the argument, that they come from; lines without a difference are left out.
    pub lines: Vec<CollectiveDiff>,
}

/// The collectives of both plans that share a key.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CollectiveDiff {
    /// The key: `all_gather data`, `model.py:12:5`.
    pub name: String,
    /// The sum over the first plan.
    pub before: CollectiveSum,
    /// The sum over the second plan.
    pub after: CollectiveSum,
}

/// A sum over collectives in one step.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CollectiveSum {
    /// The number of executions.
    pub count: u64,
    /// Bytes that a device contributes.
    pub operand_bytes: u64,
    /// Bytes that a device has afterwards.
    pub result_bytes: u64,
    /// Seconds.
    pub time_s: f64,
}

impl CostDiff {
    /// Compares two costs.
    pub fn new(before: Cost, after: Cost) -> Self {
        let kind = |c: &CollectiveCost| format!("{} {}", c.kind, c.axes.join(",")).trim_end().to_owned();
        let line = |c: &CollectiveCost| c.of.clone().unwrap_or_else(|| "no source line".to_owned());
        let kinds = differences(&before, &after, kind);
        let mut lines = differences(&before, &after, line);
        lines.retain(|line| line.before != line.after);
        Self { before, after, kinds, lines }
    }
}

fn differences(before: &Cost, after: &Cost, name: impl Fn(&CollectiveCost) -> String) -> Vec<CollectiveDiff> {
    let mut all: BTreeMap<String, [CollectiveSum; 2]> = BTreeMap::new();
    for (i, cost) in [before, after].into_iter().enumerate() {
        for c in &cost.collectives {
            all.entry(name(c)).or_default()[i].add(c);
        }
    }
    let diff = |(name, [before, after]): (String, [CollectiveSum; 2])| CollectiveDiff { name, before, after };
    let mut list: Vec<CollectiveDiff> = all.into_iter().map(diff).collect();
    let seconds = |d: &CollectiveDiff| (d.after.time_s - d.before.time_s).abs();
    list.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    list
}

impl CollectiveSum {
    fn add(&mut self, c: &CollectiveCost) {
        self.count += c.count;
        self.operand_bytes += c.operand_bytes * c.count;
        self.result_bytes += c.result_bytes * c.count;
        self.time_s += c.time_s * c.count as f64;
    }
}
