//! Adds data-flow edges: one for each value that an op with regions passes on. Source: Shardy, `add-data-flow-edges`.

use dialect::ir::{Block, Program, Value};
use dialect::op::Control;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::sharding::ShardingId;
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{EdgeData, Node, Use, Val};

/// Adds the edges of every op in the module. Named computations come last, because Shardy creates them from calls after
/// it has copied the functions together with their edges.
pub fn add(engine: &mut Engine, program: &Program, copies: &FxHashSet<Block>) {
    let nodes = engine.graph.postorder(program, program.body());
    let (named, others): (Vec<Node>, Vec<Node>) =
        nodes.into_iter().partition(|&node| engine.graph.node(node).role.kind == Kind::Named);
    for node in others {
        add_of(engine, program, node);
    }
    for &node in &named {
        let block = engine.graph.op(node).and_then(|op| program.region_block(op, 0));
        if let Some(block) = block.filter(|b| copies.contains(b)) {
            engine.graph.relink_copied(program, block);
        }
    }
    for node in named {
        add_of(engine, program, node);
    }
}

/// Adds the edges of one op: those of its regions' arguments, then those of its results.
fn add_of(engine: &mut Engine, program: &Program, node: Node) {
    let Some(op) = engine.graph.op(node) else {
        return;
    };
    let view = program.view(op);
    // Shardings propagate through both branches of a `case`, but not of an `if`, which Shardy skips.
    if program.op(op).def.control(view) == Some(Control::If) {
        return;
    }
    let flows = program.op(op).def.data_flow(view);
    if flows.is_empty() {
        return;
    }
    let control = program.op(op).def.control(view);
    let operands: SmallVec<[Use; 4]> = engine.graph.operand_uses(node).collect();
    // The result of a loop's condition flows to no value.
    let regions = program.op(op).regions.iter().skip(usize::from(control == Some(Control::While)));
    let blocks = regions.flat_map(|&r| program.region_blocks(r));
    let terminators: SmallVec<[Node; 2]> = blocks.map(|&b| engine.graph.last(b)).filter(|n| n.is_some()).collect();
    let is_result = |v: Value| engine.graph.def(Val::new(v.index())) == node;
    let through_arguments = flows.iter().any(|f| !is_result(f.owner));
    let (mut arguments, mut results) = (0, 0);
    let mut edges = Vec::new();
    for flow in flows {
        let of_result = is_result(flow.owner);
        let count = if of_result { &mut results } else { &mut arguments };
        let index = *count;
        *count += 1;
        let mut sources: SmallVec<[Use; 2]> = SmallVec::new();
        // The operand of a `case` only selects the branch.
        if of_result != through_arguments && control != Some(Control::Case) {
            sources.extend(operands.get(index).copied());
        }
        if of_result {
            sources.extend(terminators.iter().filter_map(|&t| engine.graph.operand_uses(t).nth(index)));
        }
        let targets = flow.targets.iter().filter(|&&t| t != flow.owner).map(|t| Val::new(t.index())).collect();
        edges.push(EdgeData { op: node, owner: flow.owner, of_result, index, sources, targets, node: Node::NONE });
    }
    let (of_results, of_arguments): (Vec<_>, Vec<_>) = edges.into_iter().partition(|e| e.of_result);
    for edge in of_arguments.into_iter().rev().chain(of_results.into_iter().rev()) {
        hang(engine, program, edge);
    }
}

fn hang(engine: &mut Engine, program: &Program, edge: EdgeData) {
    let owner = Val::new(edge.owner.index());
    if !engine.graph.is_shaped(owner) {
        return;
    }
    let initial = match engine.manual.get(&edge.op).filter(|_| !edge.of_result) {
        Some(manual) => match manual.inputs.get(edge.index) {
            Some(outer) => {
                let inner = manual.without_manual(outer);
                engine.shardings.intern(inner)
            }
            None => ShardingId::NONE,
        },
        None => engine.graph.sharding(owner),
    };
    let rule = engine.identity_rule(program, owner, edge.sources.len());
    let place = engine.graph.after(owner);
    let node = engine.graph.insert_edge(edge, place);
    engine.graph.nodes[node].rule = rule;
    let slot = engine.graph.slot(owner);
    engine.graph.slots[slot] = initial;
}
