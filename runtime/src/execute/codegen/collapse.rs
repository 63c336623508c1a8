//! Joins neighboring loops.

use std::cmp::Ordering;

use dialect::kernel::{Affine, Guard, Index};
use smallvec::SmallVec;

use super::loops::columns_innermost;
use crate::execute::fuse::fused::{Fused, NodeData};

/// The minimum number of parts of a kernel that divides well among threads.
const PARTS: i64 = 64;

/// The minimum number of iterations inside of loops whose positions are found by divisions.
const INSIDE: i64 = 64;

/// Returns the kernel with neighboring loops joined where every access traverses them with one stride. If the kernel is
/// to be `divided`, the outermost loop gets more than a few positions where that is possible.
pub(super) fn collapse(kernel: &Fused, divided: bool) -> Fused {
    let mut k = kernel.clone();
    // Every buffer becomes flat: an index is a single offset.
    let ranges = k.ranges();
    for (data, _) in &mut k.nodes {
        if let NodeData::Load { buffer, index, .. } = data
            && index.len() > 1
        {
            let flat = Affine::offset(index, &k.buffers[*buffer].2, &ranges).to_index();
            *index = SmallVec::from_elem(flat, 1);
        }
    }
    // Loops of one position would separate other loops that can be joined, and could hide that the innermost loop is
    // contiguous.
    for l in (0..k.loops.len()).rev() {
        if k.scan.is_none() && k.loops[l] == 1 && is_only_loaded(&k, l) {
            remove(&mut k, l);
        }
    }
    if divided && is_coarse(&k) {
        flatten(&mut k);
    }
    let mut l = 0;
    // A scan needs its loop.
    while k.scan.is_none() && l + 1 < k.loops.len() {
        let together = (l + 1 < k.parallel) || l >= k.parallel;
        if together && joins(&k, l) {
            join(&mut k, l);
        } else {
            l += 1;
        }
    }
    k
}

/// Returns whether the outermost two loops should become one: the outermost has few positions, and the code inside of
/// both stays as fast if their positions are found by divisions.
fn is_coarse(k: &Fused) -> bool {
    let rows = k.parallel > 2 || k.parallel == 2 && !k.accumulators.is_empty() && !columns_innermost(k);
    if k.scan.is_some() || !rows || k.loops[0] >= PARTS || k.loops[2..].iter().product::<i64>() < INSIDE || joins(k, 0)
    {
        return false;
    }
    let (ranges, last) = (k.ranges(), k.loops.len() - 1);
    let free = |guards: &[Guard]| guards.iter().all(|g| !g.index.depends_on(0) && !g.index.depends_on(1));
    // Other loads are read by tiles, for which each loop is needed.
    let along = |flat: &Index| {
        let at = Affine::of(flat, &ranges);
        (0..2).contains(&at.loops[last]) && at.others.iter().all(|o| !o.index.depends_on(last))
    };
    let loads = k.nodes.iter().all(|(data, _)| match data {
        NodeData::Load { index, guards, .. } => free(guards) && index.iter().all(along),
        NodeData::Guarded { guards, .. } => free(guards),
        _ => true,
    });
    loads && stored(k).all(along)
}

/// Returns the indices of results that have an element for each iteration of all loops.
fn stored(k: &Fused) -> impl Iterator<Item = &Index> {
    k.outputs.iter().filter_map(|output| output.each.as_ref())
}

/// Merges the two outermost loops into one. A quotient and a remainder replace their variables.
fn flatten(k: &mut Fused) {
    let n = k.loops[1];
    let digits = |x: usize| match x {
        0 => Index::FloorDiv(Box::new(Index::Loop(0)), n),
        1 => Index::Mod(Box::new(Index::Loop(0)), n),
        _ => Index::Loop(x - 1),
    };
    place(k, &digits);
    k.loops[0] *= n;
    k.loops.remove(1);
    k.parallel -= 1;
    // Where an index combines both digits of one number, the affine form is that number.
    in_affine_form(k);
}

/// Writes every load and store index in its affine form.
fn in_affine_form(k: &mut Fused) {
    let ranges = k.ranges();
    let stored = k.outputs.iter_mut().filter_map(|output| output.each.as_mut());
    let loaded = k.nodes.iter_mut().flat_map(|(data, _)| match data {
        NodeData::Load { index, .. } => index.iter_mut(),
        _ => Default::default(),
    });
    stored.chain(loaded).for_each(|flat| *flat = Affine::of(flat, &ranges).to_index());
}

/// Returns whether every access traverses loops `l` and `l + 1` with one stride.
fn joins(k: &Fused, l: usize) -> bool {
    let inner = k.loops[l + 1];
    let ranges = k.ranges();
    let mut free = true;
    let mut plain = |index: &Index| free &= !index.depends_on(l) && !index.depends_on(l + 1);
    for (data, _) in &k.nodes {
        match data {
            NodeData::Load { index, guards, .. } => {
                guards.iter().for_each(|g| plain(&g.index));
                if let [flat] = &index[..] {
                    let a = Affine::of(flat, &ranges);
                    a.others.iter().for_each(|o| plain(&o.index));
                    if a.loops[l] != a.loops[l + 1] * inner {
                        return false;
                    }
                }
            }
            NodeData::Index(index) => plain(index),
            NodeData::Guarded { guards, .. } => guards.iter().for_each(|g| plain(&g.index)),
            _ => {}
        }
    }
    free && stored(k).all(|at| {
        let at = Affine::of(at, &ranges);
        at.loops[l] == at.loops[l + 1] * inner
    })
}

fn join(k: &mut Fused, l: usize) {
    // The affine form is needed, because `joins` has found one stride in that form.
    in_affine_form(k);
    // Every index depends only on the joined position. So the inner loop's variable becomes that position, and the
    // outer's is 0.
    k.loops[l + 1] *= k.loops[l];
    remove(k, l);
}

/// Returns whether a loop affects only the positions of loads.
fn is_only_loaded(k: &Fused, l: usize) -> bool {
    let free = |guards: &[Guard]| guards.iter().all(|g| !g.index.depends_on(l));
    k.nodes.iter().all(|(data, _)| match data {
        NodeData::Load { guards, .. } | NodeData::Guarded { guards, .. } => free(guards),
        NodeData::Index(index) => !index.depends_on(l),
        _ => true,
    })
}

/// Removes a loop, whose variable is 0.
fn remove(k: &mut Fused, l: usize) {
    place(k, &|x: usize| match x.cmp(&l) {
        Ordering::Less => Index::Loop(x),
        Ordering::Equal => Index::Const(0),
        Ordering::Greater => Index::Loop(x - 1),
    });
    k.loops.remove(l);
    if l < k.parallel {
        k.parallel -= 1;
    }
}

/// Replaces the loops' variables.
fn place(k: &mut Fused, by: &dyn Fn(usize) -> Index) {
    let renumber = |index: &mut Index| *index = index.substitute(&mut |l| by(l), &mut |operand| operand);
    let each = |guards: &mut Vec<Guard>| guards.iter_mut().for_each(|g| renumber(&mut g.index));
    k.outputs.iter_mut().filter_map(|output| output.each.as_mut()).for_each(renumber);
    for (data, _) in &mut k.nodes {
        match data {
            NodeData::Load { index, guards, .. } => {
                index.iter_mut().for_each(renumber);
                each(guards);
            }
            NodeData::Index(index) => renumber(index),
            NodeData::Guarded { guards, .. } => each(guards),
            _ => {}
        }
    }
}
