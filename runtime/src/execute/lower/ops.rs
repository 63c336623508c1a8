//! Lowers single ops: kernels, products, collectives, native code, and the reference evaluator where nothing else fits.

use dialect::codes;
use dialect::collective::{CollectiveKind, Ragged};
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Op, Value, ValueSource};
use dialect::kernel::{External, Init, Input, Kernel, Outside};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::exchange::reduced;
use super::step::{Slot, Step};
use super::{Computation, KERNEL, Lowering};
use crate::collective::Plan;
use crate::execute::codegen::{emit, routine};
use crate::execute::fuse::build::{Part, build, nest_of};
use crate::execute::fuse::chain::Ranges;
use crate::execute::fuse::fused::Fused;
use crate::kernels::gemm::Gemm;
use crate::kernels::native::{self, Native, Routine, Times};
use crate::kernels::window;

impl Lowering<'_> {
    /// Lowers an all_to_all together with the op that combines its pieces, if no other op reads them. Also returns the
    /// combining op.
    pub(super) fn reduced_exchange(&mut self, op: Op, behind: &[Op]) -> Result<Option<(Op, Step)>, Diagnostic> {
        let (program, fusion) = (self.program, &self.buffers.fusion);
        let uses = self.uses();
        let readers = |value: Value| uses.get(value).len();
        let found = reduced(program, fusion, op, behind, readers);
        let Some((reader, operand, collective)) = found else { return Ok(None) };
        let Some(t) = program.tensor_type(operand) else { return Ok(None) };
        let (from, to) = (self.slot(operand)?, self.slot(program.result(reader, 0))?);
        let range = |slot: Slot| {
            let slot = &self.out.slots[slot];
            slot.offset..slot.offset + slot.bytes
        };
        // Other devices still read the operand while the result is written.
        let (read, written) = (range(from), range(to));
        if read.start < written.end && written.start < read.end {
            return Ok(None);
        }
        let number = self.collective(op, Plan::new(&collective, t.element, &t.shape, self.devices));
        Ok(Some((reader, Step::Collective { collective: number, from, to })))
    }

    /// Adds a collective and returns its number. Its computation is compiled if there is no other code for it.
    fn collective(&mut self, op: Op, plan: Plan) -> usize {
        let number = self.out.collectives.len();
        let routine = plan.uncompiled().map(|body| Routine::new(body.clone(), Times::Many));
        if let Some(routine) = routine.filter(Routine::compiles) {
            let kernel = self.compiled(routine::text(&routine, KERNEL, self.target), None);
            self.out.combiners.push((number, routine, kernel));
        }
        self.out.collectives.push(plan);
        self.out.collective_ops.push(op);
        number
    }

    /// Lowers an op that carries its accumulators along a dimension of its results to a compiled kernel.
    pub(super) fn scan(&mut self, op: Op, running: window::Running) -> Result<Step, Diagnostic> {
        let mut kernel = build(self.program, &self.buffers.fusion, &[Part::alone(op, running.nest)]);
        kernel.scan = Some((running.dim, running.backward));
        let slots = self.slots_of_kernel(&mut kernel, &self.program.results(op).collect::<Vec<_>>())?;
        Ok(self.written(&kernel, slots))
    }

    /// Returns the slots of a kernel with these results. Results that share a buffer with an operand overwrite it in
    /// place.
    pub(in crate::execute) fn slots_of_kernel(
        &mut self,
        kernel: &mut Fused,
        results: &[Value],
    ) -> Result<Vec<Slot>, Diagnostic> {
        let read: Vec<Value> = kernel.buffers.iter().map(|b| b.0).collect();
        let mut slots = self.slots_of(read.iter().copied())?;
        for (&result, output) in results.iter().zip(&mut kernel.outputs) {
            let buffer = self.buffers.get(result);
            output.in_place = read.iter().position(|&v| self.buffers.get(v) == buffer);
            if output.in_place.is_none() {
                slots.push(self.slot(result)?);
            }
        }
        Ok(slots)
    }

    /// Returns the step of a kernel.
    pub(in crate::execute) fn written(&mut self, kernel: &Fused, slots: Vec<Slot>) -> Step {
        let mut text = String::new();
        let ranges = emit(kernel, KERNEL, self.target, &mut text);
        Step::Kernel { kernel: self.compiled(text, ranges), slots }
    }

    pub(super) fn op(&mut self, op: Op, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let view = self.program.view(op);
        let def = view.def();
        let results = self.slots_of(self.program.results(op))?;
        if let Some(computation) = native::assemble::of(view) {
            steps.push(self.native(op, computation, SmallVec::new(), results)?);
            return Ok(());
        }
        let step = match def.kernel(view) {
            Kernel::External(External::PartitionId) => Step::DeviceId { replica: false, out: results[0] },
            Kernel::External(External::ReplicaId) => Step::DeviceId { replica: true, out: results[0] },
            Kernel::External(External::Collective) => {
                let Some(collective) = def.collective(view) else {
                    return Err(Diagnostic::error(codes::MALFORMED_PROGRAM, view.span(), "a collective has no groups"));
                };
                if collective.kind == CollectiveKind::RaggedAllToAll {
                    let fault = |e: String| Diagnostic::error(codes::MALFORMED_PROGRAM, view.span(), e);
                    let ragged = Ragged::of(view).map_err(fault)?;
                    let from = self.slots_of(self.program.op(op).operands.iter().copied())?;
                    let number = self.collective(op, Plan::ragged(&collective, ragged, self.devices));
                    let from = [from[0], from[1], from[2], from[3], from[4]];
                    steps.push(Step::Ragged { collective: number, from, to: results[0] });
                    return Ok(());
                }
                let (program, devices) = (self.program, self.devices);
                let plan = |v| {
                    let t = program.tensor_type(v);
                    t.map(|t| Plan::new(&collective, t.element, &t.shape, devices)).filter(Plan::is_supported)
                };
                let first = self.out.collectives.len();
                for &v in &self.program.op(op).operands {
                    let Some(plan) = plan(v) else {
                        let message = format!(
                            "native execution doesn't support the region of '{}', which is more than scalar arithmetic",
                            view.name()
                        );
                        return Err(Diagnostic::error(codes::NO_NATIVE_FORM, view.span(), message)
                            .note("run the program with --interpret"));
                    };
                    self.collective(op, plan);
                }
                let operands = self.slots_of(self.program.op(op).operands.iter().copied())?;
                // Each operand has its own exchange.
                for (i, (&from, &to)) in operands.iter().zip(&results).enumerate() {
                    let plan = self.out.collectives[first + i].clone();
                    self.hold_in_common(&plan, self.program.result(op, i), to);
                    steps.push(Step::Collective { collective: first + i, from, to });
                }
                return Ok(());
            }
            Kernel::Nest(nest) if let Some(code) = window::of(view, &nest) => self.windowed(op, code)?,
            Kernel::Nest(_) if let Some(gemm) = Gemm::of(view) => {
                let operands = self.slots_of(self.program.op(op).operands.iter().copied())?;
                let [lhs, rhs] = gemm.operands().map(|i| operands[i]);
                self.out.gemms.push(gemm);
                Step::Gemm { gemm: self.out.gemms.len() - 1, lhs, rhs, out: results[0] }
            }
            Kernel::External(external)
                if let Some(computation) = native::of(&external, view, &mut |dim| self.first_read(op, dim)) =>
            {
                self.native(op, computation, external.in_place(), results)?
            }
            Kernel::Control => {
                let message = format!("native execution doesn't support '{}'", view.name());
                return Err(Diagnostic::error(codes::NO_NATIVE_FORM, view.span(), message)
                    .note("run the program with --interpret"));
            }
            _ => self.interpret(op, results)?,
        };
        steps.push(step);
        Ok(())
    }

    /// Lowers an op that reads through windows to its native code.
    pub(super) fn windowed(&mut self, op: Op, code: window::Code) -> Result<Step, Diagnostic> {
        let program = self.program;
        let operands = self.slots_of(code.operands.iter().map(|&i| program.op(op).operands[i]))?;
        let results = self.slots_of(program.results(op))?;
        Ok(self.computation(code.native, SmallVec::new(), operands, results))
    }

    /// Lowers an op to native code that reads all its operands.
    fn native(
        &mut self,
        op: Op,
        computation: Box<dyn Native>,
        in_place: SmallVec<[(usize, usize); 2]>,
        results: Vec<Slot>,
    ) -> Result<Step, Diagnostic> {
        let operands = self.slots_of(self.program.op(op).operands.iter().copied())?;
        Ok(self.computation(computation, in_place, operands, results))
    }

    fn computation(
        &mut self,
        mut computation: Box<dyn Native>,
        in_place: SmallVec<[(usize, usize); 2]>,
        operands: Vec<Slot>,
        results: Vec<Slot>,
    ) -> Step {
        let texts = computation.routines().into_iter().filter(|r| r.compiles());
        let texts: Vec<String> = texts.map(|r| routine::text(r, KERNEL, self.target)).collect();
        let routines = texts.into_iter().map(|text| self.compiled(text, None)).collect();
        self.out.natives.push(Computation { computation, in_place, routines });
        Step::Native { native: self.out.natives.len() - 1, operands, results }
    }

    /// Returns the number of the kernel with this text, which is added if it is new.
    fn compiled(&mut self, text: String, ranges: Option<Ranges>) -> usize {
        let next = self.texts.len();
        *self.texts.entry(text).or_insert_with_key(|text| {
            self.out.kernels.push(text.clone());
            self.out.ranges.push(ranges);
            next
        })
    }

    /// Returns how many of the first positions along a dimension of an op's results are ever read.
    fn first_read(&mut self, op: Op, dim: usize) -> usize {
        let (program, fusion) = (self.program, &self.buffers.fusion);
        let uses = self.uses();
        let read = |value: Value| {
            let size = program.tensor_type(value).and_then(|t| t.shape.get(dim).copied()).unwrap_or(0);
            let by = |&(reader, number): &(Op, u32)| {
                let operand = number as usize;
                let nest = nest_of(program, reader)?;
                let plain = fusion.facts(reader)?.reads_plainly(number);
                let last = |input: &Input| {
                    input.positions(&nest.ranges()).map_or(0, |at| at.get(dim).map_or(size, |at| at.last + 1))
                };
                let other = |i: &Option<Outside>| *i == Some(Outside::Operand(operand));
                let whole =
                    nest.inputs.iter().any(|i| other(&i.outside)) || nest.init.contains(&Init::Operand(operand));
                let read = nest.inputs.iter().filter(|i| i.operand == operand).map(last).max();
                (plain && !whole).then_some(read.unwrap_or(0))
            };
            uses.get(value).iter().map(|reader| by(reader).unwrap_or(size).min(size)).max().unwrap_or(0)
        };
        program.results(op).map(read).max().unwrap_or(0).max(0) as usize
    }

    /// Lowers a kernel without machine code: the reference evaluator evaluates its ops one after the other.
    fn interpret(&mut self, op: Op, results: Vec<Slot>) -> Result<Step, Diagnostic> {
        let fusion = &self.buffers.fusion;
        let mut operands = Vec::new();
        for source in fusion.reads(self.program, op) {
            operands.push((source.value, self.slot(source.value)?));
        }
        let (mut ops, mut seen) = (Vec::new(), FxHashSet::default());
        self.producers(op, &mut seen, &mut ops);
        Ok(Step::Interpret { ops, operands, results })
    }

    /// Appends the ops folded into `reader`, producers first, then `reader`.
    fn producers(&self, reader: Op, seen: &mut FxHashSet<Op>, ops: &mut Vec<Op>) {
        for &value in &self.program.op(reader).operands {
            if let ValueSource::Result(producer, _) = self.program.value_source(value)
                && self.buffers.fusion.is_folded(producer)
                && seen.insert(producer)
            {
                self.producers(producer, seen, ops);
            }
        }
        ops.push(reader);
    }
}
