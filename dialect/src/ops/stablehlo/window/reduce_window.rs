//! `reduce_window`: combines the elements under each window. The nest runs over the windows, then over the positions
//! inside.

use super::{WindowDim, Words, counts, padding_attr, scan, windows};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, TensorType, TypeData};
use crate::kernel::{Index, Init, Input, Kernel, Nest, Outside};
use crate::literal::{Indices, Literal};
use crate::localize::Localize;
use crate::op::{Inferred, OpDef, Problem, Steps, Surroundings};
use crate::ops::stablehlo::reduction::without_accumulators;
use crate::ops::support::combiner::{Combine, SHORT_SUM, check_region, combiner, combining_body, promote};
use crate::ops::support::constraint::{
    Checked, declared, ints, is_static, length, require, result, same_element, same_shape, scalar, tensor,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};

/// `reduce_window`: <https://openxla.org/stablehlo/spec#reduce_window>
pub struct ReduceWindow;

const WORDS: Words = Words {
    strides: ("window_strides", "C6", "C7"),
    base_dilations: ("base_dilations", "C8", "C9"),
    window_dilations: ("window_dilations", "C10", "C11"),
    reversal: ("", ""),
    padding: "C12",
    loose: false,
};

impl ReduceWindow {
    /// Returns the windows and the number of inputs.
    pub(super) fn check(op: OpRef<'_>) -> Checked<(Vec<WindowDim>, usize)> {
        let (count, results) = (op.operands().len(), op.result_count());
        require!(count > 0 && count % 2 == 0, "expected as many initial values as inputs, found {count} operands (C1)");
        let n = count / 2;
        require!(results == 0 || results == n, "expected {n} results, found {results} (C1)");
        let first = tensor(op, 0)?;
        for i in 0..n {
            same_shape(op, i, 0, "C2")?;
            scalar(op, n + i, "I2")?;
            same_element(op, n + i, i, "C3")?;
        }
        let sizes = ints(op, "window_dimensions")?;
        length(&sizes, first.rank(), "window_dimensions", "C4")?;
        if let Some(size) = sizes.iter().find(|&&s| s <= 0) {
            return Err(Problem::new(format!("expected window_dimensions to be positive, found {size} (C5)")));
        }
        Ok((windows(op, &sizes, &WORDS)?, n))
    }
}

/// Returns the element types of the first `n` operands.
pub(super) fn elements(op: OpRef<'_>, n: usize) -> Vec<ElementType> {
    (0..n).filter_map(|i| Some(op.operand_tensor(i)?.element)).collect()
}

impl OpDef for ReduceWindow {
    fn name(&self) -> &'static str {
        "stablehlo.reduce_window"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (windows, n) = Self::check(op)?;
        let accumulators = check_region(op, 0, &elements(op, n), "C13")?;
        let shape = counts(&windows, &tensor(op, 0)?.shape, "C15")?;
        if !is_static(op) {
            return declared(op);
        }
        Ok(accumulators.iter().map(|&e| TypeData::Tensor(TensorType::new(&shape, e))).collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        nest(op).map_or(Kernel::None, Kernel::Nest)
    }

    /// Returns a rule by which windows are sharded like the elements that they read; if windows overlap or are padded,
    /// devices need their neighbors' elements.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (windows, n) = Self::check(op).ok().filter(|_| is_static(op))?;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in op.result_tensor(0)?.shape.iter().enumerate() {
            let kind = if windows[d].is_plain() { FactorKind::PassThrough } else { FactorKind::Permutation };
            let all: Vec<(usize, usize)> = (0..n).map(|i| (i, d)).collect();
            rule.add(size, kind, &all, &all);
        }
        Some(rule)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        let Ok((mut windows, _)) = Self::check(cx.build.program.view(cx.op)) else { return cx.same_op() };
        if cx.fetched.is_empty() {
            return cx.same_op();
        }
        for (d, window) in windows.iter_mut().enumerate() {
            if let Some(fetched) = cx.fetched(0, d) {
                *window = window.local(fetched.start, fetched.rows, window.size, cx.result(0).dims[d].size());
            }
        }
        let padding = padding_attr(cx.build.program, &windows);
        cx.same_op_with(&[("padding", padding)]);
    }

    fn is_windowed(&self) -> bool {
        true
    }

    fn in_steps(&self, op: Op, around: &dyn Surroundings, build: &mut Builder<'_>) -> Option<Steps> {
        scan::in_steps(op, around, build)
    }

    /// Evaluates it with long sums of floats in f64, rounded once.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (windows, n) = Self::check(op)?;
        let types: Vec<ElementType> = (0..n).map(|i| Ok(result(op, i)?.element)).collect::<Checked<_>>()?;
        let input = operands[0].shape.clone();
        let shape = counts(&windows, &input, "C15")?;
        let sizes: Shape = windows.iter().map(|w| w.size).collect();
        let start: Vec<Scalar> =
            (0..n).map(|i| promote(operands[n + i].get(0), operands[n + i].element, types[i])).collect();
        let long = sizes.iter().copied().fold(1, i64::saturating_mul) > SHORT_SUM as i64;
        let exact = n == 1 && long && types[0].is_float() && combiner(op, 0, 1) == Some(ScalarOp::Add);
        let combine = Combine::of(op, 0, &types)?;
        let mut values: Vec<Vec<Scalar>> = Vec::new();
        for at in Indices::of(&shape) {
            let mut value = start.clone();
            for inside in Indices::of(&sizes) {
                let place = |d: usize| windows[d].element(at[d], inside[d], input[d]);
                let position =
                    (0..windows.len()).map(place).collect::<Option<Shape>>().map(|p| operands[0].position(&p));
                let element = |i: usize| match position {
                    Some(position) => promote(operands[i].get(position), operands[i].element, types[i]),
                    None => start[i],
                };
                if exact {
                    value[0] = Scalar::Float(value[0].as_f64() + element(0).as_f64());
                } else {
                    let elements: Vec<Scalar> = (0..n).map(element).collect();
                    value = combine.apply(&value, &elements, &types, cx)?;
                }
            }
            values.push(value);
        }
        let literal = |i: usize| Literal::from_scalars(types[i], &shape, values.iter().map(|v| v[i]));
        Ok((0..n).map(literal).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %c = stablehlo.constant dense<0.0> : tensor<f32> %r = \"stablehlo.reduce_window\"(%a, %c) <{padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %s = stablehlo.add %x, %y : tensor<f32>
              stablehlo.return %s : tensor<f32>
            }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x4xf32>",
            // Both dilations, an initial value that isn't neutral, negative padding.
            "(%a: tensor<4x6xi32>) %c = stablehlo.constant dense<2> : tensor<i32> %r = \"stablehlo.reduce_window\"(%a, %c) <{base_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [-1, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 3, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>):
              %s = stablehlo.multiply %x, %y : tensor<i32>
              stablehlo.return %s : tensor<i32>
            }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<6x2xi32>",
            // Windows of one element.
            "(%a: tensor<4x2xi32>) %c = stablehlo.constant dense<3> : tensor<i32> %r = \"stablehlo.reduce_window\"(%a, %c) <{window_dimensions = array<i64: 1, 1>}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>):
              %s = stablehlo.maximum %x, %y : tensor<i32>
              stablehlo.return %s : tensor<i32>
            }) : (tensor<4x2xi32>, tensor<i32>) -> tensor<4x2xi32>",
            // The largest element and its index.
            "(%a: tensor<2x6xf32>, %b: tensor<2x6xi32>) %c = stablehlo.constant dense<-8.0> : tensor<f32> %d = stablehlo.constant dense<-1> : tensor<i32> %r:2 = \"stablehlo.reduce_window\"(%a, %b, %c, %d) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
            ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
              %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
              %v = stablehlo.select %p, %x, %y : tensor<i1>, tensor<f32>
              %k = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
              stablehlo.return %v, %k : tensor<f32>, tensor<i32>
            }) : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)",
        ]
    }
}

fn nest(op: OpRef<'_>) -> Option<Nest> {
    let (windows, n) = ReduceWindow::check(op).ok()?;
    let (input, shape) = (&op.operand_tensor(0)?.shape, &op.result_tensor(0)?.shape);
    let elements = elements(op, n);
    let mut body = combining_body(op, 0, &elements)?;
    if !is_static(op) || elements != body.accumulators {
        return None;
    }
    let mut loops: Vec<i64> = shape.to_vec();
    let mut guards = Vec::new();
    let mut index = Vec::new();
    for (d, window) in windows.iter().enumerate() {
        let inside = if window.size == 1 {
            Index::Const(0)
        } else {
            loops.push(window.size);
            Index::Loop(loops.len() - 1)
        };
        index.push(window.read(Index::Loop(d), inside, input[d], &mut guards));
    }
    let mut inputs: Vec<Input> = (0..n)
        .map(|operand| Input {
            operand,
            index: index.clone().into(),
            guards: guards.clone(),
            outside: (!guards.is_empty()).then_some(Outside::Operand(n + operand)),
        })
        .collect();
    let mut init: Vec<Init> = (n..2 * n).map(Init::Operand).collect();
    if loops.len() == shape.len() {
        // Without reduction loops there are no accumulators, so the initial values are ordinary inputs.
        inputs.extend((n..2 * n).map(|i| Input::at(i, [])));
        body = without_accumulators(body);
        init.clear();
    }
    Some(Nest { loops: loops.into_iter().collect(), parallel: shape.len(), inputs, init, body })
}
