//! The table rows: every pointwise op of StableHLO that is one scalar operation on its operands.

use super::{Classes, Compute, FUNCTIONAL, PLAIN, Pointwise, Typing};
use crate::scalar::ScalarOp;
use crate::text::{Syntax, TypeForm};

/// `%re, %im : T`, where T is the type of the result.
const COMPLEX_FORM: Syntax = Syntax::Keys(&[], TypeForm::Complex);

/// An example with one element type, or with different types for operand and result.
macro_rules! example {
    ($name:literal, 1, $e:literal) => {
        concat!("(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : tensor<2x4x", $e, ">")
    };
    ($name:literal, 2, $e:literal) => {
        concat!("(%a: tensor<4x6x", $e, ">, %b: tensor<4x6x", $e, ">) %r = ", $name, " %a, %b : tensor<4x6x", $e, ">")
    };
    ($name:literal, 2, $e:literal => $r:literal) => {
        concat!("(%a: tensor<4x6x", $e, ">, %b: tensor<4x6x", $e, ">) %r = ", $name, " %a, %b : tensor<4x6x", $r, ">")
    };
    ($name:literal, 1, $e:literal => $r:literal) => {
        concat!("(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : (tensor<2x4x", $e, ">) -> tensor<2x4x", $r, ">")
    };
}

macro_rules! rows {
    ($($id:ident $name:literal $arity:tt $op:ident $typing:expr, $syntax:ident,
       [$($e:literal $(=> $r:literal)?),*];)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $id: Pointwise = Pointwise {
                name: $name,
                arity: $arity,
                syntax: $syntax,
                typing: $typing,
                compute: Compute::Scalar(ScalarOp::$op),
                expands: false,
                examples: &[$(example!($name, $arity, $e $(=> $r)?)),*],
            };
        )*

        /// Returns the op that computes `scalar`, with operands and result of one type.
        pub fn of_scalar(scalar: ScalarOp) -> Option<&'static Pointwise> {
            match scalar {
                $(ScalarOp::$op => Some(&$id),)*
                _ => None,
            }
        }
    };
}

rows! {
    ABS "stablehlo.abs" 1 Abs Typing::Part(Classes::SIGNED_NUMBER), PLAIN, ["f32", "complex<f32>" => "f32", "i8"];
    ADD "stablehlo.add" 2 Add Typing::Same(Classes::ANY), PLAIN, ["f32", "i32", "i1", "bf16", "complex<f32>"];
    AND "stablehlo.and" 2 And Typing::Same(Classes::BITS), PLAIN, ["i32", "i1"];
    ATAN2 "stablehlo.atan2" 2 Atan2 Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    CBRT "stablehlo.cbrt" 1 Cbrt Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    CEIL "stablehlo.ceil" 1 Ceil Typing::Same(Classes::REAL), PLAIN, ["f32"];
    COMPLEX "stablehlo.complex" 2 Complex Typing::Complex, COMPLEX_FORM, ["f32" => "complex<f32>"];
    COSINE "stablehlo.cosine" 1 Cos Typing::Same(Classes::FLOATING), PLAIN, ["f32", "complex<f32>"];
    COUNT_LEADING_ZEROS "stablehlo.count_leading_zeros" 1 Clz Typing::Same(Classes::INTEGER), PLAIN, ["i32", "ui8"];
    DIVIDE "stablehlo.divide" 2 Div Typing::Same(Classes::NUMBER), PLAIN, ["f32", "i32", "complex<f32>"];
    EXPONENTIAL "stablehlo.exponential" 1 Exp Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    EXPONENTIAL_MINUS_ONE "stablehlo.exponential_minus_one" 1 Expm1 Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    FLOOR "stablehlo.floor" 1 Floor Typing::Same(Classes::REAL), PLAIN, ["f32"];
    IMAG "stablehlo.imag" 1 Imag Typing::Part(Classes::FLOATING), PLAIN, ["complex<f32>" => "f32"];
    IS_FINITE "stablehlo.is_finite" 1 IsFinite Typing::Bool(Classes::REAL), FUNCTIONAL, ["f32" => "i1"];
    LOG "stablehlo.log" 1 Log Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    LOG_PLUS_ONE "stablehlo.log_plus_one" 1 Log1p Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    LOGISTIC "stablehlo.logistic" 1 Logistic Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    MAXIMUM "stablehlo.maximum" 2 Max Typing::Same(Classes::ANY), PLAIN, ["f32", "i32", "i1"];
    MINIMUM "stablehlo.minimum" 2 Min Typing::Same(Classes::ANY), PLAIN, ["f32", "ui8"];
    MULTIPLY "stablehlo.multiply" 2 Mul Typing::Same(Classes::ANY), PLAIN, ["f32", "i32", "i1", "complex<f32>"];
    NEGATE "stablehlo.negate" 1 Neg Typing::Same(Classes::NUMBER), PLAIN, ["f32", "i32"];
    NOT "stablehlo.not" 1 Not Typing::Same(Classes::BITS), PLAIN, ["i32", "i1"];
    OR "stablehlo.or" 2 Or Typing::Same(Classes::BITS), PLAIN, ["i32", "i1"];
    POPCNT "stablehlo.popcnt" 1 Popcnt Typing::Same(Classes::INTEGER), PLAIN, ["i32"];
    POWER "stablehlo.power" 2 Pow Typing::Same(Classes::NUMBER), PLAIN, ["f32", "i32"];
    REAL "stablehlo.real" 1 Real Typing::Part(Classes::FLOATING), PLAIN, ["complex<f32>" => "f32"];
    REMAINDER "stablehlo.remainder" 2 Rem Typing::Same(Classes::REAL_NUMBER), PLAIN, ["f32", "i32"];
    ROUND_NEAREST_AFZ "stablehlo.round_nearest_afz" 1 RoundAfz Typing::Same(Classes::REAL), PLAIN, ["f32"];
    ROUND_NEAREST_EVEN "stablehlo.round_nearest_even" 1 RoundEven Typing::Same(Classes::REAL), PLAIN, ["f32"];
    RSQRT "stablehlo.rsqrt" 1 Rsqrt Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    SHIFT_LEFT "stablehlo.shift_left" 2 Shl Typing::Same(Classes::INTEGER), PLAIN, ["i32"];
    SHIFT_RIGHT_ARITHMETIC "stablehlo.shift_right_arithmetic" 2 ShrArithmetic Typing::Same(Classes::INTEGER), PLAIN, ["i32"];
    SHIFT_RIGHT_LOGICAL "stablehlo.shift_right_logical" 2 ShrLogical Typing::Same(Classes::INTEGER), PLAIN, ["ui32"];
    SIGN "stablehlo.sign" 1 Sign Typing::Same(Classes::SIGNED_NUMBER), PLAIN, ["f32", "i32"];
    SINE "stablehlo.sine" 1 Sin Typing::Same(Classes::FLOATING), PLAIN, ["f32", "complex<f32>"];
    SQRT "stablehlo.sqrt" 1 Sqrt Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    SUBTRACT "stablehlo.subtract" 2 Sub Typing::Same(Classes::NUMBER), PLAIN, ["f32", "i32"];
    TAN "stablehlo.tan" 1 Tan Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    TANH "stablehlo.tanh" 1 Tanh Typing::Same(Classes::FLOATING), PLAIN, ["f32"];
    XOR "stablehlo.xor" 2 Xor Typing::Same(Classes::BITS), PLAIN, ["i32", "i1"];
}
