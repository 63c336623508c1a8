//! The ids used in a [`Graph`](super::Graph).

use dialect::define_id;

define_id!(
    /// An op or an edge.
    pub Node, "node", NONE
);
define_id!(
    /// A value of the program, under the same number, or the value of a data-flow edge: [`Val::of_edge`].
    pub Val, "value", NONE
);
define_id!(
    /// One operand of one node.
    pub Use, "use", NONE
);
define_id!(
    /// The index of a sharding in the graph's table; values that always have the same sharding share a slot.
    pub Slot, "slot", NONE
);

/// The first number of edges' values: far above the numbers of the program's values, which grow while propagation adds
/// ops.
const EDGE_VALUE: usize = 1 << 31;

impl Val {
    /// Returns the value of the edge with this number.
    pub fn of_edge(edge: usize) -> Self {
        Self::new(EDGE_VALUE + edge)
    }

    /// Returns the number of the edge that this value belongs to; `None` for a value of the program.
    pub fn edge(self) -> Option<usize> {
        self.index().checked_sub(EDGE_VALUE)
    }
}
