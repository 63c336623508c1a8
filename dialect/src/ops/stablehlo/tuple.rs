//! Tuples: several values as one. In the evaluator a tuple's value is the concatenation of its components' bytes; the
//! import pass replaces a tuple's elements by the values from which it was built.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Program, Ty, TypeData, Value, ValueSource};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{Checked, dim, operand_count};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Tuple, &GetTupleElement];

/// `tuple`: <https://openxla.org/stablehlo/spec#tuple>
pub struct Tuple;
/// `get_tuple_element`: <https://openxla.org/stablehlo/spec#get_tuple_element>
pub struct GetTupleElement;

/// `%a, %b : tuple<T, U>`
static TUPLE: CustomSyntax = CustomSyntax { parse: parse_tuple, print: print_tuple };
/// `%t[0] : (tuple<T, U>) -> T`
static ELEMENT: CustomSyntax = CustomSyntax { parse: parse_element, print: print_element };

fn parse_tuple(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands(op)?;
    p.attr_dict(op)?;
    p.expect(":")?;
    if p.at("(") {
        let (inputs, results) = p.functional_type()?;
        op.results.extend(results);
        return p.check_operands(op, &inputs);
    }
    let span = p.token().span();
    let ty = p.ty()?;
    let TypeData::Tuple(parts) = p.program.type_data(ty).clone() else {
        return p.fail(span, "expected a tuple type");
    };
    op.results.push(ty);
    p.check_operands(op, &parts)
}

fn print_tuple(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let [ty] = op.result_type_ids()[..] else { return false };
    let parts = op.type_ids(op.operands());
    if *op.program.type_data(ty) != TypeData::Tuple(parts) {
        return false;
    }
    if !op.operands().is_empty() {
        p.text(" ");
        p.values(op.operands());
    }
    p.attr_dict(op, &[]);
    p.text(" : ");
    p.ty(ty);
    true
}

fn parse_element(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operand(op)?;
    p.expect("[")?;
    let index = p.integer()?;
    p.expect("]")?;
    let ty = p.program.intern_type(TypeData::Scalar(ElementType::I32));
    let index = p.program.intern_attr(crate::ir::AttrData::Int(index, ty));
    op.set(&mut p.program, "index", index);
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print_element(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some(index), [operand]) = (op.int("index"), op.operands()) else { return false };
    p.text(" ");
    p.value(*operand);
    p.text(&format!("[{index}]"));
    p.attr_dict(op, &["index"]);
    p.type_form(op, TypeForm::Functional);
    true
}

/// Returns the bytes of a value of type `ty`; `None` if they are known only at run time.
fn bytes(program: &Program, ty: Ty) -> Option<usize> {
    match program.type_data(ty) {
        TypeData::Tensor(t) => t.bytes(),
        TypeData::Tuple(parts) => {
            parts.iter().try_fold(0usize, |sum, &part| Some(sum.saturating_add(bytes(program, part)?)))
        }
        TypeData::Token => Some(0),
        _ => None,
    }
}

fn packed(bytes: Vec<u8>) -> Literal {
    Literal::from_bytes(ElementType::UI8, &[bytes.len() as i64], bytes)
}

impl OpDef for Tuple {
    fn name(&self) -> &'static str {
        "stablehlo.tuple"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&TUPLE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        // (C1)
        Ok(vec![TypeData::Tuple(op.type_ids(op.operands()))])
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let mut all = Vec::new();
        for (i, (literal, ty)) in operands.iter().zip(op.type_ids(op.operands())).enumerate() {
            let size =
                bytes(op.program, ty).ok_or_else(|| EvalError::new(format!("component {i} has no fixed size")))?;
            let dense = literal.dense_bytes();
            all.extend_from_slice(&dense[..size.min(dense.len())]);
        }
        Ok(vec![packed(all)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2xf32>, %b: tensor<i32>) %r = stablehlo.tuple %a, %b : tuple<tensor<2xf32>, tensor<i32>>",
            "() %r = stablehlo.tuple : tuple<>",
        ]
    }
}

impl GetTupleElement {
    /// Returns the components' types and the index of the selected one.
    fn check<'a>(op: OpRef<'a>) -> Checked<(&'a [Ty], usize)> {
        operand_count(op, 1)?;
        let Some(TypeData::Tuple(parts)) = op.operand_types().next() else {
            return Err(Problem::operand(0, "expected a tuple (I1)"));
        };
        Ok((parts, dim(op, "index", parts.len(), "C1")?))
    }
}

impl OpDef for GetTupleElement {
    fn name(&self) -> &'static str {
        "stablehlo.get_tuple_element"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&ELEMENT)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (parts, index) = Self::check(op)?;
        // (C2)
        Ok(vec![op.program.type_data(parts[index]).clone()])
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (parts, index) = Self::check(op)?;
        let unknown = || EvalError::new("a component has no fixed size");
        let sizes: Option<Vec<usize>> = parts[..=index].iter().map(|&ty| bytes(op.program, ty)).collect();
        let sizes = sizes.ok_or_else(unknown)?;
        let start: usize = sizes[..index].iter().sum();
        let all = operands[0].dense_bytes();
        let part = all.get(start..start + sizes[index]).ok_or_else(unknown)?;
        Ok(vec![match op.program.type_data(parts[index]) {
            TypeData::Tensor(ty) => Literal::from_bytes(ty.element, &ty.shape, part.to_vec()),
            TypeData::Token => super::transfer::token(),
            _ => packed(part.to_vec()),
        }])
    }

    /// Returns the value from which the tuple was built, if the building op is known.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (_, index) = Self::check(view).ok()?;
        let ValueSource::Result(maker, _) = b.program.value_source(view.operands()[0]) else { return None };
        let maker = b.program.view(maker);
        (maker.name() == Tuple.name()).then(|| vec![maker.operands()[index]])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%t: tuple<tensor<2xf32>, tuple<tensor<i32>>>) %r = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>",
        ]
    }
}
