//! The per-device program as steps: what is stored, in which slot, computed by what.

use std::sync::Arc;

use dialect::diagnostic::Diagnostic;
use dialect::ir::{Block, ElementType, Op, Program, Value, ValueSource};
use dialect::kernel::{External, Inst, Kernel, Nest};
use dialect::op::Control;
use dialect::scalar::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::arith;
use super::emit::{emit, storage};
use super::fuse::fuse;
use super::step::{ConstantSlot, Slot, SlotData, Step};
use crate::collective::Plan;
use crate::gemm::Gemm;

/// A program as steps, before machine code.
#[derive(Default)]
pub(super) struct Lowered {
    /// The steps of `@main`.
    pub steps: Vec<Step>,
    /// All slots.
    pub slots: Vec<SlotData>,
    /// Arguments' slots.
    pub arguments: Vec<Slot>,
    /// Results' slots.
    pub results: Vec<Slot>,
    /// Constants the arena starts with.
    pub constants: Vec<ConstantSlot>,
    /// MLIR text of each distinct kernel: functions `k0`, `k1`, ….
    pub kernels: Vec<String>,
    /// Matrix products.
    pub gemms: Vec<Gemm>,
    /// Collectives.
    pub collectives: Vec<Plan>,
}

/// Lowers `@main`'s block.
pub(super) fn lower(program: &Program, block: Block, devices: usize) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering {
        program,
        devices,
        out: Lowered::default(),
        slots: FxHashMap::default(),
        texts: FxHashMap::default(),
        position: 0,
        uses: Vec::new(),
        defined: Vec::new(),
    };
    for &arg in program.block_args(block) {
        let slot = lowering.slot(arg)?;
        lowering.out.arguments.push(slot);
    }
    let mut steps = Vec::new();
    let returned = lowering.block(block, &mut steps)?;
    lowering.position += 1;
    for v in returned {
        let slot = lowering.read(v, &mut steps)?;
        lowering.out.results.push(slot);
    }
    // Arguments, constants and results stay where the caller finds them.
    let end = lowering.position;
    let mut out = lowering.out;
    for slot in out.arguments.iter().chain(&out.results).chain(out.constants.iter().map(|c| &c.slot)) {
        out.slots[slot.0 as usize].live = (0, end + 1);
    }
    out.steps = steps;
    Ok(out)
}

struct Lowering<'a> {
    program: &'a Program,
    devices: usize,
    out: Lowered,
    slots: FxHashMap<Value, Slot>,
    /// Kernels by their text.
    texts: FxHashMap<String, usize>,
    position: u32,
    /// Slots used, in order: for loops to keep alive what they read.
    uses: Vec<Slot>,
    defined: Vec<u32>,
}

impl Lowering<'_> {
    fn new_slot(&mut self, element: ElementType, shape: &[i64]) -> Slot {
        let bytes = shape.iter().product::<i64>().max(0) as usize * element.bytes();
        let live = (self.position, self.position);
        self.out.slots.push(SlotData { element, shape: shape.into(), bytes, offset: 0, live });
        self.defined.push(self.position);
        Slot((self.out.slots.len() - 1) as u32)
    }

    /// The slot of a value defined now.
    fn slot(&mut self, value: Value) -> Result<Slot, Diagnostic> {
        let Some(t) = self.program.tensor_type(value).filter(|t| t.is_static() && t.element.bytes() > 0).cloned()
        else {
            let span = self.program.value_span(value);
            let ty = self.program.type_text(self.program.value_type(value));
            return Err(Diagnostic::error("run", span, format!("values of type {ty} can't be run natively"))
                .note("run it with --interpret"));
        };
        let slot = self.new_slot(t.element, &t.shape);
        self.slots.insert(value, slot);
        Ok(slot)
    }

    fn touch(&mut self, slot: Slot) {
        let data = &mut self.out.slots[slot.0 as usize];
        data.live.1 = data.live.1.max(self.position);
        self.uses.push(slot);
    }

    /// The slot that holds `value`; a constant gets one when it is first read.
    fn read(&mut self, value: Value, _steps: &mut Vec<Step>) -> Result<Slot, Diagnostic> {
        if let Some(&slot) = self.slots.get(&value) {
            self.touch(slot);
            return Ok(slot);
        }
        if let ValueSource::Result(op, _) = self.program.value_source(value) {
            let view = self.program.view(op);
            if let Some(literal) = view.def().constant(view) {
                let slot = self.new_slot(literal.element, &literal.shape);
                self.out.constants.push(ConstantSlot { slot, value: Arc::new(literal.clone()) });
                self.slots.insert(value, slot);
                self.touch(slot);
                return Ok(slot);
            }
        }
        Err(Diagnostic::error("run", self.program.value_span(value), "a value is read before it is computed"))
    }

    /// The steps of a block; gives its terminator's operands.
    fn block(&mut self, block: Block, steps: &mut Vec<Step>) -> Result<Vec<Value>, Diagnostic> {
        let ops = self.program.block_ops(block).to_vec();
        let Some((&last, body)) = ops.split_last() else { return Ok(Vec::new()) };
        let stored = self.stored(block, last);
        let fusion = fuse(self.program, block, &|v| stored.contains(&v), &|op, nest| self.is_native(op, nest));
        for &op in body {
            if fusion.folded.contains(&op) {
                continue;
            }
            self.position += 1;
            match fusion.kernels.get(&op) {
                Some(kernel) => {
                    let mut slots = Vec::new();
                    for (value, ..) in &kernel.buffers {
                        slots.push(self.read(*value, steps)?);
                    }
                    for v in self.program.results(op) {
                        slots.push(self.slot(v)?);
                    }
                    let mut text = String::new();
                    emit(kernel, "@", &mut text);
                    let next = self.texts.len();
                    let id = *self.texts.entry(text).or_insert_with_key(|text| {
                        self.out.kernels.push(text.replacen("@@", &format!("@k{next}"), 1));
                        next
                    });
                    steps.push(Step::Kernel { kernel: id, slots });
                }
                None => self.op(op, steps)?,
            }
        }
        Ok(self.program.op(last).operands.to_vec())
    }

    /// Values of a block that must be in memory: its terminator's operands, and what regions inside read.
    fn stored(&self, block: Block, last: Op) -> FxHashSet<Value> {
        let mut stored: FxHashSet<Value> = self.program.op(last).operands.iter().copied().collect();
        for &op in self.program.block_ops(block) {
            for &region in &self.program.op(op).regions {
                for &inner in self.program.region_blocks(region) {
                    self.program.walk(inner, &mut |o| stored.extend(self.program.op(o).operands.iter().copied()));
                }
            }
        }
        stored
    }

    fn is_native(&self, op: Op, nest: &Nest) -> bool {
        let program = self.program;
        let known = |v: Value| program.tensor_type(v).is_some_and(|t| t.is_static() && storage(t.element).is_some());
        let values = program.op(op).operands.iter().copied().chain(program.results(op));
        if !values.into_iter().all(known) {
            return false;
        }
        nest.body.insts.iter().all(|inst| match inst {
            Inst::Const(_, ty) | Inst::Index(_, ty) => storage(*ty).is_some(),
            Inst::Op { op, args, ty } => {
                let from = match (op, args.first()) {
                    (ScalarOp::Select, _) => *ty,
                    (_, Some(&a)) => nest.body.arg_type(a),
                    _ => *ty,
                };
                arith::is_supported(*op, from, *ty)
            }
        })
    }

    fn op(&mut self, op: Op, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let view = self.program.view(op);
        let def = view.def();
        if def.constant(view).is_some() {
            // Read when needed.
            return Ok(());
        }
        if let Some(control) = def.control(view) {
            return self.control(op, control, steps);
        }
        let mut operands = Vec::new();
        for v in self.program.op(op).operands.clone() {
            operands.push(self.read(v, steps)?);
        }
        let mut results = Vec::new();
        for v in self.program.results(op) {
            results.push(self.slot(v)?);
        }
        let step = match def.kernel(view) {
            Kernel::External(kind @ (External::PartitionId | External::ReplicaId)) => {
                Step::DeviceId { kind, out: results[0] }
            }
            Kernel::External(External::Collective) => {
                let Some(collective) = def.collective(view) else {
                    return Err(Diagnostic::error("run", view.span(), "a collective without groups"));
                };
                let plan = |v| {
                    let t = self.program.tensor_type(v);
                    t.map(|t| Plan::new(&collective, t.element, &t.shape, self.devices)).filter(Plan::is_supported)
                };
                let first = self.out.collectives.len();
                for &v in &self.program.op(op).operands {
                    let Some(plan) = plan(v) else {
                        let message = format!("the region of '{}' is more than scalar arithmetic", view.name());
                        return Err(Diagnostic::error("run", view.span(), message).note("run it with --interpret"));
                    };
                    self.out.collectives.push(plan);
                }
                // Several operands are as many exchanges.
                for (i, (&from, &to)) in operands.iter().zip(&results).enumerate() {
                    steps.push(Step::Collective { collective: first + i, from, to });
                }
                return Ok(());
            }
            Kernel::Nest(_) if Gemm::of(view).is_some() => {
                self.out.gemms.extend(Gemm::of(view));
                Step::Gemm { gemm: self.out.gemms.len() - 1, lhs: operands[0], rhs: operands[1], out: results[0] }
            }
            Kernel::Control => {
                let message = format!("'{}' can't be run natively", view.name());
                return Err(Diagnostic::error("run", view.span(), message).note("run it with --interpret"));
            }
            _ => Step::Interpret { op, operands, results },
        };
        steps.push(step);
        Ok(())
    }

    fn control(&mut self, op: Op, control: Control, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let view = self.program.view(op);
        let operands = self.program.op(op).operands.clone();
        match control {
            Control::Identity => {
                for (v, r) in operands.iter().zip(self.program.results(op)) {
                    let from = self.read(*v, steps)?;
                    let to = self.slot(r)?;
                    steps.push(Step::Copy { from, to });
                }
                Ok(())
            }
            Control::While => {
                // The results' slots are the carried values.
                let mut carried = Vec::new();
                for (v, r) in operands.iter().zip(self.program.results(op)) {
                    let from = self.read(*v, steps)?;
                    let to = self.slot(r)?;
                    steps.push(Step::Copy { from, to });
                    carried.push(to);
                }
                let (Some(condition_block), Some(body_block)) = (view.block(0), view.block(1)) else {
                    return Err(Diagnostic::error("run", view.span(), "a loop without condition or body"));
                };
                let (start, mark) = (self.position + 1, self.uses.len());
                self.bind(condition_block, &carried);
                let mut condition = Vec::new();
                let predicate = self.block(condition_block, &mut condition)?;
                self.position += 1;
                let Some(&predicate) = predicate.first() else {
                    return Err(Diagnostic::error("run", view.span(), "a loop whose condition gives nothing"));
                };
                let predicate = self.read(predicate, &mut condition)?;
                self.bind(body_block, &carried);
                let mut body = Vec::new();
                let next = self.block(body_block, &mut body)?;
                self.position += 1;
                self.assign(&next, &carried, &mut body)?;
                carried.iter().for_each(|&s| self.touch(s));
                self.keep_alive(start, mark);
                steps.push(Step::While { condition, predicate, body });
                Ok(())
            }
            Control::If | Control::Case => {
                let index = self.read(operands[0], steps)?;
                let mut results = Vec::new();
                for r in self.program.results(op) {
                    results.push(self.slot(r)?);
                }
                let mut branches = Vec::new();
                for i in 0..self.program.op(op).regions.len() {
                    let Some(block) = view.block(i) else { continue };
                    let mut branch = Vec::new();
                    let given = self.block(block, &mut branch)?;
                    self.position += 1;
                    self.assign(&given, &results, &mut branch)?;
                    branches.push(branch);
                }
                results.iter().for_each(|&s| self.touch(s));
                steps.push(Step::Branch { index, branches });
                Ok(())
            }
            Control::Call | Control::Manual | Control::Inline => {
                let message = format!("'{}' must be inlined before the program is run", view.name());
                Err(Diagnostic::error("run", view.span(), message)
                    .note("run the passes import, plan and partition before"))
            }
        }
    }

    fn bind(&mut self, block: Block, slots: &[Slot]) {
        for (&arg, &slot) in self.program.block_args(block).iter().zip(slots) {
            self.slots.insert(arg, slot);
        }
    }

    /// Copies `values` to `targets` as if all at once: what is both read and written goes through a slot of its own.
    fn assign(&mut self, values: &[Value], targets: &[Slot], steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let mut moves = Vec::new();
        for (&v, &to) in values.iter().zip(targets) {
            let from = self.read(v, steps)?;
            if from != to {
                moves.push((from, to));
            }
        }
        let written: FxHashSet<Slot> = moves.iter().map(|m| m.1).collect();
        for (from, _) in &mut moves {
            if written.contains(from) {
                let data = &self.out.slots[from.0 as usize];
                let (element, shape) = (data.element, data.shape.clone());
                let copy = self.new_slot(element, &shape);
                self.touch(copy);
                steps.push(Step::Copy { from: *from, to: copy });
                *from = copy;
            }
        }
        self.position += 1;
        for (from, to) in moves {
            self.touch(from);
            self.touch(to);
            steps.push(Step::Copy { from, to });
        }
        Ok(())
    }

    /// What was there before a loop began and is used in it stays alive to the loop's end.
    fn keep_alive(&mut self, start: u32, mark: usize) {
        for i in mark..self.uses.len() {
            let slot = self.uses[i].0 as usize;
            if self.defined[slot] < start {
                let live = &mut self.out.slots[slot].live;
                live.1 = live.1.max(self.position);
            }
        }
    }
}
