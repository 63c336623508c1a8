//! The program as the search sees it: ops with their models, values with their producers and users.
//!
//! Arguments, returns, constraints and ops with regions are *borders*: the distributions of their operands and results
//! are fixed. Ops inside loops and branches are in the same graph, with the number of times they run as weight; a value
//! is redistributed where it is made, so readers inside a loop share copies made outside it.

use std::sync::Arc;

use dialect::buffers::Facts;
use dialect::define_id;
use dialect::id::TiVec;
use dialect::ir::{Op, Value};
use dialect::op::OpDef;
use dialect::sharding::Distribution;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::memory::Held;
use crate::plan::model::exchanged::Exchanged;
use crate::plan::model::meaning::{Model, Models};
use crate::plan::reshard::cache::{Dist, Rematerializable, Type};

define_id!(
    /// An op of a [`Graph`].
    pub(crate) OpId, "op"
);
define_id!(
    /// A value of a [`Graph`].
    pub(crate) ValueId, "%"
);

/// One op.
pub(crate) struct Node {
    /// Its definition.
    pub(crate) def: &'static dyn OpDef,
    /// `None` for borders.
    pub(crate) model: Option<Model>,
    /// The fixed distributions of a border's operands and results.
    pub(crate) fixed: Option<Places>,
    /// Ids of the graph's values; `None` for operands that aren't tensors.
    pub(crate) operands: SmallVec<[Option<ValueId>; 3]>,
    pub(crate) results: SmallVec<[Option<ValueId>; 1]>,
    /// Seconds one device would need for the arithmetic of the whole op.
    pub(crate) seconds: f64,
    /// How often it runs.
    pub(crate) weight: f64,
    /// The facts that decide whether it shares kernels; `None` for ops that always read and write memory.
    pub(crate) facts: Option<Arc<Facts>>,
    /// Whether it may leave elements of some operand unread.
    pub(super) reads_part: bool,
    /// Whether the host computes it.
    pub(crate) by_host: bool,
    /// For each dimension that it reads shifted, its share of what the rows of neighbors cost: other ops read them too.
    pub(crate) shares: SmallVec<[Share; 1]>,
}

/// An op's share of a cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The share of the cost of sending rows.
    pub(crate) sent: f64,
    /// The share of the cost of writing them together with a device's own.
    pub(crate) copied: f64,
}

impl Share {
    /// The whole cost.
    pub(crate) const WHOLE: Self = Self { sent: 1.0, copied: 1.0 };
}

impl Node {
    /// Returns the values that it reads, then those that it makes.
    pub(crate) fn values(&self) -> impl Iterator<Item = ValueId> {
        self.operands.iter().chain(&self.results).flatten().copied()
    }
}

/// The distributions of an op's operands and results, and the resulting work on a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) operands: SmallVec<[Dist; 3]>,
    pub(crate) results: SmallVec<[Dist; 1]>,
    /// Number of devices that share the work; meaningless for borders.
    pub(crate) speedup: f64,
    /// Operands in which padding must be masked for a reduction.
    pub(crate) masked: SmallVec<[usize; 2]>,
    /// Operands of which devices receive rows from their neighbors.
    pub(crate) exchanged: SmallVec<[Exchanged; 1]>,
}

/// One value.
pub(crate) struct GraphValue {
    pub(crate) ty: Type,
    /// Its producer and the index of the result; `None` for arguments.
    pub(crate) maker: Option<(OpId, u32)>,
    /// The distribution of an argument.
    pub(crate) fixed: Option<Dist>,
    /// Its users, each with the index of the operand, in program order.
    pub(crate) uses: SmallVec<[(OpId, u32); 2]>,
    /// The distribution chosen by propagation.
    pub(crate) propagated: Dist,
    pub(crate) rematerializable: Rematerializable,
    pub(crate) weight: f64,
    /// Whether it is written to memory even if no copy of it is needed, because its readers' kernels don't compute it.
    pub(crate) written: bool,
    /// Whether it is in the host's memory as it is made.
    pub(crate) on_host: bool,
    /// When it is in memory, if it is.
    pub(crate) held: Held,
}

/// The ops and values under one block.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) ops: TiVec<OpId, Node>,
    pub(crate) values: TiVec<ValueId, GraphValue>,
    pub(crate) op_at: FxHashMap<Op, OpId>,
    pub(crate) value_at: FxHashMap<Value, ValueId>,
    /// Whether axes that don't divide a dimension shard a value whose layout isn't fixed.
    pub(crate) is_uneven: bool,
}

/// How a search changes the layouts that propagation chose.
#[derive(Clone, Default)]
pub(crate) struct Variant {
    /// Whether axes that don't divide a dimension are dropped from layouts that aren't fixed, since moving shards with
    /// padding may cost more than it saves.
    pub(crate) even: bool,
    /// Layouts in which loops carry results: partial sums, or stacks as they are computed.
    pub(crate) carried: FxHashMap<Value, Distribution>,
}

impl Graph {
    /// Creates a graph with capacity for `ops` ops with one result each.
    pub(crate) fn with_capacity(ops: usize) -> Self {
        Self {
            ops: TiVec::with_capacity(ops),
            values: TiVec::with_capacity(ops),
            op_at: FxHashMap::with_capacity_and_hasher(ops, FxBuildHasher),
            value_at: FxHashMap::with_capacity_and_hasher(ops, FxBuildHasher),
            ..Self::default()
        }
    }

    /// Finds ops that read the same rows of neighbors; these rows are sent and copied once for all of them.
    pub(super) fn share_rows(&mut self, models: &Models) {
        // By value and dimension: the number of ops that read rows on either side, and on both.
        type At = (ValueId, usize);
        let mut readers: FxHashMap<At, [u32; 3]> = FxHashMap::default();
        let each = |node: &Node, see: &mut dyn FnMut(Option<(At, [bool; 2])>)| {
            let Some(model) = node.model.map(|m| models.get(m)) else { return };
            for s in &model.shifted {
                let dims = &model.rule.operands[s.operand as usize];
                let dim = dims.iter().position(|factors| factors[..] == [s.factor]);
                let read = node.operands[s.operand as usize].zip(dim).zip(s.reach.beyond());
                see(read.map(|(at, (before, after))| (at, [before > 0, after > 0])).filter(|r| r.1 != [false; 2]));
            }
        };
        for node in &self.ops {
            each(node, &mut |read| {
                let Some((at, sides)) = read else { return };
                let count = readers.entry(at).or_default();
                (0..2).for_each(|side| count[side] += u32::from(sides[side]));
                count[2] += 1;
            });
        }
        for node in &mut self.ops {
            let mut shares = SmallVec::new();
            each(node, &mut |read| {
                let share = read.map(|(at, sides)| {
                    let count = readers[&at].map(f64::from);
                    let of = (0..2).filter(|&side| sides[side]).map(|side| 1.0 / count[side]);
                    let sides = of.clone().count() as f64;
                    Share { sent: of.sum::<f64>() / sides, copied: 1.0 / count[2] }
                });
                shares.push(share.unwrap_or(Share::WHOLE));
            });
            node.shares = shares;
        }
    }

    /// Returns every value that one of these ops reads or makes, sorted.
    pub(crate) fn values_of(&self, ops: impl IntoIterator<Item = OpId>) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = ops.into_iter().flat_map(|op| self.ops[op].values()).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}
