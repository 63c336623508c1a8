//! Runs one device: its steps, one after the other, on its own memory and the memory that its group shares.

#![allow(unsafe_code, reason = "kernels take addresses in the device's arena")]

use std::sync::atomic::Ordering;

use dialect::diagnostic::Span;
use dialect::eval::EvalError;
use dialect::ir::{Op, Value, ValueSource};
use dialect::literal::Literal;
use rustc_hash::FxHashMap;

use super::memory::Arena;
use super::session::Session;
use super::trace::{Recorder, Track};
use crate::collective::Transport;
use crate::execute::fuse::shared::Packing;
use crate::execute::lower::Computation;
use crate::execute::lower::step::{Slot, SlotData, Step};
use crate::kernels::native::{View, ViewMut};
use crate::subnormals::Mode;

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

    pub(super) fn slot(&self, slot: Slot) -> &SlotData {
        self.session.executable.slot(slot)
    }

    /// Returns the memory that a slot is in: the device's, or its group's.
    pub(super) fn memory(&self, slot: &SlotData) -> &Arena {
        self.session.memory(slot, self.device)
    }

    /// Returns the address of a slot.
    pub(super) fn at(&self, slot: Slot) -> *mut u8 {
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

    pub(super) fn steps(&self, steps: &[(Op, Step)]) -> Result<(), Fault> {
        match &self.recorder {
            None => steps.iter().try_for_each(|(_, step)| self.step(step)),
            Some(recorder) => steps.iter().try_for_each(|(op, step)| recorder.step(*op, || self.step(step))),
        }
    }

    fn step(&self, step: &Step) -> Result<(), Fault> {
        let e = self.session.executable;
        match step {
            Step::Kernel { kernel, slots } => self.kernel(*kernel, slots),
            // A recorder records single ops, so the chain's steps run one after the other over all rows.
            Step::Chain { steps, .. } if self.recorder.is_some() => self.steps(steps)?,
            Step::Chain { rows, parts, steps } => self.chain(*rows, *parts, steps),
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::DeviceId { replica, out } => {
                let id = if *replica {
                    self.device / e.requirements.partitions
                } else {
                    self.device % e.requirements.partitions
                };
                self.arena().write(self.slot(*out).offset, &(id as u32).to_le_bytes());
            }
            Step::While { condition, predicate, body } => {
                while self.holds(condition, *predicate)? {
                    self.steps(body)?;
                    if self.device == self.session.held.start {
                        self.session.turns.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            Step::Branch { index, branches } => {
                let branch = branches.get(self.branch(*index)).or(branches.last());
                branch.map_or(Ok(()), |steps| self.steps(steps))?;
            }
            Step::Native { native, operands, results } => {
                self.native(&e.lowered.natives[*native], operands, results)?
            }
            Step::Interpret { ops, operands, results } => self.interpret(ops, operands, results)?,
            Step::Gemm { gemm, lhs, rhs, out } => self.gemm(&e.lowered.gemms[*gemm], [lhs, rhs, out]),
            Step::Pack { product, from, to } => self.pack(&e.lowered.products[*product], *from, *to),
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
            Step::Ragged { collective, from, to } => self.ragged(*collective, from, *to)?,
            Step::Collective { collective, from, to } => self.collective(*collective, *from, *to)?,
        }
        Ok(())
    }

    /// Runs the condition of a loop, and returns whether its predicate holds.
    fn holds(&self, condition: &[(Op, Step)], predicate: Slot) -> Result<bool, Fault> {
        self.steps(condition)?;
        let predicate = self.slot(predicate);
        Ok(self.memory(predicate).bytes::<1>(predicate.offset) != [0])
    }

    /// Returns the number of the branch that a slot selects: an `i1` (true is branch 0), or an `i32`.
    fn branch(&self, index: Slot) -> usize {
        let slot = self.slot(index);
        let memory = self.memory(slot);
        match slot.bytes {
            1 => usize::from(memory.bytes::<1>(slot.offset) == [0]),
            _ => usize::try_from(i32::from_le_bytes(memory.bytes(slot.offset))).unwrap_or(usize::MAX),
        }
    }

    fn ragged(&self, collective: usize, from: &[Slot; 5], to: Slot) -> Result<(), Fault> {
        let [rows, output, starts, sizes, places] = from.map(|slot| self.read(self.slot(slot)));
        let plan = &self.session.executable.lowered.collectives[collective];
        let ragged = plan.as_ragged().ok_or_else(|| "no ragged_all_to_all".to_owned())?;
        let shown = ragged.shown([&rows, &starts, &sizes, &places]);
        let mut result = output;
        plan.run(self.transport, self.device, collective, &shown, &mut result)?;
        self.arena().write(self.slot(to).offset, &result);
        Ok(())
    }

    fn collective(&self, number: usize, from: Slot, to: Slot) -> Result<(), Fault> {
        let plan = &self.session.executable.lowered.collectives[number];
        let (operand, result) = (self.at(from).cast_const(), self.at(to));
        let (from, to) = (self.slot(from), self.slot(to));
        // SAFETY: `at` and `bytes` are of the same slot. Both slots are live at this step, so they don't overlap, and
        // nothing writes the operand before all devices have read it: `run` returns only after that.
        let operand = unsafe { std::slice::from_raw_parts(operand, from.bytes) };
        if to.common.is_some() && !self.session.commons.is_empty() {
            // SAFETY: only devices of the group access this memory. The value that was there before isn't live at this
            // step, so the devices that have come to this collective have finished with it.
            unsafe { plan.run_together(self.transport, self.device, number, operand, result, to.bytes)? };
        } else if plan.gives_zeros(self.device) {
            plan.run(self.transport, self.device, number, operand, &mut [])?;
            self.memory(to).zero(to.offset, to.bytes);
        } else {
            // SAFETY: `at` and `bytes` are of the same slot, which doesn't overlap the operand's. Other devices read
            // only operands in this arena.
            let result = unsafe { std::slice::from_raw_parts_mut(result, to.bytes) };
            plan.run(self.transport, self.device, number, operand, result)?;
        }
        Ok(())
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
        Ok(self.inside(threads, || computation.computation.run(&views, &mut made, threads))?)
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
