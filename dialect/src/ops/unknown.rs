//! Unregistered ops, which are kept in generic form and printed back. A user's `sdy.sharding_rule` on them is followed,
//! and `shardc.reduction` states how partial results combine if a reduction factor is sharded.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::OpRef;
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::ops::sdy;
use crate::sharding::{ReductionKind, ShardingRule};

/// The definition of every op without a specific one.
pub struct Unknown;

/// The definition of every op without a specific one.
pub static UNKNOWN: Unknown = Unknown;

impl OpDef for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Ok(op.result_types().cloned().collect())
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        op.attr(sdy::SHARDING_RULE)?.as_rule().cloned()
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        sdy::stated_reduction(op)
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new(format!("op '{}' is unknown, so it can't be run", op.name())))
    }
}
