//! one-device: runs ops whose results are stated to be on a single device only there, and sends their results to the
//! other devices.
//!
//! Each becomes a manual computation of all axes whose body is a branch: the device runs the op, the others make zeros,
//! and an all_reduce adds them up. So a callback is called once, and random numbers come from one device. Operands of
//! such an op that depend on its device's number (`partition_id`) are computed in the branch; elsewhere in a program
//! about global values that number has no meaning, and `partition` rejects it.

use dialect::collective::MeshAttr;
use dialect::diagnostic::Diagnostics;
use dialect::ir::build::Builder;
use dialect::ir::{Block, ElementType, Op, Program, Renaming, Ty, TypeData, Uses, Value};
use dialect::op::Control;
use dialect::ops::build::collective::Along;
use dialect::ops::stablehlo::transfer::CreateToken;
use dialect::ops::{build, func, sdy};
use dialect::scalar::{Comparison, Scalar, ScalarOp};
use dialect::sharding::{AxisPart, MeshAxes, TensorSharding};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::layouts::main_axes;
use crate::prepare::remove_ops;

/// The pass.
pub(crate) static PASS: crate::Pass = crate::Pass {
    name: "one-device",
    doc: "Makes ops that are annotated with a single device run on that device only, and sends their results to the \
        others.",
    effect: crate::Effect::Rewrite,
    options: &[],
    run: |program, _, diagnostics| one_device(program, diagnostics),
};

fn one_device(program: &mut Program, _: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(block) = func::block(program, main) else { return };
    let (mut found, mut differing) = (Vec::new(), Vec::new());
    find(program, block, &mut found, &mut (FxHashSet::default(), &mut differing));
    let axes = main_axes(program, main, block);
    if found.is_empty() || axes.data.devices() < 2 {
        return;
    }
    let mut wrap = Wrap {
        groups: MeshAttr::new(program, &axes.data),
        axes: &axes,
        channel: crate::partition::first_channel(program, block),
        differing: differing.iter().enumerate().map(|(at, &op)| (op, at)).collect(),
        renamed: FxHashMap::default(),
    };
    let mut made: FxHashMap<Op, Vec<Op>> = FxHashMap::default();
    for (op, device) in found {
        made.extend(wrap.op(program, op, device).map(|ops| (op, ops)));
    }
    for inner in program.blocks_under(block) {
        if program.block_ops(inner).iter().any(|op| made.contains_key(op)) {
            let old = program.block_ops(inner).to_vec();
            let ops = old.into_iter().flat_map(|op| made.remove(&op).unwrap_or_else(|| vec![op])).collect();
            program.set_block_ops(inner, ops);
        }
    }
    let renamed = wrap.renamed;
    program.rename(&renamed);
    remove_unread(program, block, &differing);
}

/// Finds the ops under `block`, outside manual computations, that are on a single device, with that device; and, in
/// order, the ops whose results differ between devices because they depend on the device's number.
fn find(program: &Program, block: Block, found: &mut Vec<(Op, i64)>, differing: &mut (FxHashSet<Value>, &mut Vec<Op>)) {
    for &op in program.block_ops(block) {
        let view = program.view(op);
        let control = view.def().control(view);
        if control == Some(Control::Manual) {
            continue;
        }
        // A replicated value satisfies a constraint; a loop or a branch gives the same result on every device.
        let device = if control.is_none() { device(program, op) } else { None };
        let numbers = view.def().is_device_number();
        if let Some(device) = device {
            found.push((op, device));
        } else if numbers || control.is_none() && view.operands().iter().any(|v| differing.0.contains(v)) {
            differing.0.extend(view.results());
            differing.1.push(op);
        }
        for &inner in program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)) {
            find(program, inner, found, differing);
        }
    }
}

/// Returns the stated device of an op.
fn device(program: &Program, op: Op) -> Option<i64> {
    let shardings = sdy::result_shardings(program.view(op))?;
    let meshes = shardings.iter().filter_map(|s| sdy::resolve(program, &s.mesh)).filter(|m| m.is_maximal());
    let mut devices = meshes.filter_map(|mesh| mesh.device_ids.as_ref()?.first().copied());
    let first = devices.next()?;
    // Stating several devices is an error, which the plan reports.
    devices.all(|other| other == first).then_some(first)
}

struct Wrap<'a> {
    groups: MeshAttr,
    axes: &'a MeshAxes,
    channel: i64,
    /// The ops whose results differ between devices, with their positions in program order.
    differing: FxHashMap<Op, usize>,
    /// Replacements of the results of ops that were wrapped.
    renamed: FxHashMap<Value, Value>,
}

impl Wrap<'_> {
    /// Returns the ops that replace `op`; `None` for an op on values that no collective takes, such as tuples, which is
    /// kept.
    fn op(&mut self, program: &mut Program, op: Op, device: i64) -> Option<Vec<Op>> {
        let inside = self.inside(program, op);
        let read = read_by(program, &inside);
        let results: Vec<Value> = program.results(op).collect();
        let is_static = |v: &Value| match program.tensor_type(*v) {
            Some(ty) => ty.shape.iter().all(|&d| d >= 0),
            None => is_token(program, *v),
        };
        if !read.iter().chain(&results).all(is_static) {
            return None;
        }
        let replicated = |v: &Value| {
            let rank = program.tensor_type(*v).map_or(0, |t| t.rank());
            TensorSharding::replicated(self.axes.mesh.clone(), rank)
        };
        let (ins, outs) = (read.iter().map(replicated).collect(), results.iter().map(replicated).collect());
        let types: Vec<Ty> = results.iter().map(|&v| program.value_type(v)).collect();
        let all: Vec<AxisPart> = self.axes.data.axes.iter().enumerate().map(|(i, a)| whole(i, a.1)).collect();
        let along = Along { mesh: self.groups, axes: &all, devices: self.axes.data.devices() };
        let manual = self.axes.data.axes.iter().map(|a| a.0).collect();
        let (loc, span) = (program.op(op).loc, program.op(op).span);
        let mut ops = Vec::new();
        let mut b = Builder::new(program, &mut ops, loc);
        let channel = &mut self.channel;
        let made = build::sdy::manual_computation(&mut b, &read, (ins, outs, manual), &types, |b, arguments| {
            let mut renaming = Renaming::default();
            renaming.values.extend(read.iter().copied().zip(arguments.iter().copied()));
            let id = build::collective::partition_id(b);
            let wanted = build::integer(b, ElementType::UI32, device);
            let here = build::compare(b, Comparison::Eq, id, wanted);
            let run = |b: &mut Builder<'_>| {
                for &op in &inside {
                    let copy = b.program.clone_op(op, &mut renaming);
                    b.program.remove_attr(copy, func::SHARDING);
                    b.ops.push(copy);
                }
                results.iter().map(|&v| renaming.value(v)).collect()
            };
            // The other devices pass on the op's token operand.
            let token = arguments.iter().copied().find(|&v| is_token(b.program, v));
            let branches = build::region::if_else(b, here, &types, run, |b| {
                results.iter().map(|&result| nothing(b, result, token)).collect()
            });
            let send = |value| {
                if is_token(b.program, value) {
                    return value;
                }
                *channel += 1;
                let element = b.tensor(value).element;
                let by = if element == ElementType::I1 { ScalarOp::Or } else { ScalarOp::Add };
                if !element.has_zero() {
                    let bits = build::bitcast(b, value, ElementType::UI8);
                    let sum = build::collective::all_reduce(b, bits, by, along, *channel - 1);
                    return build::bitcast(b, sum, element);
                }
                build::collective::all_reduce(b, value, by, along, *channel - 1)
            };
            branches.into_iter().map(send).collect()
        });
        for op in ops.iter().flat_map(|&op| [op].into_iter().chain(inner_ops(program, op))).collect::<Vec<_>>() {
            let data = program.op_mut(op);
            if data.span.is_empty() {
                data.span = span;
            }
        }
        self.renamed.extend(results.into_iter().zip(program.results(made)));
        Some(ops)
    }

    /// Returns `op`, preceded by the ops that it depends on whose results differ between devices.
    fn inside(&self, program: &Program, op: Op) -> Vec<Op> {
        let mut inside: FxHashSet<Op> = FxHashSet::default();
        let mut left = vec![op];
        while let Some(op) = left.pop() {
            for &value in &program.op(op).operands {
                if let dialect::ir::ValueSource::Result(source, _) = program.value_source(value)
                    && self.differing.contains_key(&source)
                    && inside.insert(source)
                {
                    left.push(source);
                }
            }
        }
        let mut inside: Vec<Op> = inside.into_iter().collect();
        inside.sort_by_key(|op| self.differing[op]);
        inside.push(op);
        inside
    }
}

fn inner_ops(program: &Program, op: Op) -> Vec<Op> {
    let blocks = program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region));
    blocks.flat_map(|&block| program.ops_under(block)).collect()
}

fn whole(axis: usize, size: i64) -> AxisPart {
    AxisPart::whole(axis as u32, size as u32)
}

/// Returns the values that ops, including those in their regions, read but don't define; each once, in order.
fn read_by(program: &Program, ops: &[Op]) -> Vec<Value> {
    let mut known: FxHashSet<Value> = ops.iter().flat_map(|&op| program.results(op)).collect();
    let mut read = Vec::new();
    for &op in ops {
        for block in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
            known.extend(program.values_under(*block));
        }
        let mut reads = |op: Op| read.extend(program.op(op).operands.iter().copied().filter(|&v| known.insert(v)));
        reads(op);
        for block in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
            program.walk(*block, &mut reads);
        }
    }
    read
}

fn is_token(program: &Program, value: Value) -> bool {
    *program.type_data(program.value_type(value)) == TypeData::Token
}

/// What changes no sum: -0.0 for floats, since 0.0 would change the sign of -0.0; where there is no zero, the sum is
/// one of bits. For a token, `token` or a new one.
fn nothing(b: &mut Builder<'_>, like: Value, token: Option<Value>) -> Value {
    if is_token(b.program, like) {
        return token.unwrap_or_else(|| b.inferred(&CreateToken, &[], &[], &[])[0]);
    }
    let ty = b.tensor(like).clone();
    let zero = match Scalar::zero(ty.element) {
        Scalar::Float(_) if !ty.element.has_zero() => Scalar::decode(ty.element, &[0]),
        Scalar::Float(_) => Scalar::Float(-0.0),
        Scalar::Complex(..) => Scalar::Complex(-0.0, -0.0),
        int => int,
    };
    build::splat(b, ty.element, &ty.shape, zero)
}

/// Removes those of `ops`, in program order, that have no users.
fn remove_unread(program: &mut Program, block: Block, ops: &[Op]) {
    let uses = Uses::of(program, block);
    let mut removed: FxHashSet<Op> = FxHashSet::default();
    for &op in ops.iter().rev() {
        let view = program.view(op);
        let unread = |v: Value| uses.get(v).iter().all(|u| removed.contains(&u.0));
        if !view.def().side_effect(view) && program.results(op).all(unread) {
            removed.insert(op);
        }
    }
    remove_ops(program, block, &removed);
}
