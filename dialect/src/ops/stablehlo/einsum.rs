//! Sums of products in index notation: `einsum` and `unary_einsum`. Each is a nest with one loop per letter, the
//! result's letters first. Source: <https://openxla.org/stablehlo/spec#deprecated-operations>.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementClass, ElementType, Op, OpRef, TensorType, Value};
use crate::kernel::{Arg, Body, Init, Input, Kernel, Nest, product_type};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, is_static, one, operand_count, require, show, tensor};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::ReductionKind;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Einsum, &UnaryEinsum];

/// `einsum`: `"ab,bc->ac"` is a matrix product.
pub struct Einsum;
/// `unary_einsum`: `"ab->a"` sums rows.
pub struct UnaryEinsum;

const CONFIG: &str = "einsum_config";
const SYNTAX: Syntax = Syntax::Keys(&[("config", Piece::Attr(CONFIG))], TypeForm::Functional);

/// Returns the letters of every operand's dimensions, then of the result's dimensions.
fn letters(op: OpRef<'_>, operands: usize) -> Checked<(Vec<Vec<char>>, Vec<char>)> {
    operand_count(op, operands)?;
    let config = op.attr(CONFIG).and_then(AttrData::as_str);
    let config = config.ok_or_else(|| Problem::new(format!("expected an attribute '{CONFIG}' of text")))?;
    let (inputs, result) =
        config.split_once("->").ok_or_else(|| Problem::new(format!("expected one '->' in '{config}'")))?;
    let list = |text: &str| -> Checked<Vec<char>> {
        let letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        require!(letters.iter().all(char::is_ascii_alphabetic), "expected only letters in '{config}'");
        Ok(letters)
    };
    let inputs: Vec<Vec<char>> = inputs.split(',').map(list).collect::<Checked<_>>()?;
    let result = list(result)?;
    require!(inputs.len() == operands, "expected the letters of {operands} operands in '{config}'");
    let known =
        result.iter().enumerate().all(|(i, c)| !result[..i].contains(c) && inputs.iter().any(|l| l.contains(c)));
    require!(
        known,
        "expected each letter of the result to be in the operands, and at most once in the result in '{config}'"
    );
    for (i, letters) in inputs.iter().enumerate() {
        let ty = tensor(op, i)?;
        let fits = letters.len() == ty.rank();
        require!(fits, operand = i, "expected rank {} as in '{config}', found {}", letters.len(), show(op, ty));
    }
    Ok((inputs, result))
}

/// Returns the letters and their sizes: those of the result, then the others in order.
fn loops(types: &[TensorType], inputs: &[Vec<char>], result: &[char]) -> Checked<(Vec<char>, Vec<i64>)> {
    let mut order = result.to_vec();
    order.extend(inputs.iter().flatten().filter(|c| !result.contains(c)));
    let mut unique: Vec<char> = Vec::new();
    order.retain(|c| {
        let new = !unique.contains(c);
        unique.push(*c);
        new
    });
    let mut sizes = vec![crate::ir::DYNAMIC; order.len()];
    for (i, (ty, letters)) in types.iter().zip(inputs).enumerate() {
        for (&size, letter) in ty.shape.iter().zip(letters) {
            let Some(slot) = order.iter().position(|c| c == letter).map(|at| &mut sizes[at]) else { continue };
            let fits = *slot < 0 || size < 0 || *slot == size;
            require!(fits, operand = i, "expected size {slot} for '{letter}', found {size}");
            *slot = (*slot).max(size);
        }
    }
    Ok((order, sizes))
}

fn nest(op: OpRef<'_>, operands: usize, types: &[TensorType]) -> Checked<Nest> {
    let (inputs, result) = letters(op, operands)?;
    let (order, sizes) = loops(types, &inputs, &result)?;
    let reduced = order.len() > result.len();
    let element = op.result_tensor(0).map_or(types[0].element, |t| t.element);
    let body = match types {
        [only] => sum_body(only, element, reduced),
        _ => Body::product(types[0].element, types[1].element, element, reduced),
    };
    let at = |i: usize| Input::at(i, inputs[i].iter().filter_map(|c| order.iter().position(|o| o == c)));
    Ok(Nest {
        loops: sizes.into_iter().collect(),
        parallel: result.len(),
        inputs: (0..operands).map(at).collect(),
        init: if reduced { vec![Init::Const(Scalar::zero(element))] } else { Vec::new() },
        body,
    })
}

/// Returns a body of the input, added to the accumulator if there is one.
fn sum_body(from: &TensorType, element: ElementType, reduced: bool) -> Body {
    let mut body = Body { inputs: vec![from.element], ..Body::default() };
    let mut value = Arg::Input(0);
    if from.element != element {
        value = body.op(ScalarOp::Convert, &[value], element);
    }
    if reduced {
        body.accumulators.push(element);
        value = body.op(ScalarOp::Add, &[Arg::Accumulator(0), value], element);
    }
    body.results = vec![value];
    body
}

fn types(op: OpRef<'_>) -> Vec<TensorType> {
    op.operand_types().filter_map(|t| t.tensor().cloned()).collect()
}

fn infer(op: OpRef<'_>, operands: usize) -> Inferred {
    let (inputs, result) = letters(op, operands)?;
    let types = types(op);
    let (_, sizes) = loops(&types, &inputs, &result)?;
    if !is_static(op) {
        return declared(op);
    }
    let element = op.result_tensor(0).map_or(types[0].element, |t| t.element);
    if element != types[0].element && element.class() == ElementClass::Other {
        return Err(Problem::new(format!(
            "conversion to elements of type {} is not supported",
            op.program.element_text(element)
        ))
        .into());
    }
    one(TensorType::new(&sizes[..result.len()], element))
}

fn kernel(op: OpRef<'_>, operands: usize) -> Kernel {
    match nest(op, operands, &types(op)) {
        Ok(nest) if is_static(op) => Kernel::Nest(nest),
        _ => Kernel::None,
    }
}

/// Evaluates the nest step by step.
fn evaluate(op: OpRef<'_>, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
    if types.is_empty() {
        return Err(EvalError::new("expected operands"));
    }
    Ok(nest(op, operands.len(), &types)?.eval(operands))
}

/// Sums `value`, with dimensions `letters`, in type `wide` over the letters that `keep` rejects; returns it with its
/// remaining letters. `None` for diagonals.
fn summed(
    b: &mut Builder<'_>,
    value: Value,
    letters: &[char],
    wide: ElementType,
    keep: impl Fn(char) -> bool,
) -> Option<(Value, Vec<char>)> {
    if (1..letters.len()).any(|i| letters[..i].contains(&letters[i])) {
        return None;
    }
    let dims: Vec<i64> = (0..letters.len()).filter(|&d| !keep(letters[d])).map(|d| d as i64).collect();
    let value = if dims.is_empty() {
        value
    } else {
        let value = build::convert(b, value, wide);
        build::region::sum(b, value, &dims)
    };
    Some((value, letters.iter().copied().filter(|&c| keep(c)).collect()))
}

/// Transposes `value`, with dimensions `letters`, to the order of `wanted`.
fn ordered(b: &mut Builder<'_>, value: Value, letters: &[char], wanted: &[char]) -> Option<Value> {
    if letters == wanted {
        return Some(value);
    }
    let place = |c: &char| letters.iter().position(|l| l == c).map(|d| d as i64);
    let permutation: Vec<i64> = wanted.iter().map(place).collect::<Option<_>>()?;
    Some(build::shape::transpose(b, value, &permutation))
}

impl OpDef for Einsum {
    fn name(&self) -> &'static str {
        "stablehlo.einsum"
    }

    fn syntax(&self) -> Syntax {
        SYNTAX
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        infer(op, 2)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        kernel(op, 2)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        evaluate(op, operands)
    }

    /// Builds a product; letters that only one side has are summed first.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (inputs, wanted) = letters(view, 2).ok().filter(|_| is_static(view))?;
        let (operands, element) = (view.operands().to_vec(), view.result_tensor(0)?.element);
        let elements = (view.operand_tensor(0)?.element, view.operand_tensor(1)?.element);
        let wide = product_type(elements.0, elements.1, element);
        let kept = |other: &[char], c: char| wanted.contains(&c) || other.contains(&c);
        let (lhs, left) = summed(b, operands[0], &inputs[0], wide, |c| kept(&inputs[1], c))?;
        let (rhs, right) = summed(b, operands[1], &inputs[1], wide, |c| kept(&left, c))?;
        let both = left.iter().copied().filter(|c| right.contains(c));
        let (batch, contract): (Vec<char>, Vec<char>) = both.partition(|c| wanted.contains(c));
        let dims = |side: &[char], list: &[char]| -> Vec<i64> {
            list.iter().filter_map(|c| side.iter().position(|s| s == c)).map(|d| d as i64).collect()
        };
        let pair = |list: &[char]| (dims(&left, list), dims(&right, list));
        let ((lb, rb), (lc, rc)) = (pair(&batch), pair(&contract));
        let product = build::shape::dot_general(b, (lhs, rhs), (&lb, &rb), (&lc, &rc), element, &[]);
        let free = |side: &[char]| -> Vec<char> {
            side.iter().copied().filter(|c| !batch.contains(c) && !contract.contains(c)).collect()
        };
        let order = [batch.clone(), free(&left), free(&right)].concat();
        ordered(b, product, &order, &wanted).map(|v| vec![v])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2x6xf32>, %b: tensor<6x4xf32>) %r = stablehlo.einsum %a, %b, config = \"bij,jb->bi\" : (tensor<4x2x6xf32>, tensor<6x4xf32>) -> tensor<4x2xf32>",
            // A sum on one side, and another order of dimensions.
            "(%a: tensor<4x2x6xi8>, %b: tensor<6x3xi8>) %r = stablehlo.einsum %a, %b, config = \"aij,jk->kia\" : (tensor<4x2x6xi8>, tensor<6x3xi8>) -> tensor<3x2x4xi32>",
            "(%a: tensor<4x2x6xf32>, %b: tensor<3x6xf32>) %r = stablehlo.einsum %a, %b, config = \"aij,kj->ai\" : (tensor<4x2x6xf32>, tensor<3x6xf32>) -> tensor<4x2xf32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}

impl OpDef for UnaryEinsum {
    fn name(&self) -> &'static str {
        "stablehlo.unary_einsum"
    }

    fn syntax(&self) -> Syntax {
        SYNTAX
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        infer(op, 1)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        kernel(op, 1)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        evaluate(op, operands)
    }

    /// Builds a sum and a transpose.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (inputs, wanted) = letters(view, 1).ok().filter(|_| is_static(view))?;
        let (operand, element) = (view.operands()[0], view.result_tensor(0)?.element);
        let operand = build::convert(b, operand, element);
        let (value, left) = summed(b, operand, &inputs[0], element, |c| wanted.contains(&c))?;
        ordered(b, value, &left, &wanted).map(|v| vec![v])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6x2xi32>) %r = stablehlo.unary_einsum %a, config = \"abc->ca\" : (tensor<4x6x2xi32>) -> tensor<2x4xi32>",
            "(%a: tensor<4x4xf32>) %r = stablehlo.unary_einsum %a, config = \"aa->a\" : (tensor<4x4xf32>) -> tensor<4xf32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}
