//! `select_and_scatter`: each window selects one element, and a value is combined into the result at its position, as
//! in the gradient of max-pooling.

use super::{WindowDim, Words, counts, select_steps, windows};
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, TensorType};
use crate::kernel::{self, External, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem, Steps, Surroundings};
use crate::ops::support::combiner::{Combine, check_region, combining_body, promote};
use crate::ops::support::comparator::{Comparator, check_comparator, comparing_body};
use crate::ops::support::constraint::{
    Checked, compatible, declared, is_static, one, operand_count, require, result, same_element, scalar, show, tensor,
};
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ShardingRule};

/// `select_and_scatter`: <https://openxla.org/stablehlo/spec#select_and_scatter>
pub struct SelectAndScatter;

const WORDS: Words = Words {
    strides: ("window_strides", "C6", "C7"),
    base_dilations: ("", "", ""),
    window_dilations: ("", "", ""),
    reversal: ("", ""),
    padding: "C8",
    loose: false,
};

impl SelectAndScatter {
    pub(super) fn check(op: OpRef<'_>) -> Checked<Vec<WindowDim>> {
        operand_count(op, 3)?;
        let operand = tensor(op, 0)?;
        same_element(op, 1, 0, "C1")?;
        scalar(op, 2, "I3")?;
        same_element(op, 2, 0, "C3")?;
        let sizes = op.ints("window_dimensions").unwrap_or_default();
        crate::ops::support::constraint::length(&sizes, operand.rank(), "window_dimensions", "C4")?;
        if let Some(size) = sizes.iter().find(|&&s| s <= 0) {
            return Err(Problem::new(format!("expected window_dimensions to be positive, found {size} (C5)")));
        }
        let windows = windows(op, &sizes, &WORDS)?;
        let (counts, source) = (counts(&windows, &operand.shape, "C2")?, tensor(op, 1)?);
        let fits = compatible(&source.shape, &counts);
        require!(
            fits,
            operand = 1,
            "expected {want}, an element for each window, found {} (C2)",
            show(op, source),
            want = show(op, &TensorType::new(&counts, source.element))
        );
        Ok(windows)
    }
}

impl OpDef for SelectAndScatter {
    fn name(&self) -> &'static str {
        "stablehlo.select_and_scatter"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        let operand = tensor(op, 0)?;
        check_comparator(op, 0, &[operand.element], "C9")?;
        let accumulators = check_region(op, 1, &[operand.element], "C10")?;
        if is_static(op) { one(operand.with_element(accumulators[0])) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(windows), true) = (Self::check(op), is_static(op)) else { return Kernel::None };
        let elements: Vec<ElementType> = op.operand_tensor(0).map(|t| t.element).into_iter().collect();
        let (select, scatter) = (comparing_body(op, 0, 1), combining_body(op, 1, &elements));
        Kernel::External(External::SelectAndScatter(Box::new(kernel::SelectAndScatter { windows, select, scatter })))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, false)
    }

    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, true)
    }

    fn in_steps(&self, op: Op, around: &dyn Surroundings, build: &mut Builder<'_>) -> Option<Steps> {
        select_steps::in_steps(op, around, build)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let windows = Self::check(op)?;
        let (operand, source, init) = (&operands[0], &operands[1], &operands[2]);
        let element = result(op, 0)?.element;
        let sizes: Shape = windows.iter().map(|w| w.size).collect();
        let select = Comparator::of(op, 0, &[operand.element])?;
        let scatter = Combine::of(op, 1, &[element])?;
        let mut values = vec![promote(init.get(0), init.element, element); operand.len()];
        for (number, at) in Indices::of(&source.shape).enumerate() {
            let mut selected: Option<(usize, Scalar)> = None;
            for inside in Indices::of(&sizes) {
                let place = |d: usize| windows[d].element(at[d], inside[d], operand.shape[d]);
                let Some(position) = (0..windows.len()).map(place).collect::<Option<Shape>>() else { continue };
                let position = operand.position(&position);
                let value = operand.get(position);
                let keep = match selected {
                    Some((_, before)) => select.holds(&[(before, value)], cx)?,
                    None => false,
                };
                if !keep {
                    selected = Some((position, value));
                }
            }
            // A window of only padding selects nothing.
            let Some((position, _)) = selected else { continue };
            let value = promote(source.get(number), source.element, element);
            let combined = scatter.apply(&[values[position]], &[value], &[element], cx)?;
            values[position] = *combined.first().ok_or_else(|| EvalError::new("the region returns no value"))?;
        }
        Ok(vec![Literal::from_scalars(element, &operand.shape, values)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>, %s: tensor<4x3xf32>, %i: tensor<f32>) %r = \"stablehlo.select_and_scatter\"(%a, %s, %i) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }, {
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %t = stablehlo.add %x, %y : tensor<f32>
              stablehlo.return %t : tensor<f32>
            }) : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x6xf32>",
            // Overlapping windows, padded.
            "(%a: tensor<4x2xi64>, %s: tensor<2x2xi64>, %i: tensor<i64>) %r = \"stablehlo.select_and_scatter\"(%a, %s, %i) <{padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
            ^bb0(%x: tensor<i64>, %y: tensor<i64>):
              %p = stablehlo.compare LT, %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }, {
            ^bb0(%x: tensor<i64>, %y: tensor<i64>):
              %t = stablehlo.maximum %x, %y : tensor<i64>
              stablehlo.return %t : tensor<i64>
            }) : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>",
        ]
    }
}

fn rule(op: OpRef<'_>, blocked: bool) -> Option<ShardingRule> {
    let windows = SelectAndScatter::check(op).ok().filter(|_| is_static(op))?;
    let (operand, source) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
    let mut rule = ShardingRule::of_op(op);
    for (d, window) in windows.iter().enumerate() {
        if window.is_plain() {
            rule.add_all(operand.shape[d], FactorKind::PassThrough, d);
            continue;
        }
        let replicated = rule.add(source.shape[d], FactorKind::NeedReplication, &[(1, d)], &[]);
        let moved = rule.add(operand.shape[d], FactorKind::Permutation, &[(0, d)], &[(0, d)]);
        if blocked {
            rule.block(replicated);
            rule.block(moved);
        }
    }
    Some(rule)
}
