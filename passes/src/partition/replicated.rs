//! Dimensions that an op needs replicated, such as the one it concatenates along.
//!
//! The planner never leaves such a dimension sharded; a program that was sharded by hand may.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Op, Program, Value};
use dialect::sharding::{Distribution, Distributions, FactorKind};

/// An error if `op` can't compute its results' shards from its operands' shards because a dimension it needs replicated
/// is sharded.
pub(super) fn check(program: &Program, op: Op, distributions: &Distributions) -> Result<(), Diagnostic> {
    let operands = program.op(op).operands.iter().copied();
    let values: Vec<Value> = operands.chain(program.results(op)).collect();
    let is_sharded = |d: &&Distribution| d.dims.iter().any(|axes| !axes.is_empty());
    let sharded = |v: &Value| distributions.get(*v).map(|d| &**d).filter(is_sharded);
    if !values.iter().any(|v| sharded(v).is_some()) {
        return Ok(());
    }
    let view = program.view(op);
    let Some(rule) = view.def().sharding_rule(view) else { return Ok(()) };
    for (tensor, (value, dims)) in values.iter().zip(rule.tensors()).enumerate() {
        let Some(distribution) = sharded(value) else { continue };
        for (d, factors) in dims.iter().enumerate().take(distribution.rank()) {
            // Axes shard the major factors first.
            let mut shards = distribution.shards(d);
            for factor in factors.iter().filter_map(|&f| rule.factors.get(f as usize)) {
                let moves =
                    factor.kind == FactorKind::Permutation && !super::halo::is_along_halo(program, op, tensor, d);
                if shards > 1 && (moves || factor.kind == FactorKind::NeedReplication) {
                    let message =
                        format!("'{}' needs dimension {d} replicated, but it is sharded", program.op_name(op));
                    let mut d = Diagnostic::error(codes::SHARDED_OPERAND, program.op(op).span, message);
                    if let Some(sharding) = distributions.shardings().get(*value) {
                        let text = program.sharding_text(sharding);
                        d = d.also(program.value_span(*value), format!("sharded {text}"));
                    }
                    return Err(d.note("run the pass plan before: it moves values to where ops can read them"));
                }
                shards = shards / factor.size.max(1) + i64::from(shards % factor.size.max(1) != 0);
            }
        }
    }
    Ok(())
}
