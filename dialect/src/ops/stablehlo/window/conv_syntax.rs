//! The text of a convolution.

use crate::ir::{AttrData, ElementType, OpRef, TypeData};
use crate::literal::Literal;
use crate::ops::stablehlo::syntax::i64_array;
use crate::scalar::Scalar;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

/// `(%l, %r) dim_numbers = […]x[…]->[…], window = {stride = […], pad = [[…]], …} {…} : (T, U) -> V`
pub(super) static CONVOLUTION: CustomSyntax = CustomSyntax { parse, print };

const DIMS: &str = "dimension_numbers";
/// The keywords of `window` and their attributes.
const WINDOW: [(&str, &str); 5] = [
    ("stride", "window_strides"),
    ("pad", "padding"),
    ("lhs_dilate", "lhs_dilation"),
    ("rhs_dilate", "rhs_dilation"),
    ("reverse", "window_reversal"),
];

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands_in_parentheses(op)?;
    p.expect_all(&["dim_numbers", "="])?;
    let dims = p.conv_dims()?;
    let dims = p.program.intern_attr(AttrData::ConvDims(dims));
    op.set(&mut p.program, DIMS, dims);
    p.expect_all(&[",", "window", "="])?;
    p.list("{", "}", |p| {
        let span = p.token().span();
        let word = p.word()?;
        let Some((_, name)) = WINDOW.into_iter().find(|w| w.0 == word) else {
            return p.fail(span, format!("expected stride, pad, lhs_dilate, rhs_dilate or reverse, found '{word}'"));
        };
        if op.attrs.iter().any(|a| p.program.name_text(a.0) == name) {
            return p.fail(span, format!("'{word}' is given twice"));
        }
        p.expect("=")?;
        let attr = match word {
            "pad" => {
                let pairs = p.list("[", "]", |p| {
                    let span = p.token().span();
                    let pair = p.int_list()?;
                    if pair.len() == 2 { Ok(pair) } else { p.fail(span, "expected two numbers: before and after") }
                })?;
                let values = pairs.concat().into_iter().map(|v| Scalar::Int(v.into()));
                let literal = Literal::from_scalars(ElementType::I64, &[pairs.len() as i64, 2], values);
                let ty = p.program.intern_type(literal.ty());
                p.program.intern_attr(AttrData::Dense(ty, literal))
            }
            "reverse" => {
                let values = p.list("[", "]", |p| {
                    if p.at("true") || p.at("false") { Ok(i64::from(p.word()? == "true")) } else { p.integer() }
                })?;
                let values = values.into_iter().map(|v| i64::from(v != 0)).collect();
                p.program.intern_attr(AttrData::DenseArray(ElementType::I1, values))
            }
            _ => {
                let values = p.int_list()?;
                p.program.attr_i64s(&values)
            }
        };
        op.set(&mut p.program, name, attr);
        Ok(())
    })?;
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(AttrData::ConvDims(dims)) = op.attr(DIMS) else { return false };
    if op.operands().len() != 2 || !dims.is_whole() || !WINDOW.into_iter().all(|(_, name)| printable(op, name)) {
        return false;
    }
    p.text("(");
    p.values(op.operands());
    p.text(") dim_numbers = ");
    p.conv_dims(dims);
    p.text(", window = {");
    let present = WINDOW.into_iter().filter(|w| op.attr(w.1).is_some());
    p.separated(present, |p, (word, name)| {
        p.text(word);
        p.text(" = ");
        let values = op.ints(name).unwrap_or_default();
        match word {
            "pad" => {
                p.list("[", values.chunks(2), "]", |p, pair| p.int_list(pair));
            }
            "reverse" => {
                p.list("[", values.iter(), "]", |p, &v| p.text(if v != 0 { "true" } else { "false" }));
            }
            _ => p.int_list(&values),
        }
    });
    p.text("}");
    let elided: Vec<&str> = WINDOW.iter().map(|w| w.1).chain([DIMS]).collect();
    p.attr_dict(op, &elided);
    p.type_form(op, TypeForm::Functional);
    true
}

/// Returns whether attribute `name` is absent or expressible in the short syntax.
fn printable(op: OpRef<'_>, name: &str) -> bool {
    match op.attr(name) {
        None => true,
        Some(AttrData::DenseArray(ElementType::I1, _)) => name == "window_reversal",
        Some(AttrData::Dense(ty, l)) if name == "padding" => {
            let ty = matches!(op.program.type_data(*ty), TypeData::Tensor(t) if t.encoding.is_none());
            ty && l.element == ElementType::I64 && l.shape.len() == 2 && l.shape[1] == 2
        }
        _ => name != "window_reversal" && i64_array(op, name).is_some(),
    }
}
