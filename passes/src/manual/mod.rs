//! manual: wraps the per-device program in one `sdy.manual_computation` under the original global signature, so that
//! JAX's own runtime can run it on any backend without further sharding decisions.
//!
//! A dimension that doesn't divide is padded before the region and sliced after it. Sub-axes become separate axes,
//! since manual axes must be whole.

mod barriers;
mod powers;
mod shown;
mod transposes;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, ElementType, Name, Op, Program, Shape, Stage, TensorType, Ty, Value};
use dialect::op::OpDef;
use dialect::ops::{build, func, sdy};
use dialect::scalar::Scalar;
use dialect::sharding::{AxisRef, Layout, Mesh, MeshRef, ReductionKind, TensorSharding};
use dialect::signature::{self, Side, Signature};

use crate::estimate::remove_trips;
use barriers::between_windows;
use transposes::before_scatters;

/// Wraps the partitioned `@main`.
pub fn manual(program: &mut Program, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(signature) = Signature::of(program) else {
        let d =
            Diagnostic::error(codes::NO_GLOBAL_TYPES, program.op(main).span, "@main doesn't state its global types");
        return diagnostics.push(d.note("run the pass partition first"));
    };
    if let Some(block) = func::block(program, main) {
        between_windows(program, block);
        before_scatters(program, block);
        powers::evaluate(program, block);
    }
    let Some((mesh_name, mesh)) = signature.mesh else {
        // Without a mesh the per-device program is the global one.
        return unsign(program, main);
    };
    if func::num_replicas(program) > 1 {
        let message = "JAX's runtime supports partitions or replicas, but not both";
        let d = Diagnostic::error(codes::MANUAL_REPLICAS, program.op(main).span, message);
        return diagnostics
            .push(d.note("make the replicas an axis of the mesh, or use the per-device program (--emit stablehlo)"));
    }
    let (ins, mut outs) = (signature.arguments, signature.results);
    let of_part = |side: &Side| matches!(side.sharding.as_ref().map(|s| &s.mesh), Some(MeshRef::Inline(_)));
    if ins.iter().chain(&outs).any(of_part) {
        let message =
            "an argument or result of @main is on some of the devices, which a sharding over all devices can't express";
        let d = Diagnostic::error(codes::MANUAL_TOPOLOGY, program.op(main).span, message);
        return diagnostics.push(d.note("use the per-device program (--emit stablehlo), or give JAX one mesh"));
    }
    let Some(block) = func::block(program, main) else { return };
    let arguments = program.block_args(block).to_vec();
    let Some(last) = program.terminator(block) else { return };
    let kind = |s: &Side| s.sharding.as_ref().filter(|s| !s.unreduced.is_empty()).map(|s| s.kind);
    if outs.iter().chain(&ins).filter_map(kind).any(|kind| kind != ReductionKind::Sum) {
        let d = Diagnostic::error(
            codes::UNREDUCED_RESULT,
            program.op(main).span,
            "JAX's runtime doesn't support arguments and results that are partial results other than sums",
        );
        return diagnostics.push(d.note("reduce the value before it is returned"));
    }
    let shown = shown::take(program, block);
    let sides = ins.iter().chain(&outs).chain(shown.iter().map(|s| s.side()));
    let fine = match refine(program, &mesh, sides) {
        Ok(fine) => fine,
        Err(axis) => {
            let axis = program.name_text(axis);
            let message = format!(
                "arguments and results are sharded along parts of \"{axis}\" that can't all be axes of one mesh"
            );
            let d = Diagnostic::error(codes::UNRELATED_MESHES, program.op(main).span, message);
            return diagnostics.push(d.note(
                "shard them along parts that divide each other, or use the per-device program (--emit stablehlo)",
            ));
        }
    };
    let name = program.name(&mesh_name);
    let loc = program.op(main).loc;
    // The body keeps its block; its return becomes the region's.
    let mut returned: Vec<Value> = program.op(last).operands.to_vec();
    let result_count = returned.len();
    let mut body_ops = program.block_ops(block).to_vec();
    body_ops.pop();
    if is_dropped(program, block, &outs) {
        // Nothing reads this result.
        let mut b = Builder::new(program, &mut body_ops, loc);
        returned.push(build::scalar(&mut b, ElementType::I32, Scalar::Int(0)));
        outs.push(Side { global: TensorType::new(&[], ElementType::I32), sharding: None, is_token: false });
    }
    Builder::new(program, &mut body_ops, loc).op(&sdy::RETURN, &returned, &[], &[]);
    program.set_block_ops(block, body_ops);
    let region = program.new_region(&[block]);

    let outer = program.new_block();
    let mut ops: Vec<Op> = Vec::new();
    let mut operands = Vec::new();
    for (side, &inner) in ins.iter().zip(&arguments) {
        let ty = if side.is_token { program.value_type(inner) } else { program.intern_type(side.global.clone()) };
        let value = program.add_block_arg(outer, ty, program.value_loc(inner), Span::default());
        if side.is_token {
            operands.push(value);
            continue;
        }
        let padded = padded(side, &mesh);
        operands.push(pad(&mut Builder::new(program, &mut ops, loc), value, &side.global.shape, &padded));
    }
    let result_types: Vec<Ty> = outs
        .iter()
        .zip(&returned)
        .map(|(s, &inner)| match s.is_token {
            true => program.value_type(inner),
            false => program.tensor(&padded(s, &mesh), s.global.element),
        })
        .collect();
    let attrs = manual_attrs(program, &ins, &outs, &mesh, &fine, name);
    let attrs: Vec<(Name, _)> = attrs.into_iter().map(|(n, a)| (program.name(n), a)).collect();
    let mut b = Builder::new(program, &mut ops, loc);
    let op =
        b.raw(&sdy::MANUAL_COMPUTATION, sdy::MANUAL_COMPUTATION.name(), &operands, &result_types, &attrs, &[region]);
    let mut results = Vec::new();
    outs.truncate(result_count);
    for (i, side) in outs.iter().enumerate() {
        let value = program.result(op, i);
        let mut b = Builder::new(program, &mut ops, loc);
        results.push(if side.is_token { value } else { slice_to(&mut b, value, &side.global.shape) });
    }
    for shown in &shown {
        let side = shown.side();
        let whole = || TensorSharding::replicated(MeshRef::Symbol(name), side.global.rank());
        let sharding = side.sharding.as_ref().map_or_else(whole, |s| refined(s, &mesh, &fine, name));
        shown::show(&mut Builder::new(program, &mut ops, loc), shown, sharding);
    }
    Builder::new(program, &mut ops, loc).op(&func::RETURN, &results, &[], &[]);
    program.set_block_ops(outer, ops);
    let main_region = program.op(main).regions[0];
    program.set_region_blocks(main_region, &[outer]);
    let inputs: Vec<Ty> = program.block_args(outer).iter().map(|&v| program.value_type(v)).collect();
    let outputs: Vec<Ty> = results.iter().map(|&v| program.value_type(v)).collect();
    func::set_signature(program, main, &inputs, &outputs);
    let mut stated = |sides: &[Side]| -> Vec<(usize, Option<Attr>)> {
        let whole = |side: &&Side| padded(side, &mesh) == side.global.shape;
        let attr = |(i, side): (usize, &Side)| {
            let sharding = Some(side).filter(whole)?.sharding.as_ref()?;
            Some((i, Some(program.intern_attr(AttrData::Sharding(refined(sharding, &mesh, &fine, name))))))
        };
        sides.iter().enumerate().filter_map(attr).collect()
    };
    let (arguments, results) = (stated(&ins), stated(&outs));
    func::set_arg_attrs(program, main, func::SHARDING, &arguments);
    func::set_result_attrs(program, main, func::SHARDING, &results);
    unsign(program, main);
    let mesh = build::sdy::mesh(program, &mesh_name, fine);
    program.op_mut(mesh).loc = loc;
    program.prepend(vec![mesh]);
}

/// Whether XLA would drop what `block` does on the host: of a manual computation without an element among its results
/// it keeps nothing.
fn is_dropped(program: &Program, block: Block, outs: &[Side]) -> bool {
    let on_host = |&op: &Op| program.op(op).def.host_effect(program.view(op)).is_some();
    let is_empty = |side: &Side| side.is_token || side.global.shape.contains(&0);
    !outs.is_empty() && outs.iter().all(is_empty) && program.ops_under(block).iter().any(on_host)
}

/// The global shape with every dimension rounded up to a multiple of its number of shards.
fn padded(side: &Side, mesh: &Mesh) -> Shape {
    let layout = Layout::new(&side.global, side.sharding.as_ref(), mesh);
    let pieces = |d: usize| side.sharding.as_ref().map_or(1, |s| s.shards(d, mesh));
    layout.shard.shape().iter().enumerate().map(|(d, n)| n * pieces(d)).collect()
}

fn pad(b: &mut Builder<'_>, value: Value, from: &[i64], to: &[i64]) -> Value {
    if from == to {
        return value;
    }
    let element = b.tensor(value).element;
    let zero = build::scalar(b, element, Scalar::zero(element));
    let none: Shape = from.iter().map(|_| 0).collect();
    let high: Shape = from.iter().zip(to).map(|(a, z)| z - a).collect();
    build::shape::pad(b, value, zero, &none, &high, &none)
}

fn slice_to(b: &mut Builder<'_>, value: Value, to: &[i64]) -> Value {
    if b.tensor(value).shape[..] == *to {
        return value;
    }
    let none: Shape = to.iter().map(|_| 0).collect();
    let ones: Shape = to.iter().map(|_| 1).collect();
    build::shape::slice(b, value, &none, to, &ones)
}

/// Drops attributes that only the per-device form has.
fn unsign(program: &mut Program, main: Op) {
    let types = func::signature(program, main);
    let (inputs, outputs) = (types.inputs.len(), types.results.len());
    for name in [signature::GLOBAL_TYPE, signature::SHARDING] {
        func::set_arg_attrs(program, main, name, &(0..inputs).map(|i| (i, None)).collect::<Vec<_>>());
        func::set_result_attrs(program, main, name, &(0..outputs).map(|i| (i, None)).collect::<Vec<_>>());
    }
    let module = program.module;
    program.remove_attr(module, signature::MESHES);
}

/// Returns the mesh with an axis for every sub-axis that some sharding names; as the error, an axis that no mesh can
/// split into all these parts.
fn refine<'a>(program: &mut Program, mesh: &Mesh, sides: impl Iterator<Item = &'a Side>) -> Result<Mesh, Name> {
    let mut boundaries: Vec<Vec<i64>> = mesh.axes.iter().map(|a| vec![1, a.1]).collect();
    for axis in sides.filter_map(|s| s.sharding.as_ref()).flat_map(|s| s.all_axes()) {
        if let (Some(i), Some(sub)) = (mesh.axis_index(axis.name), axis.sub) {
            boundaries[i].extend([sub.pre, sub.pre * sub.size]);
        }
    }
    let mut fine = Mesh { axes: Default::default(), device_ids: mesh.device_ids.clone() };
    for (&(name, size), boundaries) in mesh.axes.iter().zip(&mut boundaries) {
        boundaries.sort_unstable();
        boundaries.dedup();
        if boundaries.len() <= 2 {
            fine.axes.push((name, size));
            continue;
        }
        if boundaries.windows(2).any(|pair| pair[1] % pair[0] != 0) {
            return Err(name);
        }
        let text = program.name_text(name).to_owned();
        for (i, pair) in boundaries.windows(2).enumerate() {
            let mut part = format!("{text}_{i}");
            while mesh.axes.iter().any(|a| program.name_text(a.0) == part) {
                part.push('_');
            }
            fine.axes.push((program.name(&part), pair[1] / pair[0]));
        }
    }
    Ok(fine)
}

/// Returns `s` over the refined mesh.
fn refined(s: &TensorSharding, mesh: &Mesh, fine: &Mesh, name: Name) -> TensorSharding {
    // Every sub-axis that a sharding names is one or more whole axes of the finer mesh.
    let axes = |list: &[AxisRef]| fine.translate_refs(list, mesh).unwrap_or_default();
    let mut new = s.closed();
    new.mesh = MeshRef::Symbol(name);
    for (d, old) in new.dims.iter_mut().zip(&s.dims) {
        d.axes = axes(&old.axes);
    }
    (new.replicated, new.unreduced) = (Default::default(), axes(&s.unreduced));
    new
}

fn manual_attrs(
    program: &mut Program,
    ins: &[Side],
    outs: &[Side],
    mesh: &Mesh,
    fine: &Mesh,
    name: Name,
) -> Vec<(&'static str, Attr)> {
    let list = |program: &mut Program, sides: &[Side]| {
        // A token counts as a scalar.
        let rank = |s: &Side| if s.is_token { 0 } else { s.global.rank() };
        let whole = |s: &Side| TensorSharding::replicated(MeshRef::Symbol(name), rank(s));
        let all = sides.iter().map(|s| s.sharding.as_ref().map_or_else(|| whole(s), |x| refined(x, mesh, fine, name)));
        let all = all.collect();
        program.intern_attr(AttrData::ShardingPerValue(all))
    };
    let axes = program.intern_attr(AttrData::ManualAxes(fine.axes.iter().map(|a| a.0).collect()));
    vec![(sdy::IN_SHARDINGS, list(program, ins)), (sdy::MANUAL_AXES, axes), (sdy::OUT_SHARDINGS, list(program, outs))]
}

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "manual",
    doc: "Wraps the per-device program in one sdy.manual_computation under the global signature.",
    effect: crate::Effect::Reach(Stage::Exported),
    options: &[],
    run: |program, _, diagnostics| {
        // JAX's parser rejects our attributes.
        remove_trips(program);
        manual(program, diagnostics);
    },
};
