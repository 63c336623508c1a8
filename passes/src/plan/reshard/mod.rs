//! Finds the cheapest sequence of collectives from one distribution of a value to another.
//!
//! Common cases (slice, gather, reduce) are recognized directly. For the rest, `search.rs` looks for a sequence cheaper
//! than the one that always exists (reduce, gather the dimensions that disagree, slice) and than Shardy's order
//! (`greedy.rs`).

pub mod cache;
mod greedy;
mod search;
mod state;
pub mod step;

pub(crate) mod simulate;
#[cfg(test)]
pub(crate) mod tests;

use std::cell::RefCell;
use std::rc::Rc;

use dialect::ir::{TensorType, gcd};
use dialect::op::CollectiveKind;
use dialect::sharding::axis::{after_prefix, common_prefix, merged, push_merged, set_difference, set_of, size_of};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution, MeshAxes, Move, Reshard, ShardDim};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::model::cost::CollectiveCost;
use crate::plan::heuristics::{MAX_ATOMS, PLAN};
use greedy::greedy;
use search::{Edge, Problem, Question, Shard};
use state::{List, State};
use step::{Step, cost_of, exchanged_bytes, step_cost};

/// A sequence of steps with its modeled seconds and moved bytes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sequence {
    /// The steps in order; empty when both ends are equal.
    pub steps: Vec<Step>,
    /// Modeled seconds.
    pub seconds: f64,
    /// Bytes a device moves, assuming ring algorithms.
    pub bytes: f64,
}

/// Redistributions over the given mesh axes under one cost model.
#[derive(Clone)]
pub struct Resharder<'a> {
    mesh_axes: &'a MeshAxes,
    cost: &'a dyn CollectiveCost,
    /// Axes that steps may use only if one of the two ends uses them.
    manual: Axes,
    /// Whether shards may be sent in parts.
    parts: bool,
    /// Results of searches, cached because values of other types often pose an equal problem, for example those of a
    /// reshape.
    solved: RefCell<FxHashMap<Asked, Option<Steps>>>,
}

/// Steps with the states after them.
type Steps = Rc<[(Edge, State)]>;

/// The key of a search's result: its problem, and the bits of its limit in seconds.
type Asked = (Question, u64);

impl<'a> Resharder<'a> {
    /// Creates a resharder for the given mesh axes and cost model.
    pub fn new(mesh_axes: &'a MeshAxes, cost: &'a dyn CollectiveCost) -> Self {
        Self { mesh_axes, cost, manual: Axes::new(), parts: true, solved: RefCell::default() }
    }

    /// Returns a resharder for a region that is manual along `axes`.
    pub fn without_axes(&self, axes: &[AxisPart]) -> Self {
        Self { manual: set_of(self.manual.iter().chain(axes).copied()), ..self.clone() }
    }

    /// Returns its mesh axes.
    pub fn mesh_axes(&self) -> &'a MeshAxes {
        self.mesh_axes
    }

    /// Returns the axes that it must not use.
    pub fn manual_axes(&self) -> &[AxisPart] {
        &self.manual
    }

    /// Returns the seconds of one step.
    pub fn step_seconds(
        &self,
        ty: &TensorType,
        from: &Distribution,
        to: &Distribution,
        kind: &Reshard<AxisPart>,
    ) -> f64 {
        step_cost(kind, from, to, ty, self.cost).0
    }

    /// Returns the seconds of a collective after which a device has as many bytes as before.
    pub(crate) fn collective_seconds(&self, kind: CollectiveKind, bytes: f64, axes: &[AxisPart]) -> f64 {
        self.cost.seconds(kind, bytes, bytes, axes)
    }

    /// Returns the start-up seconds of a collective over `axes`: its time without any bytes.
    pub fn startup(&self, kind: CollectiveKind, axes: &[AxisPart]) -> f64 {
        self.cost.seconds(kind, 0.0, 0.0, axes)
    }

    /// Returns the cheapest steps from `from` to `to` for values of type `ty`.
    pub fn sequence(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> Sequence {
        let steps = self.solve(ty, from, to);
        let (seconds, bytes) = cost_of(&steps, from, ty, self.cost);
        Sequence { steps, seconds, bytes }
    }

    /// Returns a lower bound on the seconds of the cheapest steps without a search, and whether the bound is exact.
    pub fn at_least(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> (f64, bool) {
        match self.begin(ty, from, to) {
            Beginning::Steps(steps) => (cost_of(&steps, from, ty, self.cost).0, true),
            Beginning::Plain => (self.plain_seconds(ty, from, to), true),
            Beginning::Through(between) => {
                let [first, second] = [self.at_least(ty, from, &between), self.at_least(ty, &between, to)];
                (first.0 + second.0, first.1 && second.1)
            }
            Beginning::Search(parts) => match self.even_at_least(ty, from, to, &parts) {
                Some(seconds) => (seconds, false),
                None => match self.atoms(ty, from, to, parts) {
                    Some(atoms) => (atoms.problem(ty, from, to, self.cost).at_least(), false),
                    None => (cost_of(&self.known(ty, from, to).0, from, ty, self.cost).0, true),
                },
            },
        }
    }

    /// Computes [`Problem::at_least`] without atoms where nothing is reduced and all shards are even.
    fn even_at_least(
        &self,
        ty: &TensorType,
        from: &Distribution,
        to: &Distribution,
        parts: &[AxisPart],
    ) -> Option<f64> {
        // Parts up to this number are never split beyond the limit.
        if from.unreduced != to.unreduced || !ty.is_static() || parts.len() > PLAN.max_split {
            return None;
        }
        let (mut wanted, mut held, mut rest, mut is_apart) = (1.0, 1.0, 1.0, false);
        for ((a, b), (d, &n)) in from.dims.iter().zip(&to.dims).zip(ty.shape.iter().enumerate()) {
            if a.is_empty() && b.is_empty() {
                rest *= n as f64;
                continue;
            }
            let (before, after) = (from.shard_dim(d, n), to.shard_dim(d, n));
            if !before.is_even() || !after.is_even() {
                return None;
            }
            let size = after.size() as f64;
            wanted *= size;
            held *= if a == b { size } else { size.min(before.size() as f64) };
            if a != b && !is_apart {
                let common = common_prefix(a, b);
                is_apart = common[..] != a[..] && common[..] != b[..];
            }
        }
        let rest = rest * ty.element.bytes() as f64;
        let seconds = self.cost.floor(wanted * rest - if is_apart { 0.0 } else { held * rest });
        debug_assert!(
            self.atoms(ty, from, to, parts.into()).is_some_and(|atoms| atoms
                .problem(ty, from, to, self.cost)
                .at_least()
                .to_bits()
                == seconds.to_bits()),
            "another bound than that of the atoms"
        );
        Some(seconds)
    }

    /// Returns a lower bound on the seconds of any steps from `from` to `to`: a device must receive all bytes that it
    /// doesn't hold.
    fn floor(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> f64 {
        if from.unreduced != to.unreduced || !ty.is_static() {
            return 0.0;
        }
        let local = |d: usize, at: &Distribution| at.shard_dim(d, ty.shape[d]).size() as f64;
        let wanted: f64 = (0..ty.rank()).map(|d| local(d, to)).product();
        let held: f64 = (0..ty.rank()).map(|d| local(d, from).min(local(d, to))).product();
        self.cost.floor((wanted - held) * ty.element.bytes() as f64)
    }

    fn solve(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> Vec<Step> {
        match self.begin(ty, from, to) {
            Beginning::Steps(steps) => steps,
            Beginning::Plain => plain(ty, from, to),
            Beginning::Through(between) => {
                let mut steps = self.solve(ty, from, &between);
                steps.extend(self.solve(ty, &between, to));
                steps
            }
            Beginning::Search(parts) => {
                let (known, bound) = self.known(ty, from, to);
                let Some(atoms) = self.atoms(ty, from, to, parts) else { return known };
                let problem = Problem { parts: self.parts, ..atoms.problem(ty, from, to, self.cost) };
                let asked = (problem.question(), bound.to_bits());
                let found = self.solved.borrow().get(&asked).cloned();
                let found = found.unwrap_or_else(|| {
                    let found = problem.solve(bound).map(Rc::from);
                    self.solved.borrow_mut().insert(asked, found.clone());
                    found
                });
                match found {
                    Some(path) => atoms.steps(&path, from, to),
                    None => known,
                }
            }
        }
    }

    /// Returns the cheapest steps where no search is needed, else how to find them.
    fn begin(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> Beginning {
        if from == to {
            return Beginning::Steps(Vec::new());
        }
        if from.kind != to.kind && !from.unreduced.is_empty() && !to.unreduced.is_empty() {
            // A partial sum can't become a partial maximum without being fully reduced in between.
            return Beginning::Through(to.reduced());
        }
        if let Some(step) = one_step(ty, from, to) {
            return Beginning::Steps(vec![step]);
        }
        let Some(parts) = agreed_parts(from, to) else {
            let between = agreeing_part(from, to);
            return match between == *from {
                true => Beginning::Plain,
                false => Beginning::Through(between),
            };
        };
        if is_direct(ty, from, to) {
            return Beginning::Plain;
        }
        Beginning::Search(parts)
    }

    /// Returns the atoms made of these [`agreed_parts`]; `None` where the search isn't run because there are too many.
    fn atoms(
        &self,
        ty: &TensorType,
        from: &Distribution,
        to: &Distribution,
        parts: SmallVec<[AxisPart; 8]>,
    ) -> Option<Atoms> {
        let atoms = Atoms::of(parts, self.mesh_axes, &self.manual, from, to);
        (atoms.parts.len() <= MAX_ATOMS && ty.is_static()).then_some(atoms)
    }

    /// Returns the best steps known without a search, and their seconds.
    fn known(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> (Vec<Step>, f64) {
        self.cheaper(ty, from, plain(ty, from, to), greedy(ty, from, to))
    }

    /// Returns the seconds of the [`plain`] steps: of their reduction and gather, since all others are free.
    fn plain_seconds(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> f64 {
        let pending = set_difference(&from.unreduced, &to.unreduced);
        let mut seconds = 0.0;
        if !pending.is_empty() {
            let (operand, result) = exchanged_bytes(ty, from.dims.iter().map(|axes| [size_of(axes); 2]));
            seconds += self.cost.seconds(CollectiveKind::AllReduce, operand, result, &pending);
        }
        let mut gathered = Axes::new();
        let mut shards: SmallVec<[[i64; 2]; 4]> = SmallVec::new();
        for (d, axes) in from.dims.iter().enumerate() {
            let kept = kept_prefix(ty, from, to, d);
            shards.push([size_of(axes), size_of(&kept)]);
            gathered.extend(after_prefix(axes, &kept));
        }
        if !gathered.is_empty() {
            let (operand, result) = exchanged_bytes(ty, shards);
            seconds += self.cost.seconds(CollectiveKind::AllGather, operand, result, &gathered);
        }
        seconds
    }

    /// Returns the cheaper of two sequences that begin at `from` (the first if the costs are equal), and its seconds.
    fn cheaper(
        &self,
        ty: &TensorType,
        from: &Distribution,
        first: Vec<Step>,
        second: Option<Vec<Step>>,
    ) -> (Vec<Step>, f64) {
        let seconds = |steps: &[Step]| cost_of(steps, from, ty, self.cost).0;
        let cost = seconds(&first);
        let other = second.map(|steps| (seconds(&steps), steps));
        match other {
            Some((less, steps)) if less < cost => (steps, less),
            _ => (first, cost),
        }
    }
}

/// The way to the cheapest steps, before any search.
enum Beginning {
    /// These steps are the cheapest, or the only ones.
    Steps(Vec<Step>),
    /// The [`plain`] steps are the cheapest.
    Plain,
    /// The cheapest steps lead through this distribution.
    Through(Distribution),
    /// A search among arrangements of these parts of axes finds the cheapest steps, unless there are too many parts.
    Search(SmallVec<[AxisPart; 8]>),
}

/// Returns whether no sequence can be cheaper than the plain one: it reduces nothing and gathers nothing that it then
/// slices away.
fn is_direct(ty: &TensorType, from: &Distribution, to: &Distribution) -> bool {
    if !set_difference(&from.unreduced, &to.unreduced).is_empty() {
        return false;
    }
    let mut gathers = false;
    let mut adds = !set_difference(&to.unreduced, &from.unreduced).is_empty();
    for d in (0..from.rank()).filter(|&d| from.dims[d] != to.dims[d]) {
        let kept = kept_prefix(ty, from, to, d);
        gathers |= size_of(&kept) < size_of(&from.dims[d]);
        adds |= size_of(&kept) < size_of(&to.dims[d]);
    }
    !(gathers && adds)
}

/// Returns the axes of dimension `d` at `from` that the plain steps to `to` keep.
fn kept_prefix(ty: &TensorType, from: &Distribution, to: &Distribution, d: usize) -> Axes {
    let (have, want) = (&from.dims[d], &to.dims[d]);
    if have == want {
        return Axes::from_slice(have);
    }
    let common = common_prefix(have, want);
    let n = ty.shape.get(d).copied().unwrap_or(0);
    let fits = aligned(n, &common, have) && aligned(n, &common, want);
    if fits { common } else { Axes::new() }
}

/// Returns the single collective that moves only what each device lacks: it moves an axis from one dimension to
/// another, or combines partial results into their target shards.
fn one_step(ty: &TensorType, from: &Distribution, to: &Distribution) -> Option<Step> {
    let mut leaving: SmallVec<[(usize, AxisPart); 2]> = SmallVec::new();
    let mut arriving: SmallVec<[(usize, AxisPart); 2]> = SmallVec::new();
    for (d, (have, want)) in from.dims.iter().zip(&to.dims).enumerate().filter(|d| d.1.0 != d.1.1) {
        let (common, n) = (common_prefix(have, want), ty.shape[d]);
        if n < 0 || !aligned(n, &common, have) || !aligned(n, &common, want) {
            return None;
        }
        leaving.extend(after_prefix(have, &common).into_iter().map(|p| (d, p)));
        if leaving.len() > 1 {
            return None;
        }
        arriving.extend(after_prefix(want, &common).into_iter().map(|p| (d, p)));
    }
    let kind = match (&leaving[..], &arriving[..]) {
        (&[(a, part)], &[(b, same)]) if part == same && a != b && from.unreduced == to.unreduced => {
            Reshard::AllToAll(vec![Move { axes: Axes::from_slice(&[part]), from: a, to: b }])
        }
        ([], [_, ..]) => {
            let pending = set_difference(&from.unreduced, &to.unreduced);
            let whole = set_of(arriving.iter().map(|a| a.1)) == pending
                && set_difference(&to.unreduced, &from.unreduced).is_empty();
            if !whole {
                return None;
            }
            let mut scattered: AxesPerDim = from.dims.iter().map(|_| Axes::new()).collect();
            arriving.iter().for_each(|&(d, part)| scattered[d].push(part));
            Reshard::ReduceScatter(scattered, from.kind)
        }
        _ => return None,
    };
    Some(Step { kind, to: to.clone() })
}

/// Returns a sequence that always exists: reduce, gather the dimensions that disagree, slice.
pub(crate) fn plain(ty: &TensorType, from: &Distribution, to: &Distribution) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut at = from.clone();
    let mut push = |at: &mut Distribution, kind: Reshard<AxisPart>| {
        let next = kind.apply(at).expect("a step made for this distribution");
        *at = next.clone();
        steps.push(Step { kind, to: next });
    };
    let pending = set_difference(&from.unreduced, &to.unreduced);
    if !pending.is_empty() {
        push(&mut at, Reshard::AllReduce(pending, from.kind));
    }
    let gathered: AxesPerDim =
        (0..at.rank()).map(|d| after_prefix(&at.dims[d], &kept_prefix(ty, from, to, d))).collect();
    if gathered.iter().any(|g| !g.is_empty()) {
        push(&mut at, Reshard::AllGather(gathered));
    }
    let added = set_difference(&to.unreduced, &at.unreduced);
    if !added.is_empty() {
        let kind = Reshard::ReplicatedToUnreduced(added.clone(), to.kind);
        let mut next = at.clone().with_unreduced(&added, to.kind);
        next.kind = to.kind;
        at = next.clone();
        steps.push(Step { kind, to: next });
    }
    let sliced: AxesPerDim = (0..at.rank()).map(|d| after_prefix(&to.dims[d], &at.dims[d])).collect();
    if sliced.iter().any(|s| !s.is_empty()) {
        let kind = Reshard::AllSlice(sliced);
        at = kind.apply(&at).expect("a slice by free axes");
        steps.push(Step { kind, to: at.clone() });
    }
    debug_assert_eq!(&at, to);
    steps
}

/// Returns whether shards by `fine` are contained in shards by `prefix`, so that no element shifts.
fn aligned(n: i64, prefix: &[AxisPart], fine: &[AxisPart]) -> bool {
    let dim = |parts: &[AxisPart]| ShardDim::new(n.max(0), size_of(parts));
    dim(fine).refines(dim(prefix))
}

/// Returns `from` without the axes that `to` splits at other boundaries.
fn agreeing_part(from: &Distribution, to: &Distribution) -> Distribution {
    let bad = |p: &AxisPart| !is_chain(boundaries(p.axis, from.axes().chain(to.axes())));
    let dims = from.dims.iter().map(|d| d.iter().copied().take_while(|p| !bad(p)).collect());
    let unreduced: Axes = from.unreduced.iter().copied().filter(|p| !bad(p)).collect();
    Distribution::of_dims(dims).with_unreduced(&unreduced, from.kind)
}

/// Returns whether both split every axis at boundaries that divide each other.
#[cfg(test)]
pub(crate) fn agree(from: &Distribution, to: &Distribution) -> bool {
    agreed_parts(from, to).is_some()
}

fn boundaries(axis: u32, parts: impl Iterator<Item = AxisPart>) -> SmallVec<[u32; 8]> {
    let mut at: SmallVec<[u32; 8]> = parts.filter(|p| p.axis == axis).flat_map(|p| [p.pre, p.end()]).collect();
    at.sort_unstable();
    at.dedup();
    at
}

fn is_chain(at: SmallVec<[u32; 8]>) -> bool {
    at.windows(2).all(|w| w[1] % w[0] == 0)
}

/// The axis parts that make up both distributions.
struct Atoms {
    parts: SmallVec<[AxisPart; 8]>,
    dims: SmallVec<[usize; 4]>,
}

/// Returns the parts of axes that make up both distributions, sorted; `None` when the two split an axis at boundaries
/// that don't divide each other.
fn agreed_parts(from: &Distribution, to: &Distribution) -> Option<SmallVec<[AxisPart; 8]>> {
    let mut all: SmallVec<[AxisPart; 8]> = from.axes().chain(to.axes()).collect();
    all.sort_unstable();
    all.dedup();
    // Most often both use the same parts of each axis, or none.
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
    fn of(
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

    fn state(&self, d: &Distribution) -> State {
        State {
            dims: self.dims.iter().map(|&i| self.list(&d.dims[i])).collect(),
            unreduced: self.list(&d.unreduced).iter().fold(0, |m, a| m | 1 << a),
        }
    }

    fn problem<'c>(
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
            rest_bytes: rest * ty.element.bytes() as f64,
            divides: self.dims.iter().all(|&d| is_even(d, from) && is_even(d, to)),
            from: self.state(from),
            to: self.state(to),
            wanted: Shard::default(),
            parts: true,
            cost,
        }
        .with_wanted()
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
    fn steps(&self, path: &[(Edge, State)], from: &Distribution, to: &Distribution) -> Vec<Step> {
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
