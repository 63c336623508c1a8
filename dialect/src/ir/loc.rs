//! Source locations: what JAX's `loc(…)` says about where an op came from, kept through every pass.

use super::entity::{Attr, Loc, Name};

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
