//! Writes a plan into the program: ops over agreeing distributions, and a collective of the sdy dialect wherever a
//! distribution changes.
//!
//! Blocks are walked in order. A value read in a loop or branch but made outside is redistributed outside, and so is a
//! value that a loop passes through unchanged.

use std::rc::Rc;

use dialect::id::TiSlice;
use dialect::ir::{Attr, AttrData, Block, Loc, LocData, Name, Op, Program, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::{build, func, sdy};
use dialect::sharding::{Distribution, MeshAxes};
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::graph::{Graph, OpId, Places};
use super::reader;
use crate::plan::reshard::cache::{Copies, Dist, ReshardCache, StepKind};

/// A value and its copies built so far.
struct Built {
    copies: Rc<Copies>,
    values: SmallVec<[Option<Value>; 2]>,
    /// The depth of the open block that makes it, where its copies are built.
    depth: usize,
    /// The initial value of a loop argument that the loop passes through unchanged: its copies are made from this value
    /// before the loop.
    before: Option<Value>,
}

/// The walk over one graph's blocks.
pub(crate) struct Emit<'a, 's> {
    pub(crate) program: &'a mut Program,
    pub(crate) graph: &'a Graph,
    pub(crate) places: &'a TiSlice<OpId, Rc<Places>>,
    pub(crate) cache: &'a mut ReshardCache<'s>,
    /// Plans the body of a partly manual region.
    pub(crate) inside: &'a mut dyn FnMut(&mut Program, Op),
    built: FxHashMap<Value, Built>,
    /// Attributes with the shardings of results, by their distributions.
    stated: FxHashMap<SmallVec<[Dist; 1]>, Attr>,
    /// Ops of the open blocks, outermost first.
    open: Vec<Vec<Op>>,
}

impl<'a, 's> Emit<'a, 's> {
    /// Creates a walk that has built nothing yet.
    pub(crate) fn new(
        program: &'a mut Program,
        graph: &'a Graph,
        places: &'a TiSlice<OpId, Rc<Places>>,
        cache: &'a mut ReshardCache<'s>,
        inside: &'a mut dyn FnMut(&mut Program, Op),
    ) -> Self {
        let (built, stated) = Default::default();
        Self { program, graph, places, cache, inside, built, stated, open: Vec::new() }
    }

    /// Writes the plan into `block`.
    pub(crate) fn block(&mut self, block: Block) {
        self.block_after(block, &FxHashMap::default());
    }

    /// Writes the plan into `block`; `before` has the initial values of arguments that never change in it.
    fn block_after(&mut self, block: Block, before: &FxHashMap<Value, Value>) {
        self.open.push(Vec::new());
        for arg in self.program.block_args(block).to_vec() {
            self.define(arg, arg);
            if let (Some(&before), Some(built)) = (before.get(&arg), self.built.get_mut(&arg)) {
                built.before = Some(before);
                built.depth -= 1;
            }
        }
        for op in self.program.block_ops(block).to_vec() {
            self.op(op);
        }
        let ops = self.open.pop().unwrap_or_default();
        self.program.set_block_ops(block, ops);
    }

    /// Records `built` as the copy of `value` in its original distribution.
    fn define(&mut self, value: Value, built: Value) {
        let Some(&at) = self.graph.value_at.get(&value) else { return };
        let copies = self.graph.copies(self.cache, self.places, at);
        let mut values = smallvec![None; copies.list.len()];
        values[0] = Some(built);
        self.built.insert(value, Built { copies, values, depth: self.open.len() - 1, before: None });
    }

    fn op(&mut self, op: Op) {
        let Some(&at) = self.graph.op_at.get(&op) else {
            // The graph omits sharding groups and other ops without results and without operands to move.
            return;
        };
        let view = self.program.view(op);
        if sdy::group_id(view).is_some() {
            return;
        }
        let alias = sdy::stated_sharding(view).is_some();
        match view.def().control(view) {
            Some(Control::While) => return self.whole_loop(op, at),
            Some(Control::Case | Control::If | Control::Inline) => {
                let regions = self.program.op(op).regions.clone();
                for region in regions {
                    if let Some(&block) = self.program.region_blocks(region).first() {
                        self.block(block);
                    }
                }
            }
            Some(Control::Manual) => self.manual(op, at),
            _ => {}
        }
        self.operands(op, at);
        let results: Vec<Value> = self.program.results(op).collect();
        if alias {
            // A constraint's result is its operand in another distribution.
            if let (Some(&operand), Some(&result)) = (self.program.op(op).operands.first(), results.first()) {
                self.define(result, operand);
            }
            return;
        }
        self.finish(op, at);
    }

    /// Writes a loop: its operands must be redistributed before its regions are.
    fn whole_loop(&mut self, op: Op, at: OpId) {
        self.operands(op, at);
        let (view, initial) = (self.program.view(op), self.program.op(op).operands.to_vec());
        let (condition, body) = (view.block(0), view.block(1));
        if let Some(condition) = condition {
            self.block(condition);
        }
        if let Some(body) = body {
            let args = self.program.block_args(body).iter().copied().zip(initial);
            let mut before: FxHashMap<Value, Value> = args.collect();
            let unchanged: Vec<Value> = reader::unchanged(self.program, body).collect();
            before.retain(|arg, _| unchanged.contains(arg));
            self.block_after(body, &before);
        }
        self.finish(op, at);
    }

    /// Writes `op` with the shardings of its results.
    fn finish(&mut self, op: Op, at: OpId) {
        self.push(op);
        let results = self.program.results(op);
        if results.len() > 0 {
            let places = &self.places[at].results;
            let attr = match self.stated.get(places) {
                Some(&known) => known,
                None => {
                    let mesh_axes = self.cache.mesh_axes();
                    let list = places.iter().map(|&d| mesh_axes.sharding(self.cache.distribution(d))).collect();
                    let attr = self.program.intern_attr(AttrData::ShardingPerValue(list));
                    self.stated.insert(places.clone(), attr);
                    attr
                }
            };
            self.program.set_attr(op, func::SHARDING, attr);
        }
        for value in results {
            self.define(value, value);
        }
    }

    fn push(&mut self, op: Op) {
        if let Some(ops) = self.open.last_mut() {
            ops.push(op);
        }
    }

    /// Rewrites the shardings of a manual region over the plan's mesh, and plans the axes that are not manual in it.
    fn manual(&mut self, op: Op, at: OpId) {
        let view = self.program.view(op);
        let Some(manual) = sdy::ManualComputation::of(view) else { return };
        let whole = manual.mesh.is_none_or(|m| m.axes.iter().all(|a| a.1 == 1 || manual.is_manual(a.0)));
        let mesh_axes: &MeshAxes = self.cache.mesh_axes();
        for (name, list) in [(sdy::IN_SHARDINGS, 0), (sdy::OUT_SHARDINGS, 1)] {
            let places = &self.places[at];
            let dists = if list == 0 { &places.operands[..] } else { &places.results[..] };
            let list = dists.iter().map(|&d| mesh_axes.sharding(self.cache.distribution(d))).collect();
            let attr = self.program.intern_attr(AttrData::ShardingPerValue(list));
            self.program.set_attr(op, name, attr);
        }
        if whole {
            let axes: Vec<Name> = mesh_axes.data.axes.iter().map(|a| a.0).collect();
            let attr = self.program.intern_attr(AttrData::ManualAxes(axes));
            self.program.set_attr(op, sdy::MANUAL_AXES, attr);
        } else {
            (self.inside)(self.program, op);
        }
    }

    /// Replaces the operands of `op` by copies in the distributions that the plan wants for them.
    fn operands(&mut self, op: Op, at: OpId) {
        let user = self.program.op(op).name;
        for i in 0..self.program.op(op).operands.len() {
            let operand = self.program.op(op).operands[i];
            let Some(&want) = self.places[at].operands.get(i) else { return };
            let Some(built) = self.built.get(&operand) else { continue };
            let Some(copy) = built.copies.list.iter().position(|c| c.at == want) else { continue };
            let value = self.build(operand, copy, user);
            self.program.op_mut(op).operands[i] = value;
        }
    }

    /// Builds a copy, after the copies that it is made from.
    fn build(&mut self, value: Value, at: usize, user: Name) -> Value {
        let Some(built) = self.built.get(&value) else { return value };
        if let Some(done) = built.values[at] {
            return done;
        }
        let (copies, depth) = (built.copies.clone(), built.depth);
        let copy = &copies.list[at];
        let to = self.cache.distribution(copy.at).clone();
        let done = match copy.from {
            None => self.place_anew(value, &to, depth),
            Some((from, kind)) => {
                let before = built.before.filter(|_| from == 0);
                let source = before.unwrap_or_else(|| self.build(value, from, user));
                let before = self.cache.distribution(copies.list[from].at).clone();
                let op = self.collective(value, source, &to, kind);
                let cause = self.cause(value, &before, &to, user);
                self.program.set_attr(op, CAUSE, cause);
                self.open[depth].push(op);
                self.program.result(op, 0)
            }
        };
        if let Some(built) = self.built.get_mut(&value) {
            built.values[at] = Some(done);
        }
        done
    }

    /// Clones the op without operands that defines `value`, to compute it in another distribution.
    fn place_anew(&mut self, value: Value, at: &Distribution, depth: usize) -> Value {
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return value };
        let copy = self.program.clone_op(op, &mut Default::default());
        let attr = self.program.intern_attr(AttrData::ShardingPerValue(vec![self.cache.mesh_axes().sharding(at)]));
        self.program.set_attr(copy, func::SHARDING, attr);
        self.open[depth].push(copy);
        self.program.result(copy, 0)
    }

    /// Creates the collective that makes a copy of `value` from the copy `source`.
    fn collective(&mut self, value: Value, source: Value, to: &Distribution, kind: StepKind) -> Op {
        let mesh_axes = self.cache.mesh_axes();
        let change = self.cache.step(kind).named(&mesh_axes.data);
        let out = mesh_axes.sharding(to);
        let loc = self.program.value_loc(value);
        let op = build::sdy::collective(self.program, source, &change, out.clone(), loc);
        let list = self.program.intern_attr(AttrData::ShardingPerValue(vec![out]));
        self.program.set_attr(op, func::SHARDING, list);
        op
    }

    fn cause(&mut self, value: Value, from: &Distribution, to: &Distribution, user: Name) -> Attr {
        let user = self.program.name_text(user).to_owned();
        let text = printable(self.program, value);
        let value = self.program.attr_str(&text);
        let mesh_axes = self.cache.mesh_axes();
        let from = sharding_attr(self.program, mesh_axes, from);
        let to = sharding_attr(self.program, mesh_axes, to);
        let (pass, rule) = (self.program.attr_str("plan"), self.program.attr_str("reshard"));
        let user = self.program.attr_str(&user);
        let fields = [("from", from), ("pass", pass), ("rule", rule), ("to", to), ("user", user), ("value", value)];
        let fields = fields.map(|(name, attr)| (self.program.name(name), attr)).to_vec();
        self.program.intern_attr(AttrData::Dict(fields))
    }
}

/// Returns the closed sharding of a distribution as an attribute.
pub(crate) fn sharding_attr(program: &mut Program, mesh_axes: &MeshAxes, at: &Distribution) -> Attr {
    program.intern_attr(AttrData::Sharding(mesh_axes.sharding(at)))
}

/// Returns a name for a value that the program's author recognizes: JAX's, else the one in the source text, else its
/// op's.
fn printable(program: &Program, value: Value) -> String {
    fn name(program: &Program, loc: Loc, depth: usize) -> Option<String> {
        match &*program.loc_data(loc) {
            LocData::Name(name, _) => Some(program.loc_string(*name).shown().into_owned()),
            &LocData::CallSite(callee, caller) if depth < 64 => {
                name(program, callee, depth + 1).or_else(|| name(program, caller, depth + 1))
            }
            LocData::Fused(_, list) if depth < 64 => list.iter().find_map(|&l| name(program, l, depth + 1)),
            _ => None,
        }
    }
    if let Some(name) = name(program, program.value_loc(value), 0) {
        return name;
    }
    let span = program.value_span(value);
    let text =
        program.source.as_ref().and_then(|s| s.get(span.start as usize..span.end as usize)).filter(|t| !t.is_empty());
    match (text, program.value_source(value)) {
        (Some(text), _) => text.to_owned(),
        (None, ValueSource::Result(op, _)) => program.op_name(op).to_owned(),
        (None, ValueSource::Arg(_, i)) => format!("argument {i}"),
    }
}
