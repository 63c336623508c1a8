//! The text of this dialect's ops, as Shardy prints them.

use super::{MESH_NAME, NAME, ORIGIN, REDUCTION, STAGE, reduction_word};
use crate::ir::{Attr, AttrData, OpRef};
use crate::ops::func;
use crate::ops::sdy::{IN_SHARDINGS, OUT_SHARDINGS};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

/// `%a name="n" : T`
pub(super) static NAMED_TENSOR: CustomSyntax = CustomSyntax { parse: parse_named_tensor, print: print_named_tensor };
/// `<add> %a, %b : (T, T) -> T`
pub(super) static REDUCE: CustomSyntax = CustomSyntax { parse: parse_reduce, print: print_reduce };
/// `<"f"(1)> (%a) (%b: T) { … } : (T) -> T`
pub(super) static NAMED_COMPUTATION: CustomSyntax = CustomSyntax { parse: parse_named, print: print_named };
/// `<mesh="m", origin=["f"], stage=1, in_shardings=[…], out_shardings=[…]> (%a) (%b: T) { … } : (M) -> M`
pub(super) static FRAGMENT: CustomSyntax = CustomSyntax { parse: parse_fragment, print: print_fragment };
/// `<mesh="m", origin=["f"]> @f(%a) : (M) -> M`
pub(super) static FRAGMENT_CALL: CustomSyntax = CustomSyntax { parse: parse_fragment_call, print: print_fragment_call };
/// `(%a) {iterations = 3 : ui32} (%b: T, %i: tensor<ui32>) { … } : T`
pub(super) static FOR: CustomSyntax = CustomSyntax { parse: parse_for, print: print_for };

fn parse_named_tensor(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    p.expect_all(&["name", "="])?;
    let name = p.string()?;
    op.set_data(&mut p.program, NAME, AttrData::String(name.into()));
    p.attr_dict(op)?;
    p.types(op, TypeForm::SameOrFunctional)
}

fn print_named_tensor(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(name) = op.attr(NAME).and_then(AttrData::as_str) else { return false };
    p.text(" ");
    p.values(op.operands());
    p.text(" name=");
    p.string(name);
    p.attr_dict(op, &[NAME]);
    p.type_form(op, TypeForm::SameOrFunctional);
    true
}

fn parse_reduce(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("<")?;
    let word = p.word()?;
    op.set_data(&mut p.program, REDUCTION, AttrData::Opaque(format!("#mpmd.reduction<{word}>").into()));
    p.expect(">")?;
    p.attr_dict(op)?;
    p.operands(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_reduce(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(word) = reduction_word(op) else { return false };
    p.text("<");
    p.text(word);
    p.text(">");
    p.attr_dict(op, &[REDUCTION]);
    p.text(" ");
    p.values(op.operands());
    p.type_form(op, TypeForm::Functional);
    true
}

/// Parses `(%a) {attributes} (%b: T) { … }`.
fn parse_body(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands_in_parentheses(op)?;
    p.attr_dict(op)?;
    let args = p.arguments()?;
    let region = p.region(&args)?;
    op.regions.push(region);
    Ok(())
}

/// Prints `(%a) {attributes} (%b: T) { … }`, and the types in this form.
fn print_body(p: &mut Printer<'_>, op: OpRef<'_>, elided: &[&str], types: TypeForm) -> bool {
    let Some(region) = op.region(0) else { return false };
    p.text(" ");
    p.operands_in_parentheses(op);
    p.attr_dict(op, elided);
    let scope = p.name_region(region, op);
    p.text(" (");
    p.arguments(op.region_args(0));
    p.text(") ");
    p.named_region(region, scope);
    p.type_form(op, types);
    true
}

fn parse_named(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("<")?;
    let origin = p.origin()?;
    op.set_data(&mut p.program, ORIGIN, origin);
    p.expect(">")?;
    parse_body(p, op)?;
    p.types(op, TypeForm::Functional)
}

fn print_named(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(AttrData::Origin(name, transposed)) = op.attr(ORIGIN) else { return false };
    p.text("<");
    p.origin(*name, *transposed);
    p.text(">");
    print_body(p, op, &[ORIGIN], TypeForm::Functional)
}

/// Parses `mesh="m", origin=["f"(1)]`.
fn parse_mesh_and_origin(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect_all(&["mesh", "="])?;
    let mesh = p.string()?;
    op.set_data(&mut p.program, MESH_NAME, AttrData::String(mesh.into()));
    p.expect_all(&[",", "origin", "="])?;
    let origins: Vec<Attr> = p.list("[", "]", |p| {
        let origin = p.origin()?;
        Ok(p.program.intern_attr(origin))
    })?;
    op.set_data(&mut p.program, ORIGIN, AttrData::Array(origins));
    Ok(())
}

fn print_mesh_and_origin(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let mesh = op.attr(MESH_NAME).and_then(AttrData::as_str);
    let (Some(mesh), Some(AttrData::Array(origins))) = (mesh, op.attr(ORIGIN)) else { return false };
    if !origins.iter().all(|&o| matches!(op.program.attr_data(o), AttrData::Origin(..))) {
        return false;
    }
    p.text("<mesh=");
    p.string(mesh);
    p.text(", origin=");
    p.origins(origins)
}

fn parse_fragment(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("<")?;
    parse_mesh_and_origin(p, op)?;
    let mut rest = ["stage", IN_SHARDINGS, OUT_SHARDINGS].as_slice();
    while p.eat(",") {
        let Some(at) = rest.iter().position(|key| p.at(key)) else {
            return p.fail_expected("stage, in_shardings or out_shardings, in this order");
        };
        p.advance();
        p.expect("=")?;
        if rest[at] == "stage" {
            let stage = p.integer()?;
            let stage = p.program.attr_i64(stage);
            op.set(&mut p.program, STAGE, stage);
        } else {
            let shardings = p.list("[", "]", Parser::sharding)?;
            op.set_data(&mut p.program, rest[at], AttrData::ShardingPerValue(shardings));
        }
        rest = &rest[at + 1..];
    }
    p.expect(">")?;
    parse_body(p, op)?;
    p.types(op, TypeForm::Functional)
}

fn print_fragment(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if !print_mesh_and_origin(p, op) {
        return false;
    }
    if let Some(stage) = op.int(STAGE) {
        p.text(&format!(", stage={stage}"));
    }
    for name in [IN_SHARDINGS, OUT_SHARDINGS] {
        if let Some(AttrData::ShardingPerValue(list)) = op.attr(name) {
            p.list(&format!(", {name}=["), list.iter(), "]", |p, s| p.sharding(s));
        }
    }
    p.text(">");
    print_body(p, op, &[MESH_NAME, ORIGIN, STAGE, IN_SHARDINGS, OUT_SHARDINGS], TypeForm::Functional)
}

fn parse_fragment_call(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("<")?;
    parse_mesh_and_origin(p, op)?;
    p.expect(">")?;
    let name = p.symbol()?;
    op.set_data(&mut p.program, "callee", AttrData::Symbol(name.into()));
    p.operands_in_parentheses(op)?;
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_fragment_call(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(callee) = func::callee(op) else { return false };
    if !print_mesh_and_origin(p, op) {
        return false;
    }
    p.text("> ");
    p.symbol(callee);
    p.operands_in_parentheses(op);
    p.attr_dict(op, &[MESH_NAME, ORIGIN, "callee"]);
    p.type_form(op, TypeForm::Functional);
    true
}

fn parse_for(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_body(p, op)?;
    p.types(op, TypeForm::Pairwise)
}

fn print_for(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if !op.type_ids(op.operands()).iter().eq(&op.result_type_ids()) {
        return false;
    }
    print_body(p, op, &[], TypeForm::Pairwise)
}
