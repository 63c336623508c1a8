//! Nodes: their operands and results, their order in blocks, walks over them, and writing the order back to the
//! program.

use dialect::ir::{Block, Op, Program};

use super::role::Kind;
use super::{Graph, Node, NodeData, NodeKind, Place, Use, Val};

impl Graph {
    /// Returns the node behind an id.
    pub fn node(&self, node: Node) -> &NodeData {
        &self.nodes[node]
    }

    /// Returns whether there has ever been an op of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.seen.contains_key(&std::mem::discriminant(&kind))
    }

    /// Returns the op of a node; `None` for an edge.
    pub fn op(&self, node: Node) -> Option<Op> {
        match self.node(node).kind {
            NodeKind::Op(op) => Some(op),
            NodeKind::Edge(_) => None,
        }
    }

    fn op_with_regions(&self, node: Node) -> Option<Op> {
        let data = self.node(node);
        if data.regions { self.op(node) } else { None }
    }

    /// Returns the uses that are a node's operands.
    pub fn operand_uses(&self, node: Node) -> impl ExactSizeIterator<Item = Use> + DoubleEndedIterator + use<> {
        let d = self.node(node);
        let first = d.first_use.index();
        (first..first + d.operands as usize).map(Use::new)
    }

    /// Returns a node's operands.
    pub fn operands(&self, node: Node) -> impl ExactSizeIterator<Item = Val> + DoubleEndedIterator + '_ {
        self.operand_uses(node).map(|u| self.uses[u].value)
    }

    /// Returns a node's results.
    pub fn results(&self, node: Node) -> impl ExactSizeIterator<Item = Val> + Clone + use<> {
        let d = self.node(node);
        let first = d.first_result.index();
        (first..first + d.results as usize).map(Val::new)
    }

    /// Returns the tensors of a node: its operands, then its results.
    pub fn tensors(&self, node: Node) -> impl Iterator<Item = Val> + '_ {
        self.operands(node).chain(self.results(node))
    }

    /// Returns result `i` of a node.
    pub fn result(&self, node: Node, i: usize) -> Val {
        Val::new(self.node(node).first_result.index() + i)
    }

    /// Returns the block that contains a node.
    pub fn block(&self, node: Node) -> Block {
        Block::new(self.node(node).block as usize)
    }

    /// Returns the node whose region contains a node.
    pub fn parent(&self, node: Node) -> Node {
        self.blocks.get(self.node(node).block as usize).map_or(Node::NONE, |b| b.parent)
    }

    /// Returns the first node of a block.
    pub fn first(&self, block: Block) -> Node {
        self.blocks.get(block.index()).map_or(Node::NONE, |b| b.first)
    }

    /// Returns the last node of a block: its terminator.
    pub fn last(&self, block: Block) -> Node {
        self.blocks.get(block.index()).map_or(Node::NONE, |b| b.last)
    }

    /// Returns the next node of the block.
    pub fn next(&self, node: Node) -> Node {
        self.node(node).next
    }

    /// Returns the place right after the definition of a value.
    pub fn after(&self, value: Val) -> Place {
        match self.def(value) {
            Node::NONE => Place::First(self.block_of_arg(value)),
            node => Place::After(node),
        }
    }

    pub(super) fn place(&mut self, node: Node, place: Place) {
        let (block, prev, next) = match place {
            Place::Before(at) => (self.node(at).block, self.node(at).prev, at),
            Place::After(at) => (self.node(at).block, at, self.node(at).next),
            Place::First(block) => (block.index() as u32, Node::NONE, self.blocks[block.index()].first),
        };
        let data = &mut self.nodes[node];
        (data.block, data.prev, data.next) = (block, prev, next);
        match prev {
            Node::NONE => self.blocks[block as usize].first = node,
            prev => self.nodes[prev].next = node,
        }
        match next {
            Node::NONE => self.blocks[block as usize].last = node,
            next => self.nodes[next].prev = node,
        }
    }

    fn detach(&mut self, node: Node) {
        let NodeData { block, prev, next, .. } = *self.node(node);
        match prev {
            Node::NONE => self.blocks[block as usize].first = next,
            prev => self.nodes[prev].next = next,
        }
        match next {
            Node::NONE => self.blocks[block as usize].last = prev,
            next => self.nodes[next].prev = prev,
        }
    }

    /// Makes `block` a block of `parent`'s region.
    pub fn adopt(&mut self, block: Block, parent: Node) {
        self.blocks[block.index()].parent = parent;
    }

    /// Moves a node.
    pub fn move_to(&mut self, node: Node, place: Place) {
        self.detach(node);
        self.place(node, place);
    }

    /// Removes a node and all nodes inside it. Its results must have no uses.
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
        self.nodes[node].erased = true;
    }

    /// Calls `f` on every node under `block` in order, before the nodes inside it.
    pub fn preorder(&self, program: &Program, block: Block, f: &mut dyn FnMut(Node)) {
        let mut node = self.first(block);
        while node.is_some() {
            f(node);
            if let Some(op) = self.op_with_regions(node) {
                for &region in &program.op(op).regions {
                    for &inner in program.region_blocks(region) {
                        self.preorder(program, inner, f);
                    }
                }
            }
            node = self.next(node);
        }
    }

    /// Returns the nodes under `block` in order, each after the nodes inside it.
    pub fn postorder(&self, program: &Program, block: Block) -> Vec<Node> {
        let mut out = Vec::new();
        self.collect_postorder(program, block, &mut out);
        out
    }

    fn collect_postorder(&self, program: &Program, block: Block, out: &mut Vec<Node>) {
        let mut node = self.first(block);
        while node.is_some() {
            if let Some(op) = self.op_with_regions(node) {
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
