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
use dialect::ir::{
    Attr, AttrData, Block, ElementType, Loc, Name, Op, Program, Region, Shape, Stage, TensorType, Ty, Value,
};
use dialect::op::OpDef;
use dialect::ops::{build, func, sdy};
use dialect::scalar::Scalar;
use dialect::sharding::{AxisRef, Layout, Mesh, MeshRef, ReductionKind, TensorSharding};
use dialect::signature::{self, Side, Signature};

use crate::estimate::kernels::remove_costs;
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
    let block = func::block(program, main);
    if let Some(block) = block {
        between_windows(program, block);
        before_scatters(program, block);
        powers::evaluate(program, block);
    }
    let Signature { arguments: ins, results: outs, mesh } = signature;
    let Some((mesh_name, mesh)) = mesh else {
        // Without a mesh the per-device program is the global one.
        return unsign(program, main);
    };
    if let Err(d) = check_support(program, main, &ins, &outs) {
        return diagnostics.push(d);
    }
    let Some(block) = block.filter(|&block| program.terminator(block).is_some()) else { return };
    let shown = shown::take(program, block);
    let sides = ins.iter().chain(&outs).chain(shown.iter().map(|s| s.side()));
    let fine = match refine(program, &mesh, sides) {
        Ok(fine) => fine,
        Err(axis) => return diagnostics.push(parts_of_no_mesh(program, main, axis)),
    };
    let (name, loc) = (program.name(&mesh_name), program.op(main).loc);
    Export { program, mesh: &mesh, fine: &fine, name, loc }.wrap(main, block, &ins, outs, &shown);
    let mesh = build::sdy::mesh(program, &mesh_name, fine);
    program.op_mut(mesh).loc = loc;
    program.prepend(vec![mesh]);
}

/// Reports what JAX's runtime or a sharding over all devices can't express.
fn check_support(program: &Program, main: Op, ins: &[Side], outs: &[Side]) -> Result<(), Diagnostic> {
    let error = |code, message, note: &str| Err(Diagnostic::error(code, program.op(main).span, message).note(note));
    if func::num_replicas(program) > 1 {
        return error(
            codes::MANUAL_REPLICAS,
            "JAX's runtime supports partitions or replicas, but not both",
            "make the replicas an axis of the mesh, or use the per-device program (--emit stablehlo)",
        );
    }
    let mut shardings = outs.iter().chain(ins).filter_map(|side| side.sharding.as_ref());
    if shardings.clone().any(|s| matches!(s.mesh, MeshRef::Inline(_))) {
        return error(
            codes::MANUAL_TOPOLOGY,
            "an argument or result of @main is on some of the devices, which a sharding over all devices can't express",
            "use the per-device program (--emit stablehlo), or give JAX one mesh",
        );
    }
    if shardings.any(|s| !s.unreduced.is_empty() && s.kind != ReductionKind::Sum) {
        return error(
            codes::UNREDUCED_RESULT,
            "JAX's runtime doesn't support arguments and results that are partial results other than sums",
            "reduce the value before it is returned",
        );
    }
    Ok(())
}

fn parts_of_no_mesh(program: &Program, main: Op, axis: Name) -> Diagnostic {
    let axis = program.name_text(axis);
    let message =
        format!("arguments and results are sharded along parts of \"{axis}\" that can't all be axes of one mesh");
    Diagnostic::error(codes::UNRELATED_MESHES, program.op(main).span, message)
        .note("shard them along parts that divide each other, or use the per-device program (--emit stablehlo)")
}

/// The program to wrap, and the mesh of the region.
struct Export<'a> {
    program: &'a mut Program,
    mesh: &'a Mesh,
    /// The mesh with an axis for every part of an axis that some sharding names.
    fine: &'a Mesh,
    /// The name of `fine`.
    name: Name,
    loc: Loc,
}

impl Export<'_> {
    /// Makes `block` the body of a manual computation, between paddings and slices, in `main`.
    fn wrap(&mut self, main: Op, block: Block, ins: &[Side], mut outs: Vec<Side>, shown: &[shown::Shown]) {
        let (arguments, result_count) = (self.program.block_args(block).to_vec(), outs.len());
        let (region, returned) = self.body(block, &mut outs);
        let outer = self.program.new_block();
        let mut ops: Vec<Op> = Vec::new();
        let operands = self.operands(outer, ins, &arguments, &mut ops);
        let result_types: Vec<Ty> = outs
            .iter()
            .zip(&returned)
            .map(|(s, &inner)| match s.is_token {
                true => self.program.value_type(inner),
                false => self.program.tensor(&padded(s, self.mesh), s.global.element),
            })
            .collect();
        let attrs = self.manual_attrs(ins, &outs);
        let def = &sdy::MANUAL_COMPUTATION;
        let mut b = Builder::new(self.program, &mut ops, self.loc);
        let op = b.raw(def, def.name(), &operands, &result_types, &attrs, &[region]);
        outs.truncate(result_count);
        let mut results = Vec::new();
        for (i, side) in outs.iter().enumerate() {
            let value = self.program.result(op, i);
            let mut b = Builder::new(self.program, &mut ops, self.loc);
            results.push(if side.is_token { value } else { slice_to(&mut b, value, &side.global.shape) });
        }
        for shown in shown {
            let sharding = self.sharding(shown.side());
            shown::show(&mut Builder::new(self.program, &mut ops, self.loc), shown, sharding);
        }
        Builder::new(self.program, &mut ops, self.loc).op(&func::RETURN, &results, &[], &[]);
        self.program.set_block_ops(outer, ops);
        let main_region = self.program.op(main).regions[0];
        self.program.set_region_blocks(main_region, &[outer]);
        self.set_signature(main, outer, &results, ins, &outs);
    }

    /// Makes the body a region, whose block it keeps and whose return it gets; adds a result where XLA would drop it
    /// otherwise. Returns the values that it returns.
    fn body(&mut self, block: Block, outs: &mut Vec<Side>) -> (Region, Vec<Value>) {
        let mut ops = self.program.block_ops(block).to_vec();
        let last = ops.pop();
        let mut returned = last.map(|last| self.program.op(last).operands.to_vec()).unwrap_or_default();
        if is_dropped(self.program, block, outs) {
            // Nothing reads this result.
            let mut b = Builder::new(self.program, &mut ops, self.loc);
            returned.push(build::scalar(&mut b, ElementType::I32, Scalar::Int(0)));
            outs.push(Side { global: TensorType::new(&[], ElementType::I32), sharding: None, is_token: false });
        }
        Builder::new(self.program, &mut ops, self.loc).op(&sdy::RETURN, &returned, &[], &[]);
        self.program.set_block_ops(block, ops);
        (self.program.new_region(&[block]), returned)
    }

    /// Gives `outer` the global arguments, and returns them padded.
    fn operands(&mut self, outer: Block, ins: &[Side], arguments: &[Value], ops: &mut Vec<Op>) -> Vec<Value> {
        let mut operands = Vec::new();
        for (side, &inner) in ins.iter().zip(arguments) {
            let program = &mut *self.program;
            let ty = if side.is_token { program.value_type(inner) } else { program.intern_type(side.global.clone()) };
            let value = program.add_block_arg(outer, ty, program.value_loc(inner), Span::default());
            operands.push(match side.is_token {
                true => value,
                false => {
                    let mut b = Builder::new(program, ops, self.loc);
                    pad(&mut b, value, &side.global.shape, &padded(side, self.mesh))
                }
            });
        }
        operands
    }

    /// Writes the global types of `main`, and the shardings of arguments and results that aren't padded.
    fn set_signature(&mut self, main: Op, outer: Block, results: &[Value], ins: &[Side], outs: &[Side]) {
        let types = |program: &Program, values: &[Value]| -> Vec<Ty> {
            values.iter().map(|&v| program.value_type(v)).collect()
        };
        let inputs = types(self.program, self.program.block_args(outer));
        let outputs = types(self.program, results);
        func::set_signature(self.program, main, &inputs, &outputs);
        let mut stated = |sides: &[Side]| -> Vec<(usize, Option<Attr>)> {
            let whole = |side: &&Side| padded(side, self.mesh) == side.global.shape && side.sharding.is_some();
            let sides = sides.iter().enumerate().filter(|(_, side)| whole(side));
            let shardings: Vec<_> = sides.map(|(i, side)| (i, self.sharding(side))).collect();
            let mut attr = |sharding| self.program.intern_attr(AttrData::Sharding(sharding));
            shardings.into_iter().map(|(i, sharding)| (i, Some(attr(sharding)))).collect()
        };
        let (arguments, results) = (stated(ins), stated(outs));
        func::set_arg_attrs(self.program, main, func::SHARDING, &arguments);
        func::set_result_attrs(self.program, main, func::SHARDING, &results);
        unsign(self.program, main);
    }

    /// Returns the sharding of an argument or result over the refined mesh.
    fn sharding(&self, side: &Side) -> TensorSharding {
        let Some(old) = &side.sharding else {
            // A token counts as a scalar.
            let rank = if side.is_token { 0 } else { side.global.rank() };
            return TensorSharding::replicated(MeshRef::Symbol(self.name), rank);
        };
        // Every sub-axis that a sharding names is one or more whole axes of the finer mesh.
        let axes = |list: &[AxisRef]| self.fine.translate_refs(list, self.mesh).unwrap_or_default();
        let mut new = old.closed();
        new.mesh = MeshRef::Symbol(self.name);
        for (d, old) in new.dims.iter_mut().zip(&old.dims) {
            d.axes = axes(&old.axes);
        }
        (new.replicated, new.unreduced) = (Default::default(), axes(&old.unreduced));
        new
    }

    fn manual_attrs(&mut self, ins: &[Side], outs: &[Side]) -> [(Name, Attr); 3] {
        let list = |sides: &[Side]| AttrData::ShardingPerValue(sides.iter().map(|side| self.sharding(side)).collect());
        let axes = AttrData::ManualAxes(self.fine.axes.iter().map(|a| a.0).collect());
        let attrs = [(sdy::IN_SHARDINGS, list(ins)), (sdy::MANUAL_AXES, axes), (sdy::OUT_SHARDINGS, list(outs))];
        attrs.map(|(name, data)| (self.program.name(name), self.program.intern_attr(data)))
    }
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

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "manual",
    doc: "Wraps the per-device program in one sdy.manual_computation under the global signature.",
    effect: crate::Effect::Reach(Stage::Exported),
    options: &[],
    run: |program, _, diagnostics| {
        // JAX's parser rejects our attributes.
        remove_trips(program);
        remove_costs(program);
        manual(program, diagnostics);
    },
};
