//! Floats of a byte and less: stored as bytes, computed in f32, rounded after every operation.
//!
//! Bits are assembled by integer operations, so that subnormal numbers of these types are exact even if f32 treats its
//! own subnormals as zeros.

use dialect::ir::ElementType;
pub(super) use dialect::small_float::is_small;
use dialect::small_float::{Format, Top};

use super::arith::{Write, literal, select};

/// The bits of infinity, and of the NaN that replaces all NaNs.
const INFINITY: u32 = 0x7F80_0000;
const NAN: u32 = 0x7FC0_0000;

/// Returns whether a type has no zero, or no negative zero, so that even operations that return one of their operands
/// have to round.
pub(super) fn lacks_zeros(element: ElementType) -> bool {
    is_small(element) && Format::of(element).is_none_or(|f| f.top == Top::Unsigned)
}

/// Writes operations on the bits of numbers.
struct Bits<'a>(&'a mut dyn Write);

impl Bits<'_> {
    fn number(&mut self, value: u32) -> String {
        literal(&(value as i32).to_string(), "i32", self.0)
    }

    fn binary(&mut self, name: &str, a: &str, b: &str) -> String {
        let ty = self.0.of("i32");
        self.0.value(&format!("arith.{name} {a}, {b} : {ty}"))
    }

    /// Writes op `name` of `a` and a constant.
    fn by(&mut self, name: &str, a: &str, b: u32) -> String {
        let b = self.number(b);
        self.binary(name, a, &b)
    }

    fn is(&mut self, predicate: &str, a: &str, b: u32) -> String {
        let (b, ty) = (self.number(b), self.0.of("i32"));
        self.0.value(&format!("arith.cmpi {predicate}, {a}, {b} : {ty}"))
    }

    fn select(&mut self, condition: &str, then: &str, otherwise: &str) -> String {
        select(condition, then, otherwise, "i32", self.0)
    }

    fn convert(&mut self, name: &str, a: &str, from: &'static str, to: &'static str) -> String {
        let (from, to) = (self.0.of(from), self.0.of(to));
        self.0.value(&format!("arith.{name} {a} : {from} to {to}"))
    }

    /// Writes `a op b` of an f32 and a constant.
    fn float(&mut self, name: &str, a: &str, b: f32) -> String {
        let (b, ty) = (literal(&format!("0x{:08X}", b.to_bits()), "f32", self.0), self.0.of("f32"));
        self.0.value(&format!("arith.{name} {a}, {b} : {ty}"))
    }
}

/// Converts stored bytes to f32.
pub(super) fn widen(v: &str, element: ElementType, emit: &mut dyn Write) -> String {
    let mut w = Bits(emit);
    let all = w.convert("extui", v, "i8", "i32");
    let Some(f) = Format::of(element) else {
        // The type has only an exponent, whose smallest value is a subnormal f32.
        let plain = w.by("shli", &all, 23);
        let (is_least, is_nan) = (w.is("eq", &all, 0), w.is("eq", &all, 0xFF));
        let (least, nan) = (w.number(1 << 22), w.number(NAN));
        let bits = w.select(&is_least, &least, &plain);
        let bits = w.select(&is_nan, &nan, &bits);
        return w.convert("bitcast", &bits, "i32", "f32");
    };
    let (width, left) = (f.exponent + f.mantissa, 23 - f.mantissa);
    let magnitude = w.by("andi", &all, (1 << width) - 1);
    let sign = w.by("andi", &all, 1 << width);
    let sign = w.by("shli", &sign, 31 - width);
    let moved = w.by("shli", &magnitude, left);
    let normal = w.by("addi", &moved, ((127 - f.bias) as u32) << 23);
    // A subnormal number is a multiple of the smallest one.
    let count = w.convert("sitofp", &magnitude, "i32", "f32");
    let least = w.float("mulf", &count, 2f32.powi(1 - f.bias - f.mantissa as i32));
    let least = w.convert("bitcast", &least, "f32", "i32");
    let is_least = w.is("ult", &magnitude, 1 << f.mantissa);
    let mut bits = w.select(&is_least, &least, &normal);
    let nan = match f.top {
        Top::Ieee => {
            let infinity = u32::from(f.largest()) + 1;
            let (is_infinity, value) = (w.is("eq", &magnitude, infinity), w.number(INFINITY));
            bits = w.select(&is_infinity, &value, &bits);
            Some(w.is("ugt", &magnitude, infinity))
        }
        Top::NanOnly | Top::Unsigned => {
            let of = if f.top == Top::NanOnly { &magnitude } else { &all };
            Some(w.is("eq", of, f.nan().into()))
        }
        Top::Finite => None,
    };
    bits = w.binary("ori", &bits, &sign);
    if let Some(is_nan) = nan {
        let nan = w.number(NAN);
        bits = w.select(&is_nan, &nan, &bits);
    }
    w.convert("bitcast", &bits, "i32", "f32")
}

/// Returns the bytes of the nearest value to an f32, ties to even.
pub(super) fn narrow(v: &str, element: ElementType, emit: &mut dyn Write) -> String {
    let mut w = Bits(emit);
    let bits = w.convert("bitcast", v, "f32", "i32");
    let Some(f) = Format::of(element) else {
        let stored = exponent(&bits, &mut w);
        return w.convert("trunci", &stored, "i32", "i8");
    };
    let (width, right) = (f.exponent + f.mantissa, 23 - f.mantissa);
    let magnitude = w.by("andi", &bits, 0x7FFF_FFFF);
    // Rounds normal numbers: adds half of the last digit that is kept, slightly less if that digit is even.
    let odd = w.by("shrui", &magnitude, right);
    let odd = w.by("andi", &odd, 1);
    let normal = w.by("addi", &magnitude, (1 << (right - 1)) - 1);
    let normal = w.binary("addi", &normal, &odd);
    let normal = w.by("shrui", &normal, right);
    let normal = w.by("subi", &normal, ((127 - f.bias) as u32) << f.mantissa);
    // Subnormal numbers are multiples of the smallest one. Adding a number whose last digit is the smallest one rounds
    // to such a multiple.
    let last = 2f32.powi(23 + 1 - f.bias - f.mantissa as i32);
    let size = w.convert("bitcast", &magnitude, "i32", "f32");
    let least = w.float("addf", &size, last);
    let least = w.convert("bitcast", &least, "f32", "i32");
    let least = w.by("subi", &least, last.to_bits());
    let is_least = w.is("ult", &magnitude, 2f32.powi(1 - f.bias).to_bits());
    let mut stored = w.select(&is_least, &least, &normal);
    let over = u32::from(f.largest()) + u32::from(f.top != Top::Finite);
    stored = w.by("minui", &stored, over);
    let sign = w.by("shrui", &bits, 31 - width);
    let mut sign = w.by("andi", &sign, 1 << width);
    // Zeros (if unsigned) and NaNs have no sign.
    let bare = match f.top {
        Top::Unsigned => Some(w.is("eq", &stored, 0)),
        Top::NanOnly => Some(w.is("eq", &stored, over)),
        Top::Ieee | Top::Finite => None,
    };
    if let Some(bare) = bare {
        let none = w.number(0);
        sign = w.select(&bare, &none, &sign);
    }
    stored = w.binary("ori", &stored, &sign);
    let (is_nan, nan) = (w.is("ugt", &magnitude, INFINITY), w.number(f.nan().into()));
    stored = w.select(&is_nan, &nan, &stored);
    w.convert("trunci", &stored, "i32", "i8")
}

/// Returns the exponent of the nearest power of two, ties to the larger; NaN where there is none.
fn exponent(bits: &str, w: &mut Bits<'_>) -> String {
    let exponent = w.by("shrui", bits, 23);
    let half = w.by("shrui", bits, 22);
    let half = w.by("andi", &half, 1);
    // A subnormal number has its first digit in the mantissa.
    let three = w.is("uge", bits, 3 << 21);
    let three = w.convert("extui", &three, "i1", "i32");
    let is_subnormal = w.is("eq", &exponent, 0);
    let up = w.select(&is_subnormal, &three, &half);
    let stored = w.binary("addi", &exponent, &up);
    // Zeros, negative numbers, numbers past the largest, and NaNs become NaN.
    let from_zero = w.by("subi", bits, 1);
    let is_none = w.is("uge", &from_zero, ((254 << 23) | (1 << 22)) - 1);
    let nan = w.number(0xFF);
    w.select(&is_none, &nan, &stored)
}

/// Rounds an f64 to f32 so that a second rounding has the same result as rounding the f64 directly: toward zero, with
/// the last bit set if the result is inexact.
pub(super) fn to_odd(v: &str, emit: &mut dyn Write) -> String {
    let mut w = Bits(emit);
    let near = w.convert("truncf", v, "f64", "f32");
    let back = w.convert("extf", &near, "f32", "f64");
    let wide = w.0.of("f64");
    let is_exact = w.0.value(&format!("arith.cmpf ueq, {back}, {v} : {wide}"));
    let sizes = [back.as_str(), v].map(|x| w.0.value(&format!("math.absf {x} : {wide}")));
    let is_past = w.0.value(&format!("arith.cmpf ogt, {}, {} : {wide}", sizes[0], sizes[1]));
    let bits = w.convert("bitcast", &near, "f32", "i32");
    let before = w.by("subi", &bits, 1);
    let toward_zero = w.select(&is_past, &before, &bits);
    let odd = w.by("ori", &toward_zero, 1);
    let bits = w.select(&is_exact, &bits, &odd);
    w.convert("bitcast", &bits, "i32", "f32")
}
