//! Source locations: JAX's `loc(…)`, where an op came from, kept through every pass.

use rustc_hash::FxHashMap;

use super::entity::{Attr, Loc, Name};
use super::program::Program;

/// A source location, as MLIR writes them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LocData {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file.py":10:4 to 11:12)`: lines and columns from 1.
    File {
        /// The file's name.
        file: Name,
        /// First line and column.
        start: (u32, u32),
        /// Last line and column, when given.
        end: Option<(u32, u32)>,
    },
    /// `loc("name"(child))`
    Name(Name, Loc),
    /// `loc(callsite(callee at caller))`
    CallSite(Loc, Loc),
    /// `loc(fused<metadata>[…])`
    Fused(Option<Attr>, Vec<Loc>),
}

impl LocData {
    /// The locations inside.
    pub(crate) fn children(&self) -> Vec<Loc> {
        match self {
            LocData::Unknown | LocData::File { .. } => Vec::new(),
            &LocData::Name(_, child) => vec![child],
            &LocData::CallSite(callee, caller) => vec![callee, caller],
            LocData::Fused(_, parts) => parts.clone(),
        }
    }

    /// The same with other locations inside.
    fn with_children(&self, children: &[Loc]) -> Self {
        match (self, children) {
            (&LocData::Name(name, _), &[child]) => LocData::Name(name, child),
            (LocData::CallSite(..), &[callee, caller]) => LocData::CallSite(callee, caller),
            (LocData::Fused(metadata, _), parts) => LocData::Fused(*metadata, parts.to_vec()),
            _ => self.clone(),
        }
    }
}

impl Program {
    /// Replaces aliases by what they stand for, so that equal locations have equal ids; called when the text ends. In a
    /// cycle of aliases the one that closes it becomes unknown.
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

    /// Depth first, without recursion in our code: aliases may nest as deep as the text is long.
    fn settled(&mut self, loc: Loc, settled: &mut FxHashMap<Loc, Loc>) -> Loc {
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
