//! `reshape`: the same elements in the same order in another shape.
//!
//! Operand and result are divided into groups of adjacent dimensions with equal products. A group of one dimension on
//! each side is a plain loop; only larger groups need divisions in the nest and several factors per dimension in the
//! sharding rule. Source: the StableHLO specification; factors as in Shardy.

use super::shape::copy_nest;
use crate::eval::{Context, EvalResult};
use crate::ir::{OpRef, TensorType, gcd};
use crate::kernel::{Index, Kernel};
use crate::literal::Literal;
use crate::memory::Residence;
use crate::op::{Constancy, Inferred, OpDef, OpPriority};
use crate::ops::support::constraint::{
    Checked, declared, is_static, one, operand_count, require, result, show, tensor,
};
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::{Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Reshape];

/// `reshape`: <https://openxla.org/stablehlo/spec#reshape>
pub struct Reshape;

impl Reshape {
    fn check(op: OpRef<'_>) -> Checked<TensorType> {
        operand_count(op, 1)?;
        let (operand, result) = (tensor(op, 0)?, result(op, 0)?);
        require!(operand.element == result.element, "expected the operand's element type in {} (C1)", show(op, result));
        if is_static(op) {
            let (want, found) = (elements(&operand.shape), elements(&result.shape));
            require!(
                want.is_some() && want == found,
                "expected the result {result} to have as many elements as the operand {operand} (C2)",
                operand = show(op, operand),
                result = show(op, result)
            );
        }
        Ok(result.clone())
    }
}

/// Returns the number of elements, if it fits into an `i64`.
fn elements(shape: &[i64]) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1i64, |n, &d| n.checked_mul(d))
}

/// Returns the smallest groups of adjacent operand and result dimensions with equal products, as ranges of dimensions.
/// Both shapes have the same number of elements, not 0.
pub(crate) fn groups(from: &[i64], to: &[i64]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut groups = Vec::new();
    let (mut f, mut t) = (0, 0);
    while f < from.len() || t < to.len() {
        let start = (f, t);
        let (mut a, mut b) = (1i64, 1i64);
        // A dimension of size 1 on one side can be a group without dimensions of the other side.
        if f < from.len() {
            a *= from[f];
            f += 1;
        }
        if t < to.len() && (a != 1 || to[t] == 1) {
            b *= to[t];
            t += 1;
        }
        while a != b {
            if a < b && f < from.len() {
                a *= from[f];
                f += 1;
            } else if t < to.len() {
                b *= to[t];
                t += 1;
            } else {
                break;
            }
        }
        groups.push((start.0..f, start.1..t));
    }
    groups
}

/// One side of a reshape while its factors are computed.
struct Side<'a> {
    shape: &'a [i64],
    dim: usize,
    /// The part of `dim`'s size without a factor so far.
    left: i64,
    /// The product of the factors so far.
    done: i64,
}

impl<'a> Side<'a> {
    fn new(shape: &'a [i64]) -> Self {
        Self { shape, dim: 0, left: shape.first().copied().unwrap_or(1), done: 1 }
    }

    fn finished(&self) -> bool {
        self.dim >= self.shape.len()
    }

    /// Returns whether the next dimension has size 1.
    fn at_one(&self) -> bool {
        !self.finished() && self.shape[self.dim] == 1
    }

    fn next_dim(&mut self) {
        self.dim += 1;
        self.left = self.shape.get(self.dim).copied().unwrap_or(1);
    }

    fn take(&mut self, factor: i64) {
        self.done *= factor;
        self.left /= factor;
        if self.left <= 1 {
            self.next_dim();
        }
    }

    /// Returns the next factor of the side whose product is smaller than that of `other`: a factor that closes the gap
    /// if there is one, or else one that leaves the common divisor for later.
    fn catch_up(&self, other: &Side<'_>, common: i64) -> i64 {
        if other.done % self.done == 0 && self.left % (other.done / self.done) == 0 {
            other.done / self.done
        } else if self.left > common {
            self.left / common
        } else {
            self.left
        }
    }
}

impl OpDef for Reshape {
    fn name(&self) -> &'static str {
        "stablehlo.reshape"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let ty = Self::check(op)?;
        if is_static(op) { one(ty) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Ok(result) = Self::check(op) else { return Kernel::None };
        let Some(operand) = op.operand_tensor(0).filter(|_| is_static(op)) else { return Kernel::None };
        let mut index = vec![Index::Const(0); operand.rank()];
        if elements(&operand.shape) == Some(0) {
            return copy_nest(&result, index);
        }
        for (from, to) in groups(&operand.shape, &result.shape) {
            let position = to.clone().fold(Index::Const(0), |at, d| match result.shape[d] {
                1 => at,
                size => at.times(size).plus(Index::Loop(d)),
            });
            let mut stride = 1;
            let outermost = from.clone().find(|&d| operand.shape[d] != 1);
            for d in from.rev() {
                let size = operand.shape[d];
                if size != 1 {
                    let at = position.clone().floor_div(stride);
                    index[d] = if Some(d) == outermost { at } else { at.modulo(size) };
                }
                stride *= size;
            }
        }
        copy_nest(&result, index)
    }

    fn residence(&self, _: OpRef<'_>) -> Residence {
        Residence::Shared
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        // Without elements, nothing can be sharded.
        if !is_static(op) || elements(&operand.shape)? == 0 || elements(&operand.shape) != elements(&result.shape) {
            return None;
        }
        let mut rule = ShardingRule::of_op(op);
        let (mut from, mut to) = (Side::new(&operand.shape), Side::new(&result.shape));
        while !from.finished() || !to.finished() {
            if from.at_one() {
                rule.add(1, FactorKind::PassThrough, &[(0, from.dim)], &[]);
                from.next_dim();
                continue;
            }
            if to.at_one() {
                rule.add(1, FactorKind::PassThrough, &[], &[(0, to.dim)]);
                to.next_dim();
                continue;
            }
            let common = gcd(from.left, to.left);
            let (f, t) = ((0, from.dim), (0, to.dim));
            if from.done == to.done && common > 1 {
                rule.add(common, FactorKind::PassThrough, &[f], &[t]);
                from.take(common);
                to.take(common);
            } else if from.done == to.done {
                // Without a common divisor, each side continues separately until their products are equal again.
                rule.add(from.left, FactorKind::PassThrough, &[f], &[]);
                rule.add(to.left, FactorKind::PassThrough, &[], &[t]);
                from.take(from.left);
                to.take(to.left);
            } else if from.done < to.done {
                let size = from.catch_up(&to, common);
                rule.add(size, FactorKind::PassThrough, &[f], &[]);
                from.take(size);
            } else {
                let size = to.catch_up(&from, common);
                rule.add(size, FactorKind::PassThrough, &[], &[t]);
                to.take(size);
            }
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![operands[0].reshaped(&result(op, 0)?.shape)])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::First
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Preserving
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %r = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>",
            "(%a: tensor<24xi32>) %r = stablehlo.reshape %a : (tensor<24xi32>) -> tensor<2x3x4xi32>",
            "(%a: tensor<4x1x6xf32>) %r = stablehlo.reshape %a : (tensor<4x1x6xf32>) -> tensor<2x12x1xf32>",
            "(%a: tensor<2x3x4x5xf32>) %r = stablehlo.reshape %a : (tensor<2x3x4x5xf32>) -> tensor<6x2x10xf32>",
        ]
    }
}
