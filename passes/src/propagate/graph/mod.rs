//! The program as a graph for propagation: nodes in order, values with their uses, and one sharding slot for every set
//! of values that always have the same sharding.
//!
//! A node is an op or a data-flow edge. Edges aren't part of the program: an edge follows each value that an op with
//! regions passes on (a loop's result, an argument of a manual computation), takes over that value's uses, and holds
//! the sharding of all values that it flows to. Shardy represents its edges as ops, and its order of visiting nodes
//! decides conflicts; so this graph keeps Shardy's order of nodes and MLIR's order of uses, the newest first. Changes
//! are written back into the program at the end.

mod id;
pub mod mesh;
mod order;
pub mod role;
mod uses;

use dialect::id::TiVec;
use dialect::ir::{Block, Op, Program, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub use id::{Node, Slot, Use, Val};

use super::algorithm::rule::RuleId;
use super::algorithm::sharding::ShardingId;
use role::{Kind, Role};

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An op of the program.
    Op(Op),
    /// The edge with this number.
    Edge(u32),
}

/// A node.
pub struct NodeData {
    /// Its kind.
    pub kind: NodeKind,
    /// The properties that propagation reads.
    pub role: Role,
    /// Its sharding rule, if it has one.
    pub rule: Option<RuleId>,
    /// Whether it has been removed.
    pub erased: bool,
    /// Whether it may have regions with ops inside.
    regions: bool,
    block: u32,
    prev: Node,
    next: Node,
    first_use: Use,
    operands: u32,
    first_result: Val,
    results: u32,
}

/// An edge.
pub struct EdgeData {
    /// The node of the op it belongs to.
    pub op: Node,
    /// The value that it follows.
    pub owner: Value,
    /// Whether the owner is a result of the op rather than an argument of its region.
    pub of_result: bool,
    /// The number of that result or argument.
    pub index: usize,
    /// Operands of the op or of its regions' terminators.
    pub sources: SmallVec<[Use; 2]>,
    /// The other values it flows to.
    pub targets: SmallVec<[Val; 2]>,
    /// Its node.
    pub node: Node,
}

struct UseData {
    value: Val,
    node: Node,
    prev: Use,
    next: Use,
    /// The edge to visit when its value's sharding changes.
    edge: Node,
}

struct ValData {
    first_use: Use,
    uses: u32,
    slot: Slot,
    def: Node,
    block: u32,
    shaped: bool,
    /// Its rank, if it is a tensor.
    rank: Option<u32>,
}

#[derive(Clone, Copy)]
struct BlockData {
    first: Node,
    last: Node,
    parent: Node,
}

/// The position at which to insert a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Right before a node.
    Before(Node),
    /// Right after a node.
    After(Node),
    /// First in a block.
    First(Block),
}

/// The program as a graph for propagation.
pub struct Graph {
    /// The nodes.
    pub nodes: TiVec<Node, NodeData>,
    /// The edges.
    pub edges: Vec<EdgeData>,
    /// Shardings by slot.
    pub slots: TiVec<Slot, ShardingId>,
    /// The number of specially handled ops so far, by kind.
    seen: FxHashMap<std::mem::Discriminant<Kind>, usize>,
    uses: TiVec<Use, UseData>,
    values: Vec<ValData>,
    edge_values: Vec<ValData>,
    blocks: Vec<BlockData>,
}

impl Graph {
    /// Creates the graph of `program`, without edges, shardings and rules.
    pub fn new(program: &Program) -> Self {
        let mut graph = Self {
            nodes: TiVec::with_capacity(program.op_count()),
            edges: Vec::new(),
            slots: TiVec::with_capacity(program.value_count()),
            seen: FxHashMap::default(),
            uses: TiVec::with_capacity(2 * program.op_count()),
            values: Vec::with_capacity(program.value_count()),
            edge_values: Vec::new(),
            blocks: Vec::new(),
        };
        graph.learn_values(program);
        graph.add_block(program, program.body(), Node::NONE);
        graph
    }

    /// Adds the values created in the program since the last call.
    fn learn_values(&mut self, program: &Program) {
        for i in self.values.len()..program.value_count() {
            let tensor = program.tensor_type(Value::new(i));
            self.values.push(ValData {
                first_use: Use::NONE,
                uses: 0,
                slot: Slot::NONE,
                def: Node::NONE,
                block: u32::MAX,
                shaped: tensor.is_some_and(|t| t.is_static()),
                rank: tensor.map(|t| t.rank() as u32),
            });
        }
    }

    /// Adds the ops in a block of the program.
    pub fn add_block(&mut self, program: &Program, block: Block, parent: Node) {
        self.learn_values(program);
        if self.blocks.len() <= block.index() {
            let empty = BlockData { first: Node::NONE, last: Node::NONE, parent: Node::NONE };
            self.blocks.resize(block.index() + 1, empty);
        }
        self.blocks[block.index()].parent = parent;
        for &arg in program.block_args(block) {
            self.values[arg.index()].block = block.index() as u32;
        }
        for &op in program.block_ops(block) {
            let node = self.new_node(program, op);
            match self.blocks[block.index()].last {
                last if last.is_some() => self.place(node, Place::After(last)),
                _ => self.place(node, Place::First(block)),
            }
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    self.add_block(program, inner, node);
                }
            }
            // A parser creates an op after the ops inside it, so the op's uses are newer.
            self.link_uses(node);
        }
    }

    /// Adds an argument that `block` got after it was read.
    pub fn add_argument(&mut self, program: &Program, block: Block, value: Val) {
        self.learn_values(program);
        self.val_mut(value).block = block.index() as u32;
    }

    fn new_node(&mut self, program: &Program, op: Op) -> Node {
        let data = program.op(op);
        let node = self.nodes.next_key();
        let first_use = self.uses.next_key();
        for &operand in &data.operands {
            let value = Val::new(operand.index());
            self.uses.push(UseData { value, node, prev: Use::NONE, next: Use::NONE, edge: Node::NONE });
        }
        let mut first_result = Val::NONE;
        for result in program.results(op).rev() {
            first_result = Val::new(result.index());
            let slot = self.new_slot();
            let value = &mut self.values[result.index()];
            value.def = node;
            value.slot = slot;
        }
        let role = Role::of(program, op);
        if role.kind != Kind::Plain {
            *self.seen.entry(std::mem::discriminant(&role.kind)).or_default() += 1;
        }
        self.nodes.push(NodeData {
            kind: NodeKind::Op(op),
            role,
            rule: None,
            erased: false,
            regions: !data.regions.is_empty(),
            block: u32::MAX,
            prev: Node::NONE,
            next: Node::NONE,
            first_use,
            operands: data.operands.len() as u32,
            first_result,
            results: program.result_count(op) as u32,
        });
        node
    }

    /// Adds a newly created op over `operands`, which may be values of edges.
    pub fn insert_op(&mut self, program: &Program, op: Op, operands: &[Val], place: Place) -> Node {
        self.learn_values(program);
        let node = self.new_node(program, op);
        for (u, &operand) in self.operand_uses(node).zip(operands) {
            self.uses[u].value = operand;
        }
        self.link_uses(node);
        self.place(node, place);
        node
    }

    /// Attaches an edge to `owner` and gives it the owner's uses and slot.
    pub fn insert_edge(&mut self, mut edge: EdgeData, place: Place) -> Node {
        let number = self.edges.len() as u32;
        let node = self.nodes.next_key();
        let owner = Val::new(edge.owner.index());
        let slot = self.new_slot();
        let result = Val::of_edge(number as usize);
        self.edge_values.push(ValData {
            first_use: Use::NONE,
            uses: 0,
            slot,
            def: node,
            block: u32::MAX,
            shaped: true,
            rank: self.val(owner).rank,
        });
        self.replace_uses(owner, result, |_, _| true);
        let first_use = self.uses.next_key();
        self.uses.push(UseData { value: owner, node, prev: Use::NONE, next: Use::NONE, edge: Node::NONE });
        self.nodes.push(NodeData {
            kind: NodeKind::Edge(number),
            role: Role::EDGE,
            rule: None,
            erased: false,
            regions: false,
            block: u32::MAX,
            prev: Node::NONE,
            next: Node::NONE,
            first_use,
            operands: 1,
            first_result: result,
            results: 1,
        });
        self.link_uses(node);
        self.place(node, place);
        self.val_mut(owner).slot = slot;
        for &target in &edge.targets {
            self.val_mut(target).slot = slot;
        }
        // Shardy looks for an argument's edge where a manual or named computation reads the value that flows to the
        // argument, and finds none: such an edge isn't visited again before the next round.
        if edge.of_result {
            for &source in &edge.sources {
                self.uses[source].edge = node;
            }
        }
        edge.node = node;
        self.edges.push(edge);
        node
    }

    fn val(&self, value: Val) -> &ValData {
        match value.edge() {
            Some(edge) => &self.edge_values[edge],
            None => &self.values[value.index()],
        }
    }

    fn val_mut(&mut self, value: Val) -> &mut ValData {
        match value.edge() {
            Some(edge) => &mut self.edge_values[edge],
            None => &mut self.values[value.index()],
        }
    }

    /// Adds a slot without a sharding.
    pub fn new_slot(&mut self) -> Slot {
        self.slots.push_and_get_key(ShardingId::NONE)
    }
}
