//! The sharding rule of a loop nest.

use super::rule::ShardingRule;
use crate::ir::OpRef;
use crate::kernel::Nest;

/// The factors a nest's loops say.
pub fn rule_of_nest(op: OpRef<'_>, _nest: &Nest) -> ShardingRule {
    let ranks = |ts: Vec<usize>| ts;
    let operands = ranks(op.operands().iter().map(|&v| op.program.tensor_type(v).map_or(0, |t| t.rank())).collect());
    let results = ranks(op.results().map(|v| op.program.tensor_type(v).map_or(0, |t| t.rank())).collect());
    ShardingRule::new(&operands, &results)
}
