//! Operations on the bits of floats: their total order, and rounding to fewer digits and exponents.

use dialect::ir::ElementType;
use dialect::scalar::Comparison;

use super::arith::{Write, literal, loaded, select, stored};
use super::{register, storage};

/// Writes operations on integers that hold the bits of floats.
struct Bits<'a> {
    emit: &'a mut dyn Write,
    integer: &'static str,
}

impl Bits<'_> {
    fn number(&mut self, value: u64) -> String {
        let value = match self.integer {
            "i16" => i64::from(value as i16),
            "i32" => i64::from(value as i32),
            _ => value as i64,
        };
        literal(&value.to_string(), self.integer, self.emit)
    }

    fn binary(&mut self, name: &str, a: &str, b: &str) -> String {
        let ty = self.emit.of(self.integer);
        self.emit.value(&format!("arith.{name} {a}, {b} : {ty}"))
    }

    /// Writes op `name` of `a` and a constant.
    fn by(&mut self, name: &str, a: &str, b: u64) -> String {
        let b = self.number(b);
        self.binary(name, a, &b)
    }

    fn select(&mut self, condition: &str, then: &str, otherwise: &str) -> String {
        select(condition, then, otherwise, self.integer, self.emit)
    }

    fn bits_of(&mut self, v: &str, float: &'static str) -> String {
        let (from, to) = (self.emit.of(float), self.emit.of(self.integer));
        self.emit.value(&format!("arith.bitcast {v} : {from} to {to}"))
    }

    fn float_of(&mut self, bits: &str, float: &'static str) -> String {
        let (from, to) = (self.emit.of(self.integer), self.emit.of(float));
        self.emit.value(&format!("arith.bitcast {bits} : {from} to {to}"))
    }
}

/// Compares floats in the order -NaN, -infinity, ..., -0, 0, ..., infinity, NaN.
pub(super) fn compare_total(c: Comparison, ty: ElementType, a: &str, b: &str, emit: &mut dyn Write) -> String {
    let float = register(ty);
    let (integer, width) = if float == "f64" { ("i64", 64) } else { ("i32", 32) };
    let mut w = Bits { emit, integer };
    // Negative numbers are in the opposite order of their bits.
    let [a, b] = [a, b].map(|v| {
        let bits = w.bits_of(v, float);
        let negative = w.by("shrsi", &bits, width - 1);
        let magnitude = w.by("shrui", &negative, 1);
        w.binary("xori", &bits, &magnitude)
    });
    let predicate = match c {
        Comparison::Eq => "eq",
        Comparison::Ne => "ne",
        Comparison::Lt => "slt",
        Comparison::Le => "sle",
        Comparison::Gt => "sgt",
        Comparison::Ge => "sge",
    };
    w.binary(&format!("cmpi {predicate},"), &a, &b)
}

/// Rounds a float of 16 bits or more to `mantissa` digits and `exponent` bits of exponent.
pub(super) fn reduce(exponent: u8, mantissa: u8, ty: ElementType, v: &str, emit: &mut dyn Write) -> String {
    let (integer, width, own) = match ty {
        ElementType::F64 => ("i64", 64, 52),
        ElementType::F32 => ("i32", 32, 23),
        ElementType::F16 => ("i16", 16, 10),
        _ => ("i16", 16, 7),
    };
    let (float, wide) = (storage(ty).unwrap_or("i8"), register(ty));
    let low = stored(v, ty, emit);
    let mut w = Bits { emit, integer };
    let mut bits = w.bits_of(&low, float);
    let cut = u64::from(own - mantissa.min(own));
    if cut > 0 {
        let last = 1u64 << cut;
        // Adds half of the last digit that is kept, slightly less if that digit is even.
        let odd = w.by("shrui", &bits, cut);
        let odd = w.by("andi", &odd, 1);
        let up = w.by("addi", &odd, (last >> 1) - 1);
        bits = w.binary("addi", &bits, &up);
        bits = w.by("andi", &bits, !(last - 1));
    }
    let own_exponent = width - u32::from(own) - 1;
    if u32::from(exponent) < own_exponent {
        let center = (1u64 << (own_exponent - 1)) - 1;
        let reach = (1u64 << (exponent.max(1) - 1)) - 1;
        let all = (1u64 << own_exponent) - 1;
        let at = w.by("shrui", &bits, own.into());
        let at = w.by("andi", &at, all);
        let zero = w.by("andi", &bits, 1 << (width - 1));
        let infinity = w.by("ori", &zero, all << own);
        let (above, below) = (w.by("cmpi ugt,", &at, center + reach), w.by("cmpi ule,", &at, center - reach));
        bits = w.select(&below, &zero, &bits);
        bits = w.select(&above, &infinity, &bits);
    }
    let rounded = w.float_of(&bits, float);
    let rounded = loaded(&rounded, ty, emit);
    let of_nan = match (mantissa, wide) {
        (1.., _) => v.to_owned(),
        (0, "f64") => literal("0x7FF0000000000000", wide, emit),
        (0, _) => literal("0x7F800000", wide, emit),
    };
    let wide_ty = emit.of(wide);
    let is_nan = emit.value(&format!("arith.cmpf uno, {v}, {v} : {wide_ty}"));
    select(&is_nan, &of_nan, &rounded, wide, emit)
}
