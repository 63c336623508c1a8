//! `triangular_solve`: systems of linear equations with a triangular matrix.

use super::{apply, conjugate, read, subtract_product, wide};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, Op, OpRef};
use crate::kernel::{External, Kernel, TriangularForm};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem, Steps, Surroundings};
use crate::ops::stablehlo::elementwise::{Classes, element};
use crate::ops::support::constraint::{
    Checked, declared, is_static, one, operand_count, require, same_element, show, tensor,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};

/// `triangular_solve`: <https://openxla.org/stablehlo/spec#triangular_solve>
pub struct TriangularSolve;

impl TriangularSolve {
    pub(super) fn check(op: OpRef<'_>) -> Checked<TriangularForm> {
        operand_count(op, 2)?;
        let (a, b) = (tensor(op, 0)?, tensor(op, 1)?);
        element(op, 0, Classes::FLOATING, "I1")?;
        same_element(op, 1, 0, "C1")?;
        let n = a.rank();
        let fits = n >= 2 && n == b.rank();
        require!(fits, operand = 1, "expected operands of one rank, 2 or more, found {n} and {} (C2)", b.rank());
        let left = op.flag("left_side");
        let same = |i: i64, j: i64| i == j || i < 0 || j < 0;
        let batches = a.shape[..n - 2].iter().zip(&b.shape).all(|(&i, &j)| same(i, j));
        let side = b.shape[if left { n - 2 } else { n - 1 }];
        let fits = batches && same(a.shape[n - 2], a.shape[n - 1]) && same(a.shape[n - 1], side);
        require!(fits, operand = 1, "expected square matrices {a} to fit {b} (C3)", a = show(op, a), b = show(op, b));
        let transpose = op.enum_value("transpose_a").unwrap_or("NO_TRANSPOSE");
        let known = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"].contains(&transpose);
        require!(known, "expected transpose_a to be NO_TRANSPOSE, TRANSPOSE or ADJOINT, found {transpose} (I6)");
        Ok(TriangularForm {
            left,
            lower: op.flag("lower"),
            unit: op.flag("unit_diagonal"),
            transposed: transpose != "NO_TRANSPOSE",
            conjugated: transpose == "ADJOINT",
        })
    }
}

impl OpDef for TriangularSolve {
    fn name(&self) -> &'static str {
        "stablehlo.triangular_solve"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        // (C4)
        if is_static(op) { one(tensor(op, 1)?.clone()) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match Self::check(op) {
            Ok(form) if is_static(op) => Kernel::External(External::TriangularSolve(form)),
            _ => Kernel::None,
        }
    }

    /// Returns a rule by which each column of unknowns (or row, with the matrix on the right) is solved for
    /// independently.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, FactorKind::PassThrough)
    }

    /// Returns Shardy's rule, which replicates these columns.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, FactorKind::NeedReplication)
    }

    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        super::blocks::in_steps(op, around, b)
    }

    /// Evaluates by substitution, forward or backward.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let form = Self::check(op)?;
        let (a, b) = (&operands[0], &operands[1]);
        if a.element.class() == ElementClass::Other {
            return Err(Problem::new("a system of quantized elements can't be solved").into());
        }
        let rank = b.shape.len();
        let (rows, columns) = (b.shape[rank - 2].max(0) as usize, b.shape[rank - 1].max(0) as usize);
        let n = if form.left { rows } else { columns };
        let free = if form.left { columns } else { rows };
        let mut x: Vec<Scalar> = (0..b.len()).map(|i| read(b, i)).collect();
        for batch in 0..b.len() / (rows * columns).max(1) {
            let entry = |i: usize, j: usize| {
                let at = if form.transposed { j * n + i } else { i * n + j };
                let value = read(a, batch * n * n + at);
                if form.conjugated { conjugate(value) } else { value }
            };
            // `x m = b` is the transpose of `m^T x^T = b^T`.
            let matrix = |i: usize, j: usize| if form.left { entry(i, j) } else { entry(j, i) };
            let forward = (form.lower != form.transposed) == form.left;
            for line in 0..free {
                let place =
                    |i: usize| batch * rows * columns + if form.left { i * columns + line } else { line * columns + i };
                for step in 0..n {
                    let i = if forward { step } else { n - 1 - step };
                    let before = if forward { 0..i } else { i + 1..n };
                    let sum = before.fold(x[place(i)], |sum, j| subtract_product(sum, matrix(i, j), x[place(j)]));
                    x[place(i)] = if form.unit { sum } else { apply(ScalarOp::Div, &[sum, matrix(i, i)]) };
                }
            }
        }
        debug_assert!(x.iter().all(|v| matches!(v, Scalar::Complex(..)) == (wide(b.element).is_complex())));
        Ok(vec![Literal::from_scalars(b.element, &b.shape, x)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%b: tensor<2x2x3xf32>) %a = stablehlo.constant dense<[[[2.0, 9.0], [4.0, 1.0]], [[1.0, 9.0], [3.0, 2.0]]]> : tensor<2x2x2xf32> %r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>",
            "(%b: tensor<3x2xcomplex<f64>>) %a = stablehlo.constant dense<[[(9.0, 0.0), (1.0, -2.0)], [(9.0, 9.0), (9.0, 0.0)]]> : tensor<2x2xcomplex<f64>> %r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = false, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<2x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>",
        ]
    }
}

/// Returns the rule, with factors of this kind for unknowns that are solved for independently.
fn rule(op: OpRef<'_>, kind: FactorKind) -> Option<ShardingRule> {
    let form = TriangularSolve::check(op).ok()?;
    let (a, b) = (&op.operand_tensor(0)?.shape, &op.operand_tensor(1)?.shape);
    let mut rule = ShardingRule::of_op(op);
    let (rows, columns) = (a.len() - 2, a.len() - 1);
    for d in 0..rows {
        rule.add_all(a[d], FactorKind::PassThrough, d);
    }
    let whole = FactorKind::NeedReplication;
    // The dimension of b and of the result along which the matrix acts, and the other one.
    let (along, free) = if form.left { (rows, columns) } else { (columns, rows) };
    // The matrix dimension that is summed over.
    let summed = if form.left != form.transposed { columns } else { rows };
    let kept = rows + columns - summed;
    if form.left {
        rule.add(a[kept], whole, &[(0, kept), (1, along)], &[]);
    }
    rule.add(b[free], kind, &[(1, free)], &[(0, free)]);
    if !form.left {
        rule.add(a[kept], whole, &[(0, kept), (1, along)], &[]);
    }
    rule.add(a[summed], whole, &[(0, summed)], &[(0, along)]);
    Some(rule)
}
