//! The errors of elementary and special functions in units in the last place (ULP), for the evaluator and native code.
//!
//! f32 results are compared with the evaluator's f64 results, and f64 results with ball arithmetic
//! (`oracles/accuracy.py`).

use std::path::Path;

use dialect::diagnostic::Diagnostics;
use dialect::ir::ElementType::{self, F32, F64};
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use serde_json::json;

use crate::oracle;

/// A function and its promised accuracy.
pub struct Function {
    /// The op.
    pub op: &'static str,
    /// The promised limits in ULP for f32 and for f64; infinite if none is promised.
    pub limits: [f64; 2],
    /// The interesting domain: the smallest and the largest argument.
    pub domain: (f64, f64),
}

const fn function(op: &'static str, limits: [f64; 2], domain: (f64, f64)) -> Function {
    Function { op, limits, domain }
}

/// The functions of one argument.
pub const FUNCTIONS: &[Function] = &[
    function("stablehlo.exponential", [1.5, 2.0], (-750.0, 711.0)),
    function("stablehlo.exponential_minus_one", [2.0, 2.5], (-50.0, 711.0)),
    function("stablehlo.log", [1.5, 2.0], (0.0, 10.0)),
    function("stablehlo.log_plus_one", [1.5, 3.0], (-1.0, 10.0)),
    function("stablehlo.logistic", [4.0, 4.0], (-750.0, 50.0)),
    function("stablehlo.tanh", [2.0, 2.0], (-25.0, 25.0)),
    function("stablehlo.tan", [2.0, 2.0], (-1e4, 1e4)),
    function("stablehlo.sine", [2.0, 2.0], (-1e4, 1e4)),
    function("stablehlo.cosine", [2.0, 2.0], (-1e4, 1e4)),
    function("stablehlo.sqrt", [0.5, 0.5], (0.0, 10.0)),
    function("stablehlo.rsqrt", [2.0, 2.0], (0.0, 10.0)),
    function("stablehlo.cbrt", [1.0, 4.0], (-10.0, 10.0)),
    function("chlo.asin", [4.0, 4.0], (-1.0, 1.0)),
    function("chlo.acos", [4.0, 4.0], (-1.0, 1.0)),
    function("chlo.atan", [4.0, 4.0], (-10.0, 10.0)),
    function("chlo.asinh", [4.0, 4.0], (-10.0, 10.0)),
    function("chlo.acosh", [4.0, 4.0], (1.0, 10.0)),
    function("chlo.atanh", [4.0, 4.0], (-1.0, 1.0)),
    function("chlo.sinh", [4.0, 4.0], (-711.0, 711.0)),
    function("chlo.cosh", [4.0, 4.0], (-711.0, 711.0)),
    function("chlo.erf", [4.0, 4.0], (-7.0, 7.0)),
    function("chlo.erfc", [4.0, 4.0], (-7.0, 28.0)),
    function("chlo.erf_inv", [4.0, 4.0], (-1.0, 1.0)),
    function("chlo.lgamma", [4.0, 4.0], (-40.0, 40.0)),
    function("chlo.digamma", [4.0, 4.0], (-40.0, 40.0)),
    function("chlo.bessel_i1e", [4.0, f64::INFINITY], (-20.0, 20.0)),
];

/// The engine that computes a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The reference evaluator.
    Evaluator,
    /// Machine code.
    Native,
    /// Machine code that calls the C library.
    Strict,
}

/// Returns the values of a function.
///
/// # Panics
/// If the function can't be computed, which this tests.
pub fn values(op: &str, element: ElementType, x: &[f64], engine: Engine) -> Vec<f64> {
    let ty = format!("tensor<{}x{}>", x.len(), if element == F32 { "f32" } else { "f64" });
    let types = if op.starts_with("chlo") { format!("{ty} -> {ty}") } else { ty.clone() };
    let text = format!("func.func @main(%x: {ty}) -> {ty} {{\n  %r = {op} %x : {types}\n  return %r : {ty}\n}}");
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(&text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    let input = Literal::from_scalars(element, &[x.len() as i64], x.iter().map(|&v| Scalar::Float(v)));
    let result = match engine {
        Engine::Evaluator => runtime::reference::evaluate_global(&program, &[input]).expect("it evaluates").remove(0),
        engine => native(program, input, engine == Engine::Strict),
    };
    (0..x.len()).map(|i| result.get(i).as_f64()).collect()
}

#[cfg(feature = "jit")]
fn native(program: dialect::ir::Program, input: Literal, strict: bool) -> Literal {
    use runtime::execute::{Executable, Math, Planned};
    use runtime::subnormals::Subnormals;
    let math = if strict { Math::Strict } else { Math::Fast };
    let subnormals = if strict { Subnormals::Keep } else { Subnormals::Flush };
    let executable = Planned::of(program).and_then(|planned| Executable::compile_planned(planned, None, math, None));
    let executable = executable.unwrap_or_else(|d| panic!("{d:?}"));
    let session = executable.session().expect("memory").with_subnormals(subnormals);
    session.set_inputs(&[input]).expect("inputs fit");
    session.run().unwrap_or_else(|d| panic!("{d:?}"));
    session.results().remove(0)
}

#[cfg(not(feature = "jit"))]
fn native(_: dialect::ir::Program, _: Literal, _: bool) -> Literal {
    panic!("this build has no native execution")
}

/// Returns about `count` arguments: strided over all bit patterns (f32) or random over exponents (f64), uniform over
/// the interesting domain, around the roots, and special values.
pub fn arguments(function: &Function, element: ElementType, count: usize) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(11);
    let third = count / 3;
    let mut x: Vec<f64> = (0..third)
        .map(|i| match element {
            F32 => f32::from_bits((i as u64 * (1 << 32) / third as u64) as u32).into(),
            _ => f64::from_bits(random.u64(..)),
        })
        .collect();
    let (low, high) = function.domain;
    x.extend((0..third).map(|_| low + (high - low) * random.f64()));
    // Arguments close to 0 and to the ends of the domain.
    for end in [0.0, low, high, 1.0, 2.0] {
        x.extend((0..third / 10).map(|_| end + (random.f64() - 0.5) * 2f64.powi(-random.i32(0..50))));
    }
    let roots = roots(function, element);
    let near = if roots.is_empty() { 0 } else { third / 2 / roots.len() };
    for &root in &roots {
        let unit = if element == F32 { f64::from(f32::EPSILON) } else { f64::EPSILON } * root.abs();
        x.extend((0..near).map(|i| root + unit * 2f64.powi(random.i32(0..20)) * (i as f64 % 9.0 - 4.0) / 4.0));
    }
    x.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, -3.0]);
    for v in &mut x {
        *v = Scalar::Float(*v).round(element).as_f64();
    }
    x
}

/// Returns the arguments, except 0, at which the function changes its sign.
fn roots(function: &Function, element: ElementType) -> Vec<f64> {
    let (low, high) = (function.domain.0.max(-40.0), function.domain.1.min(40.0));
    const PARTS: usize = 9973;
    let at = |i: usize| low + (high - low) * i as f64 / PARTS as f64;
    let grid: Vec<f64> = (0..=PARTS).map(at).collect();
    let of = |x: &[f64]| values(function.op, F64, x, Engine::Evaluator);
    let signs = of(&grid);
    let is_change = |i: &usize| signs[*i] * signs[*i + 1] < 0.0 && grid[*i] * grid[*i + 1] > 0.0;
    let mut brackets: Vec<(f64, f64)> = (0..PARTS).filter(is_change).map(|i| (grid[i], grid[i + 1])).collect();
    for _ in 0..60 {
        let (ends, middles): (Vec<f64>, Vec<f64>) = brackets.iter().map(|&(a, b)| (a, a / 2.0 + b / 2.0)).unzip();
        let (first, middle) = (of(&ends), of(&middles));
        for (i, bracket) in brackets.iter_mut().enumerate() {
            if first[i] * middle[i] > 0.0 { bracket.0 = middles[i] } else { bracket.1 = middles[i] }
        }
    }
    brackets.into_iter().map(|(a, _)| Scalar::Float(a).round(element).as_f64()).collect()
}

/// Exact values, each as the sum of two numbers.
pub type Exact = Vec<(f64, f64)>;

/// Returns the values for f32 arguments that count as exact: the evaluator's in f64, which are precise enough.
pub fn exact_enough(function: &Function, x: &[f64]) -> Exact {
    values(function.op, F64, x, Engine::Evaluator).into_iter().map(|v| (v, 0.0)).collect()
}

/// Returns the exact values by ball arithmetic; NaN where it has none.
pub fn exact(python: &Path, function: &Function, x: &[f64]) -> Exact {
    let name = function.op.rsplit('.').next().unwrap_or_default();
    let hex = |x: &[f64]| x.iter().flat_map(|v| v.to_le_bytes()).map(|b| format!("{b:02x}")).collect::<String>();
    let cases = x.chunks(50_000).map(|part| json!({"function": name, "x": hex(part)}));
    let (found, said) = oracle::judge(python, "accuracy.py", cases);
    let numbers = |key: &str| -> Vec<f64> {
        let text = found.iter().map(|part| part[key].as_str().unwrap_or_default()).collect::<String>();
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or_default();
        let bytes: Vec<u8> = (0..text.len() / 2).map(|i| byte(2 * i)).collect();
        bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    };
    let exact: Exact = numbers("high").into_iter().zip(numbers("low")).collect();
    assert_eq!(exact.len(), x.len(), "the script stopped early:\n{said}");
    exact
}

/// Returns the largest error in ULP and its argument. Native code may replace subnormal numbers by 0 without an error.
pub fn worst(element: ElementType, x: &[f64], found: &[f64], exact: &[(f64, f64)], engine: Engine) -> (f64, f64) {
    let flushes = engine == Engine::Native;
    // Halves and quarters of results count as subnormal, too.
    let tiny = |v: f64| v != 0.0 && v.abs() < 4.0 * element.smallest_normal();
    let known = |((x, _), want): &((&f64, &f64), &(f64, f64))| !want.0.is_nan() && (!flushes || !tiny(**x));
    let errors = x.iter().zip(found).zip(exact).filter(known).map(|((&x, &got), &want)| {
        let error = if flushes && got == 0.0 && tiny(want.0) { 0.0 } else { ulps(element, got, want) };
        (error, x)
    });
    errors.fold((0.0, 0.0), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// Returns the distance of `got` from the exact value in the exact value's units in the last place.
fn ulps(element: ElementType, got: f64, (high, low): (f64, f64)) -> f64 {
    let (digits, largest) = if element == F32 { (23, f64::from(f32::MAX)) } else { (52, f64::MAX) };
    if got.is_nan() {
        return f64::INFINITY;
    }
    let beyond = Scalar::Float(high).round(element).as_f64().is_infinite();
    if beyond || got.is_infinite() {
        // The largest number and infinity are neighbors.
        let (got, want) = (got.clamp(-f64::MAX, f64::MAX), high.clamp(-f64::MAX, f64::MAX));
        let near = |v: f64| v.abs() >= largest * (1.0 - 2f64.powi(2 - digits));
        return if near(got) && near(want) && got.signum() == want.signum() { 0.0 } else { f64::INFINITY };
    }
    let smallest = element.smallest_normal().log2() as i32;
    let exponent = if high == 0.0 { smallest } else { (high.abs().log2().floor() as i32).max(smallest) };
    // Use two factors, because the unit itself may be subnormal.
    ((got - high) - low).abs() * 2f64.powi(-exponent.max(-900)) * 2f64.powi(digits - (exponent - exponent.max(-900)))
}

/// Returns the worst errors of a function in f32, for the evaluator and, if available, for native code.
pub fn worst_in_single(function: &Function, count: usize) -> Vec<(Engine, f64, f64)> {
    let x = arguments(function, F32, count);
    let exact = exact_enough(function, &x);
    judged(function, F32, &x, &exact)
}

/// Returns the worst errors of a function in f64, compared with ball arithmetic.
pub fn worst_in_double(python: &Path, function: &Function, count: usize) -> Vec<(Engine, f64, f64)> {
    let x = arguments(function, F64, count);
    let exact = exact(python, function, &x);
    judged(function, F64, &x, &exact)
}

fn judged(function: &Function, element: ElementType, x: &[f64], exact: &Exact) -> Vec<(Engine, f64, f64)> {
    let engines = [Engine::Evaluator, Engine::Native];
    let engines = if cfg!(feature = "jit") { &engines[..] } else { &engines[..1] };
    let judge = |&engine: &Engine| {
        let (error, at) = worst(element, x, &values(function.op, element, x, engine), exact, engine);
        (engine, error, at)
    };
    engines.iter().map(judge).collect()
}
