//! For each group of equal collectives, the change of its members' annotations that removes them and results in the
//! fastest step.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use dialect::ir::Program;
use dialect::sharding::ShardingTable;

use super::Explained;
use super::causes::Origins;
use super::changes::{self, Change, Trial, Tried};
use super::groups::Group;

/// A change that removes a group of collectives.
#[derive(Clone, Debug)]
pub(super) struct Removing {
    /// The changed annotations: one for all members, or one for each.
    pub(super) changes: Vec<Change>,
    /// Seconds saved in a step; negative if the step gets slower.
    pub(super) saves: f64,
    /// Bytes added on each device.
    pub(super) adds: f64,
}

/// The result of the trials for a group.
#[derive(Clone, Default, Debug)]
pub(super) struct GroupRemoval {
    /// The change that removes it and results in the fastest step.
    pub(super) removal: Option<Removing>,
    /// Whether some changes were not tried.
    pub(super) untried: bool,
}

/// The limits on trials.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of changes to try.
    pub(super) tries: usize,
    /// The time after which no further trial starts.
    pub(super) budget: Option<Duration>,
}

/// The program to explain, with its plan and shardings.
pub(super) struct Planned<'a> {
    pub(super) program: &'a Program,
    pub(super) shardings: &'a ShardingTable,
    pub(super) origins: &'a Origins,
    /// Seconds of a step.
    pub(super) step_seconds: f64,
    /// Bytes of values on each device.
    pub(super) peak_bytes: f64,
}

/// Finds, for each group, the change that removes it and results in the fastest step. The most likely changes are tried
/// first, and expensive groups before cheap ones. Only groups whose changes fit into the limit are examined.
pub(super) fn find(
    trial: &Trial<'_>,
    planned: &Planned<'_>,
    explained: &[Explained],
    groups: &[Group],
    limits: Limits,
) -> Vec<GroupRemoval> {
    let deadline = limits.budget.map(|budget| std::time::Instant::now() + budget);
    let mut possible: Vec<Option<Vec<Vec<Change>>>> = Vec::with_capacity(groups.len());
    let mut with_changes = 0;
    for group in groups {
        let changes = (with_changes < limits.tries).then(|| candidates(trial, planned, explained, group));
        with_changes += usize::from(changes.as_ref().is_some_and(|changes| !changes.is_empty()));
        possible.push(changes);
    }
    let mut numbers: HashMap<&[Change], usize> = HashMap::new();
    let mut list: Vec<Vec<Change>> = Vec::new();
    for rank in 0..possible.iter().flatten().map(Vec::len).max().unwrap_or(0) {
        for changes in possible.iter().flatten().filter_map(|possible| possible.get(rank)) {
            if list.len() < limits.tries && !numbers.contains_key(&changes[..]) {
                numbers.insert(changes, list.len());
                list.push(changes.clone());
            }
        }
    }
    let outcomes = trial.all(&list, deadline);
    let Planned { step_seconds: step, peak_bytes: peak, .. } = *planned;
    let one = |(group, possible): (&Group, &Option<Vec<Vec<Change>>>)| {
        let mut found = GroupRemoval { removal: None, untried: possible.is_none() };
        for changes in possible.iter().flatten() {
            let outcome = match numbers.get(&changes[..]).map(|&number| &outcomes[number]) {
                Some(Tried::Done(outcome)) => outcome,
                Some(Tried::Failed) => continue,
                Some(Tried::Not) | None => {
                    found.untried = true;
                    continue;
                }
            };
            let saves = step - outcome.seconds;
            let is_left = |&i: &usize| outcome.keys.contains(&explained[i].cause.key());
            if !group.members.iter().any(is_left) && found.removal.as_ref().is_none_or(|r| r.saves < saves) {
                found.removal = Some(Removing { changes: changes.clone(), saves, adds: outcome.peak_bytes - peak });
            }
        }
        found
    };
    groups.iter().zip(&possible).map(one).collect()
}

/// Returns the changes that may remove a group: each change for its first member, combined with the same change for the
/// other members.
fn candidates(trial: &Trial<'_>, planned: &Planned<'_>, explained: &[Explained], group: &Group) -> Vec<Vec<Change>> {
    let of = |&i: &usize| {
        let cause = &explained[i].cause;
        if cause.manual {
            return Vec::new();
        }
        changes::candidates(trial.imported, planned.program, planned.shardings, planned.origins, cause)
    };
    let mut members = group.members.iter().map(of);
    let first = members.next().unwrap_or_default();
    let mut together: Vec<Vec<Change>> = first.into_iter().map(|change| vec![change]).collect();
    for other in members {
        for (rank, changes) in together.iter_mut().enumerate() {
            // Usually it is the change of the same rank.
            let like = other.get(rank).into_iter().chain(&other).find(|change| change.is_like(&changes[0]));
            changes.extend(like.cloned());
        }
    }
    for changes in &mut together {
        let mut seen = HashSet::new();
        changes.retain(|change| seen.insert(change.clone()));
    }
    together
}
