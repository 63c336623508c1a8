//! Typed builders for Shardy's ops: meshes, annotations of a value, changes of its sharding. Functions without a
//! [`Builder`] return an op that isn't in a block yet.

use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, Loc, Name, Op, Program, Ty, Value};
use crate::op::OpDef;
use crate::ops::sdy::{self, MESH, OUT_SHARDING, ReshardOp, SHARDING, ShardingConstraint};
use crate::sharding::{Mesh, Reshard, TensorSharding};

/// Creates `sdy.mesh @name = <mesh>`.
pub fn mesh(program: &mut Program, name: &str, mesh: Mesh) -> Op {
    let attrs = [
        (program.name("sym_name"), program.attr_str(name)),
        (program.name("mesh"), program.intern_attr(AttrData::Mesh(mesh))),
    ];
    program.new_op(&MESH, &[], &[], &attrs, &[], Loc::UNKNOWN)
}

/// Creates `sdy.sharding_constraint` of `value`, at the location of the value.
pub fn constraint(program: &mut Program, value: Value, sharding: TensorSharding) -> Op {
    let loc = program.value_loc(value);
    annotation(program, &ShardingConstraint, value, sharding, SHARDING, Vec::new(), loc)
}

/// Creates `sdy.reshard` of `value`, at the location of the value.
pub fn reshard(program: &mut Program, value: Value, sharding: TensorSharding) -> Op {
    let loc = program.value_loc(value);
    annotation(program, &ReshardOp, value, sharding, SHARDING, Vec::new(), loc)
}

/// Creates the Shardy collective on the global `value` that performs `change`, with the sharding `out` as its result;
/// creates a reshard if nothing changes.
pub fn collective(program: &mut Program, value: Value, change: &Reshard, out: TensorSharding, loc: Loc) -> Op {
    match sdy::written(program, change) {
        Some((def, attrs)) => annotation(program, def, value, out, OUT_SHARDING, attrs, loc),
        None => reshard(program, value, out),
    }
}

/// Builds `sdy.manual_computation` with these in_shardings, out_shardings and manual axes, and results of these types.
/// `body` builds the local results from the local operands, whose types are the global ones.
pub fn manual_computation(
    b: &mut Builder<'_>,
    operands: &[Value],
    (ins, outs, manual_axes): (Vec<TensorSharding>, Vec<TensorSharding>, Vec<Name>),
    results: &[Ty],
    body: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
) -> Op {
    let types: Vec<Ty> = operands.iter().map(|&v| b.program.value_type(v)).collect();
    let region = b.region(&types, |b, arguments| {
        let values = body(b, arguments);
        b.op(&sdy::RETURN, &values, &[], &[]);
    });
    let attrs = [
        (sdy::IN_SHARDINGS, AttrData::ShardingPerValue(ins)),
        (sdy::OUT_SHARDINGS, AttrData::ShardingPerValue(outs)),
        (sdy::MANUAL_AXES, AttrData::ManualAxes(manual_axes)),
    ];
    let attrs: Vec<(Name, Attr)> =
        attrs.into_iter().map(|(name, data)| (b.program.name(name), b.program.intern_attr(data))).collect();
    let def = &sdy::MANUAL_COMPUTATION;
    b.raw(def, def.name(), operands, results, &attrs, &[region])
}

fn annotation(
    program: &mut Program,
    def: &'static dyn OpDef,
    value: Value,
    sharding: TensorSharding,
    holder: &str,
    mut attrs: Vec<(Name, Attr)>,
    loc: Loc,
) -> Op {
    let attr = program.intern_attr(AttrData::Sharding(sharding));
    attrs.push((program.name(holder), attr));
    let ty = program.value_type(value);
    program.new_op(def, &[value], &[ty], &attrs, &[], loc)
}
