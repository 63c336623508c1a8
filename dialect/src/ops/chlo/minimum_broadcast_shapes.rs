//! `chlo.minimum_broadcast_shapes`: the lowest-rank shapes that broadcast like the given ones.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Value};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, is_static, require, show, tensor};
use crate::scalar::Scalar;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&MinimumBroadcastShapes];

/// `chlo.minimum_broadcast_shapes`:
/// <https://openxla.org/stablehlo/generated/chlo#chlominimum_broadcast_shapes_chlominimumbroadcastshapesop>
pub struct MinimumBroadcastShapes;

/// `%a, %b : tensor<2xindex>, tensor<3xindex> -> tensor<?xindex>, tensor<?xindex>`
static SYNTAX: CustomSyntax = CustomSyntax { parse, print };

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands(op)?;
    p.attr_dict(op)?;
    p.types(op, TypeForm::Arrow)
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if op.operands().is_empty() || op.result_count() == 0 {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    p.attr_dict(op, &[]);
    p.text(" : ");
    let operands: Vec<_> = op.operands().iter().map(|&v| op.program.value_type(v)).collect();
    p.types(&operands);
    p.text(" -> ");
    p.types(&op.result_type_ids());
    true
}

/// Returns the reduced form of each shape. Dimensions are aligned from the last. Adjacent dimensions in which the same
/// shapes have size 1 (or no dimension) broadcast alike and are merged; those in which all shapes do are dropped.
fn minimum(shapes: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let size = |shape: &Vec<i64>, dim: usize| (dim + shape.len()).checked_sub(rank).map_or(1, |d| shape[d]);
    let mut merged: Vec<Vec<i64>> = vec![Vec::new(); shapes.len()];
    let mut last: Vec<bool> = Vec::new();
    for dim in 0..rank {
        let sizes: Vec<i64> = shapes.iter().map(|s| size(s, dim)).collect();
        let expands: Vec<bool> = sizes.iter().map(|&n| n == 1).collect();
        if expands.iter().all(|&e| e) {
            continue;
        }
        for (out, n) in merged.iter_mut().zip(sizes) {
            match out.last_mut() {
                Some(product) if expands == last => *product *= n,
                _ => out.push(n),
            }
        }
        last = expands;
    }
    // Leading dimensions of size 1 aren't needed to broadcast.
    merged.into_iter().map(|s| s.into_iter().skip_while(|&n| n == 1).collect()).collect()
}

impl MinimumBroadcastShapes {
    fn check(op: OpRef<'_>) -> Checked<()> {
        let (operands, results) = (op.operands().len(), op.result_count());
        let valid = operands > 0 && operands == results;
        require!(valid, "expected as many results as shapes, found {results} of {operands}");
        for i in 0..operands {
            let ty = tensor(op, i)?;
            let valid = ty.rank() == 1 && ty.element == ElementType::Index;
            require!(valid, operand = i, "expected a list of sizes such as tensor<2xindex>, found {}", show(op, ty));
        }
        Ok(())
    }

    /// Returns whether the result types have as many elements as the shapes have dimensions.
    fn fits(op: OpRef<'_>, shapes: &[Vec<i64>]) -> bool {
        let declared = |i| op.result_tensor(i).and_then(|t| t.shape.first().copied());
        shapes.iter().enumerate().all(|(i, s)| declared(i).is_none_or(|n| n < 0 || n == s.len() as i64))
    }
}

/// Returns a shape as a list of sizes.
fn literal(shape: &[i64]) -> Literal {
    let sizes = shape.iter().map(|&n| Scalar::Int(n.into()));
    Literal::from_scalars(ElementType::Index, &[shape.len() as i64], sizes)
}

impl OpDef for MinimumBroadcastShapes {
    fn name(&self) -> &'static str {
        "chlo.minimum_broadcast_shapes"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        declared(op)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let shapes: Option<Vec<Vec<i64>>> = operands.iter().map(Literal::to_ints).collect();
        let shapes = minimum(&shapes.ok_or_else(|| EvalError::new("an operand is not a shape"))?);
        match Self::fits(op, &shapes) {
            true => Ok(shapes.iter().map(|s| literal(s)).collect()),
            false => {
                Err(EvalError::new(format!("the computed shapes {shapes:?} have other ranks than the declared ones")))
            }
        }
    }

    /// Replaces the results by constants if all shapes are constants.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let shapes: Option<Vec<Vec<i64>>> =
            (0..view.operands().len()).map(|i| view.constant_operand(i)?.to_ints()).collect();
        let shapes = minimum(&shapes?);
        if !is_static(view) || !Self::fits(view, &shapes) {
            return None;
        }
        Some(shapes.iter().map(|s| build::constant(b, literal(s))).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %a = stablehlo.constant dense<[1, 2, 3, 1, 2, 1]> : tensor<6xindex> %b = stablehlo.constant dense<[1, 1, 1, 2, 3]> : tensor<5xindex> %r:2 = chlo.minimum_broadcast_shapes %a, %b : tensor<6xindex>, tensor<5xindex> -> tensor<3xindex>, tensor<2xindex>",
            "() %a = stablehlo.constant dense<[4, 4]> : tensor<2xindex> %r = chlo.minimum_broadcast_shapes %a : tensor<2xindex> -> tensor<1xindex>",
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::minimum;

    #[test]
    fn what_broadcasts_alike_becomes_one_dimension() {
        let of = |shapes: &[&[i64]]| minimum(&shapes.iter().map(|s| s.to_vec()).collect::<Vec<_>>());
        assert_eq!(of(&[&[1, 2, 3, 1, 2, 1], &[1, 1, 1, 2, 3]]), [vec![6, 2, 1], vec![2, 3]]);
        assert_eq!(of(&[&[2, 1, 3], &[2, 1, 3]]), [[6], [6]]);
        assert_eq!(of(&[&[5, 1], &[1, 7]]), [vec![5, 1], vec![7]]);
        assert_eq!(of(&[&[8, 4], &[]]), [vec![32], vec![]]);
        assert_eq!(of(&[&[0, 4], &[0, 4]]), [[0], [0]]);
        assert_eq!(of(&[&[1, 1], &[1]]), [Vec::<i64>::new(), vec![]]);
    }
}
