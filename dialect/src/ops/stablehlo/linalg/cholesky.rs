//! `cholesky`: factors a Hermitian positive-definite matrix into a triangular matrix times its adjoint.

use super::{apply, conjugate, read, subtract_product, wide};
use crate::eval::{Context, EvalResult};
use crate::ir::{ElementClass, OpRef, TensorType};
use crate::kernel::{External, Kernel};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::elementwise::{Classes, element};
use crate::ops::support::constraint::{Checked, declared, is_static, one, operand_count, require, show, tensor};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// `cholesky`: <https://openxla.org/stablehlo/spec#cholesky>
pub struct Cholesky;

impl Cholesky {
    fn check(op: OpRef<'_>) -> Checked<&TensorType> {
        operand_count(op, 1)?;
        let a = tensor(op, 0)?;
        element(op, 0, Classes::FLOATING, "I1")?;
        let n = a.rank();
        require!(n >= 2, operand = 0, "expected rank 2 or more, found {} (C2)", show(op, a));
        let (rows, columns) = (a.shape[n - 2], a.shape[n - 1]);
        let fits = rows == columns || rows < 0 || columns < 0;
        require!(fits, operand = 0, "expected square matrices, found {} (C3)", show(op, a));
        Ok(a)
    }
}

impl OpDef for Cholesky {
    fn name(&self) -> &'static str {
        "stablehlo.cholesky"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[
            Piece::Operands,
            Piece::Optional(
                "lower",
                &[Piece::Token(","), Piece::Token("lower"), Piece::Token("="), Piece::Attr("lower")],
            ),
            Piece::AttrDict,
            Piece::Types(TypeForm::SameOrFunctional),
        ])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let a = Self::check(op)?;
        // (C1)
        if is_static(op) { one(a.clone()) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Cholesky { lower: op.flag("lower") }) } else { Kernel::None }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let a = Self::check(op).ok()?;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in a.shape.iter().enumerate() {
            let kind = if d + 2 < a.rank() { FactorKind::PassThrough } else { FactorKind::NeedReplication };
            rule.add_all(size, kind, d);
        }
        Some(rule)
    }

    /// Evaluates the factor. The other triangle is zero; a matrix that isn't positive-definite gives NaNs.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Self::check(op)?;
        let (a, lower) = (&operands[0], op.flag("lower"));
        if a.element.class() == ElementClass::Other {
            return Err(Problem::new("a matrix of quantized elements can't be decomposed").into());
        }
        let n = a.shape[a.shape.len() - 1].max(0) as usize;
        let zero = Scalar::zero(wide(a.element));
        let mut values = vec![zero; a.len()];
        for start in (0..a.len()).step_by((n * n).max(1)) {
            let mut l = vec![zero; n * n];
            // Reads the triangle in use as a lower one.
            let get = |i: usize, j: usize| {
                if lower { read(a, start + i * n + j) } else { conjugate(read(a, start + j * n + i)) }
            };
            for j in 0..n {
                let square = (0..j).fold(get(j, j), |s, k| subtract_product(s, l[j * n + k], conjugate(l[j * n + k])));
                let pivot = real(square).sqrt();
                // A pivot that isn't positive has no real square root.
                let pivot = if pivot > 0.0 { pivot } else { f64::NAN };
                l[j * n + j] = like(zero, pivot);
                for i in j + 1..n {
                    let sum = (0..j).fold(get(i, j), |s, k| subtract_product(s, l[i * n + k], conjugate(l[j * n + k])));
                    l[i * n + j] = apply(ScalarOp::Div, &[sum, l[j * n + j]]);
                }
            }
            for i in 0..n {
                for j in 0..=i {
                    let (at, value) =
                        if lower { (i * n + j, l[i * n + j]) } else { (j * n + i, conjugate(l[i * n + j])) };
                    values[start + at] = value;
                }
            }
        }
        Ok(vec![Literal::from_scalars(a.element, &a.shape, values)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %a = stablehlo.constant dense<[[[1.0, 2.0, 3.0], [2.0, 20.0, 26.0], [3.0, 26.0, 70.0]], [[4.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x3x3xf32> %r = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>",
            "() %a = stablehlo.constant dense<[[(4.0, 0.0), (0.0, 2.0)], [(0.0, -2.0), (5.0, 0.0)]]> : tensor<2x2xcomplex<f32>> %r = stablehlo.cholesky %a : tensor<2x2xcomplex<f32>>",
        ]
    }
}

fn real(value: Scalar) -> f64 {
    value.as_f64()
}

/// Returns `value` as an element of the same kind as `other`.
fn like(other: Scalar, value: f64) -> Scalar {
    match other {
        Scalar::Complex(..) => Scalar::Complex(value, 0.0),
        _ => Scalar::Float(value),
    }
}
