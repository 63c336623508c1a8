//! Kernels that overwrite part of a buffer in place, such as one row of a tensor that a loop fills. Their loops iterate
//! over that part only, instead of overwriting everything else with itself.

use dialect::ir::ElementType;
use dialect::kernel::{Affine, Guard, Index};
use dialect::scalar::{Comparison, Scalar, ScalarOp};

use crate::execute::fuse::fused::{Fused, Node, NodeData, Output};

/// A loop that runs only the positions `p` with `lo <= p + offset < hi`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bound {
    /// The number of the loop.
    pub index: usize,
    /// The offset, which depends on no loops.
    pub offset: Index,
    /// The smallest sum that is run.
    pub lo: i64,
    /// The end of the sums that are run (exclusive).
    pub hi: i64,
}

/// Rewrites a kernel that changes its buffer only under conditions on single loops, so that it iterates only where they
/// hold.
pub(super) fn narrowed(kernel: &Fused) -> Option<(Fused, Vec<Bound>)> {
    let (&[Output { in_place: Some(buffer), .. }], &[result]) = (&kernel.outputs[..], &kernel.results[..]) else {
        return None;
    };
    let NodeData::Op(ScalarOp::Select, args) = kernel.data(result) else { return None };
    let &[condition, then, otherwise] = &args[..] else { return None };
    if !kernel.accumulators.is_empty() || !is_own(kernel, otherwise, buffer) {
        return None;
    }
    let mut comparisons = Vec::new();
    let known = conjunction(kernel, condition, &mut comparisons);
    let mut bounds: Vec<(Guard, Bound)> = Vec::new();
    for &(at, comparison, lo) in comparisons.iter().filter(|c| c.1 == Comparison::Ge) {
        let above = comparisons.iter().find(|c| c.0 == at && c.1 == Comparison::Lt)?;
        debug_assert_eq!(comparison, Comparison::Ge);
        let bound = bound(kernel, at, lo, above.2)?;
        if bounds.iter().any(|b| b.1.index == bound.index) {
            return None;
        }
        bounds.push((Guard { index: at.clone(), lo, hi: above.2 }, bound));
    }
    if !known || bounds.is_empty() || comparisons.len() != 2 * bounds.len() {
        return None;
    }
    let mut narrow = kernel.clone();
    narrow.results = vec![then];
    for (data, _) in &mut narrow.nodes {
        if let NodeData::Load { guards, .. } = data {
            guards.retain(|g| !bounds.iter().any(|b| b.0 == *g));
        }
    }
    Some((narrow, bounds.into_iter().map(|b| b.1).collect()))
}

/// Returns whether a node is the element of the buffer that the result of the iteration replaces.
fn is_own(kernel: &Fused, node: Node, own: usize) -> bool {
    let NodeData::Load { buffer, index, guards, .. } = kernel.data(node) else { return false };
    let [flat] = &index[..] else { return false };
    let place = Affine::of(flat, &kernel.ranges());
    let mut stride = 1;
    let in_order = (0..kernel.loops.len()).rev().all(|l| {
        let fits = place.loops[l] == stride || kernel.loops[l] == 1;
        stride *= kernel.loops[l];
        fits
    });
    *buffer == own && guards.is_empty() && place.is_affine() && place.constant == 0 && in_order
}

/// Collects the comparisons of positions with constants whose conjunction is the condition; `false` if there are other
/// conditions.
fn conjunction<'k>(kernel: &'k Fused, node: Node, out: &mut Vec<(&'k Index, Comparison, i64)>) -> bool {
    match kernel.data(node) {
        NodeData::Op(ScalarOp::And, args) if kernel.ty(node) == ElementType::I1 => {
            args.iter().all(|&a| conjunction(kernel, a, out))
        }
        NodeData::Op(ScalarOp::Compare(comparison), args) => match &args[..] {
            &[at, bound] => match (kernel.data(at), kernel.data(bound)) {
                (NodeData::Index(at), NodeData::Const(Scalar::Int(bound))) => {
                    i64::try_from(*bound).is_ok_and(|bound| {
                        out.push((at, *comparison, bound));
                        true
                    })
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Returns `lo <= at < hi` as a bound of a loop, if `at` moves by one with this parallel loop and with no other.
fn bound(kernel: &Fused, at: &Index, lo: i64, hi: i64) -> Option<Bound> {
    let affine = Affine::of(at, &kernel.ranges());
    let mut moving = (0..kernel.loops.len()).filter(|&l| at.depends_on(l));
    let (index, None) = (moving.next()?, moving.next()) else { return None };
    let rest = affine.others.iter().all(|o| !o.index.depends_on(index));
    if affine.loops[index] != 1 || !rest || index >= kernel.parallel {
        return None;
    }
    let offset = at.substitute(&mut |l| if l == index { Index::Const(0) } else { Index::Loop(l) }, &mut |o| o);
    Some(Bound { index, offset, lo, hi })
}
