//! Named structured ops: the loops and bodies that their names imply.

use super::arith::{Arith, of_element, of_name, of_scalar};
use super::structured::element_type;
use super::text::StructuredSyntax;
use super::{KIND, Loops, StructuredOp, YIELD};
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, ElementType, Loc, Name, OpRef, Program, Region, Ty, TypeData, Value};
use crate::kernel::{Arg, Inst, body_of_region};
use crate::op::OpDef;
use crate::scalar::ScalarOp;

/// The computation of a named op's body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// The operand's element.
    Copy,
    /// The sum of the result so far and the product of two elements.
    Product,
    /// One operation on the operands' elements.
    Op(ScalarOp),
    /// The operation of `linalg.elementwise` of this kind.
    Kind(&'static str),
}

macro_rules! rows {
    ($($id:ident $name:literal $loops:expr, $form:ident, $body:expr, [$($example:literal),*];)*) => {
        $(static $id: StructuredOp =
            StructuredOp { name: $name, loops: $loops, text: StructuredSyntax::$form, examples: &[$($example),*] };)*
        /// The structured ops.
        pub(super) static OPS: &[&dyn OpDef] = &[$(&$id),*];

        /// Returns the computation of the body of the op called `name`; `None` if its text states it.
        fn named(name: &str) -> Option<Named> {
            match name {
                $($name => $body,)*
                _ => None,
            }
        }
    };
}

const fn op(op: ScalarOp) -> Option<Named> {
    Some(Named::Op(op))
}

rows! {
    GENERIC "linalg.generic" Loops::Stated, Generic, None, [
        "(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>, %c: tensor<4x8xf32>) %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%c : tensor<4x8xf32>) {
         ^bb0(%x: f32, %y: f32, %s: f32):
           %p = arith.mulf %x, %y : f32
           %t = arith.addf %s, %p : f32
           linalg.yield %t : f32
         } -> tensor<4x8xf32>",
        "(%a: tensor<4x6xf32>, %b: tensor<6xf32>) %e = tensor.empty() : tensor<6x4xf32> %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [\"parallel\", \"parallel\"]} ins(%a, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<6x4xf32>) {
         ^bb0(%x: f32, %y: f32, %s: f32):
           %p = arith.subf %x, %y : f32
           linalg.yield %p : f32
         } -> tensor<6x4xf32>",
        "(%a: tensor<4x6xi32>) %c = arith.constant dense<-2147483648> : tensor<6xi32> %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = [\"reduction\", \"parallel\"]} ins(%a : tensor<4x6xi32>) outs(%c : tensor<6xi32>) {
         ^bb0(%x: i32, %s: i32):
           %p = arith.maxsi %x, %s : i32
           linalg.yield %p : i32
         } -> tensor<6xi32>"
    ];
    FILL "linalg.fill" Loops::Elementwise, Named, Some(Named::Copy), [
        "(%e: tensor<2x4xf32>) %c = arith.constant 1.5 : f32 %r = linalg.fill ins(%c : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>"
    ];
    COPY "linalg.copy" Loops::Elementwise, Named, Some(Named::Copy), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.copy ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    MATMUL "linalg.matmul" Loops::Matmul { batch: 0 }, Named, Some(Named::Product), [
        "(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>, %c: tensor<4x8xf32>) %r = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>"
    ];
    BATCH_MATMUL "linalg.batch_matmul" Loops::Matmul { batch: 1 }, Named, Some(Named::Product), [
        "(%a: tensor<2x4x6xi32>, %b: tensor<2x6x8xi32>, %c: tensor<2x4x8xi32>) %r = linalg.batch_matmul ins(%a, %b : tensor<2x4x6xi32>, tensor<2x6x8xi32>) outs(%c : tensor<2x4x8xi32>) -> tensor<2x4x8xi32>"
    ];
    TRANSPOSE "linalg.transpose" Loops::Transpose, Transpose, Some(Named::Copy), [
        "(%a: tensor<2x4x6xf32>, %e: tensor<4x6x2xf32>) %r = linalg.transpose ins(%a : tensor<2x4x6xf32>) outs(%e : tensor<4x6x2xf32>) permutation = [1, 2, 0]"
    ];
    BROADCAST "linalg.broadcast" Loops::Broadcast, Broadcast, Some(Named::Copy), [
        "(%a: tensor<4xf32>, %e: tensor<2x4xf32>) %r = linalg.broadcast ins(%a : tensor<4xf32>) outs(%e : tensor<2x4xf32>) dimensions = [0]"
    ];
    REDUCE "linalg.reduce" Loops::Reduce, Reduce, None, [
        "(%a: tensor<2x4x6xf32>, %c: tensor<4xf32>) %r = linalg.reduce { arith.addf } ins(%a : tensor<2x4x6xf32>) outs(%c : tensor<4xf32>) dimensions = [0, 2]"
    ];
    MAP "linalg.map" Loops::Elementwise, Map, None, [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.map { arith.maximumf } ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)"
    ];
    ADD "linalg.add" Loops::Elementwise, Named, op(ScalarOp::Add), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    SUB "linalg.sub" Loops::Elementwise, Named, op(ScalarOp::Sub), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    MUL "linalg.mul" Loops::Elementwise, Named, op(ScalarOp::Mul), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.mul ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    DIV "linalg.div" Loops::Elementwise, Named, op(ScalarOp::Div), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.div ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    MAX "linalg.max" Loops::Elementwise, Named, op(ScalarOp::Max), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.max ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    MIN "linalg.min" Loops::Elementwise, Named, op(ScalarOp::Min), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.min ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    EXP "linalg.exp" Loops::Elementwise, Named, op(ScalarOp::Exp), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    LOG "linalg.log" Loops::Elementwise, Named, op(ScalarOp::Log), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.log ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    ABS "linalg.abs" Loops::Elementwise, Named, op(ScalarOp::Abs), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.abs ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    CEIL "linalg.ceil" Loops::Elementwise, Named, op(ScalarOp::Ceil), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.ceil ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    FLOOR "linalg.floor" Loops::Elementwise, Named, op(ScalarOp::Floor), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.floor ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    NEGF "linalg.negf" Loops::Elementwise, Named, op(ScalarOp::Neg), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.negf ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    ROUND "linalg.round" Loops::Elementwise, Named, op(ScalarOp::RoundAfz), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.round ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    SQRT "linalg.sqrt" Loops::Elementwise, Named, op(ScalarOp::Sqrt), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.sqrt ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    RSQRT "linalg.rsqrt" Loops::Elementwise, Named, op(ScalarOp::Rsqrt), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.rsqrt ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    ELEMENTWISE "linalg.elementwise" Loops::Elementwise, Elementwise, None, [
        "(%a: tensor<4x6xi32>, %b: tensor<6x4xi32>, %e: tensor<4x6xi32>) %r = linalg.elementwise kind=#linalg.elementwise_kind<max_unsigned> indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] ins(%a, %b : tensor<4x6xi32>, tensor<6x4xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>"
    ];
    SQUARE "linalg.square" Loops::Elementwise, Named, Some(Named::Kind("square")), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.square ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    SELECT "linalg.select" Loops::Elementwise, Named, Some(Named::Kind("select")), [
        "(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.select ins(%c, %a, %b : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    POWF "linalg.powf" Loops::Elementwise, Named, Some(Named::Kind("powf")), [
        "(%a: tensor<4xf32>, %b: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.powf ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
    DIV_UNSIGNED "linalg.div_unsigned" Loops::Elementwise, Named, Some(Named::Kind("div_unsigned")), [
        "(%a: tensor<4xi32>, %b: tensor<4xi32>, %e: tensor<4xi32>) %r = linalg.div_unsigned ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi32>) -> tensor<4xi32>"
    ];
    TANH "linalg.tanh" Loops::Elementwise, Named, op(ScalarOp::Tanh), [
        "(%a: tensor<4xf32>, %e: tensor<4xf32>) %r = linalg.tanh ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"
    ];
}

/// Returns the types of elements, if all types are scalars or tensors.
fn elements(program: &Program, types: &[Ty]) -> Option<Vec<ElementType>> {
    let element = |&ty: &Ty| match program.type_data(ty) {
        TypeData::Scalar(element) => Some(*element),
        TypeData::Tensor(ty) => Some(ty.element),
        _ => None,
    };
    types.iter().map(element).collect()
}

/// Builds a region of scalars that returns the result of `f`.
fn region(
    program: &mut Program,
    elements: &[ElementType],
    f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Option<Value>,
) -> Option<Region> {
    let types: Vec<Ty> = elements.iter().map(|&e| program.intern_type(TypeData::Scalar(e))).collect();
    let mut ops = Vec::new();
    let mut made = None;
    let mut b = Builder::new(program, &mut ops, Loc::UNKNOWN);
    let region = b.region(&types, |b, args| {
        made = f(b, args);
        if let Some(value) = made {
            b.op(&YIELD, &[value], &[], &[]);
        }
    });
    made.map(|_| region)
}

/// Returns the op for `linalg.elementwise` of this kind on elements of a type, and the operands that it takes.
fn of_kind(kind: &str, element: ElementType) -> Option<(&'static Arith, &'static [usize])> {
    let scalar = |op: ScalarOp| of_scalar(of_element(op, element), element);
    let either = |float: &str, integer: &str| of_name(if element.is_float() { float } else { integer });
    let (row, takes): (_, &'static [usize]) = match kind {
        "abs" | "ceil" | "exp" | "floor" | "log" | "negf" | "round" | "rsqrt" | "sqrt" | "tanh" => {
            let unary = match kind {
                "abs" => ScalarOp::Abs,
                "ceil" => ScalarOp::Ceil,
                "exp" => ScalarOp::Exp,
                "floor" => ScalarOp::Floor,
                "log" => ScalarOp::Log,
                "negf" => ScalarOp::Neg,
                "round" => ScalarOp::RoundAfz,
                "rsqrt" => ScalarOp::Rsqrt,
                "sqrt" => ScalarOp::Sqrt,
                _ => ScalarOp::Tanh,
            };
            (scalar(unary).filter(|_| element.is_float()), &[0])
        }
        "square" => (scalar(ScalarOp::Mul).filter(|_| element.is_float()), &[0, 0]),
        "add" => (scalar(ScalarOp::Add), &[0, 1]),
        "sub" => (scalar(ScalarOp::Sub), &[0, 1]),
        "mul" => (scalar(ScalarOp::Mul), &[0, 1]),
        "div" => (scalar(ScalarOp::Div), &[0, 1]),
        "div_unsigned" => (of_name("arith.divui").filter(|_| !element.is_float()), &[0, 1]),
        "max_signed" => (either("arith.maximumf", "arith.maxsi"), &[0, 1]),
        "min_signed" => (either("arith.minimumf", "arith.minsi"), &[0, 1]),
        "max_unsigned" => (either("arith.maximumf", "arith.maxui"), &[0, 1]),
        "min_unsigned" => (either("arith.minimumf", "arith.minui"), &[0, 1]),
        "powf" => (scalar(ScalarOp::Pow).filter(|_| element.is_float()), &[0, 1]),
        "select" => (of_name("arith.select"), &[0, 1, 2]),
        _ => return None,
    };
    Some((row?, takes))
}

/// Returns the body of `linalg.elementwise` of this kind on operands of these types; `None` if they don't fit.
pub(super) fn body_of_kind(program: &mut Program, kind: &str, types: &[Ty]) -> Option<Region> {
    let elements = elements(program, types)?;
    let (&element, inputs) = elements.split_last()?;
    let (row, takes) = of_kind(kind, element)?;
    let is = |(i, &ty): (usize, &ElementType)| ty == if kind == "select" && i == 0 { ElementType::I1 } else { element };
    if takes.iter().max().is_none_or(|&last| last + 1 != inputs.len()) || !inputs.iter().enumerate().all(is) {
        return None;
    }
    let ty = program.intern_type(TypeData::Scalar(element));
    region(program, &elements, |b, args| {
        let operands: Vec<Value> = takes.iter().map(|&i| args[i]).collect();
        let op = b.op(row, &operands, &[ty], &[]);
        Some(b.program.result(op, 0))
    })
}

/// Returns whether the body is the one that the kind implies.
fn has_body_of_kind(op: OpRef<'_>, kind: &str) -> bool {
    let Some(block) = op.block(0) else { return false };
    let (args, ops) = (op.program.block_args(block), op.program.block_ops(block));
    let element = args.last().and_then(|&v| element_type(op, v));
    let (Some((row, takes)), &[one, end]) = (element.and_then(|element| of_kind(kind, element)), ops) else {
        return false;
    };
    let (one, end) = (op.program.view(one), op.program.view(end));
    let operands = takes.iter().map(|&i| args.get(i).copied());
    one.name() == row.name()
        && one.operands().iter().map(|&v| Some(v)).eq(operands)
        && end.operands().iter().copied().eq(one.results())
}

/// Returns the body of the named op on operands of these types; `None` if it computes with elements of different types.
pub(super) fn body(program: &mut Program, name: &str, types: &[Ty]) -> Option<Region> {
    let elements = elements(program, types)?;
    let (&element, inputs) = elements.split_last()?;
    let ty = program.intern_type(TypeData::Scalar(element));
    let named = named(name)?;
    if let Named::Kind(kind) = named {
        return body_of_kind(program, kind, types);
    }
    if inputs.iter().any(|&e| e != element) {
        return None;
    }
    region(program, &elements, |b, args| {
        let mut op = |scalar: ScalarOp, args: &[Value]| {
            let op = b.op(of_scalar(of_element(scalar, element), element)?, args, &[ty], &[]);
            Some(b.program.result(op, 0))
        };
        match (named, args) {
            (Named::Copy, [x, _]) => Some(*x),
            (Named::Product, [x, y, sum]) => {
                let product = op(ScalarOp::Mul, &[*x, *y])?;
                op(ScalarOp::Add, &[*sum, product])
            }
            (Named::Op(scalar), [operands @ .., _]) if operands.len() == arity(scalar) => op(scalar, operands),
            _ => None,
        }
    })
}

/// Returns the number of operands of the named ops with this operation.
fn arity(op: ScalarOp) -> usize {
    use ScalarOp::{Add, Div, Max, Min, Mul, Sub};
    if matches!(op, Add | Sub | Mul | Div | Max | Min) { 2 } else { 1 }
}

/// Builds a body of the one op with this name and these attributes, on these arguments.
pub(super) fn one_op(
    program: &mut Program,
    (name, attrs): (&str, &[(Name, Attr)]),
    types: &[Ty],
    args: &[usize],
) -> Option<Region> {
    let elements = elements(program, types)?;
    let row = of_name(name).filter(|row| row.takes(args.len()))?;
    let ty = program.intern_type(TypeData::Scalar(*elements.last()?));
    region(program, &elements, |b, all| {
        let operands: Vec<Value> = args.iter().map(|&i| all[i]).collect();
        let op = b.raw(row, row.name(), &operands, &[ty], attrs, &[]);
        Some(b.program.result(op, 0))
    })
}

/// Returns the kind in the attribute of `linalg.elementwise`: `add` for `#linalg.elementwise_kind<add>`.
pub(super) fn kind_of(op: OpRef<'_>) -> Option<&str> {
    let Some(AttrData::Opaque(text)) = op.attr(KIND) else { return None };
    text.strip_prefix("#linalg.elementwise_kind<")?.strip_suffix('>')
}

/// Returns whether the region is the one that the name implies, so that it needn't be printed.
pub(super) fn has_own_body(op: OpRef<'_>) -> bool {
    if let Some(kind) = kind_of(op) {
        return has_body_of_kind(op, kind);
    }
    let Some(named) = named(op.name()) else { return false };
    if let Named::Kind(kind) = named {
        return has_body_of_kind(op, kind);
    }
    let (Some(region), Some(block)) = (op.region(0), op.block(0)) else { return false };
    let args: Vec<Arg> = (0..op.program.block_args(block).len()).map(Arg::Input).collect();
    let Some(body) = body_of_region(op.program, region, &args) else { return false };
    let ops: Vec<(ScalarOp, &[Arg])> = body
        .insts
        .iter()
        .filter_map(|inst| if let Inst::Op { op, args, .. } = inst { Some((*op, &args[..])) } else { None })
        .collect();
    let Some(&element) = body.inputs.last() else { return false };
    let of = |op: ScalarOp| of_element(op, element);
    match named {
        Named::Copy => body.results == [Arg::Input(0)],
        Named::Op(scalar) => body.results == [Arg::Inst(0)] && ops == [(of(scalar), &args[..args.len() - 1])],
        Named::Product => {
            let product = (of(ScalarOp::Mul), &[Arg::Input(0), Arg::Input(1)][..]);
            let sum = (of(ScalarOp::Add), &[Arg::Input(2), Arg::Inst(0)][..]);
            body.results == [Arg::Inst(1)] && ops == [product, sum]
        }
        Named::Kind(_) => false,
    }
}
