//! Turns every call into a separate computation, so that each may be sharded differently.
//!
//! A call becomes a named computation around the body of its function: the first call found takes the body itself, the
//! others take copies. Callees are processed before their callers, so bodies have no calls when they are copied.
//! Afterwards [`outline`](crate::propagate::write::outline) turns the computations back into functions. Source: Shardy,
//! `propagate-sharding-from-func-to-call`, `flatten-call-graph`, `import-func-calls`.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Attr, AttrData, Block, Name, Op, Program, Renaming};
use dialect::ops::func;
use dialect::ops::sdy::{IN_SHARDINGS, NAMED_COMPUTATION, ORIGINAL_NAME, OUT_SHARDINGS, resolve};
use dialect::sharding::TensorSharding;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbols::{is_private, remove_unused_functions};

/// The limit on the ops of a program after every call has its own body; larger programs are rejected.
const MAX_OPS: usize = 8_000_000;

/// Turns the calls of `program` into named computations and removes uncalled functions. Returns the bodies that are
/// copies; `None` when functions are recursive or the copies would exceed `MAX_OPS`.
pub fn inline(program: &mut Program, diagnostics: &mut Diagnostics) -> Option<FxHashSet<Block>> {
    remove_unused_functions(program);
    let functions: FxHashMap<String, Op> =
        func::functions_by_name(program).into_iter().map(|(name, op)| (name.to_owned(), op)).collect();
    let order = callees_first(program, &functions, diagnostics)?;
    let mut inliner = Inliner { functions, bodies: FxHashMap::default(), copies: FxHashSet::default() };
    if let Some(function) = inliner.too_large(program, &order) {
        let message = format!("the bodies of all calls together have more than {MAX_OPS} ops");
        diagnostics.push(Diagnostic::error(codes::OP_LIMIT, program.op(function).span, message));
        return None;
    }
    for block in order.into_iter().filter_map(|function| func::block(program, function)).collect::<Vec<Block>>() {
        inliner.inline_under(program, block);
    }
    let taken: FxHashSet<Op> = inliner.bodies.keys().copied().collect();
    let top = program.block_ops(program.body()).iter().copied().filter(|op| !taken.contains(op)).collect();
    program.set_block_ops(program.body(), top);
    Some(inliner.copies)
}

struct Inliner {
    functions: FxHashMap<String, Op>,
    /// The bodies of functions that a call has already taken.
    bodies: FxHashMap<Op, Block>,
    copies: FxHashSet<Block>,
}

impl Inliner {
    /// Returns the function that `op` calls, if it has a body.
    fn called(&self, program: &Program, op: Op) -> Option<Op> {
        if !func::is_call(program.view(op)) {
            return None;
        }
        let callee = func::callee(program.view(op)).and_then(|name| self.functions.get(name)).copied()?;
        func::block(program, callee).map(|_| callee)
    }

    /// Returns the first function of `order`, callees first, that would have more than [`MAX_OPS`] ops. Counts before
    /// anything is copied, because calls of calls grow exponentially.
    fn too_large(&self, program: &Program, order: &[Op]) -> Option<Op> {
        let mut sizes: FxHashMap<Op, usize> = FxHashMap::default();
        for &function in order {
            let Some(block) = func::block(program, function) else { continue };
            let ops = program.ops_under(block);
            let copied = ops.iter().filter_map(|&op| sizes.get(&self.called(program, op)?)).copied();
            let size = copied.fold(ops.len(), usize::saturating_add);
            if size > MAX_OPS {
                return Some(function);
            }
            sizes.insert(function, size);
        }
        None
    }

    /// Turns the calls under `block` into named computations.
    fn inline_under(&mut self, program: &mut Program, block: Block) {
        for op in program.ops_under(block) {
            if let Some(callee) = self.called(program, op) {
                self.inline_call(program, op, callee);
            }
        }
    }

    fn inline_call(&mut self, program: &mut Program, call: Op, function: Op) {
        let body = match self.bodies.get(&function) {
            Some(&first) => {
                let copy = program.clone_block(first, &mut Renaming::default());
                self.copies.insert(copy);
                copy
            }
            None => {
                let Some(body) = func::block(program, function) else {
                    return;
                };
                self.bodies.insert(function, body);
                body
            }
        };
        let mut attrs: Vec<(&str, Attr)> = Vec::new();
        // A function that was copied before still carries its original name.
        let original = program.view(function).attr(ORIGINAL_NAME).and_then(AttrData::as_str);
        let name = original.or(func::symbol(program, function)).unwrap_or_default().to_owned();
        attrs.push(("name", program.attr_str(&name)));
        if let Some(list) = argument_shardings(program, function) {
            attrs.push((IN_SHARDINGS, program.intern_attr(AttrData::ShardingPerValue(list))));
        }
        let own = program.attr(call, func::SHARDING);
        let given = own.or_else(|| {
            let list = result_shardings(program, function)?;
            Some(program.intern_attr(AttrData::ShardingPerValue(list)))
        });
        attrs.extend(given.map(|attr| (OUT_SHARDINGS, attr)));
        let region = program.new_region(&[body]);
        let kept: Vec<(Name, Attr)> = program.op(call).attrs.to_vec();
        program.set_def(call, &NAMED_COMPUTATION);
        let data = program.op_mut(call);
        data.regions.clear();
        data.regions.push(region);
        for (key, _) in kept {
            let key = program.name_text(key).to_owned();
            if ["callee", "no_inline", "arg_attrs", "res_attrs", func::SHARDING].contains(&key.as_str()) {
                program.remove_attr(call, &key);
            }
        }
        for (key, attr) in attrs {
            program.set_attr(call, key, attr);
        }
    }
}

/// Returns the shardings of a function's arguments, an open one for each missing one; `None` when no argument has one.
fn argument_shardings(program: &Program, function: Op) -> Option<Vec<TensorSharding>> {
    let types = func::signature(program, function).inputs;
    let own: Vec<_> = (0..types.len()).map(|i| func::arg_sharding(program, function, i)).collect();
    filled(program, &own, |i| program.type_data(types[i]).tensor().map_or(0, |t| t.rank()))
}

/// Returns the shardings of a function's results, an open one for each missing one; `None` when no result has one.
fn result_shardings(program: &Program, function: Op) -> Option<Vec<TensorSharding>> {
    let types = func::signature(program, function).results;
    let own: Vec<_> = (0..types.len()).map(|i| func::result_sharding(program, function, i)).collect();
    filled(program, &own, |i| program.type_data(types[i]).tensor().map_or(0, |t| t.rank()))
}

fn filled(
    program: &Program,
    own: &[Option<&TensorSharding>],
    rank: impl Fn(usize) -> usize,
) -> Option<Vec<TensorSharding>> {
    let many = |s: &&TensorSharding| !resolve(program, &s.mesh).is_some_and(|m| m.is_maximal());
    let mesh = own.iter().flatten().copied().find(many)?.mesh.clone();
    let open = |i: usize| TensorSharding::open(mesh.clone(), rank(i));
    Some(own.iter().enumerate().map(|(i, s)| s.cloned().unwrap_or_else(|| open(i))).collect())
}

/// Returns all functions, callees before callers; `None` when they are recursive.
fn callees_first(
    program: &Program,
    functions: &FxHashMap<String, Op>,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Op>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Open,
        Done,
    }
    let mut states: FxHashMap<Op, State> = FxHashMap::default();
    let mut order = Vec::new();
    let calls = |function: Op| -> Vec<Op> {
        let Some(block) = func::block(program, function) else {
            return Vec::new();
        };
        let ops = program.ops_under(block).into_iter().filter(|&op| func::is_call(program.view(op)));
        ops.filter_map(|op| functions.get(func::callee(program.view(op))?).copied()).collect()
    };
    for (root, _) in program.functions().into_iter().filter(|f| !is_private(program, f.0)) {
        let mut stack = vec![(root, None::<std::vec::IntoIter<Op>>)];
        while let Some((function, pending)) = stack.last_mut() {
            let function = *function;
            let pending = match pending {
                Some(pending) => pending,
                None if states.contains_key(&function) => {
                    if states[&function] == State::Open {
                        let name = func::symbol(program, function).unwrap_or_default();
                        let message = format!("function @{name} calls itself");
                        diagnostics.push(Diagnostic::error(codes::RECURSION, program.op(function).span, message));
                        return None;
                    }
                    stack.pop();
                    continue;
                }
                none => {
                    states.insert(function, State::Open);
                    none.insert(calls(function).into_iter())
                }
            };
            match pending.next() {
                Some(callee) if states.get(&callee) != Some(&State::Done) => stack.push((callee, None)),
                Some(_) => {}
                None => {
                    states.insert(function, State::Done);
                    order.push(function);
                    stack.pop();
                }
            }
        }
    }
    Some(order)
}
