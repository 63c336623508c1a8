//! Reads a block into a graph: its ops with their models or fixed distributions, and the moments of its run.

use std::borrow::Cow;
use std::sync::Arc;

use dialect::buffers::Facts;
use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Block, Op, Program, TensorType, Value};
use dialect::memory::{MemorySpace, MemorySpaces, is_computed_by_host};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisPart, Distribution, MeshAxes};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::graph::{Graph, GraphValue, Node, OpId, Places, ValueId, Variant};
use super::memory::{Held, Moment};
use crate::estimate::{Machine, Precision, Trips};
use crate::layouts::{self, Layouts};
use crate::plan::heuristics::PLAN;
use crate::plan::model::meaning::{Model, Models, Work, rematerializable};
use crate::plan::reshard::cache::{Rematerializable, ReshardCache};

/// The state for building a graph.
pub(crate) struct Reader<'a, 's> {
    pub(crate) program: &'a Program,
    pub(crate) layouts: &'a Layouts,
    pub(crate) variant: &'a Variant,
    pub(crate) models: &'a mut Models,
    pub(crate) cache: &'a mut ReshardCache<'s>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    pub(crate) machine: &'a Machine,
    /// Arguments whose memory may be reused.
    pub(crate) donated: &'a FxHashSet<Value>,
    pub(crate) spaces: &'a MemorySpaces,
    pub(crate) graph: Graph,
    pub(crate) moments: Vec<Moment>,
    pub(crate) weight: f64,
}

impl<'a> Reader<'a, '_> {
    /// Reads `block`, whose arguments have the distributions `args` and whose terminator must read its operands in the
    /// distributions `wanted`.
    pub(crate) fn block(&mut self, block: Block, args: &[Distribution], wanted: &[Distribution]) {
        let (mut held, mut kept) = (SmallVec::new(), SmallVec::new());
        for (&arg, at) in self.program.block_args(block).iter().zip(args) {
            let dist = self.cache.dist(at);
            if let Some(i) = self.value(arg, None) {
                self.graph.values[i].fixed = Some(dist);
                held.push(i);
                if !self.donated.contains(&arg) {
                    kept.push(i);
                }
            }
        }
        self.moments.push(Moment::Begin(held));
        for &op in self.program.block_ops(block) {
            if self.program.op(op).def.terminator() {
                self.border(op, wanted, &[]);
            } else {
                self.op(op);
            }
        }
        self.moments.push(Moment::End(kept));
    }

    /// Returns the finished graph after everything is read.
    pub(crate) fn finish(mut self) -> Graph {
        self.graph.decide_memory(&self.moments);
        self.graph.share_rows(self.models);
        self.graph
    }

    fn value(&mut self, value: Value, maker: Option<(OpId, u32)>) -> Option<ValueId> {
        let ty = self.program.tensor_type(value)?;
        let propagated = self.layout(value);
        let propagated = self.cache.dist(&propagated);
        let made = GraphValue {
            ty: self.cache.ty(ty),
            maker,
            fixed: None,
            uses: SmallVec::new(),
            propagated,
            rematerializable: Rematerializable::No,
            weight: self.weight,
            written: true,
            on_host: self.spaces.is_on_host(value),
            held: Held::default(),
        };
        let id = self.graph.values.push_and_get_key(made);
        self.graph.value_at.insert(value, id);
        Some(id)
    }

    fn node(&mut self, op: Op, model: Option<(Model, Work)>, fixed: Option<Places>) -> OpId {
        let id = self.graph.ops.next_key();
        let operands: SmallVec<[Option<ValueId>; 3]> =
            self.program.op(op).operands.iter().map(|v| self.graph.value_at.get(v).copied()).collect();
        for (i, v) in operands.iter().enumerate() {
            if let Some(v) = v {
                self.graph.values[*v].uses.push((id, i as u32));
            }
        }
        let results = self.program.results(op).enumerate();
        let results = results.map(|(i, v)| self.value(v, Some((id, i as u32)))).collect();
        let (model, work) = model.unzip();
        let Work { flops, facts, reads_part } = work.unwrap_or_default();
        let seconds = self.arithmetic(op, flops);
        let def = self.program.op(op).def;
        let weight = self.weight;
        let (by_host, shares) = (is_computed_by_host(self.program.view(op)), SmallVec::new());
        let node = Node { def, model, fixed, operands, results, seconds, weight, facts, reads_part, by_host, shares };
        self.graph.ops.push(node);
        self.graph.op_at.insert(op, id);
        id
    }

    fn arithmetic(&self, op: Op, flops: f64) -> f64 {
        if flops == 0.0 {
            return 0.0;
        }
        let view = self.program.view(op);
        let element = |i: usize| {
            view.operand_tensor(i).or(view.operand_tensor(0)).map_or("f32", |t| t.element.text().unwrap_or("f32"))
        };
        flops / self.machine.product_rate(Precision::of_product(element(0), element(1)), 0.0)
    }

    fn border(&mut self, op: Op, operands: &[Distribution], results: &[Distribution]) {
        let id = self.border_node(op, operands, results);
        self.moments.push(Moment::Op(id));
    }

    /// Records that an op reads its operands before its regions run.
    fn before(&mut self, op: Op) {
        let operands = self.program.op(op).operands.iter();
        let operands = operands.filter_map(|v| self.graph.value_at.get(v).copied()).collect();
        self.moments.push(Moment::Before(operands));
    }

    /// Adds the border of an op whose regions have been read.
    fn after(&mut self, op: Op, operands: &[Distribution], results: &[Distribution]) {
        let id = self.border_node(op, operands, results);
        self.moments.push(Moment::After(id));
    }

    fn border_node(&mut self, op: Op, operands: &[Distribution], results: &[Distribution]) -> OpId {
        let places = Places {
            operands: operands.iter().map(|d| self.cache.dist(d)).collect(),
            results: results.iter().map(|d| self.cache.dist(d)).collect(),
            ..Places::default()
        };
        self.node(op, None, Some(places))
    }

    /// Returns the layout of a value in this variant.
    fn layout(&mut self, value: Value) -> Cow<'a, Distribution> {
        let Some(ty) = self.program.tensor_type(value) else { return Cow::Owned(Distribution::replicated(0)) };
        let found = match self.variant.carried.get(&value) {
            Some(carried) => Cow::Owned(layouts::useful(carried, ty).into_owned()),
            None => self.layouts.get(self.program, value),
        };
        if found.is_even(&ty.shape) || self.layouts.is_fixed(value) {
            return found;
        }
        self.graph.is_uneven = true;
        if self.variant.even { Cow::Owned(layouts::even(found.into_owned(), ty)) } else { found }
    }

    fn layouts_of(&mut self, values: impl IntoIterator<Item = Value>) -> Vec<Distribution> {
        values.into_iter().map(|v| self.layout(v).into_owned()).collect()
    }

    fn op(&mut self, op: Op) {
        let view = self.program.view(op);
        if sdy::group_id(view).is_some() || view.results().any(|v| self.layouts.combined().contains_key(&v)) {
            return;
        }
        if sdy::stated_sharding(view).is_some() {
            let propagated = self.layouts_of(view.results());
            return self.border(op, &propagated, &propagated);
        }
        let Some(control) = view.def().control(view) else { return self.computation(op) };
        let results = self.layouts_of(view.results());
        match control {
            Control::While => self.whole_loop(op, &results),
            Control::Case | Control::If => {
                self.before(op);
                for region in 0..self.program.op(op).regions.len() {
                    if let Some(block) = view.block(region) {
                        self.block(block, &[], &results);
                    }
                }
                self.after(op, &[Distribution::replicated(0)], &results);
            }
            Control::Inline => {
                self.before(op);
                let args = self.layouts_of(view.region_args(0).iter().copied());
                if let Some(block) = view.block(0) {
                    self.block(block, &args, &results);
                }
                self.after(op, &args, &results);
            }
            Control::Manual => {
                let (operands, results) = manual_places(self.program, self.cache.mesh_axes(), op, self.diagnostics);
                self.border(op, &operands, &results);
            }
            // Collectives are between devices' own memories: after a copy from the host, before one to it.
            Control::Identity if self.spaces.moved(view) == Some(MemorySpace::Device) => {
                let operands = self.layouts_of(view.operands().iter().copied());
                let whole = operands.iter().all(|d| d.unreduced.is_empty());
                let places = if whole { operands } else { results };
                self.border(op, &places, &places);
            }
            Control::Identity => self.border(op, &results, &results),
            Control::Call => {
                let d = Diagnostic::error(codes::CALL_LEFT, self.program.op(op).span, "the program still has a call");
                self.diagnostics.push(d.note("run the pass import first: it inlines calls"));
            }
        }
    }

    fn whole_loop(&mut self, op: Op, carried: &[Distribution]) {
        let view = self.program.view(op);
        self.before(op);
        self.moments.push(Moment::Enter);
        let outside = self.weight;
        self.weight *= Trips::of(view).count as f64;
        if let Some(block) = view.block(0) {
            self.block(block, carried, &[Distribution::replicated(0)]);
        }
        if let Some(block) = view.block(1) {
            self.block(block, carried, carried);
            self.weight = outside;
            self.moved_before(block);
        }
        self.weight = outside;
        self.moments.push(Moment::Leave);
        self.after(op, carried, carried);
    }

    /// Gives loop arguments that `body` passes through unchanged the weight of the code around the loop, since they are
    /// redistributed before it. Skips those of which an op reads only a part at a time: moving all of such a value
    /// first could take memory that the program saves by slicing. Values of at most [`READ_IN_PARTS`] bytes take none
    /// worth saving.
    fn moved_before(&mut self, body: Block) {
        for arg in unchanged(self.program, body) {
            let Some(&at) = self.graph.value_at.get(&arg) else { continue };
            let is_small =
                self.program.tensor_type(arg).and_then(TensorType::bytes).is_some_and(|n| n <= PLAN.read_in_parts);
            let whole = |&(op, _): &(OpId, u32)| is_small || !self.graph.ops[op].reads_part;
            if self.graph.values[at].uses.iter().all(whole) {
                self.graph.values[at].weight = self.weight;
            }
        }
    }

    fn computation(&mut self, op: Op) {
        let view = self.program.view(op);
        let rematerializable = rematerializable(view);
        if rematerializable != Rematerializable::No {
            let propagated = self.layouts_of(view.results());
            self.border(op, &[], &propagated);
            if let Some(last) = self.graph.values.last_mut() {
                last.rematerializable = rematerializable;
            }
            if let Some(last) = self.graph.ops.last_mut() {
                last.facts = Facts::of(view).map(Arc::new);
            }
            return;
        }
        match self.models.with_work(self.program, op) {
            Some(model) => {
                let id = self.node(op, Some(model), None);
                self.moments.push(Moment::Op(id));
            }
            None => {
                let whole = |v: Value| Distribution::replicated(self.program.tensor_type(v).map_or(0, |t| t.rank()));
                let operands: Vec<_> = view.operands().iter().map(|&v| whole(v)).collect();
                let results: Vec<_> = view.results().map(whole).collect();
                self.border(op, &operands, &results);
            }
        }
    }
}

/// Returns the arguments of a loop's `body` that it passes through unchanged.
pub(crate) fn unchanged(program: &Program, body: Block) -> impl Iterator<Item = Value> {
    let next = program.terminator(body).map_or(&[][..], |op| &program.op(op).operands);
    program.block_args(body).iter().zip(next).filter(|(arg, next)| arg == next).map(|(&arg, _)| arg)
}

/// Returns the distributions of the operands and results of a manual computation.
pub(crate) fn manual_places(
    program: &Program,
    mesh_axes: &MeshAxes,
    op: Op,
    diagnostics: &mut Diagnostics,
) -> (Vec<Distribution>, Vec<Distribution>) {
    let view = program.view(op);
    let Some(manual) = sdy::ManualComputation::of(view) else { return Default::default() };
    let mut at = |values: Vec<Value>, shardings: &[dialect::sharding::TensorSharding]| {
        let one = |(v, s): (Value, &dialect::sharding::TensorSharding)| {
            layouts::fixed(program, mesh_axes, s, v, diagnostics).unwrap_or_else(|| Distribution::replicated(s.rank()))
        };
        values.into_iter().zip(shardings).map(one).collect::<Vec<_>>()
    };
    let operands = at(view.operands().to_vec(), manual.in_shardings);
    let results = at(view.results().collect(), manual.out_shardings);
    (operands, results)
}

/// Returns the distribution without axes for which `gone` holds.
pub(crate) fn without(d: &Distribution, gone: &dyn Fn(AxisPart) -> bool) -> Distribution {
    let dims = d.dims.iter().map(|x| x.iter().copied().filter(|&p| !gone(p)).collect());
    let unreduced: Vec<AxisPart> = d.unreduced.iter().copied().filter(|&p| !gone(p)).collect();
    Distribution::of_dims(dims).with_unreduced(&unreduced, d.kind)
}

/// Returns the distributions of the arguments of `@main`, and those wanted for its results.
pub(crate) fn signature(
    program: &Program,
    layouts: &Layouts,
    main: Op,
    block: Block,
    diagnostics: &mut Diagnostics,
) -> (Vec<Distribution>, Vec<Distribution>) {
    let args = program.block_args(block).iter().map(|&v| layouts.get(program, v).into_owned()).collect();
    let returned = program.terminator(block).map(|op| program.op(op).operands.to_vec()).unwrap_or_default();
    let mut results = Vec::new();
    for (i, &value) in returned.iter().enumerate() {
        let stated = func::result_sharding(program, main, i);
        let fixed = stated.and_then(|s| layouts::fixed(program, layouts.mesh_axes(), s, value, diagnostics));
        results.push(fixed.unwrap_or_else(|| layouts.get(program, value).into_owned()));
    }
    (args, results)
}
