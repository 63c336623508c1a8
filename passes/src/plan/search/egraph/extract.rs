//! Extraction: the cheapest set of terms that makes everything wanted, with shared terms counted once.
//!
//! Every e-class keeps the best set of e-classes found to make it, with one node for each; the sets of operands are
//! merged, so what they share is paid once. Sets only ever get cheaper; a node whose operands need its own class is
//! left out, so no choice is circular. This is a heuristic: choosing shared terms jointly is NP-hard.

use egg::Id;
use rustc_hash::FxHashMap;

use super::term::{Term, Terms};

/// Most sweeps over all classes.
const MAX_SWEEPS: usize = 12;

/// The node chosen for each class of a set, sorted by class, and the cost of all of them.
struct Chosen {
    nodes: Vec<(u32, u32)>,
    price: f64,
}

/// The nodes that make class `root`, each with the cost that `price` gives; `None` when nothing makes it.
pub(super) fn extract(terms: &Terms<'_, '_>, root: Id, price: &mut dyn FnMut(&Term) -> f64) -> Option<Vec<Term>> {
    let classes: Vec<_> = terms.classes().collect();
    let index: FxHashMap<Id, u32> = classes.iter().enumerate().map(|(i, c)| (c.id, i as u32)).collect();
    let nodes: Vec<Vec<(Vec<u32>, f64)>> = classes
        .iter()
        .map(|c| {
            let node = |n: &Term| (n.children.iter().map(|&c| index[&terms.find(c)]).collect(), price(n));
            c.nodes.iter().map(node).collect()
        })
        .collect();
    let mut best: Vec<Option<Chosen>> = (0..classes.len()).map(|_| None).collect();
    for _ in 0..MAX_SWEEPS {
        let mut changed = false;
        for class in 0..classes.len() {
            for (i, (children, _)) in nodes[class].iter().enumerate() {
                let Some(all) = united(&best, children, class as u32, i as u32) else { continue };
                let total: f64 = all.iter().map(|&(c, n)| nodes[c as usize][n as usize].1).sum();
                if best[class].as_ref().is_none_or(|b| total < b.price * (1.0 - 1e-9)) {
                    best[class] = Some(Chosen { nodes: all, price: total });
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

/// The merged sets of `children`, with node `node` of `class`; `None` where a child has no set yet or needs `class`.
fn united(best: &[Option<Chosen>], children: &[u32], class: u32, node: u32) -> Option<Vec<(u32, u32)>> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for &child in children {
        let set = &best[child as usize].as_ref()?.nodes;
        if set.binary_search_by_key(&class, |n| n.0).is_ok() {
            return None;
        }
        // Of two nodes for one class the first is kept: what it needs is in the set it came with.
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
