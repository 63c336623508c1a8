//! The pointwise ops with attributes or with operands of several types: clamp, compare, convert, reduce_precision,
//! select.

use super::{Classes, Compute, PLAIN, Pointwise, Typing, declared, element, known, merge};
use crate::ir::{AttrData, ElementClass, ElementType, OpRef, TypeData};
use crate::kernel::{Arg, Body};
use crate::ops::support::constraint::{int, require, result, same_element, show, tensor};
use crate::scalar::{Comparison, ScalarOp};
use crate::text::{CustomSyntax, Piece, Syntax, TypeForm};

/// `stablehlo.clamp`: <https://openxla.org/stablehlo/spec#clamp>
pub static CLAMP: Pointwise = Pointwise {
    name: "stablehlo.clamp",
    arity: 3,
    syntax: PLAIN,
    typing: Typing::Own(|op| {
        let operand = tensor(op, 1)?;
        for (i, label) in [(0, "C1"), (2, "C2")] {
            if tensor(op, i)?.rank() != 0 {
                merge(op, i, operand.clone(), label)?;
            }
            same_element(op, i, 1, "C3")?;
        }
        declared(op, operand.clone(), "C4")
    }),
    compute: Compute::Own(|op| {
        let ty = op.operand_tensor(1)?.element;
        let mut body = Body { inputs: vec![ty; 3], ..Body::default() };
        let above = body.op(ScalarOp::Max, &[Arg::Input(0), Arg::Input(1)], ty);
        let both = body.op(ScalarOp::Min, &[above, Arg::Input(2)], ty);
        body.results = vec![both];
        known(&body).then_some(body)
    }),
    expands: false,
    examples: &[
        "(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %c: tensor<2x4xf32>) %r = stablehlo.clamp %a, %b, %c : tensor<2x4xf32>",
        "(%a: tensor<i32>, %b: tensor<4x2xi32>, %c: tensor<i32>) %r = stablehlo.clamp %a, %b, %c : (tensor<i32>, tensor<4x2xi32>, tensor<i32>) -> tensor<4x2xi32>",
    ],
};

/// `stablehlo.compare`: <https://openxla.org/stablehlo/spec#compare>
pub static COMPARE: Pointwise = Pointwise {
    name: "stablehlo.compare",
    arity: 2,
    syntax: Syntax::Pieces(&[
        Piece::Enum("comparison_direction", "comparison_direction"),
        Piece::Token(","),
        Piece::Operands,
        Piece::Optional("compare_type", &[Piece::Token(","), Piece::Enum("compare_type", "comparison_type")]),
        Piece::AttrDict,
        Piece::Types(TypeForm::Functional),
    ]),
    typing: Typing::Own(|op| {
        let lhs = tensor(op, 0)?;
        same_element(op, 1, 0, "C1")?;
        let ty = merge(op, 1, lhs.clone(), "C2")?.with_element(ElementType::I1);
        require!(direction(op).is_some(), "expected a comparison_direction out of EQ, NE, GE, GT, LE, LT (I3)");
        let fits: &[&str] = match lhs.element.class() {
            ElementClass::Signed => &["SIGNED"],
            ElementClass::Unsigned | ElementClass::Bool => &["UNSIGNED"],
            ElementClass::Float => &["FLOAT", "TOTALORDER"],
            ElementClass::Complex => &["FLOAT"],
            ElementClass::Other => &["SIGNED", "UNSIGNED", "FLOAT", "TOTALORDER"],
        };
        let found = op.enum_value("compare_type");
        require!(
            found.is_none_or(|f| f == "NOTYPE" || fits.contains(&f)),
            "expected compare_type {want} for {ty}, found {found} (C3)",
            want = fits.join(" or "),
            found = found.unwrap_or_default(),
            ty = show(op, lhs)
        );
        declared(op, ty, "C2")
    }),
    compute: Compute::Own(|op| {
        let ty = op.operand_tensor(0)?.element;
        let direction = direction(op)?;
        let scalar = match op.enum_value("compare_type") {
            Some("TOTALORDER") if ty.is_float() => ScalarOp::CompareTotal(direction),
            _ => ScalarOp::Compare(direction),
        };
        let body = Body::of(scalar, &[ty, ty], ElementType::I1);
        known(&body).then_some(body)
    }),
    expands: false,
    examples: &[
        "(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) %r = stablehlo.compare GE, %a, %b, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>",
        "(%a: tensor<2x4xi32>, %b: tensor<2x4xi32>) %r = stablehlo.compare LT, %a, %b, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>",
        "(%a: tensor<6xf32>, %b: tensor<6xf32>) %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>",
        "(%a: tensor<4xi1>, %b: tensor<4xi1>) %r = stablehlo.compare NE, %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>",
    ],
};

/// Returns the comparison that `comparison_direction` names.
fn direction(op: OpRef<'_>) -> Option<Comparison> {
    Some(match op.enum_value("comparison_direction")? {
        "EQ" => Comparison::Eq,
        "NE" => Comparison::Ne,
        "GE" => Comparison::Ge,
        "GT" => Comparison::Gt,
        "LE" => Comparison::Le,
        "LT" => Comparison::Lt,
        _ => return None,
    })
}

impl Comparison {
    /// Returns its spelling in `comparison_direction`.
    pub fn text(self) -> &'static str {
        match self {
            Comparison::Eq => "EQ",
            Comparison::Ne => "NE",
            Comparison::Lt => "LT",
            Comparison::Le => "LE",
            Comparison::Gt => "GT",
            Comparison::Ge => "GE",
        }
    }
}

/// `stablehlo.convert`: <https://openxla.org/stablehlo/spec#convert>
pub static CONVERT: Pointwise = Pointwise {
    name: "stablehlo.convert",
    arity: 1,
    syntax: PLAIN,
    typing: Typing::Own(|op| {
        let declared_type = result(op, 0)?;
        declared(op, tensor(op, 0)?.with_element(declared_type.element), "C1")
    }),
    compute: Compute::Own(|op| {
        let (from, to) = (op.operand_tensor(0)?.element, op.result_tensor(0)?.element);
        let body = if from == to { Body::copy(to) } else { Body::of(ScalarOp::Convert, &[from], to) };
        (known(&body) && from.class() != ElementClass::Other).then_some(body)
    }),
    expands: false,
    examples: &[
        "(%a: tensor<2x4xf32>) %r = stablehlo.convert %a : (tensor<2x4xf32>) -> tensor<2x4xbf16>",
        "(%a: tensor<2x4xi32>) %r = stablehlo.convert %a : (tensor<2x4xi32>) -> tensor<2x4xf32>",
        "(%a: tensor<2x4xf32>) %r = stablehlo.convert %a : (tensor<2x4xf32>) -> tensor<2x4xi8>",
        "(%a: tensor<2x4xi32>) %r = stablehlo.convert %a : (tensor<2x4xi32>) -> tensor<2x4xi1>",
        "(%a: tensor<4xi1>) %r = stablehlo.convert %a : (tensor<4xi1>) -> tensor<4xi32>",
        "(%a: tensor<4xf32>) %r = stablehlo.convert %a : tensor<4xf32>",
        "(%a: tensor<4xf32>) %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xcomplex<f32>>",
    ],
};

/// `stablehlo.reduce_precision`: <https://openxla.org/stablehlo/spec#reduce_precision>
pub static REDUCE_PRECISION: Pointwise = Pointwise {
    name: "stablehlo.reduce_precision",
    arity: 1,
    syntax: Syntax::Custom(&REDUCE_PRECISION_SYNTAX),
    typing: Typing::Own(|op| {
        element(op, 0, Classes::REAL, "I1")?;
        for (name, least, label) in [("exponent_bits", 1, "C2"), ("mantissa_bits", 0, "C3")] {
            let bits = int(op, name)?;
            require!(bits >= least, "expected {name} of at least {least}, found {bits} ({label})");
        }
        declared(op, tensor(op, 0)?.clone(), "C1")
    }),
    compute: Compute::Own(|op| {
        let ty = op.operand_tensor(0)?.element;
        let bits = |name: &str| op.int(name).map(|v| v.clamp(0, 255) as u8);
        let (exponent, mantissa) = (bits("exponent_bits")?, bits("mantissa_bits")?);
        let body = Body::of(ScalarOp::ReducePrecision { exponent, mantissa }, &[ty], ty);
        known(&body).then_some(body)
    }),
    expands: false,
    examples: &[
        "(%a: tensor<2x4xf32>) %r = stablehlo.reduce_precision %a, format = e8m10 : tensor<2x4xf32>",
        "(%a: tensor<4xf32>) %r = stablehlo.reduce_precision %a, format = e5m2 : tensor<4xf32>",
    ],
};

/// `%a, format = e8m10 : T`
static REDUCE_PRECISION_SYNTAX: CustomSyntax = CustomSyntax {
    parse: |p, op| {
        p.operand(op)?;
        for word in [",", "format", "="] {
            p.expect(word)?;
        }
        let span = p.token().span();
        let format = p.word()?;
        let bits = format.strip_prefix('e').and_then(|f| f.split_once('m'));
        let bits = bits.and_then(|(e, m)| Some((e.parse::<i32>().ok()?, m.parse::<i32>().ok()?)));
        let Some((exponent, mantissa)) = bits else {
            return p.fail(span, "expected a format like e8m10");
        };
        let i32_type = p.program.intern_type(TypeData::Scalar(ElementType::I32));
        for (name, bits) in [("exponent_bits", exponent), ("mantissa_bits", mantissa)] {
            let attr = p.program.intern_attr(AttrData::Int(bits.into(), i32_type));
            op.set(&mut p.program, name, attr);
        }
        p.attr_dict(op)?;
        p.types(op, TypeForm::SameOrFunctional)
    },
    print: |p, op| {
        let (Some(exponent), Some(mantissa)) = (op.int("exponent_bits"), op.int("mantissa_bits")) else { return false };
        p.text(" ");
        p.values(op.operands());
        p.text(&format!(", format = e{exponent}m{mantissa}"));
        p.attr_dict(op, &["exponent_bits", "mantissa_bits"]);
        p.type_form(op, TypeForm::SameOrFunctional);
        true
    },
};

/// `stablehlo.select`: <https://openxla.org/stablehlo/spec#select>
pub static SELECT: Pointwise = Pointwise {
    name: "stablehlo.select",
    arity: 3,
    syntax: Syntax::Keys(&[], TypeForm::Select),
    typing: Typing::Own(|op| {
        let (pred, on_true) = (tensor(op, 0)?, tensor(op, 1)?);
        let fits = pred.element == ElementType::I1;
        require!(fits, operand = 0, "expected elements of type i1, found {} (I1)", show(op, pred));
        if pred.rank() != 0 {
            merge(op, 0, on_true.clone(), "C1")?;
        }
        let ty = merge(op, 2, on_true.clone(), "C2")?;
        same_element(op, 2, 1, "C2")?;
        declared(op, ty, "C2")
    }),
    compute: Compute::Own(|op| {
        let ty = op.operand_tensor(1)?.element;
        let body = Body::of(ScalarOp::Select, &[ElementType::I1, ty, ty], ty);
        known(&body).then_some(body)
    }),
    expands: false,
    examples: &[
        "(%p: tensor<2x4xi1>, %a: tensor<2x4xf32>, %b: tensor<2x4xf32>) %r = stablehlo.select %p, %a, %b : tensor<2x4xi1>, tensor<2x4xf32>",
        "(%p: tensor<i1>, %a: tensor<4x2xi32>, %b: tensor<4x2xi32>) %r = stablehlo.select %p, %a, %b : tensor<i1>, tensor<4x2xi32>",
    ],
};
