//! Removes axes of size one from the user's own collectives, because they are dropped from shardings, too, and replaces
//! a collective that then does nothing by its operand.

use dialect::ir::{AttrData, Block, Program, Value};
use dialect::ops::sdy::resolve;
use dialect::sharding::{AxisList, Mesh};
use rustc_hash::FxHashMap;

/// Removes axes of size one from every collective.
pub(crate) fn forget(program: &mut Program) {
    if !has_trivial_axes(program) {
        return;
    }
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    forget_in(program, program.body(), &mut renamed);
}

/// Returns whether any mesh has such an axis.
fn has_trivial_axes(program: &Program) -> bool {
    let trivial = |mesh: &Mesh| mesh.axes.iter().any(|a| a.1 == 1);
    let mut found = false;
    program.walk(program.body(), &mut |op| {
        let attrs = program.op(op).attrs.iter().map(|a| program.attr_data(a.1));
        found |= attrs.filter_map(|a| a.as_mesh().or_else(|| resolve(program, &a.as_sharding()?.mesh))).any(trivial);
    });
    found
}

fn forget_in(program: &mut Program, block: Block, renamed: &mut FxHashMap<Value, Value>) {
    let mut kept = Vec::new();
    for op in program.block_ops(block).to_vec() {
        program.rename_operands(op, renamed);
        for region in program.op(op).regions.clone() {
            for inner in program.region_blocks(region).to_vec() {
                forget_in(program, inner, renamed);
            }
        }
        let view = program.view(op);
        let out = view.attr("out_sharding").and_then(AttrData::as_sharding);
        let mesh = out.filter(|_| view.def().reshard(view).is_some()).and_then(|s| resolve(program, &s.mesh)).cloned();
        let Some(mesh) = mesh else {
            kept.push(op);
            continue;
        };
        let mut empty = false;
        for i in 0..program.op(op).attrs.len() {
            let new = match program.attr_data(program.op(op).attrs[i].1) {
                AttrData::Axes(axes) => {
                    let left = nontrivial(axes, &mesh);
                    empty = left.is_empty() && !axes.is_empty();
                    AttrData::Axes(left)
                }
                AttrData::AxesPerDim(dims) => {
                    let left: Vec<AxisList> = dims.iter().map(|axes| nontrivial(axes, &mesh)).collect();
                    empty = left.iter().all(|d| d.is_empty()) && !dims.iter().all(|d| d.is_empty());
                    AttrData::AxesPerDim(left)
                }
                AttrData::AllToAllParams(moves) => {
                    let mut left = moves.clone();
                    left.iter_mut().for_each(|m| m.axes = nontrivial(&m.axes, &mesh));
                    left.retain(|m| !m.axes.is_empty());
                    empty = left.is_empty();
                    AttrData::AllToAllParams(left)
                }
                _ => continue,
            };
            let new = program.intern_attr(new);
            program.op_mut(op).attrs[i].1 = new;
        }
        match (empty, program.op(op).operands.first()) {
            (true, Some(&operand)) => {
                renamed.insert(program.result(op, 0), operand);
            }
            _ => kept.push(op),
        }
    }
    program.set_block_ops(block, kept);
}

fn nontrivial(axes: &AxisList, mesh: &Mesh) -> AxisList {
    axes.iter().copied().filter(|a| a.range(mesh).1 != 1).collect()
}
