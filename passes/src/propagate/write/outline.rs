//! Turns named computations back into functions: one for each name and set of argument and result shardings, so that
//! calls with the same shardings share a function. Source: Shardy, `export-named-computations`,
//! `propagate-to-func-results`, `unflatten-call-graph`, `insert-func-call-reshards`.

use dialect::ir::{Attr, AttrData, Op, Program, Ty};
use dialect::ops::{func, sdy};
use rustc_hash::{FxHashMap, FxHashSet};

use super::together;
use crate::propagate::algorithm::engine::{Engine, FunctionResults};
use crate::propagate::algorithm::sharding::{Sharding, ShardingId};
use crate::propagate::graph::role::{Kind, Role};
use crate::propagate::graph::{Graph, Node, Place, Val};

/// The key of a function: the original name, the shardings of arguments and of results.
type FunctionKey = (String, Option<Vec<ShardingId>>, Option<Vec<ShardingId>>);

/// Turns the named computations of `program` into functions.
pub fn outline(engine: &mut Engine, program: &mut Program) {
    if !engine.graph.has(Kind::Named) {
        return;
    }
    let body = program.body();
    let nodes: Vec<Node> = engine.graph.postorder(program, body);
    let named: Vec<Node> = nodes.into_iter().filter(|&n| engine.graph.node(n).role.kind == Kind::Named).collect();
    if named.is_empty() {
        return;
    }
    let mut names = FreshNames::new(program, &engine.graph);
    let mut functions: FxHashMap<String, (Node, FunctionKey)> = FxHashMap::default();
    for node in named {
        if let Some((symbol, function, original)) = outline_one(engine, program, node, &mut names) {
            functions.insert(symbol, (function, (original, None, None)));
        }
    }
    // Result shardings need all functions to exist first, since a function may return the result of another call.
    for (function, key) in functions.values_mut() {
        let Some(op) = engine.graph.op(*function) else {
            continue;
        };
        key.1 = argument_shardings(engine, program, op);
        key.2 = result_shardings(engine, op);
    }
    share(engine, program, &functions);
    remove_uncalled(engine, program, &functions);
    reshard_results(engine, program, &functions);
}

/// The used symbols.
struct FreshNames {
    taken: FxHashSet<String>,
    next: usize,
}

impl FreshNames {
    fn new(program: &Program, graph: &Graph) -> Self {
        let mut taken = FxHashSet::default();
        let mut node = graph.first(program.body());
        while node.is_some() {
            taken.extend(graph.op(node).and_then(|op| func::symbol(program, op)).map(str::to_owned));
            node = graph.next(node);
        }
        Self { taken, next: 0 }
    }

    /// Returns `name`, numbered if it is taken. One counter serves all names, as in MLIR's symbol tables.
    fn fresh(&mut self, name: &str) -> String {
        let mut symbol = name.to_owned();
        while !self.taken.insert(symbol.clone()) {
            symbol = format!("{name}_{}", self.next);
            self.next += 1;
        }
        symbol
    }
}

/// Turns one named computation into a function and replaces the computation by a call; returns (symbol, function,
/// original name).
fn outline_one(
    engine: &mut Engine,
    program: &mut Program,
    node: Node,
    names: &mut FreshNames,
) -> Option<(String, Node, String)> {
    let op = engine.graph.op(node)?;
    let block = program.region_block(op, 0)?;
    let terminator = engine.graph.last(block);
    if !terminator.is_some() || !engine.graph.node(terminator).role.terminator {
        return None;
    }
    let original = program.view(op).attr("name").and_then(AttrData::as_str).unwrap_or("named_computation").to_owned();
    let symbol = names.fresh(&original);
    let arguments: Vec<Val> = program.block_args(block).iter().map(|a| Val::new(a.index())).collect();
    let results: Vec<Val> = engine.graph.results(node).collect();
    for list in [&arguments, &results] {
        list.iter().for_each(|&value| engine.graph.remove_edge(program, value));
        for (&value, id) in list.iter().zip(together(engine, list, true).unwrap_or_default()) {
            let slot = engine.graph.slot(value);
            engine.graph.slots[slot] = id;
        }
    }
    // The body moves to a function at the end of the module.
    let inputs: Vec<Ty> = program.block_args(block).iter().map(|&a| program.value_type(a)).collect();
    let outputs: Vec<Ty> = program.results(op).map(|r| program.value_type(r)).collect();
    let region = program.op(op).regions[0];
    let (def, loc) = (&func::FUNC, program.op(op).loc);
    let name = program.attr_str(&symbol);
    let visibility = program.attr_str("private");
    let attrs = [("sym_name", name), ("sym_visibility", visibility)].map(|(k, a)| (program.name(k), a));
    let function = program.new_op(def, &[], &[], &attrs, &[region], loc);
    func::set_signature(program, function, &inputs, &outputs);
    if let Some(thread) = program.attr(op, "execution_thread") {
        program.set_attr(function, "execution_thread", thread);
    }
    let last = engine.graph.last(program.body());
    let function = engine.graph.insert_op(program, function, &[], Place::After(last));
    engine.graph.adopt(block, function);
    if let Some(end) = engine.graph.op(terminator) {
        let name = program.name(func::RETURN.name);
        let data = program.op_mut(end);
        (data.def, data.name) = (&func::RETURN, name);
    }
    let returned: Vec<Val> = engine.graph.operands(terminator).collect();
    let slots = returned
        .iter()
        .map(|&value| {
            let id = engine.graph.sharding(value);
            let slot = engine.graph.new_slot();
            engine.graph.slots[slot] = id;
            slot
        })
        .collect();
    let rules = vec![None; returned.len()];
    let of = engine.graph.op(function)?;
    engine.functions.push(FunctionResults { function: of, terminator, slots, rules });
    // The computation becomes a call.
    let kept: Vec<String> = program.op(op).attrs.iter().map(|a| program.name_text(a.0).to_owned()).collect();
    for key in ["name", sdy::IN_SHARDINGS, sdy::OUT_SHARDINGS, "execution_thread"] {
        if kept.iter().any(|k| k == key) {
            program.remove_attr(op, key);
        }
    }
    set_callee(program, op, &symbol);
    program.set_def(op, &func::CALL);
    program.op_mut(op).regions.clear();
    let role = engine.graph.node(node).role;
    engine.graph.nodes[node].role = Role { kind: Kind::Call, removable: false, ..role };
    Some((symbol, function, original))
}

fn set_callee(program: &mut Program, call: Op, symbol: &str) {
    let attr: Attr = program.intern_attr(AttrData::Symbol(symbol.into()));
    program.set_attr(call, "callee", attr);
}

/// Returns the shardings of a function's arguments, an open one for each missing one; `None` when no argument has one.
pub fn argument_shardings(engine: &mut Engine, program: &Program, function: Op) -> Option<Vec<ShardingId>> {
    let block = func::block(program, function)?;
    let arguments: Vec<Val> = program.block_args(block).iter().map(|a| Val::new(a.index())).collect();
    let own: Vec<(ShardingId, usize)> =
        arguments.iter().map(|&v| (engine.graph.sharding(v), engine.graph.rank(v))).collect();
    filled(engine, &own)
}

/// Returns the shardings of a function's results, an open one for each missing one; `None` when no result has one.
fn result_shardings(engine: &mut Engine, function: Op) -> Option<Vec<ShardingId>> {
    let results = engine.functions.iter().find(|f| f.function == function)?;
    let returned = engine.graph.operands(results.terminator);
    let own: Vec<(ShardingId, usize)> = (results.slots.iter().zip(returned))
        .map(|(slot, value)| (engine.graph.slots[*slot], engine.graph.rank(value)))
        .collect();
    filled(engine, &own)
}

fn filled(engine: &mut Engine, own: &[(ShardingId, usize)]) -> Option<Vec<ShardingId>> {
    let meshes = own.iter().filter_map(|o| engine.shardings.get(o.0)).map(|s| s.mesh);
    let mesh = meshes.into_iter().find(|&m| !engine.meshes.get(m).mesh.is_maximal())?;
    let fill = |&(id, rank): &(ShardingId, usize)| {
        if id.is_some() { id } else { engine.shardings.intern(Sharding::open(mesh, rank)) }
    };
    Some(own.iter().map(fill).collect())
}

/// Returns the calls in the module: (node, callee).
fn calls(engine: &Engine, program: &Program) -> Vec<(Node, String)> {
    let nodes = engine.graph.postorder(program, program.body());
    let calls = nodes.into_iter().filter(|&n| engine.graph.node(n).role.kind == Kind::Call);
    calls.filter_map(|n| Some((n, func::callee(program.view(engine.graph.op(n)?))?.to_owned()))).collect()
}

/// Redirects calls of functions with the same name and shardings to the first of them.
fn share(engine: &mut Engine, program: &mut Program, functions: &FxHashMap<String, (Node, FunctionKey)>) {
    let mut first: FxHashMap<&FunctionKey, String> = FxHashMap::default();
    for (node, callee) in calls(engine, program) {
        let (Some((_, key)), Some(op)) = (functions.get(&callee), engine.graph.op(node)) else {
            continue;
        };
        let shared = first.entry(key).or_insert_with(|| callee.clone());
        if *shared != callee {
            set_callee(program, op, shared);
        }
    }
}

/// Removes the functions that no call reaches from the functions that are kept anyway.
fn remove_uncalled(engine: &mut Engine, program: &Program, functions: &FxHashMap<String, (Node, FunctionKey)>) {
    let mut called_in: FxHashMap<Node, Vec<String>> = FxHashMap::default();
    for (node, callee) in calls(engine, program) {
        let mut function = node;
        while engine.graph.parent(function).is_some() {
            function = engine.graph.parent(function);
        }
        called_in.entry(function).or_default().push(callee);
    }
    let private: FxHashSet<Node> = functions.values().map(|f| f.0).collect();
    let mut live: FxHashSet<Node> = called_in.keys().copied().filter(|n| !private.contains(n)).collect();
    let mut stack: Vec<Node> = live.iter().copied().collect();
    while let Some(function) = stack.pop() {
        for callee in called_in.get(&function).into_iter().flatten() {
            if let Some(&(callee, _)) = functions.get(callee)
                && live.insert(callee)
            {
                stack.push(callee);
            }
        }
    }
    let mut dead: Vec<Node> = private.into_iter().filter(|f| !live.contains(f)).collect();
    dead.sort_unstable();
    let ops: FxHashSet<Op> = dead.iter().filter_map(|&f| engine.graph.op(f)).collect();
    engine.functions.retain(|f| !ops.contains(&f.function));
    for function in dead {
        engine.graph.erase(program, function);
    }
}

/// Adds a reshard after a call whose result is sharded differently from what its users expect.
fn reshard_results(engine: &mut Engine, program: &mut Program, functions: &FxHashMap<String, (Node, FunctionKey)>) {
    for (node, callee) in calls(engine, program) {
        let Some((_, key)) = functions.get(&callee) else {
            continue;
        };
        let results: Vec<Val> = engine.graph.results(node).collect();
        let own: Vec<ShardingId> = results.iter().map(|&r| engine.graph.sharding(r)).collect();
        let promised = match &key.2 {
            Some(list) => list.clone(),
            None if own.iter().any(|id| id.is_some()) => own.iter().map(|&id| engine.fully_closed_like(id)).collect(),
            None => continue,
        };
        for ((&value, &own), &promised) in results.iter().zip(&own).zip(&promised) {
            if !engine.equivalent(promised, own) {
                let target = if own.is_some() { own } else { engine.fully_closed_like(promised) };
                let place = engine.graph.after(value);
                if let Some(reshard) = engine.new_reshard(program, value, target, place) {
                    let result = engine.graph.result(reshard, 0);
                    engine.graph.replace_uses(value, result, |graph, u| graph.user(u) != reshard);
                }
            }
            let slot = engine.graph.slot(value);
            engine.graph.slots[slot] = promised;
        }
    }
}
