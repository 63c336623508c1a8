//! One step of a redistribution: a collective of the sdy dialect on whole values, or a free local change.

use dialect::ir::TensorType;
use dialect::op::CollectiveKind;
use dialect::sharding::axis::{merged, set_difference, size_of, strip_suffix};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution};
use smallvec::SmallVec;

use crate::estimate::CollectiveLoad;
use crate::plan::model::cost::CollectiveCost;

/// One move of an all-to-all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// The axes that move, major first.
    pub parts: Axes,
    /// The dimension whose minor-most axes they were.
    pub from: usize,
    /// The dimension whose minor-most axes they become, after those of earlier moves.
    pub to: usize,
}

/// What one step does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StepKind {
    /// The minor-most axes of each dimension leave it.
    AllGather(AxesPerDim),
    /// Each dimension is cut further.
    AllSlice(AxesPerDim),
    /// Axes move between dimensions; no dimension both loses and gets some.
    AllToAll(Vec<Move>),
    /// Any rearrangement that keeps the number of pieces of each dimension.
    Permute,
    /// Unreduced axes are combined.
    AllReduce(Axes),
    /// Unreduced axes are combined and cut dimensions.
    ReduceScatter(AxesPerDim),
    /// One device of each group keeps the value, the others hold the identity.
    ReplicatedToUnreduced(Axes),
    /// Minor-most axes leave dimensions; the rest of the whole is filled with the identity.
    ShardedToUnreduced(AxesPerDim),
}

/// One step of a redistribution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where the value lies after it.
    pub to: Distribution,
}

impl StepKind {
    /// The collective it is; `None` for what each device does alone.
    pub fn collective(&self) -> Option<CollectiveKind> {
        match self {
            StepKind::AllGather(_) => Some(CollectiveKind::AllGather),
            StepKind::AllToAll(_) => Some(CollectiveKind::AllToAll),
            StepKind::Permute => Some(CollectiveKind::CollectivePermute),
            StepKind::AllReduce(_) => Some(CollectiveKind::AllReduce),
            StepKind::ReduceScatter(_) => Some(CollectiveKind::ReduceScatter),
            StepKind::AllSlice(_) | StepKind::ReplicatedToUnreduced(_) | StepKind::ShardedToUnreduced(_) => None,
        }
    }

    /// The axes of its groups; for a permute from `from` to `to` all that change place.
    pub fn axes(&self, from: &Distribution, to: &Distribution) -> Axes {
        match self {
            StepKind::AllGather(p) | StepKind::AllSlice(p) | StepKind::ReduceScatter(p) => flatten(p),
            StepKind::ShardedToUnreduced(p) => flatten(p),
            StepKind::AllToAll(moves) => moves.iter().flat_map(|m| m.parts.iter().copied()).collect(),
            StepKind::AllReduce(p) | StepKind::ReplicatedToUnreduced(p) => p.clone(),
            StepKind::Permute => {
                let mut changed = Axes::new();
                for (a, b) in from.dims.iter().zip(&to.dims).filter(|(a, b)| a != b) {
                    for &part in a.iter().chain(b) {
                        changed.extend(set_difference(&[part], &changed));
                    }
                }
                changed
            }
        }
    }

    /// The distribution it makes of `from`; `None` where it can't be applied. A permute's isn't determined.
    pub fn apply(&self, from: &Distribution) -> Option<Distribution> {
        let mut to = from.clone();
        match self {
            StepKind::AllGather(per_dim) => take_suffixes(&mut to, per_dim)?,
            StepKind::AllSlice(per_dim) => append(&mut to, per_dim)?,
            StepKind::AllToAll(moves) => {
                // All leave before any arrives, minor-most first.
                let mut left: SmallVec<[&Move; 4]> = moves.iter().collect();
                while !left.is_empty() {
                    let leaves = |m: &&Move, to: &mut Distribution| {
                        let mut dim = to.dims.get(m.from)?.clone();
                        strip_suffix(&mut dim, &m.parts)?;
                        to.dims[m.from] = dim;
                        Some(())
                    };
                    let at = left.iter().position(|m| leaves(m, &mut to).is_some())?;
                    left.remove(at);
                }
                for m in moves {
                    let dim = to.dims.get_mut(m.to)?;
                    *dim = merged(dim.iter().chain(&m.parts).copied());
                }
            }
            StepKind::Permute => return None,
            StepKind::AllReduce(parts) => remove_unreduced(&mut to, parts)?,
            StepKind::ReduceScatter(per_dim) => {
                remove_unreduced(&mut to, &flatten(per_dim))?;
                append(&mut to, per_dim)?;
            }
            StepKind::ReplicatedToUnreduced(parts) => {
                if parts.iter().any(|p| from.axes().any(|q| q.conflicts_with(*p))) {
                    return None;
                }
                to = to.with_unreduced(parts, from.kind);
            }
            StepKind::ShardedToUnreduced(per_dim) => {
                take_suffixes(&mut to, per_dim)?;
                to = to.with_unreduced(&flatten(per_dim), from.kind);
            }
        }
        Some(to)
    }
}

impl Step {
    /// Its modelled seconds and the bytes it moves on a ring.
    pub fn cost(&self, from: &Distribution, ty: &TensorType, cost: &dyn CollectiveCost) -> (f64, f64) {
        let Some(kind) = self.kind.collective() else { return (0.0, 0.0) };
        let axes = self.kind.axes(from, &self.to);
        let (operand, result) = (from.local_bytes(ty), self.to.local_bytes(ty));
        let n = size_of(&axes);
        let moved = CollectiveLoad::new(kind, operand, result, n as u64).moved_bytes();
        (cost.seconds(kind, operand, result, &axes), moved)
    }
}

/// Seconds and bytes of a sequence of steps that begins at `from`.
pub fn cost_of(steps: &[Step], from: &Distribution, ty: &TensorType, cost: &dyn CollectiveCost) -> (f64, f64) {
    let mut total = (0.0, 0.0);
    let mut at = from;
    for step in steps {
        let (seconds, bytes) = step.cost(at, ty, cost);
        total = (total.0 + seconds, total.1 + bytes);
        at = &step.to;
    }
    total
}

/// All the axes of a list per dimension.
pub fn flatten(per_dim: &[Axes]) -> Axes {
    per_dim.iter().flatten().copied().collect()
}

fn take_suffixes(to: &mut Distribution, per_dim: &[Axes]) -> Option<()> {
    (to.dims.len() == per_dim.len()).then_some(())?;
    to.dims.iter_mut().zip(per_dim).try_for_each(|(dim, suffix)| strip_suffix(dim, suffix))
}

fn append(to: &mut Distribution, per_dim: &[Axes]) -> Option<()> {
    let added = flatten(per_dim);
    if to.dims.len() != per_dim.len() || added.iter().any(|p| to.axes().any(|q| q.conflicts_with(*p))) {
        return None;
    }
    for (dim, more) in to.dims.iter_mut().zip(per_dim) {
        *dim = merged(dim.iter().chain(more).copied());
    }
    Some(())
}

fn remove_unreduced(to: &mut Distribution, parts: &[AxisPart]) -> Option<()> {
    for &part in parts {
        let at = to.unreduced.iter().position(|p| p.axis == part.axis && p.pre <= part.pre && part.end() <= p.end())?;
        let whole = to.unreduced.remove(at);
        let before = AxisPart { size: part.pre / whole.pre, ..whole };
        let after = AxisPart { axis: whole.axis, pre: part.end(), size: whole.end() / part.end() };
        to.unreduced.extend([before, after].into_iter().filter(|p| p.size > 1));
    }
    to.unreduced.sort();
    if to.unreduced.is_empty() {
        to.kind = Default::default();
    }
    Some(())
}
