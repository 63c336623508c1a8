//! Orders the devices of a group in a ring so that neighbors are one link apart.
//!
//! Where an axis spans several physical dimensions, devices that follow each other in the mesh may be far apart. A grid
//! with one even side has a cycle along its links: through all columns but the first, back and forth row by row, and
//! back through the first.

use std::rc::Rc;

use dialect::collective::Groups;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::estimate::Machine;
use crate::estimate::placement::{DIMS, Place};
use crate::heuristics::HEURISTICS;

/// Returns the positions in a group in the order of the cheapest ring; `None` where that is the group's own order, or
/// distances don't matter.
pub(super) fn ring_order(machine: &Machine, groups: &Groups) -> Option<Rc<[i64]>> {
    let placement = machine.placement()?;
    let first: Option<Vec<Place>> = groups.group(0).map(|d| placement.coordinates(machine.position(d))).collect();
    let own: Vec<i64> = (0..groups.size() as i64).collect();
    let mut best = (seconds(machine, groups, &own), None);
    for order in cycles(&first?) {
        let seconds = seconds(machine, groups, &order);
        if seconds < best.0 {
            best = (seconds, Some(order.into()));
        }
    }
    best.1
}

/// Returns the seconds in which every device sends a large message to the device before it.
fn seconds(machine: &Machine, groups: &Groups, order: &[i64]) -> f64 {
    let mut pairs = Vec::new();
    for group in groups.iter() {
        let devices: Vec<u64> = group.map(|d| machine.position(d)).collect();
        let next = order.iter().cycle().skip(1);
        pairs.extend(order.iter().zip(next).map(|(&to, &from)| (devices[from as usize], devices[to as usize])));
    }
    pairs.sort_unstable();
    pairs.dedup();
    machine.permute_seconds(HEURISTICS.ring_bytes, machine.route(&pairs).as_ref())
}

/// Returns orders of these positions along links, if they fill a box: the cycle through each side that is even, or that
/// is the only one.
fn cycles(places: &[Place]) -> Vec<Vec<i64>> {
    let mut sides: [Vec<u64>; DIMS] = Default::default();
    for (d, side) in sides.iter_mut().enumerate() {
        side.extend(places.iter().map(|p| p[d]));
        side.sort_unstable();
        side.dedup();
    }
    let at: FxHashMap<Place, i64> = places.iter().copied().zip(0..).collect();
    if sides.iter().map(Vec::len).product::<usize>() != places.len() || at.len() != places.len() {
        return Vec::new();
    }
    let long: SmallVec<[usize; DIMS]> = (0..DIMS).filter(|&d| sides[d].len() > 1).collect();
    let along = |&d: &usize| long.len() == 1 || sides[d].len().is_multiple_of(2);
    let cycle = |&d: &usize| {
        let others = path(&sides, long.iter().copied().filter(|&o| o != d).collect());
        let rows = sides[d].len();
        let mut cells: Vec<(usize, usize)> = Vec::with_capacity(places.len());
        for row in 0..rows {
            let columns = 1..others.len();
            match row % 2 {
                0 => cells.extend(columns.map(|c| (row, c))),
                _ => cells.extend(columns.rev().map(|c| (row, c))),
            }
        }
        cells.extend((0..rows).rev().map(|row| (row, 0)));
        let place = |(row, column): (usize, usize)| {
            let mut place = others[column];
            place[d] = sides[d][row];
            at[&place]
        };
        cells.into_iter().map(place).collect()
    };
    long.iter().filter(|d| along(d)).map(cycle).collect()
}

/// Returns a path through all positions of some sides, back and forth; the other coordinates are those of the first
/// position.
fn path(sides: &[Vec<u64>; DIMS], dims: SmallVec<[usize; DIMS]>) -> Vec<Place> {
    let mut path = vec![std::array::from_fn(|d| sides[d].first().copied().unwrap_or(0))];
    for d in dims {
        let mut longer = Vec::with_capacity(path.len() * sides[d].len());
        for (i, &at) in sides[d].iter().enumerate() {
            let moved = path.iter().map(|p: &Place| {
                let mut p = *p;
                p[d] = at;
                p
            });
            if i % 2 == 0 { longer.extend(moved) } else { longer.extend(moved.rev()) }
        }
        path = longer;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_of_a_ring_are_one_link_apart() {
        for size in [[4, 2, 1, 1], [2, 3, 1, 1], [3, 4, 1, 1], [2, 2, 2, 1], [3, 2, 3, 1], [4, 4, 4, 2]] {
            let [a, b, c, d]: [u64; 4] = size;
            let all = (0..a * b * c * d).map(|i| [0, i / (b * c * d), i / (c * d) % b, i / d % c, i % d]);
            let places: Vec<Place> = all.collect();
            let found = cycles(&places);
            assert!(!found.is_empty(), "{size:?}");
            for cycle in found {
                let mut sorted = cycle.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..places.len() as i64), "{size:?}: {cycle:?} isn't all places");
                for (&from, &to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                    let [from, to] = [from, to].map(|i| places[i as usize]);
                    let far: u64 = from.iter().zip(to).map(|(&x, y)| x.abs_diff(y)).sum();
                    assert_eq!(far, 1, "{size:?}: {from:?} to {to:?}");
                }
            }
        }
    }

    #[test]
    fn only_boxes_have_such_rings() {
        assert!(cycles(&[[0; DIMS], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]).is_empty());
        assert!(cycles(&[[0; DIMS], [0; DIMS]]).is_empty());
    }
}
