//! Writing of programs as MLIR bytecode.
//!
//! The writer uses as few encodings as the format allows: attributes and types are text, except for lists,
//! dictionaries, literals, tensors and locations, which would be long as text or are shared. So it depends on no
//! dialect's codes except the builtin dialect's, of which it uses the oldest.

use rustc_hash::FxHashMap;

use super::container::{DIALECTS, ENTRIES, ENTRY_OFFSETS, IR, STRINGS};
use super::encoder::{flagged, list, number, section};
use super::ir::has;
use super::{MAGIC, builtin};
use crate::ir::{
    Attr, AttrData, Block, DYNAMIC, ElementClass, ElementType, Loc, LocData, Name, Op, Program, Region, TensorType, Ty,
    TypeData, Value,
};
use crate::text::PrintOptions;

/// The version of the format: the last version in which all attributes of an op are one dictionary, from which MLIR
/// takes those that its definition of the op stores in another way.
const VERSION: usize = 4;

/// The name of the producer.
const PRODUCER: &[u8] = concat!("shardc ", env!("CARGO_PKG_VERSION"), "\0").as_bytes();

/// Returns the program as MLIR bytecode, which [`text_of`](super::text_of), MLIR and jaxlib read. Only the options that
/// select the contents have an effect (locations, causes, groups along axes).
pub fn bytecode_of(program: &Program, options: PrintOptions) -> Vec<u8> {
    let mut writer = Writer {
        program,
        options: PrintOptions { generic: true, ..options },
        strings: Numbered::default(),
        ops: Numbered::default(),
        attributes: Entries::default(),
        types: Entries::default(),
        open: Vec::new(),
        values: vec![0; program.value_count()],
        blocks: FxHashMap::default(),
    };
    // Without any location there would be no group of attributes.
    writer.location(Loc::UNKNOWN);
    let mut ir = Vec::new();
    flagged(&mut ir, 1, false);
    writer.op(program.module, 0, &mut ir);
    writer.file(&ir)
}

/// Texts that are written once each.
#[derive(Default)]
struct Numbered {
    texts: Vec<Box<[u8]>>,
    numbers: FxHashMap<Box<[u8]>, usize>,
}

impl Numbered {
    fn of(&mut self, text: &[u8]) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.texts.push(text.into());
        self.numbers.insert(text.into(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}

/// Attributes or types that are written once each.
struct Entries<K> {
    /// The bytes, and whether they have their dialect's encoding; otherwise they are text.
    bytes: Vec<(Vec<u8>, bool)>,
    numbers: FxHashMap<K, usize>,
}

impl<K> Default for Entries<K> {
    fn default() -> Self {
        Self { bytes: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<K: std::hash::Hash + Eq + Clone> Entries<K> {
    /// Returns the number of `key`, and whether it is new, so that the caller must set its bytes.
    fn of(&mut self, key: K) -> (usize, bool) {
        let next = self.bytes.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.bytes.push(Default::default());
        }
        (number, number == next)
    }

    fn set_text(&mut self, number: usize, text: String) {
        let mut bytes = text.into_bytes();
        bytes.push(0);
        self.bytes[number] = (bytes, false);
    }
}

/// The meaning of an attribute of the file.
#[derive(Clone, PartialEq, Eq, Hash)]
enum AttrKey {
    Attr(Attr),
    /// The number of a string.
    String(usize),
    /// The attributes of an op.
    Dictionary(Box<[(Name, Attr)]>),
    Location(Loc),
}

/// The meaning of a type of the file.
#[derive(Clone, PartialEq, Eq, Hash)]
enum TypeKey {
    Type(Ty),
    /// The type of a tensor's elements.
    Element(ElementType),
}

struct Writer<'p> {
    program: &'p Program,
    options: PrintOptions,
    strings: Numbered,
    /// The names of ops, in full.
    ops: Numbered,
    attributes: Entries<AttrKey>,
    types: Entries<TypeKey>,
    /// Attributes that have a number and no bytes yet; a list, because locations may nest too deeply for recursion.
    open: Vec<(usize, AttrKey)>,
    /// The numbers of values.
    values: Vec<usize>,
    /// The numbers of blocks in their regions.
    blocks: FxHashMap<Block, usize>,
}

impl Writer<'_> {
    // Attributes and types -------------------------------------------------------------------------------------

    fn ty(&mut self, ty: Ty) -> usize {
        let (number, new) = self.types.of(TypeKey::Type(ty));
        if new {
            match self.program.type_data(ty) {
                TypeData::Tensor(tensor) => self.types.bytes[number] = (self.tensor(tensor), true),
                TypeData::Scalar(element) => self.element_bytes(number, *element),
                _ => self.types.set_text(number, self.program.type_text(ty)),
            }
        }
        number
    }

    fn tensor(&mut self, tensor: &TensorType) -> Vec<u8> {
        let mut out = Vec::new();
        match tensor.encoding {
            Some(encoding) => {
                let encoding = self.number_of(AttrKey::Attr(encoding));
                number_after(&mut out, builtin::ENCODED_TENSOR, encoding);
            }
            None => number(&mut out, builtin::TENSOR),
        }
        // Sizes are signed, and an unknown size is the smallest integer.
        let size = |&size: &i64| if size == DYNAMIC { usize::MAX } else { (size as usize) << 1 };
        list(&mut out, tensor.shape.iter().map(size));
        let (element, new) = self.types.of(TypeKey::Element(tensor.element));
        if new {
            self.element_bytes(element, tensor.element);
        }
        number(&mut out, element);
        out
    }

    fn element_bytes(&mut self, at: usize, element: ElementType) {
        let mut out = Vec::new();
        match (element, element.class()) {
            (ElementType::Index, _) => number(&mut out, builtin::INDEX),
            (_, ElementClass::Bool | ElementClass::Signed) => {
                number_after(&mut out, builtin::INTEGER, (element.bits() as usize) << 2);
            }
            (_, ElementClass::Unsigned) => number_after(&mut out, builtin::INTEGER, (element.bits() as usize) << 2 | 2),
            (_, ElementClass::Float) if builtin::FLOATS.contains(&element) => {
                let code = builtin::FLOATS.iter().position(|&float| float == element).unwrap_or_default();
                number(&mut out, builtin::FIRST_FLOAT + code);
            }
            _ => return self.types.set_text(at, self.program.element_text(element)),
        }
        self.types.bytes[at] = (out, true);
    }

    /// Returns the number of an attribute, whose bytes are set before the file is written.
    fn number_of(&mut self, key: AttrKey) -> usize {
        let (number, new) = self.attributes.of(key.clone());
        if new {
            self.open.push((number, key));
        }
        number
    }

    fn name(&mut self, name: Name) -> usize {
        let string = self.strings.of(self.program.name_text(name).as_bytes());
        self.number_of(AttrKey::String(string))
    }

    fn location(&mut self, loc: Loc) -> usize {
        let known = if self.options.locations { self.program.canonical_loc(loc) } else { Loc::UNKNOWN };
        self.number_of(AttrKey::Location(known))
    }

    /// Encodes all attributes that have a number.
    fn settle(&mut self) {
        while let Some((number, key)) = self.open.pop() {
            let mut out = Vec::new();
            let custom = match &key {
                AttrKey::String(string) => {
                    number_after(&mut out, builtin::STRING, *string);
                    true
                }
                AttrKey::Dictionary(entries) => {
                    self.dictionary(entries, &mut out);
                    true
                }
                AttrKey::Location(loc) => {
                    self.location_bytes(*loc, &mut out);
                    true
                }
                AttrKey::Attr(attr) => self.attribute(*attr, &mut out),
            };
            match (custom, key) {
                (false, AttrKey::Attr(attr)) => {
                    self.attributes.set_text(number, self.program.attr_text_with(attr, self.options));
                }
                _ => self.attributes.bytes[number] = (out, true),
            }
        }
    }

    /// Writes an attribute in the builtin dialect's encoding; returns false for attributes that are written as text.
    fn attribute(&mut self, attr: Attr, out: &mut Vec<u8>) -> bool {
        let program = self.program;
        match program.attr_data(attr) {
            AttrData::String(text) => {
                let string = self.strings.of(text.as_bytes());
                number_after(out, builtin::STRING, string);
            }
            AttrData::Array(items) => {
                number(out, builtin::ARRAY);
                number(out, items.len());
                for &item in items {
                    let item = self.number_of(AttrKey::Attr(item));
                    number(out, item);
                }
            }
            AttrData::Dict(entries) => self.dictionary(entries, out),
            AttrData::Unit => number(out, builtin::UNIT),
            AttrData::Type(ty) => {
                let ty = self.ty(*ty);
                number_after(out, builtin::TYPE, ty);
            }
            // Some versions pack narrower elements.
            AttrData::Dense(ty, literal) if literal.ty().element.bits() >= 8 && !literal.is_empty() => {
                let ty = self.ty(*ty);
                number_after(out, builtin::LITERAL, ty);
                number(out, literal.stored_bytes().len());
                out.extend(literal.stored_bytes());
            }
            _ => return false,
        }
        true
    }

    fn dictionary(&mut self, entries: &[(Name, Attr)], out: &mut Vec<u8>) {
        number_after(out, builtin::DICTIONARY, entries.len());
        for &(name, value) in entries {
            let (name, value) = (self.name(name), self.number_of(AttrKey::Attr(value)));
            number(out, name);
            number(out, value);
        }
    }

    fn location_bytes(&mut self, loc: Loc, out: &mut Vec<u8>) {
        let program = self.program;
        match &*program.loc_data(loc) {
            LocData::Unknown => number(out, builtin::UNKNOWN_LOCATION),
            LocData::File { file, start, end } => {
                let file = self.number_of(AttrKey::Attr(*file));
                let (line, column) = (start.0 as usize, start.1 as usize);
                match end {
                    None => {
                        number_after(out, builtin::FILE, file);
                        number(out, line);
                        number(out, column);
                    }
                    Some(end) => {
                        number_after(out, builtin::RANGE, file);
                        let (last, end) = (end.0 as usize, end.1 as usize);
                        match last == line {
                            true => list(out, [line, column, end].into_iter()),
                            false => list(out, [line, column, last, end].into_iter()),
                        }
                    }
                }
            }
            &LocData::Name(name, child) => {
                let (name, child) = (self.number_of(AttrKey::Attr(name)), self.location(child));
                number_after(out, builtin::NAME, name);
                number(out, child);
            }
            &LocData::CallSite(callee, caller) => {
                let (callee, caller) = (self.location(callee), self.location(caller));
                number_after(out, builtin::CALL_SITE, callee);
                number(out, caller);
            }
            LocData::Fused(metadata, parts) => {
                number(out, if metadata.is_some() { builtin::FUSED_WITH } else { builtin::FUSED });
                let parts: Vec<usize> = parts.iter().map(|&part| self.location(part)).collect();
                list(out, parts.into_iter());
                if let Some(metadata) = *metadata {
                    let metadata = self.number_of(AttrKey::Attr(metadata));
                    number(out, metadata);
                }
            }
        }
    }

    // Ops ------------------------------------------------------------------------------------------------------

    /// Writes an op; values of its regions are numbered from `next` on, unless the regions are isolated.
    fn op(&mut self, op: Op, next: usize, out: &mut Vec<u8>) {
        let program = self.program;
        let (view, data) = (program.view(op), program.op(op));
        let name = self.ops.of(view.name().as_bytes());
        number(out, name);
        let attributes = program.printed_attributes(view, self.options);
        let successors = data.successors.as_deref().unwrap_or_default();
        let parts = [
            (has::ATTRIBUTES, attributes.is_empty()),
            (has::RESULTS, view.result_count() == 0),
            (has::OPERANDS, view.operands().is_empty()),
            (has::SUCCESSORS, successors.is_empty()),
            (has::REGIONS, data.regions.is_empty()),
        ];
        out.push(parts.iter().filter(|part| !part.1).fold(0, |mask, part| mask | part.0));
        let location = self.location(data.loc);
        number(out, location);
        if !attributes.is_empty() {
            let dictionary = self.number_of(AttrKey::Dictionary(attributes.into()));
            number(out, dictionary);
        }
        if view.result_count() > 0 {
            let types: Vec<usize> = view.result_type_ids().into_iter().map(|ty| self.ty(ty)).collect();
            list(out, types.into_iter());
        }
        if !view.operands().is_empty() {
            list(out, view.operands().iter().map(|&operand| self.values[operand.index()]));
        }
        if !successors.is_empty() {
            list(out, successors.iter().map(|block| self.blocks[block]));
        }
        if !data.regions.is_empty() {
            let isolated = view.def().isolated() && data.regions.len() == 1;
            flagged(out, data.regions.len(), isolated);
            for &inner in &data.regions {
                if isolated {
                    let mut inside = Vec::new();
                    self.region(inner, 0, &mut inside);
                    section(out, IR, &inside);
                } else {
                    self.region(inner, next, out);
                }
            }
        }
    }

    fn region(&mut self, region: Region, first: usize, out: &mut Vec<u8>) {
        let program = self.program;
        let blocks = program.region_blocks(region);
        number(out, blocks.len());
        if blocks.is_empty() {
            return;
        }
        let mut next = first;
        let mut define = |value: Value| {
            self.values[value.index()] = next;
            next += 1;
        };
        for (i, &block) in blocks.iter().enumerate() {
            self.blocks.insert(block, i);
            program.block_args(block).iter().copied().for_each(&mut define);
            program.block_ops(block).iter().flat_map(|&op| program.results(op)).for_each(&mut define);
        }
        number(out, next - first);
        for &block in blocks {
            self.block(block, next, out);
        }
    }

    fn block(&mut self, block: Block, next: usize, out: &mut Vec<u8>) {
        let program = self.program;
        let (args, ops) = (program.block_args(block), program.block_ops(block));
        flagged(out, ops.len(), !args.is_empty());
        if !args.is_empty() {
            number(out, args.len());
            for &arg in args {
                let (ty, loc) = (self.ty(program.value_type(arg)), program.value_loc(arg));
                let located = self.options.locations && program.canonical_loc(loc) != Loc::UNKNOWN;
                flagged(out, ty, located);
                if located {
                    let loc = self.location(loc);
                    number(out, loc);
                }
            }
            // The orders of uses are those of the text.
            out.push(0);
        }
        for &op in ops {
            self.op(op, next, out);
        }
    }

    // The file -------------------------------------------------------------------------------------------------

    fn file(mut self, ir: &[u8]) -> Vec<u8> {
        self.settle();
        let (mut dialects, mut groups) = (Numbered::default(), Vec::new());
        // The dialect of all attributes and types.
        dialects.of(b"builtin");
        for name in &self.ops.texts {
            let dot = name.iter().position(|&b| b == b'.');
            let (dialect, op) = dot.map_or((&name[..], &name[name.len()..]), |dot| (&name[..dot], &name[dot + 1..]));
            number(&mut groups, dialects.of(dialect));
            number(&mut groups, 1);
            number(&mut groups, self.strings.of(op));
        }
        let mut names = Vec::new();
        number(&mut names, dialects.texts.len());
        for dialect in &dialects.texts {
            flagged(&mut names, self.strings.of(dialect), false);
        }
        number(&mut names, self.ops.texts.len());
        names.extend(groups);

        let (mut entries, mut offsets) = (Vec::new(), Vec::new());
        number(&mut offsets, self.attributes.bytes.len());
        number(&mut offsets, self.types.bytes.len());
        for group in [&self.attributes.bytes, &self.types.bytes] {
            if group.is_empty() {
                continue;
            }
            number(&mut offsets, 0);
            number(&mut offsets, group.len());
            for (bytes, custom) in group {
                flagged(&mut offsets, bytes.len(), *custom);
                entries.extend(bytes);
            }
        }

        let mut strings = Vec::new();
        number(&mut strings, self.strings.texts.len());
        for text in self.strings.texts.iter().rev() {
            number(&mut strings, text.len() + 1);
        }
        for text in &self.strings.texts {
            strings.extend(text);
            strings.push(0);
        }

        let mut file = MAGIC.to_vec();
        number(&mut file, VERSION);
        file.extend(PRODUCER);
        for (id, data) in
            [(STRINGS, &strings[..]), (DIALECTS, &names), (ENTRIES, &entries), (ENTRY_OFFSETS, &offsets), (IR, ir)]
        {
            section(&mut file, id, data);
        }
        file
    }
}

/// Appends a code and its number.
fn number_after(out: &mut Vec<u8>, code: usize, n: usize) {
    number(out, code);
    number(out, n);
}
