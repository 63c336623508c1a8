//! Divides kernels, products and chains among the threads of a device.

#![allow(unsafe_code, reason = "kernels take addresses in the device's arena")]

use std::ops::Range;

use dialect::ir::Op;

use super::steps::Device;
use crate::across::AcrossThreads;
use crate::execute::lower::step::{Slot, Step};
use crate::jit::KernelFn;
use crate::kernels::gemm::{Gemm, Packed};
use crate::threads;

/// Addresses in the memory of a device or of its group.
type Pointers = smallvec::SmallVec<[*mut u8; 16]>;

/// Returns addresses for the threads of one op.
fn addresses<const N: usize>(of: [*mut u8; N]) -> AcrossThreads<[*mut u8; N]> {
    // SAFETY: these are only raw pointers.
    unsafe { AcrossThreads::new(of) }
}

/// The code of one step of a chain.
enum Code<'e> {
    Kernel(&'e KernelFn),
    Product(&'e Packed),
}

/// A step of a chain.
struct Call<'e> {
    code: Code<'e>,
    pointers: Pointers,
    /// The number of the step's rows in one row of the chain.
    by: i64,
}

impl Call<'_> {
    /// Runs these rows of the step.
    ///
    /// # Safety
    ///
    /// The pointers must be those of the step's slots, and no other thread may access the elements that the rows write.
    unsafe fn run(&self, rows: Range<i64>) {
        // SAFETY: this function has the requirements of both calls: the pointers are those of the slots that the kernel
        // or the product was lowered for.
        unsafe {
            match (&self.code, &self.pointers[..]) {
                (Code::Kernel(kernel), pointers) => kernel.call(pointers, &[rows.start, rows.end]),
                (Code::Product(product), &[left, right, out, ..]) => {
                    product.run(left, right, out, rows.start as usize..rows.end as usize);
                }
                (Code::Product(_), _) => {}
            }
        }
    }
}

impl Device<'_> {
    /// Runs a compiled kernel, on several threads if its ranges may be divided.
    pub(super) fn kernel(&self, kernel: usize, slots: &[Slot]) {
        let e = self.session.executable;
        // SAFETY: these are only raw pointers, and their number.
        let pointers = unsafe { AcrossThreads::new(self.pointers(slots)) };
        // SAFETY: `pointers` describes the addresses. The threads run different ranges of the outermost loop, which
        // write different elements.
        let call = |range: &[i64]| unsafe { e.kernels[kernel].call(pointers.get(), range) };
        match &e.lowered.ranges[kernel] {
            Some(ranges) if ranges.shared => {
                self.in_parts(ranges.parts, 4 * e.threads as i64, |from, to| call(&[from, to]));
            }
            Some(ranges) => call(&[0, ranges.parts]),
            None => call(&[]),
        }
    }

    /// Runs the steps of a chain over `parts` parts of its rows.
    pub(super) fn chain(&self, rows: i64, parts: i64, steps: &[(Op, Step)]) {
        let calls: Vec<Call<'_>> = steps.iter().filter_map(|(_, step)| self.call(step, rows)).collect();
        // SAFETY: calls have references to kernels and products, which are `Sync`, numbers and raw pointers.
        let calls = unsafe { AcrossThreads::new(calls) };
        self.in_parts(rows, parts, |from, to| {
            for call in calls.get() {
                // SAFETY: `Call` got the pointers of its slots from `pointers`. The chain was built so that these rows
                // depend on no other rows that it writes.
                unsafe { call.run(from * call.by..to * call.by) };
            }
        });
    }

    /// Computes a matrix product.
    pub(super) fn gemm(&self, product: &Gemm, slots: [&Slot; 3]) {
        let slots = addresses(slots.map(|slot| self.at(*slot)));
        let available = self.session.executable.threads;
        let threads = product.threads(available);
        if let Some(parts) = product.parts(available) {
            return threads::in_parts(self.session.subnormals, threads, parts as i64, |part| {
                let &[lhs, rhs, out] = slots.get();
                // SAFETY: the slots are those of the whole product, and each part writes different elements.
                unsafe { product.run_part([lhs, rhs], out, (part as usize, parts), threads) };
            });
        }
        self.inside(threads, || {
            let &[lhs, rhs, out] = slots.get();
            // SAFETY: the slots were lowered for the product's types, so they hold its whole tensors, aligned. Values
            // live at one step don't overlap in the plan.
            unsafe { product.run(lhs, rhs, out, threads) };
        });
    }

    /// Copies the right operand of a product into panels.
    pub(super) fn pack(&self, product: &Packed, from: Slot, to: Slot) {
        let slots = addresses([from, to].map(|slot| self.at(slot)));
        let threads = self.session.executable.threads;
        self.inside(threads, || {
            let &[from, to] = slots.get();
            // SAFETY: `from` holds a whole operand and `to` has room for its panels. Other devices only read the
            // operand, and don't access this device's panels.
            unsafe { product.pack(from, to, threads) };
        });
    }

    /// Runs `work`, which divides itself among this many threads: on this thread if it is one, otherwise in the pool.
    pub(super) fn inside<R: Send>(&self, threads: usize, work: impl FnOnce() -> R + Send) -> R {
        if threads == 1 { work() } else { threads::inside(self.session.subnormals, work) }
    }

    /// Returns the addresses of a kernel's slots. They are inside of the arena, aligned, and have the sizes of the
    /// kernel's memrefs. Slots that are live at one step don't overlap, and only this device accesses its arena while a
    /// kernel runs. Memory of a group is only read.
    fn pointers(&self, slots: &[Slot]) -> Pointers {
        slots.iter().map(|&s| self.at(s)).collect()
    }

    /// Returns a step of a chain that iterates over `rows` rows.
    fn call(&self, step: &Step, rows: i64) -> Option<Call<'_>> {
        let e = self.session.executable;
        Some(match step {
            Step::Kernel { kernel, slots } => {
                let parts = e.lowered.ranges[*kernel].as_ref().map_or(1, |ranges| ranges.parts);
                Call { code: Code::Kernel(&e.kernels[*kernel]), pointers: self.pointers(slots), by: parts / rows }
            }
            Step::Packed { product, left, right, out } => {
                let product = &e.lowered.products[*product];
                let pointers = self.pointers(&[*left, *right, *out]);
                Call { code: Code::Product(product), pointers, by: product.rows() as i64 / rows }
            }
            _ => return None,
        })
    }

    /// Divides positions among threads, into at most `parts` parts, which write different elements.
    fn in_parts(&self, positions: i64, parts: i64, call: impl Fn(i64, i64) + Sync) {
        let parts = positions.min(parts);
        let part = |i: i64| call(i * positions / parts, (i + 1) * positions / parts);
        threads::in_parts(self.session.subnormals, self.session.executable.threads, parts, part);
    }

    /// Computes a product by rows, from panels or from an operand in place.
    pub(super) fn product(&self, product: &Packed, slots: [*mut u8; 3]) {
        let slots = addresses(slots);
        let threads = product.threads(self.session.executable.threads);
        // There are more parts than threads, so that a thread that comes late leaves a part to the others.
        let parts = if threads > 1 { 2 * threads } else { 1 };
        threads::in_parts(self.session.subnormals, threads, parts as i64, |part| {
            let &[left, right, out] = slots.get();
            // SAFETY: the slots hold the whole tensors of the product, and the panels were written before. Each part
            // writes different elements.
            unsafe { product.run_part(left, right, out, part as usize, parts) };
        });
    }

    /// Makes the panels of a right operand that the device's group shares, together with the group's other devices, and
    /// returns them; `None` without shared memory.
    pub(super) fn panels(&self, number: usize) -> Option<*mut u8> {
        let lowered = &self.session.executable.lowered;
        let panels = &lowered.shared_panels[number];
        let packing = self.packings.get(number)?.get(lowered.commons[panels.common].group[self.device])?;
        let product = &lowered.products[panels.product];
        let slots = [panels.from, panels.to].map(|slot| self.at(slot));
        let to = slots[1];
        let slots = addresses(slots);
        let threads = self.session.executable.threads;
        threads::in_parts(self.session.subnormals, threads, threads as i64, |_| {
            let &[from, to] = slots.get();
            // SAFETY: `from` is a whole argument, which nothing writes, and `to` has room for its panels. `help` hands
            // each panel to one thread, and all threads read panels only after `wait`.
            packing.help(|piece| unsafe { product.pack_piece(from, to, piece) });
        });
        packing.wait();
        Some(to)
    }
}
