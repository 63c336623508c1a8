//! The text of structured ops: `ins(…) outs(…)`, with the additional parts of each form.

use super::{ITERATORS, KIND, MAPS, SEGMENTS};
use crate::ir::{AttrData, ElementType, OpRef, Ty, TypeData};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The syntax of a structured op.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StructuredSyntax {
    /// `{maps, kinds of loops} ins(…) outs(…) attrs = {…} {body} -> T`
    Generic,
    /// `ins(…) outs(…) -> T`; the name implies the body.
    Named,
    /// `kind=#linalg.elementwise_kind<add> indexing_maps = […] ins(…) outs(…) -> T`; the kind implies the body.
    Elementwise,
    /// `ins(…) outs(…) permutation = [1, 0]`; the body copies the element.
    Transpose,
    /// `ins(…) outs(…) dimensions = [0]`; the body copies the element.
    Broadcast,
    /// `ins(…) outs(…) dimensions = [1] (%a: f32, %b: f32) {body}`, or `{ arith.addf } ins(…) …`.
    Reduce,
    /// `ins(…) outs(…) (%a: f32, %b: f32) {body}`, or `{ arith.addf } ins(…) …`.
    Map,
}

pub(super) fn syntax(form: StructuredSyntax) -> Syntax {
    Syntax::Custom(match form {
        StructuredSyntax::Generic => &CustomSyntax { parse: parse_generic, print: print_generic },
        StructuredSyntax::Named => &CustomSyntax { parse: parse_named, print: print_named },
        StructuredSyntax::Elementwise => &CustomSyntax { parse: parse_elementwise, print: print_elementwise },
        StructuredSyntax::Transpose => &CustomSyntax {
            parse: |p, op| parse_moved(p, op, "permutation"),
            print: |p, op| print_moved(p, op, "permutation"),
        },
        StructuredSyntax::Broadcast => &CustomSyntax {
            parse: |p, op| parse_moved(p, op, "dimensions"),
            print: |p, op| print_moved(p, op, "dimensions"),
        },
        StructuredSyntax::Reduce => &CustomSyntax {
            parse: |p, op| parse_with_body(p, op, Some("dimensions")),
            print: |p, op| print_with_body(p, op, Some("dimensions")),
        },
        StructuredSyntax::Map => {
            &CustomSyntax { parse: |p, op| parse_with_body(p, op, None), print: |p, op| print_with_body(p, op, None) }
        }
    })
}

/// Parses `ins(%a, %b : T, U)`, possibly missing; returns the types.
fn parse_group(p: &mut Parser<'_>, op: &mut ParsedOp, word: &str) -> Parse<Vec<Ty>> {
    if !p.eat(word) {
        return Ok(Vec::new());
    }
    p.expect("(")?;
    let first = op.operands.len();
    p.operands(op)?;
    let mut types = Vec::new();
    if op.operands.len() > first {
        p.expect(":")?;
        types = p.comma_list(Parser::ty)?;
    }
    p.expect(")")?;
    Ok(types)
}

/// Parses both groups; returns the types of the results, which are those of `outs`, and the number of operands in
/// `ins`.
fn parse_operands(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<(Vec<Ty>, usize)> {
    let mut types = parse_group(p, op, "ins")?;
    let inputs = types.len();
    if !p.at("outs") {
        return p.fail_expected("'outs'");
    }
    let outs = parse_group(p, op, "outs")?;
    types.extend(&outs);
    p.check_operands(op, &types)?;
    Ok((outs, inputs))
}

fn print_operands(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(inputs) = op.operands().len().checked_sub(op.result_count()) else { return false };
    let (ins, outs) = op.operands().split_at(inputs);
    for (word, values) in [("ins", ins), ("outs", outs)] {
        if values.is_empty() {
            continue;
        }
        p.text(&format!(" {word}("));
        p.values(values);
        p.text(" : ");
        let program = op.program;
        p.separated(values.iter(), |p, &v| p.ty(program.value_type(v)));
        p.text(")");
    }
    !outs.is_empty()
}

fn set_segments(p: &mut Parser<'_>, op: &mut ParsedOp, inputs: usize, outs: usize) {
    let sizes = AttrData::DenseArray(ElementType::I32, vec![inputs as i64, outs as i64]);
    op.set_data(&mut p.program, SEGMENTS, sizes);
}

/// Parses `-> T` or `-> (T, U)`. An op without results has buffers as operands, which are an error.
fn parse_results(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    if !p.eat("->") {
        return p.fail_expected("'->' and the types of the results: buffers are not supported");
    }
    let types = if p.at("(") { p.list("(", ")", Parser::ty)? } else { p.comma_list(Parser::ty)? };
    op.results.extend(types);
    Ok(())
}

fn print_results(p: &mut Printer<'_>, op: OpRef<'_>) {
    p.text(" -> ");
    match op.result_type_ids()[..] {
        [only] => p.ty(only),
        ref several => {
            p.text("(");
            p.types(several);
            p.text(")");
        }
    }
}

fn parse_generic(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.attr_dict(op)?;
    let (outs, inputs) = parse_operands(p, op)?;
    if p.eat("attrs") {
        p.expect("=")?;
        p.attr_dict(op)?;
    }
    let region = p.region(&[])?;
    op.regions.push(region);
    parse_results(p, op)?;
    set_segments(p, op, inputs, outs.len());
    // This syntax states the kinds of loops as strings.
    let name = p.program.name(ITERATORS);
    if let Some(at) = op.attrs.iter().position(|a| a.0 == name)
        && let AttrData::Array(items) = p.program.attr_data(op.attrs[at].1).clone()
    {
        let kinds = items.into_iter().map(|item| match p.program.attr_data(item) {
            AttrData::String(kind) => {
                let kind = format!("#linalg.iterator_type<{}>", kind.shown());
                p.program.intern_attr(AttrData::Opaque(kind.into()))
            }
            _ => item,
        });
        let kinds = AttrData::Array(kinds.collect());
        op.attrs[at].1 = p.program.intern_attr(kinds);
    }
    Ok(())
}

fn print_generic(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let kinds = match op.attr(ITERATORS) {
        Some(AttrData::Array(items)) => items.iter().map(|&item| match op.program.attr_data(item) {
            AttrData::Opaque(text) => {
                let kind = text.strip_prefix("#linalg.iterator_type<").and_then(|text| text.strip_suffix('>'));
                kind.map(|kind| format!("\"{kind}\""))
            }
            _ => None,
        }),
        _ => return false,
    };
    let (Some(kinds), Some(maps), Some(region)) = (kinds.collect::<Option<Vec<_>>>(), op.attr_id(MAPS), op.region(0))
    else {
        return false;
    };
    p.text(&format!(" {{{MAPS} = "));
    p.attr(maps);
    p.text(&format!(", {ITERATORS} = [{}]}}", kinds.join(", ")));
    if !print_operands(p, op) {
        return false;
    }
    let rest = [MAPS, ITERATORS, SEGMENTS];
    if op.program.op(op.op).attrs.iter().any(|a| !rest.contains(&op.program.name_text(a.0))) {
        p.text(" attrs =");
        p.attr_dict(op, &rest);
    }
    p.text(" ");
    p.region(region, op, true);
    print_results(p, op);
    true
}

fn parse_named(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    if p.eat(MAPS) {
        p.expect("=")?;
        let maps = p.attribute()?;
        op.set(&mut p.program, MAPS, maps);
    }
    p.attr_dict(op)?;
    let (outs, inputs) = parse_operands(p, op)?;
    parse_results(p, op)?;
    set_segments(p, op, inputs, outs.len());
    let types: Vec<Ty> = op.operands.iter().map(|&v| p.program.value_type(v)).collect();
    let Some(region) = super::named::body(&mut p.program, &op.name, &types) else {
        let found: Vec<String> = types.iter().map(|&ty| p.program.type_text(ty)).collect();
        let message = format!("'{}' on {} is not supported in this form", op.name, found.join(", "));
        return p
            .fail(op.span, format!("{message}: write it as linalg.generic (mlir-opt --linalg-generalize-named-ops)"));
    };
    op.regions.push(region);
    Ok(())
}

fn print_named(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if let Some(maps) = op.attr_id(MAPS).filter(|_| !super::has_usual_maps(op)) {
        p.text(&format!(" {MAPS} = "));
        p.attr(maps);
    }
    p.attr_dict(op, &[SEGMENTS, MAPS]);
    if !super::named::has_own_body(op) || !print_operands(p, op) {
        return false;
    }
    print_results(p, op);
    true
}

fn parse_elementwise(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect_all(&[KIND, "="])?;
    let kind = p.attribute()?;
    op.set(&mut p.program, KIND, kind);
    let mut maps = None;
    if p.eat(MAPS) {
        p.expect("=")?;
        maps = Some(p.attribute()?);
    }
    p.attr_dict(op)?;
    let (outs, inputs) = parse_operands(p, op)?;
    let maps = maps.unwrap_or_else(|| {
        let rank = match outs.first().map(|&ty| p.program.type_data(ty)) {
            Some(TypeData::Tensor(ty)) => ty.rank(),
            _ => 0,
        };
        let loops: Vec<String> = (0..rank).map(|l| format!("d{l}")).collect();
        let map = AttrData::Opaque(format!("affine_map<({0}) -> ({0})>", loops.join(", ")).into());
        let map = p.program.intern_attr(map);
        p.program.intern_attr(AttrData::Array(op.operands.iter().map(|_| map).collect()))
    });
    op.set(&mut p.program, MAPS, maps);
    parse_results(p, op)?;
    set_segments(p, op, inputs, outs.len());
    let types: Vec<Ty> = op.operands.iter().map(|&v| p.program.value_type(v)).collect();
    let kind = match p.program.attr_data(kind) {
        AttrData::Opaque(text) => text.strip_prefix("#linalg.elementwise_kind<").and_then(|t| t.strip_suffix('>')),
        _ => None,
    };
    let kind = kind.map(str::to_owned);
    match kind.as_ref().and_then(|kind| super::named::body_of_kind(&mut p.program, kind, &types)) {
        Some(region) => op.regions.push(region),
        None => {
            let kind = kind.unwrap_or_else(|| "no kind".to_owned());
            let message = format!("'linalg.elementwise' of '{kind}' on these types is not supported in this form");
            return p.fail(
                op.span,
                format!("{message}: write it as linalg.generic (mlir-opt --linalg-generalize-named-ops)"),
            );
        }
    }
    Ok(())
}

fn print_elementwise(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(kind) = op.attr_id(KIND) else { return false };
    p.text(&format!(" {KIND}="));
    p.attr(kind);
    if let Some(maps) = op.attr_id(MAPS).filter(|_| !super::has_usual_maps(op)) {
        p.text(&format!(" {MAPS} = "));
        p.attr(maps);
    }
    p.attr_dict(op, &[SEGMENTS, MAPS, KIND]);
    if !super::named::has_own_body(op) || !print_operands(p, op) {
        return false;
    }
    print_results(p, op);
    true
}

fn parse_moved(p: &mut Parser<'_>, op: &mut ParsedOp, list: &str) -> Parse<()> {
    let (outs, _) = parse_operands(p, op)?;
    parse_ints(p, op, list)?;
    p.attr_dict(op)?;
    op.results.extend(outs);
    let types: Vec<Ty> = op.operands.iter().map(|&v| p.program.value_type(v)).collect();
    match super::named::body(&mut p.program, &op.name, &types) {
        Some(region) => op.regions.push(region),
        None => return p.fail(op.span, format!("'{}' has one operand and one result", op.name)),
    }
    Ok(())
}

fn parse_ints(p: &mut Parser<'_>, op: &mut ParsedOp, name: &str) -> Parse<()> {
    p.expect_all(&[name, "="])?;
    let values = p.int_list()?;
    let attr = p.program.attr_i64s(&values);
    op.set(&mut p.program, name, attr);
    Ok(())
}

fn print_moved(p: &mut Printer<'_>, op: OpRef<'_>, list: &str) -> bool {
    let Some(values) = op.ints(list) else { return false };
    if !super::named::has_own_body(op) || !print_operands(p, op) {
        return false;
    }
    p.text(&format!(" {list} = "));
    p.int_list(&values);
    p.attr_dict(op, &[list]);
    true
}

fn parse_with_body(p: &mut Parser<'_>, op: &mut ParsedOp, list: Option<&str>) -> Parse<()> {
    // `{ arith.addf }` states one op as the body.
    let mut short = None;
    if p.eat("{") {
        let name = p.word()?.to_owned();
        let attrs = if p.at("{") { p.dict_entries()? } else { Vec::new() };
        short = Some((name, attrs));
        p.expect("}")?;
    }
    let (outs, inputs) = parse_operands(p, op)?;
    if let Some(list) = list {
        parse_ints(p, op, list)?;
    }
    p.attr_dict(op)?;
    op.results.extend(outs);
    let types: Vec<Ty> = op.operands.iter().map(|&v| p.program.value_type(v)).collect();
    let region = match short {
        Some((name, attrs)) => {
            // A reduction's op combines the result with the element; a map's op doesn't take the result.
            let args: Vec<usize> = match list {
                Some(_) => (inputs..types.len()).chain(0..inputs).collect(),
                None => (0..inputs).collect(),
            };
            let region = super::named::one_op(&mut p.program, (&name, &attrs), &types, &args);
            match region {
                Some(region) => region,
                None => {
                    return p.fail(
                        op.span,
                        format!("'{name}' can't be used as the whole body here: write the body in a region"),
                    );
                }
            }
        }
        None => {
            let args = p.arguments()?;
            p.region(&args)?
        }
    };
    op.regions.push(region);
    Ok(())
}

fn print_with_body(p: &mut Printer<'_>, op: OpRef<'_>, list: Option<&str>) -> bool {
    let (Some(region), Some(block)) = (op.region(0), op.block(0)) else { return false };
    if !print_operands(p, op) {
        return false;
    }
    let mut written = Vec::new();
    if let Some(list) = list {
        let Some(values) = op.ints(list) else { return false };
        p.text(&format!(" {list} = "));
        p.int_list(&values);
        written.push(list);
    }
    p.attr_dict(op, &written);
    let scope = p.name_region(region, op);
    p.text(" (");
    let program = op.program;
    p.arguments(program.block_args(block));
    p.text(") ");
    p.named_region(region, scope);
    true
}
