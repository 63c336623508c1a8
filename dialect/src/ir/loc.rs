//! Source locations: JAX's `loc(…)`, where an op came from, kept through every pass.

use std::sync::{Arc, OnceLock};

use memchr::memchr_iter;
use rustc_hash::FxHashMap;

use super::attr::AttrData;
use super::byte_string::ByteString;
use super::entity::{Attr, Loc};
use super::program::{LOC_ALIAS, Program};
use crate::diagnostic::Span;

/// A source location, as MLIR writes them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LocData {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file.py":10:4 to 11:12)`: lines and columns from 1.
    File {
        /// The file's name.
        file: Attr,
        /// First line and column.
        start: (u32, u32),
        /// Last line and column, when given.
        end: Option<(u32, u32)>,
    },
    /// `loc("name"(child))`: the attribute is the string.
    Name(Attr, Loc),
    /// `loc(callsite(callee at caller))`
    CallSite(Loc, Loc),
    /// `loc(fused<metadata>[…])`
    Fused(Option<Attr>, Vec<Loc>),
}

impl LocData {
    /// Returns the locations inside.
    pub(crate) fn children(&self) -> Vec<Loc> {
        match self {
            LocData::Unknown | LocData::File { .. } => Vec::new(),
            &LocData::Name(_, child) => vec![child],
            &LocData::CallSite(callee, caller) => vec![callee, caller],
            LocData::Fused(_, parts) => parts.clone(),
        }
    }

    /// Returns a copy with `children` as the locations inside.
    fn with_children(&self, children: &[Loc]) -> Self {
        match (self, children) {
            (&LocData::Name(name, _), &[child]) => LocData::Name(name, child),
            (LocData::CallSite(..), &[callee, caller]) => LocData::CallSite(callee, caller),
            (LocData::Fused(metadata, _), parts) => LocData::Fused(*metadata, parts.to_vec()),
            _ => self.clone(),
        }
    }
}

/// The first location id that is a byte of the program's text; the last is [`LOC_FILE`]. As in MLIR, an op without
/// `loc(…)` is located at its source text. Line and column are computed on demand, so that parsing doesn't pay for
/// them.
const LOC_TEXT: usize = 1 << 30;

/// The text as a whole, which MLIR calls line 0, column 0.
const LOC_FILE: usize = LOC_ALIAS - 1;

/// The longest text, in bytes: each has a location.
pub const MAX_TEXT: usize = LOC_FILE - LOC_TEXT;

impl Loc {
    /// The text as a whole: the location of ops that the text doesn't contain, such as an implicit module.
    pub const WHOLE_TEXT: Loc = Loc::new(LOC_FILE);

    /// Returns the place in the program's text where `span` begins.
    pub fn of_text(span: Span) -> Loc {
        Loc::new(LOC_TEXT + span.start as usize)
    }

    /// Returns whether this is a place in the program's text, instead of a location that the text states.
    pub fn is_of_text(self) -> bool {
        (LOC_TEXT..=LOC_FILE).contains(&self.index())
    }
}

/// The table that maps a byte of the text to a line of a file.
#[derive(Clone, Default)]
pub(super) struct TextPlaces {
    /// The file's name.
    file: Option<Attr>,
    /// The number of the text's first line in the file, from 0.
    first_line: u32,
    /// The bytes at which lines begin, computed on first use.
    starts: OnceLock<Arc<[u32]>>,
}

impl Program {
    /// Returns the string of a name or a file in a location.
    pub fn loc_string(&self, string: Attr) -> &ByteString {
        match self.attr_data(string) {
            AttrData::String(string) => string,
            _ => unreachable!("the names of locations are strings"),
        }
    }

    /// Sets the file that the text was read from, and the line of that file, from 0, at which the text begins. Without
    /// this call the file is called `-`, as in MLIR.
    pub fn set_text_file(&mut self, file: &str, first_line: usize) {
        self.text_places.file = Some(self.attr_str(file));
        self.text_places.first_line = first_line as u32;
    }

    /// Returns the location of a byte of the text; `None` for any other location. Columns count bytes, as MLIR's do.
    pub(super) fn text_place(&self, loc: Loc) -> Option<LocData> {
        if !loc.is_of_text() {
            return None;
        }
        let Some(file) = self.text_places.file else { return Some(LocData::Unknown) };
        if loc == Loc::WHOLE_TEXT {
            return Some(LocData::File { file, start: (0, 0), end: None });
        }
        let text = self.source.as_deref().unwrap_or_default();
        let starts = self.text_places.starts.get_or_init(|| {
            std::iter::once(0).chain(memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1)).collect()
        });
        let at = (loc.index() - LOC_TEXT) as u32;
        let line = starts.partition_point(|&start| start <= at);
        let column = at - starts[line - 1] + 1;
        Some(LocData::File { file, start: (self.text_places.first_line + line as u32, column), end: None })
    }

    /// Replaces aliases by their targets, so that equal locations have equal ids; called at the end of the text. In a
    /// cycle of aliases, the alias that closes the cycle becomes unknown.
    pub(crate) fn settle_locations(&mut self) {
        if self.loc_aliases.is_empty() {
            return;
        }
        // The final form of each location; unknown while it is being resolved.
        let mut settled: FxHashMap<Loc, Loc> = FxHashMap::default();
        settled.insert(Loc::UNKNOWN, Loc::UNKNOWN);
        for op in self.ops.keys() {
            self.ops[op].loc = self.settled(self.ops[op].loc, &mut settled);
        }
        for value in self.values.keys() {
            self.values[value].loc = self.settled(self.values[value].loc, &mut settled);
        }
        self.loc_aliases.clear();
    }

    /// Resolves one location, depth first, with an explicit stack because aliases may nest as deep as the text is long.
    fn settled(&mut self, loc: Loc, settled: &mut FxHashMap<Loc, Loc>) -> Loc {
        if loc.is_of_text() {
            return loc;
        }
        let mut open: Vec<(Loc, Vec<Loc>, usize)> = Vec::new();
        let mut next = Some(loc);
        loop {
            if let Some(loc) = next.take().filter(|l| !settled.contains_key(l)) {
                settled.insert(loc, Loc::UNKNOWN);
                let children = match self.alias_target(loc) {
                    Some(target) => vec![target],
                    None => self.loc_data(loc).children(),
                };
                open.push((loc, children, 0));
            }
            let Some((top, children, at)) = open.last_mut() else { return settled[&loc] };
            if let Some(&child) = children.get(*at) {
                *at += 1;
                next = Some(child);
                continue;
            }
            let (top, children): (Loc, Vec<Loc>) = (*top, children.iter().map(|c| settled[c]).collect());
            open.pop();
            let result = match self.alias_target(top) {
                Some(_) => children[0],
                None => {
                    let data = self.loc_data(top).with_children(&children);
                    self.intern_loc(data)
                }
            };
            settled.insert(top, result);
        }
    }
}
