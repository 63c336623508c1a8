//! Handles dimensions that don't divide: reductions must not read the padding at the end of a shard.
//!
//! The contents of the padding of each local value are tracked through the program. Before an op that reduces over such
//! a dimension, positions past its end are replaced by the reduction's identity, unless they are known to hold it. A
//! select replaces them, not a multiplication by zero, because padding may be infinite or NaN.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Op, OpRef, Program, Value};
use dialect::kernel::{Index, Inst, Kernel, Nest};
use dialect::ops::{build, sdy};
use dialect::scalar::{Comparison, Scalar, ScalarOp};
use dialect::sharding::{AxisPart, Distributions, FactorKind, Padding, ReductionKind, Reshard, Shard, identity};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::position::Positions;
use super::{Locals, Partition};
use crate::padding::reads_padding;

/// The known padding of local values.
#[derive(Default)]
pub(super) struct Paddings {
    /// By value: whether a global value has a dimension that doesn't divide.
    uneven: Vec<bool>,
    /// Whether any value has one.
    any: bool,
    /// The padding past the end of each dimension of a local value; undefined where there is no entry.
    known: FxHashMap<Value, SmallVec<[Padding; 4]>>,
    /// Local values whose elements all hold one number, padding included.
    uniform: FxHashMap<Value, Scalar>,
}

impl Paddings {
    /// Tracks `values`, all values of the program, with these distributions.
    pub(super) fn new(program: &Program, values: &[Value], distributions: &Distributions) -> Self {
        let mut paddings = Self { uneven: vec![false; program.value_count()], ..Self::default() };
        let mut note = |v: Value| {
            let Some(d) = distributions.get(v) else { return };
            let Some(ty) = program.tensor_type(v) else { return };
            if !d.is_even(&ty.shape) {
                (paddings.uneven[v.index()], paddings.any) = (true, true);
            }
        };
        values.iter().for_each(|&v| note(v));
        paddings
    }

    /// Returns whether a dimension of a global value doesn't divide.
    pub(super) fn is_uneven(&self, global: Value) -> bool {
        self.uneven.get(global.index()).copied().unwrap_or(false)
    }

    /// Sets the padding of `shard`, the shard of local value `value`, as far as it is known.
    pub(super) fn fill(&self, value: Value, shard: &mut Shard) {
        if let Some(padding) = self.known.get(&value) {
            shard.padding.clone_from(padding);
        } else if let Some(&all) = self.uniform.get(&value) {
            shard.padding.fill(Padding::Filled(all));
        }
    }

    /// Records the padding of local value `value`.
    pub(super) fn note(&mut self, value: Value, padding: &[Padding]) {
        if padding.iter().any(|p| p.value().is_some()) {
            self.known.insert(value, padding.into());
        }
    }
}

impl Partition<'_> {
    /// Returns the shard of a global value whose local value is `local`, with its known padding.
    pub(super) fn shard(&self, global: Value, local: Value) -> Shard {
        let mut shard = self.shard_of(global);
        if self.paddings.is_uneven(global) {
            self.paddings.fill(local, &mut shard);
        }
        shard
    }

    /// Returns the operands of `op`, with padding that a reduction would read replaced by its identity.
    pub(super) fn mask(
        &mut self,
        op: Op,
        operands: &[Value],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Result<Locals, Diagnostic> {
        let mut masked = Locals::from_slice(operands);
        if !self.paddings.any || !self.program.op(op).operands.iter().any(|&v| self.paddings.is_uneven(v)) {
            return Ok(masked);
        }
        let globals = self.program.op(op).operands.clone();
        let view = self.program.view(op);
        let (def, loc) = (view.def(), self.program.op(op).loc);
        let Some(rule) = def.sharding_rule(view) else { return Ok(masked) };
        // The effect of padding on an op with a custom sharding rule is unknown.
        let kind = def.reduction(view).filter(|_| view.attr(sdy::SHARDING_RULE).is_none());
        for (i, &global) in globals.iter().enumerate() {
            if !self.paddings.is_uneven(global) {
                continue;
            }
            let mut shard = self.shard(global, masked[i]);
            for d in shard.padded().collect::<Vec<_>>() {
                let reduced =
                    rule.operands[i][d].iter().any(|&f| rule.factors[f as usize].kind == FactorKind::Reduction);
                if !reduced || !reads_padding(&def.kernel(self.program.view(op)), i, d) {
                    continue;
                }
                let Some(kind) = kind else {
                    let message = format!(
                        "'{}' reduces over dimension {d}, which is not divisible by its shards",
                        self.program.op_name(op)
                    );
                    return Err(Diagnostic::error(codes::UNEVEN_OP, self.program.op(op).span, message)
                        .note("pad the dimension to a multiple of the axes' sizes, or don't shard it"));
                };
                let key = (masked[i], d, kind);
                let Some(axes) = self.distributions.get(global).map(|s| s.dims[d].clone()) else { continue };
                let ty = self.program.tensor_type(masked[i]).cloned();
                let Some(hidden) = ty.map(|ty| identity(kind, ty.element)).filter(|&v| shard.shows(d, v)) else {
                    continue;
                };
                masked[i] = match positions.masked.get(&key) {
                    Some(&known) => known,
                    None => {
                        let mut b = Builder::new(self.program, ops, loc);
                        let offset = positions.offset(&mut b, self.mesh, &axes, shard.dims[d].size());
                        let made = inside(&mut b, masked[i], d, offset, shard.dims[d].global, hidden);
                        positions.masked.insert(key, made);
                        let mut padding = shard.padding.clone();
                        overwrite(&mut padding, d, hidden);
                        self.paddings.note(made, &padding);
                        made
                    }
                };
                self.paddings.fill(masked[i], &mut shard);
            }
        }
        Ok(masked)
    }

    /// Records the padding of an op's results, computed from that of its operands: the body of a loop nest runs on
    /// padding, too.
    pub(super) fn follow_padding(&mut self, op: Op, operands: &[Value], results: &[Value]) {
        if !self.paddings.any {
            return;
        }
        let view = self.program.view(op);
        if let Some(all) = view.def().constant(view).and_then(|l| l.splat_value()) {
            self.paddings.uniform.extend(results.iter().map(|&v| (v, all)));
            return;
        }
        let Some(nest) = exact_nest(view) else { return };
        let inputs = || nest.inputs.iter().map(|input| operands[input.operand]);
        if let Some(all) = inputs().map(|v| self.paddings.uniform.get(&v).copied()).collect::<Option<Vec<Scalar>>>() {
            let values = nest.body.eval(&all, &[]);
            self.paddings.uniform.extend(results.iter().copied().zip(values));
            return;
        }
        let globals: Vec<Value> = self.program.results(op).collect();
        if !globals.iter().any(|&v| self.paddings.is_uneven(v)) {
            return;
        }
        // Along each loop, the padding of every input, if all are known.
        let along = |i: usize| {
            let padding = |(input, value): (&dialect::kernel::Input, Value)| {
                let dim = input.index.iter().position(|at| *at == Index::Loop(i));
                let known = dim.and_then(|d| self.paddings.known.get(&value)?.get(d)?.value());
                known.or_else(|| self.paddings.uniform.get(&value).copied())
            };
            let values = nest.inputs.iter().zip(inputs()).map(padding).collect::<Option<Vec<Scalar>>>()?;
            Some(nest.body.eval(&values, &[]))
        };
        let found: Vec<Option<Vec<Scalar>>> = (0..nest.parallel).map(along).collect();
        for (r, &result) in results.iter().enumerate() {
            let of_dim = |v: &Option<Vec<Scalar>>| v.as_ref().map_or(Padding::Undefined, |v| Padding::Filled(v[r]));
            let padding: Vec<Padding> = found.iter().map(of_dim).collect();
            self.paddings.note(result, &padding);
        }
    }
}

/// Records that padding along `dim` now holds `value`, even where it is also padding along other dimensions.
fn overwrite(padding: &mut [Padding], dim: usize, value: Scalar) {
    padding.iter_mut().filter(|p| p.value() != Some(value)).for_each(|p| *p = Padding::Undefined);
    padding[dim] = Padding::Filled(value);
}

/// Returns the padding of a value after `reshard`, given its shard `from`. Dimensions are padded with zeros before they
/// are divided; where elements shift, after all of the dimension was gathered.
pub(super) fn after_reshard(
    reshard: &Reshard<AxisPart>,
    from: &Shard,
    to: &Shard,
    shifts: bool,
    element: ElementType,
) -> SmallVec<[Padding; 4]> {
    let mut padding = from.padding.clone();
    match reshard {
        Reshard::AllReduce(_, kind) | Reshard::ReduceScatter(_, kind) => {
            padding.iter_mut().for_each(|p| *p = combined(*p, *kind));
        }
        Reshard::ReplicatedToUnreduced(_, kind) => {
            padding
                .iter_mut()
                .filter(|p| **p != Padding::identity(*kind, element))
                .for_each(|p| *p = Padding::Undefined);
        }
        Reshard::ShardedToUnreduced(..) => padding.fill(Padding::Undefined),
        _ => {}
    }
    let zero = Scalar::zero(element);
    for (d, (before, after)) in from.dims.iter().zip(&to.dims).enumerate().filter(|d| d.1.0 != d.1.1) {
        if shifts || after.shards > before.shards && before.is_even() {
            overwrite(&mut padding, d, zero);
        } else if after.shards > before.shards && padding[d].value() != Some(zero) {
            padding[d] = Padding::Undefined;
        }
    }
    padding
}

/// Replaces `value` by `other` wherever dimension `dim`, which begins at `offset`, reaches past `global`.
fn inside(b: &mut Builder<'_>, value: Value, dim: usize, offset: Value, global: i64, other: Scalar) -> Value {
    let (local, integer) = (b.tensor(value).clone(), b.tensor(offset).element);
    let at = build::iota(b, integer, &local.shape, dim);
    let offset = build::shape::splat(b, offset, &local.shape);
    let at = build::add(b, at, offset);
    let end = build::splat(b, integer, &local.shape, Scalar::Int(global.into()));
    let inside = build::compare(b, Comparison::Lt, at, end);
    let other = build::splat(b, local.element, &local.shape, other);
    build::select(b, inside, value, other)
}

/// Returns the loop nest of an op that computes each element from elements at the same position, if every machine
/// computes the same bits.
fn exact_nest(op: OpRef<'_>) -> Option<Nest> {
    let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
    let plain = |at: &Index| matches!(at, Index::Loop(_));
    let exact = |inst: &Inst| match inst {
        Inst::Op { op, .. } => is_exact(*op),
        Inst::Const(..) => true,
        Inst::Index(..) => false,
    };
    let fits = nest.loops.len() == nest.parallel
        && !nest.inputs.is_empty()
        && nest.inputs.iter().all(|i| i.guards.is_empty() && i.index.iter().all(plain))
        && nest.body.insts.iter().all(exact);
    fits.then_some(nest)
}

fn is_exact(op: ScalarOp) -> bool {
    use ScalarOp::{Abs, Add, And, Compare, Convert, Div, Max, Min, Mul, Neg, Not, Or, Select, Sub, Xor};
    matches!(op, Add | Sub | Mul | Div | Max | Min | And | Or | Xor | Not | Neg | Abs | Select | Compare(_) | Convert)
}

/// Returns the result of combining by `kind` equal padding from all devices.
fn combined(padding: Padding, kind: ReductionKind) -> Padding {
    match padding.value() {
        Some(v)
            if kind != ReductionKind::Sum
                || v == Scalar::Int(0)
                || v == Scalar::Float(0.0)
                || v == Scalar::Complex(0.0, 0.0) =>
        {
            padding
        }
        _ => Padding::Undefined,
    }
}
