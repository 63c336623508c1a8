//! What the plan needs to know about an op, computed once for all ops of equal semantics.

use std::sync::Arc;

use dialect::buffers::Facts;
use dialect::define_id;
use dialect::id::Interner;
use dialect::ir::{AttrData, Op, OpRef, Program, TensorType, Value};
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

/// What a device does for an op other than moving values.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Work {
    /// Floating-point operations of the whole op over all devices; 0 for all but matrix products.
    pub(crate) flops: f64,
    /// What fusion is decided by; `None` for ops that always read and write memory.
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

/// Models of a program's ops. Passes hand them on to each other, as long as the program lives: what determines them stays
/// the same.
#[derive(Default)]
pub(crate) struct Models {
    table: Interner<Model, Arc<OpModel>>,
    /// By what determines a model; work where it was asked for.
    known: FxHashMap<Box<[u32]>, Option<(Model, Option<Work>)>>,
    /// The key last asked for.
    key: Vec<u32>,
}

impl Models {
    /// The model of an op and its work; `None` for ops whose operands and results must be replicated.
    pub(crate) fn with_work(&mut self, program: &Program, op: Op) -> Option<(Model, Work)> {
        let (model, work) = self.find(program, op, true)?;
        Some((model, work?))
    }

    /// The model of an op; `None` for ops whose operands and results must be replicated.
    pub(crate) fn of(&mut self, program: &Program, op: Op) -> Option<Model> {
        self.find(program, op, false).map(|found| found.0)
    }

    fn find(&mut self, program: &Program, op: Op, with_work: bool) -> Option<(Model, Option<Work>)> {
        let view = program.view(op);
        if view.def().rule_reads_operands() {
            return self.made(view, with_work);
        }
        self.key.clear();
        key(program, op, &mut self.key);
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

/// Appends what determines a model: name, attributes and types of the op and of everything inside it, as ids and counts.
fn key(program: &Program, op: Op, key: &mut Vec<u32>) {
    let data = program.op(op);
    describe(program, op, &FxHashMap::default(), key);
    if !data.regions.is_empty() {
        let mut numbers = FxHashMap::default();
        number(program.results(op), &mut numbers);
        inside(program, op, &mut numbers, key);
    }
    let values = data.operands.iter().copied().chain(program.results(op));
    key.extend(values.map(|v| program.value_type(v).index() as u32));
}

/// Appends an op but for what is inside: its operands by the numbers of those made around it.
fn describe(program: &Program, op: Op, numbers: &FxHashMap<Value, u32>, key: &mut Vec<u32>) {
    let data = program.op(op);
    key.push(data.name.index() as u32);
    let start = key.len();
    key.push(0);
    for &(name, attr) in &data.attrs {
        if program.name_text(name) != func::SHARDING {
            key.extend([name.index() as u32, attr.index() as u32]);
        }
    }
    key[start] = (key.len() - start) as u32;
    key.push(data.operands.len() as u32);
    if !numbers.is_empty() {
        key.extend(data.operands.iter().map(|v| numbers.get(v).copied().unwrap_or(u32::MAX)));
    }
}

/// Appends the ops inside an op.
fn inside(program: &Program, op: Op, numbers: &mut FxHashMap<Value, u32>, key: &mut Vec<u32>) {
    for &block in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
        number(program.block_args(block).iter().copied(), numbers);
        for &inner in program.block_ops(block) {
            describe(program, inner, numbers, key);
            number(program.results(inner), numbers);
            inside(program, inner, numbers, key);
        }
    }
}

fn number(values: impl Iterator<Item = Value>, numbers: &mut FxHashMap<Value, u32>) {
    for value in values {
        let next = numbers.len() as u32;
        numbers.insert(value, next);
    }
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
    // Of an op that states its own rule, such as a call of a library, nothing else is known.
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
        // No padding can be put where an op reads that combines in a way only its author knows: of sums of squares, zeros
        // leave nothing behind, of sums of exponentials they do.
        let reduced = (0..rule.factors.len()).filter(|&f| rule.factors[f].kind == FactorKind::Reduction);
        rigid.extend(reduced.map(|f| f as u32));
        rigid.sort_unstable();
        rigid.dedup();
    }
    let (reduction, linear) = (def.reduction(op), linear_sets(op, kernel));
    Some(OpModel { rule, reduction, accumulated, linear, rigid, shifted, assembled, masked })
}

/// The factor of the dimension that is put together from rows of operands.
fn assembled(rule: &ShardingRule, op: OpRef<'_>) -> Option<(u32, Arc<Assembly>)> {
    let assembly = op.def().assembly(op).filter(|_| op.def().is_assembled())?;
    let &[factor] = &rule.results.first()?.get(assembly.dim)?[..] else { return None };
    Some((factor, Arc::new(assembly)))
}

/// The dimensions that are read shifted along factors. Factors whose shards can't be computed from windows of the
/// operands' rows are replicated.
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

/// The loop of `nest` that a factor is: that of the results' dimension, or of an operand's that is read at the loop's
/// position.
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

/// Factors whose dimensions aren't all of one size: uneven shards of them would end at different positions.
fn rigid(rule: &ShardingRule, op: OpRef<'_>, moved: &dyn Fn(u32) -> bool) -> SmallVec<[u32; 2]> {
    // Windows of rows may begin anywhere; but what is summed over must be all there.
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

/// Reduction factors along which padding is read, with the operands it is read from.
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

/// Replicates factors of which a device could not compute its shard alone: propagation spreads axes along factors that
/// only operands have, or only results, where a reshape's sizes share no more than a divisor. Of an op that is `opaque`,
/// a result's dimension that no operand has can't be computed in part.
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

/// Whether operands are read at positions that depend on the dimensions of result `tensor` with factor `f`.
fn is_read_along(tensor: &TensorFactors, f: usize, kernel: &Kernel) -> bool {
    let Kernel::Nest(nest) = kernel else { return false };
    let dims = tensor.iter().enumerate().filter(|(_, factors)| factors.iter().any(|&g| g as usize == f));
    let mut dims = dims.map(|(d, _)| d);
    dims.any(|d| nest.inputs.iter().flat_map(|i| &i.index).any(|i| i.depends_on(d)))
}

/// Whether an op without operands can be recomputed for just the shards wanted by a reader: constants and iota.
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
