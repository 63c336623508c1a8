//! Custom syntax of slice and dot_general. The two functions of each pair must agree with each other and with MLIR's
//! own syntax of these ops.

use crate::ir::{AttrData, ElementType, OpRef};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

/// `%x [0:2, 1:8:3] : (T) -> U`
pub(crate) static SLICE: CustomSyntax = CustomSyntax { parse: parse_slice, print: print_slice };

/// `%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = […], algorithm = <…> : (T, U) -> V`
pub(crate) static DOT_GENERAL: CustomSyntax = CustomSyntax { parse: parse_dot, print: print_dot };

const SLICE_ATTRS: [&str; 3] = ["start_indices", "limit_indices", "strides"];

fn parse_slice(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    let ranges = p.list("[", "]", |p| {
        let start = p.integer()?;
        p.expect(":")?;
        let limit = p.integer()?;
        let stride = if p.eat(":") { p.integer()? } else { 1 };
        Ok([start, limit, stride])
    })?;
    for (i, name) in SLICE_ATTRS.into_iter().enumerate() {
        let values: Vec<i64> = ranges.iter().map(|r| r[i]).collect();
        let attr = p.program.attr_i64s(&values);
        op.set(&mut p.program, name, attr);
    }
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_slice(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let [Some(start), Some(limit), Some(stride)] = SLICE_ATTRS.map(|name| i64_array(op, name)) else { return false };
    if op.operands().len() != 1 || start.len() != limit.len() || start.len() != stride.len() {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    p.list(" [", start.iter().zip(limit).zip(stride), "]", |p, ((start, limit), stride)| {
        p.text(&format!("{start}:{limit}"));
        if *stride != 1 {
            p.text(&format!(":{stride}"));
        }
    });
    p.attr_dict(op, &SLICE_ATTRS);
    p.type_form(op, TypeForm::Functional);
    true
}

/// Returns the values of an attribute if the short syntax can express it.
pub(super) fn i64_array<'a>(op: OpRef<'a>, name: &str) -> Option<&'a [i64]> {
    match op.attr(name)? {
        AttrData::DenseArray(ElementType::I64, values) => Some(values),
        _ => None,
    }
}

const DOT_ATTRS: [&str; 3] = ["dot_dimension_numbers", "precision_config", "algorithm"];

fn parse_dot(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    fn pair(p: &mut Parser<'_>) -> Parse<(Vec<i64>, Vec<i64>)> {
        p.expect("=")?;
        let lhs = p.int_list()?;
        p.expect("x")?;
        Ok((lhs, p.int_list()?))
    }
    p.operand(op)?;
    p.expect(",")?;
    p.operand(op)?;
    p.expect(",")?;
    let mut batch = (Vec::new(), Vec::new());
    if p.eat("batching_dims") {
        batch = pair(p)?;
        p.expect(",")?;
    }
    p.expect("contracting_dims")?;
    let contract = pair(p)?;
    let dims = p.program.attr_struct(
        "stablehlo.dot",
        &[
            ("lhs_batching_dimensions", &batch.0),
            ("rhs_batching_dimensions", &batch.1),
            ("lhs_contracting_dimensions", &contract.0),
            ("rhs_contracting_dimensions", &contract.1),
        ],
        &[],
    );
    op.set(&mut p.program, DOT_ATTRS[0], dims);
    if p.eat(",") {
        let mut algorithm = p.at("algorithm");
        if !algorithm {
            p.expect_all(&["precision", "="])?;
            let items = p.list("[", "]", |p| {
                let word = p.enum_value("precision")?;
                Ok(p.program.attr_enum("precision", word))
            })?;
            let precision = p.program.intern_attr(AttrData::Array(items));
            op.set(&mut p.program, DOT_ATTRS[1], precision);
            algorithm = p.eat(",");
        }
        if algorithm {
            p.expect_all(&["algorithm", "="])?;
            let fields = p.struct_fields()?;
            let attr = p.program.intern_attr(AttrData::Struct("stablehlo.dot_algorithm".into(), fields));
            op.set(&mut p.program, DOT_ATTRS[2], attr);
        }
    }
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_dot(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if op.operands().len() != 2 || !matches!(op.attr(DOT_ATTRS[0]), Some(AttrData::Struct(..))) {
        return false;
    }
    let algorithm = match op.attr(DOT_ATTRS[2]) {
        None => None,
        Some(AttrData::Struct(_, fields)) => Some(fields),
        Some(_) => return false,
    };
    let precision = match op.attr(DOT_ATTRS[1]) {
        None => None,
        Some(AttrData::Array(items)) => {
            let words: Option<Vec<&str>> = items.iter().map(|&a| op.program.attr_data(a).as_enum()).collect();
            let Some(words) = words else { return false };
            Some(words)
        }
        Some(_) => return false,
    };
    let pair = |p: &mut Printer<'_>, what: &str| {
        p.int_list(&op.field_ints(DOT_ATTRS[0], &format!("lhs_{what}_dimensions")));
        p.text(" x ");
        p.int_list(&op.field_ints(DOT_ATTRS[0], &format!("rhs_{what}_dimensions")));
    };
    let has = |name| !op.field_ints(DOT_ATTRS[0], name).is_empty();
    p.text(" ");
    p.values(op.operands());
    if has("lhs_batching_dimensions") || has("rhs_batching_dimensions") {
        p.text(", batching_dims = ");
        pair(p, "batching");
    }
    p.text(", contracting_dims = ");
    pair(p, "contracting");
    if let Some(words) = precision {
        p.list(", precision = [", words.into_iter(), "]", |p, word| p.text(word));
    }
    if let Some(fields) = algorithm {
        p.text(", algorithm = ");
        p.struct_fields(fields);
    }
    p.attr_dict(op, &DOT_ATTRS);
    p.type_form(op, TypeForm::Functional);
    true
}
