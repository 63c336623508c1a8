//! Lowers the per-device program to steps over the buffers of its plan: each op becomes a kernel, a product, a
//! collective or another kind of step.

mod accumulate;
mod together;

use std::sync::Arc;

use dialect::buffers::{BufferId, Buffers, Move};
use dialect::codes;
use dialect::collective::{CollectiveKind, Ragged};
use dialect::diagnostic::Diagnostic;
use dialect::id::TiVec;
use dialect::ir::{Block, ElementType, Op, Program, Shape, Uses, Value, ValueSource};
use dialect::kernel::{External, Init, Input, Kernel, Outside};
use dialect::op::Control;
use dialect::ops::func;
use dialect::sharding::Layout;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::together::Waiting;
use super::chain::{self, Parts, Ranges};
use super::common::{self, Common};
use super::emit::{Target, emit};
use super::exchange::reduced;
use super::fuse::{Part, build, nest_of};
use super::fused::Fused;
use super::panels::Panels;
use super::routine;
use super::shared::{SharedPanels, Sharing};
use super::step::{self, ConstantSlot, Slot, SlotData, Step, Steps};
use crate::collective::Plan;
use crate::jit::KernelFn;
use crate::kernels::gemm::{Gemm, Packed};
use crate::kernels::native::{self, Native, Routine, Times};
use crate::kernels::window;

/// The name of the function in the text of every kernel. It is replaced by a distinct name before compilation.
pub(super) const KERNEL: &str = "kernel";

/// A program as steps, before its kernels are compiled to machine code.
#[derive(Default)]
pub(super) struct Lowered {
    /// The steps of `@main`.
    pub steps: Steps,
    /// All slots.
    pub slots: TiVec<Slot, SlotData>,
    /// Slots of the arguments.
    pub arguments: Vec<Slot>,
    /// Slots of the results.
    pub results: Vec<Slot>,
    /// The constants that each device's memory is initialized with.
    pub constants: Vec<ConstantSlot>,
    /// Constants that are all zeros. They need no initialization, because the memory is zeros at first.
    pub zeros: FxHashSet<Slot>,
    /// MLIR text of each distinct kernel, a function [`KERNEL`].
    pub kernels: Vec<String>,
    /// For each kernel that takes a range of its outermost loop, the ranges into which it is divided.
    pub ranges: Vec<Option<Ranges>>,
    /// Matrix products.
    pub gemms: Vec<Gemm>,
    /// Matrix products by rows.
    pub products: Vec<Packed>,
    /// Panels that devices share.
    pub shared_panels: Vec<SharedPanels>,
    /// The size of a device's memory in bytes: the plan's memory, followed by the panels of right operands.
    pub bytes: usize,
    /// Native code other than compiled kernels.
    pub natives: Vec<Computation>,
    /// Collectives.
    pub collectives: Vec<Plan>,
    /// For each collective that combines elements by compiled code: its number, the routine, and the number of its
    /// kernel.
    pub combiners: Vec<(usize, Routine, usize)>,
    /// The op of each collective.
    pub collective_ops: Vec<Op>,
    /// Memory that the devices of a group share.
    pub commons: Vec<Common>,
    /// Kernels of several ops, by the op of the step.
    pub shared: FxHashMap<Op, SharedKernel>,
}

/// A kernel of several ops, in addition to the op that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedKernel {
    /// The other ops.
    pub others: Vec<Op>,
    /// Bytes of all tensors that the kernel reads and writes, each counted once.
    pub bytes: usize,
}

/// A computation by native code.
pub(super) struct Computation {
    /// The code.
    pub computation: Box<dyn Native>,
    /// The operands that become results; see [`External::in_place`].
    pub in_place: SmallVec<[(usize, usize); 2]>,
    /// The kernels of its [routines](Native::routines).
    pub routines: Vec<usize>,
}

impl Lowered {
    /// Replaces each op in `of` by the op that it was generated from, for callers that know only the original program.
    pub(super) fn name(&mut self, of: &FxHashMap<Op, Op>) {
        step::name(&mut self.steps, of);
        let named = |op: Op| of.get(&op).copied().unwrap_or(op);
        for (op, SharedKernel { others, bytes }) in std::mem::take(&mut self.shared) {
            self.shared.insert(named(op), SharedKernel { others: others.into_iter().map(named).collect(), bytes });
        }
    }

    /// Links native code and collectives to their routines, once kernels are compiled.
    pub(super) fn link(&mut self, kernels: &[KernelFn]) {
        for Computation { computation, routines, .. } in &mut self.natives {
            let compiled = computation.routines().into_iter().filter(|r| r.compiles());
            compiled.zip(routines).for_each(|(routine, &mut kernel)| routine.link(kernels[kernel].clone()));
        }
        for (collective, mut routine, kernel) in self.combiners.drain(..) {
            routine.link(kernels[kernel].clone());
            self.collectives[collective].link(routine::combiner(routine));
        }
    }
}

/// Lowers `@main`'s block.
pub(super) fn lower(
    program: &Program,
    buffers: &Buffers,
    block: Block,
    (arguments, devices): (&[Layout], usize),
    target: Target,
) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering {
        target,
        program,
        main: block,
        uses: None,
        buffers,
        devices,
        out: Lowered::default(),
        slots: FxHashMap::default(),
        texts: FxHashMap::default(),
        alone: None,
        common: FxHashMap::default(),
    };
    for (i, &arg) in program.block_args(block).iter().enumerate() {
        let slot = lowering.slot(arg)?;
        lowering.out.arguments.push(slot);
        lowering.hold_argument(i, arguments.get(i));
    }
    for &(op, _) in &buffers.constants {
        let view = program.view(op);
        let Some(literal) = view.def().constant(view) else { continue };
        let slot = lowering.slot(program.result(op, 0))?;
        if literal.is_empty() || literal.stored_bytes().iter().all(|&byte| byte == 0) {
            lowering.out.zeros.insert(slot);
        } else {
            lowering.out.constants.push(ConstantSlot { slot, value: Arc::new(literal.clone()) });
        }
    }
    let mut steps = Vec::new();
    let returned = lowering.block(block, &mut steps)?;
    for v in returned {
        let slot = lowering.slot(v)?;
        lowering.out.results.push(slot);
    }
    let mut out = lowering.out;
    let mut panels = Panels::new(buffers.bytes());
    let mut steps = chain::join(
        steps,
        &mut Parts { kernels: &out.ranges, gemms: &out.gemms, slots: &mut out.slots, panels: &mut panels },
        target,
    );
    let mut sharing = Sharing {
        gemms: &out.gemms,
        arguments: out.arguments.iter().filter_map(|&a| Some((out.slots[a].common?, out.slots[a].offset))).collect(),
        products: &mut panels,
        slots: &mut out.slots,
        commons: &mut out.commons,
        panels: Vec::new(),
        least: &target.tuning.panels,
    };
    sharing.share(&mut steps);
    out.shared_panels = sharing.panels;
    out.steps = panels.keep(steps, &out.gemms, &mut out.slots);
    (out.bytes, out.products) = panels.end();
    Ok(out)
}

struct Lowering<'a> {
    program: &'a Program,
    /// `@main`'s block.
    main: Block,
    /// The users of each value; computed on first use.
    uses: Option<Uses>,
    buffers: &'a Buffers,
    devices: usize,
    /// The settings for which kernels are written.
    target: Target,
    out: Lowered,
    /// Slots by buffer and by the type stored in it.
    slots: FxHashMap<(BufferId, ElementType, Shape), Slot>,
    /// Kernels by their text.
    texts: FxHashMap<String, usize>,
    /// Buffers of one value each; computed on first use.
    alone: Option<FxHashSet<BufferId>>,
    /// The buffers of arguments that devices share, with the number of the [`Common`] that holds each.
    common: FxHashMap<BufferId, usize>,
}

impl Lowering<'_> {
    /// Returns the slot of a value that is stored in memory.
    fn slot(&mut self, value: Value) -> Result<Slot, Diagnostic> {
        let span = self.program.value_span(value);
        let Some(t) = self.program.tensor_type(value).filter(|t| t.is_static() && t.element.bytes() > 0) else {
            let ty = self.program.type_text(self.program.value_type(value));
            return Err(Diagnostic::error(
                codes::NO_NATIVE_FORM,
                span,
                format!("native execution doesn't support values of type {ty}"),
            )
            .note("run the program with --interpret"));
        };
        let Some(buffer) = self.buffers.get(value) else {
            return Err(Diagnostic::error(codes::MALFORMED_PROGRAM, span, "a value is read before it is computed"));
        };
        Ok(self.slot_of(buffer, t.element, t.shape.clone()))
    }

    fn slot_of(&mut self, buffer: BufferId, element: ElementType, shape: Shape) -> Slot {
        let slots = &mut self.out.slots;
        let (offset, common) = (self.buffers.buffer(buffer).offset, self.common.get(&buffer).copied());
        *self.slots.entry((buffer, element, shape)).or_insert_with_key(|(_, element, shape)| {
            let bytes = shape.iter().product::<i64>().max(0) as usize * element.bytes();
            let shape = shape.clone();
            slots.push_and_get_key(SlotData { element: *element, shape, bytes, offset, common })
        })
    }

    /// Stores argument `i` in memory of the devices that have the same shard, if nothing ever writes there. A donated
    /// argument may be overwritten.
    fn hold_argument(&mut self, i: usize, layout: Option<&Layout>) {
        let (program, main) = (self.program, func::function(self.program, "main"));
        let (slot, argument) = (self.out.arguments[i], program.block_args(self.main)[i]);
        let buffer = self.buffers.get(argument);
        if let (Some(layout), Some(main), Some(buffer)) = (layout, main, buffer)
            && !func::is_donated(program, main, i)
            && self.out.slots[slot].bytes >= self.target.tuning.argument_bytes
        {
            let slot = &mut self.out.slots[slot];
            common::hold_argument(&mut self.out.commons, layout, self.devices, slot);
            self.common.extend(slot.common.map(|common| (buffer, common)));
        }
    }

    /// Stores the result of a collective in memory of its groups if possible.
    fn hold_in_common(&mut self, plan: &Plan, value: Value, slot: Slot) {
        let (program, buffers, main) = (self.program, self.buffers, self.main);
        let alone = self.alone.get_or_insert_with(|| common::alone(program, buffers, main));
        if buffers.get(value).is_some_and(|id| alone.contains(&id)) {
            common::hold(&mut self.out.commons, plan, self.devices, &mut self.out.slots[slot]);
        }
    }

    fn slots_of(&mut self, values: impl IntoIterator<Item = Value>) -> Result<Vec<Slot>, Diagnostic> {
        values.into_iter().map(|v| self.slot(v)).collect()
    }

    /// Lowers a block and returns the operands of its terminator.
    fn block(&mut self, block: Block, steps: &mut Steps) -> Result<Vec<Value>, Diagnostic> {
        let (program, fusion) = (self.program, &self.buffers.fusion);
        let Some((&last, body)) = program.block_ops(block).split_last() else { return Ok(Vec::new()) };
        let mut done = None;
        let mut waiting = Waiting::default();
        for (i, &op) in body.iter().enumerate() {
            let view = program.view(op);
            // Constants are in memory from the start.
            let nothing = fusion.is_folded(op) || view.def().constant(view).is_some() || view.gives_scalars();
            if done == Some(op) || nothing {
                continue;
            }
            let mut own = Vec::new();
            if let Some((reader, step)) = self.reduced_exchange(op, &body[i + 1..])? {
                done = Some(reader);
                own.push(step);
            } else if let Some(control) = view.def().control(view) {
                self.control(op, control, &mut own)?;
            } else if let Some(facts) = fusion.facts(op).filter(|f| f.compiled) {
                let windowed = facts.product || !facts.windowed.is_empty();
                let nest = if windowed { nest_of(program, op) } else { None };
                // An operand that is folded into its user isn't in memory.
                let whole = |code: &window::Code| {
                    let operands = &program.op(op).operands;
                    code.operands.iter().all(|&i| self.buffers.get(operands[i]).is_some())
                };
                match nest.and_then(|nest| window::of(view, &nest)).filter(whole) {
                    Some(code) => own.push(self.windowed(op, code)?),
                    None if waiting.is_empty()
                        && let Some(step) = self.accumulated(op, steps)? =>
                    {
                        own.push(step)
                    }
                    None => {
                        let Some(nest) = nest_of(program, op) else { continue };
                        match window::Running::of(view, &nest) {
                            Some(running) => own.push(self.scan(op, running)?),
                            None => {
                                self.wait(op, nest, &mut waiting, steps)?;
                                continue;
                            }
                        }
                    }
                }
            } else {
                self.op(op, &mut own)?;
            }
            self.write_all(&mut waiting, steps);
            steps.extend(own.into_iter().map(|step| (op, step)));
        }
        self.write_all(&mut waiting, steps);
        Ok(program.op(last).operands.to_vec())
    }

    /// Lowers an all_to_all together with the op that combines its pieces, if no other op reads them. Also returns the
    /// combining op.
    fn reduced_exchange(&mut self, op: Op, behind: &[Op]) -> Result<Option<(Op, Step)>, Diagnostic> {
        let program = self.program;
        let uses = self.uses.get_or_insert_with(|| Uses::of(program, self.main));
        let readers = |value: Value| uses.get(value).len();
        let found = reduced(program, &self.buffers.fusion, op, behind, readers);
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
    fn scan(&mut self, op: Op, running: window::Running) -> Result<Step, Diagnostic> {
        let mut kernel = build(self.program, &self.buffers.fusion, &[Part::alone(op, running.nest)]);
        kernel.scan = Some((running.dim, running.backward));
        let slots = self.slots_of_kernel(&mut kernel, &self.program.results(op).collect::<Vec<_>>())?;
        Ok(self.written(&kernel, slots))
    }

    /// Returns the slots of a kernel with these results. Results that share a buffer with an operand overwrite it in
    /// place.
    fn slots_of_kernel(&mut self, kernel: &mut Fused, results: &[Value]) -> Result<Vec<Slot>, Diagnostic> {
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
    fn written(&mut self, kernel: &Fused, slots: Vec<Slot>) -> Step {
        let mut text = String::new();
        let ranges = emit(kernel, KERNEL, self.target, &mut text);
        Step::Kernel { kernel: self.compiled(text, ranges), slots }
    }

    fn op(&mut self, op: Op, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
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
    fn windowed(&mut self, op: Op, code: window::Code) -> Result<Step, Diagnostic> {
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
        let program = self.program;
        let uses = self.uses.get_or_insert_with(|| Uses::of(program, self.main));
        let read = |value: Value| {
            let size = program.tensor_type(value).and_then(|t| t.shape.get(dim).copied()).unwrap_or(0);
            let by = |&(reader, number): &(Op, u32)| {
                let operand = number as usize;
                let nest = nest_of(program, reader)?;
                let plain = self.buffers.fusion.facts(reader)?.reads_plainly(number);
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

    fn copies(&mut self, moves: Option<&Vec<Move>>) -> Vec<Step> {
        let mut steps = Vec::new();
        for &(from, to) in moves.into_iter().flatten() {
            let mut slot = |id: BufferId| {
                let buffer = self.buffers.buffer(id);
                self.slot_of(id, buffer.element, buffer.shape.clone())
            };
            let (from, to) = (slot(from), slot(to));
            steps.push(Step::Copy { from, to });
        }
        steps
    }

    fn control(&mut self, op: Op, control: Control, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let (program, buffers) = (self.program, self.buffers);
        let view = program.view(op);
        match control {
            // Its results share the operands' buffers, but for those in another memory.
            Control::Identity => {
                steps.extend(self.copies(buffers.before.get(&op)));
                Ok(())
            }
            Control::While => {
                // Checks the results first, because values of unsupported types give a better error here than inside
                // the loop.
                self.slots_of(program.results(op))?;
                steps.extend(self.copies(buffers.before.get(&op)));
                let (Some(condition_block), Some(body_block)) = (view.block(0), view.block(1)) else {
                    return Err(Diagnostic::error(
                        codes::MALFORMED_PROGRAM,
                        view.span(),
                        "a loop has no condition or no body",
                    ));
                };
                let mut condition = Vec::new();
                let predicate = self.block(condition_block, &mut condition)?;
                let Some(&predicate) = predicate.first() else {
                    return Err(Diagnostic::error(
                        codes::MALFORMED_PROGRAM,
                        view.span(),
                        "the condition of a loop returns no value",
                    ));
                };
                let predicate = self.slot(predicate)?;
                let mut body = Vec::new();
                self.block(body_block, &mut body)?;
                body.extend(self.copies(buffers.after.get(&body_block)).into_iter().map(|step| (op, step)));
                steps.push(Step::While { condition, predicate, body });
                Ok(())
            }
            Control::If | Control::Case => {
                let index = self.slot(program.op(op).operands[0])?;
                self.slots_of(program.results(op))?;
                let mut branches = Vec::new();
                for i in 0..program.op(op).regions.len() {
                    let Some(block) = view.block(i) else { continue };
                    let mut branch = Vec::new();
                    self.block(block, &mut branch)?;
                    branch.extend(self.copies(buffers.after.get(&block)).into_iter().map(|step| (op, step)));
                    branches.push(branch);
                }
                steps.push(Step::Branch { index, branches });
                Ok(())
            }
            Control::Call | Control::Manual | Control::Inline => {
                let message = format!("'{}' must be inlined before the program is run", view.name());
                Err(Diagnostic::error(codes::CALL_LEFT, view.span(), message)
                    .note("run the passes import, plan and partition first"))
            }
        }
    }
}
