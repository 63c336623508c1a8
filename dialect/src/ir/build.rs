//! Building ops, for all passes. Every op gets the builder's current location.

use super::attr::AttrData;
use super::entity::{Attr, Block, Loc, Name, Op, Region, Ty, Value};
use super::program::Program;
use super::ty::{ElementType, TensorType, TypeData};
use crate::op::OpDef;

/// Appends ops to a list, all with one location.
pub struct Builder<'a> {
    /// The program that owns the ops.
    pub program: &'a mut Program,
    /// The ops made so far; give them to a block with [`Program::set_block_ops`].
    pub ops: &'a mut Vec<Op>,
    /// The location of the next ops.
    pub loc: Loc,
}

impl<'a> Builder<'a> {
    /// Creates a builder that appends to `ops`.
    pub fn new(program: &'a mut Program, ops: &'a mut Vec<Op>, loc: Loc) -> Self {
        Self { program, ops, loc }
    }

    /// Returns the same builder with a shorter lifetime.
    pub fn reborrow(&mut self) -> Builder<'_> {
        Builder { program: self.program, ops: self.ops, loc: self.loc }
    }

    /// Creates an op with everything given.
    pub fn raw(
        &mut self,
        def: &'static dyn OpDef,
        name: &str,
        operands: &[Value],
        results: &[Ty],
        attrs: &[(Name, Attr)],
        regions: &[Region],
    ) -> Op {
        let name = self.program.name(name);
        self.named(def, name, operands, results, attrs, regions)
    }

    /// Appends an op with everything given, whose name is interned already.
    pub fn named(
        &mut self,
        def: &'static dyn OpDef,
        name: Name,
        operands: &[Value],
        results: &[Ty],
        attrs: &[(Name, Attr)],
        regions: &[Region],
    ) -> Op {
        let op = self.program.new_op(def, operands, results, attrs, regions, self.loc);
        self.program.op_mut(op).name = name;
        self.ops.push(op);
        op
    }

    /// Creates an op with known result types.
    pub fn op(&mut self, def: &'static dyn OpDef, operands: &[Value], results: &[Ty], attrs: &[(&str, Attr)]) -> Op {
        let attrs: Vec<(Name, Attr)> = attrs.iter().map(|&(n, a)| (self.program.name(n), a)).collect();
        self.raw(def, def.name(), operands, results, &attrs, &[])
    }

    /// Creates an op whose result types are inferred from its operands and attributes. Panics when its constraints
    /// don't hold: the pass built an invalid op.
    pub fn inferred(
        &mut self,
        def: &'static dyn OpDef,
        operands: &[Value],
        attrs: &[(&str, Attr)],
        regions: &[Region],
    ) -> Vec<Value> {
        let attrs: Vec<(Name, Attr)> = attrs.iter().map(|&(n, a)| (self.program.name(n), a)).collect();
        let probe = self.program.new_op(def, operands, &[], &attrs, regions, self.loc);
        let types = match def.infer(self.program.view(probe)) {
            Ok(types) => types,
            Err(problems) => panic!("built an invalid {}: {problems:?}", def.name()),
        };
        let types: Vec<Ty> = types.into_iter().map(|t| self.program.intern_type(t)).collect();
        let op = self.raw(def, def.name(), operands, &types, &attrs, regions);
        self.program.results(op).collect()
    }

    /// Creates a region of one block over arguments of `types`; `f` fills it and ends it with a terminator.
    pub fn region(&mut self, types: &[Ty], f: impl FnOnce(&mut Builder<'_>, &[Value])) -> Region {
        let block = self.program.new_block();
        let args: Vec<Value> =
            types.iter().map(|&ty| self.program.add_block_arg(block, ty, self.loc, Default::default())).collect();
        let mut ops = Vec::new();
        f(&mut Builder { program: self.program, ops: &mut ops, loc: self.loc }, &args);
        self.program.set_block_ops(block, ops);
        self.program.new_region(&[block])
    }

    /// Returns the tensor type of a value; panics when it has none.
    pub fn tensor(&self, value: Value) -> &TensorType {
        self.program.tensor_type(value).expect("a tensor")
    }
}

impl Program {
    /// Returns the id of `tensor<shape x element>`.
    pub fn tensor(&mut self, shape: &[i64], element: ElementType) -> Ty {
        self.intern_type(TensorType::new(shape, element))
    }

    /// `value : i64`
    pub fn attr_i64(&mut self, value: i64) -> Attr {
        let ty = self.intern_type(TypeData::Scalar(ElementType::I64));
        self.intern_attr(AttrData::Int(value, ty))
    }

    /// `array<i64: …>`
    pub fn attr_i64s(&mut self, values: &[i64]) -> Attr {
        self.intern_attr(AttrData::DenseArray(ElementType::I64, values.to_vec()))
    }

    /// `"text"`
    pub fn attr_str(&mut self, text: &str) -> Attr {
        self.intern_attr(AttrData::String(text.into()))
    }

    /// `#stablehlo<kind value>`
    pub fn attr_enum(&mut self, kind: &str, value: &str) -> Attr {
        self.intern_attr(AttrData::Enum("stablehlo".into(), kind.into(), value.into()))
    }

    /// `#stablehlo.name<field = [ints], …>`: empty lists are left out, as MLIR prints them.
    pub fn attr_struct(&mut self, name: &str, lists: &[(&str, &[i64])], ints: &[(&str, i64)]) -> Attr {
        let mut fields = Vec::new();
        for &(key, values) in lists.iter().filter(|l| !l.1.is_empty()) {
            let attr = self.attr_i64s(values);
            fields.push((self.name(key), attr));
        }
        for &(key, value) in ints {
            let attr = self.attr_i64(value);
            fields.push((self.name(key), attr));
        }
        self.intern_attr(AttrData::Struct(name.into(), fields))
    }

    /// Returns the blocks of every function, with the op.
    pub fn functions(&self) -> Vec<(Op, Block)> {
        crate::ops::func::functions(self).filter_map(|f| Some((f, crate::ops::func::block(self, f)?))).collect()
    }
}
