//! The atoms of a redistribution: the coarsest parts of axes that make up both ends and every arrangement that the
//! search visits, and the translation between distributions and the search's states.

use dialect::ir::{TensorType, gcd};
use dialect::op::CollectiveKind;
use dialect::sharding::axis::{after_prefix, common_prefix, merged, push_merged, set_difference, set_of};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution, MeshAxes, Move, Reshard};
use smallvec::SmallVec;

use super::search::{Edge, Problem};
use super::state::{List, State};
use super::step::Step;
use crate::plan::heuristics::PLAN;
use crate::plan::model::cost::CollectiveCost;

/// Returns whether both split every axis at boundaries that divide each other.
#[cfg(test)]
pub(crate) fn agree(from: &Distribution, to: &Distribution) -> bool {
    agreed_parts(from, to).is_some()
}

pub(super) fn boundaries(axis: u32, parts: impl Iterator<Item = AxisPart>) -> SmallVec<[u32; 8]> {
    let mut at: SmallVec<[u32; 8]> = parts.filter(|p| p.axis == axis).flat_map(|p| [p.pre, p.end()]).collect();
    at.sort_unstable();
    at.dedup();
    at
}

pub(super) fn is_chain(at: SmallVec<[u32; 8]>) -> bool {
    at.windows(2).all(|w| w[1] % w[0] == 0)
}

/// The axis parts that make up both distributions.
pub(super) struct Atoms {
    pub(super) parts: SmallVec<[AxisPart; 8]>,
    dims: SmallVec<[usize; 4]>,
}

/// Returns the parts of axes that make up both distributions, sorted; `None` when the two split an axis at boundaries
/// that don't divide each other.
pub(super) fn agreed_parts(from: &Distribution, to: &Distribution) -> Option<SmallVec<[AxisPart; 8]>> {
    agreed(from.axes().chain(to.axes()).collect())
}

/// Returns the parts that make up all of these, sorted; `None` when two split an axis at boundaries that don't divide
/// each other.
pub(super) fn agreed(mut all: SmallVec<[AxisPart; 8]>) -> Option<SmallVec<[AxisPart; 8]>> {
    all.sort_unstable();
    all.dedup();
    // Most often all use the same parts of each axis, or none.
    if all.windows(2).all(|w| !w[0].conflicts_with(w[1])) {
        return Some(all);
    }
    let mut parts = SmallVec::new();
    for of_axis in all.chunk_by(|a, b| a.axis == b.axis) {
        let axis = of_axis[0].axis;
        for w in boundaries(axis, of_axis.iter().copied()).windows(2) {
            let part = AxisPart { axis, pre: w[0], size: w[1] / w[0] };
            if w[1] % w[0] != 0 {
                return None;
            }
            if of_axis.iter().any(|p| p.conflicts_with(part)) {
                parts.push(part);
            }
        }
    }
    Some(parts)
}

impl Atoms {
    /// Creates the atoms from [`agreed_parts`].
    pub(super) fn of(
        mut parts: SmallVec<[AxisPart; 8]>,
        mesh_axes: &MeshAxes,
        manual: &[AxisPart],
        from: &Distribution,
        to: &Distribution,
    ) -> Self {
        split_to_fit(&mut parts, from, to);
        let dims = (0..from.rank()).filter(|&d| !from.dims[d].is_empty() || !to.dims[d].is_empty()).collect();
        let mut atoms = Self { parts, dims };
        if !set_difference(&from.unreduced, &to.unreduced).is_empty() {
            atoms.borrow(mesh_axes, manual);
        }
        atoms
    }

    /// Adds axes that neither end uses: reducing into shards along them and gathering these afterwards may be cheaper.
    fn borrow(&mut self, mesh_axes: &MeshAxes, manual: &[AxisPart]) {
        for axis in mesh_axes.nontrivial().filter(|a| !manual.contains(a)) {
            if self.parts.len() < 8 && self.parts.iter().all(|p| p.axis != axis.axis) {
                self.parts.push(axis);
            }
        }
    }

    fn list(&self, parts: &[AxisPart]) -> List {
        let mut list = List::default();
        for part in parts {
            list.extend((0..self.parts.len()).filter(|&a| part.contains(self.parts[a])).map(|a| a as u8));
        }
        list
    }

    pub(super) fn state(&self, d: &Distribution) -> State {
        State {
            dims: self.dims.iter().map(|&i| self.list(&d.dims[i])).collect(),
            unreduced: self.list(&d.unreduced).iter().fold(0, |m, a| m | 1 << a),
        }
    }

    pub(super) fn problem<'c>(
        &self,
        ty: &TensorType,
        from: &Distribution,
        to: &Distribution,
        cost: &'c dyn CollectiveCost,
    ) -> Problem<'c> {
        let is_even = |d: usize, at: &Distribution| at.shard_dim(d, ty.shape[d]).is_even();
        let rest = (0..ty.rank()).filter(|d| !self.dims.contains(d)).map(|d| ty.shape[d] as f64).product::<f64>();
        Problem {
            atoms: self.parts.clone(),
            shape: self.dims.iter().map(|&d| ty.shape[d]).collect(),
            target: self.dims.iter().map(|&d| to.shard_dim(d, ty.shape[d])).collect(),
            rest_bytes: rest * ty.element.bytes() as f64,
            divides: self.dims.iter().all(|&d| is_even(d, from) && is_even(d, to)),
            from: self.state(from),
            to: self.state(to),
            parts: true,
            cost,
        }
    }

    fn parts_of(&self, list: List) -> Axes {
        merged(list.iter().map(|a| self.parts[a as usize]))
    }

    fn distribution(&self, state: &State, like: &Distribution, to: &Distribution) -> Distribution {
        let mut d = Distribution::replicated(like.rank());
        for (&dim, &list) in self.dims.iter().zip(&state.dims) {
            d.dims[dim] = self.parts_of(list);
        }
        let unreduced = (0..self.parts.len()).filter(|a| state.unreduced & (1 << a) != 0).map(|a| self.parts[a]);
        let unreduced: Axes = unreduced.collect();
        let kind = if like.unreduced.is_empty() { to.kind } else { like.kind };
        d.with_unreduced(&unreduced, kind)
    }

    /// Returns the steps of a path, with neighboring slices and gathers merged into one.
    pub(super) fn steps(&self, path: &[(Edge, State)], from: &Distribution, to: &Distribution) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut before = self.state(from);
        let mut at = 0;
        while at < path.len() {
            let edge = path[at].0;
            let mut end = at;
            while matches!(edge, Edge::Slice | Edge::Collective(CollectiveKind::AllGather))
                && path.get(end + 1).is_some_and(|p| p.0 == edge)
            {
                end += 1;
            }
            let after = &path[end].1;
            let kind = self.kind(edge, &before, after, from, to);
            steps.push(Step { kind, to: self.distribution(after, from, to) });
            before = after.clone();
            at = end + 1;
        }
        steps
    }

    fn kind(
        &self,
        edge: Edge,
        before: &State,
        after: &State,
        from: &Distribution,
        to: &Distribution,
    ) -> Reshard<AxisPart> {
        let rank = from.rank();
        let per_dim = |long: &State, short: &State| -> AxesPerDim {
            let mut out: AxesPerDim = (0..rank).map(|_| Axes::new()).collect();
            for (i, &dim) in self.dims.iter().enumerate() {
                out[dim] = self.parts_of(long.dims[i].tail(short.dims[i].len()));
            }
            out
        };
        let set = |mask: u16| set_of((0..self.parts.len()).filter(|a| mask & (1 << a) != 0).map(|a| self.parts[a]));
        match edge {
            Edge::Slice => Reshard::AllSlice(per_dim(after, before)),
            Edge::ToUnreduced if before.dims == after.dims => {
                Reshard::ReplicatedToUnreduced(set(after.unreduced & !before.unreduced), to.kind)
            }
            Edge::ToUnreduced => Reshard::ShardedToUnreduced(per_dim(before, after), to.kind),
            Edge::PermuteParts => Reshard::PermuteParts,
            Edge::Collective(kind) => match kind {
                CollectiveKind::AllGather => Reshard::AllGather(per_dim(before, after)),
                CollectiveKind::AllReduce => Reshard::AllReduce(set(before.unreduced & !after.unreduced), from.kind),
                CollectiveKind::ReduceScatter => Reshard::ReduceScatter(per_dim(after, before), from.kind),
                CollectiveKind::AllToAll => Reshard::AllToAll(self.moves(before, after)),
                CollectiveKind::CollectivePermute
                | CollectiveKind::CollectiveBroadcast
                | CollectiveKind::CollectiveReduce
                | CollectiveKind::RaggedAllToAll => Reshard::CollectivePermute,
            },
        }
    }

    fn moves(&self, before: &State, after: &State) -> Vec<Move<AxisPart>> {
        let mut moves: Vec<Move<AxisPart>> = Vec::new();
        for (e, list) in after.dims.iter().enumerate() {
            for a in list.tail(before.dims[e].len()).iter() {
                let from = before.dims.iter().position(|l| l.contains(a)).unwrap_or(e);
                let (from, to, part) = (self.dims[from], self.dims[e], self.parts[a as usize]);
                match moves.last_mut() {
                    // Only a contiguous suffix of a dimension's axes may move as one.
                    Some(m) if (m.from, m.to) == (from, to) && self.follows(before, m, a) => {
                        push_merged(&mut m.axes, part)
                    }
                    _ => moves.push(Move { axes: [part].into_iter().collect(), from, to }),
                }
            }
        }
        let distinct = |key: fn(&Move<AxisPart>) -> usize| {
            (1..moves.len()).all(|i| moves[..i].iter().all(|m| key(m) != key(&moves[i])))
        };
        if distinct(|m| m.from) && distinct(|m| m.to) {
            moves.sort_by_key(|m| m.from);
        }
        moves
    }

    /// Returns whether atom `a` came right after the last axis of `m` in the dimension that both leave.
    fn follows(&self, before: &State, m: &Move<AxisPart>, a: u8) -> bool {
        let Some(last) = m.axes.last() else { return false };
        before.dims.iter().any(|l| {
            l.iter().zip(l.tail(1).iter()).any(|(before, next)| {
                next == a && {
                    let p = self.parts[before as usize];
                    p.axis == last.axis && p.end() == last.end()
                }
            })
        })
    }
}

/// Splits parts that share a divisor with others, so that they can replace each other in a dimension: 2 and 4 become 2,
/// 2 and 2. Each smaller part adds many arrangements, so splitting stops there: the rest of a split part splits no
/// others (4 and 8 become 4, 4 and 2), and parts that no dimension exchanges for each other stay whole.
fn split_to_fit(parts: &mut SmallVec<[AxisPart; 8]>, from: &Distribution, to: &Distribution) {
    if parts.iter().all(|p| p.size == parts[0].size) {
        return;
    }
    let whole = parts.clone();
    let shared = |p: AxisPart, q: AxisPart| {
        if p.size == q.size {
            return None;
        }
        let common = gcd(p.size.into(), q.size.into()) as u32;
        (1 < common && common < p.size).then_some(common)
    };
    if whole.iter().enumerate().all(|(i, &p)| whole[..i].iter().all(|&q| shared(p, q).or(shared(q, p)).is_none())) {
        return;
    }
    // Unreduced axes may be scattered to any dimension.
    let pending = set_difference(&from.unreduced, &to.unreduced);
    let changed: SmallVec<[[Axes; 2]; 4]> = from
        .dims
        .iter()
        .zip(&to.dims)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| {
            let common = common_prefix(a, b);
            let mut leaving = after_prefix(a, &common);
            leaving.extend(pending.iter().copied());
            [leaving, after_prefix(b, &common)]
        })
        .collect();
    let among = |axes: &Axes, p: AxisPart| axes.iter().any(|a| a.contains(p));
    let meet = |p: AxisPart, q: AxisPart| {
        changed.iter().any(|[a, b]| among(a, p) && among(b, q) || among(b, p) && among(a, q))
    };
    let divisor = |p: AxisPart| {
        let common = whole.iter().filter_map(|&q| shared(p, q).filter(|_| meet(p, q)));
        common.max()
    };
    let mut i = 0;
    while i < parts.len() && parts.len() < PLAN.max_split {
        let p = parts[i];
        let Some(size) = divisor(p) else {
            i += 1;
            continue;
        };
        parts[i].size = size;
        parts.insert(i + 1, AxisPart { axis: p.axis, pre: p.pre * size, size: p.size / size });
    }
}
