//! The `interpreter` dialect of StableHLO's test suite: programs that run in parallel on many devices, with values
//! recorded at run time. Source: StableHLO's reference documentation, "Testing", and its `InterpreterOps`.

use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::eval::{ChannelKey, Context, EvalError, EvalResult, on_lane};
use crate::ir::{AttrData, OpRef, TypeData};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::func;
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax, TypeForm};

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[&ExpectSerializedEq, &RunParallel, &Print, &Probe];

const PROGRAMS: &str = "programs";
const PROBE_ID: &str = "probe_id";

/// `"interpreter.run_parallel"(%a, %b) {programs = [[@f], [@f]]}`: function `programs[replica][partition]` runs on that
/// device; operands and results are those of the devices concatenated, in that order.
pub struct RunParallel;

/// Returns the functions by replica and partition; `None` unless the attribute is rows of names, all of one length.
fn programs<'a>(op: OpRef<'a>) -> Option<Vec<Vec<&'a str>>> {
    let rows = list(op, op.attr(PROGRAMS)?)?;
    let rows: Vec<Vec<&str>> = rows
        .into_iter()
        .map(|row| list(op, row)?.into_iter().map(AttrData::as_symbol).collect())
        .collect::<Option<_>>()?;
    let width = rows.first().map(Vec::len)?;
    (width > 0 && rows.iter().all(|r| r.len() == width)).then_some(rows)
}

fn list<'a>(op: OpRef<'a>, attr: &'a AttrData) -> Option<Vec<&'a AttrData>> {
    Some(attr.as_array()?.iter().map(|&i| op.program.attr_data(i)).collect())
}

impl OpDef for RunParallel {
    fn name(&self) -> &'static str {
        "interpreter.run_parallel"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if programs(op).is_none() {
            let problem = Problem::new("expected programs as rows of functions, as many in each");
            return Err(problem.note("write programs = [[@f, @f], [@f, @f]]: rows are replicas").into());
        }
        Ok(op.result_types().cloned().collect())
    }

    fn verify(&self, op: OpRef<'_>, diagnostics: &mut Diagnostics) {
        let functions = func::functions_by_name(op.program);
        let mut fault =
            |message: String| diagnostics.push(Diagnostic::error(codes::PARALLEL_FUNCTIONS, op.span(), message));
        let mut known = true;
        let mut find = |name: &str, fault: &mut dyn FnMut(String)| {
            let found = functions.get(name).copied();
            if found.is_none() {
                known = false;
                fault(format!("function @{name} is undefined"));
            }
            found
        };
        let Some(all) = programs(op) else { return };
        let found: Vec<_> = all.iter().flatten().filter_map(|name| find(name, &mut fault)).collect();
        match op.attr("infeed").map(|a| list(op, a)) {
            None => {}
            Some(Some(queues)) if !queues.is_empty() => {
                for name in queues.into_iter().filter_map(AttrData::as_symbol) {
                    let Some(queue) = find(name, &mut fault) else { continue };
                    let results = func::signature(op.program, queue).results;
                    let tensor = |&ty: &crate::ir::Ty| op.program.type_data(ty).tensor().is_some();
                    if results.len() != 1 || !results.iter().all(tensor) {
                        let found = op.program.types_text(results);
                        fault(format!(
                            "expected @{name}, which supplies infeed values, to return one tensor, found {found}"
                        ));
                    }
                }
            }
            Some(_) => fault("expected infeed to name at least one function; omit it if there is none".to_owned()),
        }
        if !known {
            return;
        }
        // Types are checked at run time, because the programs may not be partitioned yet.
        let signatures: Vec<_> = found.into_iter().map(|f| func::signature(op.program, f)).collect();
        for (what, given, wanted) in [
            ("operands", op.operands().len(), signatures.iter().map(|s| s.inputs.len()).sum::<usize>()),
            ("results", op.result_count(), signatures.iter().map(|s| s.results.len()).sum()),
        ] {
            if given != wanted {
                fault(format!("expected {wanted} {what}, as many as the programs have together, found {given}"));
            }
        }
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let programs = programs(op).ok_or_else(|| EvalError::new("expected rows of functions"))?;
        let feeds = op.attr("infeed").and_then(|a| list(op, a)).unwrap_or_default();
        for feed in feeds.into_iter().filter_map(AttrData::as_symbol) {
            let values = on_lane(cx, &[], |cx, args, mask| cx.call(feed, args, mask))?;
            cx.post(ChannelKey::Infeed, values)?;
        }
        cx.parallel(&programs, operands)
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }
}

/// `interpreter.print %a : T`: prints a value in the reference interpreter; here it is an annotation.
pub struct Print;

impl OpDef for Print {
    fn name(&self) -> &'static str {
        "interpreter.print"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[], TypeForm::OperandsOnly)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        one_tensor(op).map(|_| Vec::new())
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(Vec::new())
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2xf32>) interpreter.print %a : tensor<2xf32>"]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }
}

/// `%r = interpreter.probe %a, probe_id = "p" : T`: returns its operand, and records it each time it runs.
pub struct Probe;

impl OpDef for Probe {
    fn name(&self) -> &'static str {
        "interpreter.probe"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&PROBE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        probe_id(op)?;
        one_tensor(op)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let value = operands.first().ok_or_else(|| EvalError::new("expected a value"))?;
        cx.record(probe_id(op)?, value);
        Ok(vec![value.clone()])
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2xf32>) %r = interpreter.probe %a, probe_id = \"p\" : tensor<2xf32>"]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }
}

/// `check.expect_serialized_eq %a, probe_id = "p", iter = 1 : T`: compares with the value that the probe recorded in
/// its run number `iter`, from 0.
pub struct ExpectSerializedEq;

impl OpDef for ExpectSerializedEq {
    fn name(&self) -> &'static str {
        "check.expect_serialized_eq"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&PROBE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        probe_id(op)?;
        one_tensor(op).map(|_| Vec::new())
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (id, iter) = (probe_id(op)?, op.int("iter").unwrap_or(0));
        let value = operands.first().ok_or_else(|| EvalError::new("expected a value"))?;
        let recorded = usize::try_from(iter).ok().and_then(|i| cx.recorded(id, i));
        let recorded = recorded
            .ok_or_else(|| EvalError::new(format!("probe \"{id}\" has recorded no value at iteration {iter}")))?;
        super::check::compare(value, &recorded, super::check::Tolerance::Exact).map_err(EvalError::new)?;
        Ok(Vec::new())
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2xf32>) %p = interpreter.probe %a, probe_id = \"p\" : tensor<2xf32> \
           check.expect_serialized_eq %a, probe_id = \"p\", iter = 0 : tensor<2xf32>"]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }
}

fn probe_id<'a>(op: OpRef<'a>) -> Result<&'a str, Problem> {
    let id = op.attr(PROBE_ID).and_then(AttrData::as_str).filter(|id| !id.is_empty());
    id.ok_or_else(|| Problem::new("expected an attribute probe_id of text"))
}

fn one_tensor(op: OpRef<'_>) -> Inferred {
    match op.operand_types().collect::<Vec<_>>()[..] {
        [ty @ TypeData::Tensor(_)] => Ok(vec![ty.clone()]),
        _ => Err(Problem::new("expected one tensor").into()),
    }
}

/// `%a, probe_id = "p", iter = 1 : T`
static PROBE: CustomSyntax = CustomSyntax { parse: parse_probe, print: print_probe };

fn parse_probe(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let value = p.operand(op)?;
    p.expect_all(&[",", PROBE_ID, "="])?;
    let id = p.string()?;
    let id = p.program.attr_str(&id);
    op.set(&mut p.program, PROBE_ID, id);
    if p.eat(",") {
        p.expect_all(&["iter", "="])?;
        let iter = p.integer()?;
        let iter = p.program.attr_i64(iter);
        op.set(&mut p.program, "iter", iter);
        if p.at_both(":", "ui32") || p.at_both(":", "i64") {
            p.advance();
            p.advance();
        }
    }
    p.attr_dict(op)?;
    p.expect(":")?;
    let ty = p.ty()?;
    if op.def.name() == Probe.name() {
        op.results.push(p.program.value_type(value));
    }
    p.check_operands(op, &[ty])
}

fn print_probe(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (&[operand], Some(id)) = (op.operands(), op.attr(PROBE_ID).and_then(AttrData::as_str)) else { return false };
    if op.result_type_ids().iter().any(|&t| t != op.program.value_type(operand)) {
        return false;
    }
    p.text(" ");
    p.value(operand);
    p.text(", probe_id = ");
    p.string(id);
    if let Some(iter) = op.int("iter") {
        p.text(&format!(", iter = {iter}"));
    }
    p.attr_dict(op, &[PROBE_ID, "iter"]);
    p.text(" : ");
    p.types(&op.type_ids(&[operand]));
    true
}
