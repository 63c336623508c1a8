//! Elementary and special functions are as accurate as promised, in the evaluator and in native code.

use dialect::ir::ElementType::{F32, F64};
use shardc_tests::accuracy::{self, Engine, FUNCTIONS, Function, values};
use shardc_tests::oracle;

/// The number of arguments of each function.
const COUNT: usize = 4_000;

fn faults(function: &Function, limit: f64, worst: Vec<(Engine, f64, f64)>) -> Vec<String> {
    let fault = |(engine, error, at)| format!("{} {engine:?}: {error:.2} ULP at {at:e}, {limit} promised", function.op);
    worst.into_iter().filter(|found| found.1 > limit).map(fault).collect()
}

#[test]
fn functions_are_accurate_in_single_precision() {
    let wrong = |f: &Function| faults(f, f.limits[0], accuracy::worst_in_single(f, COUNT));
    let wrong: Vec<String> = FUNCTIONS.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn functions_are_accurate_in_double_precision() {
    let python = oracle::made("oracles");
    let wrong = |f: &Function| faults(f, f.limits[1], accuracy::worst_in_double(&python, f, COUNT));
    let wrong: Vec<String> = FUNCTIONS.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(feature = "jit"), ignore = "needs native execution")]
fn strict_math_is_what_the_evaluator_computes() {
    // The evaluator's cube root and tanh are more accurate than the C library's.
    let is_one = |f: &&Function| f.op.starts_with("stablehlo") && !f.op.ends_with("cbrt") && !f.op.ends_with("tanh");
    for function in FUNCTIONS.iter().filter(is_one) {
        for element in [F32, F64] {
            let x = accuracy::arguments(function, element, 3000);
            let [want, got] =
                [Engine::Evaluator, Engine::Strict].map(|engine| values(function.op, element, &x, engine));
            for ((x, want), got) in x.iter().zip(want).zip(got) {
                let same = want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan();
                assert!(same, "{} of {x:e} in {element:?}: {got:e}, not {want:e}", function.op);
            }
        }
    }
}

#[test]
fn special_values_are_special() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let table: &[(&str, f64, f64)] = &[
        ("stablehlo.logistic", -inf, 0.0),
        ("stablehlo.logistic", inf, 1.0),
        ("stablehlo.logistic", -1e300, 0.0),
        ("stablehlo.tanh", -inf, -1.0),
        ("stablehlo.tan", inf, nan),
        ("chlo.sinh", -inf, -inf),
        ("chlo.sinh", -0.0, -0.0),
        ("chlo.sinh", 1e5, inf),
        ("chlo.cosh", -inf, inf),
        ("chlo.cosh", 0.0, 1.0),
        ("chlo.erf", -inf, -1.0),
        ("chlo.erfc", inf, 0.0),
        ("chlo.erfc", -inf, 2.0),
        ("chlo.erfc", 1e30, 0.0),
        ("chlo.erf_inv", 1.0, inf),
        ("chlo.erf_inv", -1.0, -inf),
        ("chlo.erf_inv", 1.5, nan),
        ("chlo.lgamma", inf, inf),
        ("chlo.lgamma", -inf, inf),
        ("chlo.lgamma", 0.0, inf),
        ("chlo.lgamma", -0.0, inf),
        ("chlo.lgamma", -3.0, inf),
        ("chlo.lgamma", -1e30, inf),
        ("chlo.lgamma", 1.0, 0.0),
        ("chlo.lgamma", 2.0, 0.0),
        ("chlo.digamma", inf, inf),
        ("chlo.digamma", -inf, nan),
        ("chlo.digamma", 0.0, nan),
        ("chlo.digamma", -7.0, nan),
        ("chlo.digamma", -1e30, nan),
    ];
    let engines = if cfg!(feature = "jit") { vec![Engine::Evaluator, Engine::Native] } else { vec![Engine::Evaluator] };
    for &(op, x, want) in table {
        for element in [F32, F64] {
            for &engine in &engines {
                let got = values(op, element, &[x, nan], engine);
                let same = got[0] == want && got[0].is_sign_negative() == want.is_sign_negative()
                    || got[0].is_nan() && want.is_nan();
                assert!(same && got[1].is_nan(), "{op}({x}) in {element:?} by {engine:?}: {got:?}, not {want} and NaN");
            }
        }
    }
}
