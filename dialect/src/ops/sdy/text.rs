//! The text of Shardy's ops, as Shardy prints them.

use crate::ir::{AttrData, ElementType, OpRef, TypeData};
use crate::sharding::TensorSharding;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

use super::collective::{AxesForm, REDUCTION_OP, row};
use super::{DIRECTIONS, OUT_SHARDING, SHARDING};

/// `@mesh = <["x"=2]>`
pub(super) static MESH: CustomSyntax = CustomSyntax { parse: parse_mesh, print: print_mesh };
/// `%0 <@mesh, [{"x"}]> : T`
pub(super) static CONSTRAINT: CustomSyntax = CustomSyntax { parse: parse_constraint, print: print_constraint };
/// `%0 allowed_direction=BACKWARD : T`
pub(super) static BARRIER: CustomSyntax = CustomSyntax { parse: parse_barrier, print: print_barrier };
/// `%0 sharding=<@mesh, [{"x"}]> : T`
pub(super) static EDGE: CustomSyntax = CustomSyntax { parse: parse_edge, print: print_edge };
/// `%0 group_id=21 : T`
pub(super) static GROUP: CustomSyntax = CustomSyntax { parse: parse_group, print: print_group };
/// `[{"x"}, {}] %0 out_sharding=<@mesh, […]> : T`
pub(super) static COLLECTIVE: CustomSyntax = CustomSyntax { parse: parse_collective, print: print_collective };
/// `(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%x: T) { … } : (T) -> T`
pub(super) static MANUAL: CustomSyntax = CustomSyntax { parse: parse_manual, print: print_manual };
/// `<"name">(%a) in_shardings=[…] out_shardings=[…] (%x: T) { … } : (T) -> T`
pub(super) static NAMED: CustomSyntax = CustomSyntax { parse: parse_named, print: print_named };

/// Parses the attributes, then the type shared by operand and result.
fn parse_rest(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.attr_dict(op)?;
    p.types(op, TypeForm::SameOrFunctional)
}

/// Returns whether the op has one operand and `results` results of its type; otherwise only the generic form fits.
fn plain(op: OpRef<'_>, results: usize) -> bool {
    let types = op.type_ids(op.operands());
    types.len() == 1 && op.result_type_ids() == vec![types[0]; results]
}

fn print_type(p: &mut Printer<'_>, op: OpRef<'_>) {
    p.text(" : ");
    p.types(&op.type_ids(op.operands()));
}

fn parse_mesh(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let name = p.symbol()?;
    op.set_data(&mut p.program, "sym_name", AttrData::String(name.into()));
    p.expect("=")?;
    let mesh = p.mesh()?;
    op.set_data(&mut p.program, "mesh", AttrData::Mesh(mesh));
    p.attr_dict(op)
}

fn print_mesh(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let name = op.attr("sym_name").and_then(AttrData::as_str);
    let (Some(name), Some(mesh)) = (name, op.attr("mesh").and_then(AttrData::as_mesh)) else { return false };
    p.text(" ");
    p.symbol(name);
    p.text(" = ");
    p.mesh(mesh);
    p.attr_dict(op, &["sym_name", "mesh"]);
    true
}

fn parse_constraint(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    let sharding = p.sharding()?;
    op.set_data(&mut p.program, SHARDING, AttrData::Sharding(sharding));
    parse_rest(p, op)
}

fn print_constraint(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(sharding) = op.attr(SHARDING).and_then(AttrData::as_sharding) else { return false };
    if !plain(op, 1) {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    p.text(" ");
    p.sharding(sharding);
    p.attr_dict(op, &[SHARDING]);
    print_type(p, op);
    true
}

fn parse_barrier(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    p.expect_all(&["allowed_direction", "="])?;
    let Some(value) = DIRECTIONS.iter().position(|d| p.at(d.0)) else {
        return p.fail_expected("NONE, FORWARD or BACKWARD");
    };
    p.advance();
    let ty = p.program.intern_type(TypeData::Scalar(ElementType::I32));
    op.set_data(&mut p.program, "allowed_direction", AttrData::Int(value as i64, ty));
    parse_rest(p, op)
}

fn print_barrier(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let direction = op.int("allowed_direction").and_then(|v| DIRECTIONS.get(usize::try_from(v).ok()?));
    let Some(direction) = direction else { return false };
    if !plain(op, 1) {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    p.text(" allowed_direction=");
    p.text(direction.0);
    p.attr_dict(op, &["allowed_direction"]);
    print_type(p, op);
    true
}

fn parse_edge(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    if p.eat(SHARDING) {
        p.expect("=")?;
        let sharding = p.sharding()?;
        op.set_data(&mut p.program, SHARDING, AttrData::Sharding(sharding));
    }
    parse_rest(p, op)
}

fn print_edge(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if !plain(op, 1) {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    if let Some(sharding) = op.attr(SHARDING).and_then(AttrData::as_sharding) {
        p.text(" sharding=");
        p.sharding(sharding);
    }
    p.attr_dict(op, &[SHARDING]);
    print_type(p, op);
    true
}

fn parse_group(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    p.expect_all(&["group_id", "="])?;
    let id = p.integer()?;
    let attr = p.program.attr_i64(id);
    op.set(&mut p.program, "group_id", attr);
    p.attr_dict(op)?;
    p.expect(":")?;
    let ty = p.ty()?;
    p.check_operands(op, &[ty])
}

fn print_group(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(id) = op.int("group_id") else { return false };
    if !plain(op, 0) {
        return false;
    }
    p.text(" ");
    p.values(op.operands());
    p.text(&format!(" group_id={id}"));
    p.attr_dict(op, &["group_id"]);
    print_type(p, op);
    true
}

fn parse_collective(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let Some(row) = row(&op.name) else { return p.fail(op.span, "not a collective of Shardy") };
    if row.reduces {
        let word = ["max", "min", "sum"].into_iter().find(|w| p.at(w));
        let kind = p.reduction_kind();
        if word.is_some() {
            let ty = p.program.intern_type(TypeData::Scalar(ElementType::I32));
            op.set_data(&mut p.program, REDUCTION_OP, AttrData::Int(kind as i64, ty));
        }
    }
    let axes = match row.form {
        AxesForm::None => None,
        AxesForm::Flat => Some(AttrData::Axes(p.axes()?)),
        AxesForm::PerDim => Some(AttrData::AxesPerDim(p.axes_per_dim()?)),
        AxesForm::Moves => Some(AttrData::AllToAllParams(p.all_to_all_params()?)),
    };
    if let Some(axes) = axes {
        op.set_data(&mut p.program, row.axes, axes);
    }
    p.operand(op)?;
    p.expect_all(&[OUT_SHARDING, "="])?;
    let sharding = p.sharding()?;
    op.set_data(&mut p.program, OUT_SHARDING, AttrData::Sharding(sharding));
    parse_rest(p, op)
}

fn print_collective(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let sharding = op.attr(OUT_SHARDING).and_then(AttrData::as_sharding);
    let (Some(row), Some(sharding)) = (row(op.name()), sharding) else { return false };
    if !plain(op, 1) {
        return false;
    }
    p.text(" ");
    // A sum is the default, and isn't printed.
    match op.int(REDUCTION_OP) {
        Some(1) => p.text("max "),
        Some(2) => p.text("min "),
        _ => {}
    }
    match (row.form, op.attr(row.axes)) {
        (AxesForm::None, _) => {}
        (AxesForm::Flat, Some(AttrData::Axes(axes))) => p.axes(axes),
        (AxesForm::PerDim, Some(AttrData::AxesPerDim(dims))) => p.axes_per_dim(dims),
        (AxesForm::Moves, Some(AttrData::AllToAllParams(params))) => p.all_to_all_params(params),
        _ => return false,
    }
    if row.form != AxesForm::None {
        p.text(" ");
    }
    p.values(op.operands());
    p.text(" out_sharding=");
    p.sharding(sharding);
    p.attr_dict(op, &[OUT_SHARDING, row.axes, REDUCTION_OP]);
    print_type(p, op);
    true
}

/// Parses `name=[<…>, <…>]`.
fn parse_shardings(p: &mut Parser<'_>, op: &mut ParsedOp, name: &str) -> Parse<()> {
    p.expect_all(&[name, "="])?;
    let shardings = p.list("[", "]", Parser::sharding)?;
    op.set_data(&mut p.program, name, AttrData::ShardingPerValue(shardings));
    Ok(())
}

/// Parses `(%x: T) { … } {attributes} : (T) -> T`.
fn parse_body(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let args = p.arguments()?;
    let region = p.region(&args)?;
    op.regions.push(region);
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_shardings(p: &mut Printer<'_>, name: &str, shardings: &[TensorSharding]) {
    p.list(&format!(" {name}=["), shardings.iter(), "]", |p, s| p.sharding(s));
}

fn print_body(p: &mut Printer<'_>, op: OpRef<'_>, elided: &[&str]) -> bool {
    let Some(region) = op.region(0) else { return false };
    let scope = p.name_region(region, op);
    p.text(" (");
    p.arguments(op.region_args(0));
    p.text(") ");
    p.named_region(region, scope);
    p.attr_dict(op, elided);
    p.type_form(op, TypeForm::Functional);
    true
}

fn parse_manual(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands_in_parentheses(op)?;
    parse_shardings(p, op, "in_shardings")?;
    parse_shardings(p, op, "out_shardings")?;
    p.expect_all(&["manual_axes", "="])?;
    let axes = p.manual_axes()?;
    op.set_data(&mut p.program, "manual_axes", AttrData::ManualAxes(axes));
    parse_body(p, op)
}

fn print_manual(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some(ins), Some(outs)) = (
        op.attr("in_shardings").and_then(AttrData::as_shardings),
        op.attr("out_shardings").and_then(AttrData::as_shardings),
    ) else {
        return false;
    };
    let Some(AttrData::ManualAxes(axes)) = op.attr("manual_axes") else { return false };
    p.operands_in_parentheses(op);
    print_shardings(p, "in_shardings", ins);
    print_shardings(p, "out_shardings", outs);
    p.text(" manual_axes=");
    p.manual_axes(axes);
    print_body(p, op, &["in_shardings", "out_shardings", "manual_axes"])
}

fn parse_named(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("<")?;
    let name = p.string()?;
    op.set_data(&mut p.program, "name", AttrData::String(name.into()));
    p.expect(">")?;
    p.operands_in_parentheses(op)?;
    for name in ["in_shardings", "out_shardings"] {
        if p.at(name) {
            parse_shardings(p, op, name)?;
        }
    }
    parse_body(p, op)
}

fn print_named(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(name) = op.attr("name").and_then(AttrData::as_str) else { return false };
    p.text("<");
    p.string(name);
    p.text(">");
    p.operands_in_parentheses(op);
    for name in ["in_shardings", "out_shardings"] {
        if let Some(list) = op.attr(name).and_then(AttrData::as_shardings) {
            print_shardings(p, name, list);
        }
    }
    print_body(p, op, &["name", "in_shardings", "out_shardings"])
}
