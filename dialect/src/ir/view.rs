//! [`OpRef`]: an op together with its program, which `OpDef`'s methods take.

use super::attr::AttrData;
use super::entity::{Attr, Block, Op, Region, Ty, Value};
use super::program::{Program, ValueSource};
use super::ty::{TensorType, TypeData};
use crate::diagnostic::Span;
use crate::literal::Literal;
use crate::op::OpDef;

/// An op and its program.
///
/// ```
/// use shardc_dialect::diagnostic::Diagnostics;
/// use shardc_dialect::ops::func;
///
/// let text = "func.func @main(%a: tensor<8xf32>) { %0 = stablehlo.negate %a : tensor<8xf32> return }";
/// let program = shardc_dialect::parse(text, &mut Diagnostics::default());
/// let block = func::function(&program, "main").and_then(|main| func::block(&program, main)).unwrap();
/// let op = program.view(program.block_ops(block)[0]);
/// assert_eq!((op.name(), op.operands()), ("stablehlo.negate", program.block_args(block)));
/// assert_eq!(op.result_tensor(0).unwrap().shape[..], [8]);
/// ```
#[derive(Clone, Copy)]
pub struct OpRef<'a> {
    /// The program.
    pub program: &'a Program,
    /// The op.
    pub op: Op,
}

impl<'a> OpRef<'a> {
    /// Returns its definition.
    pub fn def(self) -> &'static dyn OpDef {
        self.program.op(self.op).def
    }

    /// Returns its full name.
    pub fn name(self) -> &'a str {
        self.program.op_name(self.op)
    }

    /// Returns its name in the source.
    pub fn span(self) -> Span {
        self.program.op(self.op).span
    }

    /// Operand `i` in the source, else the op's name.
    pub fn operand_span(self, i: usize) -> Span {
        self.program.op(self.op).operand_spans.get(i).copied().unwrap_or(self.span())
    }

    /// Returns its operands.
    pub fn operands(self) -> &'a [Value] {
        &self.program.op(self.op).operands
    }

    /// Returns its results.
    pub fn results(self) -> impl ExactSizeIterator<Item = Value> + use<> {
        self.program.results(self.op)
    }

    /// Returns whether it has results and all are scalars. Scalars have no buffer: they are inlined into the bodies of
    /// their users.
    pub fn gives_scalars(self) -> bool {
        self.result_count() > 0 && self.result_types().all(|ty| matches!(ty, TypeData::Scalar(_)))
    }

    /// Returns the number of results.
    pub fn result_count(self) -> usize {
        self.program.result_count(self.op)
    }

    /// Returns the tensor type of operand `i`.
    pub fn operand_tensor(self, i: usize) -> Option<&'a TensorType> {
        self.program.tensor_type(*self.operands().get(i)?)
    }

    /// Returns the tensor type of result `i`.
    pub fn result_tensor(self, i: usize) -> Option<&'a TensorType> {
        (i < self.result_count()).then(|| self.program.result(self.op, i)).and_then(|v| self.program.tensor_type(v))
    }

    /// Returns the types of the operands.
    pub fn operand_types(self) -> impl Iterator<Item = &'a TypeData> {
        self.operands().iter().map(move |&v| self.program.type_data(self.program.value_type(v)))
    }

    /// Returns the types of the results.
    pub fn result_types(self) -> impl Iterator<Item = &'a TypeData> {
        self.results().map(move |v| self.program.type_data(self.program.value_type(v)))
    }

    /// Returns the ids of the results' types.
    pub fn result_type_ids(self) -> Vec<Ty> {
        self.results().map(|v| self.program.value_type(v)).collect()
    }

    /// Attribute `name`.
    pub fn attr(self, name: &str) -> Option<&'a AttrData> {
        self.attr_id(name).map(|a| self.program.attr_data(a))
    }

    /// Returns the id of attribute `name`.
    pub fn attr_id(self, name: &str) -> Option<Attr> {
        self.program.attr(self.op, name)
    }

    /// Integer attribute `name`.
    pub fn int(self, name: &str) -> Option<i64> {
        self.attr(name)?.as_int()
    }

    /// Returns whether attribute `name` is `true` or `unit`.
    pub fn flag(self, name: &str) -> bool {
        matches!(self.attr(name), Some(AttrData::Unit | AttrData::Bool(true)))
    }

    /// Returns the value of enum attribute `name`.
    pub fn enum_value(self, name: &str) -> Option<&'a str> {
        self.attr(name)?.as_enum()
    }

    /// Integers of attribute `name`, whether `array<i64: …>`, `dense<…>` or `[1, 2]`.
    pub fn ints(self, name: &str) -> Option<Vec<i64>> {
        self.program.attr_ints(self.attr_id(name)?)
    }

    /// Returns the literal of attribute `name`.
    pub fn dense(self, name: &str) -> Option<&'a Literal> {
        self.attr(name)?.as_literal()
    }

    /// Returns the value of operand `i`, if it is a constant.
    pub fn constant_operand(self, i: usize) -> Option<&'a Literal> {
        match self.program.value_source(*self.operands().get(i)?) {
            ValueSource::Result(op, _) => self.program.op(op).def.constant(self.program.view(op)),
            ValueSource::Arg(..) => None,
        }
    }

    /// Region `i`.
    pub fn region(self, i: usize) -> Option<Region> {
        self.program.op(self.op).regions.get(i).copied()
    }

    /// Returns the first block of region `i`.
    pub fn block(self, i: usize) -> Option<Block> {
        self.program.region_block(self.op, i)
    }

    /// Returns the arguments of region `i`.
    pub fn region_args(self, i: usize) -> &'a [Value] {
        self.block(i).map(|b| self.program.block_args(b)).unwrap_or_default()
    }

    /// Returns the results of region `i`: the operands of its terminator.
    pub fn region_results(self, i: usize) -> &'a [Value] {
        let last = self.block(i).and_then(|b| self.program.terminator(b));
        last.map(|op| &*self.program.op(op).operands).unwrap_or_default()
    }

    /// Returns the ids of the types of `values`.
    pub fn type_ids(self, values: &[Value]) -> Vec<Ty> {
        values.iter().map(|&v| self.program.value_type(v)).collect()
    }

    /// Field `name` of struct attribute `attr`.
    pub fn field(self, attr: &str, name: &str) -> Option<&'a AttrData> {
        self.field_id(attr, name).map(|field| self.program.attr_data(field))
    }

    fn field_id(self, attr: &str, name: &str) -> Option<Attr> {
        let AttrData::Struct(_, fields) = self.attr(attr)? else { return None };
        fields.iter().find(|f| self.program.name_text(f.0) == name).map(|f| f.1)
    }

    /// Integer list `name` of struct attribute `attr`; empty when the text leaves it out.
    pub fn field_ints(self, attr: &str, name: &str) -> Vec<i64> {
        self.field_id(attr, name).and_then(|field| self.program.attr_ints(field)).unwrap_or_default()
    }
}

impl Program {
    /// Returns the integers of an attribute: `array<i64: …>`, `dense<…>`, `[1, 2]`, or one integer.
    pub fn attr_ints(&self, attr: Attr) -> Option<Vec<i64>> {
        match self.attr_data(attr) {
            AttrData::DenseArray(_, v) => Some(v.clone()),
            AttrData::Int(v, _) => Some(vec![*v]),
            AttrData::Dense(_, l) => l.to_ints(),
            AttrData::Array(items) => items.iter().map(|&a| self.attr_data(a).as_int()).collect(),
            _ => None,
        }
    }
}
