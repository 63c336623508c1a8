//! Runs one device: its steps, one after the other, on its own memory and the memory that its group shares.

#![allow(unsafe_code, reason = "kernels take addresses in the device's arena")]

use std::ops::Range;
use std::sync::atomic::Ordering;

use dialect::diagnostic::Span;
use dialect::eval::EvalError;
use dialect::ir::{Op, Value, ValueSource};
use dialect::literal::Literal;
use rustc_hash::FxHashMap;

use super::Session;
use crate::across::AcrossThreads;
use crate::collective::Transport;
use crate::execute::lower::Computation;
use crate::execute::memory::Arena;
use crate::execute::shared::Packing;
use crate::execute::step::{Slot, SlotData, Step};
use crate::execute::trace::{Recorder, Track};
use crate::jit::KernelFn;
use crate::kernels::gemm::Packed;
use crate::kernels::native::{View, ViewMut};
use crate::subnormals::Mode;
use crate::threads;

/// The number of bytes from which native code uses several threads, counting operands and new results.
const PARALLEL: usize = 1 << 13;

/// The reason why a device stopped.
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

/// Informs the transport when a device ends, even by a panic.
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

/// One device while it runs.
pub(super) struct Device<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) transport: &'s dyn Transport,
    pub(super) device: usize,
    pub(super) recorder: Option<Recorder>,
    /// The progress of making the panels that devices share, by their numbers and groups.
    pub(super) packings: &'s [Vec<Packing>],
}

impl Device<'_> {
    /// Runs the program on this device.
    pub(super) fn main(self) -> Result<Track, Fault> {
        // However this thread ends, the other devices must not wait for it.
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

    /// Returns the memory that a slot is in: the device's, or its group's.
    fn memory(&self, slot: &SlotData) -> &Arena {
        self.session.memory(slot, self.device)
    }

    /// Returns the address of a slot.
    fn at(&self, slot: Slot) -> *mut u8 {
        let slot = self.slot(slot);
        self.memory(slot).at(slot.offset)
    }

    /// Returns a copy of a slot's bytes.
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
                // SAFETY: these are only raw pointers, and their number.
                let pointers = unsafe { AcrossThreads::new(self.pointers(slots)) };
                // SAFETY: `pointers` describes the addresses. The threads run different ranges of the outermost loop,
                // which write different elements.
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
            // A recorder records single ops, so the chain's steps run one after the other over all rows.
            Step::Chain { steps, .. } if self.recorder.is_some() => self.steps(steps)?,
            Step::Chain { rows, parts, steps } => {
                let calls: Vec<Call<'_>> = steps.iter().filter_map(|(_, step)| self.call(step, *rows)).collect();
                // SAFETY: calls have references to kernels and products, which are `Sync`, numbers and raw pointers.
                let calls = unsafe { AcrossThreads::new(calls) };
                self.in_parts(*rows, *parts, |from, to| {
                    for call in calls.get() {
                        let range = from * call.by..to * call.by;
                        // SAFETY: `Call` got the pointers of its slots from `pointers`. The chain was built so that
                        // these rows depend on no other rows that it writes.
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
                let slots = addresses([lhs, rhs, out].map(|slot| self.at(*slot)));
                let run = |threads| {
                    let &[lhs, rhs, out] = slots.get();
                    // SAFETY: the slots were lowered for the product's types, so they hold its whole tensors, aligned.
                    // Values live at one step don't overlap in the plan.
                    unsafe { product.run(lhs, rhs, out, threads) };
                };
                match (product.parts(e.threads), product.threads(e.threads)) {
                    (Some(parts), threads) => {
                        threads::in_parts(self.session.subnormals, threads, parts as i64, |part| {
                            let &[lhs, rhs, out] = slots.get();
                            // SAFETY: the slots are those of the whole product, and each part writes different
                            // elements.
                            unsafe { product.run_part([lhs, rhs], out, (part as usize, parts), threads) };
                        });
                    }
                    (None, 1) => run(1),
                    (None, threads) => threads::inside(self.session.subnormals, || run(threads)),
                }
            }
            Step::Pack { product, from, to } => {
                let product = &e.lowered.products[*product];
                let slots = addresses([from, to].map(|slot| self.at(*slot)));
                let run = |threads| {
                    let &[from, to] = slots.get();
                    // SAFETY: `from` holds a whole operand and `to` has room for its panels. Other devices only read
                    // the operand, and don't access this device's panels.
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
                // SAFETY: `at` and `bytes` are of the same slot. Both slots are live at this step, so they don't
                // overlap, and nothing writes the operand before all devices have read it: `run` returns only after
                // that.
                let operand = unsafe { std::slice::from_raw_parts(operand, from.bytes) };
                if to.common.is_some() && !self.session.commons.is_empty() {
                    // SAFETY: only devices of the group access this memory. The value that was there before isn't live
                    // at this step, so the devices that have come to this collective have finished with it.
                    unsafe {
                        plan.run_together(self.transport, self.device, *collective, operand, result, to.bytes)?;
                    }
                } else if plan.gives_zeros(self.device) {
                    plan.run(self.transport, self.device, *collective, operand, &mut [])?;
                    self.memory(to).zero(to.offset, to.bytes);
                } else {
                    // SAFETY: `at` and `bytes` are of the same slot, which doesn't overlap the operand's. Other devices
                    // read only operands in this arena.
                    let result = unsafe { std::slice::from_raw_parts_mut(result, to.bytes) };
                    plan.run(self.transport, self.device, *collective, operand, result)?;
                }
            }
        }
        Ok(())
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

    /// Runs native code. An operand that is computed in place is first copied to the result's memory, unless it is
    /// there already.
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
                // SAFETY: the bytes are those of a slot, or none for an operand that is computed in place. Other
                // operands don't overlap results in the plan, and only this device writes its arena now. Memory of a
                // group is only read.
                let bytes = unsafe { std::slice::from_raw_parts(self.at(slot).cast_const(), bytes) };
                View { bytes }
            })
            .collect();
        let mut made: Vec<ViewMut<'_>> = results
            .iter()
            .map(|&slot| {
                // SAFETY: the bytes are those of a slot. Results that are live at one step don't overlap each other or
                // the operands above.
                let bytes = unsafe { std::slice::from_raw_parts_mut(self.at(slot), self.slot(slot).bytes) };
                ViewMut { bytes }
            })
            .collect();
        // Small computations, for example writing a row to a tensor in place, run on one thread, because they end
        // before other threads would have started.
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

    /// Computes a product by rows, from panels or from an operand in place.
    fn product(&self, product: &Packed, slots: [*mut u8; 3]) {
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
    fn panels(&self, number: usize) -> Option<*mut u8> {
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
            let read = read.ok_or_else(|| format!("'{}' reads a value that isn't computed", program.op_name(op)))?;
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
