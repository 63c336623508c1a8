//! Products whose right operand is in memory that devices share: it is copied into panels once for all devices. The
//! devices that come first make the panels, which are stored in the same memory after the operands.
//!
//! Such an operand is an argument, which doesn't change during a call, so its panels are valid for the whole call, also
//! in loops and branches. They are no part of the plan of a device's memory. Without shared memory, such as between
//! processes, each device multiplies by the operand in place, to the same bits.

use std::sync::atomic::{AtomicUsize, Ordering};

use dialect::buffers::ALIGNMENT;
use dialect::id::TiVec;
use rustc_hash::FxHashSet;

use super::common::Common;
use super::panels::{self, Panels};
use crate::execute::lower::step::{Slot, SlotData, Step, Steps};
use crate::kernels::gemm::{Gemm, Packed, SharedSizes};
use crate::threads::Latch;

/// The panels of a right operand.
pub(in crate::execute) struct SharedPanels {
    /// One of the products that have this right operand.
    pub product: usize,
    /// The operand.
    pub from: Slot,
    /// The panels, in the same memory.
    pub to: Slot,
    /// The number of the memory of groups that contains both.
    pub common: usize,
}

/// The progress of making the panels of an operand, in one call, for one group.
pub(in crate::execute) struct Packing {
    /// The next panel that no thread has taken.
    next: AtomicUsize,
    pieces: usize,
    made: Latch,
}

impl Packing {
    /// Creates the state in which none of `pieces` panels is made.
    pub(in crate::execute) fn of(pieces: usize) -> Self {
        Self { next: AtomicUsize::new(0), pieces, made: Latch::new(pieces) }
    }

    /// Makes panels that no other thread has taken, until all are taken. Other threads may still be making theirs.
    pub(in crate::execute) fn help(&self, make: impl Fn(usize)) {
        // Relaxed order suffices: a thread that waits for the latch sees everything written before the latch was
        // counted down.
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return;
            }
            let _counted = Counted(&self.made);
            make(piece);
        }
    }

    /// Waits until all panels are made.
    pub(in crate::execute) fn wait(&self) {
        self.made.wait();
    }
}

/// Counts a latch down when it is dropped, even by a panic. So waiting threads go on, and the run fails because the
/// panicking device does.
struct Counted<'l>(&'l Latch);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.count_down();
    }
}

/// Makes products multiply by shared panels where that pays.
pub(in crate::execute) struct Sharing<'a> {
    pub gemms: &'a [Gemm],
    pub products: &'a mut Panels,
    pub slots: &'a mut TiVec<Slot, SlotData>,
    pub commons: &'a mut [Common],
    /// The arguments in memory of groups: the number of the memory, and the offset.
    pub arguments: FxHashSet<(usize, usize)>,
    /// All shared panels.
    pub panels: Vec<SharedPanels>,
    /// The sizes from which panels are shared.
    pub least: &'a SharedSizes,
}

impl Sharing<'_> {
    /// Replaces products in these steps, also in loops and branches.
    pub(in crate::execute) fn share(&mut self, steps: &mut Steps) {
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
        if !packed.pays_among(self.commons[common].fewest(), self.least) {
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

    /// Appends `bytes` bytes to the memory of groups.
    fn beside(&mut self, common: usize, bytes: usize) -> Slot {
        let offset = self.commons[common].bytes.next_multiple_of(ALIGNMENT);
        self.commons[common].bytes = offset + bytes;
        self.slots.push_and_get_key(SlotData { common: Some(common), ..panels::slot(offset, bytes) })
    }
}
