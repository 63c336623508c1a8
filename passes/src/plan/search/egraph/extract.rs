//! Extraction: the cheapest set of terms that makes all wanted classes, with shared terms counted once.
//!
//! Every e-class stores the cheapest set of e-classes found so far to make it, with one node for each; the sets of
//! operands are merged, so shared members are paid once. Sets only get cheaper; a node whose operands need its own
//! class is skipped, so no choice is circular. This is a heuristic: choosing shared terms jointly is NP-hard.

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::term::{Term, Terms};
use crate::plan::heuristics::PLAN;

/// The relative rounding error of a sum of the same prices in another order.
const ROUNDING: f64 = 1e-6;

/// The node chosen for each class of a set, sorted by class, and the cost of all of them.
struct Chosen {
    nodes: Vec<(u32, u32)>,
    price: f64,
}

/// Returns the nodes that make class `root`, each with its price. `prices` has the prices of all nodes in the order of
/// their classes. `None` when no set makes `root`.
pub(super) fn extract(terms: &Terms<'_, '_>, root: Id, prices: Vec<f64>) -> Option<Vec<Term>> {
    let classes: Vec<_> = terms.classes().collect();
    let index: FxHashMap<Id, u32> = classes.iter().enumerate().map(|(i, c)| (c.id, i as u32)).collect();
    let mut prices = prices.into_iter();
    let nodes: Vec<Vec<(SmallVec<[u32; 3]>, f64)>> = classes
        .iter()
        .map(|c| {
            let children = |n: &Term| n.children.iter().map(|&c| index[&terms.find(c)]).collect();
            c.nodes.iter().zip(&mut prices).map(|(n, price)| (children(n), price)).collect()
        })
        .collect();
    let mut best: Vec<Option<Chosen>> = (0..classes.len()).map(|_| None).collect();
    // The number of sets found when each class last got one, and when each node was last examined: a node whose
    // operands' sets haven't changed since gives no new set.
    let mut found = 0u32;
    let mut last_found = vec![0u32; classes.len()];
    let mut seen: Vec<Vec<Option<u32>>> = nodes.iter().map(|n| vec![None; n.len()]).collect();
    for _ in 0..PLAN.extract_sweeps {
        let mut changed = false;
        for class in 0..classes.len() {
            for (i, (children, own)) in nodes[class].iter().enumerate() {
                let before = seen[class][i].replace(found);
                if before.is_some_and(|at| children.iter().all(|&c| last_found[c as usize] <= at)) {
                    continue;
                }
                // All nodes of the first operand's set are in the merged set, too.
                let first = children.first().map_or(0.0, |&c| best[c as usize].as_ref().map_or(0.0, |b| b.price));
                if best[class].as_ref().is_some_and(|b| (first + own) * (1.0 - ROUNDING) > b.price) {
                    continue;
                }
                let Some(all) = united(&best, children, class as u32, i as u32) else { continue };
                let total: f64 = all.iter().map(|&(c, n)| nodes[c as usize][n as usize].1).sum();
                if best[class].as_ref().is_none_or(|b| total < b.price * (1.0 - 1e-9)) {
                    best[class] = Some(Chosen { nodes: all, price: total });
                    found += 1;
                    last_found[class] = found;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let chosen = best[*index.get(&terms.find(root))? as usize].as_ref()?;
    Some(chosen.nodes.iter().map(|&(c, n)| classes[c as usize].nodes[n as usize].clone()).collect())
}

/// Returns the merged sets of `children`, with node `node` of `class`; `None` where a child has no set yet or needs
/// `class`.
fn united(best: &[Option<Chosen>], children: &[u32], class: u32, node: u32) -> Option<Vec<(u32, u32)>> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for &child in children {
        let set = &best[child as usize].as_ref()?.nodes;
        if set.binary_search_by_key(&class, |n| n.0).is_ok() {
            return None;
        }
        // Of two nodes for one class the first is kept: its operands are in the set that it came with.
        let mut merged = Vec::with_capacity(all.len() + set.len());
        let (mut a, mut b) = (all.iter().peekable(), set.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.0.cmp(&y.0) {
                std::cmp::Ordering::Less => merged.extend(a.next()),
                std::cmp::Ordering::Greater => merged.extend(b.next()),
                std::cmp::Ordering::Equal => {
                    merged.extend(a.next());
                    b.next();
                }
            }
        }
        merged.extend(a);
        merged.extend(b);
        all = merged;
    }
    let at = all.partition_point(|n| n.0 < class);
    all.insert(at, (class, node));
    Some(all)
}
