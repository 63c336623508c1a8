//! The branches of MLIR's `cf` dialect, so that functions with branches can be parsed and kept. They are neither
//! computed nor sharded. Source: MLIR's documentation of the dialect.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{AttrData, Block, ElementType, OpRef, Ty, TypeData, Value};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{Checked, require};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The ops of this dialect.
pub(super) static OPS: &[&dyn OpDef] = &[&Branch, &ConditionalBranch];

/// `cf.br`
struct Branch;
/// `cf.cond_br`
struct ConditionalBranch;

/// The numbers of operands of the condition and of each successor.
const SEGMENTS: &str = "operandSegmentSizes";

/// Parses `^bb1(%a, %b : T, U)`; returns the values' types.
fn parse_successor(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<Vec<Ty>> {
    p.successor(op)?;
    if !p.eat("(") {
        return Ok(Vec::new());
    }
    p.operands(op)?;
    p.expect(":")?;
    let mut types: Vec<Ty> = Vec::new();
    loop {
        types.push(p.ty()?);
        if !p.eat(",") {
            break;
        }
    }
    p.expect(")")?;
    Ok(types)
}

fn print_successor(p: &mut Printer<'_>, block: Block, values: &[Value]) {
    p.block_name(block);
    if !values.is_empty() {
        p.text("(");
        p.values(values);
        p.text(" : ");
        let program = p.program;
        p.separated(values.iter(), |p, &v| p.ty(program.value_type(v)));
        p.text(")");
    }
}

static BRANCH: CustomSyntax = CustomSyntax {
    parse: |p, op| {
        let types = parse_successor(p, op)?;
        p.check_operands(op, &types)?;
        p.attr_dict(op)
    },
    print: |p, op| {
        let Some(&[block]) = op.program.op(op.op).successors.as_deref() else { return false };
        p.text(" ");
        print_successor(p, block, op.operands());
        p.attr_dict(op, &[]);
        true
    },
};

static CONDITIONAL_BRANCH: CustomSyntax = CustomSyntax {
    parse: |p, op| {
        let condition = p.program.intern_type(TypeData::Scalar(ElementType::I1));
        p.operand(op)?;
        p.expect(",")?;
        let on_true = parse_successor(p, op)?;
        p.expect(",")?;
        let on_false = parse_successor(p, op)?;
        p.check_operands(op, &[&[condition], &on_true[..], &on_false].concat())?;
        let sizes = vec![1, on_true.len() as i64, on_false.len() as i64];
        let sizes = p.program.intern_attr(AttrData::DenseArray(ElementType::I32, sizes));
        op.set(&mut p.program, SEGMENTS, sizes);
        p.attr_dict(op)
    },
    print: |p, op| {
        let (Some(&[on_true, on_false]), Some(&[1, n, m])) =
            (op.program.op(op.op).successors.as_deref(), op.ints(SEGMENTS).as_deref())
        else {
            return false;
        };
        let operands = op.operands();
        if operands.len() as i64 != 1 + n + m || n < 0 || m < 0 {
            return false;
        }
        p.text(" ");
        p.value(operands[0]);
        p.text(", ");
        print_successor(p, on_true, &operands[1..1 + n as usize]);
        p.text(", ");
        print_successor(p, on_false, &operands[1 + n as usize..]);
        p.attr_dict(op, &[SEGMENTS]);
        true
    },
};

/// Checks that a block takes the values that are passed to it.
fn check_passed(op: OpRef<'_>, block: Block, values: &[Value]) -> Checked<()> {
    let types = |values: &[Value]| values.iter().map(|&v| op.program.value_type(v)).collect::<Vec<Ty>>();
    let (passed, taken) = (types(values), types(op.program.block_args(block)));
    let text = |types: &[Ty]| op.program.types_text(types);
    require!(passed == taken, "passes {} to a block that takes {}", text(&passed), text(&taken));
    Ok(())
}

fn check_branch(op: OpRef<'_>) -> Checked<()> {
    match op.program.op(op.op).successors.as_deref() {
        Some(&[block]) => check_passed(op, block, op.operands()),
        _ => Err(Problem::new("expected one successor block")),
    }
}

fn check_condition(op: OpRef<'_>) -> Checked<()> {
    let Some(&[on_true, on_false]) = op.program.op(op.op).successors.as_deref() else {
        return Err(Problem::new("expected two successor blocks"));
    };
    let operands = op.operands();
    let sizes = op.ints(SEGMENTS).unwrap_or_default();
    let fit = matches!(sizes[..], [1, n, m] if n >= 0 && m >= 0 && 1 + n + m == operands.len() as i64);
    require!(fit, "{SEGMENTS} doesn't divide {} operands into three parts", operands.len());
    let (first, second) = operands[1..].split_at(sizes[1] as usize);
    check_passed(op, on_true, first)?;
    check_passed(op, on_false, second)
}

macro_rules! branch {
    ($def:ident, $name:literal, $syntax:ident, $passed:ident) => {
        impl OpDef for $def {
            fn name(&self) -> &'static str {
                $name
            }

            fn syntax(&self) -> Syntax {
                Syntax::Custom(&$syntax)
            }

            fn infer(&self, op: OpRef<'_>) -> Inferred {
                $passed(op)?;
                Ok(Vec::new())
            }

            fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
                Err(EvalError::new("branches between blocks can't be evaluated"))
            }

            fn terminator(&self) -> bool {
                true
            }
        }
    };
}

branch!(Branch, "cf.br", BRANCH, check_branch);
branch!(ConditionalBranch, "cf.cond_br", CONDITIONAL_BRANCH, check_condition);
