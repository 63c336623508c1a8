//! Ids of everything in a [`Program`](crate::ir::Program): 32-bit indices into its arenas.
//!
//! References would tie every pass to one borrow of the whole program; ids are `Copy`, half the size of a
//! pointer, and hash and compare as integers. An id is only meaningful in the program that made it.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id with this position in its arena.
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The position in its arena, for dense side tables.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

entity!(
    /// An SSA value: an op's result or a block's argument.
    Value, "%"
);
entity!(
    /// An operation.
    Op, "op"
);
entity!(
    /// A list of operations with arguments.
    Block, "^bb"
);
entity!(
    /// A list of blocks held by an op.
    Region, "region"
);
entity!(
    /// A hash-consed type: two types are equal when their ids are.
    Ty, "ty"
);
entity!(
    /// A hash-consed attribute: two attributes are equal when their ids are.
    Attr, "attr"
);
entity!(
    /// A source location as the input's `loc(…)` gave it.
    Loc, "loc"
);
entity!(
    /// An interned string: attribute names, axis names, symbols.
    Name, "name"
);

impl Loc {
    /// `loc(unknown)`, location 0 of every program.
    pub const UNKNOWN: Loc = Loc(0);
}
