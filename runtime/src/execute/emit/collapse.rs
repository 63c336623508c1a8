//! Joining neighboring loops.

use std::cmp::Ordering;

use dialect::kernel::{Affine, Guard, Index};
use smallvec::SmallVec;

use super::super::fused::{Fused, NodeData};

/// The kernel with neighboring loops joined where every access traverses them with one stride.
pub(super) fn collapse(kernel: &Fused) -> Fused {
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
    // Those of one position would keep others from being neighbors, and the innermost one from being along a row.
    for l in (0..k.loops.len()).rev() {
        if k.scan.is_none() && k.loops[l] == 1 && is_only_loaded(&k, l) {
            remove(&mut k, l);
        }
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

/// Whether every access traverses loops `l` and `l + 1` with one stride.
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
    free
}

fn join(k: &mut Fused, l: usize) {
    let ranges = k.ranges();
    // Use the affine form, in which loads were found to have one stride.
    for (data, _) in &mut k.nodes {
        if let NodeData::Load { index, .. } = data {
            index.iter_mut().for_each(|flat| *flat = Affine::of(flat, &ranges).to_index());
        }
    }
    // Every index depends only on the joined position, so the inner loop's variable stands for it and the outer's is 0.
    k.loops[l + 1] *= k.loops[l];
    remove(k, l);
}

/// Whether a loop only moves what is loaded.
fn is_only_loaded(k: &Fused, l: usize) -> bool {
    let free = |guards: &[Guard]| guards.iter().all(|g| !g.index.depends_on(l));
    k.nodes.iter().all(|(data, _)| match data {
        NodeData::Load { guards, .. } | NodeData::Guarded { guards, .. } => free(guards),
        NodeData::Index(index) => !index.depends_on(l),
        _ => true,
    })
}

/// Takes out a loop, whose variable is 0.
fn remove(k: &mut Fused, l: usize) {
    let place = |x: usize| match x.cmp(&l) {
        Ordering::Less => Index::Loop(x),
        Ordering::Equal => Index::Const(0),
        Ordering::Greater => Index::Loop(x - 1),
    };
    let renumber = |index: &mut Index| *index = index.substitute(&mut { place }, &mut |operand| operand);
    let each = |guards: &mut Vec<Guard>| guards.iter_mut().for_each(|g| renumber(&mut g.index));
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
    k.loops.remove(l);
    if l < k.parallel {
        k.parallel -= 1;
    }
}
