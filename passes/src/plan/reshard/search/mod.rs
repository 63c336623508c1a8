//! The search behind [`reshard`](crate::plan::reshard): the cheapest sequence of collectives between two distributions.
//!
//! Axes are split into *atoms*, the coarsest parts that make up both ends and every arrangement worth visiting. A state
//! has the atoms that shard each dimension and those that are unreduced; edges are the collectives. Dijkstra's
//! algorithm, guided by a lower bound on what a device must still receive (A*), finds the cheapest path. `MAX_STATES`
//! limits the number of visited states and so the time; at the limit, the caller's own sequence is used. `edges.rs`
//! has the steps from a state, `bound.rs` the lower bound.

mod edges;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dialect::op::CollectiveKind;
use dialect::sharding::{AxisPart, ShardDim};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::bound::{DimEnds, Fork, Reduction, Target};
use super::state::{List, State, atoms_of};
use super::step::{exchanged, parts_seconds};
use crate::plan::heuristics::{PLAN, ROUNDING};
use crate::plan::model::cost::CollectiveCost;

/// How a state was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edge {
    /// Local: each device keeps a slice of its shard.
    Slice,
    /// Local, too: makes partial results, filled up with zeros, along axes that sharded a dimension or were unused.
    ToUnreduced,
    Collective(CollectiveKind),
    /// A permute for each part of a shard.
    PermuteParts,
}

/// The redistribution to solve.
pub(crate) struct Problem<'a> {
    pub(crate) atoms: SmallVec<[AxisPart; 8]>,
    /// Sizes of the dimensions that are sharded at either end.
    pub(crate) shape: SmallVec<[i64; 4]>,
    /// The bytes of one element of these dimensions, times the sizes of all other dimensions.
    pub(crate) rest_bytes: f64,
    /// Whether both ends divide each of the dimensions evenly: then every state does, since no other state is
    /// [allowed](Self::allowed).
    pub(crate) divides: bool,
    pub(crate) from: State,
    pub(crate) to: State,
    /// The target shards in each dimension.
    pub(super) target: SmallVec<[ShardDim; 4]>,
    /// Whether shards may be sent in parts.
    pub(crate) parts: bool,
    pub(crate) cost: &'a dyn CollectiveCost,
}

/// The key of a [`Problem`] and its limit under one cost model: searches with equal keys have equal results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ProblemKey {
    atoms: SmallVec<[AxisPart; 8]>,
    shape: SmallVec<[i64; 4]>,
    rest_bytes: u64,
    from: State,
    to: State,
    parts: bool,
    /// The bits of the limit in seconds.
    bound: u64,
}

struct Visit {
    cost: f64,
    /// The estimate of the remaining cost that orders the states.
    floor: f64,
    /// A lower bound on the remaining cost.
    least: f64,
    back: usize,
    edge: Edge,
    done: bool,
}

/// The cost of a step, not yet computed, since most steps lead to states that the search has visited.
enum Price {
    Free,
    /// The cost of a collective that moves these atoms.
    Collective(CollectiveKind, List),
    /// The cost of a permute along all atoms that change.
    Permute,
    /// The cost of sending shards in this many parts along all atoms that change.
    Parts(i64),
}

impl Problem<'_> {
    /// Returns the key of the result of [`Self::solve`]; it determines whether axes divide dimensions.
    pub(super) fn key(&self, bound: f64) -> ProblemKey {
        ProblemKey {
            atoms: self.atoms.clone(),
            shape: self.shape.clone(),
            rest_bytes: self.rest_bytes.to_bits(),
            from: self.from.clone(),
            to: self.to.clone(),
            parts: self.parts,
            bound: bound.to_bits(),
        }
    }

    /// Returns the cheapest path that costs at most `bound`: the edges and the states they end in.
    pub(crate) fn solve(&self, bound: f64) -> Option<Vec<(Edge, State)>> {
        dialect::interrupt::check();
        let mut ids: FxHashMap<State, usize> = FxHashMap::default();
        let mut states = vec![self.from.clone()];
        let mut visits = vec![Visit { cost: 0.0, floor: 0.0, least: 0.0, back: 0, edge: Edge::Slice, done: false }];
        // The cheapest state first, then the oldest; costs aren't negative, so their bits have their order.
        let mut heap = BinaryHeap::from([Reverse((0, 0, 0))]);
        ids.insert(self.from.clone(), 0);
        let mut order = 0;
        // States whose lower bound exceeds this are skipped; once the target is found, so are all that can't be
        // cheaper. The order of states remains by the other floor, so that the same one of equally cheap paths is
        // found.
        let mut limit = bound * (1.0 + ROUNDING);
        while let Some(Reverse((_, _, at))) = heap.pop() {
            if visits[at].done || visits[at].cost + visits[at].least > limit && states[at] != self.to {
                continue;
            }
            visits[at].done = true;
            if states[at] == self.to {
                return Some(self.path(at, &visits, &states));
            }
            let (here, cost) = (states[at].clone(), visits[at].cost);
            let bytes = self.bytes(&here);
            self.edges(&here, bytes, limit - cost, &mut |edge, next, price| {
                let known = ids.get(next).copied();
                let (left, least) = match known {
                    Some(id) if visits[id].done || visits[id].cost <= cost => return,
                    Some(id) => (visits[id].floor, visits[id].least),
                    None if states.len() >= PLAN.max_states => return,
                    None => self.floors(next),
                };
                if cost + left > bound || cost + least > limit {
                    return;
                }
                let total = cost + self.price(&here, bytes, next, price);
                let floor = total + left;
                if floor > bound || total + least > limit || known.is_some_and(|id| visits[id].cost <= total) {
                    return;
                }
                if *next == self.to {
                    limit = limit.min(total * (1.0 - ROUNDING));
                }
                let id = known.unwrap_or(states.len());
                let visit = Visit { cost: total, floor: left, least, back: at, edge, done: false };
                if known.is_none() {
                    ids.insert(next.clone(), id);
                    states.push(next.clone());
                    visits.push(visit);
                } else {
                    visits[id] = visit;
                }
                order += 1;
                heap.push(Reverse((floor.to_bits(), order, id)));
            });
        }
        None
    }

    fn path(&self, mut at: usize, visits: &[Visit], states: &[State]) -> Vec<(Edge, State)> {
        let mut path = Vec::new();
        while at != 0 {
            path.push((visits[at].edge, states[at].clone()));
            at = visits[at].back;
        }
        path.reverse();
        path
    }

    /// Returns the number of shards that these atoms make, at most the number of devices.
    fn ways(&self, list: List) -> u32 {
        list.iter().map(|a| self.atoms[a as usize].size).product()
    }

    fn size(&self, list: List) -> i64 {
        i64::from(self.ways(list))
    }

    fn dim(&self, dim: usize, list: List) -> ShardDim {
        ShardDim::new(self.shape[dim], self.size(list))
    }

    fn local(&self, dim: usize, list: List) -> i64 {
        self.dim(dim, list).size()
    }

    fn bytes(&self, state: &State) -> f64 {
        state.dims.iter().enumerate().map(|(d, &l)| self.local(d, l) as f64).product::<f64>() * self.rest_bytes
    }

    /// Returns two [lower bounds](super::bound) on the remaining time: the one that orders states, and [`Self::least`].
    /// Where partial results are still to be made, the first may be too high; a lower one would make the search visit
    /// too many states. It ignores that some device may hold nothing of its target shard.
    fn floors(&self, state: &State) -> (f64, f64) {
        if state.unreduced & !self.to.unreduced != 0 {
            return (0.0, self.least(state));
        }
        let target = self.target_bytes(state);
        let makes_parts = self.to.unreduced & !state.unreduced != 0;
        let least = if makes_parts { 0.0 } else { self.cost.floor(target.missing()) };
        (self.cost.floor(target.bytes - target.held), least)
    }

    /// Returns the [lower bound](super::bound) on the remaining time.
    pub(super) fn least(&self, state: &State) -> f64 {
        if self.to.unreduced & !state.unreduced != 0 {
            return 0.0;
        }
        let pending = state.unreduced & !self.to.unreduced;
        if pending != 0 {
            let size = |set: u16| atoms_of(set).map(|a| f64::from(self.atoms[a as usize].size)).product::<f64>();
            let reduction = Reduction {
                parts: size(pending),
                wanted: size(self.free(&self.to)),
                devices: size(self.all() & !self.to.unreduced),
            };
            let bytes = self.shape.iter().map(|&n| n as f64).product::<f64>() * self.rest_bytes;
            return self.cost.floor(reduction.missing(bytes));
        }
        self.cost.floor(self.target_bytes(state).missing())
    }

    /// Returns the bytes of a device's target shard, and those that it holds in a state.
    fn target_bytes(&self, state: &State) -> Target {
        let dims = self.target.iter().enumerate().map(|(d, &after)| {
            let (list, target) = (state.dims[d], self.to.dims[d]);
            let before = if list == target { after } else { self.dim(d, list) };
            let is_apart = list != target && self.is_apart(d, list, before);
            DimEnds { before, after, is_apart }
        });
        Target::of(self.rest_bytes, dims)
    }

    /// Returns whether some device has nothing of its target shard if dimension `d` is in the shards `before`, by
    /// `list`.
    fn is_apart(&self, d: usize, list: List, before: ShardDim) -> bool {
        let target = self.to.dims[d];
        let common = list.common(target);
        let (Some(first), Some(_)) = (list.get(common), target.get(common)) else { return false };
        let fork = || Fork {
            begins: (i64::from(self.atoms[first as usize].size) - 1) * self.size(list.tail(common + 1)),
            ends: self.size(target.tail(common + 1)),
            returns: target.contains(first),
            leaves: self.to.dims.iter().enumerate().any(|(e, l)| e != d && l.contains(first)),
        };
        self.divides || fork().is_apart(before, self.target[d])
    }

    /// Returns whether `dim` may be sharded by `list`: evenly, or by a prefix of its list at one of the ends.
    fn allowed(&self, dim: usize, list: List) -> bool {
        self.dim(dim, list).is_even()
            || !self.divides && (self.from.dims[dim].starts_with(list) || self.to.dims[dim].starts_with(list))
    }

    /// Returns whether shards by `fine` are contained in those by its prefix of length `keep`, with none shifted by
    /// padding.
    fn aligned(&self, dim: usize, fine: List, keep: usize) -> bool {
        keep == 0 || self.divides || self.dim(dim, fine).refines(self.dim(dim, fine.head(keep)))
    }

    /// Returns whether no element shifts within a dimension between two states.
    fn fits(&self, before: &State, after: &State) -> bool {
        before.dims.iter().zip(&after.dims).enumerate().all(|(d, (&a, &b))| {
            a == b
                || self.allowed(d, b)
                    && match () {
                        _ if self.divides => true,
                        _ if b.starts_with(a) => self.aligned(d, b, a.len()),
                        _ if a.starts_with(b) => self.aligned(d, a, b.len()),
                        _ => self.dim(d, a).is_even() && self.dim(d, b).is_even(),
                    }
        })
    }

    /// Returns the seconds of a step from a state of `bytes` on each device.
    fn price(&self, from: &State, bytes: f64, to: &State, price: Price) -> f64 {
        let axes = |moved: List| -> SmallVec<[AxisPart; 8]> { moved.iter().map(|a| self.atoms[a as usize]).collect() };
        let exchanged = || if self.divides { (bytes, self.bytes(to)) } else { self.padded_bytes(from, to) };
        let (kind, moved) = match price {
            Price::Free => return 0.0,
            Price::Parts(count) => {
                return parts_seconds(self.cost, count, exchanged().0, &axes(self.changed(from, to)));
            }
            Price::Permute => (CollectiveKind::CollectivePermute, self.changed(from, to)),
            Price::Collective(kind, moved) => (kind, moved),
        };
        let (operand, result) = exchanged();
        self.cost.seconds(kind, operand, result, &axes(moved))
    }

    /// Returns the atoms of all dimensions that differ.
    fn changed(&self, before: &State, after: &State) -> List {
        let (mut moved, mut seen) = (List::default(), 0u16);
        for (a, b) in before.dims.iter().zip(&after.dims).filter(|(a, b)| a != b) {
            for x in a.iter().chain(b.iter()) {
                if seen & (1 << x) == 0 {
                    seen |= 1 << x;
                    moved.push(x);
                }
            }
        }
        moved
    }

    /// Returns the bytes of a device's operand and result, if dimensions are padded before they are divided and trimmed
    /// after they are gathered.
    fn padded_bytes(&self, from: &State, to: &State) -> (f64, f64) {
        let dims = from.dims.iter().zip(&to.dims).enumerate();
        dims.fold((self.rest_bytes, self.rest_bytes), |(operand, result), (d, (&a, &b))| {
            let before = self.dim(d, a);
            let (operand_size, result_size) = match a == b {
                true => (before.size() as f64, before.size() as f64),
                false => exchanged(before, self.dim(d, b)),
            };
            (operand * operand_size, result * result_size)
        })
    }

    /// Returns the set of all atoms.
    fn all(&self) -> u16 {
        (1 << self.atoms.len()) - 1
    }

    /// Returns the set of atoms that a state doesn't use.
    fn free(&self, state: &State) -> u16 {
        self.all() & !state.dims.iter().fold(state.unreduced, |set, l| set | l.set())
    }
}
