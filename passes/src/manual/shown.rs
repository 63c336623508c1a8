//! Moves ops that show the sharding of a value out of the manual computation, in which values have no sharding: each op
//! shows a constant that is sharded as the plan shards the op's value. XLA calls back when it compiles.

use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, Loc, Name, Program, Value};
use dialect::op::OpDef;
use dialect::ops::stablehlo::control::CustomCall;
use dialect::ops::{build, func};
use dialect::scalar::Scalar;
use dialect::sharding::TensorSharding;
use dialect::signature::{self, Side};
use rustc_hash::FxHashMap;

/// An op that shows a sharding.
pub(super) struct Shown {
    side: Side,
    attrs: Vec<(Name, Attr)>,
    loc: Loc,
}

/// Removes these ops from `block` and returns them.
pub(super) fn take(program: &mut Program, block: Block) -> Vec<Shown> {
    let (mut shown, mut renamed) = (Vec::new(), FxHashMap::default());
    for inner in program.blocks_under(block) {
        let ops = program.block_ops(inner).to_vec();
        let mut kept = Vec::with_capacity(ops.len());
        for &op in &ops {
            let view = program.view(op);
            let shows = view.def().shows_sharding(view);
            let Some(side) = shows.then(|| signature::stated_side(program, op)).flatten() else {
                kept.push(op);
                continue;
            };
            program.remove_attr(op, signature::GLOBAL_TYPE);
            program.remove_attr(op, signature::SHARDING);
            let data = program.op(op);
            shown.push(Shown { side, attrs: data.attrs.to_vec(), loc: data.loc });
            renamed.insert(program.result(op, 0), program.op(op).operands[0]);
        }
        if kept.len() < ops.len() {
            program.set_block_ops(inner, kept);
        }
    }
    let renamed = resolved(renamed);
    program.rename(&renamed);
    shown
}

/// Resolves chains of renamings: each value maps to the last.
fn resolved(renamed: FxHashMap<Value, Value>) -> FxHashMap<Value, Value> {
    let last = |mut value: Value| {
        while let Some(&next) = renamed.get(&value) {
            value = next;
        }
        value
    };
    renamed.iter().map(|(&from, &to)| (from, last(to))).collect()
}

/// Writes the ops that show the sharding `sharding`. A constraint holds it, because Shardy removes shardings from
/// constants.
pub(super) fn show(b: &mut Builder<'_>, shown: &Shown, sharding: TensorSharding) {
    let first = b.ops.len();
    let global = &shown.side.global;
    let value = build::splat(b, global.element, &global.shape, Scalar::zero(global.element));
    let held = build::sdy::constraint(b.program, value, sharding.clone());
    b.ops.push(held);
    let name = b.program.name(func::SHARDING);
    let attr = b.program.intern_attr(AttrData::ShardingPerValue(vec![sharding]));
    let mut attrs: Vec<(Name, Attr)> = shown.attrs.iter().copied().filter(|a| a.0 != name).collect();
    attrs.push((name, attr));
    let (operand, ty) = (b.program.result(held, 0), b.program.value_type(value));
    b.raw(&CustomCall, CustomCall.name(), &[operand], &[ty], &attrs, &[]);
    for &op in &b.ops[first..] {
        b.program.op_mut(op).loc = shown.loc;
    }
}

impl Shown {
    /// Returns the global type and sharding of its value.
    pub(super) fn side(&self) -> &Side {
        &self.side
    }
}
