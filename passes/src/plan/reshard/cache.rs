//! Interned distributions and types, and the costs of moving between them, each computed once.

use std::rc::Rc;

use dialect::define_id;
use dialect::id::Interner;
use dialect::ir::TensorType;
use dialect::op::CollectiveKind;
use dialect::sharding::{AxisPart, Distribution, MeshAxes, ReductionKind, Reshard};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::search::ROUNDING;
use super::{Resharder, Sequence};
use crate::plan::model::cost::CollectiveCost;

define_id!(
    /// A distribution of one [`ReshardCache`].
    pub Dist, "at"
);

define_id!(
    /// A tensor type of one [`ReshardCache`].
    pub Type, "type"
);

/// What determines the copies of a value: its type, where it is made, whether it can be made anywhere, and where it is
/// wanted, sorted.
type Wanted = (Type, Dist, Rematerializable, SmallVec<[Dist; 4]>);

fn wanted(ty: Type, rematerializable: Rematerializable, made: Dist, needs: &[Dist]) -> Wanted {
    let mut distinct: SmallVec<[Dist; 4]> = needs.iter().copied().filter(|&n| n != made).collect();
    distinct.sort_unstable();
    distinct.dedup();
    (ty, made, rematerializable, distinct)
}

define_id!(
    /// A kind of step of one [`ReshardCache`].
    pub(crate) Kind, "step"
);

/// Steps, by kind and the distribution that each ends in.
pub(crate) type Path = Rc<[(Kind, Dist)]>;

/// Whether a value can be recomputed in another distribution without moving anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rematerializable {
    /// It is computed only in the distribution its op gives it.
    #[default]
    No,
    /// In every distribution without unreduced axes: constants, iota.
    Whole,
    /// Also in distributions with partial sums: all zero, so each partial sum is zero too.
    Zero,
}

/// One distribution in which a value exists.
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// Its distribution.
    pub at: Dist,
    /// The index of the copy it is made from, and the step; `None` for a value as it is computed.
    pub from: Option<(usize, Reshard<AxisPart>)>,
}

/// All distributions in which one value is made, first the one its op leaves it in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Copies {
    /// Each is made from an earlier one.
    pub list: SmallVec<[Copy; 2]>,
    /// Modeled seconds of all steps.
    pub seconds: f64,
    /// Bytes a device moves.
    pub bytes: f64,
}

/// Interned distributions and types, with tables of costs.
pub struct ReshardCache<'a> {
    resharder: Resharder<'a>,
    dists: Interner<Dist, Distribution>,
    types: Interner<Type, TensorType>,
    kinds: Interner<Kind, Reshard<AxisPart>>,
    sequences: FxHashMap<(Type, Dist, Dist), Rc<Sequence>>,
    /// The same steps as ids.
    paths: FxHashMap<(Type, Dist, Dist), Path>,
    /// Lower bounds on seconds, and whether they are exact: as they are where there is a sequence.
    bounds: FxHashMap<(Type, Dist, Dist), (f64, bool)>,
    copies: FxHashMap<(Type, Dist, Rematerializable, SmallVec<[Dist; 4]>), Rc<Copies>>,
    /// By where a value is made: its only copy, where it is wanted nowhere else.
    unmoved: FxHashMap<Dist, Rc<Copies>>,
}

impl<'a> ReshardCache<'a> {
    /// Over the given mesh axes, under one cost model.
    pub fn new(mesh_axes: &'a MeshAxes, cost: &'a dyn CollectiveCost) -> Self {
        Self::over(Resharder::new(mesh_axes, cost))
    }

    /// Whether shards may be sent in parts from now on, as they may at first. A plan is made without: then letting it
    /// send parts makes it cheaper or leaves it as it is, where a search led elsewhere might end in a dearer one.
    pub fn send_parts(&mut self, parts: bool) {
        if self.resharder.parts != parts {
            self.resharder.parts = parts;
            self.sequences.clear();
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
            sequences: FxHashMap::default(),
            paths: FxHashMap::default(),
            bounds: FxHashMap::default(),
            copies: FxHashMap::default(),
            unmoved: FxHashMap::default(),
        }
    }

    /// A separate cache for a region that is manual along `axes`.
    pub fn without_axes(&self, axes: &[AxisPart]) -> Self {
        Self::over(self.resharder.without_axes(axes))
    }

    /// The mesh axes.
    pub fn mesh_axes(&self) -> &'a MeshAxes {
        self.resharder.mesh_axes()
    }

    /// The axes no step may use.
    pub fn manual_axes(&self) -> &[AxisPart] {
        self.resharder.manual_axes()
    }

    /// The id of a distribution.
    pub fn dist(&mut self, distribution: &Distribution) -> Dist {
        self.dists.intern_ref(distribution)
    }

    /// The distribution with an id.
    pub fn distribution(&self, dist: Dist) -> &Distribution {
        &self.dists[dist]
    }

    /// The id of a type.
    pub fn ty(&mut self, ty: &TensorType) -> Type {
        self.types.intern_ref(ty)
    }

    /// The type with an id.
    pub fn tensor_type(&self, ty: Type) -> &TensorType {
        &self.types[ty]
    }

    /// Bytes of one device's shard.
    pub fn local_bytes(&self, ty: Type, dist: Dist) -> f64 {
        self.distribution(dist).local_bytes(self.tensor_type(ty))
    }

    /// The steps from `from` to `to`.
    pub fn sequence(&mut self, ty: Type, from: Dist, to: Dist) -> Rc<Sequence> {
        if let Some(known) = self.sequences.get(&(ty, from, to)) {
            return known.clone();
        }
        let (t, a, b) = (&self.types[ty], &self.dists[from], &self.dists[to]);
        let found = Rc::new(self.resharder.sequence(t, a, b));
        self.bounds.insert((ty, from, to), (found.seconds, true));
        self.sequences.insert((ty, from, to), found.clone());
        found
    }

    /// The steps from `from` to `to`, as ids.
    pub(crate) fn path(&mut self, ty: Type, from: Dist, to: Dist) -> Path {
        if let Some(known) = self.paths.get(&(ty, from, to)) {
            return known.clone();
        }
        let sequence = self.sequence(ty, from, to);
        let path: Path = sequence.steps.iter().map(|step| (self.kind(&step.kind), self.dist(&step.to))).collect();
        self.paths.insert((ty, from, to), path.clone());
        path
    }

    /// The id of a kind of step.
    pub(crate) fn kind(&mut self, kind: &Reshard<AxisPart>) -> Kind {
        self.kinds.intern_ref(kind)
    }

    /// The kind of step with an id.
    pub(crate) fn step(&self, kind: Kind) -> &Reshard<AxisPart> {
        &self.kinds[kind]
    }

    /// Seconds to get from `from` to `to`.
    pub fn seconds(&mut self, ty: Type, from: Dist, to: Dist) -> f64 {
        if from == to {
            return 0.0;
        }
        match self.bounds.get(&(ty, from, to)) {
            Some(&(seconds, true)) => seconds,
            _ => self.sequence(ty, from, to).seconds,
        }
    }

    /// A lower bound on [`Self::seconds`] that is soon found, and whether it is exact: where the steps are known
    /// already, or there is nothing to choose between.
    pub fn at_least(&mut self, ty: Type, from: Dist, to: Dist) -> (f64, bool) {
        if from == to {
            return (0.0, true);
        }
        let Self { resharder, types, dists, bounds, .. } = self;
        let find = || resharder.at_least(&types[ty], &dists[from], &dists[to]);
        *bounds.entry((ty, from, to)).or_insert_with(find)
    }

    /// Seconds of one step of a value at `from`.
    pub fn step_seconds(&self, ty: Type, from: Dist, to: Dist, kind: &Reshard<AxisPart>) -> f64 {
        self.resharder.step_seconds(self.tensor_type(ty), self.distribution(from), self.distribution(to), kind)
    }

    /// Seconds a collective over `axes` takes however little it moves.
    pub fn startup(&self, kind: CollectiveKind, axes: &[AxisPart]) -> f64 {
        self.resharder.startup(kind, axes)
    }

    /// Seconds of a permute of `bytes` from every device along `axes`.
    pub fn permute_seconds(&self, bytes: f64, axes: &[AxisPart]) -> f64 {
        self.resharder.collective_seconds(CollectiveKind::CollectivePermute, bytes, axes)
    }

    /// Whether a value of this rematerializability costs nothing at `to`.
    pub fn is_free(&self, rematerializable: Rematerializable, to: Dist) -> bool {
        let to = self.distribution(to);
        match rematerializable {
            Rematerializable::No => false,
            Rematerializable::Whole => to.unreduced.is_empty(),
            Rematerializable::Zero => to.kind == ReductionKind::Sum,
        }
    }

    /// Seconds to `to` from the nearest of these copies, and that copy's index; the first one of several. Most copies are
    /// farther away by their lower bounds, so that nothing is searched for.
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

    /// Seconds to `to` from the nearest of `begins`, if they are less than `limit`.
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
        let sequence = self.sequence(ty, copies.list[at].at, to);
        for step in &sequence.steps {
            let dist = self.dist(&step.to);
            copies.list.push(Copy { at: dist, from: Some((at, step.kind.clone())) });
            at = copies.list.len() - 1;
        }
        copies.seconds += sequence.seconds;
        copies.bytes += sequence.bytes;
    }

    /// The copies of a value made at `made` that serve all of `needs`, each made from the nearest one, in the cheapest
    /// order among those tried.
    pub fn copies(&mut self, ty: Type, rematerializable: Rematerializable, made: Dist, needs: &[Dist]) -> Rc<Copies> {
        let only = || Copies { list: [Copy { at: made, from: None }].into_iter().collect(), ..Copies::default() };
        if needs.iter().all(|&need| need == made) {
            return self.unmoved.entry(made).or_insert_with(|| Rc::new(only())).clone();
        }
        let key = wanted(ty, rematerializable, made, needs);
        if let Some(known) = self.copies.get(&key) {
            return known.clone();
        }
        let mut start = only();
        let (free, wanted): (Vec<Dist>, Vec<Dist>) = key.3.iter().partition(|&&n| self.is_free(rematerializable, n));
        start.list.extend(free.into_iter().map(|at| Copy { at, from: None }));
        let found = self.in_best_order(ty, start, &wanted);
        let found = Rc::new(found);
        self.copies.insert(key, found.clone());
        found
    }

    /// Seconds of [`Self::copies`], and the bytes that a device moves.
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

    /// A lower bound on the seconds of [`Self::copies`] that is soon found, and whether it is exact: whatever is on the way to
    /// another copy, each of them is at least as far from what the value begins with as its own bound says.
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
        let key = wanted(ty, rematerializable, made, needs);
        match (self.copies.get(&key), &key.3[..]) {
            (Some(known), _) => return (known.seconds, true),
            (None, &[one]) if !self.is_free(rematerializable, one) => return self.at_least(ty, made, one),
            _ => {}
        }
        let (mut begins, left): (SmallVec<[Dist; 4]>, SmallVec<[Dist; 4]>) =
            key.3.iter().copied().partition(|&n| self.is_free(rematerializable, n));
        begins.push(made);
        let mut most = 0.0;
        for &to in &left {
            let least = begins.iter().map(|&from| self.detour_at_least(ty, from, to)).fold(f64::INFINITY, f64::min);
            most = f64::max(most, least);
        }
        (most, left.is_empty())
    }

    /// A lower bound on the seconds from `from` to `to` by way of any distributions: on a torus that may be cheaper than the
    /// one collective that does it.
    fn detour_at_least(&mut self, ty: Type, from: Dist, to: Dist) -> f64 {
        match self.at_least(ty, from, to) {
            (bound, false) => bound,
            (_, true) => self.resharder.floor(&self.types[ty], &self.dists[from], &self.dists[to]),
        }
    }

    fn in_best_order(&mut self, ty: Type, start: Copies, wanted: &[Dist]) -> Copies {
        if wanted.len() > 3 {
            // Greedily, the nearest first.
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
