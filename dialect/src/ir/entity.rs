//! Ids of everything in a [`Program`](crate::ir::Program): 32-bit indices into its arenas.
//!
//! References would make every pass borrow the whole program. An id is only meaningful in the program that made it.

use crate::define_id;

define_id!(
    /// An SSA value: an op's result or a block's argument.
    pub Value, "%"
);
define_id!(
    /// An operation.
    pub Op, "op"
);
define_id!(
    /// A list of operations with arguments.
    pub Block, "^bb"
);
define_id!(
    /// A list of blocks held by an op.
    pub Region, "region"
);
define_id!(
    /// A hash-consed type: two types are equal when their ids are.
    pub Ty, "ty"
);
define_id!(
    /// A hash-consed attribute: two attributes are equal when their ids are.
    pub Attr, "attr"
);
define_id!(
    /// A source location as the input's `loc(…)` gave it.
    pub Loc, "loc"
);
define_id!(
    /// An interned string: attribute names, axis names, symbols.
    pub Name, "name"
);

impl Loc {
    /// `loc(unknown)`, location 0 of every program.
    pub const UNKNOWN: Loc = Loc::new(0);
}
