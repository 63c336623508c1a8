//! `stablehlo.composite`: a named op of another library, with the function that defines its computation. Except for its
//! text, it is treated as a call of that function.

use crate::eval::{Context, EvalError, LaneResults, Lanes, Mask};
use crate::ir::{AttrData, OpRef};
use crate::op::{Control, Inferred, OpDef, Problem};
use crate::ops::func;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax, TypeForm};

/// `stablehlo.composite`. <https://openxla.org/stablehlo/spec#composite>
pub struct Composite;

/// `"name" %a, %b {composite_attributes = {…}, decomposition = @f} : (T, U) -> V`
static SYNTAX: CustomSyntax = CustomSyntax { parse, print };

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let name = p.string()?;
    let name = p.program.attr_str(&name);
    op.set(&mut p.program, "name", name);
    p.operands(op)?;
    if p.at("(") {
        let regions = p.list("(", ")", |p| p.region(&[]))?;
        op.regions.extend(regions);
    }
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some(AttrData::String(name)), []) = (op.attr("name"), &op.program.op(op.op).regions[..]) else { return false };
    p.text(" ");
    p.string(name);
    if !op.operands().is_empty() {
        p.text(" ");
        p.values(op.operands());
    }
    p.attr_dict(op, &["name"]);
    p.type_form(op, TypeForm::Functional);
    true
}

impl OpDef for Composite {
    fn name(&self) -> &'static str {
        "stablehlo.composite"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    /// Returns the declared types; the module's verifier checks operands and results against the decomposition (C3),
    /// (C4), as for calls.
    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let name = op.attr("name").and_then(AttrData::as_str).unwrap_or_default();
        let parts: Vec<&str> = name.split('.').collect();
        let word =
            |w: &&str, sign: &[u8]| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || sign.contains(&b));
        let space = parts.first().filter(|w| word(w, b"_") && w.as_bytes()[0].is_ascii_alphabetic());
        if parts.len() < 2 || space.is_none() || !parts[1..].iter().all(|w| word(w, b"_$")) {
            return Err(Problem::new(format!("expected a name like \"namespace.op\", found \"{name}\" (C1)")).into());
        }
        if func::callee(op).is_none() {
            return Err(Problem::new("expected the name of a function as decomposition (C2)")
                .note("write decomposition = @name")
                .into());
        }
        Ok(op.result_types().cloned().collect())
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let callee = func::callee(op).ok_or_else(|| EvalError::new("a composite without a decomposition"))?;
        cx.call(callee, operands, mask)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<i64>) %r = stablehlo.composite \"my.op\" %a {composite_attributes = {n = 2 : i64}, decomposition = @f, version = 1 : i32} : (tensor<i64>) -> tensor<i64>",
        ]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Call)
    }
}
