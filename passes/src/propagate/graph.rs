//! The program as propagation walks it: nodes in order, values with their uses, and one sharding slot for every set
//! of values that always lie alike.
//!
//! A node is an op or a data-flow edge. Edges stand in no program: one hangs after each value that an op with
//! regions hands on (a loop's result, an argument of a manual computation), takes over that value's uses, and holds
//! the sharding of everything the value flows to. Shardy keeps its edges as ops, and the order in which it visits
//! decides who wins a conflict; so this graph keeps Shardy's order of nodes and MLIR's order of uses, the newest
//! first. Changes are written back into the program at the end.

use dialect::ir::{Block, Op, Program, Value};
use smallvec::SmallVec;

use super::role::{Role, Roles};
use super::rule::RuleId;
use super::sharding::ShardingId;

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

            /// Whether it is something.
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
    /// A value of the program, with the same number, or what an edge hands on.
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

/// Numbers from here on are those of the edges' values.
const EDGE_VALUE: u32 = 1 << 31;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An op of the program.
    Op(Op),
    /// The edge with this number.
    Edge(u32),
}

/// A node.
pub struct NodeData {
    /// What it is.
    pub kind: NodeKind,
    /// What propagation must know of it.
    pub role: Role,
    /// Its sharding rule, when it has one.
    pub rule: Option<RuleId>,
    /// Whether it has been taken out.
    pub erased: bool,
    block: u32,
    prev: Node,
    next: Node,
    first_use: u32,
    operands: u32,
    first_result: u32,
    results: u32,
}

/// An edge.
pub struct EdgeData {
    /// The node of the op it belongs to.
    pub op: Node,
    /// The value it hangs on.
    pub owner: Value,
    /// Whether the owner is a result of the op, not an argument of its region.
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
    /// The edge it is a source of.
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

/// Where a node goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Right before a node.
    Before(Node),
    /// Right after a node.
    After(Node),
    /// First in a block.
    First(Block),
}

/// The program as propagation walks it.
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<NodeData>,
    /// The edges.
    pub edges: Vec<EdgeData>,
    /// Shardings by slot.
    pub slots: Vec<ShardingId>,
    roles: Roles,
    uses: Vec<UseData>,
    values: Vec<ValData>,
    edge_values: Vec<ValData>,
    blocks: Vec<BlockData>,
}

impl Graph {
    /// The graph of `program`, without edges, shardings and rules.
    pub fn new(program: &Program) -> Self {
        let mut graph = Self {
            nodes: Vec::with_capacity(program.op_count()),
            edges: Vec::new(),
            slots: Vec::with_capacity(program.value_count()),
            roles: Roles::default(),
            uses: Vec::with_capacity(2 * program.op_count()),
            values: Vec::with_capacity(program.value_count()),
            edge_values: Vec::new(),
            blocks: Vec::new(),
        };
        graph.learn_values(program);
        graph.add_block(program, program.body(), Node::NONE);
        graph
    }

    /// Takes in the values the program has made since.
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

    /// Adds what stands in a block of the program.
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
            // A parser makes an op after what is inside it, so its uses are newer.
            self.link_uses(node);
        }
    }

    /// Takes in an argument that `block` has got since.
    pub fn add_argument(&mut self, program: &Program, block: Block, value: Val) {
        self.learn_values(program);
        self.val_mut(value).block = block.index() as u32;
    }

    fn new_node(&mut self, program: &Program, op: Op) -> Node {
        let data = program.op(op);
        let node = Node(self.nodes.len() as u32);
        let first_use = self.uses.len() as u32;
        for &operand in &data.operands {
            let value = Val(operand.index() as u32);
            self.uses.push(UseData { value, node, prev: Use::NONE, next: Use::NONE, edge: Node::NONE });
        }
        let mut first_result = 0;
        for result in program.results(op).rev() {
            first_result = result.index() as u32;
            let slot = self.new_slot();
            let value = &mut self.values[result.index()];
            value.def = node;
            value.slot = slot;
        }
        self.nodes.push(NodeData {
            kind: NodeKind::Op(op),
            role: self.roles.of(program, op),
            rule: None,
            erased: false,
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

    /// Adds an op that was just made, over `operands`, whose values may be those of edges.
    pub fn insert_op(&mut self, program: &Program, op: Op, operands: &[Val], place: Place) -> Node {
        self.learn_values(program);
        let node = self.new_node(program, op);
        for (u, &operand) in self.operand_uses(node).zip(operands) {
            self.uses[u.index()].value = operand;
        }
        self.link_uses(node);
        self.place(node, place);
        node
    }

    /// Hangs an edge on `owner` and gives it the owner's uses and slot.
    pub fn insert_edge(&mut self, mut edge: EdgeData, place: Place) -> Node {
        let number = self.edges.len() as u32;
        let node = Node(self.nodes.len() as u32);
        let owner = Val(edge.owner.index() as u32);
        let slot = self.new_slot();
        let result = Val(EDGE_VALUE + number);
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
        let first_use = self.uses.len() as u32;
        self.uses.push(UseData { value: owner, node, prev: Use::NONE, next: Use::NONE, edge: Node::NONE });
        self.nodes.push(NodeData {
            kind: NodeKind::Edge(number),
            role: Role::EDGE,
            rule: None,
            erased: false,
            block: u32::MAX,
            prev: Node::NONE,
            next: Node::NONE,
            first_use,
            operands: 1,
            first_result: result.0,
            results: 1,
        });
        self.link_uses(node);
        self.place(node, place);
        self.val_mut(owner).slot = slot;
        for &target in &edge.targets {
            self.val_mut(target).slot = slot;
        }
        for &source in &edge.sources {
            self.uses[source.index()].edge = node;
        }
        edge.node = node;
        self.edges.push(edge);
        node
    }

    fn val(&self, value: Val) -> &ValData {
        match value.0.checked_sub(EDGE_VALUE) {
            Some(edge) => &self.edge_values[edge as usize],
            None => &self.values[value.index()],
        }
    }

    fn val_mut(&mut self, value: Val) -> &mut ValData {
        match value.0.checked_sub(EDGE_VALUE) {
            Some(edge) => &mut self.edge_values[edge as usize],
            None => &mut self.values[value.index()],
        }
    }

    /// A new slot without a sharding.
    pub fn new_slot(&mut self) -> Slot {
        self.slots.push(ShardingId::NONE);
        Slot((self.slots.len() - 1) as u32)
    }

    // Values -----------------------------------------------------------------------------------------------------

    /// Gives a value a slot of its own: an argument of a function.
    pub fn own_slot(&mut self, value: Val) {
        let slot = self.new_slot();
        self.val_mut(value).slot = slot;
    }

    /// Where the sharding of a value is kept; [`Slot::NONE`] for arguments of regions nobody shards.
    pub fn slot(&self, value: Val) -> Slot {
        self.val(value).slot
    }

    /// The sharding of a value.
    pub fn sharding(&self, value: Val) -> ShardingId {
        let slot = self.val(value).slot;
        if slot.is_some() { self.slots[slot.index()] } else { ShardingId::NONE }
    }

    /// The node that makes a value; [`Node::NONE`] for arguments of blocks.
    pub fn def(&self, value: Val) -> Node {
        self.val(value).def
    }

    /// The block a value is an argument of.
    pub fn block_of_arg(&self, value: Val) -> Block {
        Block::new(self.val(value).block as usize)
    }

    /// Whether it is a tensor of known sizes.
    pub fn is_shaped(&self, value: Val) -> bool {
        self.val(value).shaped
    }

    /// Whether it is a tensor of rank 0.
    pub fn is_scalar(&self, value: Val) -> bool {
        self.val(value).rank == Some(0)
    }

    /// Its rank; 0 for what is no tensor.
    pub fn rank(&self, value: Val) -> usize {
        self.val(value).rank.unwrap_or(0) as usize
    }

    /// The value whose sharding stands for this one's: that of its edge, else itself.
    pub fn shardable(&self, value: Val) -> Val {
        let slot = self.slot(value);
        // Edges get their slots in order.
        match self.edge_values.binary_search_by(|v| v.slot.cmp(&slot)) {
            Ok(edge) => Val(EDGE_VALUE + edge as u32),
            Err(_) => value,
        }
    }

    /// Whether an edge hangs on it or hands it on.
    pub fn has_edge(&self, value: Val) -> bool {
        self.shardable(value).0 >= EDGE_VALUE
    }

    /// How many values the program has.
    pub fn program_values(&self) -> usize {
        self.values.len()
    }

    /// Number of uses.
    pub fn use_count(&self, value: Val) -> u32 {
        self.val(value).uses
    }

    /// The uses, the newest first.
    pub fn uses(&self, value: Val) -> UseIter<'_> {
        UseIter { graph: self, next: self.val(value).first_use }
    }

    /// The node of a use.
    pub fn user(&self, u: Use) -> Node {
        self.uses[u.index()].node
    }

    /// The edge a use is a source of.
    pub fn edge_of_use(&self, u: Use) -> Node {
        self.uses[u.index()].edge
    }

    /// The value of a use.
    pub fn value_of_use(&self, u: Use) -> Val {
        self.uses[u.index()].value
    }

    /// The value of the program behind a value: an edge's is its owner.
    pub fn program_value(&self, value: Val) -> Value {
        match value.0.checked_sub(EDGE_VALUE) {
            Some(edge) => self.edges[edge as usize].owner,
            None => Value::new(value.index()),
        }
    }

    /// Takes out the edge that hangs on `owner`, whose slot stays the owner's.
    pub fn remove_edge(&mut self, program: &Program, owner: Val) {
        let user = self.uses(owner).next().map(|u| self.user(u));
        if let Some(edge) = user.filter(|&n| matches!(self.node(n).kind, NodeKind::Edge(_))) {
            let result = self.result(edge, 0);
            self.replace_uses(result, owner, |_, _| true);
            self.erase(program, edge);
        }
    }

    // Uses -------------------------------------------------------------------------------------------------------

    fn link(&mut self, u: Use) {
        let value = self.uses[u.index()].value;
        let first = self.val(value).first_use;
        let data = &mut self.uses[u.index()];
        data.prev = Use::NONE;
        data.next = first;
        if first.is_some() {
            self.uses[first.index()].prev = u;
        }
        let value = self.val_mut(value);
        value.first_use = u;
        value.uses += 1;
    }

    fn unlink(&mut self, u: Use) {
        let UseData { value, prev, next, .. } = self.uses[u.index()];
        if next.is_some() {
            self.uses[next.index()].prev = prev;
        }
        if prev.is_some() {
            self.uses[prev.index()].next = next;
        } else {
            self.val_mut(value).first_use = next;
        }
        self.val_mut(value).uses -= 1;
    }

    fn link_uses(&mut self, node: Node) {
        for u in self.operand_uses(node) {
            self.link(u);
        }
    }

    /// Orders the uses by what stands under `block` as if the block had just been copied: a copy makes an op before
    /// what is inside it.
    pub fn relink_copied(&mut self, program: &Program, block: Block) {
        let mut nodes = Vec::new();
        self.preorder(program, block, &mut |node| nodes.push(node));
        for &node in &nodes {
            self.operand_uses(node).for_each(|u| self.unlink(u));
        }
        for &node in &nodes {
            self.link_uses(node);
        }
    }

    /// Makes a use read `value`.
    pub fn set_use(&mut self, u: Use, value: Val) {
        self.unlink(u);
        self.uses[u.index()].value = value;
        self.link(u);
    }

    /// Makes the uses of `old` that `which` picks read `new`.
    pub fn replace_uses(&mut self, old: Val, new: Val, which: impl Fn(&Self, Use) -> bool) {
        let mut u = self.val(old).first_use;
        while u.is_some() {
            let next = self.uses[u.index()].next;
            if which(self, u) {
                self.set_use(u, new);
            }
            u = next;
        }
    }

    // Nodes ------------------------------------------------------------------------------------------------------

    /// The node behind an id.
    pub fn node(&self, node: Node) -> &NodeData {
        &self.nodes[node.index()]
    }

    /// The op of a node; `None` for an edge.
    pub fn op(&self, node: Node) -> Option<Op> {
        match self.node(node).kind {
            NodeKind::Op(op) => Some(op),
            NodeKind::Edge(_) => None,
        }
    }

    /// The uses that are a node's operands.
    pub fn operand_uses(&self, node: Node) -> impl ExactSizeIterator<Item = Use> + use<> {
        let d = self.node(node);
        (d.first_use..d.first_use + d.operands).map(Use)
    }

    /// A node's operands.
    pub fn operands(&self, node: Node) -> impl ExactSizeIterator<Item = Val> + '_ {
        self.operand_uses(node).map(|u| self.uses[u.index()].value)
    }

    /// A node's results.
    pub fn results(&self, node: Node) -> impl ExactSizeIterator<Item = Val> + use<> {
        let d = self.node(node);
        (d.first_result..d.first_result + d.results).map(Val)
    }

    /// One result of a node.
    pub fn result(&self, node: Node, i: usize) -> Val {
        Val(self.node(node).first_result + i as u32)
    }

    /// The block a node stands in.
    pub fn block(&self, node: Node) -> Block {
        Block::new(self.node(node).block as usize)
    }

    /// The node whose region a node stands in.
    pub fn parent(&self, node: Node) -> Node {
        self.blocks.get(self.node(node).block as usize).map_or(Node::NONE, |b| b.parent)
    }

    /// The first node of a block.
    pub fn first(&self, block: Block) -> Node {
        self.blocks.get(block.index()).map_or(Node::NONE, |b| b.first)
    }

    /// The last node of a block: its terminator.
    pub fn last(&self, block: Block) -> Node {
        self.blocks.get(block.index()).map_or(Node::NONE, |b| b.last)
    }

    /// The next node of the block.
    pub fn next(&self, node: Node) -> Node {
        self.node(node).next
    }

    /// The place right after a value comes to be.
    pub fn after(&self, value: Val) -> Place {
        match self.def(value) {
            Node::NONE => Place::First(self.block_of_arg(value)),
            node => Place::After(node),
        }
    }

    fn place(&mut self, node: Node, place: Place) {
        let (block, prev, next) = match place {
            Place::Before(at) => (self.node(at).block, self.node(at).prev, at),
            Place::After(at) => (self.node(at).block, at, self.node(at).next),
            Place::First(block) => (block.index() as u32, Node::NONE, self.blocks[block.index()].first),
        };
        let data = &mut self.nodes[node.index()];
        (data.block, data.prev, data.next) = (block, prev, next);
        match prev {
            Node::NONE => self.blocks[block as usize].first = node,
            prev => self.nodes[prev.index()].next = node,
        }
        match next {
            Node::NONE => self.blocks[block as usize].last = node,
            next => self.nodes[next.index()].prev = node,
        }
    }

    fn detach(&mut self, node: Node) {
        let NodeData { block, prev, next, .. } = *self.node(node);
        match prev {
            Node::NONE => self.blocks[block as usize].first = next,
            prev => self.nodes[prev.index()].next = next,
        }
        match next {
            Node::NONE => self.blocks[block as usize].last = prev,
            next => self.nodes[next.index()].prev = prev,
        }
    }

    /// Makes a block that of `parent`'s region.
    pub fn adopt(&mut self, block: Block, parent: Node) {
        self.blocks[block.index()].parent = parent;
    }

    /// Moves a node.
    pub fn move_to(&mut self, node: Node, place: Place) {
        self.detach(node);
        self.place(node, place);
    }

    /// Takes a node out, with everything inside it. Nobody may use its results.
    pub fn erase(&mut self, program: &Program, node: Node) {
        if let Some(op) = self.op(node) {
            for &region in &program.op(op).regions {
                for &block in program.region_blocks(region) {
                    let mut inner = self.first(block);
                    while inner.is_some() {
                        let next = self.next(inner);
                        self.erase(program, inner);
                        inner = next;
                    }
                }
            }
        }
        for u in self.operand_uses(node) {
            self.unlink(u);
        }
        self.detach(node);
        self.nodes[node.index()].erased = true;
    }

    /// Calls `f` on every node under `block` in order, before the nodes inside it.
    pub fn preorder(&self, program: &Program, block: Block, f: &mut dyn FnMut(Node)) {
        let mut node = self.first(block);
        while node.is_some() {
            f(node);
            if let Some(op) = self.op(node) {
                for &region in &program.op(op).regions {
                    for &inner in program.region_blocks(region) {
                        self.preorder(program, inner, f);
                    }
                }
            }
            node = self.next(node);
        }
    }

    /// The nodes under `block` in order, each after the nodes inside it.
    pub fn postorder(&self, program: &Program, block: Block) -> Vec<Node> {
        let mut out = Vec::new();
        self.collect_postorder(program, block, &mut out);
        out
    }

    fn collect_postorder(&self, program: &Program, block: Block, out: &mut Vec<Node>) {
        let mut node = self.first(block);
        while node.is_some() {
            if let Some(op) = self.op(node) {
                for &region in &program.op(op).regions {
                    for &inner in program.region_blocks(region) {
                        self.collect_postorder(program, inner, out);
                    }
                }
            }
            out.push(node);
            node = self.next(node);
        }
    }

    /// Writes the order of ops and their operands back into the program.
    pub fn write_back(&self, program: &mut Program) {
        for (i, block) in self.blocks.iter().enumerate() {
            let mut ops = Vec::new();
            let mut node = block.first;
            while node.is_some() {
                if let Some(op) = self.op(node) {
                    ops.push(op);
                    for (j, value) in self.operands(node).enumerate() {
                        let value = self.program_value(value);
                        if program.op(op).operands[j] != value {
                            program.op_mut(op).operands[j] = value;
                        }
                    }
                }
                node = self.next(node);
            }
            let block = Block::new(i);
            if !ops.is_empty() && program.block_ops(block) != ops {
                program.set_block_ops(block, ops);
            }
        }
    }
}

/// The uses of a value, the newest first.
pub struct UseIter<'a> {
    graph: &'a Graph,
    next: Use,
}

impl Iterator for UseIter<'_> {
    type Item = Use;

    fn next(&mut self) -> Option<Use> {
        let u = self.next;
        if !u.is_some() {
            return None;
        }
        self.next = self.graph.uses[u.index()].next;
        Some(u)
    }
}
