//! One step of a redistribution: a collective of the sdy dialect on whole values, or a free local change.

use dialect::ir::TensorType;
use smallvec::SmallVec;

use crate::plan::distribution::{Distribution, Part, Parts, merge_parts, minus};
use crate::plan::model::cost::{Collective, CollectiveCost};

/// Axes for each dimension.
pub type PartsPerDim = SmallVec<[Parts; 4]>;

/// One move of an all-to-all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// The axes that move, major first.
    pub parts: Parts,
    /// The dimension whose minor-most axes they were.
    pub from: usize,
    /// The dimension whose minor-most axes they become, after those of earlier moves.
    pub to: usize,
}

/// What one step does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StepKind {
    /// The minor-most axes of each dimension leave it.
    AllGather(PartsPerDim),
    /// Each dimension is cut further.
    AllSlice(PartsPerDim),
    /// Axes move between dimensions; no dimension both loses and gets some.
    AllToAll(Vec<Move>),
    /// Any rearrangement that keeps the number of pieces of each dimension.
    Permute,
    /// Unreduced axes are combined.
    AllReduce(Parts),
    /// Unreduced axes are combined and cut dimensions.
    ReduceScatter(PartsPerDim),
    /// One device of each group keeps the value, the others hold the identity.
    ReplicatedToUnreduced(Parts),
    /// Minor-most axes leave dimensions; the rest of the whole is filled with the identity.
    ShardedToUnreduced(PartsPerDim),
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
    pub fn collective(&self) -> Option<Collective> {
        match self {
            StepKind::AllGather(_) => Some(Collective::AllGather),
            StepKind::AllToAll(_) => Some(Collective::AllToAll),
            StepKind::Permute => Some(Collective::CollectivePermute),
            StepKind::AllReduce(_) => Some(Collective::AllReduce),
            StepKind::ReduceScatter(_) => Some(Collective::ReduceScatter),
            StepKind::AllSlice(_) | StepKind::ReplicatedToUnreduced(_) | StepKind::ShardedToUnreduced(_) => None,
        }
    }

    /// The axes of its groups; for a permute from `from` to `to` all that change place.
    pub fn axes(&self, from: &Distribution, to: &Distribution) -> Parts {
        match self {
            StepKind::AllGather(p) | StepKind::AllSlice(p) | StepKind::ReduceScatter(p) => flatten(p),
            StepKind::ShardedToUnreduced(p) => flatten(p),
            StepKind::AllToAll(moves) => moves.iter().flat_map(|m| m.parts.iter().copied()).collect(),
            StepKind::AllReduce(p) | StepKind::ReplicatedToUnreduced(p) => p.clone(),
            StepKind::Permute => {
                let mut changed = Parts::new();
                for (a, b) in from.dims.iter().zip(&to.dims).filter(|(a, b)| a != b) {
                    for &part in a.iter().chain(b) {
                        changed.extend(minus(&[part], &changed));
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
                    *dim = merge_parts(dim.iter().chain(&m.parts).copied());
                }
            }
            StepKind::Permute => return None,
            StepKind::AllReduce(parts) => remove_unreduced(&mut to, parts)?,
            StepKind::ReduceScatter(per_dim) => {
                remove_unreduced(&mut to, &flatten(per_dim))?;
                append(&mut to, per_dim)?;
            }
            StepKind::ReplicatedToUnreduced(parts) => {
                if parts.iter().any(|p| from.parts().any(|q| q.overlaps(*p))) {
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
        let n = crate::plan::distribution::size_of(&axes);
        (cost.seconds(kind, operand, result, &axes), kind.moved_bytes(operand, result, n))
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
pub fn flatten(per_dim: &[Parts]) -> Parts {
    per_dim.iter().flatten().copied().collect()
}

/// Takes `suffix` off the end of `dim`, both seen as finely as needed.
pub fn strip_suffix(dim: &mut Parts, suffix: &[Part]) -> Option<()> {
    for &part in suffix.iter().rev() {
        let last = dim.last_mut()?;
        if last.axis != part.axis || last.end() != part.end() || part.pre < last.pre || part.pre % last.pre != 0 {
            // The suffix may be merged where the dimension is not.
            if last.axis == part.axis && last.end() == part.end() && part.pre < last.pre {
                let rest = Part { size: last.pre / part.pre, ..part };
                dim.pop();
                strip_suffix(dim, &[rest])?;
                continue;
            }
            return None;
        }
        last.size = part.pre / last.pre;
        if last.size == 1 {
            dim.pop();
        }
    }
    Some(())
}

fn take_suffixes(to: &mut Distribution, per_dim: &[Parts]) -> Option<()> {
    (to.dims.len() == per_dim.len()).then_some(())?;
    to.dims.iter_mut().zip(per_dim).try_for_each(|(dim, suffix)| strip_suffix(dim, suffix))
}

fn append(to: &mut Distribution, per_dim: &[Parts]) -> Option<()> {
    let added = flatten(per_dim);
    if to.dims.len() != per_dim.len() || added.iter().any(|p| to.parts().any(|q| q.overlaps(*p))) {
        return None;
    }
    for (dim, more) in to.dims.iter_mut().zip(per_dim) {
        *dim = merge_parts(dim.iter().chain(more).copied());
    }
    Some(())
}

fn remove_unreduced(to: &mut Distribution, parts: &[Part]) -> Option<()> {
    for &part in parts {
        let at = to.unreduced.iter().position(|p| p.axis == part.axis && p.pre <= part.pre && part.end() <= p.end())?;
        let whole = to.unreduced.remove(at);
        let before = Part { size: part.pre / whole.pre, ..whole };
        let after = Part { axis: whole.axis, pre: part.end(), size: whole.end() / part.end() };
        to.unreduced.extend([before, after].into_iter().filter(|p| p.size > 1));
    }
    to.unreduced.sort();
    if to.unreduced.is_empty() {
        to.kind = Default::default();
    }
    Some(())
}
