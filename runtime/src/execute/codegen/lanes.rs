//! Selects the kernels that use vectors of neighboring elements, and the number of elements in a vector.

use dialect::Rounding;
use dialect::id::TiVec;
use dialect::ir::{ElementClass, ElementType};
use dialect::kernel::{Affine, Guard, Index};
use dialect::scalar::ScalarOp;

use super::arith::Math;
use super::loops::columns_innermost;
use super::turned::{LARGEST, Turned};
use super::update::Bound;
use super::{Target, register, storage};
use crate::execute::fuse::fused::{Fused, Node, NodeData};

/// The minimum number of elements in a vector; shorter vectors don't pay.
const FEWEST: i64 = 4;

/// The vectors of a kernel's innermost loop.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// The number of elements in a vector.
    pub count: i64,
    /// For each node, whether it differs between the elements of a vector.
    pub varies: TiVec<Node, bool>,
    /// Loads that are contiguous along another loop.
    pub turned: Option<Turned>,
}

impl Lanes {
    /// Returns the vectors of a kernel whose innermost loop is parallel and moves by one element in every access that
    /// depends on it. Otherwise returns `None`, because LLVM may find other vectors: it can gather, and split a sum
    /// into several.
    pub(super) fn of(k: &Fused, bounds: &[Bound], target: Target) -> Option<Self> {
        let last = k.parallel.checked_sub(1)?;
        let is_map = k.accumulators.is_empty() && k.scan.is_none();
        if !(is_map || columns_innermost(k))
            || bounds.iter().any(|b| b.index == last)
            || k.places().iter().any(|p| p.width > 1)
            || k.outputs.iter().filter_map(|o| o.each.as_ref()).any(|at| step(k, last, at) != Some(1))
        {
            return None;
        }
        let used = used(k);
        let mut varies: TiVec<Node, bool> = vec![false; k.nodes.len()].into();
        let mut turned: Option<Turned> = None;
        let mut bytes = k.outputs.iter().map(|o| o.element.bytes().max(1)).max()?;
        for (node, (data, ty)) in k.nodes.iter_enumerated() {
            if !used[node] {
                continue;
            }
            varies[node] = match data {
                NodeData::Const(_) => false,
                NodeData::Accumulator(_) => true,
                NodeData::Index(index) => step(k, last, index)? != 0,
                NodeData::Guarded { guards, then, otherwise } => {
                    moves(k, last, guards)? || varies[*then] || varies[*otherwise]
                }
                NodeData::Load { buffer, index, guards, outside } => {
                    let address = Affine::offset(index, &k.buffers[*buffer].2, &k.ranges());
                    let outside = outside.is_some_and(|o| varies[o]);
                    match (steps(&address, last)?, moves(k, last, guards)?) {
                        (1, false) => true,
                        (0, false) if !outside => false,
                        _ if guards.is_empty() && bounds.is_empty() => {
                            let along = Turned::along(k, &address)?;
                            let all = turned.get_or_insert(Turned { along, loads: Vec::new() });
                            all.loads.push(node);
                            if all.along != along {
                                return None;
                            }
                            true
                        }
                        _ => return None,
                    }
                }
                NodeData::Op(op, args) => {
                    let varies = args.iter().any(|&a| varies[a]);
                    let from = args.first().map_or(*ty, |&a| k.ty(a));
                    if varies && !has_vectors(*op, from, target.math) {
                        return None;
                    }
                    varies
                }
            };
            if varies[node] && !matches!(data, NodeData::Index(_)) {
                bytes = bytes.max(width(*ty));
            }
        }
        let mut count = (target.vector_bytes / bytes) as i64;
        // A loop that is shorter than a vector gets a shorter vector.
        let mut most = k.loops[last];
        if let Some(turned) = &turned {
            most = most.min(k.loops[turned.along]).min(LARGEST);
        }
        while count > most {
            count /= 2;
        }
        (count >= FEWEST).then_some(Self { count, varies, turned })
    }

    /// Returns whether the loop over vectors is the only parallel one and has no remainder.
    pub(super) fn divides_alone(&self, k: &Fused) -> bool {
        k.parallel == 1 && k.loops[0] % self.count == 0
    }
}

/// Returns the bytes of an element in a register.
fn width(ty: ElementType) -> usize {
    match register(ty) {
        "f32" => 4,
        _ => ty.bytes().max(1),
    }
}

/// Returns, for each node, whether a result is computed from it.
fn used(k: &Fused) -> TiVec<Node, bool> {
    let mut used: TiVec<Node, bool> = vec![false; k.nodes.len()].into();
    let ends = k.results.iter().copied().chain(k.accumulators.iter().flat_map(|a| [a.init, a.next]));
    ends.for_each(|node| used[node] = true);
    for (node, (data, _)) in k.nodes.iter_enumerated().rev() {
        if !used[node] {
            continue;
        }
        match data {
            NodeData::Op(_, args) => args.iter().for_each(|&a| used[a] = true),
            NodeData::Guarded { then, otherwise, .. } => [*then, *otherwise].into_iter().for_each(|n| used[n] = true),
            NodeData::Load { outside: Some(outside), .. } => used[*outside] = true,
            _ => {}
        }
    }
    used
}

/// Returns by how much an index moves per iteration of a loop; `None` if that differs between positions.
fn step(k: &Fused, l: usize, index: &Index) -> Option<i64> {
    steps(&Affine::of(index, &k.ranges()), l)
}

fn steps(index: &Affine, l: usize) -> Option<i64> {
    index.others.iter().all(|o| !o.index.depends_on(l)).then_some(index.loops[l])
}

/// Returns whether guards differ along a loop; `None` if they don't move by a constant.
fn moves(k: &Fused, l: usize, guards: &[Guard]) -> Option<bool> {
    guards.iter().try_fold(false, |moves, g| Some(moves | (step(k, l, &g.index)? != 0)))
}

/// Returns whether neighboring positions of the innermost loop do the same computation, on the same or on neighboring
/// elements.
pub(super) fn is_even(k: &Fused, math: Math) -> bool {
    let Some(last) = k.loops.len().checked_sub(1) else { return true };
    k.nodes.iter().all(|(data, ty)| match data {
        NodeData::Load { buffer, index, guards, .. } => {
            let address = Affine::offset(index, &k.buffers[*buffer].2, &k.ranges());
            guards.is_empty() && matches!(steps(&address, last), Some(0 | 1))
        }
        NodeData::Guarded { .. } => false,
        NodeData::Index(index) => step(k, last, index).is_some(),
        NodeData::Op(op, args) => has_vectors(*op, args.first().map_or(*ty, |&a| k.ty(a)), math),
        NodeData::Const(_) | NodeData::Accumulator(_) => true,
    })
}

/// Returns whether an operation on elements of this type has a vector form. The other operations become a call or a
/// division for each element.
fn has_vectors(op: ScalarOp, from: ElementType, math: Math) -> bool {
    use ScalarOp::*;
    match from.class() {
        ElementClass::Float if op.rounding() == Rounding::Approximate && math == Math::Strict => false,
        ElementClass::Float if from == ElementType::F64 => {
            !matches!(op, Rem | Pow | Atan2 | Cbrt | Sin | Cos | Tan | RoundAfz)
        }
        ElementClass::Float => !matches!(op, Rem | RoundAfz),
        _ => !matches!(op, Div | Rem) && storage(from).is_some(),
    }
}
