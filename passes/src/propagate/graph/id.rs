//! Ids of everything in a [`Graph`](super::Graph).

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Nothing.
            pub const NONE: Self = Self(u32::MAX);

            /// The position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether it is an id other than `NONE`.
            pub fn is_some(self) -> bool {
                self != Self::NONE
            }
        }
    };
}

id!(
    /// An op or an edge.
    Node
);
id!(
    /// A value of the program, under the same number, or the value of a data-flow edge.
    Val
);
id!(
    /// One operand of one node.
    Use
);
id!(
    /// Where a sharding is kept.
    Slot
);
