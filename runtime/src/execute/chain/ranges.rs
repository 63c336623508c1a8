//! Dividing a kernel among threads, and into rows of a chain.

use dialect::kernel::Affine;
use smallvec::SmallVec;

use super::super::fused::{Fused, NodeData};
use super::super::step::Slot;
use super::Access;

/// How a kernel is divided: by ranges of parts of its outermost loop.
#[derive(Clone, Debug)]
pub(in crate::execute) struct Ranges {
    /// The number of parts.
    pub parts: i64,
    /// Whether there is enough to do for several threads.
    pub shared: bool,
    /// The buffer that a result overwrites in place.
    in_place: Option<usize>,
    /// For each buffer, whether each part reads only its own of as many equal parts of the buffer.
    own: SmallVec<[bool; 4]>,
    /// Whether it writes so.
    writes_own: bool,
}

impl Ranges {
    /// The ranges of a kernel with flat buffers.
    pub(in crate::execute) fn of(kernel: &Fused, parts: i64, shared: bool) -> Self {
        let ranges = kernel.ranges();
        let positions = kernel.loops[0];
        let own = |(buffer, (_, _, shape)): (usize, &(_, _, SmallVec<[i64; 4]>))| {
            let each = shape.iter().product::<i64>() / positions.max(1);
            kernel.nodes.iter().all(|(data, _)| match data {
                NodeData::Load { buffer: b, index, .. } if *b == buffer => {
                    let mut at = Affine::offset(index, shape, &ranges);
                    let moved = std::mem::take(&mut at.loops[0]);
                    let rest = at.positions(&ranges);
                    let inside = rest.first >= 0 && rest.last < each && moved == each;
                    at.is_affine() && inside && each * positions == shape.iter().product()
                }
                _ => true,
            })
        };
        let own = kernel.buffers.iter().enumerate().map(own).collect();
        // A scan may have no other loop than its own, which isn't divided.
        Self { parts, shared, in_place: kernel.in_place, own, writes_own: kernel.scan.is_none() }
    }

    /// What the kernel does with each of its slots.
    pub(super) fn accesses<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = Access> + 'a {
        slots.iter().enumerate().map(|(i, &slot)| Access {
            slot,
            reads: i < self.own.len(),
            writes: i >= self.own.len() || self.in_place == Some(i),
            own: self.writes_own && self.own.get(i).is_none_or(|&own| own),
        })
    }
}
