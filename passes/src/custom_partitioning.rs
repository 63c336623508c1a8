//! custom-partitioning: writes the shardings of operands and results onto ops that partition themselves, for the
//! process whose functions partition them (JAX's `custom_partitioning`).
//!
//! That process replaces each by a manual computation. No other process can partition such an op, because its rule is a
//! pointer.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, Op, Program, Value};
use dialect::ops::{func, sdy};
use dialect::sharding::{MeshRef, ShardingTable, TensorSharding};

/// The pass.
pub(crate) static PASS: crate::Pass = crate::Pass {
    name: "custom-partitioning",
    doc: "Writes the shardings of operands and results onto ops that partition themselves.",
    effect: crate::Effect::Rewrite,
    options: &[],
    run: |program, _, _| state(program),
};

fn state(program: &mut Program) {
    let found = found(program);
    if found.is_empty() {
        return;
    }
    let table = ShardingTable::of(program);
    // Without a mesh all values are replicated.
    let mesh = table.iter().map(|s| s.mesh.clone()).find(|mesh| matches!(mesh, MeshRef::Symbol(_)));
    let Some(mesh) = mesh else { return };
    for op in found {
        let of = |program: &Program, value: Value| {
            let rank = program.tensor_type(value).map_or(0, |ty| ty.rank());
            let whole = || TensorSharding::replicated(mesh.clone(), rank);
            table.get(value).filter(|s| s.dims.len() == rank).map_or_else(whole, |s| s.closed())
        };
        let operands: Vec<Value> = program.op(op).operands.to_vec();
        let results: Vec<Value> = program.results(op).collect();
        for (name, values) in [(sdy::OPERAND_SHARDINGS, operands), (sdy::RESULT_SHARDINGS, results)] {
            let shardings = values.into_iter().map(|v| of(program, v)).collect();
            let attr = program.intern_attr(AttrData::ShardingPerValue(shardings));
            program.set_attr(op, name, attr);
        }
    }
}

/// Returns the ops of `@main` that partition themselves.
fn found(program: &Program) -> Vec<Op> {
    let block = func::function(program, "main").and_then(|main| func::block(program, main));
    let ops = block.map_or_else(Vec::new, |block| program.ops_under(block));
    ops.into_iter().filter(|&op| program.op(op).def.partitions_itself(program.view(op))).collect()
}

/// Rejects ops that partition themselves, on more than one device.
pub(crate) fn refuse(program: &Program, devices: i64, diagnostics: &mut Diagnostics) {
    if devices < 2 {
        return;
    }
    for op in found(program) {
        let message = "only the Python process that wrote this custom_partitioning call can partition it";
        let d = Diagnostic::error(codes::CUSTOM_PARTITIONING, program.op(op).span, message);
        diagnostics.push(d.note("compile it with shardc.jit in that process, or write it as a shard_map"));
    }
}
