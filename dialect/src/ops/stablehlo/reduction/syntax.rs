//! The two textual forms of `reduce`: a short one for bodies of one op, and one with the region after the types.

use smallvec::SmallVec;

use crate::diagnostic::Span;
use crate::ir::{Loc, OpRef, Value};
use crate::kernel::Kernel;
use crate::ops::stablehlo::control::RETURN;
use crate::ops::stablehlo::syntax::i64_array;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, TypeForm};

/// `(%x init: %c) applies stablehlo.add across dimensions = [1] : (T, U) -> V`, or without `applies …` and with
/// `reducer(%a: U, %b: U) {…}` at the end.
pub(crate) static REDUCE: CustomSyntax = CustomSyntax { parse: parse_reduce, print: print_reduce };

fn parse_reduce(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let mut init: SmallVec<[(Value, Span); 2]> = SmallVec::new();
    p.comma_list(|p| {
        p.expect("(")?;
        p.operand(op)?;
        p.expect_all(&["init", ":"])?;
        init.push(p.value()?);
        p.expect(")")
    })?;
    for (value, span) in init {
        op.operands.push(value);
        op.operand_spans.push(span);
    }
    let inner = if p.eat("applies") {
        let span = p.token().span();
        Some((p.word()?.to_owned(), span))
    } else {
        None
    };
    p.expect_all(&["across", "dimensions", "="])?;
    let dims = p.int_list()?;
    let dims = p.program.attr_i64s(&dims);
    op.set(&mut p.program, "dimensions", dims);
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)?;
    let Some((inner, span)) = inner else {
        return parse_reducer(p, op);
    };
    let element = op.operands.first().and_then(|&v| p.program.tensor_type(v)).map(|t| t.element);
    let def = p.program.registry().get(&inner);
    let (Some(def), Some(element), 2) = (def, element, op.operands.len()) else {
        return p.fail(span, format!("expected the name of a binary op and one input, found '{inner}'"));
    };
    let ty = p.program.tensor(&[], element);
    let block = p.program.new_block();
    let loc = Loc::of_text(span);
    let args = [(); 2].map(|()| p.program.add_block_arg(block, ty, loc, Span::default()));
    let combine = p.program.new_op(def, &args, &[ty], &[], &[], loc);
    let result = p.program.result(combine, 0);
    let end = p.program.new_op(&RETURN, &[result], &[], &[], &[], loc);
    p.program.set_block_ops(block, vec![combine, end]);
    op.regions.push(p.program.new_region(&[block]));
    Ok(())
}

/// Parses `reducer(%a: T, %x: T) (%b: U, %y: U) {…}`: one pair of accumulator and element per input. The block has all
/// accumulators first.
fn parse_reducer(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.expect("reducer")?;
    let (mut args, mut elements) = (Vec::new(), Vec::new());
    while p.eat("(") {
        args.push(p.argument()?);
        p.expect(",")?;
        elements.push(p.argument()?);
        p.expect(")")?;
    }
    args.append(&mut elements);
    let region = p.region(&args)?;
    op.regions.push(region);
    Ok(())
}

fn print_reduce(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let n = op.operands().len() / 2;
    let (Some(dims), [region]) = (i64_array(op, "dimensions"), &op.program.op(op.op).regions[..]) else { return false };
    let Some(block) = op.block(0) else { return false };
    if n == 0 || op.operands().len() != 2 * n || op.program.block_args(block).len() != 2 * n {
        return false;
    }
    p.separated(0..n, |p, i| {
        p.text("(");
        p.value(op.operands()[i]);
        p.text(" init: ");
        p.value(op.operands()[n + i]);
        p.text(")");
    });
    let inner = short_body(op);
    if let Some(inner) = inner {
        p.text(" applies ");
        p.text(inner);
    }
    p.text(" across dimensions = ");
    p.int_list(dims);
    p.attr_dict(op, &["dimensions"]);
    p.type_form(op, TypeForm::Functional);
    if inner.is_none() {
        let scope = p.name_region(*region, op);
        p.newline();
        p.text(" reducer");
        let args = op.program.block_args(block);
        for i in 0..n {
            p.text("(");
            p.arguments(&[args[i], args[n + i]]);
            p.text(") ");
        }
        p.text(" ");
        p.named_region(*region, scope);
    }
    true
}

/// Returns the name of the op in a reduction's body if `applies` can express it: one commutative op on the two
/// arguments in order, of the input's element type, without attributes.
fn short_body(op: OpRef<'_>) -> Option<&str> {
    let program = op.program;
    let block = op.block(0).filter(|_| op.operands().len() == 2)?;
    let [combine, end] = program.block_ops(block) else { return None };
    let (combine, end) = (program.view(*combine), program.view(*end));
    let Kernel::Nest(nest) = combine.def().kernel(combine) else { return None };
    let plain = nest.body.as_binary().is_some() && program.op(combine.op).attrs.is_empty();
    let element = op.operand_tensor(0)?.element;
    let same = combine.operands() == program.block_args(block)
        && combine
            .operand_types()
            .chain(combine.result_types())
            .all(|t| t.tensor().is_some_and(|t| t.rank() == 0 && t.element == element));
    let ends = end.name() == RETURN.name && combine.results().eq(end.operands().iter().copied());
    (plain && same && ends && combine.name().starts_with("stablehlo.")).then(|| combine.name())
}
