//! The part of its memory that a device ever writes to. In a program over several meshes, a device runs the branches of
//! its own meshes and has zeros for the values of other meshes, which take no pages.

use std::ops::Range;
use std::rc::Rc;

use dialect::buffers::{BufferId, Buffers, Move};
use dialect::ir::{Block, ElementType, Op, OpRef, Program, Value, ValueSource};
use dialect::kernel::{External, Kernel};
use dialect::literal::Literal;
use dialect::op::Control;
use dialect::scalar::Scalar;
use dialect::sharding::Layout;
use rustc_hash::FxHashMap;

use super::planned::Requirements;
use crate::collective::Plan;
use crate::execute::device::memory::{PAGE, given_back};
use crate::reference::evaluate_op;

/// The maximum number of ops from which a branch's condition is computed.
const MOST_OPS: usize = 32;

/// Returns the bytes that each device writes to; empty if all devices write to the same.
pub(super) fn bytes(program: &Program, block: Block, buffers: &Buffers, of: &Requirements) -> Vec<u64> {
    let differences = Differences::of(program, block, of);
    if differences.is_empty() {
        return Vec::new();
    }
    let mut known: FxHashMap<Vec<usize>, u64> = FxHashMap::default();
    (0..of.devices)
        .map(|device| {
            let key = differences.of_device(device);
            *known.entry(key).or_insert_with(|| Walk::bytes(program, block, buffers, &differences, device))
        })
        .collect()
}

/// The differences between devices.
struct Differences {
    /// The branch that each device takes.
    branches: FxHashMap<Op, Rc<Vec<usize>>>,
    /// The distinct conditions of these branches.
    conditions: Vec<Rc<Vec<usize>>>,
    /// Permutes, each with whether each device receives a value other than zeros.
    permutes: FxHashMap<Op, Vec<usize>>,
    /// For each argument, whether each device has it.
    arguments: Vec<Vec<usize>>,
}

impl Differences {
    fn of(program: &Program, block: Block, of: &Requirements) -> Self {
        let &Requirements { devices, partitions, .. } = of;
        let has = |layout: &Layout| (0..devices).map(|d| usize::from(layout.has(d % partitions))).collect();
        let mut differences = Self {
            branches: FxHashMap::default(),
            conditions: Vec::new(),
            permutes: FxHashMap::default(),
            arguments: of.arguments.iter().map(has).collect(),
        };
        let mut known: FxHashMap<Value, Option<Rc<Vec<usize>>>> = FxHashMap::default();
        let mut permutes = Vec::new();
        program.walk(block, &mut |op| {
            let view = program.view(op);
            match view.def().control(view) {
                Some(control @ (Control::If | Control::Case)) => {
                    let Some(&condition) = view.operands().first() else { return };
                    let regions = program.op(op).regions.len();
                    let chosen = known.entry(condition).or_insert_with(|| {
                        let chosen = choices(program, condition, of).map(Rc::new);
                        differences.conditions.extend(chosen.clone());
                        chosen
                    });
                    if let Some(chosen) = chosen {
                        let of = |&value: &usize| match control {
                            Control::If => usize::from(value == 0),
                            _ => value.min(regions.saturating_sub(1)),
                        };
                        differences.branches.insert(op, Rc::new(chosen.iter().map(of).collect()));
                    }
                }
                _ if view.def().collective(view).is_some() => permutes.push(op),
                _ => {}
            }
        });
        // In programs for one mesh, every device writes to the memory of its plan.
        if differences.conditions.is_empty() && differences.arguments.iter().flatten().all(|&has| has == 1) {
            return differences;
        }
        for op in permutes {
            let view = program.view(op);
            let Some(collective) = view.def().collective(view) else { continue };
            let plan = Plan::new(&collective, ElementType::UI8, &[], devices);
            let gets: Vec<usize> = (0..devices).map(|device| usize::from(!plan.gives_zeros(device))).collect();
            if gets.contains(&0) {
                differences.permutes.insert(op, gets);
            }
        }
        differences
    }

    fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.arguments.iter().flatten().all(|&has| has == 1)
    }

    /// Returns a key that is the same for devices that write to the same number of bytes.
    fn of_device(&self, device: usize) -> Vec<usize> {
        let all = self.conditions.iter().map(|of| of[device]).chain(self.arguments.iter().map(|of| of[device]));
        let mut permutes: Vec<(Op, usize)> = self.permutes.iter().map(|(&op, of)| (op, of[device])).collect();
        permutes.sort_unstable();
        all.chain(permutes.into_iter().map(|entry| entry.1)).collect()
    }
}

/// Returns the value on each device of a condition that depends only on the device's number; `usize::MAX` if the value
/// is out of range. Returns `None` for other conditions.
fn choices(program: &Program, condition: Value, of: &Requirements) -> Option<Vec<usize>> {
    let mut ops = Vec::new();
    slice(program, condition, &mut ops)?;
    let number = |op: Op, device: usize| match kind(program.view(op)) {
        Some(External::PartitionId) => Some(device % of.partitions),
        Some(External::ReplicaId) => Some(device / of.partitions),
        _ => None,
    };
    if !ops.iter().any(|&op| number(op, 0).is_some()) {
        return None;
    }
    let of_device = |device: usize| -> Option<usize> {
        let mut known: FxHashMap<Value, Literal> = FxHashMap::default();
        for &op in &ops {
            let view = program.view(op);
            if let Some(number) = number(op, device) {
                let number = Literal::from_scalars(ElementType::UI32, &[], [Scalar::Int(number as i128)]);
                known.insert(program.result(op, 0), number);
            } else if let Some(constant) = view.def().constant(view) {
                known.insert(program.result(op, 0), constant.clone());
            } else {
                let operands: Option<Vec<Literal>> = view.operands().iter().map(|v| known.get(v).cloned()).collect();
                let values = evaluate_op(program, op, &operands?).ok()?;
                known.extend(program.results(op).zip(values));
            }
        }
        Some(match known.get(&condition)?.get(0) {
            Scalar::Int(value) => usize::try_from(value).unwrap_or(usize::MAX),
            _ => return None,
        })
    };
    (0..of.devices).map(of_device).collect()
}

fn kind(view: OpRef<'_>) -> Option<External> {
    match view.def().kernel(view) {
        Kernel::External(external) => Some(external),
        _ => None,
    }
}

/// Appends the ops that compute a value, producers first. Returns `None` if there are more than [`MOST_OPS`], or if an
/// op has regions, has side effects or is a collective.
fn slice(program: &Program, value: Value, ops: &mut Vec<Op>) -> Option<()> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    if ops.contains(&op) {
        return Some(());
    }
    let data = program.op(op);
    let view = program.view(op);
    if ops.len() >= MOST_OPS || !data.regions.is_empty() || view.def().side_effect(view) {
        return None;
    }
    if view.def().collective(view).is_some() {
        return None;
    }
    for &operand in &data.operands {
        slice(program, operand, ops)?;
    }
    ops.push(op);
    Some(())
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Touch {
    Nothing,
    /// Zeros, which are written only where the range is small.
    Zeros,
    Values,
}

/// A walk over the ops that one device runs.
struct Walk<'a> {
    program: &'a Program,
    buffers: &'a Buffers,
    differences: &'a Differences,
    device: usize,
    touch: FxHashMap<BufferId, Touch>,
    /// The buffers of constants that are zeros.
    zeros: Vec<BufferId>,
}

impl<'a> Walk<'a> {
    fn bytes(
        program: &'a Program,
        block: Block,
        buffers: &'a Buffers,
        differences: &'a Differences,
        device: usize,
    ) -> u64 {
        let (touch, zeros) = (FxHashMap::default(), Vec::new());
        let mut walk = Self { program, buffers, differences, device, touch, zeros };
        for &(op, buffer) in &buffers.constants {
            let view = program.view(op);
            let is_zero = view.def().constant(view).is_some_and(|l| l.stored_bytes().iter().all(|&byte| byte == 0));
            if is_zero {
                walk.zeros.push(buffer);
            } else {
                walk.mark(buffer, Touch::Values);
            }
        }
        walk.zeros.sort_unstable();
        for (&argument, has) in program.block_args(block).iter().zip(&differences.arguments) {
            walk.value(argument, if has[device] == 1 { Touch::Values } else { Touch::Zeros });
        }
        walk.block(block);
        walk.total()
    }

    fn mark(&mut self, buffer: BufferId, touch: Touch) {
        let before = self.touch.entry(buffer).or_insert(Touch::Nothing);
        *before = touch.max(*before);
    }

    fn value(&mut self, value: Value, touch: Touch) {
        if let Some(buffer) = self.buffers.get(value) {
            self.mark(buffer, touch);
        }
    }

    fn moves(&mut self, moves: Option<&Vec<Move>>) {
        for &(from, to) in moves.into_iter().flatten() {
            let zeros = self.zeros.binary_search(&from).is_ok();
            self.mark(to, if zeros { Touch::Zeros } else { Touch::Values });
        }
    }

    fn block(&mut self, block: Block) {
        let (program, buffers) = (self.program, self.buffers);
        for &op in program.block_ops(block) {
            let view = program.view(op);
            if view.def().terminator() || view.def().constant(view).is_some() {
                continue;
            }
            self.moves(buffers.before.get(&op));
            let chosen = self.differences.branches.get(&op).map(|of| of[self.device]);
            if let Some(block) = chosen.and_then(|chosen| view.block(chosen)) {
                // The branch has stored its results in their buffers.
                self.block(block);
                continue;
            }
            let gets = self.differences.permutes.get(&op).is_none_or(|of| of[self.device] == 1);
            for result in program.results(op) {
                self.value(result, if gets { Touch::Values } else { Touch::Zeros });
            }
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    program.block_args(inner).iter().for_each(|&arg| self.value(arg, Touch::Values));
                    self.block(inner);
                }
            }
        }
        self.moves(buffers.after.get(&block));
    }

    /// Returns the bytes of all pages that are written to.
    fn total(&self) -> u64 {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (&buffer, &touch) in &self.touch {
            let buffer = self.buffers.buffer(buffer);
            let all = buffer.offset..buffer.offset + buffer.bytes;
            match (touch, given_back(all.clone())) {
                (Touch::Nothing, _) => {}
                (Touch::Zeros, Some(free)) => ranges.extend([all.start..free.start, free.end..all.end]),
                _ => ranges.push(all),
            }
        }
        let page = if self.buffers.bytes() >= PAGE { PAGE } else { 1 };
        ranges.retain(|range| !range.is_empty());
        ranges.iter_mut().for_each(|range| *range = range.start / page * page..range.end.next_multiple_of(page));
        ranges.sort_unstable_by_key(|range| range.start);
        let (mut bytes, mut end) = (0, 0);
        for range in ranges {
            bytes += range.end.saturating_sub(end.max(range.start)) as u64;
            end = end.max(range.end);
        }
        bytes.min(self.buffers.bytes() as u64)
    }
}
