//! Scalar operations as `arith` and `math` ops, with the semantics of `ScalarOp::apply`.
//!
//! Cases that machine instructions leave undefined get the same results as there: division by zero, shifts by more than
//! the width, conversions out of range.

use std::borrow::Cow;

use dialect::Rounding;
use dialect::ir::{ElementClass, ElementType};
use dialect::scalar::{Comparison, Scalar, ScalarOp};

use super::{precision, small};
use super::{register, storage};
use crate::jit::STRICT;

/// The implementation of elementary functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Math {
    /// Vectorizable code of this crate, with errors of a few units in the last place.
    #[default]
    Fast,
    /// The C library in f64, rounded once: one call for each element.
    Strict,
}

/// Writes operations, either on single elements or on vectors of elements.
pub(super) trait Write {
    /// Appends `%n = text` and returns `%n`.
    fn value(&mut self, text: &str) -> String;

    /// Returns the MLIR type of values whose elements have this type.
    fn of(&self, element: &'static str) -> Cow<'static, str>;
}

type Emit<'a> = &'a mut dyn Write;

/// Returns whether the result, which is computed in a wider type, must be rounded to `ty`.
pub(super) fn rounds(op: ScalarOp, from: ElementType, ty: ElementType) -> bool {
    use ScalarOp::*;
    match op {
        // These return one of their operands, possibly with another sign, so they are exact.
        Select | Max | Min | Bitcast | Real | Imag => false,
        Neg | Abs | Sign => small::lacks_zeros(ty),
        // The next integer may be larger than the largest number of the type.
        Floor | Ceil | RoundAfz | RoundEven => small::is_small(ty),
        Convert if from == ty => false,
        Convert if small::is_small(ty) || small::is_small(from) => ty.is_float(),
        Convert => ty.is_float() && !(from == ElementType::I1 || from.bits() < ty.bits() && from.is_float()),
        _ => ty.is_float(),
    }
}

/// Writes a constant of an element type, in its register type.
pub(super) fn constant(value: Scalar, ty: ElementType, emit: Emit<'_>) -> String {
    let reg = register(ty);
    let text = match value {
        Scalar::Float(v) if reg == "f64" => format!("0x{:016X}", v.to_bits()),
        Scalar::Float(v) => format!("0x{:08X}", (v as f32).to_bits()),
        Scalar::Int(v) if ty == ElementType::I1 => (v != 0).to_string(),
        Scalar::Int(v) => v.to_string(),
        Scalar::Complex(..) => "0".to_owned(),
    };
    literal(&text, reg, emit)
}

/// Writes a constant from MLIR text, in each element.
pub(super) fn literal(text: &str, element: &'static str, emit: Emit<'_>) -> String {
    let ty = emit.of(element);
    match element {
        _ if ty != element => emit.value(&format!("arith.constant dense<{text}> : {ty}")),
        "i1" => emit.value(&format!("arith.constant {text}")),
        _ => emit.value(&format!("arith.constant {text} : {ty}")),
    }
}

/// Selects `then` where the condition holds and `otherwise` elsewhere. Both have elements of this MLIR type.
pub(super) fn select(condition: &str, then: &str, otherwise: &str, element: &'static str, emit: Emit<'_>) -> String {
    let ty = emit.of(element);
    let condition_ty = if ty == element { String::new() } else { format!("{}, ", emit.of("i1")) };
    emit.value(&format!("arith.select {condition}, {then}, {otherwise} : {condition_ty}{ty}"))
}

/// Does the same as [`operation`], but computes elementary functions of floats by the C library in f64.
pub(super) fn strict_operation(
    op: ScalarOp,
    from: ElementType,
    to: ElementType,
    args: &[String],
    emit: Emit<'_>,
) -> String {
    if op.rounding() != Rounding::Approximate || from.class() != ElementClass::Float {
        return operation(op, from, to, args, emit);
    }
    let args: Vec<String> = args.iter().map(|a| convert(a, from, ElementType::F64, emit)).collect();
    let v = operation(op, ElementType::F64, ElementType::F64, &args, &mut Marking(emit));
    convert(&v, ElementType::F64, to, emit)
}

/// Marks ops of the math dialect as [`STRICT`].
struct Marking<'a>(Emit<'a>);

impl Write for Marking<'_> {
    fn value(&mut self, text: &str) -> String {
        match if text.starts_with("math.") { text.rfind(" :") } else { None } {
            Some(at) => self.0.value(&format!("{} {{{STRICT}}}{}", &text[..at], &text[at..])),
            None => self.0.value(text),
        }
    }

    fn of(&self, element: &'static str) -> Cow<'static, str> {
        self.0.of(element)
    }
}

/// Writes `op` applied to `args`. Operands have type `from` (except select's predicate), the result has type `to`.
pub(super) fn operation(op: ScalarOp, from: ElementType, to: ElementType, args: &[String], emit: Emit<'_>) -> String {
    use ScalarOp::*;
    let reg = emit.of(register(from));
    let reg = &*reg;
    let a = args.first().map_or("", |s| s);
    let b = args.get(1).map_or("", |s| s);
    match op {
        Select => return select(a, b, &args[2], register(to), emit),
        Convert => return convert(a, from, to, emit),
        // Real and imaginary parts of real numbers.
        Real => return a.to_owned(),
        Imag => return constant(Scalar::Float(0.0), to, emit),
        MulAdd => return emit.value(&format!("math.fma {a}, {b}, {} : {reg}", args[2])),
        Compare(c) => {
            let text = match from.class() {
                ElementClass::Float => format!("arith.cmpf {}, {a}, {b} : {reg}", float_predicate(c)),
                ElementClass::Signed => format!("arith.cmpi {}, {a}, {b} : {reg}", int_predicate(c, true)),
                _ => format!("arith.cmpi {}, {a}, {b} : {reg}", int_predicate(c, false)),
            };
            return emit.value(&text);
        }
        CompareTotal(c) => return precision::compare_total(c, from, a, b, emit),
        // The numbers of digits hold for f64, too, so small types are rounded there.
        ReducePrecision { .. } if small::is_small(from) => {
            let wide = convert(a, from, ElementType::F64, emit);
            let v = operation(op, ElementType::F64, ElementType::F64, &[wide], emit);
            return convert(&v, ElementType::F64, to, emit);
        }
        ReducePrecision { exponent, mantissa } => return precision::reduce(exponent, mantissa, from, a, emit),
        Bitcast => {
            // Narrow floats are held in wider registers, so this first converts to their stored form.
            let (low, high) = (emit.of(storage(from).unwrap_or("i8")), emit.of(storage(to).unwrap_or("i8")));
            let stored = stored(a, from, emit);
            let cast =
                if low == high { stored } else { emit.value(&format!("arith.bitcast {stored} : {low} to {high}")) };
            return loaded(&cast, to, emit);
        }
        IsFinite => {
            let abs = emit.value(&format!("math.absf {a} : {reg}"));
            let inf = constant(Scalar::Float(f64::INFINITY), from, emit);
            return emit.value(&format!("arith.cmpf olt, {abs}, {inf} : {reg}"));
        }
        _ => {}
    }
    match from.class() {
        ElementClass::Float => float(op, from, reg, a, b, emit),
        ElementClass::Bool => boolean(op, a, b, emit),
        _ => integer(op, from, reg, a, b, emit),
    }
}

fn float(op: ScalarOp, ty: ElementType, reg: &str, a: &str, b: &str, emit: Emit<'_>) -> String {
    use ScalarOp::*;
    let binary = |name: &str| format!("{name} {a}, {b} : {reg}");
    let unary = |name: &str| format!("{name} {a} : {reg}");
    let text = match op {
        Add => binary("arith.addf"),
        Sub => binary("arith.subf"),
        Mul => binary("arith.mulf"),
        Div => binary("arith.divf"),
        Rem => binary("arith.remf"),
        Pow => binary("math.powf"),
        Max => binary("arith.maximumf"),
        Min => binary("arith.minimumf"),
        Atan2 => binary("math.atan2"),
        Neg => unary("arith.negf"),
        Abs => unary("math.absf"),
        Floor => unary("math.floor"),
        Ceil => unary("math.ceil"),
        RoundAfz => unary("math.round"),
        RoundEven => unary("math.roundeven"),
        Sqrt => unary("math.sqrt"),
        Rsqrt => unary("math.rsqrt"),
        Cbrt => unary("math.cbrt"),
        Exp => unary("math.exp"),
        Expm1 => unary("math.expm1"),
        Log => unary("math.log"),
        Log1p => unary("math.log1p"),
        Tanh => unary("math.tanh"),
        Tan => unary("math.tan"),
        Sin => unary("math.sin"),
        Cos => unary("math.cos"),
        Logistic => {
            // Uses an exponential that can't overflow, so that small results have all their digits.
            let (zero, one) = (constant(Scalar::Float(0.0), ty, emit), constant(Scalar::Float(1.0), ty, emit));
            let magnitude = emit.value(&format!("math.absf {a} : {reg}"));
            let minus = emit.value(&format!("arith.negf {magnitude} : {reg}"));
            let e = emit.value(&format!("math.exp {minus} : {reg}"));
            let d = emit.value(&format!("arith.addf {one}, {e} : {reg}"));
            let below = emit.value(&format!("arith.cmpf olt, {a}, {zero} : {reg}"));
            let n = select(&below, &e, &one, register(ty), emit);
            format!("arith.divf {n}, {d} : {reg}")
        }
        Sign => {
            // Zeros and NaNs are returned unchanged.
            let (zero, one) = (constant(Scalar::Float(0.0), ty, emit), constant(Scalar::Float(1.0), ty, emit));
            let signed = emit.value(&format!("math.copysign {one}, {a} : {reg}"));
            let nonzero = emit.value(&format!("arith.cmpf one, {a}, {zero} : {reg}"));
            return select(&nonzero, &signed, a, register(ty), emit);
        }
        _ => unary("arith.negf"),
    };
    emit.value(&text)
}

fn boolean(op: ScalarOp, a: &str, b: &str, emit: Emit<'_>) -> String {
    use ScalarOp::*;
    let i1 = emit.of("i1");
    let text = match op {
        Add | Max | Or => format!("arith.ori {a}, {b} : {i1}"),
        Mul | Min | And => format!("arith.andi {a}, {b} : {i1}"),
        Xor => format!("arith.xori {a}, {b} : {i1}"),
        Not => {
            let t = literal("true", "i1", emit);
            format!("arith.xori {a}, {t} : {i1}")
        }
        _ => format!("arith.ori {a}, {a} : {i1}"),
    };
    emit.value(&text)
}

fn integer(op: ScalarOp, ty: ElementType, reg: &str, a: &str, b: &str, emit: Emit<'_>) -> String {
    use ScalarOp::*;
    let signed = ty.class() == ElementClass::Signed;
    let by_sign = |s: &'static str, u: &'static str| if signed { s } else { u };
    let binary = |name: &str| format!("{name} {a}, {b} : {reg}");
    let text = match op {
        Add => binary("arith.addi"),
        Sub => binary("arith.subi"),
        Mul => binary("arith.muli"),
        And => binary("arith.andi"),
        Or => binary("arith.ori"),
        Xor => binary("arith.xori"),
        Max => binary(by_sign("arith.maxsi", "arith.maxui")),
        Min => binary(by_sign("arith.minsi", "arith.minui")),
        Div | Rem => return divide(op == Rem, ty, reg, a, b, emit),
        Shl | ShrLogical | ShrArithmetic => {
            let bits = constant(Scalar::Int(ty.bits().into()), ty, emit);
            let last = constant(Scalar::Int((ty.bits() - 1).into()), ty, emit);
            let fits = emit.value(&format!("arith.cmpi ult, {b}, {bits} : {reg}"));
            let by = select(&fits, b, &last, register(ty), emit);
            let name = match op {
                Shl => "arith.shli",
                ShrLogical => "arith.shrui",
                _ => "arith.shrsi",
            };
            let shifted = emit.value(&format!("{name} {a}, {by} : {reg}"));
            if op == ShrArithmetic {
                return shifted;
            }
            let zero = constant(Scalar::Int(0), ty, emit);
            return select(&fits, &shifted, &zero, register(ty), emit);
        }
        Neg => {
            let zero = constant(Scalar::Int(0), ty, emit);
            format!("arith.subi {zero}, {a} : {reg}")
        }
        Not => {
            let ones = literal("-1", register(ty), emit);
            format!("arith.xori {a}, {ones} : {reg}")
        }
        Abs if signed => format!("math.absi {a} : {reg}"),
        Popcnt => format!("math.ctpop {a} : {reg}"),
        Clz => format!("math.ctlz {a} : {reg}"),
        Sign => {
            let (zero, one) = (constant(Scalar::Int(0), ty, emit), constant(Scalar::Int(1), ty, emit));
            let positive = emit.value(&format!("arith.cmpi {}, {a}, {zero} : {reg}", by_sign("sgt", "ugt")));
            let up = select(&positive, &one, &zero, register(ty), emit);
            if !signed {
                return up;
            }
            let minus = literal("-1", register(ty), emit);
            let negative = emit.value(&format!("arith.cmpi slt, {a}, {zero} : {reg}"));
            return select(&negative, &minus, &up, register(ty), emit);
        }
        _ => format!("arith.ori {a}, {a} : {reg}"),
    };
    emit.value(&text)
}

/// Divides integers. Dividing by zero gives a quotient of all ones and the dividend as remainder; the smallest number
/// divided by -1 wraps.
fn divide(remainder: bool, ty: ElementType, reg: &str, a: &str, b: &str, emit: Emit<'_>) -> String {
    let signed = ty.class() == ElementClass::Signed;
    let (zero, one) = (constant(Scalar::Int(0), ty, emit), constant(Scalar::Int(1), ty, emit));
    let by_zero = emit.value(&format!("arith.cmpi eq, {b}, {zero} : {reg}"));
    let mut safe = select(&by_zero, &one, b, register(ty), emit);
    let ones = literal("-1", register(ty), emit);
    let mut by_minus = None;
    if signed {
        let minus = emit.value(&format!("arith.cmpi eq, {b}, {ones} : {reg}"));
        safe = select(&minus, &one, &safe, register(ty), emit);
        by_minus = Some(minus);
    }
    let name = match (remainder, signed) {
        (false, true) => "arith.divsi",
        (false, false) => "arith.divui",
        (true, true) => "arith.remsi",
        (true, false) => "arith.remui",
    };
    let mut v = emit.value(&format!("{name} {a}, {safe} : {reg}"));
    if let Some(minus) = by_minus
        && !remainder
    {
        let negated = emit.value(&format!("arith.subi {zero}, {a} : {reg}"));
        v = select(&minus, &negated, &v, register(ty), emit);
    }
    let otherwise = if remainder { a.to_owned() } else { ones };
    select(&by_zero, &otherwise, &v, register(ty), emit)
}

/// Converts a value to its stored form.
pub(super) fn stored(v: &str, ty: ElementType, emit: Emit<'_>) -> String {
    let (wide, low) = (emit.of(register(ty)), emit.of(storage(ty).unwrap_or("i8")));
    match ty {
        ElementType::I1 => emit.value(&format!("arith.extui {v} : {wide} to {low}")),
        _ if small::is_small(ty) => small::narrow(v, ty, emit),
        _ if wide == low => v.to_owned(),
        _ => emit.value(&format!("arith.truncf {v} : {wide} to {low}")),
    }
}

/// Converts the stored form to a value.
pub(super) fn loaded(v: &str, ty: ElementType, emit: Emit<'_>) -> String {
    let (wide, low) = (emit.of(register(ty)), emit.of(storage(ty).unwrap_or("i8")));
    match ty {
        ElementType::I1 => {
            let zero = constant(Scalar::Int(0), ElementType::I8, emit);
            emit.value(&format!("arith.cmpi ne, {v}, {zero} : {low}"))
        }
        _ if small::is_small(ty) => small::widen(v, ty, emit),
        _ if wide == low => v.to_owned(),
        _ => emit.value(&format!("arith.extf {v} : {low} to {wide}")),
    }
}

fn convert(a: &str, from: ElementType, to: ElementType, emit: Emit<'_>) -> String {
    let (f, t) = (emit.of(register(from)), emit.of(register(to)));
    match (from.class(), to.class()) {
        _ if from == to => a.to_owned(),
        (ElementClass::Float, ElementClass::Float) => match (register(from), register(to)) {
            ("f32", "f64") => emit.value(&format!("arith.extf {a} : {f} to {t}")),
            ("f64", "f32") if small::is_small(to) => small::to_odd(a, emit),
            ("f64", "f32") => narrow(a, to, emit),
            _ => a.to_owned(),
        },
        (ElementClass::Float, ElementClass::Bool) => {
            let zero = constant(Scalar::Float(0.0), from, emit);
            emit.value(&format!("arith.cmpf une, {a}, {zero} : {f}"))
        }
        (ElementClass::Float, _) => float_to_int(a, from, to, emit),
        (_, ElementClass::Bool) => {
            let zero = constant(Scalar::Int(0), from, emit);
            emit.value(&format!("arith.cmpi ne, {a}, {zero} : {f}"))
        }
        // Converts through f64, which has more digits.
        (ElementClass::Signed | ElementClass::Unsigned, ElementClass::Float)
            if small::is_small(to) && from.bits() > 16 =>
        {
            let wide = convert(a, from, ElementType::F64, emit);
            convert(&wide, ElementType::F64, to, emit)
        }
        (ElementClass::Signed, ElementClass::Float) => emit.value(&format!("arith.sitofp {a} : {f} to {t}")),
        (_, ElementClass::Float) => emit.value(&format!("arith.uitofp {a} : {f} to {t}")),
        (class, _) => {
            let (x, y) = (if from == ElementType::I1 { 1 } else { from.bits() }, to.bits());
            match x.cmp(&y) {
                std::cmp::Ordering::Equal => a.to_owned(),
                std::cmp::Ordering::Greater => emit.value(&format!("arith.trunci {a} : {f} to {t}")),
                std::cmp::Ordering::Less if class == ElementClass::Signed => {
                    emit.value(&format!("arith.extsi {a} : {f} to {t}"))
                }
                std::cmp::Ordering::Less => emit.value(&format!("arith.extui {a} : {f} to {t}")),
            }
        }
    }
}

/// Converts f64 directly to the stored type, then widens it again: rounding twice would give other results.
fn narrow(a: &str, to: ElementType, emit: Emit<'_>) -> String {
    let (f64, f32, low) = (emit.of("f64"), emit.of("f32"), emit.of(storage(to).unwrap_or("f32")));
    let v = emit.value(&format!("arith.truncf {a} : {f64} to {low}"));
    if low == f32 { v } else { emit.value(&format!("arith.extf {v} : {low} to {f32}")) }
}

/// Rounds toward zero. NaN becomes 0, and values out of range become the nearest bound.
fn float_to_int(a: &str, from: ElementType, to: ElementType, emit: Emit<'_>) -> String {
    let signed = to.class() == ElementClass::Signed;
    let bits = to.bits();
    let (f, t, i1) = (emit.of(register(from)), emit.of(register(to)), emit.of("i1"));
    let (low, high) = if signed {
        (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1))
    } else {
        (0.0, 2f64.powi(bits as i32))
    };
    let element = if from == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let (lo, hi) = (constant(Scalar::Float(low), element, emit), constant(Scalar::Float(high), element, emit));
    let below = emit.value(&format!("arith.cmpf olt, {a}, {lo} : {f}"));
    let above = emit.value(&format!("arith.cmpf oge, {a}, {hi} : {f}"));
    let nan = emit.value(&format!("arith.cmpf uno, {a}, {a} : {f}"));
    let outside = emit.value(&format!("arith.ori {below}, {above} : {i1}"));
    let bad = emit.value(&format!("arith.ori {outside}, {nan} : {i1}"));
    let zero = constant(Scalar::Float(0.0), element, emit);
    let safe = select(&bad, &zero, a, register(from), emit);
    let v = emit.value(&format!("arith.{} {safe} : {f} to {t}", if signed { "fptosi" } else { "fptoui" }));
    let (least, most) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let least = constant(Scalar::Int(least), to, emit);
    // The largest unsigned number is all ones.
    let most = if signed { constant(Scalar::Int(most), to, emit) } else { literal("-1", register(to), emit) };
    let v = select(&below, &least, &v, register(to), emit);
    select(&above, &most, &v, register(to), emit)
}

fn float_predicate(c: Comparison) -> &'static str {
    match c {
        Comparison::Eq => "oeq",
        Comparison::Ne => "une",
        Comparison::Lt => "olt",
        Comparison::Le => "ole",
        Comparison::Gt => "ogt",
        Comparison::Ge => "oge",
    }
}

fn int_predicate(c: Comparison, signed: bool) -> &'static str {
    match (c, signed) {
        (Comparison::Eq, _) => "eq",
        (Comparison::Ne, _) => "ne",
        (Comparison::Lt, true) => "slt",
        (Comparison::Le, true) => "sle",
        (Comparison::Gt, true) => "sgt",
        (Comparison::Ge, true) => "sge",
        (Comparison::Lt, false) => "ult",
        (Comparison::Le, false) => "ule",
        (Comparison::Gt, false) => "ugt",
        (Comparison::Ge, false) => "uge",
    }
}
