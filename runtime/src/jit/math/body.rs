//! Writes straight-line MLIR functions over scalars or vectors of one shape.
//!
//! Every method appends one op and returns its result, so an expansion reads like the formula it computes. There are
//! only ops that LLVM can vectorize: no calls, no branches, and no float-to-integer conversion, which is undefined for
//! NaN.

use std::fmt::Write as _;

/// The element type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    F32,
    F64,
    I32,
    I64,
    I1,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::I1 => "i1",
        }
    }

    fn integer_of_same_width(self) -> Kind {
        match self {
            Kind::F32 => Kind::I32,
            Kind::F64 => Kind::I64,
            other => other,
        }
    }
}

/// A value of the function that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct V {
    index: usize,
    kind: Kind,
}

impl V {
    pub(super) fn kind(self) -> Kind {
        self.kind
    }
}

/// A function body under construction.
pub(super) struct Body {
    text: String,
    next: usize,
    /// Prefix of vector types, such as `vector<4x8x`; empty for scalars.
    shape: String,
}

impl Body {
    /// Creates an empty body whose values have the shape of `ty`, a float type or a vector of one.
    pub(super) fn new(ty: &str) -> Self {
        let shape = ty.strip_suffix('>').and_then(|open| open.rfind('x')).map_or("", |end| &ty[..=end]);
        Self { text: String::new(), next: 0, shape: shape.to_string() }
    }

    /// Returns the text so far.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Returns the type with this body's shape and this element type.
    pub(super) fn ty(&self, element: &str) -> String {
        if self.shape.is_empty() { element.to_string() } else { format!("{}{element}>", self.shape) }
    }

    /// Returns the name of a value.
    pub(super) fn name(value: V) -> String {
        format!("%v{}", value.index)
    }

    fn kind_ty(&self, kind: Kind) -> String {
        self.ty(kind.name())
    }

    fn push(&mut self, kind: Kind, op: std::fmt::Arguments<'_>) -> V {
        let value = V { index: self.next, kind };
        self.next += 1;
        let _ = writeln!(self.text, "  {} = {op}", Self::name(value));
        value
    }

    /// Returns parameter `%arg` of type `element`, widened to f32 if it is narrower.
    pub(super) fn parameter(&mut self, arg: &str, element: &str) -> V {
        let ty = self.ty(element);
        match element {
            // A bitcast to the same type folds away, and gives the parameter a number like any other value.
            "f32" => self.push(Kind::F32, format_args!("arith.bitcast {arg} : {ty} to {ty}")),
            "f64" => self.push(Kind::F64, format_args!("arith.bitcast {arg} : {ty} to {ty}")),
            _ => {
                let wide = self.kind_ty(Kind::F32);
                self.push(Kind::F32, format_args!("arith.extf {arg} : {ty} to {wide}"))
            }
        }
    }

    /// Returns from the function with `value` as type `element`, rounded once if that is narrower.
    pub(super) fn finish(&mut self, value: V, element: &str) {
        let narrow = element == "bf16" || element == "f16";
        let value = if narrow && value.kind == Kind::F64 { self.round_to_odd(value) } else { value };
        let ty = self.ty(element);
        let mut name = Self::name(value);
        if element == "bf16" {
            let bits = self.round_to_bf16(value);
            let (from, to) = (self.kind_ty(Kind::I32), self.ty("i16"));
            let _ = writeln!(self.text, "  %half = arith.trunci {} : {from} to {to}", Self::name(bits));
            let _ = writeln!(self.text, "  %narrow = arith.bitcast %half : {to} to {ty}");
            name = "%narrow".to_string();
        } else if element == "f16" {
            let _ = writeln!(self.text, "  %narrow = arith.truncf {name} : {} to {ty}", self.kind_ty(value.kind));
            name = "%narrow".to_string();
        }
        let _ = writeln!(self.text, "  return {name} : {ty}");
    }

    /// Rounds an f64 to odd: truncates it to f32, toward zero, and sets the last bit if the result is inexact. Rounding
    /// that to a type with a mantissa of less than 23 bits has the same result as rounding the f64 directly.
    fn round_to_odd(&mut self, a: V) -> V {
        let near = self.narrow(a);
        let back = self.widen(near);
        let (magnitude, back_magnitude) = (self.abs(a), self.abs(back));
        let bits = self.bits(near);
        let one = self.int(Kind::I32, 1);
        let is_beyond = self.compare("ogt", back_magnitude, magnitude);
        let inward = self.sub_int(bits, one);
        let bits_inward = self.select(is_beyond, inward, bits);
        let odd = self.or(bits_inward, one);
        let is_inexact = self.compare("one", back, a);
        let bits = self.select(is_inexact, odd, bits);
        self.float_of_bits(bits)
    }

    /// Rounds an f32 to bf16, ties to even, and returns its bits in the low half of an i32. Uses integer arithmetic,
    /// because the processors' own conversion drops denormals, and LLVM calls a library function if there is no such
    /// instruction.
    fn round_to_bf16(&mut self, a: V) -> V {
        let bits = self.bits(a);
        let high = self.shift_right(bits, 16);
        let one = self.int(Kind::I32, 1);
        let last = self.and(high, one);
        let bias = self.int(Kind::I32, 0x7FFF);
        let bias = self.add_int(bias, last);
        let rounded = self.add_int(bits, bias);
        let rounded = self.shift_right(rounded, 16);
        let quiet = self.int(Kind::I32, 0x40);
        let nan = self.or(high, quiet);
        let is_nan = self.compare("uno", a, a);
        self.select(is_nan, nan, rounded)
    }

    /// Writes a float constant; exact for f64, rounded to nearest for f32.
    pub(super) fn float(&mut self, kind: Kind, value: f64) -> V {
        let bits = match kind {
            Kind::F32 => format!("0x{:08X}", (value as f32).to_bits()),
            _ => format!("0x{:016X}", value.to_bits()),
        };
        self.constant(kind, &bits)
    }

    /// Writes an integer constant.
    pub(super) fn int(&mut self, kind: Kind, value: i64) -> V {
        self.constant(kind, &value.to_string())
    }

    /// Writes an integer constant of the type of another integer.
    pub(super) fn int_like(&mut self, like: V, value: i64) -> V {
        self.int(like.kind, value)
    }

    fn constant(&mut self, kind: Kind, literal: &str) -> V {
        let ty = self.kind_ty(kind);
        if self.shape.is_empty() {
            self.push(kind, format_args!("arith.constant {literal} : {ty}"))
        } else {
            self.push(kind, format_args!("arith.constant dense<{literal}> : {ty}"))
        }
    }

    fn binary(&mut self, op: &str, a: V, b: V) -> V {
        let (ty, x, y) = (self.kind_ty(a.kind), Self::name(a), Self::name(b));
        self.push(a.kind, format_args!("{op} {x}, {y} : {ty}"))
    }

    fn unary(&mut self, op: &str, a: V) -> V {
        let (ty, x) = (self.kind_ty(a.kind), Self::name(a));
        self.push(a.kind, format_args!("{op} {x} : {ty}"))
    }

    pub(super) fn add(&mut self, a: V, b: V) -> V {
        self.binary("arith.addf", a, b)
    }

    pub(super) fn sub(&mut self, a: V, b: V) -> V {
        self.binary("arith.subf", a, b)
    }

    pub(super) fn mul(&mut self, a: V, b: V) -> V {
        self.binary("arith.mulf", a, b)
    }

    pub(super) fn div(&mut self, a: V, b: V) -> V {
        self.binary("arith.divf", a, b)
    }

    /// Returns `a * constant`.
    pub(super) fn scale(&mut self, a: V, constant: f64) -> V {
        let constant = self.float(a.kind, constant);
        self.mul(a, constant)
    }

    /// Returns `a + constant`.
    pub(super) fn offset(&mut self, a: V, constant: f64) -> V {
        let constant = self.float(a.kind, constant);
        self.add(a, constant)
    }

    /// Returns `a * b + c`, rounded once.
    pub(super) fn fma(&mut self, a: V, b: V, c: V) -> V {
        let (ty, x, y, z) = (self.kind_ty(a.kind), Self::name(a), Self::name(b), Self::name(c));
        self.push(a.kind, format_args!("math.fma {x}, {y}, {z} : {ty}"))
    }

    /// Returns the polynomial with these coefficients, constant first, by Horner's rule.
    pub(super) fn polynomial(&mut self, x: V, coefficients: &[f64]) -> V {
        let mut terms = coefficients.iter().rev();
        let highest = terms.next().copied().unwrap_or(0.0);
        let mut sum = self.float(x.kind, highest);
        for &coefficient in terms {
            let coefficient = self.float(x.kind, coefficient);
            sum = self.fma(sum, x, coefficient);
        }
        sum
    }

    pub(super) fn abs(&mut self, a: V) -> V {
        self.unary("math.absf", a)
    }

    pub(super) fn neg(&mut self, a: V) -> V {
        self.unary("arith.negf", a)
    }

    /// Returns the nearest integer, ties to even.
    pub(super) fn round(&mut self, a: V) -> V {
        self.unary("math.roundeven", a)
    }

    /// Returns `magnitude` with the sign of `sign`.
    pub(super) fn copysign(&mut self, magnitude: V, sign: V) -> V {
        self.binary("math.copysign", magnitude, sign)
    }

    /// Compares floats; `predicate` is `olt`, `oeq`, `une`, …
    pub(super) fn compare(&mut self, predicate: &str, a: V, b: V) -> V {
        let (ty, x, y) = (self.kind_ty(a.kind), Self::name(a), Self::name(b));
        self.push(Kind::I1, format_args!("arith.cmpf {predicate}, {x}, {y} : {ty}"))
    }

    /// Compares a float with a constant.
    pub(super) fn compare_to(&mut self, predicate: &str, a: V, constant: f64) -> V {
        let constant = self.float(a.kind, constant);
        self.compare(predicate, a, constant)
    }

    pub(super) fn select(&mut self, condition: V, yes: V, no: V) -> V {
        let (flag, ty) = (self.kind_ty(Kind::I1), self.kind_ty(yes.kind));
        let (c, x, y) = (Self::name(condition), Self::name(yes), Self::name(no));
        if self.shape.is_empty() {
            self.push(yes.kind, format_args!("arith.select {c}, {x}, {y} : {ty}"))
        } else {
            self.push(yes.kind, format_args!("arith.select {c}, {x}, {y} : {flag}, {ty}"))
        }
    }

    /// Returns `constant` where the condition holds, and `no` elsewhere.
    pub(super) fn select_constant(&mut self, condition: V, constant: f64, no: V) -> V {
        let constant = self.float(no.kind, constant);
        self.select(condition, constant, no)
    }

    /// Returns `a`, or the nearest bound if `a` is out of range; NaN stays NaN.
    pub(super) fn clamp(&mut self, a: V, low: f64, high: f64) -> V {
        let below = self.compare_to("olt", a, low);
        let a = self.select_constant(below, low, a);
        let above = self.compare_to("ogt", a, high);
        self.select_constant(above, high, a)
    }

    pub(super) fn and(&mut self, a: V, b: V) -> V {
        self.binary("arith.andi", a, b)
    }

    pub(super) fn or(&mut self, a: V, b: V) -> V {
        self.binary("arith.ori", a, b)
    }

    pub(super) fn xor(&mut self, a: V, b: V) -> V {
        self.binary("arith.xori", a, b)
    }

    pub(super) fn add_int(&mut self, a: V, b: V) -> V {
        self.binary("arith.addi", a, b)
    }

    pub(super) fn sub_int(&mut self, a: V, b: V) -> V {
        self.binary("arith.subi", a, b)
    }

    pub(super) fn shift_left(&mut self, a: V, by: i64) -> V {
        let by = self.int(a.kind, by);
        self.binary("arith.shli", a, by)
    }

    /// Shifts right arithmetically.
    pub(super) fn shift_right(&mut self, a: V, by: i64) -> V {
        let by = self.int(a.kind, by);
        self.binary("arith.shrsi", a, by)
    }

    /// Returns whether `a & mask` has a bit set.
    pub(super) fn any_bit(&mut self, a: V, mask: i64) -> V {
        let mask = self.int(a.kind, mask);
        let zero = self.int(a.kind, 0);
        let masked = self.and(a, mask);
        let (ty, x, y) = (self.kind_ty(a.kind), Self::name(masked), Self::name(zero));
        self.push(Kind::I1, format_args!("arith.cmpi ne, {x}, {y} : {ty}"))
    }

    /// Returns the bits of a float.
    pub(super) fn bits(&mut self, a: V) -> V {
        self.convert("arith.bitcast", a, a.kind.integer_of_same_width())
    }

    /// Returns the float with these bits.
    pub(super) fn float_of_bits(&mut self, a: V) -> V {
        let kind = if a.kind == Kind::I32 { Kind::F32 } else { Kind::F64 };
        self.convert("arith.bitcast", a, kind)
    }

    /// Converts an integer to a float of the same width.
    pub(super) fn int_to_float(&mut self, a: V) -> V {
        let kind = if a.kind == Kind::I32 { Kind::F32 } else { Kind::F64 };
        self.convert("arith.sitofp", a, kind)
    }

    /// Converts f32 to f64.
    pub(super) fn widen(&mut self, a: V) -> V {
        self.convert("arith.extf", a, Kind::F64)
    }

    /// Converts f64 to f32, rounded.
    pub(super) fn narrow(&mut self, a: V) -> V {
        self.convert("arith.truncf", a, Kind::F32)
    }

    /// Returns the low half of an i64.
    pub(super) fn low_half(&mut self, a: V) -> V {
        self.convert("arith.trunci", a, Kind::I32)
    }

    fn convert(&mut self, op: &str, a: V, to: Kind) -> V {
        let (from_ty, to_ty, x) = (self.kind_ty(a.kind), self.kind_ty(to), Self::name(a));
        self.push(to, format_args!("{op} {x} : {from_ty} to {to_ty}"))
    }

    /// Converts a float of integer value, below 2^21 (f32) or 2^50 (f64) in magnitude, to an integer. NaN becomes an
    /// arbitrary integer.
    pub(super) fn small_int(&mut self, a: V) -> V {
        // Adding 1.5 * 2^mantissa moves the integer into the lowest bits of the sum.
        let magic = if a.kind == Kind::F32 { 12_582_912.0 } else { 6_755_399_441_055_744.0 };
        let sum = self.offset(a, magic);
        let bits = self.bits(sum);
        let zero = self.float(a.kind, magic);
        let zero = self.bits(zero);
        self.sub_int(bits, zero)
    }

    /// Returns `2^exponent` for an integer exponent in the normal range.
    pub(super) fn power_of_two(&mut self, exponent: V) -> V {
        let (mantissa, bias) = if exponent.kind == Kind::I32 { (23, 127) } else { (52, 1023) };
        let bias = self.int(exponent.kind, bias);
        let biased = self.add_int(exponent, bias);
        let bits = self.shift_left(biased, mantissa);
        self.float_of_bits(bits)
    }
}
