//! Tests of the elementary functions against the C library's in double precision.

use half::bf16;

use super::{compile, elementwise, map};

/// Returns the distance between a result and the exact value, in units of the exact value's last place.
fn ulps(got: f32, want: f64) -> f64 {
    if want.is_nan() {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = want as f32;
    if rounded.is_infinite() || got.is_infinite() || got.is_nan() || rounded == 0.0 {
        // The sign of a zero is compared. The smallest denormal is accepted for a result that rounds to zero.
        let is_same = rounded.to_bits() == got.to_bits();
        let is_tiny =
            rounded == 0.0 && got.abs() <= f32::from_bits(1) && got.is_sign_negative() == want.is_sign_negative();
        return if is_same || (is_tiny && want != 0.0) { 0.0 } else { f64::INFINITY };
    }
    let exponent = (want.abs().log2().floor() as i32).max(-126) - 23;
    (f64::from(got) - want).abs() / 2f64.powi(exponent)
}

/// A function's name, the error that is allowed in units in the last place, and its exact value.
type Unary = (&'static str, f64, fn(f64) -> f64);

/// The same for functions of two arguments.
type Binary = (&'static str, f64, fn(f64, f64) -> f64);

const BLOCK: usize = 16384;

/// The distance between tested floats. It is small enough to include every exponent, sign and kind of NaN.
const STRIDE: u32 = 6007;

#[test]
fn functions_of_one_argument_are_accurate() {
    let functions: [Unary; 9] = [
        ("exp", 1.0, f64::exp),
        ("expm1", 1.5, f64::exp_m1),
        ("log", 1.0, f64::ln),
        ("log1p", 1.0, f64::ln_1p),
        ("tanh", 2.0, f64::tanh),
        ("sin", 1.6, f64::sin),
        ("cos", 1.6, f64::cos),
        ("tan", 0.6, f64::tan),
        ("cbrt", 0.6, f64::cbrt),
    ];
    for (name, bound, exact) in functions {
        let text = elementwise("k", 1, "f32", "f32", BLOCK, &format!("%r = math.{name} %x : f32"));
        let kernel = compile(&text, "k");
        let mut x: Vec<f32> = (0..=u32::MAX / STRIDE).map(|i| f32::from_bits(i * STRIDE)).collect();
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e6, -1e6, f32::MAX, 1e-45];
        x.extend(special);
        x.extend((0..20000).map(|i| (i as f32 - 10000.0) / 512.0));
        x.resize(x.len().next_multiple_of(BLOCK), 0.5);
        for block in x.chunks(BLOCK) {
            let got: Vec<f32> = map(&kernel, &[block]);
            for (&x, &got) in block.iter().zip(&got) {
                let want = exact(f64::from(x));
                assert!(ulps(got, want) <= bound, "{name}({x:e}) = {got:e}, expected {want:e}");
            }
        }
    }
}

#[test]
fn functions_in_double_precision_are_accurate() {
    let functions: [Unary; 9] = [
        ("exp", 1.5, f64::exp),
        ("expm1", 2.0, f64::exp_m1),
        ("log", 2.0, f64::ln),
        ("log1p", 2.5, f64::ln_1p),
        ("tanh", 2.0, f64::tanh),
        ("sin", 0.0, f64::sin),
        ("cos", 0.0, f64::cos),
        ("tan", 0.0, f64::tan),
        // The bounds that the C library documents.
        ("cbrt", 4.0, f64::cbrt),
    ];
    for (name, bound, near) in functions {
        let text = elementwise("k", 1, "f64", "f64", BLOCK, &format!("%r = math.{name} %x : f64"));
        let kernel = compile(&text, "k");
        let mut x: Vec<f64> = (0..60000u64).map(|i| f64::from_bits(i * 307_445_734_561_825)).collect();
        let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e6, -1e6, f64::MAX, 5e-324];
        x.extend(special);
        x.extend((0..60000).map(|i| f64::from(i - 30000) / 1511.0));
        x.extend((0..60000).map(|i| 1.0 + f64::from(i - 30000) / 1e7));
        x.resize(x.len().next_multiple_of(BLOCK), 0.5);
        for block in x.chunks(BLOCK) {
            let got: Vec<f64> = map(&kernel, &[block]);
            for (&x, &got) in block.iter().zip(&got) {
                // The C library's own error is within a unit in the last place.
                let want = near(x);
                let is_same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                let unit = (want.abs() * f64::EPSILON).max(5e-324);
                assert!(is_same || (got - want).abs() <= bound * unit, "{name}({x:e}) = {got:e}, expected {want:e}");
            }
        }
    }
}

#[test]
fn functions_of_two_arguments_are_accurate() {
    let special = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        f32::MAX,
        f32::MIN,
        16_777_216.0,
        16_777_215.0,
        -16_777_215.0,
        8_388_609.5,
        1.000_000_1,
        0.999_999_94,
        33.0,
        -33.0,
    ];
    let functions: [Binary; 2] = [("powf", 0.6, f64::powf), ("atan2", 1.6, f64::atan2)];
    for (name, bound, exact) in functions {
        let text = elementwise("k", 2, "f32", "f32", BLOCK, &format!("%r = math.{name} %x, %y : f32"));
        let kernel = compile(&text, "k");
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..16 {
            let (x, y): (Vec<f32>, Vec<f32>) = (0..BLOCK)
                .map(|i| match round % 4 {
                    0 => (special[i % special.len()], special[i / special.len() % special.len()]),
                    1 => (f32::from_bits(random.u32(..)), f32::from_bits(random.u32(..))),
                    2 => (f32::from_bits(random.u32(..1 << 31)), random.i32(..) as f32 / 3e7),
                    _ => (random.i32(0..2001) as f32 / 100.0 - 10.0, random.i32(-20..=20) as f32),
                })
                .unzip();
            let got: Vec<f32> = map(&kernel, &[&x, &y]);
            for ((&x, &y), &got) in x.iter().zip(&y).zip(&got) {
                let want = exact(f64::from(x), f64::from(y));
                assert!(ulps(got, want) <= bound, "{name}({x:e}, {y:e}) = {got:e}, expected {want:e}");
            }
        }
    }
}

#[test]
fn other_types_and_vectors_have_functions_too() {
    let narrow = elementwise("k", 1, "bf16", "bf16", 256, "%r = math.tanh %x : bf16");
    let x: Vec<u16> = (0..256).map(|i| bf16::from_f32(i as f32 / 32.0 - 4.0).to_bits()).collect();
    let got: Vec<u16> = map(&compile(&narrow, "k"), &[&x]);
    for (&x, &got) in x.iter().zip(&got) {
        assert_eq!(got, bf16::from_f32(bf16::from_bits(x).to_f32().tanh()).to_bits());
    }
    let vectors = "func.func @k(%in: memref<16xf32>, %out: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %in[%c0], %zero : memref<16xf32>, vector<16xf32>
  %r = math.log %v : vector<16xf32>
  vector.transfer_write %r, %out[%c0] : vector<16xf32>, memref<16xf32>
  return
}";
    let x: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let got: Vec<f32> = map(&compile(vectors, "k"), &[&x]);
    for (&x, &got) in x.iter().zip(&got) {
        assert!(ulps(got, f64::from(x).ln()) <= 1.0, "log {x} = {got}");
    }
}
