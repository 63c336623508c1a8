//! Conversion of ops, blocks and regions to MLIR's generic text.

use std::fmt::Write;
use std::rc::Rc;

use super::builtin::{location_at, name_of_location};
use super::container::{Container, IR, section, since};
use super::cursor::Cursor;
use super::entries::Entries;
use super::op_attributes::{Named, dictionary, own_attributes, upgraded};
use super::value::{Type, entry, hex, quoted};
use super::{Fault, Read};
use crate::text::MAX_NESTING;

/// The flags of the parts that an op has.
pub(super) mod has {
    pub(in crate::bytecode) const ATTRIBUTES: u8 = 1;
    pub(in crate::bytecode) const RESULTS: u8 = 2;
    pub(in crate::bytecode) const OPERANDS: u8 = 4;
    pub(in crate::bytecode) const SUCCESSORS: u8 = 8;
    pub(in crate::bytecode) const REGIONS: u8 = 16;
    pub(in crate::bytecode) const USE_ORDERS: u8 = 32;
    pub(in crate::bytecode) const PROPERTIES: u8 = 64;
}

/// Returns the text of a program, or all faults.
pub(super) fn text(file: &[u8]) -> Result<String, Vec<Fault>> {
    let container = Container::read(file).map_err(|fault| vec![fault])?;
    let from = container.ir;
    let entries = Entries::new(container, file.len());
    let mut writer = Writer {
        known: vec![false; entries.file.attributes.len()],
        entries: &entries,
        out: String::new(),
        counted: 0,
        locations: Vec::new(),
        scopes: vec![Scope { first: 0, values: Vec::new() }],
        depth: [0; 2],
    };
    let written = writer.program(from);
    let out = writer.out;
    if let Err(fault) = written {
        entries.report(fault);
    }
    if entries.has_faults() { Err(entries.into_faults()) } else { Ok(out) }
}

/// The values that are visible in a region isolated from above.
struct Scope {
    /// The number of the first value, which is its name.
    first: usize,
    /// The names and types of the values; `None` for values that aren't defined yet.
    values: Vec<Option<(usize, Rc<Type>)>>,
}

/// A region that is being converted.
struct Region {
    /// The next value to be defined.
    next: usize,
    /// One past its last value.
    end: usize,
    blocks: usize,
}

/// An op without its regions.
#[derive(Default)]
struct Parts {
    name: String,
    /// The attributes in its definition.
    own: Named,
    /// The other attributes.
    attributes: Named,
    /// The names and types of the operands.
    operands: Vec<(usize, Rc<Type>)>,
    results: Vec<Rc<Type>>,
    successors: Vec<usize>,
    location: usize,
    /// The number of regions that follow.
    regions: u64,
    isolated: bool,
}

struct Writer<'e, 'a> {
    entries: &'e Entries<'a>,
    out: String,
    /// The number of bytes of `out` that were counted.
    counted: usize,
    /// The attributes that are needed as locations, and which ones are in that list.
    locations: Vec<usize>,
    known: Vec<bool>,
    scopes: Vec<Scope>,
    /// The numbers of regions around the current op, by whether they see the values around them.
    depth: [usize; 2],
}

impl<'a> Writer<'_, 'a> {
    fn program(&mut self, mut from: Cursor<'a>) -> Read<()> {
        self.block(&mut from, &mut Region { next: 0, end: 0, blocks: 1 }, 0, "")?;
        from.finish("the program")?;
        self.definitions_of_locations()?;
        self.resources();
        Ok(())
    }

    fn region(&mut self, from: &mut Cursor<'a>, parent: &str) -> Read<()> {
        let blocks = from.count("blocks")?;
        if blocks == 0 {
            self.out.push_str("{}");
            return Ok(());
        }
        let (at, values) = (from.at, from.number()?);
        // Each value has a type, which takes at least a byte.
        let all = self.entries.file.ir.left();
        let values = usize::try_from(values).ok().filter(|&n| n <= all);
        let Some(values) = values else {
            return Err(Fault::new(at, format!("a region of {all} bytes has more values")));
        };
        let scope = self.scope();
        let start = scope.values.len();
        scope.values.resize(start + values, None);
        let mut region = Region { next: start, end: start + values, blocks };
        self.out.push_str("{\n");
        for block in 0..blocks {
            self.block(from, &mut region, block, parent)?;
        }
        self.out.push('}');
        self.scope().values.truncate(start);
        Ok(())
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the program is one")
    }

    fn block(&mut self, from: &mut Cursor<'a>, region: &mut Region, number: usize, parent: &str) -> Read<()> {
        let (ops, has_arguments) = from.flagged()?;
        let entries = self.entries;
        let version = entries.file.version;
        // An empty block needs its label.
        let labeled = has_arguments || region.blocks > 1 || ops == 0 && !parent.is_empty();
        if labeled {
            write!(self.out, "^bb{number}").expect("a string takes everything");
        }
        if has_arguments {
            let count = from.count("arguments")?;
            self.out.push('(');
            for i in 0..count {
                let types = entries.file.types.len();
                let (ty, located) = match version < since::SHORT_ARGUMENTS {
                    true => (from.index(types, "type")?, true),
                    false => from.flagged_index(types, "type")?,
                };
                let ty = entries.ty(ty)?;
                let name = self.define(from, region, None, ty.clone())?;
                if i > 0 {
                    self.out.push_str(", ");
                }
                write!(self.out, "%{name}: {}", ty.text).expect("a string takes everything");
                match located {
                    true => self.location(from)?,
                    false => self.out.push_str(" loc(unknown)"),
                }
            }
            self.out.push(')');
            if version >= since::USE_ORDERS && from.byte()? != 0 {
                use_orders(from, count)?;
            }
        }
        if labeled {
            self.out.push_str(":\n");
        }
        if ops > from.left() as u64 {
            return from.fault(format!("{ops} ops don't fit in the {} bytes that are left", from.left()));
        }
        for _ in 0..ops {
            self.op(from, region, parent)?;
        }
        Ok(())
    }

    /// Defines the next value of the region with type `ty`, named `same` if given; returns its name.
    fn define(&mut self, from: &Cursor<'a>, region: &mut Region, same: Option<usize>, ty: Rc<Type>) -> Read<usize> {
        if region.next >= region.end {
            return from.fault("a region has more values than it declares");
        }
        let scope = self.scope();
        let name = same.unwrap_or(scope.first + region.next);
        scope.values[region.next] = Some((name, ty));
        region.next += 1;
        Ok(name)
    }

    fn op(&mut self, from: &mut Cursor<'a>, region: &mut Region, parent: &str) -> Read<()> {
        let start = from.at;
        let op = self.parts(from, region, parent)?;
        // StableHLO's portable form has its own types; between them and the types of other dialects, files have casts.
        if let ("builtin.unrealized_conversion_cast", [operand], [result]) =
            (&op.name[..], &op.operands[..], &op.results[..])
            && operand.1.text == result.text
            && self.entries.file.dialects.contains(&"vhlo")
        {
            self.define(from, region, Some(operand.0), result.clone())?;
            return Ok(());
        }
        for (i, ty) in op.results.iter().enumerate() {
            let name = self.define(from, region, None, ty.clone())?;
            write!(self.out, "{}%{name}", if i > 0 { ", " } else { "" }).expect("a string takes everything");
        }
        if !op.results.is_empty() {
            self.out.push_str(" = ");
        }
        self.head(&op);
        if op.regions > 0 {
            self.regions(from, op.regions, op.isolated, &op.name)?;
        }
        if !op.attributes.is_empty() {
            self.out.push(' ');
            self.dictionary(&op.attributes);
        }
        self.out.push_str(" : (");
        self.separated(op.operands.iter().map(|o| &o.1.text));
        self.out.push_str(") -> (");
        self.separated(op.results.iter().map(|ty| &ty.text));
        self.out.push(')');
        self.located(op.location);
        self.out.push('\n');
        let more = self.out.len() - self.counted;
        self.counted = self.out.len();
        self.entries.spend(more, start)
    }

    /// Reads an op up to its regions.
    fn parts(&mut self, from: &mut Cursor<'a>, region: &Region, parent: &str) -> Read<Parts> {
        let (start, entries) = (from.at, self.entries);
        let file = &entries.file;
        let op = &file.ops[from.index(file.ops.len(), "op")?];
        let mask = from.byte()?;
        if mask & 0x80 != 0 {
            return Err(Fault::unknown(start, format!("'{}' has a part of an unknown kind", op.text)));
        }
        let location = from.index(file.attributes.len(), "location")?;
        let mut parts = Parts { name: op.text.clone(), location, ..Parts::default() };
        if mask & has::ATTRIBUTES != 0 {
            let dict = entries.attr(from.index(file.attributes.len(), "attribute")?);
            parts.attributes = self.unless_known(dict.and_then(|dict| dictionary(&dict, start)));
        }
        if mask & has::PROPERTIES != 0 {
            let index = from.index(file.properties.len(), "properties")?;
            parts.own = self.unless_known(own_attributes(entries, &op.text, op.registered, file.properties[index]));
        }
        if let Some(name) = op.text.strip_prefix("vhlo.") {
            // Old files have all attributes in one list.
            parts.own.append(&mut parts.attributes);
            match upgraded(name, std::mem::take(&mut parts.own), parent, start) {
                Ok((name, own, attributes)) => (parts.name, parts.own, parts.attributes) = (name, own, attributes),
                Err(fault) => entries.report(fault),
            }
        }
        if mask & has::RESULTS != 0 {
            let types = from.list("results", |from| from.index(file.types.len(), "type"))?;
            parts.results = types.into_iter().map(|ty| entries.ty(ty)).collect::<Read<_>>()?;
        }
        if mask & has::OPERANDS != 0 {
            let (scope, name) = (self.scope(), &parts.name);
            let limit = scope.values.len();
            parts.operands = from.list("operands", |from| {
                let at = from.at;
                let index = from.index(limit, "value")?;
                let early = || Fault::unknown(at, format!("an operand of '{name}' is used before it is defined"));
                scope.values[index].clone().ok_or_else(early)
            })?;
        }
        if mask & has::SUCCESSORS != 0 {
            parts.successors = from.list("successors", |from| from.index(region.blocks, "block"))?;
        }
        if mask & has::USE_ORDERS != 0 && file.version >= since::USE_ORDERS {
            use_orders(from, parts.results.len())?;
        }
        if mask & has::REGIONS != 0 {
            (parts.regions, parts.isolated) = from.flagged()?;
            if parts.regions > from.left() as u64 {
                let (regions, left) = (parts.regions, from.left());
                return from.fault(format!("{regions} regions don't fit in the {left} bytes that are left"));
            }
        }
        Ok(parts)
    }

    /// Writes `"op"(%0, %1)[^bb1] <{…}>`.
    fn head(&mut self, op: &Parts) {
        write!(self.out, "\"{}\"(", op.name).expect("a string takes everything");
        self.separated(op.operands.iter().map(|o| format!("%{}", o.0)));
        self.out.push(')');
        if !op.successors.is_empty() {
            self.out.push('[');
            self.separated(op.successors.iter().map(|block| format!("^bb{block}")));
            self.out.push(']');
        }
        if !op.own.is_empty() {
            self.out.push_str(" <");
            self.dictionary(&op.own);
            self.out.push('>');
        }
    }

    fn regions(&mut self, from: &mut Cursor<'a>, count: u64, isolated: bool, name: &str) -> Read<()> {
        let depth = usize::from(isolated);
        if self.depth[depth] >= MAX_NESTING {
            return from.fault(format!("regions are nested deeper than {MAX_NESTING} levels"));
        }
        self.depth[depth] += 1;
        let sectioned = isolated && self.entries.file.version >= since::SECTIONS_OF_REGIONS;
        let mut inside = *from;
        if sectioned {
            let at = from.at;
            let (number, data) = section(from)?;
            if number != IR {
                return Err(Fault::new(at, "expected the section of a region"));
            }
            inside = data;
        }
        if isolated {
            let first = self.scopes.last().map_or(0, |s| s.first + s.values.len());
            self.scopes.push(Scope { first, values: Vec::new() });
        }
        self.out.push_str(" (");
        for i in 0..count {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.region(&mut inside, name)?;
        }
        self.out.push(')');
        if isolated {
            self.scopes.pop();
        }
        match sectioned {
            true => inside.finish("a region")?,
            false => *from = inside,
        }
        self.depth[depth] -= 1;
        Ok(())
    }

    /// Returns the value, or an empty one after reporting a fault, so that further faults are found.
    fn unless_known(&self, read: Read<Named>) -> Named {
        read.unwrap_or_else(|fault| {
            self.entries.report(fault);
            Named::new()
        })
    }

    fn separated<T: AsRef<str>>(&mut self, items: impl Iterator<Item = T>) {
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(item.as_ref());
        }
    }

    fn dictionary(&mut self, attributes: &Named) {
        self.out.push('{');
        self.separated(attributes.iter().map(|(name, value)| entry(name, value)));
        self.out.push('}');
    }

    fn location(&mut self, from: &mut Cursor<'a>) -> Read<()> {
        let index = from.index(self.entries.file.attributes.len(), "location")?;
        self.located(index);
        Ok(())
    }

    /// Writes `loc(#loc12)`.
    fn located(&mut self, index: usize) {
        self.need(index);
        write!(self.out, " loc({})", name_of_location(index)).expect("a string takes everything");
    }

    fn need(&mut self, index: usize) {
        if !std::mem::replace(&mut self.known[index], true) {
            self.locations.push(index);
        }
    }

    /// Writes `#loc12 = loc(…)` after the program, as JAX does.
    fn definitions_of_locations(&mut self) -> Read<()> {
        let mut at = 0;
        while at < self.locations.len() {
            let index = self.locations[at];
            at += 1;
            let mut needs = Vec::new();
            match location_at(self.entries, index, &mut needs) {
                Ok(text) => {
                    self.entries.spend(text.len(), self.entries.file.attributes[index].data.at)?;
                    writeln!(self.out, "{} = loc({text})", name_of_location(index)).expect("a string takes everything");
                }
                Err(fault) => self.entries.report(fault),
            }
            needs.into_iter().for_each(|index| self.need(index));
        }
        Ok(())
    }

    /// Writes `{-# dialect_resources: … #-}`.
    fn resources(&mut self) {
        let blob = |r: &super::container::Resource<'_>| {
            let (alignment, bytes) = r.blob?;
            Some(format!("{}: {}", quoted(r.key), hex(&(alignment as u32).to_le_bytes(), bytes)))
        };
        let blobs: Vec<String> = self.entries.file.resources.iter().filter_map(blob).collect();
        if !blobs.is_empty() {
            let blobs = blobs.join(",\n");
            writeln!(self.out, "{{-# dialect_resources: {{ builtin: {{\n{blobs}\n}} }} #-}}")
                .expect("a string takes everything");
        }
    }
}

/// Skips the orders of the uses of `values` values, which have no meaning here.
fn use_orders(from: &mut Cursor<'_>, values: usize) -> Read<()> {
    let count = if values > 1 { from.count("orders of uses")? } else { 1 };
    for _ in 0..count {
        if values > 1 {
            from.index(values, "value")?;
        }
        let at = from.at;
        let (uses, _) = from.flagged()?;
        if uses > from.left() as u64 {
            return Err(Fault::new(at, format!("{uses} uses don't fit in the {} bytes that are left", from.left())));
        }
        for _ in 0..uses {
            from.number()?;
        }
    }
    Ok(())
}
