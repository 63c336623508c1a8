//! Decides which ops of a program run for each microbatch, given arguments whose first dimensions are cut.
//!
//! A microbatch is a position along an axis that no device has: a value sharded along the axis exists in parts, one per
//! microbatch, and a value unreduced along it is the sum of the microbatches' results. So the op models by which the
//! plan chooses shardings also describe how an op is computed for one microbatch. The analysis goes forward in program
//! order: an op that needs more than a part of an operand runs once, on the whole.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use dialect::ir::{Block, Op, Program, Value};
use dialect::op::Control;
use dialect::ops::mpmd::{self, Kind};
use dialect::ops::sdy;
use dialect::sharding::{Axes, AxisPart, Distribution, ReductionKind};
use rustc_hash::FxHashMap;

use crate::mpmd::outline;
use crate::plan::model::exchanged::Exchanges;
use crate::plan::model::meaning::Models;
use crate::plan::model::strategy::{Assignment, OpModel};

/// The form of an op for each microbatch.
#[derive(Clone)]
pub(super) enum Each {
    /// Its local form for parts.
    Parts(Rc<Assignment>),
    /// The same op on parts, for a constraint.
    Same,
    /// A named computation, whose body runs for each microbatch.
    Body,
}

/// The values that exist in parts, and the ops that compute them.
pub(super) struct Division<'a> {
    program: &'a Program,
    models: &'a mut Models,
    axis: AxisPart,
    /// The distributions of values that aren't whole.
    pub(super) parts: FxHashMap<Value, Distribution>,
    pub(super) each: FxHashMap<Op, Each>,
    /// The total work; ops that run for each microbatch count once per microbatch.
    pub(super) work: f64,
}

impl<'a> Division<'a> {
    /// Analyzes a block whose `arguments` have their first dimensions cut into `count` parts.
    pub(super) fn of(
        program: &'a Program,
        models: &'a mut Models,
        block: Block,
        arguments: &[Value],
        count: i64,
    ) -> Option<Self> {
        let axis = AxisPart::whole(0, u32::try_from(count).ok()?);
        let cut = |dim: usize| if dim == 0 { [axis].into_iter().collect() } else { Axes::new() };
        let first = |&argument: &Value| {
            let ty = program.tensor_type(argument).filter(|t| t.is_static())?;
            let divides = ty.shape.first().is_some_and(|&n| n >= count && n % count == 0);
            divides.then(|| (argument, Distribution::of_dims((0..ty.rank()).map(cut))))
        };
        let parts: FxHashMap<Value, Distribution> = arguments.iter().filter_map(first).collect();
        if parts.is_empty() {
            return None;
        }
        let mut division = Self { program, models, axis, parts, each: FxHashMap::default(), work: 0.0 };
        for &op in program.block_ops(block) {
            division.op(op, false);
        }
        Some(division)
    }

    fn whole(&self, value: Value) -> Distribution {
        Distribution::replicated(self.program.tensor_type(value).map_or(0, |t| t.rank()))
    }

    /// Returns the distribution of a value.
    fn at(&self, value: Value) -> Distribution {
        self.parts.get(&value).cloned().unwrap_or_else(|| self.whole(value))
    }

    /// Decides about an op; returns whether it can be computed. Inside a body that runs for each microbatch (`inside`),
    /// parts can't be combined.
    fn op(&mut self, op: Op, inside: bool) -> bool {
        let (program, view) = (self.program, self.program.view(op));
        if view.def().terminator() {
            return true;
        }
        let read = outline::reads(program, &[op]);
        let whole = !read.iter().any(|v| self.parts.contains_key(v));
        if whole {
            self.work += self.size(op);
            return true;
        }
        let each = self.each(op, &read, inside);
        let Some((each, results)) = each else {
            self.work += if inside { 0.0 } else { self.size(op) };
            return !inside;
        };
        if !matches!(each, Each::Body) {
            self.work += self.size(op) / f64::from(self.axis.size);
        }
        for (result, at) in view.results().zip(results) {
            if !at.is_replicated() {
                self.parts.insert(result, at);
            }
        }
        self.each.insert(op, each);
        true
    }

    /// Returns the form of an op that reads parts, and the distributions of its results.
    fn each(&mut self, op: Op, read: &[Value], inside: bool) -> Option<(Each, Vec<Distribution>)> {
        let (program, view) = (self.program, self.program.view(op));
        let operands = view.operands();
        // A region that reads parts from outside would have to be copied along with them.
        if view.def().side_effect(view) || read.iter().any(|v| !operands.contains(v) && self.parts.contains_key(v)) {
            return None;
        }
        let control = view.def().control(view);
        if mpmd::kind(view) == Some(Kind::NamedComputation) {
            return self.body(op).map(|results| (Each::Body, results));
        }
        if control == Some(Control::Identity) && sdy::stated_sharding(view).is_some() {
            let at = self.at(*operands.first()?);
            return at.unreduced.is_empty().then(|| (Each::Same, vec![at]));
        }
        if control.is_some() {
            return None;
        }
        let model = self.models.of(program, op)?;
        let model = Arc::clone(self.models.get(model));
        let assignment = self.assignment(&model, op, inside)?;
        let results = assignment.results.clone();
        Some((Each::Parts(Rc::new(assignment)), results))
    }

    /// Decides about the body of a named computation; returns `None`, without side effects, where it can't run for each
    /// microbatch.
    fn body(&mut self, op: Op) -> Option<Vec<Distribution>> {
        let (program, view) = (self.program, self.program.view(op));
        let body = view.block(0)?;
        let args = program.block_args(body).to_vec();
        for (&arg, operand) in args.iter().zip(view.operands()) {
            let at = self.at(*operand);
            // Partial sums are added up before the computation.
            if at.unreduced.is_empty() && !at.is_replicated() {
                self.parts.insert(arg, at);
            }
        }
        let (ops, work) = (program.block_ops(body).to_vec(), self.work);
        let done = ops.iter().all(|&inner| self.op(inner, true));
        if !done {
            self.work = work;
            args.iter().for_each(|arg| drop(self.parts.remove(arg)));
            for inner in ops {
                self.each.remove(&inner);
                program.results(inner).for_each(|v| drop(self.parts.remove(&v)));
            }
            return None;
        }
        let returned = program.terminator(body).map(|last| program.op(last).operands.to_vec()).unwrap_or_default();
        Some(returned.into_iter().map(|v| self.at(v)).collect())
    }

    /// Returns the distributions of an op's operands and results if each microbatch has its part of the work, with
    /// operands that can be made from the existing distributions.
    fn assignment(&self, model: &OpModel, op: Op, inside: bool) -> Option<Assignment> {
        let view = self.program.view(op);
        let has: Vec<Distribution> = view.operands().iter().map(|&v| self.at(v)).collect();
        let cut = has.iter().enumerate().filter(|(_, at)| at.dims.iter().any(|d| !d.is_empty()));
        let mut strategy = model.keeping(cut);
        let summed: BTreeSet<usize> = (0..has.len()).filter(|&i| !has[i].unreduced.is_empty()).collect();
        let is_cut = strategy.factors.iter().any(|axes| !axes.is_empty());
        match (is_cut, summed.is_empty()) {
            (true, true) => {}
            // Partial sums are added up as early as possible.
            (false, false) if inside && has.iter().all(|at| at.kind == ReductionKind::Sum) => {
                strategy.set = model.linear.iter().find(|set| **set == summed)?.clone();
                strategy.through = [self.axis].into_iter().collect();
            }
            _ => return None,
        }
        if !model.exchanged(&strategy, &mut Exchanges::default()).is_empty() {
            return None;
        }
        let assignment = model.assignment(&strategy);
        let fine = |(i, (wanted, has)): (usize, (&Distribution, &Distribution))| {
            let even = view.operand_tensor(i).is_none_or(|t| wanted.is_even(&t.shape));
            let from_whole = has.is_replicated() && (wanted.unreduced.is_empty() || wanted.kind == ReductionKind::Sum);
            even && (wanted == has || from_whole)
        };
        let even = |(i, at): (usize, &Distribution)| view.result_tensor(i).is_some_and(|t| at.is_even(&t.shape));
        (assignment.operands.iter().zip(&has).enumerate().all(fine) && assignment.results.iter().enumerate().all(even))
            .then_some(assignment)
    }

    /// Returns the work of an op: its FLOPs and the bytes it writes.
    fn size(&mut self, op: Op) -> f64 {
        let (program, view) = (self.program, self.program.view(op));
        let written: f64 = view.results().filter_map(|v| program.tensor_type(v)?.bytes()).map(|b| b as f64).sum();
        let inside = mpmd::kind(view) == Some(Kind::NamedComputation);
        let inner = view.block(0).filter(|_| inside).map(|body| program.block_ops(body).to_vec());
        written + view.def().flops(view) + inner.into_iter().flatten().map(|op| self.size(op)).sum::<f64>()
    }
}
