//! The sections of a file, and their tables: strings, dialects, names of ops, positions of attributes and types,
//! properties of ops, resources.

use super::cursor::Cursor;
use super::{Fault, MAGIC, NEWEST, Read};

/// The versions of the format that introduced each feature.
pub(super) mod since {
    /// Dialects state their versions.
    pub(in crate::bytecode) const DIALECT_VERSIONS: u64 = 1;
    /// Isolated regions are separate sections.
    pub(in crate::bytecode) const SECTIONS_OF_REGIONS: u64 = 2;
    /// The order of uses is stored.
    pub(in crate::bytecode) const USE_ORDERS: u64 = 3;
    /// The number of ops' names is stored; unknown locations of block arguments aren't.
    pub(in crate::bytecode) const SHORT_ARGUMENTS: u64 = 4;
    /// Ops have properties in addition to their other attributes.
    pub(in crate::bytecode) const PROPERTIES: u64 = 5;
    /// The segments of operands are stored separately.
    pub(in crate::bytecode) const SEGMENTS: u64 = 6;
}

const SECTIONS: [&str; 9] = [
    "strings",
    "dialects",
    "attributes and types",
    "offsets of attributes and types",
    "program",
    "resources",
    "offsets of resources",
    "version of a dialect",
    "properties",
];
pub(super) const STRINGS: usize = 0;
pub(super) const DIALECTS: usize = 1;
pub(super) const ENTRIES: usize = 2;
pub(super) const ENTRY_OFFSETS: usize = 3;
pub(super) const IR: usize = 4;
const RESOURCES: usize = 5;
const RESOURCE_OFFSETS: usize = 6;
const DIALECT_VERSION: usize = 7;
const PROPERTIES: usize = 8;

/// The name of an op.
pub(super) struct OpName {
    /// `stablehlo.add`
    pub(super) text: String,
    /// Whether the producer of the file knew the op, so that its properties have the op's own format.
    pub(super) registered: bool,
}

/// An attribute or a type before it is decoded.
pub(super) struct Entry<'a> {
    /// The number of its dialect.
    pub(super) dialect: usize,
    /// Whether it has its dialect's own encoding instead of text.
    pub(super) custom: bool,
    pub(super) data: Cursor<'a>,
}

/// A named blob in addition to the program.
pub(super) struct Resource<'a> {
    pub(super) key: &'a [u8],
    /// Its alignment and bytes; `None` if it was elided.
    pub(super) blob: Option<(u64, &'a [u8])>,
}

/// The whole file except the ops.
pub(super) struct Container<'a> {
    pub(super) version: u64,
    pub(super) strings: Vec<&'a [u8]>,
    pub(super) dialects: Vec<&'a str>,
    pub(super) ops: Vec<OpName>,
    pub(super) attributes: Vec<Entry<'a>>,
    pub(super) types: Vec<Entry<'a>>,
    pub(super) resources: Vec<Resource<'a>>,
    pub(super) properties: Vec<Cursor<'a>>,
    pub(super) ir: Cursor<'a>,
}

/// Reads a section; returns its number and its data.
pub(super) fn section<'a>(from: &mut Cursor<'a>) -> Read<(usize, Cursor<'a>)> {
    let at = from.at;
    let id = from.byte()?;
    let number = usize::from(id & 0x7f);
    if number >= SECTIONS.len() {
        return Err(Fault::new(at, format!("expected a section number below {}, found {number}", SECTIONS.len())));
    }
    let length = from.number()?;
    if id & 0x80 != 0 {
        let alignment = from.number()?;
        from.align(alignment)?;
    }
    Ok((number, from.part(length)?))
}

impl<'a> Container<'a> {
    pub(super) fn read(file: &'a [u8]) -> Read<Self> {
        let mut from = Cursor::new(file);
        let magic = from.part(MAGIC.len() as u64)?;
        debug_assert_eq!(magic.rest(), MAGIC, "the caller looked");
        let at = from.at;
        let version = from.number()?;
        if version > NEWEST {
            let message =
                format!("the file has version {version} of the format; versions up to {NEWEST} are supported");
            return Err(Fault::unknown(at, message));
        }
        from.zero_ended()?;
        let mut sections: [Option<Cursor<'a>>; SECTIONS.len()] = [None; SECTIONS.len()];
        while !from.is_empty() {
            let at = from.at;
            let (number, data) = section(&mut from)?;
            if sections[number].replace(data).is_some() {
                return Err(Fault::new(at, format!("the file has two sections of {}", SECTIONS[number])));
            }
        }
        let end = from;
        let need = |number: usize| match sections[number] {
            Some(data) => Ok(data),
            None => end.fault(format!("the section of {} is missing", SECTIONS[number])),
        };
        let strings = strings(need(STRINGS)?)?;
        let (dialects, ops) = dialects(need(DIALECTS)?, version, &strings)?;
        let (attributes, types) = entries(need(ENTRIES)?, need(ENTRY_OFFSETS)?, dialects.len())?;
        let resources = match (sections[RESOURCES], sections[RESOURCE_OFFSETS]) {
            (Some(data), Some(offsets)) => resources(data, offsets, dialects.len(), &strings)?,
            (None, None) => Vec::new(),
            _ => return end.fault(
                "a file with resources needs a section for them and one for their offsets; one of the two is missing",
            ),
        };
        let properties = match sections[PROPERTIES] {
            Some(data) if version >= since::PROPERTIES => properties(data)?,
            _ => Vec::new(),
        };
        let ir = need(IR)?;
        Ok(Self { version, strings, dialects, ops, attributes, types, resources, properties, ir })
    }

    /// Reads the number of a string, and returns the string from the table.
    pub(super) fn string(&self, from: &mut Cursor<'a>) -> Read<&'a [u8]> {
        Ok(self.strings[from.index(self.strings.len(), "string")?])
    }
}

/// Reads the table of strings. The lengths come first, with that of the last string first.
fn strings<'a>(mut data: Cursor<'a>) -> Read<Vec<&'a [u8]>> {
    let count = data.count("strings")?;
    let mut strings = Vec::with_capacity(count);
    for _ in 0..count {
        let at = data.at;
        let length = data.number()?;
        match data.take_back(length)? {
            [string @ .., 0] => strings.push(string),
            _ => return Err(Fault::new(at, "a string of the table doesn't end with a zero byte")),
        }
    }
    data.finish("the lengths of strings")?;
    strings.reverse();
    Ok(strings)
}

/// Checks that a name of a dialect or op is a word of MLIR.
fn word(at: usize, bytes: &[u8]) -> Read<&str> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'-');
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(good) => Ok(text),
        _ => Err(Fault::new(at, format!("'{}' is not the name of an op or a dialect", bytes.escape_ascii()))),
    }
}

fn dialects<'a>(mut data: Cursor<'a>, version: u64, strings: &[&'a [u8]]) -> Read<(Vec<&'a str>, Vec<OpName>)> {
    let dialects = data.list("dialects", |data| {
        let at = data.at;
        if version < since::DIALECT_VERSIONS {
            return word(at, strings[data.index(strings.len(), "string")?]);
        }
        let (name, versioned) = data.flagged_index(strings.len(), "string")?;
        if versioned {
            // The version is skipped: an attribute's code determines its encoding in all dialects that are read here.
            let (number, _) = section(data)?;
            if number != DIALECT_VERSION {
                return Err(Fault::new(at, format!("expected the version of a dialect, found {}", SECTIONS[number])));
            }
        }
        word(at, strings[name])
    })?;
    if version >= since::SHORT_ARGUMENTS {
        data.number()?;
    }
    let mut ops = Vec::new();
    while !data.is_empty() {
        let dialect = dialects[data.index(dialects.len(), "dialect")?];
        for _ in 0..data.count("names of ops")? {
            let at = data.at;
            let (name, registered) = match version < since::PROPERTIES {
                true => (data.index(strings.len(), "string")?, false),
                false => data.flagged_index(strings.len(), "string")?,
            };
            let name = word(at, strings[name])?;
            let text = if name.is_empty() { dialect.to_owned() } else { format!("{dialect}.{name}") };
            ops.push(OpName { text, registered });
        }
    }
    Ok((dialects, ops))
}

type Entries<'a> = Vec<Entry<'a>>;

/// Reads attributes, then types, each in groups of one dialect; the offsets are lengths.
fn entries<'a>(mut data: Cursor<'a>, mut offsets: Cursor<'a>, dialects: usize) -> Read<(Entries<'a>, Entries<'a>)> {
    let counts = [offsets.count("attributes")?, offsets.count("types")?];
    let mut read = |count: usize| -> Read<Entries<'a>> {
        let mut entries = Vec::with_capacity(count);
        while entries.len() < count {
            let dialect = offsets.index(dialects, "dialect")?;
            let group = offsets.count("attributes or types")?;
            if group > count - entries.len() {
                return offsets.fault(format!("expected {count} attributes or types, found more"));
            }
            for _ in 0..group {
                let (length, custom) = offsets.flagged()?;
                entries.push(Entry { dialect, custom, data: data.part(length)? });
            }
        }
        Ok(entries)
    };
    let both = (read(counts[0])?, read(counts[1])?);
    offsets.finish("the offsets of attributes and types")?;
    Ok(both)
}

fn properties<'a>(mut data: Cursor<'a>) -> Read<Vec<Cursor<'a>>> {
    let properties = data.list("properties", |data| {
        let length = data.number()?;
        data.part(length)
    })?;
    data.finish("properties")?;
    Ok(properties)
}

/// Reads resources: first groups by external owner, which are dropped, then groups by dialect.
fn resources<'a>(
    mut data: Cursor<'a>,
    mut offsets: Cursor<'a>,
    dialects: usize,
    strings: &[&'a [u8]],
) -> Read<Vec<Resource<'a>>> {
    const BLOB: u8 = 0;
    let mut resources = Vec::new();
    let mut group = |offsets: &mut Cursor<'a>, kept: bool| -> Read<()> {
        for _ in 0..offsets.count("resources")? {
            let key = strings[offsets.index(strings.len(), "string")?];
            let length = offsets.number()?;
            let kind = offsets.byte()?;
            let mut value = data.part(length)?;
            if !kept {
                continue;
            }
            let blob = match kind {
                _ if value.is_empty() => None,
                BLOB => {
                    let alignment = value.number()?;
                    let size = value.number()?;
                    value.align(alignment)?;
                    let blob = value.part(size)?;
                    value.finish("a resource")?;
                    Some((alignment, blob.rest()))
                }
                _ => None,
            };
            resources.push(Resource { key, blob });
        }
        Ok(())
    };
    for _ in 0..offsets.count("groups of resources")? {
        offsets.index(strings.len(), "string")?;
        group(&mut offsets, false)?;
    }
    while !offsets.is_empty() {
        offsets.index(dialects, "dialect")?;
        group(&mut offsets, true)?;
    }
    Ok(resources)
}
