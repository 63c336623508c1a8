//! The text of modules, functions and calls, as MLIR prints them.

use crate::ir::{Attr, AttrData, Loc, Name, OpRef, Ty, TypeData};
use crate::text::{Argument, CustomSyntax, Parse, ParsedOp, Parser, Printer, Tok};

use super::signature::{ARG_ATTRS, FUNCTION_TYPE, RES_ATTRS, signature};

/// `module @name attributes {…} { … }`
pub(super) static MODULE: CustomSyntax = CustomSyntax { parse: parse_module, print: print_module };
/// `func.func public @name(%a: T {…}) -> (T {…}) attributes {…} { … }`
pub(super) static FUNC: CustomSyntax = CustomSyntax { parse: parse_func, print: print_func };
/// `call @name(%a) : (T) -> T`
pub(super) static CALL: CustomSyntax = CustomSyntax { parse: parse_call, print: print_call };

fn parse_module(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_name(p, op)?;
    p.attributes_keyword(op)?;
    let region = p.isolated_region(&[])?;
    op.regions.push(region);
    Ok(())
}

fn print_module(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(region) = op.region(0) else { return false };
    if let Some(name) = name_of(op) {
        p.text(" ");
        p.symbol(name);
    }
    p.attributes_keyword(op, &["sym_name"]);
    p.text(" ");
    p.region(region, op, false);
    true
}

/// Parses an optional `@name` as `sym_name`.
fn parse_name(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    if p.token().kind == Tok::At {
        let name = p.symbol()?;
        let attr = p.program.attr_str(&name);
        op.set(&mut p.program, "sym_name", attr);
    }
    Ok(())
}

fn name_of<'a>(op: OpRef<'a>) -> Option<&'a str> {
    op.attr("sym_name").and_then(AttrData::as_str)
}

fn parse_func(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    if p.at("public") || p.at("private") || p.at("nested") {
        let word = p.word()?;
        let attr = p.program.attr_str(word);
        op.set(&mut p.program, "sym_visibility", attr);
    }
    if p.token().kind != Tok::At {
        return p.fail_expected("the function's name, like @main");
    }
    parse_name(p, op)?;

    let mut named = None;
    let args = p.list("(", ")", |p| {
        let name = if p.token().kind == Tok::Percent { Some(p.value_name()?) } else { None };
        if named.is_some_and(|n: bool| n != name.is_some()) {
            return p.fail_expected(if name.is_none() { "a name for the argument" } else { "a type without a name" });
        }
        named = Some(name.is_some());
        if name.is_some() {
            p.expect(":")?;
        }
        let (ty, attrs) = (p.ty()?, parse_dict(p)?);
        let written = name.map_or(Loc::UNKNOWN, |(_, span)| Loc::of_text(span));
        let loc = p.optional_loc()?.unwrap_or(written);
        Ok((name, ty, attrs, loc))
    })?;
    let results = match p.eat("->") {
        false => Vec::new(),
        true if p.at("(") => p.list("(", ")", |p| Ok((p.ty()?, parse_dict(p)?)))?,
        true => vec![(p.ty()?, Vec::new())],
    };
    p.attributes_keyword(op)?;

    let inputs: Vec<Ty> = args.iter().map(|a| a.1).collect();
    let outputs: Vec<Ty> = results.iter().map(|r| r.0).collect();
    let ty = p.program.intern_type(TypeData::Function(inputs, outputs));
    op.set_data(&mut p.program, FUNCTION_TYPE, AttrData::Type(ty));
    set_dicts(p, op, ARG_ATTRS, args.iter().map(|a| a.2.clone()).collect());
    set_dicts(p, op, RES_ATTRS, results.into_iter().map(|r| r.1).collect());

    let region = if p.at("{") {
        let argument = |(name, span), ty, loc| Argument { name, span, ty, loc };
        let named: Option<Vec<Argument<'_>>> =
            args.into_iter().map(|(name, ty, _, loc)| Some(argument(name?, ty, loc))).collect();
        let Some(named) = named else {
            return p.fail(op.span, "the arguments of a function with a body need names, like %arg0");
        };
        p.isolated_region(&named)?
    } else {
        p.program.new_region(&[])
    };
    op.regions.push(region);
    Ok(())
}

/// Parses an optional `{a = 1}`, sorted by name.
fn parse_dict(p: &mut Parser<'_>) -> Parse<Vec<(Name, Attr)>> {
    let mut entries = if p.at("{") { p.dict_entries()? } else { Vec::new() };
    entries.sort_by(|a, b| p.program.name_text(a.0).cmp(p.program.name_text(b.0)));
    Ok(entries)
}

fn set_dicts(p: &mut Parser<'_>, op: &mut ParsedOp, name: &str, dicts: Vec<Vec<(Name, Attr)>>) {
    if dicts.iter().all(Vec::is_empty) {
        return;
    }
    let items = dicts.into_iter().map(|d| p.program.intern_attr(AttrData::Dict(d))).collect();
    op.set_data(&mut p.program, name, AttrData::Array(items));
}

fn print_func(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some(region), Some(name)) = (op.region(0), name_of(op)) else { return false };
    let body = op.block(0);
    let signature = signature(op.program, op.op);
    // If signature and block arguments differ, only the generic form can be printed.
    if body.is_some_and(|b| op.type_ids(op.program.block_args(b)) != signature.inputs) {
        return false;
    }
    p.text(" ");
    if let Some(visibility) = op.attr("sym_visibility").and_then(AttrData::as_str) {
        p.text(visibility);
        p.text(" ");
    }
    p.symbol(name);
    let header = |p: &mut Printer<'_>| {
        p.list("(", signature.inputs.iter().enumerate(), ")", |p, (i, &ty)| {
            let arg = body.map(|b| op.program.block_args(b)[i]);
            if let Some(arg) = arg {
                p.value(arg);
                p.text(": ");
            }
            p.ty(ty);
            print_dict(p, op, ARG_ATTRS, i);
            if let Some(arg) = arg {
                p.trailing_location(op.program.value_loc(arg));
            }
        });
        print_results(p, op, signature.results);
        p.attributes_keyword(op, &["sym_name", "sym_visibility", FUNCTION_TYPE, ARG_ATTRS, RES_ATTRS]);
    };
    if body.is_none() {
        header(p);
    } else {
        p.isolated_region(region, op, |p| {
            header(p);
            p.text(" ");
        });
    }
    true
}

fn print_results(p: &mut Printer<'_>, op: OpRef<'_>, results: &[Ty]) {
    if results.is_empty() {
        return;
    }
    p.text(" -> ");
    let plain = results.len() == 1
        && dict_of(op, RES_ATTRS, 0).is_none()
        && !matches!(op.program.type_data(results[0]), TypeData::Function(..));
    if plain {
        return p.ty(results[0]);
    }
    p.list("(", results.iter().enumerate(), ")", |p, (i, &ty)| {
        p.ty(ty);
        print_dict(p, op, RES_ATTRS, i);
    });
}

/// Returns the dictionary of argument or result `i`, unless it is empty.
fn dict_of<'a>(op: OpRef<'a>, list: &str, i: usize) -> Option<&'a [(Name, Attr)]> {
    let AttrData::Array(items) = op.attr(list)? else { return None };
    match op.program.attr_data(*items.get(i)?) {
        AttrData::Dict(entries) if !entries.is_empty() => Some(entries),
        _ => None,
    }
}

fn print_dict(p: &mut Printer<'_>, op: OpRef<'_>, list: &str, i: usize) {
    if let Some(entries) = dict_of(op, list, i) {
        p.text(" ");
        p.dict(entries);
    }
}

fn parse_call(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let name = p.symbol()?;
    op.set_data(&mut p.program, "callee", AttrData::Symbol(name.into()));
    p.operands_in_parentheses(op)?;
    p.attr_dict(op)?;
    p.types(op, crate::text::TypeForm::Functional)
}

fn print_call(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(callee) = super::callee(op) else { return false };
    p.text(" ");
    p.symbol(callee);
    p.operands_in_parentheses(op);
    p.attr_dict(op, &["callee"]);
    p.type_form(op, crate::text::TypeForm::Functional);
    true
}
