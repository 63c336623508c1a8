//! Ops without operands: `constant` and `iota`. Source: the StableHLO specification.

use super::elementwise::Classes;
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{AttrData, ElementClass, ElementType, OpRef, Shape, TensorType};
use crate::kernel::{Body, Index, Inst, Kernel, Nest};
use crate::literal::{Indices, Literal};
use crate::localize::Localize;
use crate::op::{Constancy, Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, dim, one, require, result, show};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::ShardingRule;
use crate::text::{CustomSyntax, Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&CONSTANT, &IOTA];

/// `stablehlo.constant`: <https://openxla.org/stablehlo/spec#constant>
pub struct Constant;
/// `stablehlo.constant`
pub static CONSTANT: Constant = Constant;
/// `stablehlo.iota`: <https://openxla.org/stablehlo/spec#iota>
pub struct Iota;
/// `stablehlo.iota`
pub static IOTA: Iota = Iota;

/// `dense<…> : T`; the value's type is that of the result.
static CONSTANT_SYNTAX: CustomSyntax = CustomSyntax {
    parse: |p, op| {
        if p.at_both("(", ")") {
            return p.generic_rest(op);
        }
        p.attr_dict(op)?;
        let span = p.token().span();
        let value = p.attribute()?;
        match *p.program.attr_data(value) {
            AttrData::Dense(ty, _) | AttrData::Resource(_, ty) => op.results.push(ty),
            _ => return p.fail(span, "expected dense<…> with its type"),
        }
        op.set(&mut p.program, "value", value);
        Ok(())
    },
    print: |p, op| {
        let Some(value) = op.attr_id("value") else { return false };
        let (AttrData::Dense(ty, _) | AttrData::Resource(_, ty)) = *op.program.attr_data(value) else { return false };
        if op.result_type_ids() != [ty] || !op.operands().is_empty() {
            p.generic_rest(op);
            return true;
        }
        p.attr_dict(op, &["value"]);
        p.text(" ");
        p.attr(value);
        true
    },
};

impl OpDef for Constant {
    fn name(&self) -> &'static str {
        "stablehlo.constant"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&CONSTANT_SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let value = match op.attr("value") {
            Some(AttrData::Dense(ty, _) | AttrData::Resource(_, ty)) => op.program.type_data(*ty).tensor(),
            _ => None,
        };
        let value = value.ok_or_else(|| Problem::new("expected an attribute 'value' of dense elements (I1)"))?;
        if let Some(declared) = op.result_tensor(0) {
            // A quantized constant is stored with its storage type.
            if declared.element.class() == ElementClass::Other && declared.shape == value.shape {
                return one(declared.clone());
            }
            let (want, found) = (show(op, value), show(op, declared));
            require!(declared == value, "expected result type {want}, the type of the value, found {found} (C1)");
        }
        one(value.clone())
    }

    fn sharding_rule(&self, _: OpRef<'_>) -> Option<ShardingRule> {
        None
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Some((literal, value)) = op.dense("value").and_then(|l| Some((l, l.splat_value()?))) else {
            return Kernel::None;
        };
        let mut body = Body::default();
        let value = body.push(Inst::Const(value, literal.element));
        body.results = vec![value];
        Kernel::Nest(over(&literal.shape, body))
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        let view = cx.build.program.view(cx.op);
        let Some(literal) = view.dense("value").cloned() else { return cx.same_op() };
        let shard = cx.result(0);
        let local = match literal.splat_value() {
            Some(value) => build::splat(&mut cx.build, literal.element, &shard.shape(), value),
            None if shard.shape() == literal.shape => build::constant(&mut cx.build, literal),
            None => shard_of(cx, &literal),
        };
        cx.results = vec![local];
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        match op.dense("value") {
            Some(literal) => Ok(vec![literal.clone()]),
            None => Err(EvalError::new("the constant's value is not in the program")),
        }
    }

    fn constant<'a>(&self, op: OpRef<'a>) -> Option<&'a Literal> {
        op.dense("value")
    }

    fn result_name(&self, op: OpRef<'_>) -> Option<&'static str> {
        let class = op.result_tensor(0).map(|t| t.element.class())?;
        // Booleans are named `true` and `false` only as attributes, not as tensors.
        Some(match class {
            ElementClass::Bool | ElementClass::Signed | ElementClass::Unsigned => "c",
            _ => "cst",
        })
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %r = stablehlo.constant dense<1.5> : tensor<2x4xf32>",
            "() %r = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>",
            "() %r = stablehlo.constant dense<[true, false]> : tensor<2xi1>",
            "() %r = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>",
            "() %r = stablehlo.constant dense<> : tensor<0x2xf32>",
            "() %r = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        ]
    }
}

/// Builds the device's shard of a constant: the whole constant, padded to a multiple of the shard's sizes, and sliced
/// at the device's position.
fn shard_of(cx: &mut Localize<'_>, literal: &Literal) -> crate::ir::Value {
    let shard = cx.result(0);
    let filled: Shape = shard.dims.iter().map(|d| d.occupied() * d.size()).collect();
    let mut bytes = Vec::new();
    for index in Indices::of(&filled) {
        if index.iter().zip(&literal.shape).all(|(i, d)| i < d) {
            bytes.extend_from_slice(literal.element_bytes(literal.position(&index)));
        } else {
            bytes.resize(bytes.len() + literal.element.bytes(), 0);
        }
    }
    let whole = build::constant(&mut cx.build, Literal::from_bytes(literal.element, &filled, bytes));
    let starts: Vec<_> = (0..filled.len()).map(|d| cx.result_start(0, d)).collect();
    let starts = build::shape::all_starts(&mut cx.build, starts);
    build::shape::dynamic_slice(&mut cx.build, whole, &starts, &shard.shape())
}

/// Returns a nest without inputs over `shape`.
fn over(shape: &[i64], body: Body) -> Nest {
    Nest { loops: shape.iter().copied().collect(), parallel: shape.len(), body, ..Nest::default() }
}

impl Iota {
    fn check(op: OpRef<'_>) -> Checked<(TensorType, usize)> {
        let ty = result(op, 0)?;
        let fits = Classes::NUMBER.has(ty.element);
        require!(fits, "expected elements of integer, floating-point or complex type, found {} (O1)", show(op, ty));
        Ok((ty.clone(), dim(op, "iota_dimension", ty.rank(), "C1")?))
    }
}

impl OpDef for Iota {
    fn name(&self) -> &'static str {
        "stablehlo.iota"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[
            Piece::Token("dim"),
            Piece::Token("="),
            Piece::Int("iota_dimension"),
            Piece::AttrDict,
            Piece::Types(TypeForm::Result),
        ])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        one(Self::check(op)?.0)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Ok((ty, dim)) = Self::check(op) else { return Kernel::None };
        if !ty.is_static() || ty.element.class() == ElementClass::Other {
            return Kernel::None;
        }
        let mut body = Body::default();
        let value = body.push(Inst::Index(Index::Loop(dim), ty.element));
        body.results = vec![value];
        Kernel::Nest(over(&ty.shape, body))
    }

    fn sharding_rule(&self, _: OpRef<'_>) -> Option<ShardingRule> {
        None
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        let Ok((ty, dim)) = Self::check(cx.build.program.view(cx.op)) else { return cx.same_op() };
        let Some(start) = cx.result_start(0, dim) else { return cx.same_op() };
        let shape = cx.result(0).shape();
        // Integers are counted in their own type, which wraps as the global iota does; other types are converted once.
        let count = match ty.element.class() {
            ElementClass::Signed | ElementClass::Unsigned => ty.element,
            _ if ty.shape[dim] <= i64::from(i32::MAX) => ElementType::I32,
            _ => ElementType::I64,
        };
        let b = &mut cx.build;
        let local = build::iota(b, count, &shape, dim);
        let start = build::convert(b, start, count);
        let start = build::shape::splat(b, start, &shape);
        let global = build::add(b, local, start);
        let result = build::convert(b, global, ty.element);
        cx.results = vec![result];
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (ty, dim) = Self::check(op)?;
        if !ty.is_static() || ty.element.class() == ElementClass::Other {
            return Err(EvalError::new(format!("an iota of type {} can't be evaluated", show(op, &ty))));
        }
        let count = |i: i64| ScalarOp::Convert.apply(ElementType::I64, ty.element, &[Scalar::Int(i.into())]);
        Ok(vec![Literal::from_scalars(ty.element, &ty.shape, Indices::of(&ty.shape).map(|at| count(at[dim])))])
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Source
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %r = stablehlo.iota dim = 1 : tensor<2x4xi32>",
            "() %r = stablehlo.iota dim = 0 : tensor<3xf32>",
            "() %r = stablehlo.iota dim = 0 : tensor<4x2xcomplex<f32>>",
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{Loc, Program, Value};
    use crate::kernel::Kernel as K;
    use crate::localize::Tensor;
    use crate::proofs::{example_block, example_program};
    use crate::sharding::Shard;
    use std::collections::HashMap;

    /// Returns the example op's value on the device with shard number `numbers[d]` along each dimension `d` of the
    /// result, which is in `shards[d]` shards.
    fn local(text: &str, shards: &[i64], numbers: &[i64]) -> Literal {
        let mut program = example_program(text);
        let op = program.block_ops(example_block(&program))[0];
        let ty = program.view(op).result_tensor(0).unwrap().clone();
        let shard = Shard::new(&ty.shape, shards.iter().copied());
        let result_types = vec![program.tensor(&shard.shape(), ty.element)];
        let mut ops = Vec::new();
        let mut start = |b: &mut Builder<'_>, _: Tensor, d: usize| {
            (shards[d] > 1).then(|| build::index(b, numbers[d] * shard.dims[d].size()))
        };
        let mut cx = Localize {
            build: Builder::new(&mut program, &mut ops, Loc::UNKNOWN),
            op,
            operands: &[],
            operand_shards: &[],
            result_shards: std::slice::from_ref(&shard),
            result_types,
            fetched: &[],
            results: Vec::new(),
            start: &mut start,
        };
        let def = cx.build.program.op(op).def;
        def.localize(&mut cx);
        let result = cx.results[0];
        run(&program, &ops, result)
    }

    fn run(program: &Program, ops: &[crate::ir::Op], result: Value) -> Literal {
        let mut values: HashMap<Value, Literal> = HashMap::new();
        for &op in ops {
            let view = program.view(op);
            assert!(view.def().infer(view).is_ok(), "{}", view.name());
            let operands: Vec<Literal> = view.operands().iter().map(|v| values[v].clone()).collect();
            let found = match (view.def().constant(view), view.def().kernel(view)) {
                (Some(literal), _) => literal.clone(),
                (_, K::Nest(nest)) => nest.eval(&operands).remove(0),
                _ => panic!("{} has no nest", view.name()),
            };
            values.insert(view.results().next().unwrap(), found);
        }
        values.remove(&result).unwrap()
    }

    #[test]
    fn a_device_holds_its_shard_of_a_constant() {
        let text = "() %r = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>";
        let ints = |l: Literal| l.to_ints().unwrap();
        assert_eq!(ints(local(text, &[1, 1], &[0, 0])), [1, 2, 3, 4, 5, 6]);
        assert_eq!(ints(local(text, &[1, 2], &[0, 1])), [2, 4, 6]);
        assert_eq!(ints(local(text, &[2, 1], &[0, 0])), [1, 2, 3, 4]);
        // The last shard is padded, not shifted.
        assert_eq!(ints(local(text, &[2, 1], &[1, 0])), [5, 6, 0, 0]);
        let splat = "() %r = stablehlo.constant dense<7> : tensor<4x2xi32>";
        assert_eq!(ints(local(splat, &[2, 1], &[1, 0])), [7; 4]);
    }

    #[test]
    fn a_device_counts_from_its_position() {
        let text = "() %r = stablehlo.iota dim = 0 : tensor<6x2xf32>";
        let shard = local(text, &[2, 1], &[1, 0]);
        assert_eq!((shard.element, &shard.shape[..]), (ElementType::F32, &[3, 2][..]));
        assert_eq!((0..6).map(|i| shard.get(i).as_f64()).collect::<Vec<_>>(), [3.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
        // Narrow integers wrap as in the global op.
        let narrow = local("() %r = stablehlo.iota dim = 0 : tensor<513xi8>", &[171], &[85]);
        assert_eq!(narrow.to_ints().unwrap(), [-1, 0, 1]);
    }
}
