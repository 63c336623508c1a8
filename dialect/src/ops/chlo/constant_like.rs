//! CHLO's constants: `chlo.constant`, and `chlo.constant_like` in the shape of an operand.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, TensorType, Ty, TypeData, Value};
use crate::kernel::{Body, Inst, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, is_static, one, operand_count, tensor};
use crate::scalar::Scalar;
use crate::sharding::ShardingRule;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&CHLO_CONSTANT, &ARITH_CONSTANT, &ConstantLike];

/// A tensor constant of another dialect, which works as `stablehlo.constant`.
pub struct OtherConstant {
    name: &'static str,
    examples: &'static [&'static str],
}
/// `chlo.constant`
pub static CHLO_CONSTANT: OtherConstant =
    OtherConstant { name: "chlo.constant", examples: &["() %r = chlo.constant dense<[1, 2]> : tensor<2xi32>"] };
/// `arith.constant`, which MLIR's own passes create.
pub static ARITH_CONSTANT: OtherConstant =
    OtherConstant { name: "arith.constant", examples: &["() %r = arith.constant dense<[1, 2]> : tensor<2xi32>"] };
/// `chlo.constant_like`: one value for every element, in the operand's shape.
pub struct ConstantLike;

/// `dense<1.0> : tensor<2xf32>`
static SYNTAX: CustomSyntax = CustomSyntax { parse, print };

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.attr_dict(op)?;
    let span = p.token().span();
    let value = p.attribute()?;
    let scalars = op.name == ARITH_CONSTANT.name;
    let ty = match *p.program.attr_data(value) {
        AttrData::Dense(ty, _) => ty,
        AttrData::Int(_, ty) | AttrData::Float(_, ty) if scalars => ty,
        AttrData::Bool(_) if scalars => p.program.intern_type(TypeData::Scalar(ElementType::I1)),
        AttrData::Opaque(ref text) if scalars && let Some(ty) = kept_type(text) => p.program.intern_type(ty),
        _ => return p.fail(span, "expected dense<…> with its type"),
    };
    op.results.push(ty);
    op.set(&mut p.program, "value", value);
    Ok(())
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(value) = op.attr_id("value") else { return false };
    let ty = OtherConstant::value_type(op).filter(|ty| op.result_types().eq([ty]));
    if ty.is_none() || !op.operands().is_empty() {
        return false;
    }
    p.attr_dict(op, &["value"]);
    p.text(" ");
    p.attr(value);
    true
}

/// Returns the type of elements that are kept as text, such as those of a vector.
fn kept_type(text: &str) -> Option<TypeData> {
    let (_, ty) = text.rsplit_once(':')?;
    Some(TypeData::Opaque(ty.trim().into()))
}

impl OtherConstant {
    /// Returns the type of the value; `arith` also has scalars and vectors, which this crate doesn't compute with.
    fn value_type(op: OpRef<'_>) -> Option<TypeData> {
        let scalar = |ty: &Ty| Some(op.program.type_data(*ty).clone()).filter(|ty| matches!(ty, TypeData::Scalar(_)));
        match op.attr("value")? {
            AttrData::Dense(ty, _) => Some(op.program.type_data(*ty).clone()),
            AttrData::Int(_, ty) | AttrData::Float(_, ty) if op.name() == ARITH_CONSTANT.name => scalar(ty),
            AttrData::Bool(_) if op.name() == ARITH_CONSTANT.name => Some(TypeData::Scalar(ElementType::I1)),
            AttrData::Opaque(text) if op.name() == ARITH_CONSTANT.name => kept_type(text),
            _ => None,
        }
    }
}

impl OpDef for OtherConstant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        match Self::value_type(op) {
            Some(ty) => Ok(vec![ty]),
            None => Err(Problem::new("expected an attribute 'value' of dense elements").into()),
        }
    }

    /// Returns a kernel for scalars, because bodies of structured ops may have them.
    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Some((value, element)) = number(op) else { return Kernel::None };
        let mut body = Body::default();
        body.results = vec![body.push(Inst::Const(value, element))];
        Kernel::Nest(Nest { body, ..Nest::default() })
    }

    /// Returns no rule, because nothing is sharded along a constant.
    fn sharding_rule(&self, _: OpRef<'_>) -> Option<ShardingRule> {
        None
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let scalar = || number(op).map(|(value, element)| Literal::scalar(element, value));
        let literal = op.dense("value").cloned().or_else(scalar);
        Ok(vec![literal.ok_or_else(|| EvalError::new("a constant without a value"))?])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let literal = b.program.view(op).dense("value")?.clone();
        Some(vec![build::constant(b, literal)])
    }

    fn constant<'a>(&self, op: OpRef<'a>) -> Option<&'a Literal> {
        op.dense("value")
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }
}

/// Returns the number in the attribute `value`, and its type.
fn number(op: OpRef<'_>) -> Option<(Scalar, ElementType)> {
    let (value, ty) = match op.attr("value")? {
        AttrData::Int(v, ty) => (Scalar::Int((*v).into()), *ty),
        AttrData::Float(bits, ty) => (Scalar::Float(f64::from_bits(*bits)), *ty),
        AttrData::Bool(v) => return Some((Scalar::Int((*v).into()), ElementType::I1)),
        _ => return None,
    };
    match op.program.type_data(ty) {
        TypeData::Scalar(element) => Some((value.round(*element), *element)),
        _ => None,
    }
}

impl ConstantLike {
    /// Returns the value and its type.
    fn value(op: OpRef<'_>) -> Checked<(Scalar, ElementType)> {
        operand_count(op, 1)?;
        number(op).ok_or_else(|| Problem::new("expected an attribute 'value' of one number"))
    }
}

impl OpDef for ConstantLike {
    fn name(&self) -> &'static str {
        "chlo.constant_like"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (_, element) = Self::value(op)?;
        let ty = tensor(op, 0)?.with_element(element);
        if let Some(given) = op.result_tensor(0).filter(|t| t.element != element) {
            let (want, found) = (op.program.element_text(element), op.program.element_text(given.element));
            return Err(Problem::new(format!("expected a result of {want} like the value, found {found}")).into());
        }
        if is_static(op) { one(ty) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok((value, element)), Some(ty), true) = (Self::value(op), op.result_tensor(0), is_static(op)) else {
            return Kernel::None;
        };
        // The elements' values don't matter, but reading each element ties the result's shape to the operand's.
        let read = op.operand_tensor(0).map_or(element, |t| t.element);
        let mut body = Body { inputs: vec![read], ..Body::default() };
        body.results = vec![body.push(Inst::Const(value, element))];
        crate::ops::stablehlo::elementwise::nest(op, body)
            .filter(|n| n.parallel == ty.rank())
            .map_or(Kernel::None, Kernel::Nest)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (value, element) = Self::value(op)?;
        Ok(vec![Literal::splat(element, &operands[0].shape, value)])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (value, element) = Self::value(view).ok().filter(|_| is_static(view))?;
        let shape = view.operand_tensor(0).map(|t: &TensorType| t.shape.clone())?;
        Some(vec![build::splat(b, element, &shape, value)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x4xi64>) %r = \"chlo.constant_like\"(%a) <{value = 3.5 : f32}> : (tensor<2x4xi64>) -> tensor<2x4xf32>",
        ]
    }

    fn elementwise(&self) -> bool {
        true
    }
}
