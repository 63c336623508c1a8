//! partition: turns the global program into the per-device program.
//!
//! Requires the program that `plan` leaves, and rejects others (`agree`): every op computes its results' shards from
//! its operands' shards, and every change of distribution is an `sdy` collective. Leaves `@main` over local types,
//! StableHLO collectives with explicit device groups, no `sdy` op, and `shardc.global_type` and `shardc.sharding` on
//! every argument and result. Manual computations of all axes are inlined; loops and branches are partitioned inside.
//! Each replica runs the same program on its own partitions: only the user's collectives communicate between replicas.

mod agree;
mod assemble;
mod border;
mod control;
mod halo;
mod joint;
pub(crate) mod mesh;
mod other_symbols;
mod parts;
pub(crate) mod position;
mod reshard;
mod rows;
mod shared;
mod signature;
mod uneven;
mod user;

use dialect::codes;
use dialect::collective::MeshAttr;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, ElementType, Name, Op, Program, Region, Stage, TensorType, Ty, Value};
use dialect::kernel::Kernel;
use dialect::localize::{Localize, Tensor};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{Distribution, Distributions, Mesh, Reshard, Shard};
use dialect::signature::{GLOBAL_TYPE, SHARDING};
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

pub use halo::{NeighborRead, neighbor_reads};
use position::Positions;
use reshard::Lowering;

use crate::plan::model::meaning::Models;

/// The local values that an op reads.
type Locals = SmallVec<[Value; 4]>;

/// Rewrites `program` to the program of each device.
pub fn partition(program: &mut Program, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else {
        let d = Diagnostic::error(codes::NO_MAIN, Span::default(), "the module has no function @main");
        diagnostics.push(d.note("the function that is partitioned must be called main"));
        return;
    };
    let Some(block) = func::block(program, main) else { return };
    let Some((mesh_name, mesh)) = mesh::one_mesh(program, diagnostics) else { return };
    if mesh_name.is_some() && dialect::signature::is_stated(program, main) {
        let message = "the program has a mesh, but @main states global types, so it is already partitioned";
        let d = Diagnostic::error(codes::PARTITIONED, program.op(main).span, message);
        return diagnostics
            .push(d.note("partition the global program, or remove the mesh to leave the program unchanged"));
    }
    let partitions = func::num_partitions(program);
    if mesh_name.is_some() && partitions != mesh.devices() {
        let message = format!("the module has {partitions} partitions, but its mesh has {} devices", mesh.devices());
        let d = Diagnostic::error(codes::PARTITION_COUNT, program.op(main).span, message);
        return diagnostics.push(d.note("set mhlo.num_partitions to the number of the mesh's devices, or remove it"));
    }
    if func::declared_devices(program).is_none()
        && let Some(op) = names_devices(program, block)
    {
        let message = "the program doesn't state its number of devices";
        let d = Diagnostic::error(codes::PARTITION_COUNT, program.op(op).span, message);
        return diagnostics.push(d.note("add mhlo.num_partitions to the module, or a mesh"));
    }
    let arguments = program.block_args(block).to_vec();
    let returned = program.terminator(block).map(|op| program.op(op).operands.to_vec()).unwrap_or_default();
    let axes = mesh::axes(program, mesh_name.as_deref(), mesh);
    let mesh = &axes.data;
    let distributions = Distributions::of(program, &axes);
    let values = program.values_under(block);
    if let Some(&value) = values.iter().find(|&&v| distributions.is_unrelated(v)) {
        let message = "this sharding is not over the program's mesh";
        let d = Diagnostic::error(codes::UNRELATED_MESHES, program.value_span(value), message);
        return diagnostics.push(d.note("run the pass unify-meshes first, or use one mesh for all shardings"));
    }
    let mut models: Models = program.take_memo();
    agree::check(program, main, block, &axes, &distributions, &mut models, diagnostics);
    program.keep_memo(models);
    crate::custom_partitioning::refuse(program, mesh.devices(), diagnostics);
    if diagnostics.has_errors() {
        return;
    }
    let paddings = uneven::Paddings::new(program, &values, &distributions);
    let channel = first_channel(program, block);
    let position = position::element_of(program, mesh, &values);
    let shared = Rc::new(shared::Shared::of(program, &distributions, block));
    let mut pass = Partition {
        distributions,
        paddings,
        shared,
        groups: MeshAttr::new(program, mesh),
        program,
        diagnostics,
        mesh,
        local_types: FxHashMap::default(),
        values: FxHashMap::default(),
        channel,
        position,
        manual: Vec::new(),
    };
    let input_types: Vec<Ty> = arguments.iter().map(|&v| pass.local_type(v)).collect();
    let new = pass.program.new_block();
    for (&arg, &ty) in arguments.iter().zip(&input_types) {
        let (loc, span) = (pass.program.value_loc(arg), pass.program.value_span(arg));
        let local = pass.program.add_block_arg(new, ty, loc, span);
        pass.values.insert(arg, local);
    }
    pass.fill(block, new);
    if pass.diagnostics.has_errors() {
        return;
    }
    let kept = other_symbols::kept(program, main, diagnostics);
    signature::record_global(program, main, &arguments, &returned);
    signature::replace_body(program, main, new, &kept, mesh_name.as_deref(), mesh);
}

/// Returns one past the largest channel that the ops under `block` use.
pub(crate) fn first_channel(program: &Program, block: Block) -> i64 {
    let mut last = 0;
    program.walk(block, &mut |op| {
        if let Some(AttrData::Int(handle, _)) = program.view(op).field("channel_handle", "handle") {
            last = last.max(*handle);
        }
    });
    last.saturating_add(1)
}

/// Returns the first of the user's collectives that names any device besides the first.
fn names_devices(program: &Program, block: Block) -> Option<Op> {
    program.ops_under(block).into_iter().find(|&op| {
        let view = program.view(op);
        view.def().collective(view).is_some_and(|c| c.groups.iter().flatten().any(|id| id > 0))
    })
}

struct Partition<'a> {
    program: &'a mut Program,
    diagnostics: &'a mut Diagnostics,
    mesh: &'a Mesh,
    /// The mesh, as written in the groups of collectives.
    groups: MeshAttr,
    distributions: Distributions,
    paddings: uneven::Paddings,
    /// Rows of neighbors that several ops read.
    shared: Rc<shared::Shared>,
    /// The types of shards, by the types of their tensors and the addresses of their distributions.
    local_types: FxHashMap<(Ty, *const Distribution), Ty>,
    /// The local value of each global one.
    values: FxHashMap<Value, Value>,
    channel: i64,
    /// The type of positions.
    position: ElementType,
    /// The manual axes of the enclosing manual computations.
    manual: Vec<Name>,
}

impl Partition<'_> {
    fn distribution(&self, value: Value) -> Option<Rc<Distribution>> {
        let rank = self.program.tensor_type(value)?.rank();
        self.distributions.get(value).filter(|d| d.rank() == rank).cloned()
    }

    /// Returns the type of a device's shard of `value`.
    fn local_type(&mut self, value: Value) -> Ty {
        let ty = self.program.value_type(value);
        let (Some(d), Some(t)) = (self.distributions.get(value), self.program.tensor_type(value)) else { return ty };
        if d.rank() != t.rank() {
            return ty;
        }
        let key = (ty, Rc::as_ptr(d));
        if let Some(&known) = self.local_types.get(&key) {
            return known;
        }
        let local = TensorType { shape: d.local_shape(&t.shape), ..t.clone() };
        let local = self.program.intern_type(local);
        self.local_types.insert(key, local);
        local
    }

    /// Returns the shard of `value`.
    fn shard_of(&self, value: Value) -> Shard {
        let Some(ty) = self.program.tensor_type(value) else { return Shard::default() };
        let distribution = self.distributions.get(value).filter(|d| d.rank() == ty.rank());
        distribution.map_or_else(|| Shard::replicated(&ty.shape), |d| d.shard(&ty.shape))
    }

    /// Partitions the ops of `old` into `new`, whose arguments already replace those of `old`.
    fn fill(&mut self, old: Block, new: Block) {
        let mut ops = Vec::new();
        let mut positions = Positions::new(self.position);
        for op in self.program.block_ops(old).to_vec() {
            self.op_with_span(op, &mut ops, &mut positions);
        }
        self.program.set_block_ops(new, ops);
    }

    /// Partitions an op; its per-device ops get its source span, so that run-time errors point at it.
    fn op_with_span(&mut self, op: Op, ops: &mut Vec<Op>, positions: &mut Positions) {
        let (first, span) = (ops.len(), self.program.op(op).span);
        self.op(op, ops, positions);
        for &local in &ops[first..] {
            let data = self.program.op_mut(local);
            if data.span.is_empty() {
                data.span = span;
            }
        }
    }

    fn op(&mut self, op: Op, ops: &mut Vec<Op>, positions: &mut Positions) {
        let (def, globals) = (self.program.op(op).def, self.program.op(op).operands.clone());
        let Some(operands) = globals.iter().map(|v| self.values.get(v).copied()).collect::<Option<Locals>>() else {
            // An operand could not be partitioned; this has been reported.
            return;
        };
        if def.terminator() {
            let (data, name) = (self.program.op(op).clone(), self.program.op_name(op).to_owned());
            Builder::new(self.program, ops, data.loc).raw(def, &name, &operands, &[], &data.attrs, &[]);
            return;
        }
        if let Some(reshard) = def.reshard(self.program.view(op)) {
            self.reshard(op, &reshard, globals.as_slice(), &operands, ops, positions);
            return;
        }
        let control = def.control(self.program.view(op));
        match control {
            Some(Control::Manual | Control::Inline) => return self.inline(op, &operands, ops, positions),
            Some(Control::Call) => {
                let d = Diagnostic::error(codes::CALL_LEFT, self.program.op(op).span, "the program still has a call");
                self.diagnostics.push(d.note("run the pass import first: it inlines calls"));
                return;
            }
            Some(Control::While | Control::Case | Control::If) => return self.with_regions(op, &operands, ops),
            Some(Control::Identity) if self.program.result_count(op) == 0 => return,
            Some(Control::Identity) if sdy::stated_sharding(self.program.view(op)).is_some() => {
                return self.constraint(op, operands.first().copied());
            }
            _ => {}
        }
        debug_assert!(control.is_some() || !matches!(def.kernel(self.program.view(op)), Kernel::Control));
        if let Err(d) = self.compute(op, &operands, ops, positions) {
            self.diagnostics.push(d);
        }
    }

    /// Partitions an op that computes its results from its operands.
    fn compute(
        &mut self,
        op: Op,
        operands: &[Value],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Result<(), Diagnostic> {
        user::check(self.program, op, self.mesh, &self.manual)?;
        let operands = self.mask(op, operands, ops, positions)?;
        if let Some(value) = self.assemble(op, &operands, ops, positions) {
            let result = self.program.result(op, 0);
            self.values.insert(result, value);
            return Ok(());
        }
        let (operands, fetched) = self.fetch(op, &operands, ops, positions)?;
        self.local_regions(op)?;
        let (def, loc, globals) =
            (self.program.op(op).def, self.program.op(op).loc, self.program.op(op).operands.clone());
        let results: SmallVec<[Value; 1]> = self.program.results(op).collect();
        let result_types: Vec<Ty> = results.iter().map(|&v| self.local_type(v)).collect();
        let operand_shards: SmallVec<[Shard; 3]> =
            globals.iter().zip(&operands).map(|(&g, &l)| self.shard(g, l)).collect();
        let result_shards: SmallVec<[Shard; 1]> = results.iter().map(|&v| self.shard_of(v)).collect();
        let first = ops.len();
        let (mesh, distributions) = (self.mesh, &self.distributions);
        let mut start = |b: &mut Builder<'_>, tensor: Tensor, dim: usize| {
            let (value, shard) = match tensor {
                Tensor::Operand(i) => (globals[i], &operand_shards[i]),
                Tensor::Result(i) => (results[i], &result_shards[i]),
            };
            let axes = distributions.get(value)?.dims.get(dim).filter(|axes| !axes.is_empty())?;
            Some(positions.offset(b, mesh, axes, shard.dims[dim].size()))
        };
        let mut cx = Localize {
            build: Builder::new(self.program, ops, loc),
            op,
            operands: &operands,
            operand_shards: &operand_shards,
            result_shards: &result_shards,
            result_types,
            results: Vec::new(),
            fetched: &fetched,
            start: &mut start,
        };
        def.localize(&mut cx);
        let locals = cx.results;
        if def.shows_sharding(self.program.view(op)) {
            self.show(globals[0], &ops[first..]);
        }
        self.follow_padding(op, &operands, &locals);
        self.values.extend(results.into_iter().zip(locals));
        Ok(())
    }

    /// Writes onto the per-device form of an op that shows the sharding of `global` the type and sharding to show.
    fn show(&mut self, global: Value, locals: &[Op]) {
        let ty = self.program.intern_attr(AttrData::Type(self.program.value_type(global)));
        let sharding = self.distributions.shardings().get(global).map(|s| self.program.sharding_text(&s.closed()));
        let sharding = sharding.map(|text| self.program.attr_str(&text));
        for &op in locals {
            self.program.set_attr(op, GLOBAL_TYPE, ty);
            sharding.into_iter().for_each(|text| self.program.set_attr(op, SHARDING, text));
        }
    }

    /// Makes the regions of an op that isn't control flow read local values; fails where one reads a sharded value.
    fn local_regions(&mut self, op: Op) -> Result<(), Diagnostic> {
        let regions = self.program.op(op).regions.clone();
        let mut captured: Vec<Value> = Vec::new();
        for &region in &regions {
            for &block in self.program.region_blocks(region) {
                let read = |o: Op| self.program.op(o).operands.clone();
                self.program
                    .walk(block, &mut |o| captured.extend(read(o).iter().filter(|v| self.values.contains_key(v))));
            }
        }
        if captured.is_empty() {
            return Ok(());
        }
        if captured.iter().any(|v| self.program.value_type(*v) != self.program.value_type(self.values[v])) {
            let message = format!("a region of '{}' reads a sharded value", self.program.op_name(op));
            let d = Diagnostic::error(codes::SHARDED_OPERAND, self.program.op(op).span, message);
            return Err(d.note("constrain the value to be replicated, or pass it as an operand"));
        }
        let mut renaming = dialect::ir::Renaming::default();
        renaming.values.extend(captured.iter().map(|v| (*v, self.values[v])));
        let copies: Vec<Region> = regions.iter().map(|&r| self.program.clone_region(r, &mut renaming)).collect();
        self.program.op_mut(op).regions = copies.into();
        Ok(())
    }

    fn reshard(
        &mut self,
        op: Op,
        reshard: &Reshard,
        globals: &[Value],
        operands: &[Value],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) {
        let (Some(&global), Some(&value)) = (globals.first(), operands.first()) else { return };
        let result = self.program.result(op, 0);
        let Some(ty) = self.program.tensor_type(global).cloned() else { return };
        if ty.shape.contains(&0) {
            // Every device has an empty shard, so nothing is moved.
            let (local, loc) = (self.local_type(result), self.program.op(op).loc);
            let shape = self.program.type_data(local).tensor().map(|t| t.shape.clone()).unwrap_or_default();
            let mut b = Builder::new(self.program, ops, loc);
            let empty =
                dialect::ops::build::splat(&mut b, ty.element, &shape, dialect::scalar::Scalar::zero(ty.element));
            self.values.insert(result, empty);
            return;
        }
        let whole = || Rc::new(Distribution::replicated(ty.rank()));
        let from = self.distribution(global).unwrap_or_else(whole);
        let to = self.distribution(result).unwrap_or_else(whole);
        let Some(reshard) = reshard.parts(self.mesh) else {
            let d = Diagnostic::error(
                codes::UNRELATED_MESHES,
                self.program.op(op).span,
                "the program's mesh lacks an axis of this collective",
            );
            return self.diagnostics.push(d.note("run the pass unify-meshes first"));
        };
        let (loc, cause) = (self.program.op(op).loc, self.program.attr(op, CAUSE));
        let mut lowering = Lowering {
            mesh: self.mesh,
            groups: self.groups,
            positions,
            channel: &mut self.channel,
            shape: &ty.shape,
            from: &from,
            to: &to,
        };
        let shifts = lowering.shifts(&reshard);
        let before = ops.len();
        let local = lowering.build(&mut Builder::new(self.program, ops, loc), &reshard, value);
        if self.paddings.is_uneven(global) || self.paddings.is_uneven(result) {
            let (mut before, after) = (from.shard(&ty.shape), to.shard(&ty.shape));
            self.paddings.fill(value, &mut before);
            let padding = uneven::after_reshard(&reshard, &before, &after, shifts, ty.element);
            self.paddings.note(local, &padding);
        }
        if let Some(cause) = cause {
            for &made in &ops[before..] {
                let view = self.program.view(made);
                if view.def().collective(view).is_some() {
                    self.program.set_attr(made, CAUSE, cause);
                }
            }
        }
        self.values.insert(result, local);
    }
}

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "partition",
    doc: "Turns the planned global program into the per-device program, with StableHLO collectives.",
    effect: crate::Effect::Reach(Stage::Partitioned),
    options: &[],
    run: |program, _, diagnostics| {
        if crate::mpmd::is_on_one_mesh(program, diagnostics) {
            partition(program, diagnostics);
        }
    },
};
