//! The search behind [`reshard`](crate::plan::reshard): the cheapest sequence of collectives between two distributions.
//!
//! Axes are split into *atoms*, the coarsest parts that make up both ends and every arrangement worth visiting. A state
//! has the atoms that shard each dimension and those that are unreduced; edges are the collectives. Dijkstra's
//! algorithm, guided by a lower bound on what a device must still receive (A*), finds the cheapest path. `MAX_STATES`
//! limits the number of visited states and so the time; at the limit, the caller's own sequence is used.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dialect::op::CollectiveKind;
use dialect::sharding::{AxisPart, ShardDim};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

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
    /// The target shard of a device: the sizes of these dimensions, and its bytes.
    pub(crate) wanted: Shard,
    /// Whether shards may be sent in parts.
    pub(crate) parts: bool,
    pub(crate) cost: &'a dyn CollectiveCost,
}

/// The sizes of a device's shard in dimensions that are sharded, and its bytes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Shard {
    sizes: SmallVec<[f64; 4]>,
    bytes: f64,
}

/// The key of a [`Problem`] under one cost model: problems with equal keys have equal results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    atoms: SmallVec<[AxisPart; 8]>,
    shape: SmallVec<[i64; 4]>,
    rest_bytes: u64,
    from: State,
    to: State,
    parts: bool,
}

#[derive(PartialEq)]
struct Queued {
    /// Lower bound on the cost of a full path through the state.
    floor: f64,
    order: usize,
    state: usize,
}

impl Eq for Queued {}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap returns the largest, which must be the cheapest, then the oldest.
        other.floor.total_cmp(&self.floor).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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
    /// Returns the key of the problem's result under one cost model; it determines whether axes divide dimensions.
    pub(super) fn question(&self) -> Question {
        Question {
            atoms: self.atoms.clone(),
            shape: self.shape.clone(),
            rest_bytes: self.rest_bytes.to_bits(),
            from: self.from.clone(),
            to: self.to.clone(),
            parts: self.parts,
        }
    }

    /// Returns the cheapest path that costs at most `bound`: the edges and the states they end in.
    pub(crate) fn solve(&self, bound: f64) -> Option<Vec<(Edge, State)>> {
        dialect::interrupt::check();
        let mut ids: FxHashMap<State, usize> = FxHashMap::default();
        let mut states = vec![self.from.clone()];
        let mut visits = vec![Visit { cost: 0.0, floor: 0.0, least: 0.0, back: 0, edge: Edge::Slice, done: false }];
        let mut heap = BinaryHeap::from([Queued { floor: 0.0, order: 0, state: 0 }]);
        ids.insert(self.from.clone(), 0);
        let mut order = 0;
        // States whose lower bound exceeds this are skipped; once the target is found, so are all that can't be
        // cheaper. The order of states remains by the other floor, so that the same one of equally cheap paths is
        // found.
        let mut limit = bound * (1.0 + ROUNDING);
        while let Some(Queued { state: at, .. }) = heap.pop() {
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
                heap.push(Queued { floor, order, state: id });
            });
        }
        None
    }

    /// Returns a lower bound on the cost of every path.
    pub(crate) fn at_least(&self) -> f64 {
        self.least(&self.from)
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

    /// Computes the target shard of a device.
    pub(crate) fn with_wanted(mut self) -> Self {
        let sizes: SmallVec<[f64; 4]> =
            self.to.dims.iter().enumerate().map(|(d, &l)| self.local(d, l) as f64).collect();
        let bytes = sizes.iter().product::<f64>() * self.rest_bytes;
        self.wanted = Shard { sizes, bytes };
        self
    }

    /// Returns two lower bounds on the remaining time: the one that orders states, and [`Self::least`]. A device must
    /// receive the part of its target shard that it doesn't hold. Where partial results are still to be made, the first
    /// may be too high, since a device fills them with zeros that aren't sent; a lower one would make the search visit
    /// too many states.
    fn floors(&self, state: &State) -> (f64, f64) {
        if state.unreduced & !self.to.unreduced != 0 {
            return (0.0, self.least(state));
        }
        let floor = self.cost.floor(self.wanted.bytes - self.overlap(state));
        let least = match () {
            _ if self.to.unreduced & !state.unreduced != 0 => 0.0,
            _ if self.is_apart(state) => self.cost.floor(self.wanted.bytes),
            _ => floor,
        };
        (floor, least)
    }

    /// Returns an upper bound on the bytes of its target shard that a device holds.
    fn overlap(&self, state: &State) -> f64 {
        let sizes = state.dims.iter().zip(&self.to.dims).zip(&self.wanted.sizes).enumerate();
        let least = |(d, ((&a, &b), &wanted)): (usize, ((&List, &List), &f64))| match a == b {
            true => wanted,
            false => wanted.min(self.local(d, a) as f64),
        };
        sizes.map(least).product::<f64>() * self.rest_bytes
    }

    /// Returns a lower bound on the remaining time that accounts for reductions. For an element in `n` parts whose sum
    /// `c` devices want, `n - 1` parts are sent on the way to the first device that has the sum, and each of the other
    /// `c - 1` devices receives something that completes it, too. A device without any part of its target shard
    /// receives all of it.
    fn least(&self, state: &State) -> f64 {
        // Zeros that fill up partial results aren't sent.
        if self.to.unreduced & !state.unreduced != 0 {
            return 0.0;
        }
        let pending = state.unreduced & !self.to.unreduced;
        if pending != 0 {
            let size = |set: u16| atoms_of(set).map(|a| f64::from(self.atoms[a as usize].size)).product::<f64>();
            let (parts, wanted) = (size(pending), size(self.free(&self.to)));
            let devices = size(self.all() & !self.to.unreduced);
            let bytes = self.shape.iter().map(|&n| n as f64).product::<f64>() * self.rest_bytes;
            return self.cost.floor(bytes * (parts + wanted - 2.0) / devices);
        }
        let overlap = if self.is_apart(state) { 0.0 } else { self.overlap(state) };
        self.cost.floor(self.wanted.bytes - overlap)
    }

    /// Returns whether some device has nothing of its target shard.
    fn is_apart(&self, state: &State) -> bool {
        state.dims.iter().zip(&self.to.dims).enumerate().any(|(d, (&a, &b))| self.apart(d, a, b))
    }

    /// Returns whether some device has nothing of its target shard, and that shard has no padding, if dimension `d` is
    /// sharded by `list` and wanted sharded by `target`. The device is the last one along the first atom in which the
    /// two differ, and the first along all others.
    fn apart(&self, d: usize, list: List, target: List) -> bool {
        let common = list.common(target);
        let (Some(last), Some(_)) = (list.get(common), target.get(common)) else { return false };
        if self.divides {
            return true;
        }
        let begins = (i64::from(self.atoms[last as usize].size) - 1) * self.size(list.tail(common + 1));
        let ends = self.size(target.tail(common + 1)) * self.local(d, target);
        // The device's target shard is the first one in other dimensions, too, and ends before the padding in this one.
        let full = |(e, wanted): (usize, &List)| !wanted.contains(last) || e == d && ends <= self.shape[d];
        let full = self.to.dims.iter().enumerate().all(full);
        full && begins * self.local(d, list) >= ends
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

    /// Calls `show` with every step from a state of `bytes` on each device (its kind, its end, its price), except for
    /// steps that must cost more than `limit`.
    fn edges(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
        let pending = state.unreduced & !self.to.unreduced;
        let free = self.free(state);
        self.slices(state, free, show);
        self.to_unreduced(state, free, show);
        if pending != 0 {
            self.reductions(state, pending, show);
        }
        self.gathers(state, bytes, limit, show);
        self.all_to_alls(state, bytes, limit, show);
        self.permutes(state, bytes, limit, show);
        self.permute_parts(state, show);
    }

    fn slices(&self, state: &State, free: u16, show: &mut impl FnMut(Edge, &State, Price)) {
        for a in atoms_of(free) {
            for d in 0..state.dims.len() {
                let mut next = state.clone();
                next.dims[d].push(a);
                let keep = state.dims[d].len();
                if self.allowed(d, next.dims[d]) && self.aligned(d, next.dims[d], keep) {
                    show(Edge::Slice, &next, Price::Free);
                }
            }
        }
    }

    fn to_unreduced(&self, state: &State, free: u16, show: &mut impl FnMut(Edge, &State, Price)) {
        let wanted = self.to.unreduced & !state.unreduced;
        if wanted == 0 {
            return;
        }
        let free = free & wanted;
        if free != 0 {
            let next = State { dims: SmallVec::from_slice(&state.dims), unreduced: state.unreduced | free };
            show(Edge::ToUnreduced, &next, Price::Free);
        }
        for d in 0..state.dims.len() {
            let list = state.dims[d];
            if let Some(a) = list.last()
                && wanted & (1 << a) != 0
                && self.aligned(d, list, list.len() - 1)
                && self.allowed(d, list.head(list.len() - 1))
            {
                let mut next = state.clone();
                next.dims[d].pop();
                next.unreduced |= 1 << a;
                show(Edge::ToUnreduced, &next, Price::Free);
            }
        }
    }

    fn reductions(&self, state: &State, pending: u16, show: &mut impl FnMut(Edge, &State, Price)) {
        let atoms: List = atoms_of(pending).collect();
        let mut reduce = |set: List| {
            let next = State { dims: SmallVec::from_slice(&state.dims), unreduced: state.unreduced & !set.set() };
            let kind = CollectiveKind::AllReduce;
            show(Edge::Collective(kind), &next, Price::Collective(kind, set));
        };
        reduce(atoms);
        if atoms.len() > 1 {
            atoms.iter().for_each(|a| reduce(List::from_iter([a])));
        }
        let mut scatter = |next: State, moved: List| {
            if self.fits(state, &next) && !moved.is_empty() {
                let kind = CollectiveKind::ReduceScatter;
                show(Edge::Collective(kind), &next, Price::Collective(kind, moved));
            }
        };
        for a in atoms.iter() {
            for d in 0..state.dims.len() {
                let mut next = state.clone();
                next.dims[d].push(a);
                next.unreduced &= !(1 << a);
                scatter(next, List::from_iter([a]));
            }
        }
        // All of the atoms that the target has next in its dimensions, at once.
        let mut next = state.clone();
        let mut moved = List::default();
        for d in 0..state.dims.len() {
            while let Some(a) = self.wanted(&next, d)
                && pending & (1 << a) != 0
            {
                next.dims[d].push(a);
                next.unreduced &= !(1 << a);
                moved.push(a);
            }
        }
        if moved.len() > 1 {
            scatter(next, moved);
        }
    }

    /// Returns the target's next atom in a dimension that agrees with the target so far.
    fn wanted(&self, state: &State, d: usize) -> Option<u8> {
        let (target, list) = (self.to.dims[d], state.dims[d]);
        target.starts_with(list).then(|| target.get(list.len()))?
    }

    fn gathers(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
        // Without padding a device receives all of the result except its own shard.
        let is_too_dear =
            |moved: List| self.divides && self.cost.floor(bytes * (f64::from(self.ways(moved)) - 1.0)) > limit;
        let kind = CollectiveKind::AllGather;
        let mut all = state.clone();
        let (mut moved, mut dims) = (List::default(), 0);
        for d in 0..state.dims.len() {
            let list = state.dims[d];
            let common = list.common(self.to.dims[d]);
            for keep in (0..list.len()).filter(|&keep| !is_too_dear(list.tail(keep))) {
                if self.allowed(d, list.head(keep)) && self.aligned(d, list, keep) {
                    let mut next = state.clone();
                    next.dims[d].truncate(keep);
                    show(Edge::Collective(kind), &next, Price::Collective(kind, list.tail(keep)));
                }
            }
            if common < list.len() && self.aligned(d, list, common) && self.allowed(d, list.head(common)) {
                all.dims[d].truncate(common);
                moved.extend(list.tail(common).iter());
                dims += 1;
            }
        }
        if dims > 1 {
            show(Edge::Collective(kind), &all, Price::Collective(kind, moved));
        }
    }

    fn all_to_alls(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
        // A device keeps one part of its shard and sends the rest.
        let is_too_dear = |moved: List| self.cost.floor(bytes * (1.0 - 1.0 / f64::from(self.ways(moved)))) > limit;
        let kind = CollectiveKind::AllToAll;
        let mut exchange = |next: State, moved: List| {
            if self.fits(state, &next) {
                show(Edge::Collective(kind), &next, Price::Collective(kind, moved));
            }
        };
        for d in 0..state.dims.len() {
            for keep in (0..state.dims[d].len()).filter(|&keep| !is_too_dear(state.dims[d].tail(keep))) {
                for e in (0..state.dims.len()).filter(|&e| e != d) {
                    let mut next = state.clone();
                    let moved = state.dims[d].tail(keep);
                    next.dims[d].truncate(keep);
                    next.dims[e].extend(moved.iter());
                    exchange(next, moved);
                }
            }
        }
        if let Some((next, moved)) = self.joint(state).filter(|joint| !is_too_dear(joint.1)) {
            exchange(next, moved);
        }
    }

    /// Returns the largest all-to-all that moves atoms to their final positions: dimensions that agree with the target
    /// so far receive its next atoms, from the minor ends of other dimensions.
    fn joint(&self, state: &State) -> Option<(State, List)> {
        let receives: SmallVec<[bool; 4]> = (0..state.dims.len()).map(|d| self.wanted(state, d).is_some()).collect();
        let mut may_leave = u16::MAX;
        loop {
            let mut next = state.clone();
            let mut moved = List::default();
            for d in (0..state.dims.len()).filter(|&d| receives[d]) {
                while let Some(a) = self.wanted(&next, d) {
                    let movable = may_leave & (1 << a) != 0
                        && (0..state.dims.len()).any(|e| !receives[e] && state.dims[e].contains(a));
                    if !movable {
                        break;
                    }
                    next.dims[d].push(a);
                    moved.push(a);
                }
            }
            // Only the minor-most atoms of a dimension may move.
            let mut again = false;
            for d in (0..state.dims.len()).filter(|&d| !receives[d]) {
                let list = state.dims[d];
                let keep = (0..list.len()).rev().find(|&i| list.get(i).is_some_and(|a| !moved.contains(a)));
                let keep = keep.map_or(0, |i| i + 1);
                for a in list.head(keep).iter() {
                    again |= moved.contains(a);
                    may_leave &= !(1 << a);
                }
                next.dims[d].truncate(keep);
            }
            if !again {
                return (moved.len() > 1).then_some((next, moved));
            }
        }
    }

    /// Shows the target itself, where parts of shards can be sent straight to it. Does nothing where partial results
    /// are to be made, since there the floor is no bound for other states, so reaching the target early would hide
    /// cheaper paths.
    fn permute_parts(&self, state: &State, show: &mut impl FnMut(Edge, &State, Price)) {
        if !self.parts || state.unreduced != self.to.unreduced || self.to.unreduced & !self.from.unreduced != 0 {
            return;
        }
        if let Some(count) = self.common_parts(state, &self.to).filter(|&n| (2..=PLAN.max_parts).contains(&n)) {
            show(Edge::PermuteParts, &self.to, Price::Parts(count));
        }
    }

    /// Returns into how many equal parts shards are cut so that the parts make the other shards, as
    /// [`ShardParts`](dialect::sharding::ShardParts) computes for any axes.
    fn common_parts(&self, before: &State, after: &State) -> Option<i64> {
        let (mut cut, mut joined) = (1, 1);
        for (d, (&a, &b)) in before.dims.iter().zip(&after.dims).enumerate() {
            let (old, new) = (self.size(a), self.size(b));
            let (fine, coarse, ratio) = match old < new {
                true => (b, old, &mut cut),
                false => (a, new, &mut joined),
            };
            let mut major = 1;
            let keep = fine.iter().take_while(|&a| {
                let more = major < coarse;
                major *= if more { i64::from(self.atoms[a as usize].size) } else { 1 };
                more
            });
            let keep = keep.count();
            if major != coarse || old != new && !self.aligned(d, fine, keep) {
                return None;
            }
            *ratio *= self.size(fine.tail(keep));
        }
        (cut == joined).then_some(cut)
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

    /// Shows arrangements with the same number of shards in each dimension, those nearest to the target first.
    fn permutes(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
        if state.dims.iter().all(|d| d.is_empty()) {
            return;
        }
        // The sizes of shards and the number of partial results don't change.
        let left = match () {
            _ if self.to.unreduced & !state.unreduced != 0 => 0.0,
            _ if state.unreduced != self.to.unreduced => self.least(state),
            _ => self.cost.floor(self.wanted.bytes - self.overlap(state)),
        };
        if self.cost.floor(bytes) + left > limit {
            return;
        }
        // If some device has nothing of its target shard afterwards, all of that shard is still to be sent.
        let near = self.divides
            && state.unreduced == self.to.unreduced
            && self.cost.floor(bytes) + self.cost.floor(self.wanted.bytes) > limit;
        let pool = self.all() & !state.unreduced;
        let mut arrangements = Arrangements { of: state, near, found: Vec::new(), dead: FxHashSet::default() };
        let mut next = State { dims: smallvec![List::default(); state.dims.len()], unreduced: state.unreduced };
        self.fill(&mut arrangements, &mut next, 0, self.ways(state.dims[0]), pool);
        for next in arrangements.found.iter().filter(|n| *n != state) {
            show(Edge::Collective(CollectiveKind::CollectivePermute), next, Price::Permute);
        }
    }

    /// Shards `dim` of `next` in `left` more ways by atoms of `pool`, and each later dimension in as many ways as the
    /// state does. Tries the target's atoms first, then the current ones; finds no arrangement twice.
    fn fill(&self, all: &mut Arrangements<'_>, next: &mut State, dim: usize, left: u32, pool: u16) {
        if left == 1 {
            match all.of.dims.get(dim + 1) {
                Some(&list) => self.fill(all, next, dim + 1, self.ways(list), pool),
                None => all.found.push(next.clone()),
            }
            return;
        }
        if all.dead.contains(&(dim, left, pool)) {
            return;
        }
        let found = all.found.len();
        let target = self.wanted(next, dim);
        let here = all.of.dims[dim];
        let place = here.get(next.dims[dim].len());
        let others = atoms_of(self.all() & !here.set());
        let mut untried = match target {
            Some(a) if all.near => pool & (1 << a),
            _ => pool,
        };
        for a in target.into_iter().chain(place).chain(here.iter()).chain(others) {
            if untried == 0 || all.found.len() >= PLAN.max_permutes {
                return;
            }
            let size = self.atoms[a as usize].size;
            if untried & (1 << a) == 0 || !left.is_multiple_of(size) {
                continue;
            }
            untried &= !(1 << a);
            next.dims[dim].push(a);
            self.fill(all, next, dim, left / size, pool & !(1 << a));
            next.dims[dim].pop();
        }
        if all.found.len() == found && !all.near {
            all.dead.insert((dim, left, pool));
        }
    }
}

/// The arrangements of atoms that a permute may reach from a state.
struct Arrangements<'a> {
    of: &'a State,
    /// Whether to keep only arrangements in which every device has a part of its target shard.
    near: bool,
    found: Vec<State>,
    /// Dead ends: a dimension, the number of ways left and the remaining atoms that can't make them, as atoms' sizes
    /// differ.
    dead: FxHashSet<(usize, u32, u16)>,
}
