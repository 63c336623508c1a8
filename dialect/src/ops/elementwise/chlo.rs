//! The pointwise ops of CHLO that JAX emits, each as a formula of StableHLO's scalar operations: the import pass
//! writes them out, everything else reads the formula too. Types narrower than f32 are computed in f32.
//!
//! Source: <https://openxla.org/stablehlo/generated/chlo>.

use super::formula::{Formula, formula};
use super::{Classes, Compute, Linear, Pointwise, Typing};
use crate::scalar::Comparison::{Eq, Gt, Lt};
use crate::scalar::ScalarOp::{self, *};
use crate::text::{Piece, Syntax, TypeForm};

/// `%a, %b : T, T -> T`
const ARROW: Syntax = Syntax::Pieces(&[Piece::Operands, Piece::AttrDict, Piece::Types(TypeForm::Arrow)]);

macro_rules! rows {
    ($($id:ident $name:literal $typing:expr, $formula:expr, [$($e:literal $r:literal),*];)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $id: Pointwise = Pointwise {
                name: $name,
                arity: 1,
                syntax: ARROW,
                typing: $typing,
                compute: Compute::Own(|op| formula(op, $formula)),
                linear: Linear::No,
                expands: true,
                examples: &[$(concat!(
                    "(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : tensor<2x4x", $e, "> -> tensor<2x4x", $r, ">"
                )),*],
            };
        )*
    };
}

const REAL: Typing = Typing::Same(Classes::REAL);
const FLOATING: Typing = Typing::Same(Classes::FLOATING);

rows! {
    CHLO_SQUARE "chlo.square" Typing::Same(Classes::NUMBER), |m, x| m.mul(x, x),
        ["f32" "f32", "i32" "i32", "complex<f32>" "complex<f32>"];
    CHLO_TAN "chlo.tan" FLOATING, |m, x| m.op(Tan, &[x]), ["f32" "f32"];
    CHLO_ATAN "chlo.atan" REAL, |m, x| {
        let one = m.c(1.0);
        m.op(Atan2, &[x, one])
    }, ["f32" "f32"];
    // 2 atan2(x, 1 + sqrt((1 - x)(1 + x)))
    CHLO_ASIN "chlo.asin" REAL, |m, x| {
        let (leg, one) = (m.other_leg(x), m.c(1.0));
        let below = m.add(one, leg);
        let half = m.op(Atan2, &[x, below]);
        m.add(half, half)
    }, ["f32" "f32"];
    // 2 atan2(sqrt((1 - x)(1 + x)), 1 + x), and pi at -1
    CHLO_ACOS "chlo.acos" REAL, |m, x| {
        let (leg, one, end, pi) = (m.other_leg(x), m.c(1.0), m.c(-1.0), m.c(std::f64::consts::PI));
        let below = m.add(one, x);
        let half = m.op(Atan2, &[leg, below]);
        let angle = m.add(half, half);
        m.choose(Eq, x, end, pi, angle)
    }, ["f32" "f32"];
    // (e + e / (e + 1)) / 2 of e = e^x - 1; e^(x - log 2) where that overflows
    CHLO_SINH "chlo.sinh" FLOATING, |m, x| {
        if m.is_complex() {
            return m.hyperbolic(x, Sub);
        }
        let (one, half, log2) = (m.c(1.0), m.c(0.5), m.c(std::f64::consts::LN_2));
        let magnitude = m.op(Abs, &[x]);
        let e = m.op(Expm1, &[magnitude]);
        let above = m.add(e, one);
        let rest = m.div(e, above);
        let sum = m.add(e, rest);
        let small = m.mul(half, sum);
        let shifted = m.sub(magnitude, log2);
        let large = m.op(Exp, &[shifted]);
        let limit = m.c(20.0);
        let value = m.choose(Lt, magnitude, limit, small, large);
        m.signed_like(value, x)
    }, ["f32" "f32", "bf16" "bf16"];
    CHLO_COSH "chlo.cosh" FLOATING, |m, x| {
        if m.is_complex() {
            return m.hyperbolic(x, Add);
        }
        let log2 = m.c(std::f64::consts::LN_2);
        let minus = m.op(Neg, &[x]);
        let (a, b) = (m.sub(x, log2), m.sub(minus, log2));
        let (a, b) = (m.op(Exp, &[a]), m.op(Exp, &[b]));
        m.add(a, b)
    }, ["f32" "f32"];
    // sign(x) log1p(|x| + x² / (1 + sqrt(x² + 1))); log|x| + log 2 where x² overflows
    CHLO_ASINH "chlo.asinh" REAL, |m, x| {
        let (one, log2, limit) = (m.c(1.0), m.c(std::f64::consts::LN_2), m.c(1e9));
        let magnitude = m.op(Abs, &[x]);
        let square = m.mul(x, x);
        let inside = m.add(square, one);
        let root = m.op(Sqrt, &[inside]);
        let below = m.add(one, root);
        let rest = m.div(square, below);
        let argument = m.add(magnitude, rest);
        let small = m.op(Log1p, &[argument]);
        let log = m.op(Log, &[magnitude]);
        let large = m.add(log, log2);
        let value = m.choose(Gt, magnitude, limit, large, small);
        m.signed_like(value, x)
    }, ["f32" "f32"];
    // log1p(t + sqrt(t (t + 2))) of t = x - 1; log x + log 2 where that overflows
    CHLO_ACOSH "chlo.acosh" REAL, |m, x| {
        let (one, two, log2, limit) = (m.c(1.0), m.c(2.0), m.c(std::f64::consts::LN_2), m.c(1e9));
        let t = m.sub(x, one);
        let above = m.add(t, two);
        let product = m.mul(t, above);
        let root = m.op(Sqrt, &[product]);
        let argument = m.add(t, root);
        let small = m.op(Log1p, &[argument]);
        let log = m.op(Log, &[x]);
        let large = m.add(log, log2);
        let value = m.choose(Gt, x, limit, large, small);
        let nan = m.c(f64::NAN);
        m.choose(Lt, x, one, nan, value)
    }, ["f32" "f32"];
    CHLO_ATANH "chlo.atanh" REAL, |m, x| {
        let half = m.c(0.5);
        let minus = m.op(Neg, &[x]);
        let (a, b) = (m.op(Log1p, &[x]), m.op(Log1p, &[minus]));
        let twice = m.sub(a, b);
        m.mul(half, twice)
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
    CHLO_ERFC "chlo.erfc" REAL, Formula::erfc, ["f32" "f32"];
}
