//! Writes a plan into the program: ops over agreeing distributions, and a collective of the sdy dialect wherever a
//! distribution changes.
//!
//! Blocks are walked in order. A value read in a loop or branch but made outside is redistributed outside.

use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{AllToAllParam, Attr, AttrData, Block, Loc, LocData, Name, Op, Program, Value};
use dialect::op::Control;
use dialect::ops::{func, sharding};
use dialect::sharding::{AxisList, ReductionKind, TensorSharding};
use rustc_hash::FxHashMap;

use super::copies::{Anywhere, Copied, Copies};
use super::distribution::{Distribution, Grid, Part};
use super::greedy::{self, Operand, ResultAt};
use super::homes::{self, Homes};
use super::reshard::Resharder;
use super::step::StepKind;

/// How often a loop runs whose trip count is not known.
const LOOP_WEIGHT: f64 = 8.0;

/// The walk over the program.
pub(super) struct Emit<'a> {
    pub(super) program: &'a mut Program,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) grid: &'a Grid,
    pub(super) resharder: Resharder<'a>,
    pub(super) homes: Homes,
    /// Copies of values by position.
    pub(super) copies: FxHashMap<Value, Copies>,
    /// Ops of the open blocks, outermost first.
    pub(super) open: Vec<Vec<Op>>,
    pub(super) weight: f64,
    /// Modelled seconds and bytes of what was built.
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

impl Emit<'_> {
    /// Plans the body of `main`.
    pub(super) fn main(&mut self, main: Op, block: Block) {
        for (i, arg) in self.program.block_args(block).to_vec().into_iter().enumerate() {
            let home = self.homes.get(self.program, arg);
            if self.program.tensor_type(arg).is_some() {
                let attr = self.sharding_attr(&home);
                func::set_arg_attr(self.program, main, i, func::SHARDING, attr);
            }
            self.define(arg, home);
        }
        let returned = self.program.terminator(block).map(|op| self.program.op(op).operands.to_vec()).unwrap_or_default();
        let mut wanted = Vec::new();
        for (i, &value) in returned.iter().enumerate() {
            let stated = func::result_sharding(self.program, main, i).cloned();
            let home = match stated {
                Some(s) => homes::fixed(self.program, self.grid, &s, value, self.diagnostics),
                None => None,
            };
            let home = home.unwrap_or_else(|| self.homes.get(self.program, value));
            if self.program.tensor_type(value).is_some() {
                let attr = self.sharding_attr(&home);
                func::set_result_attr(self.program, main, i, func::SHARDING, attr);
            }
            wanted.push(home);
        }
        self.block(block, &wanted);
    }

    /// The value as its op makes it.
    fn define(&mut self, value: Value, at: Distribution) {
        self.define_as(value, at, Anywhere::No);
    }

    fn define_as(&mut self, value: Value, at: Distribution, anywhere: Anywhere) {
        let Some(ty) = self.program.tensor_type(value).cloned() else { return };
        let list = [Copied { at, made: None, value: Some(value) }].into_iter().collect();
        let copies = Copies { ty, list, anywhere, depth: self.open.len().saturating_sub(1), weight: self.weight };
        self.copies.insert(value, copies);
    }

    /// Plans one block, whose terminator's operands are wanted at `wanted`.
    fn block(&mut self, block: Block, wanted: &[Distribution]) {
        self.open.push(Vec::new());
        for op in self.program.block_ops(block).to_vec() {
            let def = self.program.op(op).def;
            if def.terminator() {
                self.use_operands(op, wanted);
                self.push(op);
                continue;
            }
            self.op(op);
        }
        let ops = self.open.pop().unwrap_or_default();
        self.program.set_block_ops(block, ops);
    }

    fn push(&mut self, op: Op) {
        if let Some(ops) = self.open.last_mut() {
            ops.push(op);
        }
    }

    fn op(&mut self, op: Op) {
        let view = self.program.view(op);
        let (def, results): (_, Vec<Value>) = (view.def(), view.results().collect());
        if let Some(stated) = sharding::stated_sharding(view).cloned() {
            // A constraint is its operand elsewhere.
            return self.constraint(op, &stated);
        }
        match def.control(view) {
            Some(Control::While) => self.whole_loop(op),
            Some(Control::Case | Control::If) => self.branches(op),
            Some(Control::Manual) => self.manual(op),
            Some(Control::Identity) if results.is_empty() => {}
            Some(Control::Identity) => {
                let homes: Vec<_> = results.iter().map(|&v| self.homes.get(self.program, v)).collect();
                self.use_operands(op, &homes);
                self.push(op);
                self.finish(op, homes);
            }
            Some(Control::Inline) => self.inline(op),
            Some(Control::Call) => {
                let d = Diagnostic::error("plan", self.program.op(op).span, "a call is left in the program");
                self.diagnostics.push(d.note("run the pass import before: it inlines calls"));
            }
            None => self.computation(op),
        }
    }

    fn computation(&mut self, op: Op) {
        let view = self.program.view(op);
        let results: Vec<Value> = view.results().collect();
        if results.is_empty() && sharding::group_id(view).is_some() {
            return;
        }
        let alone = view.operands().is_empty() && results.len() == 1 && !view.def().side_effect(view);
        let anywhere = if alone { greedy::anywhere(view) } else { Anywhere::No };
        if anywhere != Anywhere::No {
            let home = self.homes.get(self.program, results[0]);
            self.push(op);
            self.finish(op, vec![home.clone()]);
            self.define_as(results[0], home, anywhere);
            return;
        }
        let assignment = match greedy::model(view) {
            Some(model) => {
                let flops = view.def().flops(view);
                let operands: Vec<_> = view
                    .operands()
                    .iter()
                    .map(|v| Some(Operand { copies: self.copies.get(v)?, home: self.homes.get(self.program, *v) }))
                    .collect();
                let result = |&v: &Value| {
                    Some(ResultAt { ty: self.program.tensor_type(v)?.clone(), home: self.homes.get(self.program, v) })
                };
                let results: Vec<_> = results.iter().map(result).collect();
                greedy::choose(&model, flops, &operands, &results, &mut self.resharder)
            }
            None => self.replicated(op),
        };
        self.use_operands(op, &assignment.operands);
        self.push(op);
        self.finish(op, assignment.results);
    }

    fn replicated(&self, op: Op) -> super::strategy::Assignment {
        let whole = |v: Value| Distribution::replicated(self.program.tensor_type(v).map_or(0, |t| t.rank()));
        let operands = self.program.op(op).operands.iter().map(|&v| whole(v)).collect();
        super::strategy::Assignment { operands, results: self.program.results(op).map(whole).collect() }
    }

    fn constraint(&mut self, op: Op, stated: &TensorSharding) {
        let Some(&operand) = self.program.op(op).operands.first() else { return };
        let result = self.program.result(op, 0);
        let home = homes::fixed(self.program, self.grid, stated, result, self.diagnostics);
        let home = home.unwrap_or_else(|| self.homes.get(self.program, result));
        let user = self.program.op_name(op).to_owned();
        let value = self.reach(operand, &home, &user);
        let Some(ty) = self.program.tensor_type(result).cloned() else { return };
        let (depth, weight) = (self.open.len().saturating_sub(1), self.weight);
        let list = [Copied { at: home, made: None, value: Some(value) }].into_iter().collect();
        self.copies.insert(result, Copies { ty, list, anywhere: Anywhere::No, depth, weight });
    }

    fn whole_loop(&mut self, op: Op) {
        let homes: Vec<_> = self.program.results(op).map(|v| self.homes.get(self.program, v)).collect();
        self.use_operands(op, &homes);
        let outside = self.weight;
        self.weight *= LOOP_WEIGHT;
        for (region, wanted) in [(0, vec![Distribution::replicated(0)]), (1, homes.clone())] {
            if let Some(block) = self.program.region_block(op, region) {
                self.enter(block, &homes, &wanted);
            }
        }
        self.weight = outside;
        self.push(op);
        self.finish(op, homes);
    }

    fn branches(&mut self, op: Op) {
        let homes: Vec<_> = self.program.results(op).map(|v| self.homes.get(self.program, v)).collect();
        self.use_operands(op, &[Distribution::replicated(0)]);
        for region in 0..self.program.op(op).regions.len() {
            if let Some(block) = self.program.region_block(op, region) {
                self.enter(block, &[], &homes);
            }
        }
        self.push(op);
        self.finish(op, homes);
    }

    fn inline(&mut self, op: Op) {
        let Some(block) = self.program.region_block(op, 0) else { return };
        let args: Vec<_> = self.program.block_args(block).iter().map(|&v| self.homes.get(self.program, v)).collect();
        let homes: Vec<_> = self.program.results(op).map(|v| self.homes.get(self.program, v)).collect();
        self.use_operands(op, &args);
        self.enter(block, &args, &homes);
        self.push(op);
        self.finish(op, homes);
    }

    fn enter(&mut self, block: Block, args: &[Distribution], wanted: &[Distribution]) {
        self.open.push(Vec::new());
        for (&arg, at) in self.program.block_args(block).to_vec().iter().zip(args) {
            self.define(arg, at.clone());
        }
        self.open.pop();
        self.block(block, wanted);
    }

    fn manual(&mut self, op: Op) {
        let view = self.program.view(op);
        let Some(manual) = sharding::ManualComputation::of(view) else { return };
        let (ins, outs) = (manual.in_shardings.to_vec(), manual.out_shardings.to_vec());
        let (mesh, axes) = (manual.mesh.cloned(), manual.manual_axes.to_vec());
        let results: Vec<Value> = view.results().collect();
        let operands = view.operands().to_vec();
        let mut at = |values: &[Value], shardings: &[TensorSharding]| -> Vec<Distribution> {
            let one = |(&v, s): (&Value, &TensorSharding)| {
                homes::fixed(self.program, self.grid, s, v, self.diagnostics)
                    .unwrap_or_else(|| Distribution::replicated(s.rank()))
            };
            values.iter().zip(shardings).map(one).collect()
        };
        let (inputs, outputs) = (at(&operands, &ins), at(&results, &outs));
        self.use_operands(op, &inputs);
        let full = mesh.is_none_or(|m| m.axes.iter().all(|a| a.1 == 1 || axes.contains(&a.0)));
        if full {
            self.manual_attrs(op, &inputs, &outputs);
        } else if let Some(block) = self.program.region_block(op, 0) {
            let of_axis = |p: &Part| axes.contains(&self.grid.axis_ref(*p).name);
            let free = |d: &Distribution| {
                let dims = d.dims.iter().map(|x| x.iter().copied().filter(|p| !of_axis(p)).collect());
                let unreduced: Vec<Part> = d.unreduced.iter().copied().filter(|p| !of_axis(p)).collect();
                Distribution::of_dims(dims).with_unreduced(&unreduced, d.kind)
            };
            let (args, wanted): (Vec<_>, Vec<_>) = (inputs.iter().map(free).collect(), outputs.iter().map(free).collect());
            let manual: Vec<usize> = (0..self.grid.sizes().len()).filter(|&a| of_axis(&self.grid.whole(a))).collect();
            let inside = self.resharder.without_axes(&manual);
            let outside = std::mem::replace(&mut self.resharder, inside);
            self.enter(block, &args, &wanted);
            self.resharder = outside;
        }
        self.push(op);
        self.finish(op, outputs);
    }

    /// States a fully manual region in words of the grid.
    fn manual_attrs(&mut self, op: Op, inputs: &[Distribution], outputs: &[Distribution]) {
        for (name, list) in [("in_shardings", inputs), ("out_shardings", outputs)] {
            let list = list.iter().map(|d| self.grid.sharding(d)).collect();
            let attr = self.program.intern_attr(AttrData::ShardingPerValue(list));
            self.program.set_attr(op, name, attr);
        }
        let axes: Vec<Name> = self.grid.data.axes.iter().map(|a| a.0).collect();
        let attr = self.program.intern_attr(AttrData::ManualAxes(axes));
        self.program.set_attr(op, "manual_axes", attr);
    }

    /// Gives `op` its operands at `wanted`.
    fn use_operands(&mut self, op: Op, wanted: &[Distribution]) {
        let user = self.program.op_name(op).to_owned();
        for (i, at) in wanted.iter().enumerate() {
            let Some(&operand) = self.program.op(op).operands.get(i) else { return };
            let value = self.reach(operand, at, &user);
            self.program.op_mut(op).operands[i] = value;
        }
    }

    /// Says where the results of `op` lie.
    fn finish(&mut self, op: Op, results: Vec<Distribution>) {
        let values: Vec<Value> = self.program.results(op).collect();
        if !values.is_empty() {
            let list = results.iter().map(|d| self.grid.sharding(d)).collect();
            let attr = self.program.intern_attr(AttrData::ShardingPerValue(list));
            self.program.set_attr(op, func::SHARDING, attr);
        }
        for (value, at) in values.into_iter().zip(results) {
            self.define(value, at);
        }
    }

    fn sharding_attr(&mut self, at: &Distribution) -> Attr {
        self.program.intern_attr(AttrData::Sharding(self.grid.sharding(at)))
    }

    /// The value at `to`, for `user`.
    fn reach(&mut self, value: Value, to: &Distribution, user: &str) -> Value {
        let Some(copies) = self.copies.get_mut(&value) else { return value };
        let (at, seconds, bytes) = copies.reach(&mut self.resharder, to);
        self.seconds += seconds * copies.weight;
        self.bytes += bytes * copies.weight;
        self.build(value, at, user)
    }

    /// Builds a copy and those it is made from.
    fn build(&mut self, value: Value, at: usize, user: &str) -> Value {
        let Some(copies) = self.copies.get(&value) else { return value };
        let (copy, depth) = (copies.list[at].clone(), copies.depth);
        if let Some(built) = copy.value {
            return built;
        }
        let built = match copy.made {
            None => self.place_anew(value, &copy.at, depth),
            Some((from, kind)) => {
                let source = self.build(value, from, user);
                let before = self.copies[&value].list[from].at.clone();
                self.collective(value, source, &before, &copy.at, &kind, depth, user)
            }
        };
        if let Some(copies) = self.copies.get_mut(&value) {
            copies.list[at].value = Some(built);
        }
        built
    }

    /// The op that makes `value` of nothing, once more for other pieces.
    fn place_anew(&mut self, value: Value, at: &Distribution, depth: usize) -> Value {
        let dialect::ir::ValueSource::Result(op, _) = self.program.value_source(value) else { return value };
        let copy = self.program.clone_op(op, &mut Default::default());
        let attr = self.program.intern_attr(AttrData::ShardingPerValue(vec![self.grid.sharding(at)]));
        self.program.set_attr(copy, func::SHARDING, attr);
        self.open[depth].push(copy);
        self.program.result(copy, 0)
    }

    fn collective(
        &mut self,
        value: Value,
        source: Value,
        from: &Distribution,
        to: &Distribution,
        kind: &StepKind,
        depth: usize,
        user: &str,
    ) -> Value {
        let grid = self.grid;
        let per_dim = |list: &[super::distribution::Parts]| AttrData::AxesPerDim(list.iter().map(|p| grid.axis_refs(p)).collect());
        let flat = |list: &[Part]| AttrData::Axes(grid.axis_refs(list));
        let moves = |list: &[super::step::Move]| {
            let one = |m: &super::step::Move| AllToAllParam {
                axes: grid.axis_refs(&m.parts) as AxisList,
                from: m.from as i64,
                to: m.to as i64,
            };
            AttrData::AllToAllParams(list.iter().map(one).collect())
        };
        let (def, axes) = match kind {
            StepKind::AllGather(p) => (&sharding::ALL_GATHER, Some(("gathering_axes", per_dim(p)))),
            StepKind::AllSlice(p) => (&sharding::ALL_SLICE, Some(("slicing_axes", per_dim(p)))),
            StepKind::AllToAll(m) => (&sharding::ALL_TO_ALL, Some(("params", moves(m)))),
            StepKind::Permute => (&sharding::COLLECTIVE_PERMUTE, None),
            StepKind::AllReduce(p) => (&sharding::ALL_REDUCE, Some(("reduction_axes", flat(p)))),
            StepKind::ReduceScatter(p) => (&sharding::REDUCE_SCATTER, Some(("reduce_scatter_axes", per_dim(p)))),
            StepKind::ReplicatedToUnreduced(p) => (&sharding::REPLICATED_TO_UNREDUCED, Some(("axes", flat(p)))),
            StepKind::ShardedToUnreduced(p) => (&sharding::SHARDED_TO_UNREDUCED, Some(("axes", per_dim(p)))),
        };
        let mut attrs: Vec<(&str, Attr)> = Vec::new();
        if let Some((name, data)) = axes {
            attrs.push((name, self.program.intern_attr(data)));
        }
        if matches!(kind, StepKind::AllReduce(_) | StepKind::ReduceScatter(_)) && from.kind != ReductionKind::Sum {
            let ty = self.program.intern_type(dialect::ir::TypeData::Scalar(dialect::ir::ElementType::I32));
            let number = if from.kind == ReductionKind::Max { 1 } else { 2 };
            attrs.push(("reduction_op", self.program.intern_attr(AttrData::Int(number, ty))));
        }
        let out = self.sharding_attr(to);
        attrs.push((sharding::OUT_SHARDING, out));
        let list = AttrData::ShardingPerValue(vec![grid.sharding(to)]);
        attrs.push((func::SHARDING, self.program.intern_attr(list)));
        attrs.push(("shardc.cause", self.cause(value, from, to, user)));
        let (ty, loc) = (self.program.value_type(source), self.program.value_loc(value));
        let ops = &mut self.open[depth];
        let op = Builder::new(self.program, ops, loc).op(def, &[source], &[ty], &attrs);
        self.program.result(op, 0)
    }

    fn cause(&mut self, value: Value, from: &Distribution, to: &Distribution, user: &str) -> Attr {
        let text = printable(self.program, value);
        let value = self.program.attr_str(&text);
        let (from, to) = (self.sharding_attr(from), self.sharding_attr(to));
        let (pass, rule) = (self.program.attr_str("plan"), self.program.attr_str("reshard"));
        let user = self.program.attr_str(user);
        let fields = [("from", from), ("pass", pass), ("rule", rule), ("to", to), ("user", user), ("value", value)];
        let fields = fields.map(|(name, attr)| (self.program.name(name), attr)).to_vec();
        self.program.intern_attr(AttrData::Dict(fields))
    }
}

/// A name for a value that its author knows: JAX's, else that in the source text, else its op's.
fn printable(program: &Program, value: Value) -> String {
    fn name(program: &Program, loc: Loc, depth: usize) -> Option<String> {
        match program.loc_data(loc) {
            LocData::Name(name, _) => Some(program.name_text(*name).to_owned()),
            LocData::CallSite(callee, _) if depth < 64 => name(program, *callee, depth + 1),
            LocData::Fused(_, list) if depth < 64 => list.iter().find_map(|&l| name(program, l, depth + 1)),
            _ => None,
        }
    }
    if let Some(name) = name(program, program.value_loc(value), 0) {
        return name;
    }
    let span = program.value_span(value);
    let text = program.source.as_ref().and_then(|s| s.get(span.start as usize..span.end as usize)).filter(|t| !t.is_empty());
    match (text, program.value_source(value)) {
        (Some(text), _) => text.to_owned(),
        (None, dialect::ir::ValueSource::Result(op, _)) => program.op_name(op).to_owned(),
        (None, dialect::ir::ValueSource::Arg(_, i)) => format!("argument {i}"),
    }
}
