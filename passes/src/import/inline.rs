//! Inlines calls: every call is replaced by a copy of the called function's body.
//!
//! Each op of the result is copied once, however deep calls are nested, and only functions reachable from public ones
//! are processed.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Block, MAX_OPS, Op, Program, Renaming, Value};
use dialect::op::Control;
use dialect::ops::func;
use dialect::sharding::TensorSharding;
use dialect::text::MAX_NESTING;
use rustc_hash::{FxHashMap, FxHashSet};

use super::constraints::{constrain_first, expected_by_collective};
use crate::symbols::{is_private, led_to, references};

/// Replaces every call by the body of the called function, in all functions that are kept.
pub(super) fn inline_calls(program: &mut Program, diagnostics: &mut Diagnostics) {
    let roots = roots(program);
    let Some(graph) = CallGraph::of(program, &roots, diagnostics) else { return };
    if graph.makes_too_many(program, &roots, diagnostics) || graph.is_too_deep(program, diagnostics) {
        return;
    }
    let mut inliner = Inliner { bodies: graph.bodies(program), program };
    for root in roots {
        if let Some(body) = func::block(inliner.program, root) {
            inliner.block(body, &mut Renaming::default());
        }
    }
}

/// Returns the functions to keep: public ones, and those that reachable ops name without calling them.
fn roots(program: &Program) -> Vec<Op> {
    let top = program.block_ops(program.body()).iter().copied();
    let public: Vec<Op> = top.filter(|&op| !is_private(program, op)).collect();
    let reached = led_to(program, &public);
    let mut named = FxHashSet::default();
    let mut see = |op: Op| {
        if !is_call(program, op) {
            named.extend(references(program, op));
        }
    };
    for &op in &reached {
        see(op);
        func::block(program, op).into_iter().for_each(|body| program.walk(body, &mut see));
    }
    let is_named = |op: Op| func::symbol(program, op).is_some_and(|name| named.contains(name));
    func::functions(program).filter(|&f| reached.contains(&f) && (!is_private(program, f) || is_named(f))).collect()
}

fn is_call(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    view.def().control(view) == Some(Control::Call)
}

/// The contents of a function before its calls are inlined.
#[derive(Default)]
struct Contents {
    /// The number of its ops that are neither calls nor its return.
    ops: usize,
    /// Its calls, each with its depth in the function's regions.
    calls: Vec<(Op, usize)>,
    /// The levels of its regions.
    depth: usize,
}

impl Contents {
    fn of(program: &Program, function: Op) -> Self {
        let mut contents = Self::default();
        if let Some(body) = func::block(program, function) {
            contents.add(program, body, 0);
            contents.ops = contents.ops.saturating_sub(1);
        }
        contents
    }

    fn add(&mut self, program: &Program, block: Block, level: usize) {
        self.depth = self.depth.max(level);
        for &op in program.block_ops(block) {
            if is_call(program, op) {
                self.calls.push((op, level));
            } else {
                self.ops += 1;
            }
            for &region in &program.op(op).regions {
                program.region_blocks(region).iter().for_each(|&inner| self.add(program, inner, level + 1));
            }
        }
    }
}

/// The functions reachable from the roots by calls.
struct CallGraph {
    /// The callee of each call.
    callees: FxHashMap<Op, Op>,
    /// All functions, each after its callers.
    order: Vec<(Op, Contents)>,
}

impl CallGraph {
    /// Builds the graph depth first, with an explicit stack. Reports calls that can't be inlined.
    fn of(program: &Program, roots: &[Op], diagnostics: &mut Diagnostics) -> Option<Self> {
        let functions: FxHashMap<&str, Op> = func::functions_by_name(program).into_iter().collect();
        let mut graph = Self { callees: FxHashMap::default(), order: Vec::new() };
        // Whether all callees of a function have been visited.
        let mut done: FxHashMap<Op, bool> = FxHashMap::default();
        let mut faults = Vec::new();
        for &root in roots {
            let mut open: Vec<(Op, Contents, usize)> = Vec::new();
            let mut next = (!done.contains_key(&root)).then_some(root);
            loop {
                if let Some(function) = next.take() {
                    done.insert(function, false);
                    open.push((function, Contents::of(program, function), 0));
                }
                let Some((_, contents, at)) = open.last_mut() else { break };
                let Some(&(call, _)) = contents.calls.get(*at) else {
                    let (function, contents, _) = open.pop().expect("it is open");
                    done.insert(function, true);
                    graph.order.push((function, contents));
                    continue;
                };
                *at += 1;
                match callee(program, &functions, call) {
                    Err(fault) => faults.push(fault),
                    Ok(function) if done.get(&function) == Some(&false) => faults.push(calls_itself(program, call)),
                    Ok(function) => {
                        graph.callees.insert(call, function);
                        next = (!done.contains_key(&function)).then_some(function);
                    }
                }
            }
        }
        graph.order.reverse();
        let found = faults.is_empty();
        faults.into_iter().for_each(|fault| diagnostics.push(fault));
        found.then_some(graph)
    }

    /// Returns the body of each function by the function's name.
    fn bodies(&self, program: &Program) -> FxHashMap<String, Block> {
        let named = |f: Op| Some((func::symbol(program, f)?.to_owned(), func::block(program, f)?));
        self.order.iter().filter_map(|it| named(it.0)).collect()
    }

    /// Reports programs that would have more than [`MAX_OPS`] ops, before anything is copied, because nested calls can
    /// grow exponentially.
    fn makes_too_many(&self, program: &Program, roots: &[Op], diagnostics: &mut Diagnostics) -> bool {
        let mut times: FxHashMap<Op, u64> = roots.iter().map(|&root| (root, 1)).collect();
        for (function, contents) in &self.order {
            let of_function = times[function];
            for (call, _) in &contents.calls {
                let of_callee = times.entry(self.callees[call]).or_default();
                *of_callee = of_callee.saturating_add(of_function);
            }
        }
        let made = |(function, contents): &(Op, Contents)| times[function].saturating_mul(contents.ops as u64);
        let total = self.order.iter().fold(0u64, |sum, it| sum.saturating_add(made(it)));
        if total > MAX_OPS as u64
            && let Some(most) = self.order.iter().max_by_key(|it| made(it))
        {
            let name = func::symbol(program, most.0).unwrap_or_default();
            let many = |n: u64| if n == u64::MAX { format!("more than {}", u64::MAX - 1) } else { n.to_string() };
            let message = format!(
                "inlining would create {} ops, more than the limit of {MAX_OPS}: @{name} has {} and is inlined {} \
                times",
                many(total),
                most.1.ops,
                many(times[&most.0])
            );
            let d = Diagnostic::error(codes::OP_LIMIT, program.op(most.0).span, message);
            diagnostics.push(d.note("call it less often, or write the repetition as a while loop"));
            return true;
        }
        false
    }

    /// Reports a call that would create more than [`MAX_NESTING`] levels of regions.
    fn is_too_deep(&self, program: &Program, diagnostics: &mut Diagnostics) -> bool {
        let mut depths: FxHashMap<Op, usize> = FxHashMap::default();
        for (function, contents) in self.order.iter().rev() {
            let mut depth = contents.depth;
            for (call, level) in &contents.calls {
                depth = depth.max(level + depths[&self.callees[call]]);
                if depth > MAX_NESTING {
                    let message = format!("inlining this call nests regions deeper than {MAX_NESTING} levels");
                    let d = Diagnostic::error(codes::NESTING_DEPTH, program.op(*call).span, message);
                    diagnostics.push(d.note("call it outside of some of the regions"));
                    return true;
                }
            }
            depths.insert(*function, depth);
        }
        false
    }
}

/// Returns the function that `call` names, which must have a body.
fn callee(program: &Program, functions: &FxHashMap<&str, Op>, call: Op) -> Result<Op, Diagnostic> {
    let view = program.view(call);
    let name = func::callee(view).unwrap_or_default();
    let fault = |code, message: String| Diagnostic::error(code, view.span(), message).note("define it in the module");
    let Some(&function) = functions.get(name) else {
        return Err(fault(codes::UNKNOWN_FUNCTION, format!("the called function @{name} is undefined")));
    };
    match func::block(program, function).filter(|&body| !program.block_ops(body).is_empty()) {
        Some(_) => Ok(function),
        None => Err(fault(codes::FUNCTION_WITHOUT_BODY, format!("@{name} has no body"))),
    }
}

fn calls_itself(program: &Program, call: Op) -> Diagnostic {
    let name = func::callee(program.view(call)).unwrap_or_default();
    Diagnostic::error(codes::RECURSION, program.op(call).span, format!("@{name} calls itself"))
        .note("write the repetition as a while loop")
}

/// A function body that is being copied to the position of a call.
struct Copying {
    /// The call that the copy replaces.
    call: Op,
    body: Block,
    /// The index of the op to copy next.
    next: usize,
    renaming: Renaming,
}

struct Inliner<'a> {
    program: &'a mut Program,
    bodies: FxHashMap<String, Block>,
}

impl Inliner<'_> {
    /// Inlines the calls in `block` and in its regions; `renaming` maps their results.
    fn block(&mut self, block: Block, renaming: &mut Renaming) {
        let mut made = Vec::new();
        for op in self.program.block_ops(block).to_vec() {
            let expected = self.expected_of_call(op);
            self.program.rename_operands(op, &renaming.values);
            match self.called(op) {
                Some(body) => {
                    let values = self.copy_body(op, body, &mut made);
                    renaming.values.extend(self.program.results(op).zip(values));
                }
                None => self.keep(op, expected, renaming, &mut made),
            }
        }
        self.program.set_block_ops(block, made);
    }

    /// Appends `op`, which isn't a call, and inlines the calls in its regions.
    fn keep(&mut self, op: Op, expected: Option<TensorSharding>, renaming: &mut Renaming, made: &mut Vec<Op>) {
        if let Some(expected) = expected {
            constrain_first(self.program, op, expected, made);
        }
        for region in self.program.op(op).regions.clone() {
            for inner in self.program.region_blocks(region).to_vec() {
                self.block(inner, renaming);
            }
        }
        made.push(op);
    }

    /// Appends the ops of `body`, which `call` calls, with its own calls inlined; returns its results. Doesn't recurse
    /// along calls, which may nest as deep as the module has functions.
    fn copy_body(&mut self, call: Op, body: Block, made: &mut Vec<Op>) -> Vec<Value> {
        let mut open = vec![self.enter(call, body, &Renaming::default())];
        loop {
            let at = open.last_mut().expect("the outermost body returns");
            let ops = self.program.block_ops(at.body);
            let (op, is_last) = (ops[at.next], at.next + 1 == ops.len());
            at.next += 1;
            if is_last {
                let values: Vec<Value> = self.program.op(op).operands.iter().map(|&v| at.renaming.value(v)).collect();
                let call = at.call;
                open.pop();
                let Some(outer) = open.last_mut() else { return values };
                outer.renaming.values.extend(self.program.results(call).zip(values));
            } else if let Some(body) = self.called(op) {
                let inner = self.enter(op, body, &at.renaming);
                open.push(inner);
            } else {
                let expected = self.expected_of_call(op);
                let copy = self.program.clone_op(op, &mut at.renaming);
                self.keep(copy, expected, &mut Renaming::default(), made);
            }
        }
    }

    /// Begins to copy `body` to the position of `call`, with the renamings of `around`.
    fn enter(&mut self, call: Op, body: Block, around: &Renaming) -> Copying {
        let call_site = Some(self.program.called_from(self.program.op(call).loc, around.call_site));
        let arguments = self.program.block_args(body).iter().copied();
        let operands = self.program.op(call).operands.iter().map(|&v| around.value(v));
        let renaming = Renaming { values: arguments.zip(operands).collect(), call_site };
        Copying { call, body, next: 0, renaming }
    }

    /// Returns the body that `op` calls.
    fn called(&self, op: Op) -> Option<Block> {
        is_call(self.program, op)
            .then(|| func::callee(self.program.view(op)))?
            .and_then(|name| self.bodies.get(name).copied())
    }

    /// Returns the sharding that `op`, one of the user's collectives, expects of an operand that is the result of a
    /// call.
    fn expected_of_call(&self, op: Op) -> Option<TensorSharding> {
        expected_by_collective(self.program, op, |maker, _| is_call(self.program, maker))
    }
}
