//! Ids of everything in a [`Graph`](super::Graph).

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
    /// Where a sharding is kept.
    pub Slot, "slot", NONE
);

/// Where the numbers of edges' values begin: far above those of the program's values, which grow while propagation
/// adds ops.
const EDGE_VALUE: usize = 1 << 31;

impl Val {
    /// The value of the edge with this number.
    pub fn of_edge(edge: usize) -> Self {
        Self::new(EDGE_VALUE + edge)
    }

    /// The number of the edge whose value this is; `None` for a value of the program.
    pub fn edge(self) -> Option<usize> {
        self.index().checked_sub(EDGE_VALUE)
    }
}
