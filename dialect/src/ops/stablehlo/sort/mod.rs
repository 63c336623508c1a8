//! `sort`: sorts one-dimensional slices of several tensors together, by any comparator.

mod columns;
mod steps;

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, TypeData};
use crate::kernel::{self, External, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Steps, Surroundings};
use crate::ops::support::comparator::{Comparator, check_comparator, comparing_body};
use crate::ops::support::constraint::{Checked, declared, int, is_static, require, same_shape, tensor};
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ShardingRule};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Sort];

/// `sort`: <https://openxla.org/stablehlo/spec#sort>
pub struct Sort;

impl Sort {
    /// Returns the dimension sorted along; `None` for any other op and if its constraints are violated.
    pub fn dim(op: OpRef<'_>) -> Option<usize> {
        (op.name() == Sort.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<usize> {
        require!(!op.operands().is_empty(), "expected at least one operand (C1)");
        let first = tensor(op, 0)?;
        for i in 1..op.operands().len() {
            same_shape(op, i, 0, "C3")?;
        }
        let rank = first.rank() as i64;
        let dim = match op.attr("dimension") {
            Some(_) => int(op, "dimension")?,
            None => -1,
        };
        require!((-rank..rank).contains(&dim), "expected dimension in {}..{rank}, found {dim} (C4)", -rank);
        Ok(dim.rem_euclid(rank) as usize)
    }
}

fn elements(op: OpRef<'_>) -> Vec<ElementType> {
    op.operand_types().filter_map(|t| Some(t.tensor()?.element)).collect()
}

impl OpDef for Sort {
    fn name(&self) -> &'static str {
        "stablehlo.sort"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        check_comparator(op, 0, &elements(op), "C5")?;
        if !is_static(op) {
            return declared(op);
        }
        // (C2)
        Ok(op.operand_types().map(|t| t.tensor().map_or(TypeData::None, |t| t.clone().into())).collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(dim), true) = (Self::check(op), is_static(op)) else { return Kernel::None };
        Kernel::External(External::Sort(kernel::Sort { dim, before: comparing_body(op, 0, op.operands().len()) }))
    }

    /// Returns a rule with the sorted dimension replicated; if there is only one slice, shardings don't propagate along
    /// it.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dim = Self::dim(op)?;
        let shape = &op.operand_tensor(0)?.shape;
        let alone = shape.iter().enumerate().all(|(d, &size)| d == dim || size == 1);
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in shape.iter().enumerate() {
            let kind = if d == dim { FactorKind::NeedReplication } else { FactorKind::PassThrough };
            let factor = rule.add_all(size, kind, d);
            if d == dim && alone {
                rule.block(factor);
            }
        }
        Some(rule)
    }

    /// Evaluates it by a stable merge sort, even if the order of equal elements is unspecified, because any order is
    /// allowed then.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dim = Self::check(op)?;
        let shape = operands[0].shape.clone();
        let comparator = Comparator::of(op, 0, &elements(op))?;
        let size = shape[dim].max(0) as usize;
        let step: usize = shape[dim + 1..].iter().map(|&d| d.max(0) as usize).product();
        let mut starts = shape.clone();
        starts[dim] = starts[dim].min(1);
        let mut values: Vec<Vec<Scalar>> = operands.iter().map(|o| (0..o.len()).map(|i| o.get(i)).collect()).collect();
        for start in Indices::of(&starts) {
            let start = operands[0].position(&start);
            let at = |i: usize| start + i * step;
            let mut failed: Option<EvalError> = None;
            let less = |a: usize, b: usize| {
                let pairs: Vec<(Scalar, Scalar)> = operands.iter().map(|o| (o.get(at(a)), o.get(at(b)))).collect();
                comparator.holds(&pairs, cx).unwrap_or_else(|e| {
                    failed.get_or_insert(e);
                    false
                })
            };
            let order = merge_sort(size, less);
            if let Some(error) = failed {
                return Err(error);
            }
            for (operand, values) in operands.iter().zip(&mut values) {
                for (to, &from) in order.iter().enumerate() {
                    values[at(to)] = operand.get(at(from));
                }
            }
        }
        let literal = |(o, values): (&Literal, Vec<Scalar>)| Literal::from_scalars(o.element, &shape, values);
        Ok(operands.iter().zip(values).map(literal).collect())
    }

    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        steps::first_of_pieces(op, around, b).or_else(|| columns::in_steps(op, around, b))
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %p = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }) : (tensor<4x6xf32>) -> tensor<4x6xf32>",
            // Sorts by the first operand, descending; the second follows.
            "(%a: tensor<6x4xi32>, %b: tensor<6x4xbf16>) %r:2 = \"stablehlo.sort\"(%a, %b) <{dimension = -2 : i64, is_stable = true}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>, %v: tensor<bf16>, %w: tensor<bf16>):
              %p = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }) : (tensor<6x4xi32>, tensor<6x4xbf16>) -> (tensor<6x4xi32>, tensor<6x4xbf16>)",
        ]
    }
}

/// Returns the stable order of `0..n` under `less`. If `less` isn't an order, the result is some deterministic
/// permutation.
pub fn merge_sort(n: usize, mut less: impl FnMut(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut merged = Vec::with_capacity(n);
    let mut width = 1;
    while width < n {
        merged.clear();
        for run in order.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let (&[a, ref others @ ..], &[b, ref after @ ..]) = (left, right) {
                if less(b, a) {
                    merged.push(b);
                    right = after;
                } else {
                    merged.push(a);
                    left = others;
                }
            }
            merged.extend(left);
            merged.extend(right);
        }
        std::mem::swap(&mut order, &mut merged);
        width *= 2;
    }
    order
}
