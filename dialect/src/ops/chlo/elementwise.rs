//! The pointwise ops of CHLO that JAX emits, each as a formula of StableHLO's scalar operations: the import pass
//! expands them into StableHLO ops, other code uses the formula. Types narrower than f32 are computed in f32.
//!
//! Source: <https://openxla.org/stablehlo/generated/chlo>.

use super::formula::{Formula, formula, formula_in_double, formula_of_two, next_after};
use super::mulhi::mulhi;
use crate::op::OpDef;
use crate::ops::stablehlo::elementwise::{Classes, Compute, Pointwise, Typing};
use crate::scalar::ScalarOp::{self, *};
use crate::text::{Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[
    &CHLO_SQUARE,
    &CHLO_TAN,
    &CHLO_ATAN,
    &CHLO_ASIN,
    &CHLO_ACOS,
    &CHLO_SINH,
    &CHLO_COSH,
    &CHLO_ASINH,
    &CHLO_ACOSH,
    &CHLO_ATANH,
    &CHLO_ASIN_ACOS_KERNEL,
    &CHLO_CONJ,
    &CHLO_IS_INF,
    &CHLO_IS_POS_INF,
    &CHLO_IS_NEG_INF,
    &CHLO_ERF,
    &CHLO_ERFC,
    &CHLO_ERF_INV,
    &CHLO_LGAMMA,
    &CHLO_DIGAMMA,
    &CHLO_BESSEL_I1E,
    &CHLO_NEXT_AFTER,
    &CHLO_ZETA,
    &CHLO_POLYGAMMA,
    &CHLO_MULHI,
];

/// `%a, %b : T, T -> T`
const ARROW: Syntax = Syntax::Keys(&[], TypeForm::Arrow);

macro_rules! rows {
    ($make:ident, $expands:literal: $($id:ident $name:literal $typing:expr, $formula:expr, [$($e:literal $r:literal),*];)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $id: Pointwise = Pointwise {
                name: $name,
                arity: 1,
                syntax: ARROW,
                typing: $typing,
                compute: Compute::Own(|op| $make(op, $formula)),
                expands: $expands,
                examples: &[$(concat!(
                    "(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : tensor<2x4x", $e, "> -> tensor<2x4x", $r, ">"
                )),*],
            };
        )*
    };
}

const REAL: Typing = Typing::Same(Classes::REAL);
const FLOATING: Typing = Typing::Same(Classes::FLOATING);

rows! { formula, true:
    CHLO_SQUARE "chlo.square" Typing::Same(Classes::NUMBER), |m, x| m.mul(x, x),
        ["f32" "f32", "i32" "i32", "complex<f32>" "complex<f32>"];
    CHLO_TAN "chlo.tan" FLOATING, |m, x| m.op(Tan, &[x]), ["f32" "f32"];
    CHLO_ATAN "chlo.atan" FLOATING, Formula::atan, ["f32" "f32"];
    CHLO_ASIN "chlo.asin" FLOATING, Formula::asin, ["f32" "f32", "complex<f32>" "complex<f32>"];
    CHLO_ACOS "chlo.acos" FLOATING, Formula::acos, ["f32" "f32"];
    CHLO_ASINH "chlo.asinh" FLOATING, Formula::asinh, ["f32" "f32"];
    CHLO_ACOSH "chlo.acosh" FLOATING, Formula::acosh, ["f32" "f32"];
    CHLO_ASIN_ACOS_KERNEL "chlo._asin_acos_kernel" Typing::Same(Classes::COMPLEX_NUMBER), Formula::asin_acos_kernel,
        ["complex<f32>" "complex<f32>", "complex<f64>" "complex<f64>"];
    CHLO_ATANH "chlo.atanh" FLOATING, Formula::atanh, ["f32" "f32"];
    // (e + e / (e + 1)) / 2 for e = e^|x| - 1
    CHLO_SINH "chlo.sinh" FLOATING, |m, x| {
        if m.is_complex() {
            return m.hyperbolic(x, Sub);
        }
        let (one, half) = (m.c(1.0), m.c(0.5));
        let magnitude = m.op(Abs, &[x]);
        let e = m.op(Expm1, &[magnitude]);
        let above = m.add(e, one);
        let rest = m.div(e, above);
        let sum = m.add(e, rest);
        let value = m.mul(half, sum);
        let value = m.half_exponential_beyond(magnitude, value);
        m.signed_like(value, x)
    }, ["f32" "f32", "bf16" "bf16"];
    // (e + 1 / e) / 2 for e = e^|x|
    CHLO_COSH "chlo.cosh" FLOATING, |m, x| {
        if m.is_complex() {
            return m.hyperbolic(x, Add);
        }
        let (one, half) = (m.c(1.0), m.c(0.5));
        let magnitude = m.op(Abs, &[x]);
        let e = m.op(Exp, &[magnitude]);
        let inverse = m.div(one, e);
        let sum = m.add(e, inverse);
        let value = m.mul(half, sum);
        m.half_exponential_beyond(magnitude, value)
    }, ["f32" "f32"];
    CHLO_CONJ "chlo.conj" FLOATING, |m, x| {
        if !m.is_complex() {
            return x;
        }
        let (re, im) = (m.part(Real, x), m.part(Imag, x));
        let minus = m.part(Neg, im);
        m.op(ScalarOp::Complex, &[re, minus])
    }, ["complex<f32>" "complex<f32>", "f32" "f32"];
    CHLO_IS_INF "chlo.is_inf" Typing::Bool(Classes::REAL), |m, x| {
        let magnitude = m.op(Abs, &[x]);
        m.equals(magnitude, f64::INFINITY)
    }, ["f32" "i1"];
    CHLO_IS_POS_INF "chlo.is_pos_inf" Typing::Bool(Classes::REAL), |m, x| m.equals(x, f64::INFINITY), ["f32" "i1"];
    CHLO_IS_NEG_INF "chlo.is_neg_inf" Typing::Bool(Classes::REAL), |m, x| m.equals(x, f64::NEG_INFINITY), ["f32" "i1"];
    CHLO_ERF "chlo.erf" REAL, Formula::erf, ["f32" "f32", "bf16" "bf16"];
    CHLO_ERF_INV "chlo.erf_inv" REAL, Formula::erf_inv, ["f32" "f32", "f64" "f64"];
}

// Long formulas in f64, which stay ops of CHLO so that other compilers don't get them.
rows! { formula_in_double, false:
    CHLO_ERFC "chlo.erfc" REAL, Formula::erfc, ["f32" "f32", "f64" "f64"];
    CHLO_LGAMMA "chlo.lgamma" REAL, Formula::lgamma, ["f32" "f32", "f64" "f64"];
    CHLO_BESSEL_I1E "chlo.bessel_i1e" REAL, Formula::bessel_i1e, ["f32" "f32", "f64" "f64"];
    CHLO_DIGAMMA "chlo.digamma" REAL, Formula::digamma, ["f32" "f32", "f64" "f64"];
}

/// `chlo.next_after`
pub static CHLO_NEXT_AFTER: Pointwise = Pointwise {
    name: "chlo.next_after",
    arity: 2,
    syntax: ARROW,
    typing: REAL,
    compute: Compute::Own(next_after),
    expands: true,
    examples: &[
        "(%a: tensor<4xf32>, %b: tensor<4xf32>) %r = chlo.next_after %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>",
        "(%a: tensor<6xbf16>, %b: tensor<6xbf16>) %r = chlo.next_after %a, %b : tensor<6xbf16>, tensor<6xbf16> -> tensor<6xbf16>",
    ],
};

/// `chlo.zeta`
pub static CHLO_ZETA: Pointwise = Pointwise {
    name: "chlo.zeta",
    arity: 2,
    syntax: ARROW,
    typing: REAL,
    compute: Compute::Own(|op| formula_of_two(op, Formula::zeta)),
    expands: true,
    examples: &[
        "(%a: tensor<4xf32>, %b: tensor<4xf32>) %r = chlo.zeta %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>",
    ],
};

/// `chlo.polygamma`
pub static CHLO_POLYGAMMA: Pointwise = Pointwise {
    name: "chlo.polygamma",
    arity: 2,
    syntax: ARROW,
    typing: REAL,
    compute: Compute::Own(|op| formula_of_two(op, Formula::polygamma)),
    expands: false,
    examples: &[
        "(%a: tensor<4xf64>, %b: tensor<4xf64>) %r = chlo.polygamma %a, %b : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>",
    ],
};

/// `chlo.mulhi`
pub static CHLO_MULHI: Pointwise = Pointwise {
    name: "chlo.mulhi",
    arity: 2,
    syntax: ARROW,
    typing: Typing::Same(Classes::INTEGER),
    compute: Compute::Own(mulhi),
    expands: true,
    examples: &[
        "(%a: tensor<4xi8>, %b: tensor<4xi8>) %r = chlo.mulhi %a, %b : tensor<4xi8>, tensor<4xi8> -> tensor<4xi8>",
        "(%a: tensor<4xui64>, %b: tensor<4xui64>) %r = chlo.mulhi %a, %b : tensor<4xui64>, tensor<4xui64> -> tensor<4xui64>",
    ],
};
