//! Runs propagation to a fixpoint: a worklist of nodes, each propagating between its tensors' shardings.
//!
//! The order of visits decides conflicts, so it is that of MLIR's greedy driver under Shardy: all nodes from top to
//! bottom, but nodes affected by a change are visited at once, the last affected first. A node that has no users and no
//! effect is removed when it is visited.

use dialect::ir::Program;
use dialect::op::OpPriority;
use smallvec::SmallVec;

use super::engine::{Directions, Engine, StepKind};
use super::factor::Direction;
use super::rule::RuleId;
use super::sharding::ShardingId;
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Graph, Node, NodeKind, Slot, Val};

/// The number of rounds of op priorities; each round includes the ops of the rounds before.
pub const ROUNDS: usize = 5;

/// Nodes to visit, the last one next.
struct Worklist {
    list: Vec<Node>,
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Worklist {
    fn push(&mut self, node: Node) {
        let position = &mut self.position[node.index()];
        if *position == ABSENT {
            *position = self.list.len() as u32;
            self.list.push(node);
        }
    }

    fn pop(&mut self) -> Option<Node> {
        let node = self.list.pop()?;
        self.position[node.index()] = ABSENT;
        Some(node)
    }
}

/// Returns the directions of an op in round `round`.
fn directions(graph: &Graph, node: Node, round: usize) -> Directions {
    let spread = graph.node(node).role.spread;
    if round == 4 {
        return Directions::all(Direction::Both);
    }
    let early = match spread {
        OpPriority::Elementwise | OpPriority::First | OpPriority::FirstForward => {
            let single = |v: Val| graph.use_count(v) == 1 || graph.is_scalar(v);
            match spread {
                _ if round == 0 && !graph.operands(node).all(single) => Direction::None,
                OpPriority::FirstForward => Direction::Forward,
                _ => Direction::Both,
            }
        }
        _ => Direction::None,
    };
    let late = if spread == OpPriority::BackwardFirst { Direction::Backward } else { Direction::Both };
    match round {
        0 | 1 => Directions::all(early),
        2 => Directions { pass_through: early.or(late), other: early },
        _ => Directions::all(early.or(late)),
    }
}

impl Engine {
    /// Propagates round by round.
    pub fn run_rounds(&mut self, program: &Program) {
        for round in self.first_round..ROUNDS {
            self.tie_results();
            self.run_worklist(program, round);
            self.tie_results();
        }
    }

    /// Propagates between the values that the main function returns and the shardings of its results. Puts no node on
    /// the worklist, because this runs before and after all nodes are visited.
    fn tie_results(&mut self) {
        let Some(main) = self.main.take() else { return };
        let values: SmallVec<[Val; 8]> = self.graph.operands(main.terminator).collect();
        let kind = StepKind { directions: Directions::all(Direction::Both), elementwise: false, conservative: false };
        for ((value, &slot), rule) in values.into_iter().zip(&main.slots).zip(&main.rules) {
            let Some(rule) = *rule else { continue };
            let slots = [self.graph.slot(value), slot];
            let shardings = [self.graph.sharding(value), self.graph.slots[slot]];
            for (t, new) in self.step(rule, kind, &shardings) {
                self.record_origins(Node::NONE, &slots, &shardings, t as usize, new);
                if t == 0 {
                    self.set_sharding(value, new);
                    self.update_group(self.graph.shardable(value), new, &mut |_, _| {});
                } else {
                    self.graph.slots[slot] = new;
                }
            }
        }
        self.main = Some(main);
    }

    fn run_worklist(&mut self, program: &Program, round: usize) {
        let mut order = std::mem::take(&mut self.order);
        if order.is_empty() {
            self.graph.preorder(program, program.body(), &mut |node| order.push(node));
        }
        order.retain(|&node| !self.graph.node(node).erased);
        let mut worklist =
            Worklist { list: Vec::with_capacity(order.len()), position: vec![ABSENT; self.graph.nodes.len()] };
        order.iter().rev().for_each(|&node| worklist.push(node));
        self.order = order;
        while let Some(node) = worklist.pop() {
            dialect::interrupt::check();
            if self.graph.node(node).erased {
                continue;
            }
            if self.is_dead(program, node) {
                self.erase_dead(program, node, &mut worklist);
                continue;
            }
            self.visit(node, round, &mut worklist);
        }
    }

    fn visit(&mut self, node: Node, round: usize, worklist: &mut Worklist) {
        let data = self.graph.node(node);
        let Some(rule) = data.rule else { return };
        let role = data.role;
        if let NodeKind::Edge(edge) = data.kind {
            return self.visit_edge(node, edge, rule, worklist);
        }
        let directions = match role.kind {
            Kind::Barrier(direction) => Directions::all(direction),
            _ => directions(&self.graph, node, round),
        };
        if directions == Directions::all(Direction::None) {
            return;
        }
        let conservative = self.conservative && !matches!(role.kind, Kind::Barrier(_));
        let kind = StepKind { directions, elementwise: role.elementwise, conservative };
        let mut shardings = std::mem::take(&mut self.scratch);
        shardings.clear();
        for u in self.graph.operand_uses(node) {
            shardings.push(self.graph.sharding(self.graph.value_of_use(u)));
        }
        for result in self.graph.results(node) {
            shardings.push(self.graph.sharding(result));
        }
        for (t, new) in self.step(rule, kind, &shardings) {
            if self.origins.is_some() {
                let slots: Vec<Slot> = self.graph.tensors(node).map(|v| self.graph.slot(v)).collect();
                self.record_origins(node, &slots, &shardings, t as usize, new);
            }
            let value = self.graph.tensors(node).nth(t as usize);
            if let Some(value) = value {
                self.update(node, value, new, new, worklist);
            }
        }
        self.scratch = shardings;
    }

    /// Propagates between an edge's sources and the one sharding of its targets; for manual computations, the manual
    /// axes are added or removed in between.
    fn visit_edge(&mut self, node: Node, edge: u32, rule: RuleId, worklist: &mut Worklist) {
        let data = &self.graph.edges[edge as usize];
        let mut values: SmallVec<[Val; 4]> = data.sources.iter().map(|&u| self.graph.value_of_use(u)).collect();
        let mut shardings: SmallVec<[ShardingId; 4]> = values.iter().map(|&v| self.graph.sharding(v)).collect();
        let target = self.graph.result(node, 0);
        shardings.push(self.seen_by_sources(edge, self.graph.sharding(target)));
        values.push(target);
        let kind = StepKind { directions: Directions::all(Direction::Both), elementwise: false, conservative: false };
        for (t, new) in self.step(rule, kind, &shardings) {
            let slots: SmallVec<[Slot; 4]> = values.iter().map(|&v| self.graph.slot(v)).collect();
            self.record_origins(node, &slots, &shardings, t as usize, new);
            let own = if t as usize + 1 == values.len() { self.seen_by_targets(edge, new) } else { new };
            // The sharding group of a result gets the sources' sharding without the manual axes, as in Shardy. Shardy
            // would also give manual axes to the group of an argument, inside the computation, and then rejects them
            // there.
            let alike = if self.graph.edges[edge as usize].of_result { new } else { own };
            self.update(node, values[t as usize], own, alike, worklist);
        }
    }

    /// Sets a sharding and puts every affected node on the worklist. The other members of its sharding group get the
    /// sharding `alike`.
    fn update(&mut self, by: Node, value: Val, own: ShardingId, alike: ShardingId, worklist: &mut Worklist) {
        self.set_sharding(value, own);
        let value = self.graph.shardable(value);
        touch(&self.graph, value, by, worklist);
        self.update_group(value, alike, &mut |graph, member| touch(graph, member, by, worklist));
    }

    /// Gives the other members of a value's sharding group its sharding.
    fn update_group(&mut self, value: Val, new: ShardingId, touched: &mut dyn FnMut(&Graph, Val)) {
        let Some(&group) = self.group_of.get(&value) else {
            return;
        };
        for member in self.groups[group as usize].clone() {
            if member != value {
                let new = self.with_manual_axes(member, new);
                self.set_sharding(member, new);
                touched(&self.graph, member);
            }
        }
    }

    /// Returns `sharding` adapted to `value`: a result of a manual computation keeps its manual axes.
    fn with_manual_axes(&mut self, value: Val, sharding: ShardingId) -> ShardingId {
        let def = self.graph.def(value);
        match def.is_some().then(|| self.graph.node(def).kind) {
            Some(NodeKind::Edge(edge)) => {
                let inner = self.seen_by_sources(edge, sharding);
                self.seen_by_targets(edge, inner)
            }
            _ => sharding,
        }
    }

    /// Returns whether a node has no users and no effect.
    pub fn is_dead(&self, program: &Program, node: Node) -> bool {
        let role = self.graph.node(node).role;
        role.removable
            && self.graph.results(node).all(|r| self.graph.use_count(r) == 0)
            && self.regions_do_nothing(program, node)
    }

    fn regions_do_nothing(&self, program: &Program, node: Node) -> bool {
        let Some(op) = self.graph.op(node) else {
            return true;
        };
        let regions = &program.op(op).regions;
        regions.iter().flat_map(|&r| program.region_blocks(r)).all(|&block| {
            let mut inner = self.graph.first(block);
            while inner.is_some() {
                let role = self.graph.node(inner).role;
                if !(role.removable || role.terminator) || !self.regions_do_nothing(program, inner) {
                    return false;
                }
                inner = self.graph.next(inner);
            }
            true
        })
    }

    /// Removes nodes without users, then nodes that only those used, and so on.
    pub fn erase_unread(&mut self, program: &Program) {
        let mut nodes = self.graph.postorder(program, program.body());
        while let Some(node) = nodes.pop() {
            if !self.graph.node(node).erased && self.is_dead(program, node) {
                let operands: Vec<Val> = self.graph.operands(node).collect();
                self.graph.erase(program, node);
                nodes.extend(operands.into_iter().map(|v| self.graph.def(v)).filter(|d| d.is_some()));
            }
        }
    }

    /// Removes a node, after all nodes inside it, from the last to the first. The nodes that defined its operands are
    /// visited next.
    fn erase_dead(&mut self, program: &Program, node: Node, worklist: &mut Worklist) {
        let regions = self.graph.op(node).map(|op| &program.op(op).regions[..]).unwrap_or_default();
        for &block in regions.iter().flat_map(|&r| program.region_blocks(r)).rev() {
            while let inner = self.graph.last(block)
                && inner.is_some()
            {
                self.erase_dead(program, inner, worklist);
            }
        }
        for value in self.graph.operands(node) {
            let def = self.graph.def(value);
            let mut others: SmallVec<[Node; 2]> = SmallVec::new();
            for user in self.graph.uses(value).map(|u| self.graph.user(u)) {
                if user != node && !others.contains(&user) {
                    others.push(user);
                    if others.len() > 1 {
                        break;
                    }
                }
            }
            if def.is_some() && others.len() < 2 {
                worklist.push(def);
            }
        }
        self.graph.erase(program, node);
    }
}

/// Puts the nodes affected by a value's sharding on the worklist, except `by`, which caused the change.
fn touch(graph: &Graph, value: Val, by: Node, worklist: &mut Worklist) {
    let def = graph.def(value);
    if def.is_some() {
        if let NodeKind::Edge(edge) = graph.node(def).kind {
            for &target in &graph.edges[edge as usize].targets {
                touch_users(graph, target, by, worklist);
            }
        }
        if def != by {
            worklist.push(def);
        }
    }
    touch_users(graph, value, by, worklist);
}

fn touch_users(graph: &Graph, value: Val, by: Node, worklist: &mut Worklist) {
    for u in graph.uses(value) {
        let mut user = graph.reader(u);
        if graph.node(user).role.terminator {
            user = graph.parent(user);
        }
        if user.is_some() && user != by {
            worklist.push(user);
        }
    }
}
