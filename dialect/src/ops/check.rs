//! The `check` dialect of StableHLO's test suite: ops that compare a value with the expected one and stop the run if
//! they differ. Source: StableHLO's reference documentation, "Testing"; defaults as in its `CheckOps`.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{Attr, AttrData, ElementType, OpRef, TypeData};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::scalar::Scalar;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[&ExpectEq, &ExpectEqConst, &ExpectAlmostEq, &ExpectAlmostEqConst, &ExpectClose];

/// The allowed difference between two elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Tolerance {
    /// Equal; NaN equals NaN.
    Exact,
    /// An absolute difference of at most this value; NaN and infinities equal themselves.
    Absolute(f64),
    /// A distance in units in the last place within these bounds.
    Ulps {
        /// Smallest allowed distance.
        min: i64,
        /// Largest allowed distance.
        max: i64,
    },
}

const TOLERANCE: &str = "tolerance";

/// The default tolerance of `expect_almost_eq`.
pub(crate) const ALMOST: f64 = 1e-4;

/// Compares element by element; the error names the first element that differs.
pub(crate) fn compare(found: &Literal, expected: &Literal, tolerance: Tolerance) -> Result<(), String> {
    if found.ty() != expected.ty() {
        return Err(format!("expected a value like {expected:?}, found {found:?}"));
    }
    for i in 0..found.len() {
        let (a, b) = (found.get(i), expected.get(i));
        if !close(a, b, found.element, tolerance) {
            let wrong =
                (i..found.len()).filter(|&i| !close(found.get(i), expected.get(i), found.element, tolerance)).count();
            return Err(format!(
                "element {i} is {a:?}, expected {b:?} ({tolerance}); {wrong} of {} elements differ",
                found.len()
            ));
        }
    }
    Ok(())
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tolerance::Exact => write!(f, "exactly"),
            Tolerance::Absolute(by) => write!(f, "within {by}"),
            Tolerance::Ulps { min: 0, max } => write!(f, "within {max} ULP"),
            Tolerance::Ulps { min, max } => write!(f, "{min} to {max} ULP away"),
        }
    }
}

fn close(a: Scalar, b: Scalar, element: ElementType, tolerance: Tolerance) -> bool {
    match (a, b) {
        (Scalar::Complex(re, im), Scalar::Complex(re2, im2)) => {
            let part = if element == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
            close_float(re, re2, part, tolerance) && close_float(im, im2, part, tolerance)
        }
        (Scalar::Float(a), Scalar::Float(b)) => close_float(a, b, element, tolerance),
        (Scalar::Int(a), Scalar::Int(b)) => match tolerance {
            Tolerance::Exact => a == b,
            Tolerance::Absolute(by) => (a - b).unsigned_abs() as f64 <= by,
            Tolerance::Ulps { min, max } => (min.into()..=max.into()).contains(&((a - b).unsigned_abs() as i128)),
        },
        _ => false,
    }
}

fn close_float(a: f64, b: f64, element: ElementType, tolerance: Tolerance) -> bool {
    if !a.is_finite() || !b.is_finite() {
        return a == b || a.is_nan() && b.is_nan();
    }
    match tolerance {
        Tolerance::Exact => a == b,
        Tolerance::Absolute(by) => (a - b).abs() <= by,
        Tolerance::Ulps { min, max } => {
            let distance = (ordinal(a, element) - ordinal(b, element)).unsigned_abs();
            distance >= min.max(0) as u128 && distance <= max.max(0) as u128
        }
    }
}

/// Returns the rank of a finite float among the values of its type; both zeros have rank 0.
fn ordinal(value: f64, element: ElementType) -> i128 {
    let mut bytes = Vec::new();
    Scalar::Float(value).encode(element, &mut bytes);
    let bits = bytes.iter().rev().fold(0u128, |bits, &b| bits << 8 | u128::from(b));
    let sign = 1u128 << (bytes.len() * 8 - 1);
    if bits & sign != 0 { -((bits & !sign) as i128) } else { bits as i128 }
}

macro_rules! check_op {
    ($(#[$doc:meta])* $name:ident, $text:literal, $constant:literal, $tolerance:expr, $words:expr, $example:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl OpDef for $name {
            fn name(&self) -> &'static str {
                $text
            }

            fn syntax(&self) -> Syntax {
                static SYNTAX: CustomSyntax = CustomSyntax {
                    parse: |p, op| parse(p, op, $constant, $words),
                    print: |p, op| print(p, op, $constant, $words),
                };
                Syntax::Custom(&SYNTAX)
            }

            fn infer(&self, op: OpRef<'_>) -> Inferred {
                infer(op, $constant)
            }

            fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
                let tolerance: fn(OpRef<'_>) -> Tolerance = $tolerance;
                let expected = if $constant { op.dense("value") } else { operands.get(1) };
                let (Some(found), Some(expected)) = (operands.first(), expected) else {
                    return Err(EvalError::new("expected two values to compare"));
                };
                compare(found, expected, tolerance(op)).map_err(EvalError::new)?;
                Ok(Vec::new())
            }

            fn examples(&self) -> &'static [&'static str] {
                &[$example]
            }

            fn side_effect(&self, _: OpRef<'_>) -> bool {
                true
            }
        }
    };
}

fn absolute(op: OpRef<'_>) -> Tolerance {
    Tolerance::Absolute(op.attr(TOLERANCE).and_then(AttrData::as_float).unwrap_or(ALMOST))
}

fn ulps(op: OpRef<'_>) -> Tolerance {
    Tolerance::Ulps { min: op.int("min_ulp_difference").unwrap_or(0), max: op.int("max_ulp_difference").unwrap_or(1) }
}

check_op!(
    /// `check.expect_eq %a, %b : T`
    ExpectEq, "check.expect_eq", false, |_| Tolerance::Exact, &[],
    "(%a: tensor<2xf32>) check.expect_eq %a, %a : tensor<2xf32>"
);
check_op!(
    /// `check.expect_eq_const %a, dense<…> : T`
    ExpectEqConst, "check.expect_eq_const", true, |_| Tolerance::Exact, &[],
    "() %i = stablehlo.iota dim = 0 : tensor<2xi32> check.expect_eq_const %i, dense<[0, 1]> : tensor<2xi32>"
);
check_op!(
    /// `check.expect_almost_eq %a, %b, tolerance = 0.001 : f64 : T`
    ExpectAlmostEq, "check.expect_almost_eq", false, absolute, &[TOLERANCE],
    "(%a: tensor<2xf32>) check.expect_almost_eq %a, %a, tolerance = 1.000000e-03 : tensor<2xf32>"
);
check_op!(
    /// `check.expect_almost_eq_const %a, dense<…>, tolerance = … : T`
    ExpectAlmostEqConst, "check.expect_almost_eq_const", true, absolute, &[TOLERANCE],
    "() %i = stablehlo.iota dim = 0 : tensor<2xf32> check.expect_almost_eq_const %i, dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>"
);
check_op!(
    /// `check.expect_close %a, %b, max_ulp_difference = 3 : T, T`
    ExpectClose, "check.expect_close", false, ulps, &["max_ulp_difference", "min_ulp_difference"],
    "(%a: tensor<2xf32>) check.expect_close %a, %a, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>"
);

fn infer(op: OpRef<'_>, constant: bool) -> Inferred {
    let mut types = op.type_ids(op.operands());
    if constant {
        match op.attr("value") {
            Some(AttrData::Dense(ty, _)) => types.push(*ty),
            _ => return Err(Problem::new("expected a constant to compare with").note("write dense<…>").into()),
        }
    }
    match types[..] {
        [a, b] if a == b => Ok(Vec::new()),
        [_, _] => {
            let found = op.program.types_text(&types);
            Err(Problem::new(format!("the values must have one type, found {found}")).into())
        }
        _ => Err(Problem::new(format!("expected two values, found {}", types.len())).into()),
    }
}

/// Parses `%a, %b, word = 3, … {…} : T`; a constant has its own type.
fn parse(p: &mut Parser<'_>, op: &mut ParsedOp, constant: bool, words: &[&str]) -> Parse<()> {
    p.operand(op)?;
    p.expect(",")?;
    if constant {
        let value = p.attribute()?;
        op.set(&mut p.program, "value", value);
    } else {
        p.operand(op)?;
    }
    while p.eat(",") {
        let Some(&word) = words.iter().find(|w| p.at(w)) else {
            return p.fail_expected(words.first().unwrap_or(&"no more"));
        };
        p.advance();
        p.expect("=")?;
        let attr = parse_number(p, word == TOLERANCE)?;
        op.set(&mut p.program, word, attr);
    }
    p.attr_dict(op)?;
    if constant {
        return Ok(());
    }
    p.expect(":")?;
    p.attr_dict(op)?;
    let mut types = p.comma_list(Parser::ty)?;
    types.resize(2, types[0]);
    p.check_operands(op, &types)
}

/// Parses a number without its type, and skips a type that follows.
fn parse_number(p: &mut Parser<'_>, float: bool) -> Parse<Attr> {
    let element = if float { ElementType::F64 } else { ElementType::UI64 };
    let ty = p.program.intern_type(TypeData::Scalar(element));
    let data = if float {
        let Ok(value) = p.token_text().parse::<f64>() else { return p.fail_expected("a number") };
        p.advance();
        AttrData::Float(value.to_bits(), ty)
    } else {
        AttrData::Int(p.integer()?, ty)
    };
    if p.at_both(":", "f64") || p.at_both(":", "ui64") || p.at_both(":", "i64") {
        p.advance();
        p.advance();
    }
    Ok(p.program.intern_attr(data))
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>, constant: bool, words: &[&str]) -> bool {
    let operands = if constant { 1 } else { 2 };
    if op.operands().len() != operands || op.result_count() != 0 {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    if constant {
        let Some(value) = op.attr_id("value") else { return false };
        p.text(", ");
        p.attr(value);
    }
    for word in words.iter().filter(|w| op.attr(w).is_some()) {
        p.text(&format!(", {word} = "));
        // This op's custom syntax leaves out the type.
        let text = op.attr_id(word).map(|a| op.program.attr_text(a)).unwrap_or_default();
        p.text(text.split(" : ").next().unwrap_or_default());
    }
    let elided: Vec<&str> = words.iter().copied().chain(["value"]).collect();
    p.attr_dict(op, &elided);
    if !constant {
        p.text(" : ");
        let types = op.type_ids(op.operands());
        // Two types are printed only if MLIR's own syntax has two.
        p.types(if words.len() > 1 { &types } else { &types[..1] });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Literal {
        let values: Vec<Scalar> = values.iter().map(|&v| Scalar::Float(v)).collect();
        Literal::from_scalars(ElementType::F32, &[values.len() as i64], values)
    }

    #[test]
    fn names_the_first_element_that_differs() {
        let message = compare(&floats(&[1.0, 2.5, 3.0]), &floats(&[1.0, 2.0, 4.0]), Tolerance::Exact).unwrap_err();
        assert_eq!(message, "element 1 is 2.5, expected 2.0 (exactly); 2 of 3 elements differ");
    }

    #[test]
    fn counts_units_in_the_last_place() {
        let next = f64::from(f32::from_bits(1.0f32.to_bits() + 2));
        let (a, b) = (floats(&[1.0, -0.0, f64::NAN]), floats(&[next, 0.0, f64::NAN]));
        assert!(compare(&a, &b, Tolerance::Ulps { min: 0, max: 1 }).is_err());
        assert_eq!(compare(&a, &b, Tolerance::Ulps { min: 0, max: 2 }), Ok(()));
        assert!(compare(&a, &b, Tolerance::Ulps { min: 1, max: 2 }).is_err());
    }

    #[test]
    fn infinities_equal_only_themselves() {
        let (inf, big) = (floats(&[f64::INFINITY]), floats(&[f64::from(f32::MAX)]));
        assert!(compare(&inf, &big, Tolerance::Absolute(f64::MAX)).is_err());
        assert_eq!(compare(&inf, &inf, Tolerance::Absolute(0.0)), Ok(()));
    }
}
