//! Writes a program whose ops run for each microbatch.

use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, Loc, Op, Program, Renaming, Ty, TypeData, Value, ValueSource};
use dialect::kernel::Kernel;
use dialect::localize::{Localize, Tensor};
use dialect::ops::{build, mpmd};
use dialect::scalar::{Scalar, ScalarOp};
use dialect::sharding::{Distribution, ReductionKind, Shard};
use rustc_hash::{FxHashMap, FxHashSet};

use super::divide::Each;
use crate::mpmd::outline;
use crate::plan::model::exchanged::Exchanges;
use crate::plan::model::meaning::Models;
use crate::plan::model::strategy::Assignment;

/// The decisions, and the ops written so far.
pub(super) struct MicrobatchEmitter<'a> {
    pub(super) program: &'a mut Program,
    pub(super) models: &'a mut Models,
    /// The distributions of values that exist in parts.
    pub(super) parts: FxHashMap<Value, Distribution>,
    pub(super) each: FxHashMap<Op, Each>,
    /// The new values for whole values of the old block, where they differ.
    pub(super) whole: FxHashMap<Value, Value>,
    /// Parts of whole values, by microbatch.
    pub(super) cut: FxHashMap<(Value, Distribution, i64), Value>,
}

/// The new values for values of the old block in one microbatch.
type ValueMap = FxHashMap<Value, Value>;

/// The position where ops are written.
struct Destination<'p> {
    ops: &'p mut Vec<Op>,
    loc: Loc,
    /// The number of the microbatch.
    k: i64,
    /// Whether it is the body of a named computation, which can't use values from outside.
    inside: bool,
}

impl MicrobatchEmitter<'_> {
    /// Rewrites the block for `count` microbatches.
    pub(super) fn block(mut self, block: Block, count: i64) {
        let mut values = vec![ValueMap::default(); count as usize];
        let mut ops = Vec::new();
        for argument in self.program.block_args(block).to_vec() {
            let Some(at) = self.parts.get(&argument).cloned() else { continue };
            self.whole.insert(argument, argument);
            let loc = self.program.value_loc(argument);
            for (k, values) in (0..).zip(&mut values) {
                let first = ops.len();
                let part = slice(&mut Builder::new(self.program, &mut ops, loc), argument, &at, k);
                values.insert(argument, part);
                self.tag(&ops[first..], k);
            }
        }
        for op in self.program.block_ops(block).to_vec() {
            let (first, span) = (ops.len(), self.program.op(op).span);
            self.op(op, &mut values, &mut ops);
            outline::set_spans(self.program, &ops[first..], span);
        }
        let ops = read(self.program, ops);
        self.program.set_block_ops(block, ops);
    }

    fn op(&mut self, op: Op, values: &mut [ValueMap], ops: &mut Vec<Op>) {
        let loc = self.program.op(op).loc;
        let Some(each) = self.each.get(&op).cloned() else {
            for value in outline::reads(self.program, &[op]) {
                self.put_together(value, values, ops, loc);
            }
            rename(self.program, op, &self.whole);
            return ops.push(op);
        };
        if matches!(each, Each::Body) {
            // A body takes sums, not the parts that add up to them.
            let operands = self.program.op(op).operands.to_vec();
            for value in operands {
                if self.parts.get(&value).is_some_and(|at| !at.unreduced.is_empty()) {
                    self.put_together(value, values, ops, loc);
                }
            }
        }
        for (k, values) in (0..).zip(values.iter_mut()) {
            let first = ops.len();
            self.done(op, &each, values, &mut Destination { ops, loc, k, inside: false });
            self.tag(&ops[first..], k);
        }
        for result in self.program.results(op) {
            if !self.parts.contains_key(&result)
                && let Some(&first) = values.first().and_then(|values| values.get(&result))
            {
                // The value is the same for all microbatches.
                for values in values.iter_mut() {
                    values.remove(&result);
                }
                self.whole.insert(result, first);
            }
        }
    }

    /// Combines a value from its parts, once.
    fn put_together(&mut self, value: Value, values: &[ValueMap], ops: &mut Vec<Op>, loc: Loc) {
        let Some(at) = self.parts.get(&value).filter(|_| !self.whole.contains_key(&value)) else { return };
        let parts: Vec<Value> = values.iter().filter_map(|values| values.get(&value).copied()).collect();
        let mut b = Builder::new(self.program, ops, loc);
        let whole = match at.dims.iter().position(|axes| !axes.is_empty()) {
            Some(dim) => build::shape::concatenate(&mut b, &parts, dim),
            None => {
                let by = match at.kind {
                    ReductionKind::Sum => ScalarOp::Add,
                    ReductionKind::Max => ScalarOp::Max,
                    ReductionKind::Min => ScalarOp::Min,
                };
                let sum = parts.into_iter().reduce(|sum, part| build::pointwise(&mut b, by, &[sum, part]));
                let Some(sum) = sum else { return };
                sum
            }
        };
        self.whole.insert(value, whole);
    }

    /// Returns the new value for a value that exists in the wanted form.
    fn here(&self, value: Value, values: &ValueMap) -> Value {
        values.get(&value).or_else(|| self.whole.get(&value)).copied().unwrap_or(value)
    }

    /// Writes an op for one microbatch.
    fn done(&mut self, op: Op, each: &Each, values: &mut ValueMap, place: &mut Destination<'_>) {
        let operands = self.program.op(op).operands.to_vec();
        let made = match each {
            Each::Parts(assignment) => {
                let mut own = Vec::with_capacity(operands.len());
                for (&operand, wanted) in operands.iter().zip(&assignment.operands) {
                    own.push(self.part(operand, wanted, values, place));
                }
                self.local(op, assignment, &own, values, place)
            }
            Each::Same => {
                let copy = self.copy(op, values);
                place.ops.push(copy);
                let result = self.program.result(copy, 0);
                let ty = self.program.op(copy).operands.first().map(|&v| self.program.value_type(v));
                ty.into_iter().for_each(|ty| self.program.set_value_type(result, ty));
                vec![result]
            }
            Each::Body => self.body(op, &operands, values, place),
        };
        values.extend(self.program.results(op).zip(made));
    }

    /// Copies an op with the values of a microbatch.
    fn copy(&mut self, op: Op, values: &ValueMap) -> Op {
        let copy = self.program.clone_op(op, &mut Renaming::default());
        rename(self.program, copy, &self.whole);
        rename(self.program, copy, values);
        copy
    }

    /// Returns a microbatch's part of a value.
    fn part(&mut self, value: Value, wanted: &Distribution, values: &ValueMap, place: &mut Destination<'_>) -> Value {
        let here = self.here(value, values);
        if self.parts.contains_key(&value) || wanted.is_replicated() {
            return here;
        }
        let key = (value, wanted.clone(), place.k);
        if let Some(&known) = self.cut.get(&key).filter(|_| !place.inside) {
            return known;
        }
        let made = self.made_anew(value, wanted, values, place);
        let mut b = Builder::new(self.program, place.ops, place.loc);
        let part = match made {
            Some(made) => made,
            None if wanted.unreduced.is_empty() => slice(&mut b, here, wanted, place.k),
            None if place.k == 0 => here,
            // A value that is to be added only once is added by the first microbatch.
            None => {
                let ty = b.tensor(here).clone();
                build::splat(&mut b, ty.element, &ty.shape, nothing(Scalar::zero(ty.element)))
            }
        };
        if !place.inside {
            self.cut.insert(key, part);
        }
        part
    }

    /// Recomputes a part of a value that is large and computed from little: a constant or a broadcast.
    fn made_anew(
        &mut self,
        value: Value,
        wanted: &Distribution,
        values: &ValueMap,
        place: &mut Destination<'_>,
    ) -> Option<Value> {
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return None };
        let view = self.program.view(op);
        let bytes =
            |v: &Value| self.program.tensor_type(*v).and_then(|t| t.bytes()).map_or(f64::INFINITY, |n| n as f64);
        let read: f64 = view.operands().iter().map(bytes).sum();
        let cheap = read * 2.0 <= bytes(&value) && bytes(&value) > 0.0 && view.result_count() == 1;
        if !cheap || !wanted.unreduced.is_empty() || view.def().side_effect(view) || view.region(0).is_some() {
            return None;
        }
        if !matches!(view.def().kernel(view), Kernel::Nest(_)) {
            return None;
        }
        let (operands, model) = (view.operands().to_vec(), self.models.of(self.program, op)?);
        let model = self.models.get(model);
        let strategy = model.adopting(&model.whole(), operands.len(), wanted)?;
        let assignment = model.assignment(&strategy);
        if assignment.results.first() != Some(wanted)
            || !model.exchanged(&strategy, &mut Exchanges::default()).is_empty()
        {
            return None;
        }
        let mut own = Vec::with_capacity(operands.len());
        for (&operand, wanted) in operands.iter().zip(&assignment.operands) {
            own.push(self.part(operand, wanted, values, place));
        }
        self.local(op, &assignment, &own, values, place).first().copied()
    }

    /// Returns the results of an op in its form for parts.
    fn local(
        &mut self,
        op: Op,
        assignment: &Assignment,
        operands: &[Value],
        values: &ValueMap,
        place: &mut Destination<'_>,
    ) -> Vec<Value> {
        // Each microbatch needs copies of the regions.
        let regions = self.program.op(op).regions.clone();
        let op = if regions.is_empty() { op } else { self.copy_regions(op, values) };
        let view = self.program.view(op);
        let shard = |(ty, at): (Option<&dialect::ir::TensorType>, &Distribution)| {
            ty.map_or_else(Shard::default, |ty| at.shard(&ty.shape))
        };
        let results: Vec<Value> = view.results().collect();
        let operand_types = (0..operands.len()).map(|i| view.operand_tensor(i));
        let operand_shards: Vec<Shard> = operand_types.zip(&assignment.operands).map(shard).collect();
        let result_types = (0..results.len()).map(|i| view.result_tensor(i));
        let result_shards: Vec<Shard> = result_types.zip(&assignment.results).map(shard).collect();
        let types: Vec<TypeData> = results
            .iter()
            .zip(&assignment.results)
            .map(|(&v, at)| match self.program.tensor_type(v) {
                Some(ty) => {
                    let mut local = ty.clone();
                    local.shape = at.local_shape(&ty.shape);
                    local.into()
                }
                None => self.program.type_data(self.program.value_type(v)).clone(),
            })
            .collect();
        let result_types: Vec<Ty> = types.into_iter().map(|ty| self.program.intern_type(ty)).collect();
        let k = place.k;
        let mut start = |b: &mut Builder<'_>, tensor: Tensor, dim: usize| {
            let (at, shard) = match tensor {
                Tensor::Operand(i) => (&assignment.operands[i], &operand_shards[i]),
                Tensor::Result(i) => (&assignment.results[i], &result_shards[i]),
            };
            at.dims.get(dim).filter(|axes| !axes.is_empty())?;
            Some(build::index(b, k * shard.dims[dim].size()))
        };
        let mut cx = Localize {
            build: Builder::new(self.program, place.ops, place.loc),
            op,
            operands,
            operand_shards: &operand_shards,
            result_shards: &result_shards,
            result_types,
            results: Vec::new(),
            fetched: &[],
            start: &mut start,
        };
        let def = cx.build.program.op(op).def;
        def.localize(&mut cx);
        cx.results
    }

    /// Copies an op with its old operands and with regions that read the microbatch's values.
    fn copy_regions(&mut self, op: Op, values: &ValueMap) -> Op {
        let copy = self.program.clone_op(op, &mut Renaming::default());
        for inner in inner_ops(self.program, copy) {
            self.program.rename_operands(inner, &self.whole);
            self.program.rename_operands(inner, values);
        }
        copy
    }

    /// Writes a named computation over parts.
    fn body(&mut self, op: Op, operands: &[Value], values: &ValueMap, place: &mut Destination<'_>) -> Vec<Value> {
        let own: Vec<Value> = operands
            .iter()
            .map(|&v| match self.parts.get(&v) {
                Some(at) if !at.unreduced.is_empty() => self.whole.get(&v).copied().unwrap_or(v),
                _ => self.here(v, values),
            })
            .collect();
        let Some(body) = self.program.region_block(op, 0) else { return Vec::new() };
        let new = self.program.new_block();
        let mut inner = ValueMap::default();
        for (arg, value) in self.program.block_args(body).to_vec().into_iter().zip(&own) {
            let (loc, span) = (self.program.value_loc(arg), self.program.value_span(arg));
            let ty = self.program.value_type(*value);
            inner.insert(arg, self.program.add_block_arg(new, ty, loc, span));
        }
        let mut ops = Vec::new();
        let mut inside = self.program.block_ops(body).to_vec();
        let last = inside.pop();
        for op in inside {
            let (first, span, loc) = (ops.len(), self.program.op(op).span, self.program.op(op).loc);
            match self.each.get(&op).cloned() {
                Some(each) => {
                    self.done(op, &each, &mut inner, &mut Destination { ops: &mut ops, loc, k: place.k, inside: true });
                }
                None => {
                    let copy = self.copy(op, &inner);
                    ops.push(copy);
                    inner.extend(self.program.results(op).zip(self.program.results(copy)));
                }
            }
            outline::set_spans(self.program, &ops[first..], span);
        }
        let mut types = Vec::new();
        if let Some(last) = last {
            let copy = self.copy(last, &inner);
            let given = self.program.op(copy).operands.to_vec();
            types.extend(given.into_iter().map(|v| self.program.value_type(v)));
            ops.push(copy);
        }
        let ops = read(self.program, ops);
        self.program.set_block_ops(new, ops);
        let region = self.program.new_region(&[new]);
        let data = self.program.op(op).clone();
        let name = self.program.op_name(op).to_owned();
        let mut b = Builder::new(self.program, place.ops, place.loc);
        let made = b.raw(data.def, &name, &own, &types, &data.attrs, &[region]);
        self.program.results(made).collect()
    }

    /// Records on ops the microbatch that they belong to.
    fn tag(&mut self, ops: &[Op], k: i64) {
        let ty = self.program.intern_type(TypeData::Scalar(mpmd::INDEX));
        let number = self.program.intern_attr(AttrData::Int(k, ty));
        ops.iter().for_each(|&op| self.program.set_attr(op, mpmd::CALL_COUNTER, number));
    }
}

/// Slices a part out of a whole value.
fn slice(b: &mut Builder<'_>, value: Value, at: &Distribution, k: i64) -> Value {
    let Some(dim) = at.dims.iter().position(|axes| !axes.is_empty()) else { return value };
    let size = b.tensor(value).shape[dim] / at.shards(dim);
    build::shape::slice_dim(b, value, dim, k * size, (k + 1) * size)
}

/// Returns the neutral element of addition: -0.0 for floats, since adding 0.0 would change the sign of -0.0.
fn nothing(zero: Scalar) -> Scalar {
    match zero {
        Scalar::Float(_) => Scalar::Float(-0.0),
        Scalar::Complex(..) => Scalar::Complex(-0.0, -0.0),
        int => int,
    }
}

fn inner_ops(program: &Program, op: Op) -> Vec<Op> {
    let blocks = program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region));
    blocks.flat_map(|&block| program.ops_under(block)).collect()
}

/// Renames the operands of an op and of the ops in its regions.
fn rename(program: &mut Program, op: Op, values: &FxHashMap<Value, Value>) {
    program.rename_operands(op, values);
    inner_ops(program, op).into_iter().for_each(|inner| program.rename_operands(inner, values));
}

/// Returns the ops that have users or other effects than their results.
fn read(program: &Program, ops: Vec<Op>) -> Vec<Op> {
    let mut wanted: FxHashSet<Value> = FxHashSet::default();
    let mut kept: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops.into_iter().rev() {
        let view = program.view(op);
        if view.def().terminator() || view.def().side_effect(view) || view.results().any(|v| wanted.contains(&v)) {
            wanted.extend(outline::reads(program, &[op]));
            kept.push(op);
        }
    }
    kept.reverse();
    kept
}
