//! For each collective, the change of one annotation that removes it at the least cost.

use std::collections::HashMap;

use dialect::ir::Program;
use dialect::sharding::ShardingTable;

use super::Explained;
use super::causes::Origins;
use super::changes::{self, Change, Trial};

/// Finds, for each collective, the change that removes it and gives the fastest step.
pub(super) fn find(
    trial: &Trial<'_>,
    planned: &Program,
    shardings: &ShardingTable,
    origins: &Origins,
    explained: &mut [Explained],
    (step, peak): (f64, f64),
    tries: usize,
) {
    let wanted: Vec<Vec<Change>> = explained
        .iter()
        .map(|e| {
            if e.cause.manual {
                Vec::new()
            } else {
                changes::candidates(trial.imported, planned, shardings, origins, &e.cause)
            }
        })
        .collect();
    // Likeliest changes first, and those of the most expensive collectives before others.
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| explained[b].price.seconds.total_cmp(&explained[a].price.seconds));
    let mut numbers: HashMap<&Change, usize> = HashMap::new();
    let mut list: Vec<Change> = Vec::new();
    for rank in 0..wanted.iter().map(Vec::len).max().unwrap_or(0) {
        for change in order.iter().filter_map(|&i| wanted[i].get(rank)) {
            if list.len() < tries && !numbers.contains_key(change) {
                numbers.insert(change, list.len());
                list.push(change.clone());
            }
        }
    }
    let outcomes = trial.all(&list);
    for (e, wanted) in explained.iter_mut().zip(&wanted) {
        let key = e.cause.key();
        for change in wanted {
            let Some(&number) = numbers.get(change) else {
                e.untried = true;
                continue;
            };
            let Some(outcome) = outcomes[number].as_ref() else { continue };
            let saved = step - outcome.seconds;
            if !outcome.keys.contains(&key) && e.removal.as_ref().is_none_or(|r| r.1 < saved) {
                e.removal = Some((change.clone(), saved, outcome.peak_bytes - peak));
            }
        }
    }
}
