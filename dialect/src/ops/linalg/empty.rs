//! `tensor.empty`: a tensor with undefined contents, into which structured ops write.

use crate::eval::{Context, EvalResult};
use crate::ir::OpRef;
use crate::kernel::{Body, Inst, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Constancy, Inferred, OpDef};
use crate::ops::support::constraint::{operand_count, require, result};
use crate::scalar::Scalar;
use crate::sharding::ShardingRule;
use crate::text::{CustomSyntax, Syntax};

/// `tensor.empty`
pub(super) struct Empty;

static SYNTAX: CustomSyntax = CustomSyntax {
    parse: |p, op| {
        p.expect("(")?;
        p.expect(")")?;
        p.attr_dict(op)?;
        p.expect(":")?;
        let ty = p.ty()?;
        op.results.push(ty);
        Ok(())
    },
    print: |p, op| {
        let [ty] = op.result_type_ids()[..] else { return false };
        p.text("()");
        p.attr_dict(op, &[]);
        p.text(" : ");
        p.ty(ty);
        op.operands().is_empty()
    },
};

impl OpDef for Empty {
    fn name(&self) -> &'static str {
        "tensor.empty"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 0)?;
        let ty = result(op, 0)?;
        require!(ty.is_static(), "dynamic sizes are not supported");
        Ok(op.result_types().cloned().collect())
    }

    fn sharding_rule(&self, _: OpRef<'_>) -> Option<ShardingRule> {
        None
    }

    /// Returns a nest of zeros, because results must not depend on the contents.
    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Some(ty) = op.result_tensor(0) else { return Kernel::None };
        let mut body = Body::default();
        body.results = vec![body.push(Inst::Const(Scalar::zero(ty.element), ty.element))];
        let loops: smallvec::SmallVec<[i64; 6]> = ty.shape.iter().copied().collect();
        Kernel::Nest(Nest { parallel: loops.len(), loops, body, ..Nest::default() })
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let ty = op.result_tensor(0).ok_or_else(|| crate::eval::EvalError::new("expected a tensor"))?;
        Ok(vec![Literal::splat(ty.element, &ty.shape, Scalar::zero(ty.element))])
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Source
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() %r = tensor.empty() : tensor<2x4xf32>"]
    }
}
