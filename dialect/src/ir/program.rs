//! A program: arenas of ops, values, blocks and regions, and the tables of everything hash-consed.
//!
//! **Invariant:** every op has a location, and the results of an op are consecutive values. Removing an op only takes
//! it out of its block; its entry stays until the program is dropped.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::attr::AttrData;
use super::entity::{Attr, Block, Loc, Name, Op, Region, Ty, Value};
use super::loc::{LocData, TextPlaces};
use super::memo::Memo;
use super::stage::Stage;
use super::ty::{TensorType, TypeData};
use super::view::OpRef;
use crate::diagnostic::Span;
use crate::id::{Interner, TiVec};
use crate::op::{OpDef, Registry};

/// The largest number of ops in a program, both in its text and after calls are inlined.
pub const MAX_OPS: usize = 8_000_000;

/// Attributes of an op, sorted by the text of their names.
pub type AttrList = SmallVec<[(Name, Attr); 2]>;

/// The data of an op.
#[derive(Clone)]
pub struct OpData {
    /// Its definition; [`crate::ops::UNKNOWN`] for unregistered ops.
    pub def: &'static dyn OpDef,
    /// Its full name, `stablehlo.add`.
    pub name: Name,
    /// The values it reads.
    pub operands: SmallVec<[Value; 3]>,
    /// Its attributes, sorted by name.
    pub attrs: AttrList,
    /// Its regions.
    pub regions: SmallVec<[Region; 1]>,
    /// The successor blocks in its region, if it ends one of several blocks.
    pub successors: Option<Box<[Block]>>,
    /// Its source location.
    pub loc: Loc,
    /// Its name in the source text; empty when a pass made it.
    pub span: Span,
    /// Its operands in the source text; shorter than `operands` if the text doesn't contain them all.
    pub operand_spans: SmallVec<[Span; 3]>,
    /// The whole op in the source text, without the inside of its regions.
    pub text_span: Span,
    /// The stage of the program in which it was created. Copies made until import are as old as the original, since
    /// inlining copies the user's ops; later copies are the compiler's.
    pub created: Stage,
    pub(crate) first_result: Value,
    pub(crate) result_count: u32,
}

impl OpData {
    /// Returns whether the compiler created it after import, so that it has no annotation of the user.
    pub fn is_made(&self) -> bool {
        self.created > Stage::Imported
    }

    fn results(&self) -> Range<Value> {
        self.first_result..Value::new(self.first_result.index() + self.result_count as usize)
    }
}

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueSource {
    /// A result of an op.
    Result(Op, u32),
    /// An argument of a block.
    Arg(Block, u32),
}

#[derive(Clone, Copy)]
pub(crate) struct ValueData {
    pub(crate) ty: Ty,
    pub(crate) source: ValueSource,
    pub(crate) span: Span,
    pub(crate) loc: Loc,
}

#[derive(Clone, Default)]
pub(crate) struct BlockData {
    pub(crate) args: Vec<Value>,
    pub(crate) ops: Vec<Op>,
}

/// A whole module.
#[derive(Clone)]
pub struct Program {
    pub(crate) names: Interner<Name, Box<str>>,
    types: Interner<Ty, TypeData>,
    attrs: Interner<Attr, AttrData>,
    locs: Interner<Loc, LocData>,
    /// The table that maps text locations to lines of a file.
    pub(super) text_places: TextPlaces,
    /// The targets of `loc(#alias)`: their ids follow those of the table, and are resolved when the text ends.
    pub(crate) loc_aliases: Vec<Loc>,
    pub(crate) ops: TiVec<Op, OpData>,
    pub(crate) values: TiVec<Value, ValueData>,
    pub(crate) blocks: TiVec<Block, BlockData>,
    pub(crate) regions: TiVec<Region, SmallVec<[Block; 1]>>,
    /// The text it was parsed from, for diagnostics that point into attributes.
    pub source: Option<Arc<str>>,
    /// The outermost op, `builtin.module`.
    pub module: Op,
    registry: Registry,
    pub(super) stage: Stage,
    pub(super) memo: Memo,
}

/// The first location id that is an alias.
pub(crate) const LOC_ALIAS: usize = 1 << 31;

impl Program {
    /// Creates an empty module of the standard ops.
    pub fn new() -> Self {
        Self::with_registry(Registry::standard())
    }

    /// Creates an empty module with the ops of `registry`.
    pub fn with_registry(registry: Registry) -> Self {
        let mut p = Program {
            names: Interner::default(),
            types: Interner::default(),
            attrs: Interner::default(),
            locs: Interner::default(),
            text_places: TextPlaces::default(),
            loc_aliases: Vec::new(),
            ops: TiVec::new(),
            values: TiVec::new(),
            blocks: TiVec::new(),
            regions: TiVec::new(),
            source: None,
            module: Op::new(0),
            registry,
            stage: Stage::default(),
            memo: Memo::default(),
        };
        p.locs.intern(LocData::Unknown);
        let block = p.new_block();
        let region = p.new_region(&[block]);
        let def: &'static dyn OpDef = &crate::ops::func::MODULE;
        p.module = p.new_op(def, &[], &[], &[], &[region], Loc::UNKNOWN);
        p
    }

    /// Returns the registry of ops that the program was created with.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    // Interning ------------------------------------------------------------------------------------------------

    /// Returns the id of `text`.
    pub fn name(&mut self, text: &str) -> Name {
        match self.names.find(text) {
            Some(name) => name,
            None => self.names.intern(text.into()),
        }
    }

    /// Returns the id of `text` if it has one already.
    pub fn find_name(&self, text: &str) -> Option<Name> {
        self.names.find(text)
    }

    /// Returns the text of a name.
    pub fn name_text(&self, name: Name) -> &str {
        &self.names[name]
    }

    /// Returns the id of a type.
    pub fn intern_type(&mut self, ty: impl Into<TypeData>) -> Ty {
        self.types.intern(ty.into())
    }

    /// Returns whether the program ever had a type of a tensor on a mesh of a topology.
    pub fn knows_mesh_tensors(&self) -> bool {
        self.types.iter().any(|ty| matches!(ty, TypeData::MeshTensor(_)))
    }

    /// Returns the type behind an id.
    pub fn type_data(&self, ty: Ty) -> &TypeData {
        &self.types[ty]
    }

    /// Returns the upper bound of each dimension (`None`: unknown), if the type states bounds: `#stablehlo.bounds<4,
    /// ?>`.
    pub fn bounds(&self, ty: &TensorType) -> Option<Vec<Option<i64>>> {
        let AttrData::Opaque(text) = self.attr_data(ty.encoding?) else { return None };
        let list = text.strip_prefix("#stablehlo.bounds<")?.strip_suffix('>')?;
        Some(list.split(", ").filter(|b| !b.is_empty()).map(|b| b.parse().ok()).collect())
    }

    /// Returns whether the types at each position are compatible; see [`TypeData::compatible`].
    pub fn compatible_types(&self, a: &[Ty], b: &[Ty]) -> bool {
        let same = |(&a, &b): (&Ty, &Ty)| a == b || self.type_data(a).compatible(self.type_data(b));
        a.len() == b.len() && a.iter().zip(b).all(same)
    }

    /// Returns the id of an attribute.
    pub fn intern_attr(&mut self, attr: AttrData) -> Attr {
        self.attrs.intern(attr)
    }

    /// Returns the attribute behind an id.
    pub fn attr_data(&self, attr: Attr) -> &AttrData {
        &self.attrs[attr]
    }

    /// Returns the id of a location.
    pub fn intern_loc(&mut self, loc: LocData) -> Loc {
        self.locs.intern(loc)
    }

    /// Returns the location behind an id, aliases followed.
    pub fn loc_data(&self, loc: Loc) -> Cow<'_, LocData> {
        let loc = self.canonical_loc(loc);
        match self.text_place(loc) {
            Some(place) => Cow::Owned(place),
            None => Cow::Borrowed(&self.locs[loc]),
        }
    }

    /// Returns the target of an alias; `None` for any other location.
    pub(super) fn alias_target(&self, loc: Loc) -> Option<Loc> {
        let slot = loc.index().checked_sub(LOC_ALIAS)?;
        Some(self.loc_aliases.get(slot).copied().unwrap_or(Loc::UNKNOWN))
    }

    /// Returns the id behind an alias.
    pub fn canonical_loc(&self, mut loc: Loc) -> Loc {
        // An alias may name an alias; a cycle among them resolves to unknown.
        for _ in 0..64 {
            match self.alias_target(loc) {
                Some(target) => loc = target,
                None => return loc,
            }
        }
        Loc::UNKNOWN
    }

    // Building -------------------------------------------------------------------------------------------------

    /// Creates a block without arguments and ops.
    pub fn new_block(&mut self) -> Block {
        self.blocks.push_and_get_key(BlockData::default())
    }

    /// Creates a region of these blocks.
    pub fn new_region(&mut self, blocks: &[Block]) -> Region {
        self.regions.push_and_get_key(SmallVec::from_slice(blocks))
    }

    /// Appends an argument to a block.
    pub fn add_block_arg(&mut self, block: Block, ty: Ty, loc: Loc, span: Span) -> Value {
        let index = self.blocks[block].args.len() as u32;
        let value = self.values.push_and_get_key(ValueData { ty, source: ValueSource::Arg(block, index), span, loc });
        self.blocks[block].args.push(value);
        value
    }

    /// Creates an op in no block yet, with the name of its definition. `attrs` need not be sorted.
    pub fn new_op(
        &mut self,
        def: &'static dyn OpDef,
        operands: &[Value],
        results: &[Ty],
        attrs: &[(Name, Attr)],
        regions: &[Region],
        loc: Loc,
    ) -> Op {
        crate::interrupt::check();
        let op = self.ops.next_key();
        let name = self.name(def.name());
        let def = self.registry.current(def);
        let first_result = self.values.next_key();
        for (i, &ty) in results.iter().enumerate() {
            self.values.push(ValueData { ty, source: ValueSource::Result(op, i as u32), span: Span::default(), loc });
        }
        let mut attrs = AttrList::from_slice(attrs);
        if attrs.len() > 1 {
            attrs.sort_by(|a, b| self.names[a.0].cmp(&self.names[b.0]));
        }
        self.ops.push(OpData {
            def,
            name,
            operands: SmallVec::from_slice(operands),
            attrs,
            regions: SmallVec::from_slice(regions),
            successors: None,
            loc,
            span: Span::default(),
            operand_spans: SmallVec::new(),
            text_span: Span::default(),
            created: self.stage,
            first_result,
            result_count: results.len() as u32,
        });
        op
    }

    /// Returns a copy of the op with its own results, over the same operands and regions; in no block yet.
    pub fn copy_op(&mut self, op: Op) -> Op {
        let copy = self.ops.next_key();
        let mut data = self.ops[op].clone();
        if self.stage > Stage::Imported {
            data.created = self.stage;
        }
        let results = data.results();
        data.first_result = self.values.next_key();
        self.values.extend_from_within_corrected(results);
        for (i, value) in self.values[data.first_result..].iter_mut().enumerate() {
            value.source = ValueSource::Result(copy, i as u32);
        }
        self.ops.push(data);
        copy
    }

    /// Appends an op to a block.
    pub fn append(&mut self, block: Block, op: Op) {
        self.blocks[block].ops.push(op);
    }

    /// Replaces the ops of a block.
    pub fn set_block_ops(&mut self, block: Block, ops: Vec<Op>) {
        self.blocks[block].ops = ops;
    }

    /// Replaces the blocks of a region.
    pub fn set_region_blocks(&mut self, region: Region, blocks: &[Block]) {
        self.regions[region] = SmallVec::from_slice(blocks);
    }

    // Reading --------------------------------------------------------------------------------------------------

    /// Returns the op behind an id.
    pub fn op(&self, op: Op) -> &OpData {
        &self.ops[op]
    }

    /// Returns the op behind an id, to change it.
    pub fn op_mut(&mut self, op: Op) -> &mut OpData {
        &mut self.ops[op]
    }

    /// Returns a convenient view of an op.
    pub fn view(&self, op: Op) -> OpRef<'_> {
        OpRef { program: self, op }
    }

    /// Returns the name of an op.
    pub fn op_name(&self, op: Op) -> &str {
        self.name_text(self.op(op).name)
    }

    /// Returns the results of an op.
    pub fn results(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + use<> {
        let results = self.op(op).results();
        (results.start.index()..results.end.index()).map(Value::new)
    }

    /// Result `index` of an op; panics when it has fewer.
    pub fn result(&self, op: Op, index: usize) -> Value {
        let d = self.op(op);
        assert!(index < d.result_count as usize, "{} has no result {index}", self.op_name(op));
        Value::new(d.first_result.index() + index)
    }

    /// Returns the number of results.
    pub fn result_count(&self, op: Op) -> usize {
        self.op(op).result_count as usize
    }

    /// Returns the type of a value.
    pub fn value_type(&self, value: Value) -> Ty {
        self.values[value].ty
    }

    /// Changes the type of a value.
    pub fn set_value_type(&mut self, value: Value, ty: Ty) {
        self.values[value].ty = ty;
    }

    /// Returns the tensor type of a value, if it has one.
    pub fn tensor_type(&self, value: Value) -> Option<&TensorType> {
        self.type_data(self.value_type(value)).tensor()
    }

    /// Returns the definition of a value: an op's result or a block's argument.
    pub fn value_source(&self, value: Value) -> ValueSource {
        self.values[value].source
    }

    /// Returns the place of a value in the source text.
    pub fn value_span(&self, value: Value) -> Span {
        self.values[value].span
    }

    /// Returns the location of a value: its op's, or its own for an argument.
    pub fn value_loc(&self, value: Value) -> Loc {
        self.values[value].loc
    }

    /// Returns the number of values ever made, for dense side tables.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of ops ever made, for dense side tables.
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// Returns the arguments of a block.
    pub fn block_args(&self, block: Block) -> &[Value] {
        &self.blocks[block].args
    }

    /// Returns the ops of a block in order.
    pub fn block_ops(&self, block: Block) -> &[Op] {
        &self.blocks[block].ops
    }

    /// Returns the blocks of a region.
    pub fn region_blocks(&self, region: Region) -> &[Block] {
        &self.regions[region]
    }

    /// Returns the first block of region `index` of an op.
    pub fn region_block(&self, op: Op, index: usize) -> Option<Block> {
        let region = *self.op(op).regions.get(index)?;
        self.region_blocks(region).first().copied()
    }

    /// Returns the last op of a block: its terminator, if the block is well formed.
    pub fn terminator(&self, block: Block) -> Option<Op> {
        self.block_ops(block).last().copied()
    }

    /// Returns the block of the module.
    pub fn body(&self) -> Block {
        self.region_block(self.module, 0).expect("the module has a block")
    }

    // Attributes -----------------------------------------------------------------------------------------------

    /// Iterates over all attributes that any op ever had.
    pub(crate) fn all_attrs(&self) -> impl Iterator<Item = &AttrData> {
        self.attrs.iter()
    }

    /// Attribute `name` of an op.
    pub fn attr(&self, op: Op, name: &str) -> Option<Attr> {
        let d = self.op(op);
        d.attrs.iter().find(|a| &*self.names[a.0] == name).map(|a| a.1)
    }

    /// Sets attribute `name` of an op.
    pub fn set_attr(&mut self, op: Op, name: &str, attr: Attr) {
        let id = self.name(name);
        let names = &self.names;
        let attrs = &mut self.ops[op].attrs;
        match attrs.binary_search_by(|a| (*names[a.0]).cmp(name)) {
            Ok(i) => attrs[i].1 = attr,
            Err(i) => attrs.insert(i, (id, attr)),
        }
    }

    /// Removes attribute `name` of an op.
    pub fn remove_attr(&mut self, op: Op, name: &str) {
        let names = &self.names;
        self.ops[op].attrs.retain(|a| &*names[a.0] != name);
    }

    /// Changes `op` into another op with the same operands, results and attributes.
    pub fn set_def(&mut self, op: Op, def: &'static dyn OpDef) {
        let (def, name) = (self.registry.current(def), self.name(def.name()));
        let data = self.op_mut(op);
        (data.def, data.name) = (def, name);
    }

    /// Inserts `ops` before all others at the top level of the module.
    pub fn prepend(&mut self, mut ops: Vec<Op>) {
        let body = self.body();
        ops.extend_from_slice(self.block_ops(body));
        self.set_block_ops(body, ops);
    }

    /// Top-level ops named `name`: functions, meshes.
    pub fn top_level<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Op> + 'a {
        self.block_ops(self.body()).iter().copied().filter(move |&op| self.op_name(op) == name)
    }

    /// Finds the first occurrence of `text` inside `span` of the source, to point into an attribute; returns `span` if
    /// there is none.
    pub fn find_in_source(&self, span: Span, text: &str) -> Span {
        let found =
            self.source.as_ref().and_then(|s| s.get(span.start as usize..span.end as usize)).and_then(|s| s.find(text));
        match found {
            Some(at) => Span::new(span.start as usize + at, span.start as usize + at + text.len()),
            None => span,
        }
    }
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}
