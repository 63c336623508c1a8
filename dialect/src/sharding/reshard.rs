//! Shardy's collectives as data: changes of distribution of global values.
//!
//! Ops use named axes (`Reshard`); passes compute with integer parts of axes (`Reshard<AxisPart>`).

use smallvec::SmallVec;

use super::axis::{Axes, AxisPart, push_merged, set_difference, set_of, strip_suffix};
use super::distribution::Distribution;
use super::mesh::{AxisRef, Mesh};
use super::sharding::ReductionKind;
use crate::collective::CollectiveKind;

/// Axes for each dimension.
pub type PerDim<A = AxisRef> = SmallVec<[SmallVec<[A; 2]>; 4]>;

/// Axes that move from one dimension to another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Move<A = AxisRef> {
    /// The axes, major first.
    pub axes: SmallVec<[A; 2]>,
    /// The dimension from whose minor end the axes are removed.
    pub from: usize,
    /// The dimension to whose minor end the axes are added, after those of earlier moves.
    pub to: usize,
}

/// A change of distribution that one `sdy` collective performs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reshard<A = AxisRef> {
    /// Axes are removed from the minor end of each dimension.
    AllGather(PerDim<A>),
    /// Axes are added at the minor end of each dimension.
    AllSlice(PerDim<A>),
    /// Axes move between dimensions; no dimension both loses and receives axes.
    AllToAll(Vec<Move<A>>),
    /// Shards move to their devices in the new sharding; every dimension keeps its number of shards.
    CollectivePermute,
    /// Shards are cut into equal parts, and each is sent straight to the shard of the new sharding that contains it
    /// (see [`ShardParts`](super::ShardParts)).
    PermuteParts,
    /// Partial results along the axes are combined.
    AllReduce(SmallVec<[A; 2]>, ReductionKind),
    /// Partial results along the axes are combined and sharded along dimensions.
    ReduceScatter(PerDim<A>, ReductionKind),
    /// A replicated value becomes partial: the first device of each group keeps it, the others hold the reduction's
    /// identity.
    ReplicatedToUnreduced(SmallVec<[A; 2]>, ReductionKind),
    /// Shards become partial results: each device's shard is padded with the reduction's identity to the full size.
    ShardedToUnreduced(PerDim<A>, ReductionKind),
    /// Nothing changes: barriers, and constraints already met.
    Identity,
}

/// The reason why a change can't be applied to a distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReshardFault {
    /// The numbers of lists of axes and of the value's dimensions, which differ.
    Lists(usize, usize),
    /// An axis to remove from this dimension isn't at its minor end.
    NotMinor(usize),
    /// An axis to add to this dimension is already in use.
    InUse(usize),
    /// No axes move.
    NoMoves,
    /// The value has no such dimension.
    NoDimension(usize),
    /// The dimension both loses and receives axes.
    GivesAndGets(usize),
    /// The first dimension is listed before the second, although the second is smaller.
    Order(usize, usize),
    /// The change reduces along an axis that shards the value.
    ReducesShards,
    /// No axes become unreduced.
    NothingUnreduced,
    /// An axis that becomes unreduced is in use.
    UnreducedInUse,
    /// The result of a permute doesn't follow from its axes.
    AnyPermutation,
}

impl<A: Copy> Reshard<A> {
    /// Returns the collective that performs it; `None` for changes without communication.
    pub fn collective(&self) -> Option<CollectiveKind> {
        match self {
            Reshard::AllGather(_) => Some(CollectiveKind::AllGather),
            Reshard::AllToAll(_) => Some(CollectiveKind::AllToAll),
            Reshard::CollectivePermute | Reshard::PermuteParts => Some(CollectiveKind::CollectivePermute),
            Reshard::AllReduce(..) => Some(CollectiveKind::AllReduce),
            Reshard::ReduceScatter(..) => Some(CollectiveKind::ReduceScatter),
            Reshard::AllSlice(_)
            | Reshard::ReplicatedToUnreduced(..)
            | Reshard::ShardedToUnreduced(..)
            | Reshard::Identity => None,
        }
    }

    /// Returns whether it is a permutation of shards or of their parts, which only both distributions together
    /// determine.
    pub fn permutes(&self) -> bool {
        matches!(self, Reshard::CollectivePermute | Reshard::PermuteParts)
    }

    /// Returns the axes it names, in order.
    pub fn axes(&self) -> SmallVec<[A; 2]> {
        match self {
            Reshard::AllGather(dims)
            | Reshard::AllSlice(dims)
            | Reshard::ReduceScatter(dims, _)
            | Reshard::ShardedToUnreduced(dims, _) => dims.iter().flatten().copied().collect(),
            Reshard::AllToAll(moves) => moves.iter().flat_map(|m| m.axes.iter().copied()).collect(),
            Reshard::AllReduce(axes, _) | Reshard::ReplicatedToUnreduced(axes, _) => axes.clone(),
            Reshard::CollectivePermute | Reshard::PermuteParts | Reshard::Identity => SmallVec::new(),
        }
    }

    /// Returns the same change over other axes; `None` if `f` returns `None` for one of them.
    fn try_map<B>(&self, f: impl Fn(A) -> Option<B>) -> Option<Reshard<B>> {
        let list = |axes: &SmallVec<[A; 2]>| axes.iter().map(|&a| f(a)).collect::<Option<SmallVec<[B; 2]>>>();
        let dims = |dims: &PerDim<A>| dims.iter().map(&list).collect::<Option<PerDim<B>>>();
        Some(match self {
            Reshard::AllGather(d) => Reshard::AllGather(dims(d)?),
            Reshard::AllSlice(d) => Reshard::AllSlice(dims(d)?),
            Reshard::AllToAll(moves) => {
                let one = |m: &Move<A>| Some(Move { axes: list(&m.axes)?, from: m.from, to: m.to });
                Reshard::AllToAll(moves.iter().map(one).collect::<Option<_>>()?)
            }
            Reshard::CollectivePermute => Reshard::CollectivePermute,
            Reshard::PermuteParts => Reshard::PermuteParts,
            Reshard::AllReduce(axes, kind) => Reshard::AllReduce(list(axes)?, *kind),
            Reshard::ReduceScatter(d, kind) => Reshard::ReduceScatter(dims(d)?, *kind),
            Reshard::ReplicatedToUnreduced(axes, kind) => Reshard::ReplicatedToUnreduced(list(axes)?, *kind),
            Reshard::ShardedToUnreduced(d, kind) => Reshard::ShardedToUnreduced(dims(d)?, *kind),
            Reshard::Identity => Reshard::Identity,
        })
    }
}

impl Reshard {
    /// Returns the same change over parts of the axes of `mesh`; `None` if `mesh` lacks one of them.
    pub fn parts(&self, mesh: &Mesh) -> Option<Reshard<AxisPart>> {
        self.try_map(|axis| mesh.axis_part(axis))
    }
}

impl Reshard<AxisPart> {
    /// Returns the same change with named axes, as in an op of a program with `mesh`.
    pub fn named(&self, mesh: &Mesh) -> Reshard {
        // Every part has a name.
        self.try_map(|part| Some(mesh.axis_ref(part))).unwrap_or(Reshard::Identity)
    }

    /// Returns the axes along which its device groups extend; for a permute from `from` to `to`, all axes that change
    /// place.
    pub fn group_axes(&self, from: &Distribution, to: &Distribution) -> Axes {
        if !self.permutes() {
            return self.axes();
        }
        let mut changed = Axes::new();
        for (a, b) in from.dims.iter().zip(&to.dims).filter(|(a, b)| a != b) {
            for &part in a.iter().chain(b) {
                changed.extend(set_difference(&[part], &changed));
            }
        }
        changed
    }

    /// Returns the distribution that results from `from`. Combining along an axis that isn't unreduced changes nothing.
    ///
    /// # Errors
    /// If the change can't be applied, and for a permute, whose result doesn't follow from its axes.
    pub fn apply(&self, from: &Distribution) -> Result<Distribution, ReshardFault> {
        let mut to = from.clone();
        match self {
            Reshard::Identity => {}
            Reshard::CollectivePermute | Reshard::PermuteParts => return Err(ReshardFault::AnyPermutation),
            Reshard::AllGather(axes) => take(&mut to, axes)?,
            Reshard::AllSlice(axes) => add(&mut to, axes)?,
            Reshard::AllToAll(moves) => exchange(&mut to, moves)?,
            Reshard::AllReduce(axes, _) => {
                if axes.iter().any(|a| to.dims.iter().flatten().any(|d| d.overlaps(*a))) {
                    return Err(ReshardFault::ReducesShards);
                }
                combine(&mut to, axes);
            }
            Reshard::ReduceScatter(axes, _) => {
                combine(&mut to, &self.axes());
                add(&mut to, axes)?;
            }
            Reshard::ReplicatedToUnreduced(axes, kind) => {
                if axes.is_empty() {
                    return Err(ReshardFault::NothingUnreduced);
                }
                if axes.iter().any(|a| from.axes().any(|b| b.conflicts_with(*a))) {
                    return Err(ReshardFault::UnreducedInUse);
                }
                to = to.with_unreduced(axes, *kind);
            }
            Reshard::ShardedToUnreduced(axes, kind) => {
                take(&mut to, axes)?;
                to = to.with_unreduced(&self.axes(), *kind);
            }
        }
        Ok(to)
    }
}

fn count(to: &Distribution, lists: &[Axes]) -> Result<(), ReshardFault> {
    let (lists, dims) = (lists.len(), to.dims.len());
    if lists == dims { Ok(()) } else { Err(ReshardFault::Lists(lists, dims)) }
}

/// Removes axes from the minor end of each dimension.
fn take(to: &mut Distribution, axes: &[Axes]) -> Result<(), ReshardFault> {
    count(to, axes)?;
    for (d, (dim, axes)) in to.dims.iter_mut().zip(axes).enumerate() {
        strip_suffix(dim, axes).ok_or(ReshardFault::NotMinor(d))?;
    }
    Ok(())
}

/// Adds axes at the minor end of each dimension.
fn add(to: &mut Distribution, axes: &[Axes]) -> Result<(), ReshardFault> {
    count(to, axes)?;
    for (d, axes) in axes.iter().enumerate() {
        for &axis in axes {
            if to.axes().any(|used| used.conflicts_with(axis)) {
                return Err(ReshardFault::InUse(d));
            }
            push_merged(&mut to.dims[d], axis);
        }
    }
    Ok(())
}

fn exchange(to: &mut Distribution, moves: &[Move<AxisPart>]) -> Result<(), ReshardFault> {
    if moves.is_empty() {
        return Err(ReshardFault::NoMoves);
    }
    for m in moves {
        if let Some(d) = [m.from, m.to].into_iter().find(|&d| d >= to.dims.len()) {
            return Err(ReshardFault::NoDimension(d));
        }
        if moves.iter().any(|other| other.to == m.from) {
            return Err(ReshardFault::GivesAndGets(m.from));
        }
    }
    // If a dimension loses or receives axes in several moves, the order of the moves matters; otherwise moves must be
    // in order of dimensions.
    let distinct = |dim: fn(&Move<AxisPart>) -> usize| {
        moves.iter().enumerate().all(|(i, m)| moves[..i].iter().all(|other| dim(other) != dim(m)))
    };
    if distinct(|m| m.from)
        && distinct(|m| m.to)
        && let Some(pair) = moves.windows(2).find(|pair| pair[0].from > pair[1].from)
    {
        return Err(ReshardFault::Order(pair[0].from, pair[1].from));
    }
    // All axes are removed before any is added; each move takes the minor axes that are left, in any order of the
    // moves.
    let mut left: SmallVec<[&Move<AxisPart>; 4]> = moves.iter().collect();
    while !left.is_empty() {
        let stripped = left.iter().enumerate().find_map(|(i, m)| {
            let mut dim = to.dims[m.from].clone();
            strip_suffix(&mut dim, &m.axes)?;
            Some((i, dim))
        });
        let Some((i, dim)) = stripped else { return Err(ReshardFault::NotMinor(left[0].from)) };
        to.dims[left.remove(i).from] = dim;
    }
    for m in moves {
        m.axes.iter().for_each(|&axis| push_merged(&mut to.dims[m.to], axis));
    }
    Ok(())
}

/// Removes `axes` from the unreduced axes.
fn combine(to: &mut Distribution, axes: &[AxisPart]) {
    if to.unreduced.is_empty() {
        return;
    }
    to.unreduced = set_of(set_difference(&to.unreduced, axes));
    if to.unreduced.is_empty() {
        to.kind = ReductionKind::default();
    }
}
