//! Products whose right operand lies in memory that devices have in common: it is copied into panels once for all of them,
//! by whoever comes first, beside the operand.
//!
//! Such an operand is an argument, which stays as it is in a call, so its panels do for the whole call, in loops and
//! branches as well. They are no part of the plan of a device's memory: where there is no memory in common, such as between
//! processes, each device multiplies by the operand as it lies, to the same bits.

use std::sync::atomic::{AtomicUsize, Ordering};

use dialect::buffers::ALIGNMENT;
use dialect::id::TiVec;
use rustc_hash::FxHashSet;

use super::common::Common;
use super::panels::{self, Panels};
use super::step::{Slot, SlotData, Step, Steps};
use crate::gemm::{Gemm, Packed};
use crate::threads::Latch;

/// The panels of a right operand.
pub(super) struct SharedPanels {
    /// Whose operand it is: one of the products of which it is the right operand.
    pub product: usize,
    /// The operand.
    pub from: Slot,
    /// The panels, beside it.
    pub to: Slot,
    /// The number of the memory of groups in which both are.
    pub common: usize,
}

/// How far the panels of an operand are made, in one call, for one group.
pub(super) struct Packing {
    /// The next panel that nobody makes.
    next: AtomicUsize,
    pieces: usize,
    made: Latch,
}

impl Packing {
    /// Nothing is made of so many panels.
    pub(super) fn of(pieces: usize) -> Self {
        Self { next: AtomicUsize::new(0), pieces, made: Latch::new(pieces) }
    }

    /// Makes panels that nobody else does; others may still be at theirs.
    pub(super) fn help(&self, make: impl Fn(usize)) {
        // Whoever waits for the latch sees what was written before it was counted down.
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return;
            }
            let _counted = Counted(&self.made);
            make(piece);
        }
    }

    /// Waits until all are made.
    pub(super) fn wait(&self) {
        self.made.wait();
    }
}

/// Counts a latch down at its end, even by a panic: whoever waits goes on then, and the run fails as the device that
/// panicked does.
struct Counted<'l>(&'l Latch);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.count_down();
    }
}

/// Lets products multiply by shared panels where that pays.
pub(super) struct Sharing<'a> {
    pub gemms: &'a [Gemm],
    pub products: &'a mut Panels,
    pub slots: &'a mut TiVec<Slot, SlotData>,
    pub commons: &'a mut [Common],
    /// The arguments in memory of groups: which one, and where.
    pub arguments: FxHashSet<(usize, usize)>,
    /// All panels.
    pub panels: Vec<SharedPanels>,
}

impl Sharing<'_> {
    /// Does so in these steps, loops and branches included.
    pub(super) fn share(&mut self, steps: &mut Steps) {
        for (_, step) in steps {
            match step {
                &mut Step::Gemm { gemm, lhs, rhs, out } => {
                    if let Some(shared) = self.shared(gemm, [lhs, rhs], out) {
                        *step = shared;
                    }
                }
                Step::While { condition, body, .. } => {
                    [condition, body].into_iter().for_each(|steps| self.share(steps))
                }
                Step::Branch { branches, .. } => branches.iter_mut().for_each(|steps| self.share(steps)),
                _ => {}
            }
        }
    }

    fn shared(&mut self, gemm: usize, operands: [Slot; 2], out: Slot) -> Option<Step> {
        let packed = Packed::of(&self.gemms[gemm])?;
        let [left, right] = packed.sides().map(|side| operands[side]);
        let place = |slot: Slot| Some((self.slots[slot].common?, self.slots[slot].offset));
        let at = place(right).filter(|at| self.arguments.contains(at))?;
        let common = at.0;
        if !packed.pays_among(self.commons[common].fewest()) {
            return None;
        }
        let same = |known: &SharedPanels| {
            place(known.from) == Some(at) && self.products.get(known.product).has_panels_of(&packed)
        };
        let known = self.panels.iter().position(same);
        let bytes = packed.bytes();
        let product = self.products.product(packed);
        let panels = known.unwrap_or_else(|| {
            let to = self.beside(common, bytes);
            self.panels.push(SharedPanels { product, from: right, to, common });
            self.panels.len() - 1
        });
        Some(Step::Shared { product, left, right, panels, out })
    }

    /// So many bytes more in memory of groups.
    fn beside(&mut self, common: usize, bytes: usize) -> Slot {
        let offset = self.commons[common].bytes.next_multiple_of(ALIGNMENT);
        self.commons[common].bytes = offset + bytes;
        self.slots.push_and_get_key(SlotData { common: Some(common), ..panels::slot(offset, bytes) })
    }
}
