//! The floating-point types of at most one byte: f8, f6, f4 in all their variants.
//!
//! A format is its exponent and mantissa widths, its bias, and its special values: infinities and NaNs as in IEEE, only
//! NaN (`FN`), or one NaN in place of minus zero (`FNUZ`). Source: the StableHLO specification, types.

use crate::ir::ElementType;

/// The meaning of the largest patterns of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Top {
    /// Infinities and NaNs as in IEEE 754.
    Ieee,
    /// No infinity; NaN is all ones.
    NanOnly,
    /// No infinity and no minus zero; NaN is the pattern of minus zero.
    Unsigned,
    /// Neither infinity nor NaN.
    Finite,
}

/// The bit format of a float of at most one byte: a sign, an exponent, a mantissa.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa.
    pub mantissa: u32,
    /// The number that is subtracted from the exponent.
    pub bias: i32,
    /// Its special values.
    pub top: Top,
}

/// Returns whether a type is a float of at most one byte.
pub fn is_small(element: ElementType) -> bool {
    element.is_float() && element.bits() <= 8
}

impl Format {
    /// Returns the format of a type of at most one byte; `None` for other types, and for the type that is only an
    /// exponent.
    pub fn of(element: ElementType) -> Option<Self> {
        (is_small(element) && element != ElementType::F8E8M0FNU).then(|| format(element))
    }

    /// Returns the pattern of the largest finite value.
    pub fn largest(&self) -> u8 {
        let all = (1u32 << (self.exponent + self.mantissa)) - 1;
        (match self.top {
            Top::Ieee => all - (1 << self.mantissa),
            Top::NanOnly => all - 1,
            Top::Unsigned | Top::Finite => all,
        }) as u8
    }

    /// Returns the pattern of NaN, or of minus zero if the format has no NaN.
    pub fn nan(&self) -> u8 {
        let sign_bit = 1u8 << (self.exponent + self.mantissa);
        match self.top {
            // The specification leaves open the result in a format without NaN.
            Top::Unsigned | Top::Finite => sign_bit,
            Top::Ieee => (((1u32 << self.exponent) - 1) << self.mantissa | 1 << (self.mantissa - 1)) as u8,
            Top::NanOnly => sign_bit - 1,
        }
    }
}

fn format(element: ElementType) -> Format {
    let f = |exponent, mantissa, bias, top| Format { exponent, mantissa, bias, top };
    match element {
        ElementType::F4E2M1FN => f(2, 1, 1, Top::Finite),
        ElementType::F6E2M3FN => f(2, 3, 1, Top::Finite),
        ElementType::F6E3M2FN => f(3, 2, 3, Top::Finite),
        ElementType::F8E3M4 => f(3, 4, 3, Top::Ieee),
        ElementType::F8E4M3 => f(4, 3, 7, Top::Ieee),
        ElementType::F8E4M3FN => f(4, 3, 7, Top::NanOnly),
        ElementType::F8E4M3FNUZ => f(4, 3, 8, Top::Unsigned),
        ElementType::F8E4M3B11FNUZ => f(4, 3, 11, Top::Unsigned),
        ElementType::F8E5M2FNUZ => f(5, 2, 16, Top::Unsigned),
        _ => f(5, 2, 15, Top::Ieee),
    }
}

/// Returns the distance from 1 to the next larger value.
pub(crate) fn epsilon(element: ElementType) -> f64 {
    if element == ElementType::F8E8M0FNU { 1.0 } else { 2f64.powi(-(format(element).mantissa as i32)) }
}

/// Returns the smallest normal number.
pub(crate) fn smallest_normal(element: ElementType) -> f64 {
    if element == ElementType::F8E8M0FNU { 2f64.powi(-127) } else { 2f64.powi(1 - format(element).bias) }
}

/// Returns the value of bit pattern `bits`.
pub fn decode(bits: u8, element: ElementType) -> f64 {
    if element == ElementType::F8E8M0FNU {
        return if bits == 0xFF { f64::NAN } else { 2f64.powi(i32::from(bits) - 127) };
    }
    let f = format(element);
    let width = 1 + f.exponent + f.mantissa;
    let negative = bits >> (width - 1) & 1 == 1;
    let mantissa = u32::from(bits) & ((1 << f.mantissa) - 1);
    let exponent = u32::from(bits) >> f.mantissa & ((1 << f.exponent) - 1);
    let top = (1 << f.exponent) - 1;
    let all = (1 << f.mantissa) - 1;
    let magnitude = match f.top {
        Top::Ieee if exponent == top => return if mantissa != 0 { f64::NAN } else { sign(f64::INFINITY, negative) },
        Top::NanOnly if exponent == top && mantissa == all => return f64::NAN,
        Top::Unsigned if negative && exponent == 0 && mantissa == 0 => return f64::NAN,
        _ if exponent == 0 => f64::from(mantissa) * 2f64.powi(1 - f.bias - f.mantissa as i32),
        _ => f64::from(mantissa + (1 << f.mantissa)) * 2f64.powi(exponent as i32 - f.bias - f.mantissa as i32),
    };
    sign(magnitude, negative)
}

/// Returns the nearest bit pattern, ties to even.
pub fn encode(v: f64, element: ElementType) -> u8 {
    if element == ElementType::F8E8M0FNU {
        return encode_exponent(v);
    }
    let f = format(element);
    if v.is_nan() {
        return f.nan();
    }
    // Anything beyond the largest value has the same result as infinity.
    let magnitude = v.abs().min(1e9);
    // Normal numbers, and subnormal numbers, whose last digit is that of the smallest normal number.
    let least = 1 - f.bias;
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
    let last = f64::from_bits(((1023 + f.mantissa as i32 - exponent) as u64) << 52);
    let digits = (magnitude * last).round_ties_even() as u32;
    // The patterns of one sign are in order of value; a carry increments the exponent.
    let pattern = digits + (((exponent - least) as u32) << f.mantissa);
    let bits = match f.top {
        _ if pattern <= f.largest().into() => pattern as u8,
        Top::Ieee => f.largest() + 1,
        Top::Finite => f.largest(),
        Top::NanOnly | Top::Unsigned => return f.nan(),
    };
    let sign_bit = 1u8 << (f.exponent + f.mantissa);
    if v.is_sign_negative() && !(f.top == Top::Unsigned && bits == 0) { bits | sign_bit } else { bits }
}

/// Returns the nearest power of two, and the larger of two equally near ones, because there are no digits that could be
/// even. NaN, numbers that aren't positive, and those beyond the largest power become NaN. Source: ml_dtypes.
fn encode_exponent(v: f64) -> u8 {
    const NAN: u8 = 0xFF;
    let limit = 1.5 * 2f64.powi(127);
    if v.is_nan() || v <= 0.0 || v >= limit {
        return NAN;
    }
    let exponent = (v.to_bits() >> 52) as i32 - 1023;
    let up = v.to_bits() >> 51 & 1 == 1;
    (exponent + i32::from(up) + 127).clamp(0, 254) as u8
}

fn sign(v: f64, negative: bool) -> f64 {
    if negative { -v } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_survives() {
        for &element in ElementType::ALL.iter().filter(|e| e.is_float() && e.bits() <= 8) {
            for bits in 0..(1u32 << element.bits()) {
                let v = decode(bits as u8, element);
                if !v.is_nan() {
                    assert_eq!(encode(v, element), bits as u8, "{element:?} {bits:#x} = {v}");
                }
            }
        }
    }

    /// Returns the value of a pattern by the type's name: exponent bits, mantissa bits, bias, and special patterns.
    fn named(element: ElementType, bits: u32) -> f64 {
        let (exponent_bits, mantissa_bits, bias) = match element {
            ElementType::F4E2M1FN => (2, 1, 1),
            ElementType::F6E2M3FN => (2, 3, 1),
            ElementType::F6E3M2FN => (3, 2, 3),
            ElementType::F8E3M4 => (3, 4, 3),
            ElementType::F8E4M3 | ElementType::F8E4M3FN => (4, 3, 7),
            ElementType::F8E4M3FNUZ => (4, 3, 8),
            ElementType::F8E4M3B11FNUZ => (4, 3, 11),
            ElementType::F8E5M2 => (5, 2, 15),
            ElementType::F8E5M2FNUZ => (5, 2, 16),
            _ => (8, 0, 127),
        };
        use ElementType::{F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU};
        let width = exponent_bits + mantissa_bits;
        let (negative, magnitude) = (bits >> width == 1, bits & ((1 << width) - 1));
        let (exponent, mantissa) = (magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1));
        let is_top = exponent == (1 << exponent_bits) - 1;
        let special = match element {
            F8E8M0FNU => (bits == 255).then_some(f64::NAN),
            F8E3M4 | F8E4M3 | F8E5M2 if is_top => Some(if mantissa == 0 { f64::INFINITY } else { f64::NAN }),
            F8E4M3FN if magnitude == 127 => Some(f64::NAN),
            F8E4M3FNUZ | F8E4M3B11FNUZ | F8E5M2FNUZ if bits == 128 => Some(f64::NAN),
            _ => None,
        };
        let size = special.unwrap_or_else(|| match (element, exponent) {
            (F8E8M0FNU, _) => 2f64.powi(bits as i32 - 127),
            (_, 0) => f64::from(mantissa) / f64::from(1 << mantissa_bits) * 2f64.powi(1 - bias),
            _ => (1.0 + f64::from(mantissa) / f64::from(1 << mantissa_bits)) * 2f64.powi(exponent as i32 - bias),
        });
        if negative && element != F8E8M0FNU { -size } else { size }
    }

    /// Checks that every pattern of every type has the value that its name states, and that every f16, f32 of 16 bits,
    /// midpoint and neighbor of a midpoint is rounded to the nearest pattern, found by a search of all of them: to the
    /// even one of two (to the larger one of two powers of two).
    #[test]
    fn conversions_are_those_of_a_table() {
        for &element in ElementType::ALL.iter().filter(|e| e.is_float() && e.bits() <= 8) {
            let table: Vec<f64> = (0..1u32 << element.bits()).map(|bits| named(element, bits)).collect();
            for (bits, &want) in table.iter().enumerate() {
                let got = decode(bits as u8, element);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{element:?} {bits:#x}: {got}, not {want}"
                );
            }
            let mut finite: Vec<(f64, usize)> = table
                .iter()
                .enumerate()
                .filter(|(_, v)| v.is_finite() && !v.is_sign_negative())
                .map(|(i, &v)| (v, i))
                .collect();
            finite.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (largest, second) = (finite[finite.len() - 1].0, finite[finite.len() - 2].0);
            let middles = finite.windows(2).map(|pair| (pair[0].0 + pair[1].0) / 2.0);
            let near = |m: f64| [m, f64::from_bits(m.to_bits() - 1), f64::from_bits(m.to_bits() + 1)];
            let limit = largest + if element == ElementType::F8E8M0FNU { largest } else { largest - second } / 2.0;
            let values = middles.chain([largest, limit]).flat_map(near);
            let halves = (0..=u16::MAX).map(|bits| half::f16::from_bits(bits).to_f64());
            let singles = (0..=u16::MAX).map(|bits| f32::from_bits(u32::from(bits) << 16).into());
            for v in values.chain(halves).chain(singles).filter(|v: &f64| v.is_finite() && v.is_sign_positive()) {
                let distance = |&(w, _): &&(f64, usize)| (v - w).abs();
                let least = finite.iter().map(|f| distance(&f)).fold(f64::INFINITY, f64::min);
                let nearest: Vec<usize> = finite.iter().filter(|f| distance(f) == least).map(|f| f.1).collect();
                let even = nearest.iter().find(|&&bits| bits & 1 == 0);
                let want = match element {
                    ElementType::F8E8M0FNU if v == 0.0 => 255,
                    ElementType::F8E8M0FNU => *nearest.iter().max().unwrap(),
                    _ => *even.unwrap_or(&nearest[0]),
                };
                let got = encode(v, element);
                if v < limit {
                    assert_eq!(usize::from(got), want, "{element:?} of {v:e}");
                }
            }
        }
    }

    #[test]
    fn rounds_to_even_and_overflows() {
        assert_eq!(decode(encode(1.0625, ElementType::F8E4M3FN), ElementType::F8E4M3FN), 1.0);
        assert_eq!(decode(encode(1.1875, ElementType::F8E4M3FN), ElementType::F8E4M3FN), 1.25);
        assert!(decode(encode(1e9, ElementType::F8E5M2), ElementType::F8E5M2).is_infinite());
        assert!(decode(encode(1e9, ElementType::F8E4M3FN), ElementType::F8E4M3FN).is_nan());
        assert_eq!(decode(encode(448.0, ElementType::F8E4M3FN), ElementType::F8E4M3FN), 448.0);
        // Half a step above the largest value: its pattern is even in this type, odd in the other types.
        assert_eq!(decode(encode(464.0, ElementType::F8E4M3FN), ElementType::F8E4M3FN), 448.0);
        assert!(decode(encode(464.1, ElementType::F8E4M3FN), ElementType::F8E4M3FN).is_nan());
        assert!(decode(encode(248.0, ElementType::F8E4M3FNUZ), ElementType::F8E4M3FNUZ).is_nan());
    }
}
