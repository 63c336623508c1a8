//! Values: their shardings, definitions and uses, the newest first.

use dialect::ir::{Block, Program, Value};

use super::{Graph, Node, NodeKind, Slot, Use, UseData, Val};
use crate::propagate::algorithm::sharding::ShardingId;

impl Graph {
    /// Gives a value a new slot, as arguments of functions have.
    pub fn own_slot(&mut self, value: Val) {
        let slot = self.new_slot();
        self.val_mut(value).slot = slot;
    }

    /// Returns the slot of a value's sharding; [`Slot::NONE`] for region arguments that are never sharded.
    pub fn slot(&self, value: Val) -> Slot {
        self.val(value).slot
    }

    /// Returns the sharding of a value.
    pub fn sharding(&self, value: Val) -> ShardingId {
        let slot = self.val(value).slot;
        if slot.is_some() { self.slots[slot] } else { ShardingId::NONE }
    }

    /// Returns the node that defines a value; [`Node::NONE`] for arguments of blocks.
    pub fn def(&self, value: Val) -> Node {
        self.val(value).def
    }

    /// Returns the block of which a value is an argument.
    pub fn block_of_arg(&self, value: Val) -> Block {
        Block::new(self.val(value).block as usize)
    }

    /// Returns whether it is a tensor of known sizes.
    pub fn is_shaped(&self, value: Val) -> bool {
        self.val(value).shaped
    }

    /// Returns whether it is a tensor of rank 0.
    pub fn is_scalar(&self, value: Val) -> bool {
        self.val(value).rank == Some(0)
    }

    /// Returns its rank; 0 for values that aren't tensors.
    pub fn rank(&self, value: Val) -> usize {
        self.val(value).rank.unwrap_or(0) as usize
    }

    /// Returns the value whose sharding this one shares: its edge's value, else itself.
    pub fn shardable(&self, value: Val) -> Val {
        let slot = self.slot(value);
        // Edges get their slots in ascending order.
        match self.edge_values.binary_search_by(|v| v.slot.cmp(&slot)) {
            Ok(edge) => Val::of_edge(edge),
            Err(_) => value,
        }
    }

    /// Returns whether it is the owner or the value of an edge.
    pub fn has_edge(&self, value: Val) -> bool {
        self.shardable(value).edge().is_some()
    }

    /// Returns the number of values in the program.
    pub fn program_values(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of uses.
    pub fn use_count(&self, value: Val) -> u32 {
        self.val(value).uses
    }

    /// Returns the uses, the newest first.
    pub fn uses(&self, value: Val) -> UseIter<'_> {
        UseIter { graph: self, next: self.val(value).first_use }
    }

    /// Returns the node of a use.
    pub fn user(&self, u: Use) -> Node {
        self.uses[u].node
    }

    /// Returns the edge to visit when the value of a use changes; the node of the use where there is none.
    pub fn reader(&self, u: Use) -> Node {
        match self.uses[u].edge {
            Node::NONE => self.user(u),
            edge => edge,
        }
    }

    /// Returns the value that a use reads.
    pub fn value_of_use(&self, u: Use) -> Val {
        self.uses[u].value
    }

    /// Returns the program value for a value: the owner of an edge for the edge's value.
    pub fn program_value(&self, value: Val) -> Value {
        match value.edge() {
            Some(edge) => self.edges[edge].owner,
            None => Value::new(value.index()),
        }
    }

    /// Removes the edge of `owner`, which keeps its slot.
    pub fn remove_edge(&mut self, program: &Program, owner: Val) {
        let user = self.uses(owner).next().map(|u| self.user(u));
        if let Some(edge) = user.filter(|&n| matches!(self.node(n).kind, NodeKind::Edge(_))) {
            let result = self.result(edge, 0);
            self.replace_uses(result, owner, |_, _| true);
            self.erase(program, edge);
        }
    }

    fn link(&mut self, u: Use) {
        let value = self.uses[u].value;
        let first = self.val(value).first_use;
        let data = &mut self.uses[u];
        data.prev = Use::NONE;
        data.next = first;
        if first.is_some() {
            self.uses[first].prev = u;
        }
        let value = self.val_mut(value);
        value.first_use = u;
        value.uses += 1;
    }

    pub(super) fn unlink(&mut self, u: Use) {
        let UseData { value, prev, next, .. } = self.uses[u];
        if next.is_some() {
            self.uses[next].prev = prev;
        }
        if prev.is_some() {
            self.uses[prev].next = next;
        } else {
            self.val_mut(value).first_use = next;
        }
        self.val_mut(value).uses -= 1;
    }

    pub(super) fn link_uses(&mut self, node: Node) {
        for u in self.operand_uses(node) {
            self.link(u);
        }
    }

    /// Reorders the uses by the ops under `block` as if the block had just been copied: copying creates an op before
    /// the ops inside it.
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
        self.uses[u].value = value;
        self.link(u);
    }

    /// Makes the uses of `old` that `which` selects read `new`.
    pub fn replace_uses(&mut self, old: Val, new: Val, which: impl Fn(&Self, Use) -> bool) {
        let mut u = self.val(old).first_use;
        while u.is_some() {
            let next = self.uses[u].next;
            if which(self, u) {
                self.set_use(u, new);
            }
            u = next;
        }
    }
}

/// The uses of a value, the newest first.
#[derive(Clone)]
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
        self.next = self.graph.uses[u].next;
        Some(u)
    }
}
