//! Lowers the per-device program to steps over the buffers of its plan: each op becomes a kernel, a product, a
//! collective or another kind of step. [`planned`] is the plan that this starts from, and [`step`] the steps.

mod control;
mod exchange;
mod host;
mod ops;
pub(super) mod planned;
pub(super) mod step;
mod touched;

use std::sync::Arc;

use dialect::buffers::{BufferId, Buffers};
use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::id::TiVec;
use dialect::ir::{Block, ElementType, Op, Program, Shape, Uses, Value};
use dialect::ops::func;
use dialect::sharding::Layout;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::planned::Requirements;
use self::step::{ConstantSlot, Slot, SlotData, Steps};
use super::codegen::{Target, routine};
use super::fuse::build::nest_of;
use super::fuse::chain::{self, Parts, Ranges};
use super::fuse::common::{self, Common};
use super::fuse::panels::Panels;
use super::fuse::shared::{SharedPanels, Sharing};
use super::fuse::together::Waiting;
use crate::collective::Plan;
use crate::jit::KernelFn;
use crate::kernels::gemm::{Gemm, Packed};
use crate::kernels::native::{Native, Routine};
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
    requirements: &Requirements,
    target: Target,
) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering {
        target,
        program,
        main: block,
        uses: None,
        buffers,
        devices: requirements.devices,
        out: Lowered::default(),
        slots: FxHashMap::default(),
        texts: FxHashMap::default(),
        alone: None,
        common: FxHashMap::default(),
    };
    for (i, &arg) in program.block_args(block).iter().enumerate() {
        let slot = lowering.slot(arg)?;
        lowering.out.arguments.push(slot);
        lowering.hold_argument(i, requirements.arguments.get(i));
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

pub(super) struct Lowering<'a> {
    pub(super) program: &'a Program,
    /// `@main`'s block.
    pub(super) main: Block,
    /// The users of each value; computed on first use.
    uses: Option<Uses>,
    pub(super) buffers: &'a Buffers,
    devices: usize,
    /// The settings for which kernels are written.
    pub(super) target: Target,
    pub(super) out: Lowered,
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
    /// Returns the users of each value.
    pub(super) fn uses(&mut self) -> &Uses {
        self.uses.get_or_insert_with(|| Uses::of(self.program, self.main))
    }

    /// Returns the slot of a value that is stored in memory.
    pub(super) fn slot(&mut self, value: Value) -> Result<Slot, Diagnostic> {
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
}
