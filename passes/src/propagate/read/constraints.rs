//! Sets the sharding of a constraint's operand when nothing else determines it. Source: Shardy,
//! `apply-sharding-constraints`.

use dialect::ir::{Op, Program, Value};
use dialect::ops::build;
use dialect::sharding::TensorSharding;

use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::sharding::{Sharding, ShardingId};
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Graph, Node, Place, Use, Val};

/// Gives the operands of constraints and manual computations their shardings.
pub fn apply(engine: &mut Engine, program: &mut Program) {
    if !engine.graph.has(Kind::Constraint) && !engine.graph.has(Kind::Manual) {
        return;
    }
    for node in engine.graph.postorder(program, program.body()) {
        match engine.graph.node(node).role.kind {
            Kind::Constraint => apply_constraint(engine, program, node),
            Kind::Manual => {
                for (i, u) in engine.graph.operand_uses(node).enumerate() {
                    let Some(sharding) = engine.manual.get(&node).and_then(|m| m.inputs.get(i)).cloned() else {
                        continue;
                    };
                    let id = engine.shardings.intern(sharding);
                    apply_to(engine, program, engine.graph.value_of_use(u), id, None);
                }
            }
            _ => {}
        }
    }
}

fn operand(graph: &Graph, node: Node) -> Option<Val> {
    graph.operands(node).next()
}

fn apply_constraint(engine: &mut Engine, program: &mut Program, head: Node) {
    let graph = &engine.graph;
    if let (Some(tail), Some(input)) = (tail_of_chain(graph, head), operand(graph, head)) {
        // Users of the value after the chain are meant to see the chain's last constraint.
        let order = positions_after(graph, tail);
        let result = graph.result(tail, 0);
        engine.graph.replace_uses(input, result, |graph, u| {
            let user = graph.user(u);
            user != head && !is_function_return(graph, user) && order.contains(&user)
        });
    }
    if let Some(input) = operand(&engine.graph, head) {
        let sharding = engine.graph.sharding(engine.graph.result(head, 0));
        apply_to(engine, program, input, sharding, Some(head));
    }
}

/// Returns whether a node returns from a function.
fn is_function_return(graph: &Graph, node: Node) -> bool {
    let parent = graph.parent(node);
    graph.node(node).role.terminator && parent.is_some() && graph.node(parent).role.kind == Kind::Function
}

/// Returns the nodes after `node` in its block.
fn positions_after(graph: &Graph, node: Node) -> rustc_hash::FxHashSet<Node> {
    let mut after = rustc_hash::FxHashSet::default();
    let mut next = graph.next(node);
    while next.is_some() {
        after.insert(next);
        next = graph.next(next);
    }
    after
}

fn is_constraint(graph: &Graph, node: Node) -> bool {
    graph.node(node).role.kind == Kind::Constraint
}

fn constrains(graph: &Graph, node: Node) -> bool {
    matches!(graph.node(node).role.kind, Kind::Constraint | Kind::Manual)
}

/// Returns the last of a chain of at least two constraints that starts at `head` and has no other users.
fn tail_of_chain(graph: &Graph, head: Node) -> Option<Node> {
    let input = operand(graph, head)?;
    let def = graph.def(input);
    if (def.is_some() && is_constraint(graph, def)) || graph.sharding(input).is_some() {
        return None;
    }
    let users = |value: Val| graph.uses(value).map(|u| graph.user(u));
    if users(input).any(|user| user != head && constrains(graph, user)) {
        return None;
    }
    let mut tail = head;
    loop {
        let result = graph.result(tail, 0);
        match users(result).next() {
            Some(user) if graph.use_count(result) == 1 && is_constraint(graph, user) => tail = user,
            _ => break,
        }
    }
    (tail != head && !users(graph.result(tail, 0)).any(|user| constrains(graph, user))).then_some(tail)
}

/// Sets the sharding of `input`, unless it has one or other uses require a different one. An edge has several targets:
/// there the constraint itself moves to the definition of the value, and all users read the constraint.
fn apply_to(engine: &mut Engine, program: &mut Program, input: Val, sharding: ShardingId, constraint: Option<Node>) {
    let graph = &engine.graph;
    let closed = engine.shardings.get(sharding).is_some_and(|s| s.dims.iter().all(|d| !d.open));
    if !graph.slot(input).is_some() || graph.sharding(input).is_some() || !closed {
        return;
    }
    if graph.uses(input).any(|u| wants_otherwise(engine, u, sharding)) {
        return;
    }
    if !graph.has_edge(input) {
        engine.set_sharding(input, sharding);
        return;
    }
    let place = graph.after(input);
    let node = match constraint {
        Some(node) => {
            if place != Place::After(node) {
                engine.graph.move_to(node, place);
            }
            node
        }
        None => match engine.new_constraint(program, input, sharding, place) {
            Some(node) => node,
            None => return,
        },
    };
    let result = engine.graph.result(node, 0);
    engine.graph.replace_uses(input, result, |graph, u| graph.user(u) != node);
    let unreduced = engine.shardings.get(sharding).filter(|s| !s.unreduced.is_empty()).cloned();
    if let Some(wanted) = unreduced {
        // Unreduced axes don't propagate, so they are set directly.
        let mut own = Sharding::open(wanted.mesh, wanted.rank());
        own.unreduced = wanted.unreduced;
        own.kind = wanted.kind;
        let own = engine.shardings.intern(own);
        engine.set_sharding(input, own);
    }
}

/// Returns whether a use is by a constraint or a manual computation that names another sharding.
fn wants_otherwise(engine: &Engine, u: Use, sharding: ShardingId) -> bool {
    let node = engine.graph.user(u);
    match engine.graph.node(node).role.kind {
        Kind::Constraint => engine.graph.sharding(engine.graph.result(node, 0)) != sharding,
        Kind::Manual => {
            let index = engine.graph.operand_uses(node).position(|o| o == u);
            let own = index.and_then(|i| engine.manual.get(&node)?.inputs.get(i));
            own != engine.shardings.get(sharding)
        }
        _ => false,
    }
}

impl Engine {
    /// Inserts a constraint on `input`.
    pub fn new_constraint(
        &mut self,
        program: &mut Program,
        input: Val,
        sharding: ShardingId,
        place: Place,
    ) -> Option<Node> {
        self.new_annotation(program, build::sdy::constraint, input, sharding, place)
    }

    /// Inserts a reshard of `input`.
    pub fn new_reshard(
        &mut self,
        program: &mut Program,
        input: Val,
        sharding: ShardingId,
        place: Place,
    ) -> Option<Node> {
        self.new_annotation(program, build::sdy::reshard, input, sharding, place)
    }

    fn new_annotation(
        &mut self,
        program: &mut Program,
        build: fn(&mut Program, Value, TensorSharding) -> Op,
        input: Val,
        sharding: ShardingId,
        place: Place,
    ) -> Option<Node> {
        let written = self.meshes.write(self.shardings.get(sharding)?);
        let op = build(program, self.graph.program_value(input), written);
        let node = self.graph.insert_op(program, op, &[input], place);
        let slot = self.graph.slot(self.graph.result(node, 0));
        self.graph.slots[slot] = sharding;
        Some(node)
    }
}
