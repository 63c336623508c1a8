//! Finds the cheapest sequence of collectives from one distribution of a value to another.
//!
//! Common cases (slice, gather, reduce) are recognized directly. For the rest, `search` looks for a sequence cheaper
//! than the one that always exists (reduce, gather the dimensions that disagree, slice) and than Shardy's order
//! (`greedy`).

mod atoms;
mod bound;
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

use dialect::ir::TensorType;
use dialect::sharding::axis::{after_prefix, common_prefix, set_difference, set_of, size_of};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution, MeshAxes, Move, Reshard, ShardDim};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::model::cost::CollectiveCost;
use crate::plan::heuristics::MAX_ATOMS;
use atoms::{Atoms, agreed_parts, boundaries, is_chain};
use greedy::greedy;
use search::{Edge, Problem, ProblemKey};
use state::State;
use step::{Step, cost_of};

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
    solved: RefCell<FxHashMap<ProblemKey, Option<Steps>>>,
}

/// Steps with the states after them.
type Steps = Rc<[(Edge, State)]>;

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
            Beginning::Through(between) => {
                let [first, second] = [self.at_least(ty, from, &between), self.at_least(ty, &between, to)];
                (first.0 + second.0, first.1 && second.1)
            }
            Beginning::Search(parts) if ty.is_static() => (self.least_of_parts(ty, from, to, &parts), false),
            Beginning::Search(_) => (self.known(ty, from, to).1, true),
        }
    }

    fn solve(&self, ty: &TensorType, from: &Distribution, to: &Distribution) -> Vec<Step> {
        match self.begin(ty, from, to) {
            Beginning::Steps(steps) => steps,
            Beginning::Through(between) => {
                let mut steps = self.solve(ty, from, &between);
                steps.extend(self.solve(ty, &between, to));
                steps
            }
            Beginning::Search(parts) => {
                let (known, bound) = self.known(ty, from, to);
                let Some(atoms) = self.atoms(ty, from, to, parts) else { return known };
                let problem = Problem { parts: self.parts, ..atoms.problem(ty, from, to, self.cost) };
                let key = problem.key(bound);
                let found = self.solved.borrow().get(&key).cloned();
                let found = found.unwrap_or_else(|| {
                    let found = problem.solve(bound).map(Rc::from);
                    self.solved.borrow_mut().insert(key, found.clone());
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
                true => Beginning::Steps(plain(ty, from, to)),
                false => Beginning::Through(between),
            };
        };
        if is_direct(ty, from, to) {
            return Beginning::Steps(plain(ty, from, to));
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
        let priced = |steps: Vec<Step>| (cost_of(&steps, from, ty, self.cost).0, steps);
        let (seconds, steps) = priced(plain(ty, from, to));
        match greedy(ty, from, to).map(priced) {
            Some((less, others)) if less < seconds => (others, less),
            _ => (steps, seconds),
        }
    }
}

/// The way to the cheapest steps, before any search.
enum Beginning {
    /// These steps are the cheapest, or the only ones.
    Steps(Vec<Step>),
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
