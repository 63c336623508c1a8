//! Ranges that divide a kernel among threads, and into the rows of a chain.

use dialect::kernel::Affine;
use smallvec::SmallVec;

use super::Access;
use crate::execute::fuse::fused::{Fused, NodeData, Output};
use crate::execute::lower::step::Slot;

/// The division of a kernel, by ranges of parts of its outermost loop.
#[derive(Clone, Debug)]
pub(in crate::execute) struct Ranges {
    /// The number of parts.
    pub parts: i64,
    /// Whether there is enough work for several threads.
    pub shared: bool,
    /// For each buffer: whether each of the kernel's parts reads only the same one of as many equal parts of the
    /// buffer, and whether a result overwrites the buffer.
    read: SmallVec<[(bool, bool); 4]>,
    /// For each result with memory of its own, whether each part of the kernel writes only the same part of the result.
    written: SmallVec<[bool; 2]>,
    /// Whether the kernel is a scan. The outermost loop may be the scan's, which isn't divided.
    is_scan: bool,
}

impl Ranges {
    /// Computes the ranges of a kernel with flat buffers.
    pub(in crate::execute) fn of(kernel: &Fused, parts: i64, shared: bool) -> Self {
        let ranges = kernel.ranges();
        let positions = kernel.loops[0];
        let whole = |shape: &[i64]| shape.iter().product::<i64>();
        let is_own = |mut at: Affine, elements: i64| {
            let each = elements / positions.max(1);
            let moved = std::mem::take(&mut at.loops[0]);
            let rest = at.positions(&ranges);
            let inside = rest.first >= 0 && rest.last < each && moved == each;
            at.is_affine() && inside && each * positions == elements
        };
        let read = |(buffer, (_, _, shape)): (usize, &(_, _, SmallVec<[i64; 4]>))| {
            let own = kernel.nodes.iter().all(|(data, _)| match data {
                NodeData::Load { buffer: b, index, .. } if *b == buffer => {
                    is_own(Affine::offset(index, shape, &ranges), whole(shape))
                }
                _ => true,
            });
            (own, kernel.overwritten().any(|b| b == buffer))
        };
        let written = |output: &Output| match &output.each {
            Some(at) => is_own(Affine::of(at, &ranges), whole(&kernel.loops)),
            None => true,
        };
        let mut read: SmallVec<[(bool, bool); 4]> = kernel.buffers.iter().enumerate().map(read).collect();
        for output in &kernel.outputs {
            if let Some(buffer) = output.in_place {
                read[buffer].0 &= written(output);
            }
        }
        let written = kernel.outputs.iter().filter(|output| output.in_place.is_none()).map(written).collect();
        Self { parts, shared, read, written, is_scan: kernel.scan.is_some() }
    }

    /// Returns how the kernel accesses each of its slots.
    pub(super) fn accesses<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = Access> + 'a {
        let read = self.read.iter().map(|&(own, overwritten)| (true, overwritten, own));
        let all = read.chain(self.written.iter().map(|&own| (false, true, own)));
        let access = |(&slot, (reads, writes, own))| Access { slot, reads, writes, own: own && !self.is_scan };
        slots.iter().zip(all).map(access)
    }
}
