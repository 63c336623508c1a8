//! Typed builders for pointwise ops, constants and iota: `build::add(b, x, y)`. Types follow from the operands; invalid
//! operands are a bug of the calling pass and panic. Scalars are rank-0 tensors and are not broadcast implicitly, see
//! [`shape::splat`].

pub mod collective;
pub mod region;
pub mod sdy;
pub mod shape;

use super::stablehlo::constant::{CONSTANT, IOTA};
use super::stablehlo::control::{OptimizationBarrier, device_placement};
use super::stablehlo::elementwise::{self, CLAMP, COMPARE, CONVERT, REDUCE_PRECISION, SELECT};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, TypeData, Value};
use crate::kernel::{Arg, Body, Inst};
use crate::literal::Literal;
use crate::memory::MemorySpace;
use crate::op::OpDef;
use crate::scalar::{Comparison, Scalar, ScalarOp};

/// Builds `stablehlo.constant`.
pub fn constant(b: &mut Builder<'_>, literal: Literal) -> Value {
    let ty = b.program.intern_type(literal.ty());
    let value = b.program.intern_attr(AttrData::Dense(ty, literal));
    let op = b.op(&CONSTANT, &[], &[ty], &[("value", value)]);
    b.program.result(op, 0)
}

/// Builds a constant whose every element is `value`.
pub fn splat(b: &mut Builder<'_>, element: ElementType, shape: &[i64], value: Scalar) -> Value {
    constant(b, Literal::splat(element, shape, value))
}

/// Builds a rank-0 constant.
pub fn scalar(b: &mut Builder<'_>, element: ElementType, value: Scalar) -> Value {
    splat(b, element, &[], value)
}

/// Builds a rank-0 `i64` constant.
pub fn index(b: &mut Builder<'_>, value: i64) -> Value {
    integer(b, ElementType::I64, value)
}

/// Builds a rank-0 constant of an integer type.
pub fn integer(b: &mut Builder<'_>, element: ElementType, value: i64) -> Value {
    scalar(b, element, Scalar::Int(value.into()))
}

/// Builds the position `of` as `element`, a signed type, clamped to the bounds that `bounds` builds in the type that it
/// receives. Both bounds must be values of `element`. Types whose values `element` doesn't have are clamped first.
pub fn clamped_position(
    b: &mut Builder<'_>,
    of: Value,
    element: ElementType,
    bounds: impl FnOnce(&mut Builder<'_>, ElementType) -> [Value; 2],
) -> Value {
    let own = b.tensor(of).element;
    let compared = if element.has_values_of(own) { element } else { own };
    let of = convert(b, of, compared);
    let [first, last] = bounds(b, compared);
    let of = clamp(b, first, of, last);
    convert(b, of, element)
}

/// Builds `stablehlo.iota` counting along `dim`.
pub fn iota(b: &mut Builder<'_>, element: ElementType, shape: &[i64], dim: usize) -> Value {
    let ty = b.program.tensor(shape, element);
    let dim = b.program.attr_i64(dim as i64);
    let op = b.op(&IOTA, &[], &[ty], &[("iota_dimension", dim)]);
    b.program.result(op, 0)
}

fn one(b: &mut Builder<'_>, def: &'static dyn OpDef, operands: &[Value]) -> Value {
    b.inferred(def, operands, &[], &[])[0]
}

/// Builds the op for one scalar operation, with operands and result of one element type.
pub fn pointwise(b: &mut Builder<'_>, op: ScalarOp, operands: &[Value]) -> Value {
    match (op, operands) {
        (ScalarOp::Compare(c), &[x, y]) => compare(b, c, x, y),
        (ScalarOp::Select, &[p, x, y]) => select(b, p, x, y),
        _ => match elementwise::of_scalar(op) {
            Some(def) => one(b, def, operands),
            None => panic!("{op:?} needs more than operands"),
        },
    }
}

macro_rules! binary {
    ($($name:ident $op:ident,)*) => {$(
        #[doc = concat!("`stablehlo.", stringify!($name), "`")]
        pub fn $name(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
            pointwise(b, ScalarOp::$op, &[x, y])
        }
    )*};
}
binary! {
    add Add, subtract Sub, multiply Mul, divide Div, remainder Rem, maximum Max, minimum Min, and And, or Or, xor Xor,
    shift_left Shl, shift_right_logical ShrLogical,
}

/// Builds `stablehlo.negate`.
pub fn negate(b: &mut Builder<'_>, x: Value) -> Value {
    pointwise(b, ScalarOp::Neg, &[x])
}

/// Builds `stablehlo.not`.
pub fn not(b: &mut Builder<'_>, x: Value) -> Value {
    pointwise(b, ScalarOp::Not, &[x])
}

/// Builds `stablehlo.compare` with the default comparison type of the operands' elements.
pub fn compare(b: &mut Builder<'_>, direction: Comparison, x: Value, y: Value) -> Value {
    let direction = b.program.attr_enum("comparison_direction", direction.text());
    b.inferred(&COMPARE, &[x, y], &[("comparison_direction", direction)], &[])[0]
}

/// Builds `stablehlo.select`; the predicate may be a scalar.
pub fn select(b: &mut Builder<'_>, predicate: Value, on_true: Value, on_false: Value) -> Value {
    one(b, &SELECT, &[predicate, on_true, on_false])
}

/// Builds `stablehlo.clamp`; the bounds may be scalars.
pub fn clamp(b: &mut Builder<'_>, min: Value, x: Value, max: Value) -> Value {
    one(b, &CLAMP, &[min, x, max])
}

/// Builds `stablehlo.convert`; returns `x` if it has this element type already.
pub fn convert(b: &mut Builder<'_>, x: Value, element: ElementType) -> Value {
    if b.tensor(x).element == element {
        return x;
    }
    let ty = b.tensor(x).with_element(element);
    let ty = b.program.intern_type(ty);
    let op = b.op(&CONVERT, &[x], &[ty], &[]);
    b.program.result(op, 0)
}

/// Builds `stablehlo.bitcast_convert` to elements of the same width.
pub fn bitcast(b: &mut Builder<'_>, x: Value, element: ElementType) -> Value {
    let ty = b.tensor(x).with_element(element);
    let ty = b.program.intern_type(ty);
    let op = b.op(&elementwise::BitcastConvert, &[x], &[ty], &[]);
    b.program.result(op, 0)
}

/// Builds `stablehlo.optimization_barrier` of one value.
pub fn optimization_barrier(b: &mut Builder<'_>, x: Value) -> Value {
    one(b, &OptimizationBarrier, &[x])
}

/// Returns the custom call that copies `x` to another memory.
pub fn move_to(b: &mut Builder<'_>, x: Value, to: MemorySpace) -> Value {
    device_placement::build(b, x, to)
}

/// Returns whether StableHLO has an op for each operation of a computation.
pub fn is_expressible(body: &Body) -> bool {
    !body.insts.iter().any(|inst| matches!(inst, Inst::Op { op: ScalarOp::MulAdd, .. }))
}

/// Builds the ops that compute a body's results on tensors of `shape`; returns `None` if the body reads loop positions
/// or accumulators.
pub fn body(b: &mut Builder<'_>, body: &Body, operands: &[Value], shape: &[i64]) -> Option<Vec<Value>> {
    if !is_expressible(body) {
        return None;
    }
    let mut values: Vec<Value> = Vec::with_capacity(body.insts.len());
    let get = |arg: Arg, values: &[Value]| match arg {
        Arg::Input(i) => operands.get(i).copied(),
        Arg::Inst(i) => values.get(i).copied(),
        Arg::Accumulator(_) => None,
    };
    for inst in &body.insts {
        let value = match inst {
            Inst::Const(value, ty) => splat(b, *ty, shape, *value),
            Inst::Index(..) => return None,
            Inst::Op { op, args, ty } => {
                let args: Vec<Value> = args.iter().map(|&a| get(a, &values)).collect::<Option<_>>()?;
                match (*op, &args[..]) {
                    (ScalarOp::Convert, &[x]) => convert(b, x, *ty),
                    (ScalarOp::Bitcast, &[x]) => bitcast(b, x, *ty),
                    (ScalarOp::CompareTotal(c), _) => {
                        let direction = b.program.attr_enum("comparison_direction", c.text());
                        let total = b.program.attr_enum("comparison_type", "TOTALORDER");
                        let attrs = [("comparison_direction", direction), ("compare_type", total)];
                        b.inferred(&COMPARE, &args, &attrs, &[])[0]
                    }
                    (ScalarOp::ReducePrecision { exponent, mantissa }, _) => {
                        let ty = b.program.intern_type(TypeData::Scalar(ElementType::I32));
                        let exponent = b.program.intern_attr(AttrData::Int(exponent.into(), ty));
                        let mantissa = b.program.intern_attr(AttrData::Int(mantissa.into(), ty));
                        let attrs = [("exponent_bits", exponent), ("mantissa_bits", mantissa)];
                        b.inferred(&REDUCE_PRECISION, &args, &attrs, &[])[0]
                    }
                    _ => pointwise(b, *op, &args),
                }
            }
        };
        values.push(value);
    }
    body.results.iter().map(|&r| get(r, &values)).collect()
}
