//! Complex arithmetic on (real, imaginary) pairs of f64. Sources: the StableHLO interpreter and C99 Annex G.

use crate::ir::ElementType;
use crate::scalar::{Scalar, ScalarOp};

type Complex = (f64, f64);

pub(crate) fn unary(op: ScalarOp, z: Complex) -> Option<Complex> {
    use ScalarOp::*;
    let (x, y) = z;
    let one = (1.0, 0.0);
    Some(match op {
        Neg => (-x, -y),
        Sign if x.is_nan() || y.is_nan() => (f64::NAN, f64::NAN),
        Sign if x == 0.0 && y == 0.0 => (0.0, 0.0),
        Sign => (x / x.hypot(y), y / x.hypot(y)),
        Exp => exp(z),
        Expm1 => expm1(z),
        Log => ln(z),
        Log1p => log1p(z),
        Sqrt => sqrt(z),
        Rsqrt => div(one, sqrt(z)),
        Cbrt => {
            let (r, angle) = (x.hypot(y).cbrt(), y.atan2(x) / 3.0);
            (r * angle.cos(), r * angle.sin())
        }
        Logistic => {
            let e = exp((-x, -y));
            div(one, (1.0 + e.0, e.1))
        }
        Sin => (x.sin() * y.cosh(), x.cos() * y.sinh()),
        Cos => (x.cos() * y.cosh(), -(x.sin() * y.sinh())),
        Tanh => tanh(z),
        Tan => {
            // tan z = -i tanh(iz)
            let (re, im) = tanh((-y, x));
            (im, -re)
        }
        _ => return None,
    })
}

pub(crate) fn binary(op: ScalarOp, a: Complex, b: Complex, ty: ElementType) -> Option<Complex> {
    use ScalarOp::*;
    Some(match op {
        Add => (a.0 + b.0, a.1 + b.1),
        Sub => (a.0 - b.0, a.1 - b.1),
        Mul => mul(a, b, ty),
        Div => div(a, b),
        Pow => pow(a, b),
        Max => pick(a, b, a > b),
        Min => pick(a, b, a < b),
        Atan2 => {
            // -i log((b + ia) / sqrt(a² + b²))
            let exact = ElementType::C128;
            let (aa, bb) = (mul(a, a, exact), mul(b, b, exact));
            let (re, im) = ln(div((b.0 - a.1, b.1 + a.0), sqrt((aa.0 + bb.0, aa.1 + bb.1))));
            (im, -re)
        }
        _ => return None,
    })
}

/// Returns `a` if `first`, otherwise `b`; a number with a NaN takes precedence.
fn pick(a: Complex, b: Complex, first: bool) -> Complex {
    let nan = |z: Complex| z.0.is_nan() || z.1.is_nan();
    if nan(a) || !nan(b) && first { a } else { b }
}

/// Multiplies; each product is rounded to the parts' type, as hardware does.
fn mul(a: Complex, b: Complex, ty: ElementType) -> Complex {
    let round = |v: f64| Scalar::Float(v).round(ty.part()).as_f64();
    (round(a.0 * b.0) - round(a.1 * b.1), round(a.0 * b.1) + round(a.1 * b.0))
}

/// Divides, scaled so that neither square overflows; infinities are recovered.
fn div(a: Complex, b: Complex) -> Complex {
    let (mut a, mut b) = (a, b);
    let big = b.0.abs().max(b.1.abs());
    let scale = if big > 0.0 && big.is_finite() { 2f64.powi(-exponent(big)) } else { 1.0 };
    b = (b.0 * scale, b.1 * scale);
    let norm = b.0 * b.0 + b.1 * b.1;
    let quotient =
        |a: Complex, b: Complex| ((a.0 * b.0 + a.1 * b.1) / norm * scale, (a.1 * b.0 - a.0 * b.1) / norm * scale);
    let q = quotient(a, b);
    if !(q.0.is_nan() && q.1.is_nan()) {
        return q;
    }
    let unit = |v: f64| if v.is_infinite() { 1f64 } else { 0.0 }.copysign(v);
    if norm == 0.0 && (!a.0.is_nan() || !a.1.is_nan()) {
        let inf = f64::INFINITY.copysign(b.0);
        return (inf * a.0, inf * a.1);
    }
    if (a.0.is_infinite() || a.1.is_infinite()) && b.0.is_finite() && b.1.is_finite() {
        a = (unit(a.0), unit(a.1));
        return (f64::INFINITY * (a.0 * b.0 + a.1 * b.1), f64::INFINITY * (a.1 * b.0 - a.0 * b.1));
    }
    if (b.0.is_infinite() || b.1.is_infinite()) && a.0.is_finite() && a.1.is_finite() {
        b = (unit(b.0), unit(b.1));
        return (0.0 * (a.0 * b.0 + a.1 * b.1), 0.0 * (a.1 * b.0 - a.0 * b.1));
    }
    q
}

/// Returns the binary exponent of a positive finite number.
fn exponent(v: f64) -> i32 {
    // The clamp maps subnormals to -1022, so that their scale is still a power of two in range.
    ((v.to_bits() >> 52 & 0x7FF) as i32 - 1023).clamp(-1022, 1022)
}

fn exp((x, y): Complex) -> Complex {
    if y == 0.0 {
        return (x.exp(), y);
    }
    if x == f64::NEG_INFINITY {
        // e^-inf is zero for any angle; 0 * NaN would not be.
        let (s, c) = if y.is_finite() { y.sin_cos() } else { (0.0, 0.0) };
        return (0.0 * c, 0.0 * s);
    }
    if x == f64::INFINITY && !y.is_finite() {
        return (f64::INFINITY, f64::NAN);
    }
    // Multiplies by e^(x/2) twice, so that e^x may overflow if the product doesn't.
    let half = (x / 2.0).exp();
    (half * y.cos() * half, half * y.sin() * half)
}

fn expm1((x, y): Complex) -> Complex {
    if y == 0.0 {
        return (x.exp_m1(), y);
    }
    // e^x cos y - 1 = (e^x - 1) cos y - 2 sin²(y/2)
    let half = (y / 2.0).sin();
    (x.exp_m1() * y.cos() - 2.0 * half * half, x.exp() * y.sin())
}

fn ln((x, y): Complex) -> Complex {
    let (big, small) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    // Near the unit circle the logarithm of the modulus cancels; 1 + (big² - 1 + small²) doesn't.
    let modulus = if (0.5..2.0).contains(&big) && !x.is_nan() && !y.is_nan() {
        0.5 * ((big - 1.0) * (big + 1.0) + small * small).ln_1p()
    } else {
        x.hypot(y).ln()
    };
    (modulus, y.atan2(x))
}

fn log1p((x, y): Complex) -> Complex {
    let re = if x.abs() < 0.5 && y.abs() < 0.5 { 0.5 * (x * (2.0 + x) + y * y).ln_1p() } else { ln((1.0 + x, y)).0 };
    (re, y.atan2(1.0 + x))
}

fn sqrt((x, y): Complex) -> Complex {
    if y.is_infinite() {
        return (f64::INFINITY, y);
    }
    if x == 0.0 && y == 0.0 {
        return (0.0, y);
    }
    if x.is_infinite() {
        let zero = if y.is_nan() { y } else { 0f64.copysign(y) };
        return if x > 0.0 { (x, zero) } else { (zero.abs(), f64::INFINITY.copysign(y)) };
    }
    // The modulus is computed from a quarter of the number if it could overflow.
    let large = x.abs().max(y.abs()) > 1e300;
    let (x, y) = if large { (x / 4.0, y / 4.0) } else { (x, y) };
    let t = ((x.abs() + x.hypot(y)) / 2.0).sqrt();
    let (re, im) = if x >= 0.0 { (t, y / (2.0 * t)) } else { (y.abs() / (2.0 * t), t.copysign(y)) };
    if large { (2.0 * re, 2.0 * im) } else { (re, im) }
}

fn tanh((x, y): Complex) -> Complex {
    // Beyond this limit the real part is 1 to the last bit; cosh overflows only later.
    if x.abs() > 22.0 {
        let im = 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp();
        return (1f64.copysign(x), if im.is_nan() { 0.0 } else { im });
    }
    // sinh(2x) and sin(2y) divided by the sum of their cosines, written without cancellation.
    let (t, s) = (x.sinh(), y.sin());
    let below = t * t + y.cos() * y.cos();
    (t * x.cosh() / below, s * y.cos() / below)
}

fn pow(a: Complex, b: Complex) -> Complex {
    if b == (0.0, 0.0) {
        return (1.0, 0.0);
    }
    if a == (0.0, 0.0) {
        return if b.0 > 0.0 { (0.0, 0.0) } else { (f64::INFINITY, f64::NAN) };
    }
    let (re, im) = ln(a);
    exp((b.0 * re - b.1 * im, b.0 * im + b.1 * re))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(op: ScalarOp, z: Complex, want: Complex) {
        let found = unary(op, z).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs();
        assert!(near(found.0, want.0) && near(found.1, want.1), "{op:?} {z:?}: {found:?}, not {want:?}");
    }

    #[test]
    fn functions_match_known_values() {
        use ScalarOp::*;
        let (a, b) = ((0.5, -1.25), (-2.0, 0.75));
        check(Exp, a, (0.5198786860084937, -1.5646111274988195));
        check(Exp, b, (0.09902332031011532, 0.0922497746528114));
        check(Log, a, (0.2973535538733464, -1.1902899496825317));
        check(Log, b, (0.7589353594543049, 2.782821983319221));
        assert!(unary(Log, (f64::NAN, 1.0)).unwrap().0.is_nan() && unary(Log, (1.0, f64::NAN)).unwrap().0.is_nan());
        check(Sqrt, a, (0.9608046632337985, -0.6504964265019547));
        check(Sqrt, b, (0.2607689938713792, 1.4380544037569272));
        check(Sin, a, (0.9053586344209573, -1.4058162504314684));
        check(Cos, b, (-0.5387783532487324, 0.747730488384954));
        check(Tan, b, (0.44550132143674176, 1.2534271713346838));
        check(Tanh, a, (1.5839635482844239, -0.8066346988510739));
        check(Tanh, (30.0, 2.0), (1.0, -1.325389839079891e-26));
        check(Expm1, (1e-9, 0.0), (1.0000000005e-9, 0.0));
        check(Log1p, (1e-9, 0.0), (9.999999995e-10, 0.0));
        let power = pow(a, (0.5, 2.0));
        assert!((power.0 - 12.544177082764001).abs() < 1e-13 && (power.1 + 0.005492682724074082).abs() < 1e-13);
    }

    #[test]
    fn division_keeps_infinities_and_range() {
        assert_eq!(div((4.0, 2.0), (1.0, 1.0)), (3.0, -1.0));
        assert_eq!(div((1e300, 0.0), (1e300, 0.0)), (1.0, 0.0));
        assert_eq!(div((f64::INFINITY, 0.0), (1.0, 0.0)).0, f64::INFINITY);
        assert_eq!(div((1.0, 0.0), (f64::INFINITY, 0.0)).0, 0.0);
        assert_eq!(div((1.0, 0.0), (0.0, 0.0)).0, f64::INFINITY);
    }

    #[test]
    fn products_of_c64_overflow_as_f32_does() {
        let z = (1e30, 1e30);
        assert!(mul(z, z, ElementType::C64).0.is_nan());
        assert_eq!(mul(z, z, ElementType::C128).0, 0.0);
    }
}
