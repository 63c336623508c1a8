//! The text of numbers: floats are parsed without double rounding, and printed as MLIR prints them.

use crate::ir::ElementType;
use crate::scalar::Scalar;

/// Returns the value of a float literal: decimal, or the bits of `element` as hex.
pub(super) fn float(text: &str, negative: bool, element: ElementType) -> Option<f64> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        if negative || element.bits() < 64 && bits >> element.bits() != 0 {
            return None;
        }
        return match Scalar::decode(element, &bits.to_le_bytes()[..element.bytes()]) {
            Scalar::Float(v) => Some(v),
            _ => None,
        };
    }
    let magnitude = match element {
        ElementType::F32 => f64::from(text.parse::<f32>().ok()?),
        _ => text.parse::<f64>().ok()?,
    };
    match Scalar::Float(if negative { -magnitude } else { magnitude }).round(element) {
        Scalar::Float(v) => Some(v),
        _ => None,
    }
}

/// Prints the literal of a float: the shorter of MLIR's two decimal forms that reads back as the same bits, or else
/// hex. Source: `printFloatValue` in MLIR's AsmPrinter and `APFloat::toString` describe the forms.
pub(super) fn print_float(value: f64, bytes: &[u8], element: ElementType, out: &mut String) {
    let same = |text: &str| {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
        let mut back = Vec::new();
        match float(digits, negative, element) {
            Some(v) => Scalar::Float(v).encode(element, &mut back),
            None => return false,
        }
        back == bytes
    };
    if value.is_finite() {
        let six = scientific(value);
        if same(&six) {
            out.push_str(&six);
            return;
        }
        let precise = shortest(value, element);
        if precise.contains('.') && same(&precise) {
            out.push_str(&precise);
            return;
        }
    }
    out.push_str("0x");
    for b in bytes.iter().rev() {
        out.push_str(&format!("{b:02X}"));
    }
}

/// Returns the text of an `f64`, as MLIR prints it.
pub(crate) fn float_text(value: f64) -> String {
    let mut out = String::new();
    print_float(value, &value.to_le_bytes(), ElementType::F64, &mut out);
    out
}

/// Returns `precision` significant digits and the power of ten of the last digit. `APFloat::toString` first truncates
/// the exact digits by an estimate in bits, then rounds half up, and this function does the same: 0.9f gives 899999,
/// not 900000.
fn significant_digits(value: f64, precision: usize) -> (String, i64) {
    let bits = value.abs().to_bits();
    let (mut mantissa, mut exponent) = match bits >> 52 {
        0 => (bits, -1074i64),
        e => (bits & ((1 << 52) - 1) | 1 << 52, e as i64 - 1075),
    };
    if mantissa == 0 {
        return ("0".to_owned(), 0);
    }
    let zeros = i64::from(mantissa.trailing_zeros());
    (mantissa, exponent) = (mantissa >> zeros, exponent + zeros);
    // The value is `digits * 10^power` exactly.
    let decimals = (-exponent).max(0) as usize;
    let digits: String = format!("{:.decimals$}", value.abs()).chars().filter(|c| *c != '.').collect();
    let mut digits = digits.trim_start_matches('0').to_owned();
    let mut power = -(decimals as i64);
    let width = 64 - i64::from(mantissa.leading_zeros());
    let active = match exponent {
        0.. => width + exponent,
        _ => ((mantissa as f64).log2() + decimals as f64 * 5f64.log2()).floor() as i64 + 1,
    };
    let required = (precision as i64 * 196 + 58) / 59;
    let removable = ((active - required).max(0) * 59 / 196).min(digits.len() as i64 - 1);
    digits.truncate(digits.len() - removable as usize);
    power += removable;
    if digits.len() > precision {
        let up = digits.as_bytes()[precision] >= b'5';
        power += (digits.len() - precision) as i64;
        digits.truncate(precision);
        if up {
            let kept = digits.trim_end_matches('9').len();
            power += (digits.len() - kept) as i64;
            digits.truncate(kept);
            match digits.pop() {
                Some(d) => digits.push((d as u8 + 1) as char),
                None => digits.push('1'),
            }
        }
    }
    while digits.len() > 1 && digits.ends_with('0') {
        digits.pop();
        power += 1;
    }
    (digits, power)
}

/// Returns six significant digits with six decimals: `4.471500e-02`.
fn scientific(value: f64) -> String {
    let (digits, power) = significant_digits(value, 6);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let most = power + digits.len() as i64 - 1;
    let e = if most < 0 { '-' } else { '+' };
    format!("{sign}{}.{:0<6}e{e}{:02}", &digits[..1], &digits[1..], most.abs())
}

/// Returns as many digits as the type can need, without trailing zeros; short numbers have no exponent: `0.797884583`,
/// `9.99999993E-9`.
fn shortest(value: f64, element: ElementType) -> String {
    let precision = match element {
        ElementType::F64 => 17,
        ElementType::F32 => 9,
        ElementType::F16 => 5,
        ElementType::BF16 => 4,
        _ => 3,
    };
    let (digits, exp) = significant_digits(value, precision);
    let most = exp + digits.len() as i64 - 1;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let plain = if exp >= 0 { exp <= 3 && digits.len() as i64 + exp <= precision as i64 } else { most >= -3 };
    if !plain {
        let rest = if digits.len() == 1 { "0" } else { &digits[1..] };
        let e = if most >= 0 { format!("+{most}") } else { most.to_string() };
        return format!("{sign}{}.{rest}E{e}", &digits[..1]);
    }
    if exp >= 0 {
        return format!("{sign}{digits}{}", "0".repeat(exp as usize));
    }
    if most >= 0 {
        let point = most as usize + 1;
        return format!("{sign}{}.{}", &digits[..point], &digits[point..]);
    }
    format!("{sign}0.{}{digits}", "0".repeat((-most - 1) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_floats_as_mlir_does() {
        let check = |v: f64, element: ElementType, expect: &str| {
            let mut bytes = Vec::new();
            Scalar::Float(v).encode(element, &mut bytes);
            let Scalar::Float(v) = Scalar::decode(element, &bytes) else { panic!() };
            let mut out = String::new();
            print_float(v, &bytes, element, &mut out);
            assert_eq!(out, expect);
        };
        check(2.0, ElementType::F32, "2.000000e+00");
        check(0.044715, ElementType::F32, "4.471500e-02");
        check(0.797_884_583, ElementType::F32, "0.797884583");
        check(1e-8, ElementType::F32, "9.99999993E-9");
        check(0.9, ElementType::F32, "0.899999976");
        check(1e-6, ElementType::BF16, "9.983770e-07");
        check(f64::NEG_INFINITY, ElementType::F32, "0xFF800000");
        check(f64::INFINITY, ElementType::BF16, "0x7F80");
        check(-0.5, ElementType::F64, "-5.000000e-01");
        check(0.1, ElementType::F64, "1.000000e-01");
    }
}
