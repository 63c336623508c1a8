//! Dimensions that an op needs replicated, such as the one it concatenates along.
//!
//! The planner never leaves such a dimension sharded; a program that was sharded by hand may.

use std::rc::Rc;

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Op, Program, Value};
use dialect::sharding::{FactorKind, Mesh, ShardingTable, TensorSharding};

/// An error if `op` can't compute its results' shards from its operands' shards because a dimension it needs replicated
/// is sharded.
pub(super) fn check(program: &Program, op: Op, shardings: &ShardingTable, mesh: &Mesh) -> Result<(), Diagnostic> {
    let operands = program.op(op).operands.iter().copied();
    let values: Vec<Value> = operands.chain(program.results(op)).collect();
    let is_sharded = |s: &&Rc<TensorSharding>| (0..s.rank()).any(|d| s.shards(d, mesh) > 1);
    let sharded = |v: &Value| shardings.get(*v).filter(is_sharded);
    if !values.iter().any(|v| sharded(v).is_some()) {
        return Ok(());
    }
    let view = program.view(op);
    let Some(rule) = view.def().sharding_rule(view) else { return Ok(()) };
    for (value, dims) in values.iter().zip(rule.tensors()) {
        let Some(sharding) = sharded(value) else { continue };
        for (d, factors) in dims.iter().enumerate().take(sharding.rank()) {
            // Axes shard the major factors first.
            let mut shards = sharding.shards(d, mesh);
            for factor in factors.iter().filter_map(|&f| rule.factors.get(f as usize)) {
                if shards > 1 && matches!(factor.kind, FactorKind::Permutation | FactorKind::NeedReplication) {
                    let message =
                        format!("'{}' needs dimension {d} replicated, but it is sharded", program.op_name(op));
                    let text = program.sharding_text(sharding);
                    let d = Diagnostic::error(codes::SHARDED_OPERAND, program.op(op).span, message);
                    let d = d.also(program.value_span(*value), format!("sharded {text}"));
                    return Err(d.note("run the pass plan before: it moves values to where ops can read them"));
                }
                shards = shards / factor.size.max(1) + i64::from(shards % factor.size.max(1) != 0);
            }
        }
    }
    Ok(())
}
