//! The steps from a state of the search: slices, reductions, gathers, exchanges and permutes.

use dialect::op::CollectiveKind;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::{Edge, Price, Problem};
use crate::plan::heuristics::PLAN;
use crate::plan::reshard::state::{List, State, atoms_of};

impl Problem<'_> {
    /// Calls `show` with every step from a state of `bytes` on each device (its kind, its end, its price), except for
    /// steps that must cost more than `limit`.
    pub(super) fn edges(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
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

    /// Shows arrangements with the same number of shards in each dimension, those nearest to the target first.
    fn permutes(&self, state: &State, bytes: f64, limit: f64, show: &mut impl FnMut(Edge, &State, Price)) {
        if state.dims.iter().all(|d| d.is_empty()) {
            return;
        }
        // The sizes of shards and the number of partial results don't change.
        let target = (state.unreduced == self.to.unreduced).then(|| self.target_bytes(state));
        let floor = |bytes: f64| self.cost.floor(bytes);
        let left = target.as_ref().map_or_else(|| self.least(state), |target| floor(target.bytes - target.held));
        if floor(bytes) + left > limit {
            return;
        }
        // If some device has nothing of its target shard afterwards, all of that shard is still to be sent.
        let near = self.divides && target.is_some_and(|target| floor(bytes) + floor(target.bytes) > limit);
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
