//! The attributes in the definition of an op, which are stored in order, and their conversion from StableHLO's portable
//! form.

use std::rc::Rc;

use super::container::since;
use super::cursor::Cursor;
use super::entries::{Entries, Reader};
use super::properties::{self, Conversion, Property};
use super::value::{Attr, AttrKind, joined};
use super::{Fault, Read, vhlo};

/// Names with values.
pub(super) type Named = Vec<(String, Rc<Attr>)>;

pub(super) fn dictionary(attr: &Attr, at: usize) -> Read<Named> {
    match &attr.kind {
        AttrKind::Dict(entries) => Ok(entries.clone()),
        _ => Err(Fault::new(at, "an op's attributes are not a dictionary")),
    }
}

/// Reads the attributes in an op's definition, which are stored in order.
pub(super) fn own_attributes(entries: &Entries<'_>, op: &str, registered: bool, from: Cursor<'_>) -> Read<Named> {
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
        let value = match property.conversion {
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
pub(super) fn upgraded(name: &str, attributes: Named, parent: &str, at: usize) -> Read<(String, Named, Named)> {
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
