//! `chlo.top_k`: the largest elements along the last dimension, with their positions.

use std::cmp::Ordering;

use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, ElementType, Op, OpRef, TensorType, Value};
use crate::kernel::{External, Kernel};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, int, is_static, operand_count, require, show, tensor};
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&TopK];

/// `chlo.top_k`: <https://openxla.org/stablehlo/generated/chlo#chlotop_k_chlotopkop>
pub struct TopK;

impl TopK {
    fn check(op: OpRef<'_>) -> Checked<i64> {
        operand_count(op, 1)?;
        let operand = tensor(op, 0)?;
        let k = int(op, "k")?;
        let class = operand.element.class();
        let fits = operand.rank() > 0 && !matches!(class, ElementClass::Complex | ElementClass::Other);
        require!(fits, operand = 0, "expected real numbers of rank 1 or more, found {}", show(op, operand));
        let last = operand.shape[operand.rank() - 1];
        require!(k >= 0 && (last < 0 || k <= last), "expected k in 0..={last}, found {k}");
        Ok(k)
    }
}

impl OpDef for TopK {
    fn name(&self) -> &'static str {
        "chlo.top_k"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[
            Piece::Token("("),
            Piece::Operands,
            Piece::Token(","),
            Piece::Token("k"),
            Piece::Token("="),
            Piece::Int("k"),
            Piece::Optional(
                "is_stable",
                &[Piece::Token(","), Piece::Token("is_stable"), Piece::Token("="), Piece::Attr("is_stable")],
            ),
            Piece::Token(")"),
            Piece::AttrDict,
            Piece::Types(TypeForm::Arrow),
        ])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let k = Self::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let operand = tensor(op, 0)?;
        let mut shape = operand.shape.clone();
        *shape.last_mut().ok_or_else(|| Problem::new("expected a dimension"))? = k;
        Ok([operand.element, ElementType::I32].map(|e| TensorType::new(&shape, e).into()).to_vec())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let shape = &op.operand_tensor(0)?.shape;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in shape.iter().enumerate() {
            let last = d + 1 == shape.len();
            let factor =
                rule.add_all(size, if last { FactorKind::NeedReplication } else { FactorKind::PassThrough }, d);
            if last {
                rule.block(factor);
            }
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let k = Self::check(op)? as usize;
        let operand = &operands[0];
        let mut shape = operand.shape.clone();
        let last = shape.len() - 1;
        let n = shape[last].max(0) as usize;
        shape[last] = k as i64;
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        for row in 0..operand.len().checked_div(n).unwrap_or(0) {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| total(operand.get(row * n + b), operand.get(row * n + a)));
            values.extend(order[..k].iter().map(|&i| operand.get(row * n + i)));
            indices.extend(order[..k].iter().map(|&i| Scalar::Int(i as i128)));
        }
        Ok(vec![
            Literal::from_scalars(operand.element, &shape, values),
            Literal::from_scalars(ElementType::I32, &shape, indices),
        ])
    }

    /// Builds a sort of values and positions together, cut off after the first k.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let k = Self::check(view).ok().filter(|_| is_static(view))?;
        let operand = view.operands()[0];
        let shape = view.operand_tensor(0)?.shape.clone();
        let last = shape.len() - 1;
        let positions = build::iota(b, ElementType::I32, &shape, last);
        let sorted = build::region::sort_down(b, &[operand, positions], last as i64);
        Some(sorted.into_iter().map(|v| build::shape::slice_dim(b, v, last, 0, k)).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %v, %i = chlo.top_k(%a, k = 2) : tensor<4x6xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)",
            "(%a: tensor<6xui8>) %v, %i = chlo.top_k(%a, k = 6) : tensor<6xui8> -> (tensor<6xui8>, tensor<6xi32>)",
        ]
    }
}

/// Compares two elements in total order.
fn total(a: Scalar, b: Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(&b),
        _ => a.as_f64().total_cmp(&b.as_f64()),
    }
}
