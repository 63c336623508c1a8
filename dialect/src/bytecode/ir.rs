//! Conversion of ops, blocks and regions to MLIR's generic text.

use std::fmt::Write;
use std::rc::Rc;

use super::builtin::{location_at, name_of_location};
use super::container::{Container, IR, section, since};
use super::cursor::Cursor;
use super::entries::{Entries, Reader};
use super::properties::{self, Conversion, Property};
use super::value::{Attr, AttrKind, Type, entry, hex, joined, quoted};
use super::{Fault, Read, vhlo};
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

/// Names with values.
pub(super) type Named = Vec<(String, Rc<Attr>)>;

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
        let (start, entries) = (from.at, self.entries);
        let file = &entries.file;
        let op = &file.ops[from.index(file.ops.len(), "op")?];
        let mask = from.byte()?;
        if mask & 0x80 != 0 {
            return Err(Fault::unknown(start, format!("'{}' has a part of an unknown kind", op.text)));
        }
        let location = from.index(file.attributes.len(), "location")?;
        let mut attributes = Named::new();
        let mut own = Named::new();
        if mask & has::ATTRIBUTES != 0 {
            let dict = entries.attr(from.index(file.attributes.len(), "attribute")?);
            attributes = self.unless_known(dict.and_then(|dict| dictionary(&dict, start)));
        }
        if mask & has::PROPERTIES != 0 {
            let index = from.index(file.properties.len(), "properties")?;
            let read = own_attributes(entries, &op.text, op.registered, file.properties[index]);
            own = self.unless_known(read);
        }
        let (name, own, attributes) = match op.text.strip_prefix("vhlo.") {
            Some(name) => {
                // Old files have all attributes in one list.
                own.append(&mut attributes);
                upgraded(name, own, parent, start).unwrap_or_else(|fault| {
                    entries.report(fault);
                    (op.text.clone(), Named::new(), Named::new())
                })
            }
            None => (op.text.clone(), own, attributes),
        };
        let mut results = Vec::new();
        if mask & has::RESULTS != 0 {
            results = from.list("results", |from| from.index(file.types.len(), "type"))?;
        }
        let results = results.into_iter().map(|ty| entries.ty(ty)).collect::<Read<Vec<_>>>()?;
        let mut operands = Vec::new();
        if mask & has::OPERANDS != 0 {
            let scope = self.scope();
            let limit = scope.values.len();
            operands = from.list("operands", |from| {
                let at = from.at;
                let index = from.index(limit, "value")?;
                let early = || Fault::unknown(at, format!("an operand of '{name}' is used before it is defined"));
                scope.values[index].clone().ok_or_else(early)
            })?;
        }
        let mut successors = Vec::new();
        if mask & has::SUCCESSORS != 0 {
            successors = from.list("successors", |from| from.index(region.blocks, "block"))?;
        }
        if mask & has::USE_ORDERS != 0 && file.version >= since::USE_ORDERS {
            use_orders(from, results.len())?;
        }
        let (mut regions, mut isolated) = (0, false);
        if mask & has::REGIONS != 0 {
            let (count, flag) = from.flagged()?;
            if count > from.left() as u64 {
                return from.fault(format!("{count} regions don't fit in the {} bytes that are left", from.left()));
            }
            (regions, isolated) = (count, flag);
        }
        // StableHLO's portable form has its own types; between them and the types of other dialects, files have casts.
        if let ("builtin.unrealized_conversion_cast", [operand], [result]) = (&name[..], &operands[..], &results[..])
            && operand.1.text == result.text
            && file.dialects.contains(&"vhlo")
        {
            self.define(from, region, Some(operand.0), result.clone())?;
            return Ok(());
        }
        for (i, ty) in results.iter().enumerate() {
            let name = self.define(from, region, None, ty.clone())?;
            write!(self.out, "{}%{name}", if i > 0 { ", " } else { "" }).expect("a string takes everything");
        }
        if !results.is_empty() {
            self.out.push_str(" = ");
        }
        self.head(&name, &operands, &successors, &own);
        if regions > 0 {
            self.regions(from, regions, isolated, &name)?;
        }
        if !attributes.is_empty() {
            self.out.push(' ');
            self.dictionary(&attributes);
        }
        self.out.push_str(" : (");
        self.separated(operands.iter().map(|o| &o.1.text));
        self.out.push_str(") -> (");
        self.separated(results.iter().map(|ty| &ty.text));
        self.out.push(')');
        self.located(location);
        self.out.push('\n');
        let more = self.out.len() - self.counted;
        self.counted = self.out.len();
        entries.spend(more, start)
    }

    /// Writes `"op"(%0, %1)[^bb1] <{…}>`.
    fn head(&mut self, name: &str, operands: &[(usize, Rc<Type>)], successors: &[usize], own: &Named) {
        write!(self.out, "\"{name}\"(").expect("a string takes everything");
        self.separated(operands.iter().map(|o| format!("%{}", o.0)));
        self.out.push(')');
        if !successors.is_empty() {
            self.out.push('[');
            self.separated(successors.iter().map(|block| format!("^bb{block}")));
            self.out.push(']');
        }
        if !own.is_empty() {
            self.out.push_str(" <");
            self.dictionary(own);
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

fn dictionary(attr: &Attr, at: usize) -> Read<Named> {
    match &attr.kind {
        AttrKind::Dict(entries) => Ok(entries.clone()),
        _ => Err(Fault::new(at, "an op's attributes are not a dictionary")),
    }
}

/// Reads the attributes in an op's definition, which are stored in order.
fn own_attributes(entries: &Entries<'_>, op: &str, registered: bool, from: Cursor<'_>) -> Read<Named> {
    let (table, newest) = match op.strip_prefix("vhlo.") {
        Some(name) => {
            let (stem, version) = stem_and_version(name);
            (Some(properties::portable(stem).0), version)
        }
        None => (properties::of(op), 2),
    };
    let known = table.filter(|_| registered);
    let mut first = None;
    for version in (1..=newest).rev() {
        let Some(table) = known else { break };
        match in_order(entries, table, version, from) {
            Ok(named) => return Ok(named),
            // Dialects without version numbers have attributes that older files lack.
            Err(fault) if op.starts_with("vhlo.") => return Err(fault),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    let mut reader = Reader { entries, from, start: from.at };
    let whole = reader.attr().and_then(|attr| reader.from.finish("properties").map(|()| attr));
    match (whole, first) {
        (Ok(attr), None) if matches!(attr.kind, AttrKind::Dict(_)) => dictionary(&attr, from.at),
        (_, Some(fault)) => Err(fault),
        _ => Err(Fault::unknown(from.at, format!("the bytecode of the attributes of '{op}' is not supported"))),
    }
}

fn in_order(entries: &Entries<'_>, table: &[Property], version: u32, from: Cursor<'_>) -> Read<Named> {
    let mut reader = Reader { entries, from, start: from.at };
    let mut named = Named::new();
    for property in table.iter().filter(|p| (p.since..=p.until).contains(&version)) {
        let value = match property.form {
            Conversion::Segments(count) if entries.file.version >= since::SEGMENTS => {
                Some(Rc::new(Attr::other(format!("array<i32: {}>", segments(&mut reader.from, count)?))))
            }
            _ if property.optional => reader.optional_attr()?,
            _ => Some(reader.attr()?),
        };
        named.extend(value.map(|value| (property.name.to_owned(), value)));
    }
    reader.from.finish("the attributes of an op")?;
    Ok(named)
}

/// Reads the sizes of `count` segments: either the nonzero sizes with a bit mask of their positions, or the first
/// sizes.
fn segments(from: &mut Cursor<'_>, count: usize) -> Read<String> {
    let mut sizes = vec![0; count];
    let at = from.at;
    let (given, placed) = from.flagged()?;
    let bits = if given > 0 && placed { from.number()? } else { 0 };
    if given > count as u64 || bits > 8 {
        return Err(Fault::new(at, format!("expected the sizes of {count} segments")));
    }
    for i in 0..given as usize {
        let n = from.number()?;
        let place = if placed { n as usize & ((1 << bits) - 1) } else { i };
        match sizes.get_mut(place) {
            Some(size) => *size = n >> bits,
            None => return Err(Fault::new(at, format!("expected a segment below {count}, found {place}"))),
        }
    }
    Ok(joined(sizes.iter().map(u64::to_string)))
}

/// Splits `gather_v2` into the stem and the version.
fn stem_and_version(name: &str) -> (&str, u32) {
    match name.rsplit_once("_v").map(|(stem, version)| (stem, version.parse())) {
        Some((stem, Ok(version))) => (stem, version),
        _ => (name, 0),
    }
}

/// Returns today's name and attributes, properties and others, of an op of StableHLO's portable form.
fn upgraded(name: &str, attributes: Named, parent: &str, at: usize) -> Read<(String, Named, Named)> {
    let (stem, version) = stem_and_version(name);
    let (table, newest) = properties::portable(stem);
    if version == 0 || version > newest {
        let message = format!("'vhlo.{name}' belongs to a newer version of StableHLO than shardc supports");
        return Err(Fault::unknown(at, message));
    }
    let today = match stem {
        "func" | "call" => format!("func.{stem}"),
        "return" if parent == "func.func" => "func.return".to_owned(),
        _ => format!("stablehlo.{stem}"),
    };
    let (own, others) = vhlo::upgraded(table, attributes, at)?;
    Ok((today, own, others))
}
