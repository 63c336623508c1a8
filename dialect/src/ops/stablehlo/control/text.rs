//! The text of loops and barriers, as StableHLO prints them.

use crate::ir::{Loc, OpRef, Ty};
use crate::text::{Argument, CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

/// `stablehlo.while(%iterArg = %a) : T cond { … } do { … }`
pub(super) static WHILE: CustomSyntax = CustomSyntax { parse: parse_while, print: print_while };
/// `stablehlo.optimization_barrier {attributes} %a, %b : T, U`
pub(super) static BARRIER: CustomSyntax = CustomSyntax { parse: parse_barrier, print: print_barrier };

fn parse_while(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let names = p.list("(", ")", |p| {
        let name = p.value_name()?;
        p.expect("=")?;
        p.operand(op)?;
        Ok(name)
    })?;
    let mut types: Vec<Ty> = Vec::new();
    if !names.is_empty() {
        p.expect(":")?;
        types = p.comma_list(Parser::ty)?;
        p.check_operands(op, &types)?;
    }
    op.results.extend(types.iter().copied());
    p.attributes_keyword(op)?;
    let argument = |((name, span), ty)| Argument { name, span, ty, loc: Loc::of_text(span) };
    let args: Vec<Argument<'_>> = names.into_iter().zip(types).map(argument).collect();
    for word in ["cond", "do"] {
        p.expect(word)?;
        let region = p.region(&args)?;
        op.regions.push(region);
    }
    Ok(())
}

fn print_while(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some(cond), Some(body)) = (op.region(0), op.region(1)) else { return false };
    let types = op.type_ids(op.operands());
    // The header's argument names are for both regions.
    let fits = |region: usize| op.type_ids(op.region_args(region)) == types;
    if !fits(0) || !fits(1) || op.result_type_ids() != types {
        return false;
    }
    p.text("(");
    let scope = p.name_region(cond, op);
    p.separated(op.region_args(0).iter().zip(op.operands()), |p, (&arg, &operand)| {
        p.value(arg);
        p.text(" = ");
        p.value(operand);
    });
    p.text(")");
    if !types.is_empty() {
        p.text(" : ");
        p.types(&types);
    }
    p.attributes_keyword(op, &[]);
    p.newline();
    p.text("cond ");
    p.named_region(cond, scope);
    p.text(" do ");
    p.region(body, op, false);
    true
}

fn parse_barrier(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.attr_dict(op)?;
    if p.eat("(") {
        return p.expect(")");
    }
    p.operands(op)?;
    p.types(op, TypeForm::Pairwise)
}

fn print_barrier(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if op.type_ids(op.operands()) != op.result_type_ids() {
        return false;
    }
    p.attr_dict(op, &[]);
    if op.operands().is_empty() {
        p.text(" ()");
        return true;
    }
    p.text(" ");
    p.values(op.operands());
    p.type_form(op, TypeForm::Pairwise);
    true
}
