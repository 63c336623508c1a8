//! What a device does: its steps, one after the other, on its own memory and what its group has in common.

#![allow(unsafe_code, reason = "kernels take addresses in the device's arena")]

use std::ops::Range;
use std::sync::atomic::Ordering;

use dialect::diagnostic::Span;
use dialect::eval::EvalError;
use dialect::ir::{Op, Value, ValueSource};
use dialect::literal::Literal;
use rustc_hash::FxHashMap;

use super::Session;
use crate::collective::Transport;
use crate::execute::lower::Computation;
use crate::execute::memory::Arena;
use crate::execute::shared::Packing;
use crate::execute::step::{Slot, SlotData, Step};
use crate::execute::trace::{Recorder, Track};
use crate::gemm::Packed;
use crate::jit::KernelFn;
use crate::native::{View, ViewMut};
use crate::subnormals::Mode;
use crate::threads;

/// From this many bytes on that native code reads and writes, sharing its work between threads pays.
const PARALLEL: usize = 1 << 13;

/// Why a device stopped.
pub(super) struct Fault {
    pub(super) message: String,
    /// The op, if it failed on this device.
    pub(super) span: Option<Span>,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, span: None }
    }
}

/// Tells the transport when a device ends, even by a panic.
struct Leaving<'s> {
    transport: &'s dyn Transport,
    device: usize,
    failure: Option<String>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.transport.leave(self.device, self.failure.as_deref());
    }
}

/// Addresses in a device's arena.
type Pointers = smallvec::SmallVec<[*mut u8; 16]>;

/// Addresses in a device's arena that several threads use for one op.
#[derive(Clone, Copy)]
struct Addresses<'a>(&'a [*mut u8]);

// SAFETY: threads of one op write different elements.
unsafe impl Send for Addresses<'_> {}
// SAFETY: as above.
unsafe impl Sync for Addresses<'_> {}

impl<'a> Addresses<'a> {
    fn get(self) -> &'a [*mut u8] {
        self.0
    }
}

/// What one step of a chain does with some rows.
enum Code<'e> {
    Kernel(&'e KernelFn),
    Product(&'e Packed),
}

/// A step of a chain.
struct Call<'e> {
    code: Code<'e>,
    pointers: Pointers,
    /// How many of its rows are one of the chain's.
    by: i64,
}

impl Call<'_> {
    /// Runs these rows of it.
    ///
    /// # Safety
    ///
    /// The pointers are those of its slots, and nobody else accesses what it writes.
    unsafe fn run(&self, rows: Range<i64>) {
        // SAFETY: the caller's promise.
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

/// The steps of a chain, for several threads.
#[derive(Clone, Copy)]
struct Calls<'a>(&'a [Call<'a>]);

// SAFETY: as of `Addresses`.
unsafe impl Send for Calls<'_> {}
// SAFETY: as above.
unsafe impl Sync for Calls<'_> {}

impl<'a> Calls<'a> {
    fn get(self) -> &'a [Call<'a>] {
        self.0
    }
}

/// One device while it runs.
pub(super) struct Device<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) transport: &'s dyn Transport,
    pub(super) device: usize,
    pub(super) recorder: Option<Recorder>,
    /// How far panels are made that devices have in common, by their numbers and groups.
    pub(super) packings: &'s [Vec<Packing>],
}

impl Device<'_> {
    /// Runs the program on it.
    pub(super) fn main(self) -> Result<Track, Fault> {
        // However this thread ends, the others must not wait for it.
        let mut leaving =
            Leaving { transport: self.transport, device: self.device, failure: Some("it panicked".to_owned()) };
        let _mode = Mode::set(self.session.subnormals);
        if let Some(recorder) = &self.recorder {
            recorder.start();
        }
        let result = self.steps(&self.session.executable.lowered.steps);
        leaving.failure = result.as_ref().err().map(|fault| fault.message.clone());
        result.map(|()| self.recorder.map(Recorder::finish).unwrap_or_default())
    }

    fn arena(&self) -> &Arena {
        &self.session.arenas[self.device - self.session.held.start]
    }

    fn slot(&self, slot: Slot) -> &SlotData {
        self.session.executable.slot(slot)
    }

    /// The memory that a slot is in: the device's, or what its group has in common.
    fn memory(&self, slot: &SlotData) -> &Arena {
        self.session.memory(slot, self.device)
    }

    /// The address of a slot.
    fn at(&self, slot: Slot) -> *mut u8 {
        let slot = self.slot(slot);
        self.memory(slot).at(slot.offset)
    }

    /// A copy of a slot's bytes.
    fn read(&self, slot: &SlotData) -> Vec<u8> {
        self.memory(slot).read(slot.offset, slot.bytes)
    }

    /// Copies as many bytes as the second slot has.
    fn copy(&self, from: Slot, to: Slot) {
        let zeros = self.session.executable.lowered.zeros.contains(&from);
        let (from, to) = (self.slot(from), self.slot(to));
        if zeros && to.common.is_none() {
            return self.memory(to).zero(to.offset, to.bytes);
        }
        self.memory(to).copy(to.offset, self.memory(from), from.offset, to.bytes);
    }

    fn steps(&self, steps: &[(Op, Step)]) -> Result<(), Fault> {
        match &self.recorder {
            None => steps.iter().try_for_each(|(_, step)| self.step(step)),
            Some(recorder) => steps.iter().try_for_each(|(op, step)| recorder.step(*op, || self.step(step))),
        }
    }

    fn step(&self, step: &Step) -> Result<(), Fault> {
        let e = self.session.executable;
        let arena = self.arena();
        match step {
            Step::Kernel { kernel, slots } => {
                let pointers = self.pointers(slots);
                let pointers = Addresses(&pointers);
                // SAFETY: of `pointers`; its threads write different parts.
                let call = |range: &[i64]| unsafe { e.kernels[*kernel].call(pointers.get(), range) };
                match &e.lowered.ranges[*kernel] {
                    Some(ranges) if ranges.shared => {
                        let most = 4 * e.threads as i64;
                        self.in_parts(ranges.parts, most, |from, to| call(&[from, to]));
                    }
                    Some(ranges) => call(&[0, ranges.parts]),
                    None => call(&[]),
                }
            }
            // What is recorded are single ops.
            Step::Chain { steps, .. } if self.recorder.is_some() => self.steps(steps)?,
            Step::Chain { rows, parts, steps } => {
                let calls: Vec<Call<'_>> = steps.iter().filter_map(|(_, step)| self.call(step, *rows)).collect();
                let calls = Calls(&calls);
                self.in_parts(*rows, *parts, |from, to| {
                    for call in calls.get() {
                        let range = from * call.by..to * call.by;
                        // SAFETY: of `pointers`; these rows depend on no others that the chain writes.
                        unsafe { call.run(range) };
                    }
                });
            }
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::DeviceId { replica, out } => {
                let id = if *replica { self.device / e.room.partitions } else { self.device % e.room.partitions };
                arena.write(self.slot(*out).offset, &(id as u32).to_le_bytes());
            }
            Step::While { condition, predicate, body } => loop {
                self.steps(condition)?;
                let predicate = self.slot(*predicate);
                if self.memory(predicate).bytes::<1>(predicate.offset) == [0] {
                    break;
                }
                self.steps(body)?;
                if self.device == self.session.held.start {
                    self.session.turns.fetch_add(1, Ordering::Relaxed);
                }
            },
            Step::Branch { index, branches } => {
                let slot = self.slot(*index);
                let memory = self.memory(slot);
                let choice = match slot.bytes {
                    1 => usize::from(memory.bytes::<1>(slot.offset) == [0]),
                    _ => usize::try_from(i32::from_le_bytes(memory.bytes(slot.offset))).unwrap_or(usize::MAX),
                };
                let branch = branches.get(choice).or(branches.last());
                branch.map_or(Ok(()), |b| self.steps(b))?;
            }
            Step::Native { native, operands, results } => {
                self.native(&e.lowered.natives[*native], operands, results)?
            }
            Step::Interpret { ops, operands, results } => self.interpret(ops, operands, results)?,
            Step::Gemm { gemm, lhs, rhs, out } => {
                let product = &e.lowered.gemms[*gemm];
                let slots = [lhs, rhs, out].map(|slot| self.at(*slot));
                let slots = Addresses(&slots);
                let run = |threads| {
                    let &[lhs, rhs, out] = slots.get() else { return };
                    // SAFETY: slots hold whole tensors of the product's types, aligned, and don't overlap.
                    unsafe { product.run(lhs, rhs, out, threads) };
                };
                match (product.parts(e.threads), product.threads(e.threads)) {
                    (Some(parts), threads) => {
                        threads::in_parts(self.session.subnormals, threads, parts as i64, |part| {
                            let &[lhs, rhs, out] = slots.get() else { return };
                            // SAFETY: as above; parts have elements of their own.
                            unsafe { product.run_part([lhs, rhs], out, (part as usize, parts), threads) };
                        });
                    }
                    (None, 1) => run(1),
                    (None, threads) => threads::inside(self.session.subnormals, || run(threads)),
                }
            }
            Step::Pack { product, from, to } => {
                let product = &e.lowered.products[*product];
                let slots = [from, to].map(|slot| self.at(*slot));
                let slots = Addresses(&slots);
                let run = |threads| {
                    let &[from, to] = slots.get() else { return };
                    // SAFETY: a whole operand, and room for its panels, which nobody else accesses now.
                    unsafe { product.pack(from, to, threads) };
                };
                match e.threads {
                    1 => run(1),
                    threads => threads::inside(self.session.subnormals, || run(threads)),
                }
            }
            Step::Packed { product, left, right, out } => {
                self.product(&e.lowered.products[*product], [left, right, out].map(|slot| self.at(*slot)));
            }
            Step::Shared { product, left, right, panels, out } => {
                let product = &e.lowered.products[*product];
                let [left, right, out] = [left, right, out].map(|slot| self.at(*slot));
                match self.panels(*panels) {
                    Some(panels) => self.product(product, [left, panels, out]),
                    None => self.product(&product.without_panels(), [left, right, out]),
                }
            }
            Step::Ragged { collective, from, to } => {
                let [rows, output, starts, sizes, places] = from.map(|slot| self.read(self.slot(slot)));
                let plan = &e.lowered.collectives[*collective];
                let ragged = plan.as_ragged().ok_or_else(|| "no ragged_all_to_all".to_owned())?;
                let shown = ragged.shown([&rows, &starts, &sizes, &places]);
                let mut result = output;
                plan.run(self.transport, self.device, *collective, &shown, &mut result)?;
                arena.write(self.slot(*to).offset, &result);
            }
            Step::Collective { collective, from, to } => {
                let plan = &e.lowered.collectives[*collective];
                let (operand, result) = (self.at(*from).cast_const(), self.at(*to));
                let (from, to) = (self.slot(*from), self.slot(*to));
                // SAFETY: both slots are alive at this step, so they don't overlap, and nobody writes the operand before
                // all have read it.
                let operand = unsafe { std::slice::from_raw_parts(operand, from.bytes) };
                if to.common.is_some() && !self.session.commons.is_empty() {
                    // SAFETY: the devices of the group alone have this memory, and those that were in this collective
                    // before are done with what was there, as it isn't alive at this step.
                    unsafe {
                        plan.run_together(self.transport, self.device, *collective, operand, result, to.bytes)?;
                    }
                } else if plan.gives_zeros(self.device) {
                    plan.run(self.transport, self.device, *collective, operand, &mut [])?;
                    self.memory(to).zero(to.offset, to.bytes);
                } else {
                    // SAFETY: as above, and only this thread accesses what is in this arena and isn't an operand.
                    let result = unsafe { std::slice::from_raw_parts_mut(result, to.bytes) };
                    plan.run(self.transport, self.device, *collective, operand, result)?;
                }
            }
        }
        Ok(())
    }

    /// The addresses of a kernel's slots. They are inside the arena, at its alignment, and have the sizes of the kernel's
    /// memrefs; those alive at one step don't overlap, and only this device accesses this arena now. What is outside of it,
    /// in memory of a group, is only read.
    fn pointers(&self, slots: &[Slot]) -> Pointers {
        slots.iter().map(|&s| self.at(s)).collect()
    }

    /// A step of a chain that goes over so many rows.
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

    /// Divides positions among threads, into at most this many parts, which write different elements.
    fn in_parts(&self, positions: i64, parts: i64, call: impl Fn(i64, i64) + Sync) {
        let parts = positions.min(parts);
        let part = |i: i64| call(i * positions / parts, (i + 1) * positions / parts);
        threads::in_parts(self.session.subnormals, self.session.executable.threads, parts, part);
    }

    /// Runs native code. An operand in whose memory a result is computed is copied there first if it isn't there.
    fn native(&self, computation: &Computation, operands: &[Slot], results: &[Slot]) -> Result<(), Fault> {
        for &(operand, result) in &computation.in_place {
            let (from, to) = (operands[operand], results[result]);
            if self.at(from) != self.at(to) {
                self.copy(from, to);
            }
        }
        let views: Vec<View<'_>> = operands
            .iter()
            .enumerate()
            .map(|(i, &slot)| {
                let moved = computation.in_place.iter().any(|p| p.0 == i);
                let bytes = if moved { 0 } else { self.slot(slot).bytes };
                // SAFETY: inside the arena; results don't overlap operands that aren't computed in place, and only this
                // thread accesses this arena now. Memory of a group is only read.
                let bytes = unsafe { std::slice::from_raw_parts(self.at(slot).cast_const(), bytes) };
                View { bytes }
            })
            .collect();
        let mut made: Vec<ViewMut<'_>> = results
            .iter()
            .map(|&slot| {
                // SAFETY: as above; results alive at one step don't overlap.
                let bytes = unsafe { std::slice::from_raw_parts_mut(self.at(slot), self.slot(slot).bytes) };
                ViewMut { bytes }
            })
            .collect();
        // What is over before others would have begun isn't shared, as a row that is put into a tensor in place.
        let read = views.iter().map(|view| view.bytes.len()).sum::<usize>();
        let begun = |i| computation.in_place.iter().any(|p| p.1 == i);
        let written = made.iter().enumerate().filter(|(i, _)| !begun(*i)).map(|(_, result)| result.bytes.len());
        let threads = if read + written.sum::<usize>() < PARALLEL { 1 } else { self.session.executable.threads };
        Ok(match threads {
            1 => computation.computation.run(&views, &mut made, 1),
            threads => {
                threads::inside(self.session.subnormals, || computation.computation.run(&views, &mut made, threads))
            }
        }?)
    }

    /// Computes a product by rows, of panels or of an operand that is read where it lies.
    fn product(&self, product: &Packed, [left, right, out]: [*mut u8; 3]) {
        let slots = [left, right, out];
        let slots = Addresses(&slots);
        let threads = product.threads(self.session.executable.threads);
        // A thread that comes late leaves one of its parts to the others.
        let parts = if threads > 1 { 2 * threads } else { 1 };
        threads::in_parts(self.session.subnormals, threads, parts as i64, |part| {
            let &[left, right, out] = slots.get() else { return };
            // SAFETY: as of a product that isn't by rows; panels were written before.
            unsafe { product.run_part(left, right, out, part as usize, parts) };
        });
    }

    /// The panels of a right operand that the device's group has in common, once they are made; none without such memory.
    fn panels(&self, number: usize) -> Option<*mut u8> {
        let lowered = &self.session.executable.lowered;
        let panels = &lowered.shared_panels[number];
        let packing = self.packings.get(number)?.get(lowered.commons[panels.common].group[self.device])?;
        let product = &lowered.products[panels.product];
        let slots = [panels.from, panels.to].map(|slot| self.at(slot));
        let to = slots[1];
        let slots = Addresses(&slots);
        let threads = self.session.executable.threads;
        threads::in_parts(self.session.subnormals, threads, threads as i64, |_| {
            let &[from, to] = slots.get() else { return };
            // SAFETY: a whole operand, which nobody writes, and room for its panels, each of which one thread writes before
            // anybody reads it.
            packing.help(|piece| unsafe { product.pack_piece(from, to, piece) });
        });
        packing.wait();
        Some(to)
    }

    /// Evaluates ops with the reference evaluator and stores the results of the last one.
    fn interpret(&self, ops: &[Op], operands: &[(Value, Slot)], results: &[Slot]) -> Result<(), Fault> {
        let (program, arena) = (&self.session.executable.program, self.arena());
        let mut known: FxHashMap<Value, Literal> = FxHashMap::default();
        for &(value, slot) in operands {
            let slot = self.slot(slot);
            known.insert(value, Literal::from_bytes(slot.element, &slot.shape, self.read(slot)));
        }
        let constant = |value: Value| match program.value_source(value) {
            ValueSource::Result(op, _) => {
                let view = program.view(op);
                view.def().constant(view).cloned()
            }
            ValueSource::Arg(..) => None,
        };
        for &op in ops {
            let read = |v: &Value| known.get(v).cloned().or_else(|| constant(*v));
            let read: Option<Vec<Literal>> = program.op(op).operands.iter().map(read).collect();
            let read = read.ok_or_else(|| format!("'{}' reads what isn't computed", program.op_name(op)))?;
            let fault = |e: EvalError| Fault { message: e.message, span: Some(e.span) };
            let values = crate::reference::evaluate_op(program, op, &read).map_err(fault)?;
            known.extend(program.results(op).zip(values));
        }
        let last = ops.last().into_iter().flat_map(|&op| program.results(op));
        for (slot, value) in results.iter().zip(last) {
            if let Some(value) = known.get(&value) {
                arena.write(self.slot(*slot).offset, &value.dense_bytes());
            }
        }
        Ok(())
    }
}
