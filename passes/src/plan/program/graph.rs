//! The program as the search sees it: ops with their models, values with their producers and users.
//!
//! Arguments, returns, constraints and ops with regions are *borders*: the distributions of their operands and results
//! are fixed. Ops inside loops and branches are in the same graph, with the number of times they run as weight; a value
//! is redistributed where it is made, so readers inside a loop share copies made outside it.

use std::sync::Arc;

use dialect::buffers::Facts;
use dialect::codes;
use dialect::define_id;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::id::TiVec;
use dialect::ir::{Block, Op, Program, TensorType, Value};
use dialect::memory::{MemorySpace, MemorySpaces, is_computed_by_host};
use dialect::op::{Control, OpDef};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisPart, Distribution, MeshAxes};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::estimate::{Machine, Precision, Trips};
use crate::layouts::{self, Layouts};
use crate::plan::heuristics::PLAN;

use super::memory::{Held, Moment};
use crate::plan::model::meaning::{Model, Models, Work, rematerializable};
use crate::plan::model::strategy::Exchanged;
use crate::plan::reshard::cache::{Dist, Rematerializable, ReshardCache, Type};

define_id!(
    /// An op of a [`Graph`].
    pub(crate) OpId, "op"
);
define_id!(
    /// A value of a [`Graph`].
    pub(crate) ValueId, "%"
);

/// One op.
pub(crate) struct Node {
    /// Its definition.
    pub(crate) def: &'static dyn OpDef,
    /// `None` for borders.
    pub(crate) model: Option<Model>,
    /// The fixed distributions of a border's operands and results.
    pub(crate) fixed: Option<Places>,
    /// Ids of the graph's values; `None` for operands that aren't tensors.
    pub(crate) operands: SmallVec<[Option<ValueId>; 3]>,
    pub(crate) results: SmallVec<[Option<ValueId>; 1]>,
    /// Seconds one device would need for the arithmetic of the whole op.
    pub(crate) seconds: f64,
    /// How often it runs.
    pub(crate) weight: f64,
    /// The facts that decide whether it shares kernels; `None` for ops that always read and write memory.
    pub(crate) facts: Option<Arc<Facts>>,
    /// Whether it may leave elements of some operand unread.
    reads_part: bool,
    /// Whether the host computes it.
    pub(crate) by_host: bool,
    /// For each dimension that it reads shifted, its share of what the rows of neighbors cost: other ops read them too.
    pub(crate) shares: SmallVec<[Share; 1]>,
}

/// An op's share of a cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The share of the cost of sending rows.
    pub(crate) sent: f64,
    /// The share of the cost of writing them together with a device's own.
    pub(crate) copied: f64,
}

impl Share {
    /// The whole cost.
    pub(crate) const WHOLE: Self = Self { sent: 1.0, copied: 1.0 };
}

impl Node {
    /// Returns the values that it reads, then those that it makes.
    pub(crate) fn values(&self) -> impl Iterator<Item = ValueId> {
        self.operands.iter().chain(&self.results).flatten().copied()
    }
}

/// The distributions of an op's operands and results, and the resulting work on a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) operands: SmallVec<[Dist; 3]>,
    pub(crate) results: SmallVec<[Dist; 1]>,
    /// Number of devices that share the work; meaningless for borders.
    pub(crate) speedup: f64,
    /// Operands in which padding must be masked for a reduction.
    pub(crate) masked: SmallVec<[usize; 2]>,
    /// Operands of which devices receive rows from their neighbors.
    pub(crate) exchanged: SmallVec<[Exchanged; 1]>,
}

/// One value.
pub(crate) struct Made {
    pub(crate) ty: Type,
    /// Its producer and the index of the result; `None` for arguments.
    pub(crate) maker: Option<(OpId, u32)>,
    /// The distribution of an argument.
    pub(crate) fixed: Option<Dist>,
    /// Its users, each with the index of the operand, in program order.
    pub(crate) uses: SmallVec<[(OpId, u32); 2]>,
    /// The distribution chosen by propagation.
    pub(crate) propagated: Dist,
    pub(crate) rematerializable: Rematerializable,
    pub(crate) weight: f64,
    /// Whether it is written to memory even if no copy of it is needed, because its readers' kernels don't compute it.
    pub(crate) written: bool,
    /// Whether it is in the host's memory as it is made.
    pub(crate) on_host: bool,
    /// When it is in memory, if it is.
    pub(crate) held: Held,
}

/// The ops and values under one block.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) ops: TiVec<OpId, Node>,
    pub(crate) values: TiVec<ValueId, Made>,
    pub(crate) op_at: FxHashMap<Op, OpId>,
    pub(crate) value_at: FxHashMap<Value, ValueId>,
    /// Whether axes that don't divide a dimension shard a value whose layout isn't fixed.
    pub(crate) is_uneven: bool,
}

/// How a search changes the layouts that propagation chose.
#[derive(Clone, Default)]
pub(crate) struct Variant {
    /// Whether axes that don't divide a dimension are dropped from layouts that aren't fixed, since moving shards with
    /// padding may cost more than it saves.
    pub(crate) even: bool,
    /// Layouts in which loops carry results: partial sums, or stacks as they are computed.
    pub(crate) carried: FxHashMap<Value, Distribution>,
}

impl Graph {
    /// Creates a graph with capacity for `ops` ops with one result each.
    pub(crate) fn with_capacity(ops: usize) -> Self {
        Self {
            ops: TiVec::with_capacity(ops),
            values: TiVec::with_capacity(ops),
            op_at: FxHashMap::with_capacity_and_hasher(ops, FxBuildHasher),
            value_at: FxHashMap::with_capacity_and_hasher(ops, FxBuildHasher),
            ..Self::default()
        }
    }

    /// Finds ops that read the same rows of neighbors; these rows are sent and copied once for all of them.
    fn share_rows(&mut self, models: &Models) {
        // By value and dimension: the number of ops that read rows on either side, and on both.
        type At = (ValueId, usize);
        let mut readers: FxHashMap<At, [u32; 3]> = FxHashMap::default();
        let each = |node: &Node, see: &mut dyn FnMut(Option<(At, [bool; 2])>)| {
            let Some(model) = node.model.map(|m| models.get(m)) else { return };
            for s in &model.shifted {
                let dims = &model.rule.operands[s.operand as usize];
                let dim = dims.iter().position(|factors| factors[..] == [s.factor]);
                let read = node.operands[s.operand as usize].zip(dim).zip(s.reach.beyond());
                see(read.map(|(at, (before, after))| (at, [before > 0, after > 0])).filter(|r| r.1 != [false; 2]));
            }
        };
        for node in &self.ops {
            each(node, &mut |read| {
                let Some((at, sides)) = read else { return };
                let count = readers.entry(at).or_default();
                (0..2).for_each(|side| count[side] += u32::from(sides[side]));
                count[2] += 1;
            });
        }
        for node in &mut self.ops {
            let mut shares = SmallVec::new();
            each(node, &mut |read| {
                let share = read.map(|(at, sides)| {
                    let count = readers[&at].map(f64::from);
                    let of = (0..2).filter(|&side| sides[side]).map(|side| 1.0 / count[side]);
                    let sides = of.clone().count() as f64;
                    Share { sent: of.sum::<f64>() / sides, copied: 1.0 / count[2] }
                });
                shares.push(share.unwrap_or(Share::WHOLE));
            });
            node.shares = shares;
        }
    }

    /// Returns every value that one of these ops reads or makes, sorted.
    pub(crate) fn values_of(&self, ops: impl IntoIterator<Item = OpId>) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = ops.into_iter().flat_map(|op| self.ops[op].values()).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

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

impl Reader<'_, '_> {
    /// Reads `block`, whose arguments have the distributions `args` and whose terminator wants its operands in the
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
        let made = Made {
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
        flops / self.machine.peak_flops(Precision::of_product(element(0), element(1)))
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
    fn layout(&mut self, value: Value) -> Distribution {
        let Some(ty) = self.program.tensor_type(value) else { return Distribution::replicated(0) };
        let found = match self.variant.carried.get(&value) {
            Some(carried) => layouts::useful(carried, ty),
            None => self.layouts.get(self.program, value),
        };
        if found.is_even(&ty.shape) || self.layouts.is_fixed(value) {
            return found;
        }
        self.graph.is_uneven = true;
        if self.variant.even { layouts::even(found, ty) } else { found }
    }

    fn layouts_of(&mut self, values: impl IntoIterator<Item = Value>) -> Vec<Distribution> {
        values.into_iter().map(|v| self.layout(v)).collect()
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
    let args = program.block_args(block).iter().map(|&v| layouts.get(program, v)).collect();
    let returned = program.terminator(block).map(|op| program.op(op).operands.to_vec()).unwrap_or_default();
    let mut results = Vec::new();
    for (i, &value) in returned.iter().enumerate() {
        let stated = func::result_sharding(program, main, i);
        let fixed = stated.and_then(|s| layouts::fixed(program, layouts.mesh_axes(), s, value, diagnostics));
        results.push(fixed.unwrap_or_else(|| layouts.get(program, value)));
    }
    (args, results)
}
