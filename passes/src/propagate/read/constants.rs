//! Copies constants for every use; afterwards, copies with the same sharding are merged again.
//!
//! A value computed from constants alone (or any broadcast of a scalar) is a single value only to save text: its uses
//! are unrelated, but a sharding that reached one use would reach the others through it. Source: Shardy,
//! `constant-or-scalar-splitter`, `constant-or-scalar-merger`.

use dialect::ir::{Block, Program};
use dialect::op::Constancy;
use dialect::ops::func;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Graph, Node, Place, Val};

/// Copies constant computations for every use that is not constant itself, separately in every function and every named
/// computation.
pub fn split(graph: &mut Graph, program: &mut Program) {
    let mut variable = FxHashSet::default();
    let mut found = Vec::new();
    for node in graph.postorder(program, program.body()) {
        let op = graph.op(node).filter(|_| matches!(graph.node(node).role.kind, Kind::Named | Kind::Function));
        if let Some(block) = op.and_then(|op| program.region_block(op, 0))
            && split_block(graph, program, block, &variable, &mut found)
        {
            variable.insert(node);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ConstantKind {
    Variable,
    Constant,
    Expansion,
}

/// Splits one block. Returns whether it contains ops whose results wouldn't be constant even for constant operands.
/// `found` has the results for nodes by number.
fn split_block(
    graph: &mut Graph,
    program: &mut Program,
    block: Block,
    variable: &FxHashSet<Node>,
    found: &mut Vec<ConstantKind>,
) -> bool {
    let mut nodes = Vec::new();
    collect_outside_named(graph, program, block, &mut nodes);
    let mut is_variable = false;
    found.resize(graph.nodes.len(), ConstantKind::Variable);
    let (mut constants, mut expansions, mut copies) = (Vec::new(), Vec::new(), FxHashMap::default());
    for node in nodes {
        let role = graph.node(node).role;
        if role.kind == Kind::Group {
            continue;
        }
        let is_constant = |value: Val| {
            let def = graph.def(value);
            def.is_some() && found.get(def.index()) == Some(&ConstantKind::Constant)
        };
        let constancy = match role.kind {
            Kind::Named if variable.contains(&node) => Constancy::No,
            Kind::Named => Constancy::Preserving,
            _ => role.constancy,
        };
        match constancy {
            Constancy::Source => found[node.index()] = ConstantKind::Constant,
            Constancy::Preserving | Constancy::Broadcast if graph.operands(node).all(is_constant) => {
                found[node.index()] = ConstantKind::Constant;
            }
            Constancy::Broadcast if graph.operands(node).all(|v| graph.is_scalar(v)) => {
                found[node.index()] = ConstantKind::Expansion;
            }
            _ => {}
        }
        is_variable |= constancy == Constancy::No && !role.terminator;
        match found[node.index()] {
            ConstantKind::Constant => constants.push(node),
            ConstantKind::Expansion => expansions.push(node),
            ConstantKind::Variable => {
                for u in graph.operand_uses(node) {
                    let value = graph.value_of_use(u);
                    let def = graph.def(value);
                    if def.is_some() && found.get(def.index()).is_some_and(|&f| f != ConstantKind::Variable) {
                        copies.clear();
                        copy_into(graph, program, value, &mut copies);
                        graph.set_use(u, copies.get(&value).copied().unwrap_or(value));
                    }
                }
            }
        }
    }
    for node in expansions.into_iter().chain(constants.into_iter().rev()) {
        erase_unused(graph, program, node);
    }
    is_variable
}

fn collect_outside_named(graph: &Graph, program: &Program, block: Block, out: &mut Vec<Node>) {
    let mut node = graph.first(block);
    while node.is_some() {
        out.push(node);
        if graph.node(node).role.kind != Kind::Named
            && let Some(op) = graph.op(node)
        {
            for &inner in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
                collect_outside_named(graph, program, inner, out);
            }
        }
        node = graph.next(node);
    }
}

/// Copies the computation of `value`, down to the constants; scalars, which are never sharded, are shared.
fn copy_into(graph: &mut Graph, program: &mut Program, value: Val, copies: &mut FxHashMap<Val, Val>) {
    // Depth first without recursion, because chains of constants may have thousands of ops.
    let mut stack: SmallVec<[(Val, bool); 8]> = smallvec![(value, false)];
    while let Some((value, operands_done)) = stack.pop() {
        let node = graph.def(value);
        if graph.is_scalar(value) || copies.contains_key(&value) || !node.is_some() {
            continue;
        }
        if !operands_done {
            stack.push((value, true));
            stack.extend(graph.operands(node).rev().map(|v| (v, false)));
            continue;
        }
        copy_node(graph, program, node, Place::Before(node), copies);
        copy_groups(graph, program, value, copies, node);
    }
}

/// Copies a node with all nodes inside it.
fn copy_node(graph: &mut Graph, program: &mut Program, node: Node, place: Place, copies: &mut FxHashMap<Val, Val>) {
    let Some(op) = graph.op(node) else { return };
    let operands: SmallVec<[Val; 4]> = graph.operands(node).map(|v| copies.get(&v).copied().unwrap_or(v)).collect();
    let copy = program.copy_op(op);
    let new = graph.insert_op(program, copy, &operands, place);
    let keep_sharding = |graph: &mut Graph, old: Val, new: Val| {
        let slot = graph.slot(new);
        graph.slots[slot] = graph.sharding(old);
    };
    for (old, new) in graph.results(node).zip(graph.results(new)) {
        copies.insert(old, new);
        keep_sharding(graph, old, new);
    }
    let mut regions = program.op(op).regions.clone();
    for region in &mut regions {
        let mut blocks = Vec::new();
        for block in program.region_blocks(*region).to_vec() {
            let inner = program.new_block();
            graph.add_block(program, inner, new);
            for arg in program.block_args(block).to_vec() {
                let (ty, loc, span) = (program.value_type(arg), program.value_loc(arg), program.value_span(arg));
                let (old, new) = (arg, program.add_block_arg(inner, ty, loc, span));
                let (old, new) = (Val::new(old.index()), Val::new(new.index()));
                graph.add_argument(program, inner, new);
                if graph.slot(old).is_some() {
                    graph.own_slot(new);
                    keep_sharding(graph, old, new);
                }
                copies.insert(old, new);
            }
            let mut child = graph.first(block);
            while child.is_some() {
                let place = match graph.last(inner) {
                    Node::NONE => Place::First(inner),
                    last => Place::After(last),
                };
                copy_node(graph, program, child, place, copies);
                child = graph.next(child);
            }
            // Ops read the results of their regions from the program.
            let mut ops = Vec::new();
            let mut child = graph.first(inner);
            while child.is_some() {
                ops.extend(graph.op(child));
                child = graph.next(child);
            }
            program.set_block_ops(inner, ops);
            blocks.push(inner);
        }
        *region = program.new_region(&blocks);
    }
    program.op_mut(copy).regions = regions;
}

/// Adds copied values to the sharding groups of the originals.
fn copy_groups(graph: &mut Graph, program: &mut Program, value: Val, copies: &FxHashMap<Val, Val>, before: Node) {
    if !graph.has(Kind::Group) {
        return;
    }
    let users: Vec<Node> = graph.uses(value).map(|u| graph.user(u)).collect();
    for user in users {
        if graph.node(user).role.kind == Kind::Group
            && let (Some(op), Some(&copy)) = (graph.op(user), copies.get(&value))
        {
            let group = program.copy_op(op);
            graph.insert_op(program, group, &[copy], Place::Before(before));
        }
    }
}

fn erase_unused(graph: &mut Graph, program: &Program, node: Node) {
    let users = graph.results(node).flat_map(|r| graph.uses(r)).map(|u| graph.user(u));
    if users.clone().any(|u| graph.node(u).role.kind != Kind::Group) {
        return;
    }
    let users: Vec<Node> = users.collect();
    for user in users {
        graph.erase(program, user);
    }
    graph.erase(program, node);
}

/// Merges constants and broadcasts of scalars in one region that have equal attributes and shardings.
pub fn merge(graph: &mut Graph, program: &Program) {
    let mut known: FxHashMap<Box<[u32]>, Node> = FxHashMap::default();
    let mut key = Vec::new();
    let sharding = program.find_name(func::SHARDING);
    for node in graph.postorder(program, program.body()) {
        let role = graph.node(node).role;
        let mergeable = match role.constancy {
            Constancy::Source => graph.operands(node).len() == 0 && is_literal(graph, program, node),
            Constancy::Broadcast => graph.operands(node).len() == 1 && graph.operands(node).all(|v| graph.is_scalar(v)),
            _ => false,
        };
        let Some(op) = graph.op(node).filter(|_| mergeable) else {
            continue;
        };
        let data = program.op(op);
        key.clear();
        key.extend([data.name.index() as u32, graph.block(node).index() as u32]);
        key.extend(graph.operands(node).map(|v| v.index() as u32));
        for result in graph.results(node) {
            key.push(program.value_type(graph.program_value(result)).index() as u32);
            key.push(graph.sharding(result).index() as u32);
        }
        let attrs = data.attrs.iter().filter(|a| Some(a.0) != sharding);
        attrs.for_each(|a| key.extend([a.0.index() as u32, a.1.index() as u32]));
        match known.get(key.as_slice()) {
            Some(&first) => {
                for (old, new) in graph.results(node).zip(graph.results(first)) {
                    graph.replace_uses(old, new, |_, _| true);
                }
                graph.erase(program, node);
            }
            None => {
                known.insert(key.as_slice().into(), node);
            }
        }
    }
}

fn is_literal(graph: &Graph, program: &Program, node: Node) -> bool {
    graph.op(node).is_some_and(|op| program.op(op).def.constant(program.view(op)).is_some())
}
