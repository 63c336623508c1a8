//! The properties of ops that the plan reads, computed once for all ops of equal semantics.

use std::sync::Arc;

use dialect::buffers::Facts;
use dialect::define_id;
use dialect::id::Interner;
use dialect::ir::{AttrData, Op, OpRef, Program, TensorType, op_key};
use dialect::kernel::{Index, Kernel, Nest};
use dialect::ops::{func, sdy};
use dialect::scalar::Scalar;
use dialect::sharding::{Assembly, FactorKind, ReductionKind, ShardingRule, ShiftedRead, TensorFactors, shifted_reads};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::linear::linear_sets;
use super::strategy::{OpModel, Shifted};
use crate::padding::reads_padding;
use crate::plan::reshard::cache::Rematerializable;

define_id!(
    /// A model of one [`Models`].
    pub(crate) Model, "model"
);

/// The work of a device for an op, other than moving values.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Work {
    /// Floating-point operations of the whole op over all devices; 0 for all but matrix products.
    pub(crate) flops: f64,
    /// The facts that decide fusion; `None` for ops that always read and write memory.
    pub(crate) facts: Option<Arc<Facts>>,
    /// Whether it may leave elements of some operand unread.
    pub(crate) reads_part: bool,
}

impl Work {
    fn of(op: OpRef<'_>, kernel: &Kernel) -> Self {
        let (facts, reads_part) = match kernel {
            Kernel::Nest(nest) => {
                let iterations = nest.loops.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
                let larger = (0..op.operands().len()).any(|i| elements(op.operand_tensor(i)) > iterations);
                (Facts::of_nest(op, nest).map(Arc::new), larger)
            }
            _ => (None, true),
        };
        Self { flops: op.def().flops_of(op, kernel), facts, reads_part }
    }
}

/// The model of a key, with the work where a caller requested it; `None` for ops without a model.
type Known = Option<(Model, Option<Work>)>;

/// Models of a program's ops. Passes share them for the lifetime of the program, because the key of a model determines
/// it.
#[derive(Default)]
pub(crate) struct Models {
    table: Interner<Model, Arc<OpModel>>,
    known: FxHashMap<Box<[u32]>, Known>,
    /// The key of the last lookup; a buffer for the next.
    key: Vec<u32>,
}

impl Models {
    /// Returns the model of an op and its work; `None` for ops whose operands and results must be replicated.
    pub(crate) fn with_work(&mut self, program: &Program, op: Op) -> Option<(Model, Work)> {
        let (model, work) = self.find(program, op, true)?;
        Some((model, work?))
    }

    /// Returns the model of an op; `None` for ops whose operands and results must be replicated.
    pub(crate) fn of(&mut self, program: &Program, op: Op) -> Option<Model> {
        self.find(program, op, false).map(|found| found.0)
    }

    fn find(&mut self, program: &Program, op: Op, with_work: bool) -> Option<(Model, Option<Work>)> {
        let view = program.view(op);
        if view.def().rule_reads_operands() {
            return self.made(view, with_work);
        }
        self.key.clear();
        op_key(program, op, func::SHARDING, &mut self.key);
        match self.known.get(&self.key[..]) {
            Some(Some((_, None))) if with_work => {}
            Some(known) => return known.clone(),
            None => {}
        }
        let found = self.made(view, with_work);
        self.known.insert(self.key[..].into(), found.clone());
        found
    }

    fn made(&mut self, op: OpRef<'_>, with_work: bool) -> Option<(Model, Option<Work>)> {
        let kernel = op.def().kernel(op);
        let model = self.table.intern(Arc::new(model(op, &kernel)?));
        Some((model, with_work.then(|| Work::of(op, &kernel))))
    }

    pub(crate) fn get(&self, model: Model) -> &Arc<OpModel> {
        &self.table[model]
    }
}

fn elements(ty: Option<&TensorType>) -> i64 {
    ty.map_or(1, |t| t.shape.iter().fold(1, |n: i64, &size| n.saturating_mul(size)))
}

fn model(op: OpRef<'_>, kernel: &Kernel) -> Option<OpModel> {
    let def = op.def();
    let mut rule = match op.attr(sdy::SHARDING_RULE) {
        Some(AttrData::ShardingRule(rule)) => (**rule).clone(),
        _ => def.sharding_rule(op)?,
    };
    let fits = rule.operands.len() == op.operands().len()
        && rule.results.len() == op.result_count()
        && rule.operands.iter().enumerate().all(|(i, t)| op.operand_tensor(i).is_none_or(|ty| ty.rank() == t.len()))
        && rule.results.iter().enumerate().all(|(i, t)| op.result_tensor(i).is_none_or(|ty| ty.rank() == t.len()));
    if !fits {
        return None;
    }
    // If an op states its own rule, such as a call of a library, nothing else is known about it.
    let opaque = op.attr(sdy::SHARDING_RULE).is_some() && !matches!(kernel, Kernel::Nest(_));
    hold(&mut rule, kernel, opaque);
    let extreme = matches!(def.reduction(op), Some(ReductionKind::Max | ReductionKind::Min));
    if !extreme && (0..op.result_count()).any(|i| op.result_tensor(i).is_some_and(|ty| !ty.element.has_zero())) {
        // A device that has no part of a sum would have nothing to add.
        let reduced = rule.factors.iter_mut().filter(|f| f.kind == FactorKind::Reduction);
        reduced.for_each(|f| f.kind = FactorKind::NeedReplication);
    }
    let accumulated = kernel.accumulated(op.result_count());
    let assembled = assembled(&rule, op);
    let shifted = shifted(&mut rule, op, kernel, assembled.as_ref().map(|a| a.0));
    let moved = |f| shifted.iter().map(|s| s.factor).chain(assembled.iter().map(|a| a.0)).any(|g| f == g);
    let (mut rigid, masked) = (rigid(&rule, op, &moved), masked(&rule, kernel));
    if opaque {
        // An op that reduces in an unknown way reads no padding that is safe for every reduction: zeros don't change a
        // sum of squares, but they change a sum of exponentials.
        let reduced = (0..rule.factors.len()).filter(|&f| rule.factors[f].kind == FactorKind::Reduction);
        rigid.extend(reduced.map(|f| f as u32));
        rigid.sort_unstable();
        rigid.dedup();
    }
    let (reduction, linear) = (def.reduction(op), linear_sets(op, kernel));
    Some(OpModel { rule, reduction, accumulated, linear, rigid, shifted, assembled, masked })
}

/// Returns the factor of the dimension that is assembled from rows of operands.
fn assembled(rule: &ShardingRule, op: OpRef<'_>) -> Option<(u32, Arc<Assembly>)> {
    let assembly = op.def().assembly(op).filter(|_| op.def().is_assembled())?;
    let &[factor] = &rule.results.first()?.get(assembly.dim)?[..] else { return None };
    Some((factor, Arc::new(assembly)))
}

/// Returns the operand dimensions that are read shifted along factors. Replicates factors whose shards can't be
/// computed from windows of the operands' rows.
fn shifted(rule: &mut ShardingRule, op: OpRef<'_>, kernel: &Kernel, assembled: Option<u32>) -> Vec<Shifted> {
    let nest = match kernel {
        Kernel::Nest(nest) if op.def().is_windowed() => Some(nest),
        _ => None,
    };
    let shapes: Vec<&[i64]> =
        (0..op.operands().len()).map(|i| op.operand_tensor(i).map_or(&[][..], |t| &t.shape[..])).collect();
    let mut found = Vec::new();
    for f in 0..rule.factors.len() {
        let moves = rule.factors[f].kind == FactorKind::Permutation && assembled != Some(f as u32);
        if !moves && (rule.factors[f].kind != FactorKind::Reduction || nest.is_none()) {
            continue;
        }
        let reads = nest.and_then(|nest| {
            let along = loop_of(rule, f, nest)?;
            let reads = shifted_reads(nest, &shapes, along)?;
            let alone = |r: &ShiftedRead| rule.operands[r.operand][r.dim][..] == [f as u32];
            reads.iter().all(alone).then_some(reads)
        });
        match reads {
            Some(reads) => found.extend(reads.iter().map(|r| Shifted {
                factor: f as u32,
                operand: r.operand as u32,
                reach: r.reach,
            })),
            None => rule.factors[f].kind = FactorKind::NeedReplication,
        }
    }
    found
}

/// Returns the loop of `nest` that a factor stands for: the loop of the results' dimension, or of an operand's
/// dimension that is read at the loop's position.
fn loop_of(rule: &ShardingRule, f: usize, nest: &Nest) -> Option<usize> {
    let is = |factors: &SmallVec<[u32; 1]>| factors[..] == [f as u32];
    if let Some(dim) = rule.results.first().and_then(|dims| dims.iter().position(is)) {
        return Some(dim);
    }
    nest.inputs.iter().find_map(|input| {
        let dims = rule.operands.get(input.operand)?.iter().zip(&input.index);
        dims.filter(|d| is(d.0)).find_map(|(_, at)| if let Index::Loop(l) = at { Some(*l) } else { None })
    })
}

/// Returns the factors whose dimensions have different sizes: uneven shards of them would end at different positions.
fn rigid(rule: &ShardingRule, op: OpRef<'_>, moved: &dyn Fn(u32) -> bool) -> SmallVec<[u32; 2]> {
    // Windows of rows may begin anywhere, but a reduction must read all of its rows.
    let windowed = |f: u32| moved(f) && rule.factors[f as usize].kind == FactorKind::Permutation;
    let types = (0..rule.operands.len()).map(|i| op.operand_tensor(i));
    let types = types.chain((0..rule.results.len()).map(|i| op.result_tensor(i)));
    let tensors = rule.operands.iter().chain(&rule.results).zip(types);
    let dims = tensors.filter_map(|(factors, ty)| Some(factors.iter().zip(&ty?.shape))).flatten();
    let other = dims.filter_map(|(factors, &size)| match factors[..] {
        [f] if rule.factors[f as usize].size != size && !windowed(f) => Some(f),
        _ => None,
    });
    let mut found: SmallVec<[u32; 2]> = other.collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the reduction factors along which padding is read, with the operands that it is read from.
fn masked(rule: &ShardingRule, kernel: &Kernel) -> SmallVec<[(u32, u32); 2]> {
    let mut found = SmallVec::new();
    for (i, tensor) in rule.operands.iter().enumerate() {
        for (d, factors) in tensor.iter().enumerate() {
            if let [f] = factors[..]
                && rule.factors[f as usize].kind == FactorKind::Reduction
                && reads_padding(kernel, i, d)
            {
                found.push((f, i as u32));
            }
        }
    }
    found
}

/// Replicates factors of which a device couldn't compute its shard alone. Propagation spreads axes along factors that
/// only operands have, or only results, where a reshape's sizes share no more than a divisor. For an `opaque` op, a
/// result dimension that no operand has can't be computed in part.
fn hold(rule: &mut ShardingRule, kernel: &Kernel, opaque: bool) {
    let has = |tensor: &TensorFactors, f: usize| tensor.iter().flatten().any(|&g| g as usize == f);
    for f in 0..rule.factors.len() {
        if rule.factors[f].kind != FactorKind::PassThrough {
            continue;
        }
        let read = rule.operands.iter().any(|t| has(t, f));
        let lost = read && !rule.results.iter().all(|t| has(t, f));
        let made = !read && rule.results.iter().any(|t| opaque || is_read_along(t, f, kernel));
        if lost || made {
            rule.factors[f].kind = FactorKind::NeedReplication;
        }
    }
}

/// Returns whether operands are read at positions that depend on the dimensions of result `tensor` with factor `f`.
fn is_read_along(tensor: &TensorFactors, f: usize, kernel: &Kernel) -> bool {
    let Kernel::Nest(nest) = kernel else { return false };
    let dims = tensor.iter().enumerate().filter(|(_, factors)| factors.iter().any(|&g| g as usize == f));
    let mut dims = dims.map(|(d, _)| d);
    dims.any(|d| nest.inputs.iter().flat_map(|i| &i.index).any(|i| i.depends_on(d)))
}

/// Returns whether an op without operands (a constant or iota) can be recomputed for just the shards that a user wants.
pub(crate) fn rematerializable(op: OpRef<'_>) -> Rematerializable {
    let def = op.def();
    if !op.operands().is_empty() || op.result_count() != 1 || def.side_effect(op) {
        return Rematerializable::No;
    }
    let zero = |l: &dialect::literal::Literal| l.splat_value().is_some_and(|v| v == Scalar::zero(l.element));
    match def.constant(op) {
        Some(literal) if zero(literal) => Rematerializable::Zero,
        Some(_) => Rematerializable::Whole,
        None if matches!(def.kernel(op), Kernel::Nest(nest) if nest.inputs.is_empty()) => Rematerializable::Whole,
        None => Rematerializable::No,
    }
}
