//! A cache of distributions, types, and the costs of redistributing between them.

use std::rc::Rc;

use dialect::define_id;
use dialect::id::Interner;
use dialect::ir::TensorType;
use dialect::sharding::{AxisPart, Distribution, MeshAxes, ReductionKind, Reshard};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::step::step_cost;
use super::{Resharder, Sequence};
use crate::plan::heuristics::ROUNDING;
use crate::plan::model::cost::CollectiveCost;

define_id!(
    /// A distribution of one [`ReshardCache`].
    pub Dist, "at"
);

define_id!(
    /// A tensor type of one [`ReshardCache`].
    pub Type, "type"
);

/// The key of a value's copies.
#[derive(PartialEq, Eq, Hash)]
struct CopiesKey {
    ty: Type,
    /// The distribution in which it is computed.
    made: Dist,
    rematerializable: Rematerializable,
    /// The other distributions that users read, sorted.
    needs: SmallVec<[Dist; 4]>,
}

impl CopiesKey {
    fn new(ty: Type, rematerializable: Rematerializable, made: Dist, needs: &[Dist]) -> Self {
        let mut distinct: SmallVec<[Dist; 4]> = needs.iter().copied().filter(|&n| n != made).collect();
        distinct.sort_unstable();
        distinct.dedup();
        Self { ty, made, rematerializable, needs: distinct }
    }
}

define_id!(
    /// A kind of step of one [`ReshardCache`].
    pub StepKind, "step"
);

/// The cheapest steps from one distribution to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// The kind of each step, and the distribution after it.
    pub steps: SmallVec<[(StepKind, Dist); 2]>,
    /// Modeled seconds.
    pub seconds: f64,
    /// Bytes a device moves.
    pub bytes: f64,
}

/// Whether a value can be recomputed in another distribution without moving anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rematerializable {
    /// It can be computed only in the distribution of its op.
    #[default]
    No,
    /// It can be computed in every distribution without unreduced axes: constants, iota.
    Whole,
    /// It can be computed in distributions with partial sums, too: it is all zeros, so each partial sum is zero.
    Zero,
}

/// One distribution in which a value exists.
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// Its distribution.
    pub at: Dist,
    /// The index of the copy it is made from, and the step; `None` for the value as its op computes it.
    pub from: Option<(usize, StepKind)>,
}

/// The distributions in which one value exists, first the one in which its op computes it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Copies {
    /// The copies, each made from an earlier one.
    pub list: SmallVec<[Copy; 2]>,
    /// Modeled seconds of all steps.
    pub seconds: f64,
    /// Bytes a device moves.
    pub bytes: f64,
}

/// A cache of distributions, types, and costs between them.
pub struct ReshardCache<'a> {
    resharder: Resharder<'a>,
    dists: Interner<Dist, Distribution>,
    types: Interner<Type, TensorType>,
    kinds: Interner<StepKind, Reshard<AxisPart>>,
    paths: FxHashMap<(Type, Dist, Dist), Rc<Path>>,
    /// Lower bounds on seconds, and whether they are exact; the bound of a known path is exact.
    bounds: FxHashMap<(Type, Dist, Dist), (f64, bool)>,
    copies: FxHashMap<CopiesKey, Rc<Copies>>,
    /// The only copy of a value that is wanted nowhere else, by the distribution in which it is computed.
    unmoved: FxHashMap<Dist, Rc<Copies>>,
}

impl<'a> ReshardCache<'a> {
    /// Creates a cache for the given mesh axes and cost model.
    pub fn new(mesh_axes: &'a MeshAxes, cost: &'a dyn CollectiveCost) -> Self {
        Self::over(Resharder::new(mesh_axes, cost))
    }

    /// Sets whether shards may be sent in parts, as is the default. A plan is first made without parts, since allowing
    /// them for a finished plan only makes it cheaper, while a search with them might end in a more expensive plan.
    pub fn send_parts(&mut self, parts: bool) {
        if self.resharder.parts != parts {
            self.resharder.parts = parts;
            self.paths.clear();
            self.bounds.clear();
            self.copies.clear();
        }
    }

    fn over(resharder: Resharder<'a>) -> Self {
        Self {
            resharder,
            dists: Interner::default(),
            types: Interner::default(),
            kinds: Interner::default(),
            paths: FxHashMap::default(),
            bounds: FxHashMap::default(),
            copies: FxHashMap::default(),
            unmoved: FxHashMap::default(),
        }
    }

    /// Returns a separate cache for a region that is manual along `axes`.
    pub fn without_axes(&self, axes: &[AxisPart]) -> Self {
        Self::over(self.resharder.without_axes(axes))
    }

    /// Returns the mesh axes.
    pub fn mesh_axes(&self) -> &'a MeshAxes {
        self.resharder.mesh_axes()
    }

    /// Returns the axes that no step may use.
    pub fn manual_axes(&self) -> &[AxisPart] {
        self.resharder.manual_axes()
    }

    /// Returns the id of a distribution.
    pub fn dist(&mut self, distribution: &Distribution) -> Dist {
        self.dists.intern_ref(distribution)
    }

    /// Returns the distribution with an id.
    pub fn distribution(&self, dist: Dist) -> &Distribution {
        &self.dists[dist]
    }

    /// Returns the id of a type.
    pub fn ty(&mut self, ty: &TensorType) -> Type {
        self.types.intern_ref(ty)
    }

    /// Returns the type with an id.
    pub fn tensor_type(&self, ty: Type) -> &TensorType {
        &self.types[ty]
    }

    /// Returns the bytes of one device's shard.
    pub fn local_bytes(&self, ty: Type, dist: Dist) -> f64 {
        self.distribution(dist).local_bytes(self.tensor_type(ty))
    }

    /// Returns the steps from `from` to `to`.
    pub fn path(&mut self, ty: Type, from: Dist, to: Dist) -> Rc<Path> {
        if let Some(known) = self.paths.get(&(ty, from, to)) {
            return known.clone();
        }
        let (t, a, b) = (&self.types[ty], &self.dists[from], &self.dists[to]);
        let Sequence { steps, seconds, bytes } = self.resharder.sequence(t, a, b);
        let steps = steps.iter().map(|step| (self.kind(&step.kind), self.dist(&step.to))).collect();
        let found = Rc::new(Path { steps, seconds, bytes });
        self.bounds.insert((ty, from, to), (seconds, true));
        self.paths.insert((ty, from, to), found.clone());
        found
    }

    /// Returns the id of a kind of step.
    pub(crate) fn kind(&mut self, kind: &Reshard<AxisPart>) -> StepKind {
        self.kinds.intern_ref(kind)
    }

    /// Returns the kind of step with an id.
    pub(crate) fn step(&self, kind: StepKind) -> &Reshard<AxisPart> {
        &self.kinds[kind]
    }

    /// Returns the seconds to redistribute from `from` to `to`.
    pub fn seconds(&mut self, ty: Type, from: Dist, to: Dist) -> f64 {
        if from == to {
            return 0.0;
        }
        match self.bounds.get(&(ty, from, to)) {
            Some(&(seconds, true)) => seconds,
            _ => self.path(ty, from, to).seconds,
        }
    }

    /// Returns a lower bound on [`Self::seconds`] without a search, and whether it is exact: it is where the steps are
    /// known already, or where there is only one choice.
    pub fn at_least(&mut self, ty: Type, from: Dist, to: Dist) -> (f64, bool) {
        if from == to {
            return (0.0, true);
        }
        let Self { resharder, types, dists, bounds, .. } = self;
        let find = || resharder.at_least(&types[ty], &dists[from], &dists[to]);
        *bounds.entry((ty, from, to)).or_insert_with(find)
    }

    /// Returns the seconds of one step of a value at `from`.
    pub fn step_seconds(&self, ty: Type, from: Dist, to: Dist, kind: StepKind) -> f64 {
        let (from, to) = (self.distribution(from), self.distribution(to));
        step_cost(self.step(kind), from, to, self.tensor_type(ty), self.prices()).0
    }

    /// Returns the prices of collectives.
    pub fn prices(&self) -> &'a dyn CollectiveCost {
        self.resharder.cost
    }

    /// Returns whether a value of this rematerializability costs nothing at `to`.
    pub fn is_free(&self, rematerializable: Rematerializable, to: Dist) -> bool {
        let to = self.distribution(to);
        match rematerializable {
            Rematerializable::No => false,
            Rematerializable::Whole => to.unreduced.is_empty(),
            Rematerializable::Zero => to.kind == ReductionKind::Sum,
        }
    }

    /// Returns the seconds to `to` from the nearest of these copies, and that copy's index; the first of equally near
    /// ones. Lower bounds exclude most copies without a search.
    fn nearest(&mut self, ty: Type, copies: &[Copy], to: Dist) -> (f64, usize) {
        if let [only] = copies {
            return (self.seconds(ty, only.at, to), 0);
        }
        let mut best = (f64::INFINITY, 0);
        let bounds = copies.iter().enumerate().map(|(i, copy)| (self.at_least(ty, copy.at, to).0, i));
        let mut bounds: SmallVec<[(f64, usize); 8]> = bounds.collect();
        bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (bound, i) in bounds {
            if bound * (1.0 - ROUNDING) > best.0 {
                break;
            }
            let seconds = self.seconds(ty, copies[i].at, to);
            if (seconds, i) < best {
                best = (seconds, i);
            }
        }
        best
    }

    /// Returns the seconds to `to` from the nearest of `begins`, if they are less than `limit`.
    pub(crate) fn nearest_below(&mut self, limit: f64, ty: Type, begins: &[Dist], to: Dist) -> Option<f64> {
        let mut least = limit;
        for &from in begins {
            if least == f64::INFINITY || self.at_least(ty, from, to).0 * (1.0 - ROUNDING) < least {
                least = least.min(self.seconds(ty, from, to));
            }
        }
        (least < limit).then_some(least)
    }

    /// Adds the copy at `to`, and every step between, starting from the nearest copy.
    fn reach(&mut self, ty: Type, copies: &mut Copies, to: Dist) {
        let (_, mut at) = self.nearest(ty, &copies.list, to);
        if copies.list[at].at == to {
            return;
        }
        let path = self.path(ty, copies.list[at].at, to);
        for &(kind, to) in &path.steps {
            copies.list.push(Copy { at: to, from: Some((at, kind)) });
            at = copies.list.len() - 1;
        }
        copies.seconds += path.seconds;
        copies.bytes += path.bytes;
    }

    /// Returns the copies of a value computed at `made` that serve all of `needs`, each made from the nearest earlier
    /// copy, in the cheapest order among those tried.
    pub fn copies(&mut self, ty: Type, rematerializable: Rematerializable, made: Dist, needs: &[Dist]) -> Rc<Copies> {
        let only = || Copies { list: [Copy { at: made, from: None }].into_iter().collect(), ..Copies::default() };
        if needs.iter().all(|&need| need == made) {
            return self.unmoved.entry(made).or_insert_with(|| Rc::new(only())).clone();
        }
        let key = CopiesKey::new(ty, rematerializable, made, needs);
        if let Some(known) = self.copies.get(&key) {
            return known.clone();
        }
        let mut start = only();
        let (free, wanted): (Vec<Dist>, Vec<Dist>) =
            key.needs.iter().partition(|&&n| self.is_free(rematerializable, n));
        start.list.extend(free.into_iter().map(|at| Copy { at, from: None }));
        let found = self.in_best_order(ty, start, &wanted);
        let found = Rc::new(found);
        self.copies.insert(key, found.clone());
        found
    }

    /// Returns the seconds of [`Self::copies`], and the bytes that a device moves.
    pub fn copies_cost(
        &mut self,
        ty: Type,
        rematerializable: Rematerializable,
        made: Dist,
        needs: &[Dist],
    ) -> (f64, f64) {
        if needs.iter().all(|&need| need == made) {
            return (0.0, 0.0);
        }
        let copies = self.copies(ty, rematerializable, made, needs);
        (copies.seconds, copies.bytes)
    }

    /// Returns a lower bound on the seconds of [`Self::copies`] without a search, and whether it is exact. Each copy is
    /// at least as far from the original as its own bound, even if other copies are intermediate steps.
    pub fn copies_at_least(
        &mut self,
        ty: Type,
        rematerializable: Rematerializable,
        made: Dist,
        needs: &[Dist],
    ) -> (f64, bool) {
        if needs.iter().all(|&need| need == made) {
            return (0.0, true);
        }
        let key = CopiesKey::new(ty, rematerializable, made, needs);
        match (self.copies.get(&key), &key.needs[..]) {
            (Some(known), _) => return (known.seconds, true),
            (None, &[one]) if !self.is_free(rematerializable, one) => return self.at_least(ty, made, one),
            _ => {}
        }
        let (mut begins, left): (SmallVec<[Dist; 4]>, SmallVec<[Dist; 4]>) =
            key.needs.iter().copied().partition(|&n| self.is_free(rematerializable, n));
        begins.push(made);
        let mut most = 0.0;
        for &to in &left {
            let least = begins.iter().map(|&from| self.detour_at_least(ty, from, to)).fold(f64::INFINITY, f64::min);
            most = f64::max(most, least);
        }
        (most, left.is_empty())
    }

    /// Returns a lower bound on the seconds from `from` to `to` through any distributions: on a torus a detour may be
    /// cheaper than the single collective.
    fn detour_at_least(&mut self, ty: Type, from: Dist, to: Dist) -> f64 {
        match self.at_least(ty, from, to) {
            (bound, false) => bound,
            (_, true) => self.resharder.least_seconds(&self.types[ty], &self.dists[from], &self.dists[to]),
        }
    }

    fn in_best_order(&mut self, ty: Type, start: Copies, wanted: &[Dist]) -> Copies {
        if wanted.len() > 3 {
            // Greedily adds the nearest first.
            let (mut copies, mut left) = (start, wanted.to_vec());
            while !left.is_empty() {
                let seconds: Vec<f64> = left.iter().map(|&n| self.nearest(ty, &copies.list, n).0).collect();
                let next = (0..left.len()).min_by(|&a, &b| seconds[a].total_cmp(&seconds[b])).unwrap_or(0);
                self.reach(ty, &mut copies, left.remove(next));
            }
            return copies;
        }
        let mut best: Option<Copies> = None;
        for first in 0..wanted.len() {
            let mut copies = start.clone();
            self.reach(ty, &mut copies, wanted[first]);
            if best.as_ref().is_some_and(|b| copies.seconds >= b.seconds) {
                continue;
            }
            let rest: Vec<Dist> = wanted.iter().enumerate().filter(|w| w.0 != first).map(|w| *w.1).collect();
            let copies = self.in_best_order(ty, copies, &rest);
            if best.as_ref().is_none_or(|b| copies.seconds < b.seconds) {
                best = Some(copies);
            }
        }
        best.unwrap_or(start)
    }
}
