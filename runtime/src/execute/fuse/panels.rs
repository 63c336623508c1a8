//! Right operands of products that are copied into panels once, for many products: by a chain, which multiplies a block
//! of rows at a time, and before a loop that doesn't change the operand.
//!
//! **Invariant:** panels are stored after the memory of the plan. The panels of a chain, and the values that it moves,
//! are used right after they are written, so all chains use the same memory. Panels that a loop keeps have memory of
//! their own.

use dialect::buffers::ALIGNMENT;
use dialect::id::TiVec;
use dialect::ir::{ElementType, Op};
use smallvec::smallvec;

use crate::execute::lower::step::{Slot, SlotData, Step, Steps};
use crate::kernels::gemm::{Gemm, Packed};

/// The panels of a program.
pub(in crate::execute) struct Panels {
    products: Vec<Packed>,
    /// The first byte of the panels of chains.
    begin: usize,
    /// The end of the panels of the chain with the most bytes.
    end: usize,
    /// Bytes of the panels that loops keep.
    kept: usize,
    /// The slots of the panels that loops keep, which are stored after those of chains.
    keepers: Vec<Slot>,
}

impl Panels {
    /// Creates an empty set of panels, stored after the first `bytes` bytes of memory.
    pub(in crate::execute) fn new(bytes: usize) -> Self {
        let begin = bytes.next_multiple_of(ALIGNMENT);
        Self { products: Vec::new(), begin, end: bytes, kept: 0, keepers: Vec::new() }
    }

    /// Adds a product and returns its number.
    pub(in crate::execute) fn product(&mut self, product: Packed) -> usize {
        self.products.push(product);
        self.products.len() - 1
    }

    /// Returns the product with this number.
    pub(in crate::execute) fn get(&self, product: usize) -> &Packed {
        &self.products[product]
    }

    /// Returns a slot for panels of a chain, after the `used` bytes that the chain uses already.
    pub(super) fn of_chain(&mut self, product: usize, used: &mut usize, slots: &mut TiVec<Slot, SlotData>) -> Slot {
        let bytes = self.products[product].bytes();
        slots.push_and_get_key(slot(self.offset_of_chain(bytes, used), bytes))
    }

    /// Returns the offset of `bytes` bytes for a chain, after the `used` bytes that it uses already.
    pub(super) fn offset_of_chain(&mut self, bytes: usize, used: &mut usize) -> usize {
        let offset = self.begin + *used;
        *used += bytes.next_multiple_of(ALIGNMENT);
        self.end = self.end.max(offset + bytes);
        offset
    }

    /// Returns the slot in which a loop keeps the panels of an operand, which several products may read.
    fn of_loop(
        &mut self,
        product: usize,
        from: Slot,
        slots: &mut TiVec<Slot, SlotData>,
        kept: &mut Vec<(usize, Slot, Slot)>,
    ) -> Slot {
        let same = |&&(other, of, _): &&(usize, Slot, Slot)| {
            of == from && self.products[other].has_panels_of(&self.products[product])
        };
        if let Some(&(.., place)) = kept.iter().find(same) {
            return place;
        }
        let bytes = self.products[product].bytes();
        let slot = slots.push_and_get_key(slot(self.kept, bytes));
        self.kept += bytes.next_multiple_of(ALIGNMENT);
        self.keepers.push(slot);
        kept.push((product, from, slot));
        slot
    }

    /// Makes panels before loops for operands that products in the loops read repeatedly.
    pub(in crate::execute) fn keep(
        &mut self,
        steps: Steps,
        gemms: &[Gemm],
        slots: &mut TiVec<Slot, SlotData>,
    ) -> Steps {
        let steps = self.outside(steps, gemms, slots);
        let behind = self.end.next_multiple_of(ALIGNMENT);
        self.keepers.iter().for_each(|&slot| slots[slot].offset += behind);
        if self.kept > 0 {
            self.end = behind + self.kept;
        }
        steps
    }

    /// Returns the bytes of a device's memory, and the products.
    pub(in crate::execute) fn end(self) -> (usize, Vec<Packed>) {
        (self.end, self.products)
    }

    fn outside(&mut self, steps: Steps, gemms: &[Gemm], slots: &mut TiVec<Slot, SlotData>) -> Steps {
        let mut out = Vec::with_capacity(steps.len());
        for (op, step) in steps {
            match step {
                Step::While { mut condition, predicate, mut body } => {
                    let mut written = Vec::new();
                    [&condition, &body].into_iter().for_each(|steps| writes(steps, slots, &mut written));
                    let written = union(written);
                    let mut kept = Vec::new();
                    for steps in [&mut condition, &mut body] {
                        self.inside(steps, gemms, slots, &written, &mut kept);
                    }
                    out.extend(kept.into_iter().map(|(product, from, to)| (op, Step::Pack { product, from, to })));
                    // An operand that this loop changes may be unchanged in an inner loop.
                    let [condition, body] = [condition, body].map(|steps| self.outside(steps, gemms, slots));
                    out.push((op, Step::While { condition, predicate, body }));
                }
                Step::Branch { index, branches } => {
                    let branches = branches.into_iter().map(|steps| self.outside(steps, gemms, slots)).collect();
                    out.push((op, Step::Branch { index, branches }));
                }
                step => out.push((op, step)),
            }
        }
        out
    }

    /// Moves the panels of operands that nothing in a loop writes out of the loop, to `kept`: the product, the operand,
    /// and the slot of the panels.
    fn inside(
        &mut self,
        steps: &mut Steps,
        gemms: &[Gemm],
        slots: &mut TiVec<Slot, SlotData>,
        written: &[(usize, usize)],
        kept: &mut Vec<(usize, Slot, Slot)>,
    ) {
        let stays = |slots: &TiVec<Slot, SlotData>, slot: Slot| {
            let (begin, end) = (slots[slot].offset, slots[slot].offset + slots[slot].bytes);
            let next = written.partition_point(|&(_, last)| last <= begin);
            written.get(next).is_none_or(|&(first, _)| first >= end)
        };
        let mut replaced: Vec<(Slot, Slot)> = Vec::new();
        let all = std::mem::take(steps);
        for (op, step) in all {
            let step = match step {
                Step::Gemm { gemm, lhs, rhs, out } => {
                    let sides = [lhs, rhs];
                    let packed = Packed::of(&gemms[gemm]).filter(Packed::pays);
                    match packed.filter(|packed| stays(slots, sides[packed.sides()[1]])) {
                        Some(packed) => {
                            let [left, from] = packed.sides().map(|side| sides[side]);
                            let product = self.product(packed);
                            let right = self.of_loop(product, from, slots, kept);
                            Step::Packed { product, left, right, out }
                        }
                        None => Step::Gemm { gemm, lhs, rhs, out },
                    }
                }
                Step::Pack { product, from, to } if stays(slots, from) => {
                    let place = self.of_loop(product, from, slots, kept);
                    replaced.push((to, place));
                    continue;
                }
                Step::Chain { rows, parts, steps: mut members } => {
                    for (_, member) in &mut members {
                        if let Step::Packed { right, .. } = member
                            && let Some(&(_, place)) = replaced.iter().find(|(to, _)| to == right)
                        {
                            *right = place;
                        }
                    }
                    Step::Chain { rows, parts, steps: members }
                }
                Step::While { mut condition, predicate, mut body } => {
                    for steps in [&mut condition, &mut body] {
                        self.inside(steps, gemms, slots, written, kept);
                    }
                    Step::While { condition, predicate, body }
                }
                Step::Branch { index, mut branches } => {
                    branches.iter_mut().for_each(|steps| self.inside(steps, gemms, slots, written, kept));
                    Step::Branch { index, branches }
                }
                step => step,
            };
            steps.push((op, step));
        }
    }
}

/// Returns the slot of panels.
pub(in crate::execute) fn slot(offset: usize, bytes: usize) -> SlotData {
    let shape = smallvec![(bytes / size_of::<f32>()) as i64];
    SlotData { element: ElementType::F32, shape, bytes, offset, common: None }
}

/// Appends the ranges of bytes that steps may write.
fn writes(steps: &[(Op, Step)], slots: &TiVec<Slot, SlotData>, written: &mut Vec<(usize, usize)>) {
    for (_, step) in steps {
        let mut all = |of: &[Slot]| {
            written.extend(of.iter().map(|&slot| (slots[slot].offset, slots[slot].offset + slots[slot].bytes)));
        };
        match step {
            // The step doesn't say which slots the kernel only reads.
            Step::Kernel { slots, .. } => all(slots),
            Step::Gemm { out, .. }
            | Step::Packed { out, .. }
            | Step::Shared { out, .. }
            | Step::DeviceId { out, .. } => {
                all(&[*out]);
            }
            Step::Pack { to, .. } | Step::Collective { to, .. } | Step::Ragged { to, .. } | Step::Copy { to, .. } => {
                all(&[*to])
            }
            Step::Native { operands, results, .. } => {
                all(operands);
                all(results);
            }
            Step::Interpret { results, .. } => all(results),
            Step::Chain { steps, .. } => writes(steps, slots, written),
            Step::While { condition, body, .. } => {
                [condition, body].into_iter().for_each(|steps| writes(steps, slots, written));
            }
            Step::Branch { branches, .. } => branches.iter().for_each(|steps| writes(steps, slots, written)),
        }
    }
}

/// Returns the union of these ranges, as disjoint ranges in order.
fn union(mut ranges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    ranges.sort_unstable();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (begin, end) in ranges {
        match out.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => out.push((begin, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests;
