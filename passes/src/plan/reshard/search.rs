//! The search behind [`reshard`](crate::plan::reshard): the cheapest sequence of collectives between two distributions.
//!
//! Axes are split into *atoms*, the coarsest parts of which both ends (and every arrangement worth visiting) are made.
//! A state says which atoms shard each dimension and which are unreduced; edges are the collectives; Dijkstra's
//! algorithm, guided by a lower bound from what a device must still receive (A*), finds the cheapest path. The number
//! of visited states is bounded, and with it the time; when the bound is met, the caller's own sequence is used.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dialect::op::CollectiveKind;
use dialect::sharding::{AxisPart, ShardDim};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::step::{exchanged, parts_seconds};
use crate::plan::model::cost::CollectiveCost;

/// With more atoms than this nothing is searched.
pub(crate) const MAX_ATOMS: usize = 12;
/// At most this many states are visited.
const MAX_STATES: usize = 400;
/// Most arrangements tried for a permute.
const MAX_PERMUTES: usize = 12;

/// Atoms of one dimension, major first: at most [`MAX_ATOMS`], stored inline, since states are copied all the time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct List {
    len: u8,
    /// Zero beyond the length.
    atoms: [u8; MAX_ATOMS],
}

impl List {
    pub(crate) fn push(&mut self, atom: u8) {
        if usize::from(self.len) < MAX_ATOMS {
            self.atoms[usize::from(self.len)] = atom;
            self.len += 1;
        }
    }

    fn truncate(&mut self, len: usize) {
        for i in len..usize::from(self.len) {
            self.atoms[i] = 0;
        }
        self.len = self.len.min(len as u8);
    }

    fn pop(&mut self) {
        self.truncate(usize::from(self.len).saturating_sub(1));
    }

    pub(crate) fn extend(&mut self, atoms: impl IntoIterator<Item = u8>) {
        atoms.into_iter().for_each(|a| self.push(a));
    }
}

impl std::ops::Deref for List {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.atoms[..usize::from(self.len)]
    }
}

impl FromIterator<u8> for List {
    fn from_iter<I: IntoIterator<Item = u8>>(atoms: I) -> Self {
        let mut list = Self::default();
        list.extend(atoms);
        list
    }
}

/// Which atoms shard each dimension, and the set of those that are unreduced.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) dims: SmallVec<[List; 4]>,
    pub(crate) unreduced: u16,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self { dims: SmallVec::from_slice(&self.dims), unreduced: self.unreduced }
    }
}

/// How a state was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edge {
    /// Local: each device keeps a slice of what it holds.
    Slice,
    /// Local too.
    ToUnreduced,
    Collective(CollectiveKind),
    /// A permute for each part of a shard.
    PermuteParts,
}

/// The redistribution to solve.
pub(crate) struct Problem<'a> {
    pub(crate) atoms: Vec<AxisPart>,
    /// Sizes of the dimensions that are sharded at either end.
    pub(crate) shape: SmallVec<[i64; 4]>,
    /// Bytes of one element of these dimensions, over all the other dimensions.
    pub(crate) rest_bytes: f64,
    /// Whether all axes together divide each of the dimensions.
    pub(crate) divides: bool,
    pub(crate) from: State,
    pub(crate) to: State,
    /// Whether shards may be sent in parts.
    pub(crate) parts: bool,
    pub(crate) cost: &'a dyn CollectiveCost,
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
        // The heap gives the largest, which must be the cheapest, then the oldest.
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
    back: usize,
    edge: Edge,
    done: bool,
}

impl Problem<'_> {
    /// The cheapest path that costs at most `bound`: the edges and the states they end in.
    pub(crate) fn solve(&self, bound: f64) -> Option<Vec<(Edge, State)>> {
        let mut ids: FxHashMap<State, usize> = FxHashMap::default();
        let mut states = vec![self.from.clone()];
        let mut visits = vec![Visit { cost: 0.0, back: 0, edge: Edge::Slice, done: false }];
        let mut heap = BinaryHeap::from([Queued { floor: 0.0, order: 0, state: 0 }]);
        ids.insert(self.from.clone(), 0);
        let mut order = 0;
        while let Some(Queued { state: at, .. }) = heap.pop() {
            if visits[at].done {
                continue;
            }
            visits[at].done = true;
            if states[at] == self.to {
                return Some(self.path(at, &visits, &states));
            }
            let (here, cost) = (states[at].clone(), visits[at].cost);
            for (edge, next, price) in self.edges(&here) {
                let total = cost + price;
                let floor = total + self.floor(&next);
                if floor > bound {
                    continue;
                }
                let id = match ids.get(&next) {
                    Some(&id) if visits[id].done || visits[id].cost <= total => continue,
                    Some(&id) => id,
                    None if states.len() >= MAX_STATES => continue,
                    None => {
                        ids.insert(next.clone(), states.len());
                        states.push(next);
                        visits.push(Visit { cost: 0.0, back: 0, edge, done: false });
                        states.len() - 1
                    }
                };
                visits[id] = Visit { cost: total, back: at, edge, done: false };
                order += 1;
                heap.push(Queued { floor, order, state: id });
            }
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

    fn size(&self, list: &[u8]) -> i64 {
        list.iter().map(|&a| i64::from(self.atoms[a as usize].size)).product()
    }

    fn dim(&self, dim: usize, list: &[u8]) -> ShardDim {
        ShardDim::new(self.shape[dim], self.size(list))
    }

    fn local(&self, dim: usize, list: &[u8]) -> i64 {
        self.dim(dim, list).size()
    }

    fn bytes(&self, state: &State) -> f64 {
        state.dims.iter().enumerate().map(|(d, l)| self.local(d, l) as f64).product::<f64>() * self.rest_bytes
    }

    /// Lower bound on the remaining time: a device must receive what it doesn't yet hold of its target shard. Where
    /// partial results are still to be made it may be too high, since a device fills them up with zeros that nobody
    /// sends; a lower one would make the search visit too much.
    fn floor(&self, state: &State) -> f64 {
        if state.unreduced & !self.to.unreduced != 0 {
            return 0.0;
        }
        let mut overlap = self.rest_bytes;
        for (d, (a, b)) in state.dims.iter().zip(&self.to.dims).enumerate() {
            overlap *= self.local(d, a).min(self.local(d, b)) as f64;
        }
        self.cost.floor(self.bytes(&self.to) - overlap)
    }

    /// Whether `dim` may be sharded by `list`: evenly, or by a prefix of what shards it at one of the ends.
    fn allowed(&self, dim: usize, list: &[u8]) -> bool {
        self.dim(dim, list).is_even() || self.from.dims[dim].starts_with(list) || self.to.dims[dim].starts_with(list)
    }

    /// Whether shards by `fine` are contained in those by its prefix of length `keep`, with none shifted by padding.
    fn aligned(&self, dim: usize, fine: &[u8], keep: usize) -> bool {
        keep == 0 || self.dim(dim, fine).refines(self.dim(dim, &fine[..keep]))
    }

    /// Whether no element shifts within a dimension between two states.
    fn fits(&self, before: &State, after: &State) -> bool {
        before.dims.iter().zip(&after.dims).enumerate().all(|(d, (a, b))| {
            a == b
                || self.allowed(d, b)
                    && match () {
                        _ if b.starts_with(a) => self.aligned(d, b, a.len()),
                        _ if a.starts_with(b) => self.aligned(d, a, b.len()),
                        _ => self.dim(d, a).is_even() && self.dim(d, b).is_even(),
                    }
        })
    }

    /// Seconds from a state of `bytes` on each device.
    fn seconds(&self, kind: CollectiveKind, from: &State, bytes: f64, to: &State, moved: &[u8]) -> f64 {
        let axes: SmallVec<[AxisPart; 8]> = moved.iter().map(|&a| self.atoms[a as usize]).collect();
        let (operand, result) = if self.divides { (bytes, self.bytes(to)) } else { self.padded_bytes(from, to) };
        self.cost.seconds(kind, operand, result, &axes)
    }

    /// Bytes of a device's operand and result, where what is divided is padded first and what is gathered is trimmed
    /// afterwards.
    fn padded_bytes(&self, from: &State, to: &State) -> (f64, f64) {
        let dims = from.dims.iter().zip(&to.dims).enumerate();
        dims.fold((self.rest_bytes, self.rest_bytes), |(operand, result), (d, (a, b))| {
            let (operand_size, result_size) = exchanged(self.dim(d, a), self.dim(d, b));
            (operand * operand_size, result * result_size)
        })
    }

    fn free(&self, state: &State) -> SmallVec<[u8; 8]> {
        let used = state.dims.iter().flat_map(|l| l.iter()).fold(state.unreduced, |m, &a| m | 1 << a);
        (0..self.atoms.len() as u8).filter(|a| used & (1 << a) == 0).collect()
    }

    fn edges(&self, state: &State) -> Vec<(Edge, State, f64)> {
        let mut out = Vec::new();
        let pending = state.unreduced & !self.to.unreduced;
        let bytes = self.bytes(state);
        self.slices(state, &mut out);
        self.to_unreduced(state, &mut out);
        if pending != 0 {
            self.reductions(state, bytes, pending, &mut out);
        }
        self.gathers(state, bytes, &mut out);
        self.all_to_alls(state, bytes, &mut out);
        self.permutes(state, bytes, &mut out);
        self.permute_parts(state, bytes, &mut out);
        out
    }

    fn slices(&self, state: &State, out: &mut Vec<(Edge, State, f64)>) {
        for a in self.free(state) {
            for d in 0..state.dims.len() {
                let mut next = state.clone();
                next.dims[d].push(a);
                let keep = state.dims[d].len();
                if self.allowed(d, &next.dims[d]) && self.aligned(d, &next.dims[d], keep) {
                    out.push((Edge::Slice, next, 0.0));
                }
            }
        }
    }

    fn to_unreduced(&self, state: &State, out: &mut Vec<(Edge, State, f64)>) {
        let wanted = self.to.unreduced & !state.unreduced;
        if wanted == 0 {
            return;
        }
        let free = self.free(state).iter().fold(0u16, |m, &a| m | 1 << a) & wanted;
        if free != 0 {
            let next = State { dims: SmallVec::from_slice(&state.dims), unreduced: state.unreduced | free };
            out.push((Edge::ToUnreduced, next, 0.0));
        }
        for d in 0..state.dims.len() {
            if let Some(&a) = state.dims[d].last()
                && wanted & (1 << a) != 0
                && self.aligned(d, &state.dims[d], state.dims[d].len() - 1)
                && self.allowed(d, &state.dims[d][..state.dims[d].len() - 1])
            {
                let mut next = state.clone();
                next.dims[d].pop();
                next.unreduced |= 1 << a;
                out.push((Edge::ToUnreduced, next, 0.0));
            }
        }
    }

    fn reductions(&self, state: &State, bytes: f64, pending: u16, out: &mut Vec<(Edge, State, f64)>) {
        let atoms: SmallVec<[u8; 8]> = (0..self.atoms.len() as u8).filter(|a| pending & (1 << a) != 0).collect();
        let mut reduce = |set: &[u8]| {
            let mask = set.iter().fold(0u16, |m, &a| m | 1 << a);
            let next = State { dims: SmallVec::from_slice(&state.dims), unreduced: state.unreduced & !mask };
            let price = self.seconds(CollectiveKind::AllReduce, state, bytes, &next, set);
            out.push((Edge::Collective(CollectiveKind::AllReduce), next, price));
        };
        reduce(&atoms);
        if atoms.len() > 1 {
            atoms.iter().for_each(|&a| reduce(&[a]));
        }
        let mut scatter = |next: State, moved: &[u8]| {
            if self.fits(state, &next) && !moved.is_empty() {
                let price = self.seconds(CollectiveKind::ReduceScatter, state, bytes, &next, moved);
                out.push((Edge::Collective(CollectiveKind::ReduceScatter), next, price));
            }
        };
        for &a in &atoms {
            for d in 0..state.dims.len() {
                let mut next = state.clone();
                next.dims[d].push(a);
                next.unreduced &= !(1 << a);
                scatter(next, &[a]);
            }
        }
        // Everything the target wants next in its dimensions, at once.
        let mut next = state.clone();
        let mut moved = List::default();
        for d in 0..state.dims.len() {
            while let Some(&a) = self.wanted(&next, d)
                && atoms.contains(&a)
            {
                next.dims[d].push(a);
                next.unreduced &= !(1 << a);
                moved.push(a);
            }
        }
        if moved.len() > 1 {
            scatter(next, &moved);
        }
    }

    /// The target's next atom in a dimension that agrees with it so far.
    fn wanted<'s>(&'s self, state: &State, d: usize) -> Option<&'s u8> {
        let target = &self.to.dims[d];
        target.starts_with(&state.dims[d]).then(|| target.get(state.dims[d].len()))?
    }

    fn gathers(&self, state: &State, bytes: f64, out: &mut Vec<(Edge, State, f64)>) {
        let mut gather = |next: State, moved: &[u8]| {
            let price = self.seconds(CollectiveKind::AllGather, state, bytes, &next, moved);
            out.push((Edge::Collective(CollectiveKind::AllGather), next, price));
        };
        let mut all = state.clone();
        let (mut moved, mut dims) = (List::default(), 0);
        for d in 0..state.dims.len() {
            let list = &state.dims[d];
            let common = list.iter().zip(self.to.dims[d].iter()).take_while(|(a, b)| a == b).count();
            for keep in 0..list.len() {
                if self.allowed(d, &list[..keep]) && self.aligned(d, list, keep) {
                    let mut next = state.clone();
                    next.dims[d].truncate(keep);
                    gather(next, &list[keep..]);
                }
            }
            if common < list.len() && self.aligned(d, list, common) && self.allowed(d, &list[..common]) {
                all.dims[d].truncate(common);
                moved.extend(list[common..].iter().copied());
                dims += 1;
            }
        }
        if dims > 1 {
            gather(all, &moved);
        }
    }

    fn all_to_alls(&self, state: &State, bytes: f64, out: &mut Vec<(Edge, State, f64)>) {
        let mut exchange = |next: State, moved: &[u8]| {
            if self.fits(state, &next) {
                let price = self.seconds(CollectiveKind::AllToAll, state, bytes, &next, moved);
                out.push((Edge::Collective(CollectiveKind::AllToAll), next, price));
            }
        };
        for d in 0..state.dims.len() {
            for keep in 0..state.dims[d].len() {
                for e in (0..state.dims.len()).filter(|&e| e != d) {
                    let mut next = state.clone();
                    let moved: List = state.dims[d][keep..].iter().copied().collect();
                    next.dims[d].truncate(keep);
                    next.dims[e].extend(moved.iter().copied());
                    exchange(next, &moved);
                }
            }
        }
        if let Some((next, moved)) = self.joint(state) {
            exchange(next, &moved);
        }
    }

    /// The largest all-to-all that moves atoms to their final positions at once: dimensions that agree with the target
    /// so far get what it wants next, from the minor ends of other dimensions.
    fn joint(&self, state: &State) -> Option<(State, List)> {
        let receives: SmallVec<[bool; 4]> = (0..state.dims.len()).map(|d| self.wanted(state, d).is_some()).collect();
        let mut may_leave = u16::MAX;
        loop {
            let mut next = state.clone();
            let mut moved = List::default();
            for d in (0..state.dims.len()).filter(|&d| receives[d]) {
                while let Some(&a) = self.wanted(&next, d) {
                    let movable = may_leave & (1 << a) != 0
                        && (0..state.dims.len()).any(|e| !receives[e] && state.dims[e].contains(&a));
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
                let list = &state.dims[d];
                let keep = list.iter().rposition(|a| !moved.contains(a)).map_or(0, |i| i + 1);
                for &a in &list[..keep] {
                    again |= moved.contains(&a);
                    may_leave &= !(1 << a);
                }
                next.dims[d].truncate(keep);
            }
            if !again {
                return (moved.len() > 1).then_some((next, moved));
            }
        }
    }

    /// The target itself, where parts of shards can go straight to it. Where partial results are to be made, the floor
    /// is no bound for other states, and the target reached early would hide cheaper ways.
    fn permute_parts(&self, state: &State, bytes: f64, out: &mut Vec<(Edge, State, f64)>) {
        if !self.parts || state.unreduced != self.to.unreduced || self.to.unreduced & !self.from.unreduced != 0 {
            return;
        }
        if let Some(count) = self.common_parts(state, &self.to).filter(|&n| n > 1) {
            let moved = self.changed(state, &self.to);
            let axes: SmallVec<[AxisPart; 8]> = moved.iter().map(|&a| self.atoms[a as usize]).collect();
            let bytes = if self.divides { bytes } else { self.padded_bytes(state, &self.to).0 };
            let price = parts_seconds(self.cost, count, bytes, &axes);
            out.push((Edge::PermuteParts, self.to.clone(), price));
        }
    }

    /// Into how many equal parts shards are cut that make other shards, as [`ShardParts`](dialect::sharding::ShardParts)
    /// says for any axes.
    fn common_parts(&self, before: &State, after: &State) -> Option<i64> {
        let (mut cut, mut joined) = (1, 1);
        for (d, (a, b)) in before.dims.iter().zip(&after.dims).enumerate() {
            let (old, new) = (self.size(a), self.size(b));
            let (fine, coarse, ratio) = match old < new {
                true => (b, old, &mut cut),
                false => (a, new, &mut joined),
            };
            let mut major = 1;
            let keep = fine.iter().take_while(|&&a| {
                let more = major < coarse;
                major *= if more { i64::from(self.atoms[a as usize].size) } else { 1 };
                more
            });
            let keep = keep.count();
            if major != coarse || old != new && !self.aligned(d, fine, keep) {
                return None;
            }
            *ratio *= self.size(&fine[keep..]);
        }
        (cut == joined).then_some(cut)
    }

    /// The atoms of all dimensions that differ.
    fn changed(&self, before: &State, after: &State) -> List {
        let mut moved = List::default();
        for (a, b) in before.dims.iter().zip(&after.dims).filter(|(a, b)| a != b) {
            for &x in a.iter().chain(b.iter()) {
                if !moved.contains(&x) {
                    moved.push(x);
                }
            }
        }
        moved
    }

    /// Arrangements with as many shards in each dimension, as close to the target as possible.
    fn permutes(&self, state: &State, bytes: f64, out: &mut Vec<(Edge, State, f64)>) {
        if state.dims.iter().all(|d| d.is_empty()) {
            return;
        }
        let pool = (0..self.atoms.len() as u8).fold(0u16, |m, a| m | 1 << a) & !state.unreduced;
        let mut found = Vec::new();
        let mut next = State { dims: smallvec![List::default(); state.dims.len()], unreduced: state.unreduced };
        self.fill(state, &mut next, 0, self.size(&state.dims[0]), pool, &mut found);
        for next in found.into_iter().filter(|n| n != state) {
            let moved = self.changed(state, &next);
            let price = self.seconds(CollectiveKind::CollectivePermute, state, bytes, &next, &moved);
            out.push((Edge::Collective(CollectiveKind::CollectivePermute), next, price));
        }
    }

    /// Shards `dim` of `next` `left` more ways by atoms of `pool`, and each dimension after it as many ways as `state`
    /// does. What the target wants is tried first, then what is there now; no arrangement is found twice.
    fn fill(&self, state: &State, next: &mut State, dim: usize, left: i64, pool: u16, found: &mut Vec<State>) {
        if left == 1 {
            match state.dims.get(dim + 1) {
                Some(list) => self.fill(state, next, dim + 1, self.size(list), pool, found),
                None => found.push(next.clone()),
            }
            return;
        }
        let target = self.wanted(next, dim).copied();
        let here = &state.dims[dim];
        let place = here.get(next.dims[dim].len()).copied();
        let others = (0..self.atoms.len() as u8).filter(|a| !here.contains(a));
        let mut untried = pool;
        for a in target.into_iter().chain(place).chain(here.iter().copied()).chain(others) {
            let size = i64::from(self.atoms[a as usize].size);
            if untried & (1 << a) == 0 || left % size != 0 {
                continue;
            }
            if found.len() >= MAX_PERMUTES {
                return;
            }
            untried &= !(1 << a);
            next.dims[dim].push(a);
            self.fill(state, next, dim, left / size, pool & !(1 << a), found);
            next.dims[dim].pop();
        }
    }
}
