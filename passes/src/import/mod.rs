//! import: inlines calls and named computations, expands composite ops and reads annotations from before Shardy, so
//! that later passes see one function of plain ops with Shardy's shardings.
//!
//! Assumes a verified module: callees exist and aren't recursive. Leaves no call, and no private functions except those
//! that custom calls name. An inlined op's location says where it was called from.

mod annotations;
mod frontend;
mod hlo_sharding;
mod meshes;
mod parts;
mod shard_map;
mod tuples;

use dialect::codes;
use dialect::collective::with_its_mesh;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, Op, Program, Renaming, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{Reshard, TensorSharding};
use rustc_hash::FxHashMap;

use crate::symbols::remove_unused_functions;

pub use meshes::unify_meshes;

/// Inlining makes no more ops than this.
pub const MAX_OPS: usize = 8_000_000;

/// Reads old annotations, inlines every call and expands every composite op.
pub fn import(program: &mut Program, diagnostics: &mut Diagnostics) {
    if !crate::mpmd::is_on_one_mesh(program, diagnostics) {
        return;
    }
    annotations::read(program, diagnostics);
    parts::state(program);
    let functions: FxHashMap<String, Op> =
        func::functions_by_name(program).into_iter().map(|(name, op)| (name.to_owned(), op)).collect();
    if too_many_ops(program, &functions, diagnostics) {
        return;
    }
    let mut pass = Import { program, diagnostics, functions, done: FxHashMap::default(), has_tuples: false };
    for op in func::functions(pass.program).collect::<Vec<_>>() {
        pass.function(op);
    }
    if pass.diagnostics.has_errors() {
        return;
    }
    let has_tuples = pass.has_tuples;
    remove_unused_functions(program);
    if has_tuples {
        let bodies: Vec<Block> = func::functions(program).filter_map(|op| func::block(program, op)).collect();
        bodies.into_iter().for_each(|body| tuples::take_apart(program, body));
    }
}

/// Reports a call that would make more than [`MAX_OPS`] ops, from the number of ops that each function has once its
/// calls are inlined: before anything is copied, since calls of calls grow exponentially.
fn too_many_ops(program: &Program, functions: &FxHashMap<String, Op>, diagnostics: &mut Diagnostics) -> bool {
    let mut sizes: FxHashMap<Op, Option<usize>> = FxHashMap::default();
    let mut total = 0usize;
    for function in func::functions(program).collect::<Vec<_>>() {
        total = total.saturating_add(inlined_size(program, function, functions, &mut sizes));
        if total > MAX_OPS {
            let calls = |&op: &Op| program.op(op).def.control(program.view(op)) == Some(Control::Call);
            let call = func::block(program, function).and_then(|body| program.ops_under(body).into_iter().find(calls));
            let message = format!("inlining makes more than {MAX_OPS} ops");
            let d = Diagnostic::error(codes::OP_LIMIT, program.op(call.unwrap_or(function)).span, message);
            diagnostics.push(d.note("call less, or use a while loop"));
            return true;
        }
    }
    false
}

/// The number of ops in a function once all its calls are inlined. One that calls itself counts as nothing; that is
/// reported when it is inlined.
fn inlined_size(
    program: &Program,
    function: Op,
    functions: &FxHashMap<String, Op>,
    sizes: &mut FxHashMap<Op, Option<usize>>,
) -> usize {
    if let Some(known) = sizes.get(&function) {
        return known.unwrap_or(0);
    }
    sizes.insert(function, None);
    let mut size = 0usize;
    for op in func::block(program, function).map_or_else(Vec::new, |body| program.ops_under(body)) {
        let view = program.view(op);
        let called = match view.def().control(view) {
            Some(Control::Call) => func::callee(view).and_then(|name| functions.get(name)),
            _ => None,
        };
        let more = called.map_or(1, |&callee| inlined_size(program, callee, functions, sizes));
        size = size.saturating_add(more);
    }
    sizes.insert(function, Some(size));
    size
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Done,
}

struct Import<'a> {
    program: &'a mut Program,
    diagnostics: &'a mut Diagnostics,
    functions: FxHashMap<String, Op>,
    done: FxHashMap<Op, State>,
    /// Whether any op reads a tuple.
    has_tuples: bool,
}

impl Import<'_> {
    /// Inlines into `function`, callees first, so that each body is copied in its final form.
    fn function(&mut self, function: Op) {
        if self.done.get(&function) == Some(&State::Done) {
            return;
        }
        self.done.insert(function, State::Open);
        if let Some(block) = func::block(self.program, function) {
            self.block(block, false, &mut Renaming::default());
        }
        self.done.insert(function, State::Done);
    }

    /// Inlines into `block` and what is inside; `renaming` maps results of calls and expanded ops. In regions that
    /// compute on single elements (`of_elements`) constraints mean nothing and are left out.
    fn block(&mut self, block: Block, of_elements: bool, renaming: &mut Renaming) {
        let mut ops = Vec::new();
        for op in self.program.block_ops(block).to_vec() {
            let known = self.read_by_collective(op, renaming);
            for operand in &mut self.program.op_mut(op).operands {
                *operand = renaming.value(*operand);
            }
            if of_elements && sdy::stated_sharding(self.program.view(op)).is_some() {
                let operands = self.program.op(op).operands.to_vec();
                renaming.values.extend(self.program.results(op).zip(operands));
                continue;
            }
            if let Some(known) = known {
                let operands = self.program.op(op).operands.to_vec();
                let read = self.constrained(op, vec![known], operands, &mut ops);
                self.program.op_mut(op).operands = read.into_iter().collect();
            }
            if self.program.op(op).def.control(self.program.view(op)) == Some(Control::Inline) {
                self.in_place(op, &mut ops, renaming);
                continue;
            }
            let of_elements = of_elements || self.program.op(op).def.control(self.program.view(op)).is_none();
            for region in self.program.op(op).regions.clone() {
                for inner in self.program.region_blocks(region).to_vec() {
                    self.block(inner, of_elements, renaming);
                }
            }
            self.has_tuples |= tuples::reads_one(self.program.view(op));
            self.axes_of_a_mesh(op);
            self.mesh_of_groups(op);
            let (def, loc) = (self.program.op(op).def, self.program.op(op).loc);
            let values = if def.control(self.program.view(op)) == Some(Control::Call) {
                self.call(op, &mut ops)
            } else {
                let mut b = Builder::new(self.program, &mut ops, loc);
                def.expand(op, &mut b)
            };
            match values {
                Some(values) => renaming.values.extend(self.program.results(op).zip(values)),
                None => ops.push(op),
            }
        }
        self.program.set_block_ops(block, ops);
    }

    /// Appends the body of a named computation to `ops`; the shardings it states become constraints.
    fn in_place(&mut self, op: Op, ops: &mut Vec<Op>, renaming: &mut Renaming) {
        let Some(body) = self.program.region_block(op, 0) else { return };
        let operands = self.program.op(op).operands.to_vec();
        let arguments = self.program.block_args(body).to_vec();
        let inside = self.constrained(op, self.stated(op, sdy::IN_SHARDINGS), operands, ops);
        renaming.values.extend(arguments.into_iter().zip(inside));
        self.block(body, false, renaming);
        let mut inner = self.program.block_ops(body).to_vec();
        let Some(last) = inner.pop() else { return };
        ops.extend(inner);
        let returned = self.program.op(last).operands.to_vec();
        let outside = self.constrained(op, self.stated(op, sdy::OUT_SHARDINGS), returned, ops);
        renaming.values.extend(self.program.results(op).zip(outside));
    }

    /// The shardings that the attribute `name` of `op` states.
    fn stated(&self, op: Op, name: &str) -> Vec<TensorSharding> {
        match self.program.attr(op, name).map(|a| self.program.attr_data(a)) {
            Some(AttrData::ShardingPerValue(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    /// The sharding that `op`, one of the user's collectives, expects of its operand when that was the result of an op
    /// that was inlined: the value in its place may be sharded differently.
    fn read_by_collective(&self, op: Op, renaming: &Renaming) -> Option<TensorSharding> {
        let view = self.program.view(op);
        let reshard = view.def().reshard(view).filter(|r| *r != Reshard::Identity)?;
        let &operand = view.operands().first()?;
        let ValueSource::Result(maker, i) = self.program.value_source(operand) else { return None };
        if renaming.value(operand) == operand {
            return None;
        }
        let known = [func::SHARDING, sdy::OUT_SHARDINGS]
            .into_iter()
            .find_map(|name| self.stated(maker, name).get(i as usize).cloned());
        let starts = matches!(reshard, Reshard::AllSlice(_) | Reshard::AllReduce(..) | Reshard::ReduceScatter(..));
        let out = sdy::stated_sharding(view)?;
        known.or_else(|| starts.then(|| TensorSharding::replicated(out.mesh.clone(), out.rank())))
    }

    /// `values`, each read through a constraint where `list` has a sharding.
    fn constrained(&mut self, op: Op, list: Vec<TensorSharding>, values: Vec<Value>, ops: &mut Vec<Op>) -> Vec<Value> {
        let loc = self.program.op(op).loc;
        let mut read = Vec::new();
        for (i, value) in values.into_iter().enumerate() {
            let Some(sharding) = list.get(i).filter(|_| self.program.tensor_type(value).is_some()) else {
                read.push(value);
                continue;
            };
            let (ty, span) = (self.program.value_type(value), self.program.op(op).span);
            let attr = self.program.intern_attr(AttrData::Sharding(sharding.clone()));
            let made = Builder::new(self.program, ops, loc).op(
                &sdy::ShardingConstraint,
                &[value],
                &[ty],
                &[(sdy::SHARDING, attr)],
            );
            self.program.op_mut(made).span = span;
            read.push(self.program.result(made, 0));
        }
        read
    }

    /// Appends the body of the called function to `ops`; returns the function's results.
    fn call(&mut self, op: Op, ops: &mut Vec<Op>) -> Option<Vec<Value>> {
        let span = self.program.op(op).span;
        let callee = func::callee(self.program.view(op))?.to_owned();
        let Some(&function) = self.functions.get(&callee) else {
            self.fail(
                codes::UNKNOWN_FUNCTION,
                span,
                format!("the called function @{callee} doesn't exist"),
                "define it in the module",
            );
            return None;
        };
        if self.done.get(&function) == Some(&State::Open) {
            self.fail(
                codes::RECURSION,
                span,
                format!("@{callee} calls itself"),
                "write the repetition as a while loop",
            );
            return None;
        }
        self.function(function);
        let Some(body) = func::block(self.program, function) else {
            self.fail(codes::FUNCTION_WITHOUT_BODY, span, format!("@{callee} has no body"), "define it in the module");
            return None;
        };
        if self.program.op_count() > MAX_OPS {
            self.fail(
                codes::OP_LIMIT,
                span,
                format!("inlining makes more than {MAX_OPS} ops"),
                "call less, or use a while loop",
            );
            return None;
        }
        let mut renaming = Renaming { call_site: Some(self.program.op(op).loc), ..Renaming::default() };
        let arguments = self.program.block_args(body).to_vec();
        renaming.values.extend(arguments.into_iter().zip(self.program.op(op).operands.iter().copied()));
        let inside = self.program.block_ops(body).to_vec();
        let (&last, rest) = inside.split_last()?;
        for &inner in rest {
            let copy = self.program.clone_op(inner, &mut renaming);
            ops.push(copy);
        }
        Some(self.program.op(last).operands.iter().map(|&v| renaming.value(v)).collect())
    }

    /// Manual axes must belong to a mesh: the one that the shardings name, or without shardings any of the module's. A
    /// body that does nothing runs on any.
    fn axes_of_a_mesh(&mut self, op: Op) {
        let view = self.program.view(op);
        let Some(manual) = sdy::ManualComputation::of(view) else { return };
        let works = view.block(0).is_some_and(|body| self.program.block_ops(body).len() > 1);
        if works && manual.mesh.is_none() && !manual.manual_axes.is_empty() {
            let span = view.span();
            self.fail(
                codes::UNKNOWN_MESH,
                span,
                "no mesh has the manual axes".to_owned(),
                "define one, or leave manual_axes empty",
            );
        }
    }

    /// Groups along axes of a mesh take the mesh with them: the program may not keep its symbol.
    fn mesh_of_groups(&mut self, op: Op) {
        let view = self.program.view(op);
        if let Some(rule) = view.def().groups(view)
            && let Some(groups) = view.attr_id(rule.attribute)
            && let Some(own) = with_its_mesh(self.program, groups)
        {
            self.program.set_attr(op, rule.attribute, own);
        }
    }

    fn fail(&mut self, code: codes::Code, span: Span, message: String, note: &str) {
        self.diagnostics.push(Diagnostic::error(code, span, message).note(note));
    }
}

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "import",
    doc: "Inlines calls, expands composite ops and reads mhlo.sharding, so that one function of plain ops is left.",
    options: &[],
    run: |program, _, diagnostics| import(program, diagnostics),
};

/// The pass.
pub static UNIFY_MESHES: crate::Pass = crate::Pass {
    name: "unify-meshes",
    doc: "Rewrites shardings over several meshes of the same devices to one of them.",
    options: &[],
    run: |program, _, diagnostics| unify_meshes(program, diagnostics),
};
