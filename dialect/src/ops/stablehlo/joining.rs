//! Ops that build a larger tensor from smaller ones: concatenate, pad.
//!
//! Source: the StableHLO specification; sharding rules as Shardy registers them.

use smallvec::{SmallVec, smallvec};

use super::slicing::Slice;
use crate::eval::{Context, EvalResult};
use crate::ir::{ElementType, OpRef, Shape, TensorType, Value, ValueSource};
use crate::kernel::{Arg, Body, Guard, Index, Input, Inst, Kernel, Nest, Outside};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::op::{ExplicitReshard, Inferred, OpDef, Problem};
use crate::ops::support::constraint::{
    Checked, compatible, declared, dim, ints, is_static, length, one, operand_count, rearrange, require, same_element,
    scalar, show, tensor,
};
use crate::scalar::{Comparison, Scalar, ScalarOp};
use crate::sharding::{Assembly, AssemblyPiece, FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Concatenate, &Pad];

/// `concatenate`: <https://openxla.org/stablehlo/spec#concatenate>
pub struct Concatenate;
/// `pad`: <https://openxla.org/stablehlo/spec#pad>
pub struct Pad;

impl Concatenate {
    /// Returns the dimension along which a `concatenate` joins; `None` for any other op and if its constraints are
    /// violated.
    pub fn of(op: OpRef<'_>) -> Option<usize> {
        (op.name() == Concatenate.name() && is_static(op)).then(|| Self::check(op).and_then(|_| Self::dim(op)).ok())?
    }

    fn dim(op: OpRef<'_>) -> Checked<usize> {
        dim(op, "dimension", tensor(op, 0)?.rank(), "C4")
    }

    fn check(op: OpRef<'_>) -> Checked<TensorType> {
        require!(!op.operands().is_empty(), "expected at least one operand (C3)");
        let first = tensor(op, 0)?;
        let dim = Self::dim(op)?;
        let mut result = TensorType::new(&first.shape, first.element);
        for i in 1..op.operands().len() {
            same_element(op, i, 0, "C1")?;
            let ty = tensor(op, i)?;
            let mut like = ty.shape.clone();
            if let (Some(size), Some(&own)) = (like.get_mut(dim), first.shape.get(dim)) {
                *size = own;
            }
            let same = compatible(&like, &first.shape);
            let (want, found) = (show(op, first), show(op, ty));
            require!(same, operand = i, "expected the shape of {want} except in dimension {dim}, found {found} (C2)");
            // (C6)
            result.shape[dim] = result.shape[dim]
                .checked_add(ty.shape[dim])
                .ok_or_else(|| Problem::new(format!("dimension {dim} of the result is too large (C6)")))?;
        }
        Ok(result)
    }

    /// Returns the operand of the slice that produces `value`, if a slice does.
    fn sliced(op: OpRef<'_>, value: Value) -> Option<Value> {
        match op.program.value_source(value) {
            ValueSource::Result(maker, _) if op.program.op_name(maker) == Slice.name() => {
                op.program.op(maker).operands.first().copied()
            }
            _ => None,
        }
    }

    /// Returns the kind of the joined dimension's factor: slices joined in another order need a permutation of shards
    /// among devices; otherwise the dimension must be replicated.
    fn kind(op: OpRef<'_>) -> FactorKind {
        let sliced: Vec<Option<Value>> = op.operands().iter().map(|&v| Self::sliced(op, v)).collect();
        let mut sources = op.operands().iter().zip(&sliced).map(|(&v, &s)| s.unwrap_or(v));
        let first = sources.next();
        let one_source = sources.all(|s| Some(s) == first);
        if sliced.iter().all(Option::is_some) || one_source && sliced.iter().any(Option::is_some) {
            FactorKind::Permutation
        } else {
            FactorKind::NeedReplication
        }
    }
}

impl OpDef for Concatenate {
    fn name(&self) -> &'static str {
        "stablehlo.concatenate"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("dim", Piece::Int("dimension"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if !is_static(op) {
            Self::dim(op)?;
            return declared(op);
        }
        one(Self::check(op)?)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(dim), true) = (Self::dim(op), is_static(op)) else { return Kernel::None };
        let Ok(result) = Self::check(op) else { return Kernel::None };
        let mut inputs = Vec::new();
        let mut ends = Vec::new();
        let mut start = 0;
        for i in 0..op.operands().len() {
            let size = op.operand_tensor(i).map_or(0, |t| t.shape[dim]);
            if size == 0 {
                continue;
            }
            let mut input = Input::at(i, 0..result.rank());
            let at = Index::Loop(dim).plus(Index::Const(-start));
            input.index[dim] = at.clone();
            input.guards = vec![Guard { index: at, lo: 0, hi: size }];
            input.outside = Some(Outside::Const(Scalar::zero(result.element)));
            inputs.push(input);
            start += size;
            ends.push(start);
        }
        if inputs.is_empty() {
            // Every operand is empty in this dimension, so nothing is read.
            (inputs, ends) = (vec![Input::at(0, 0..result.rank())], vec![0]);
        }
        if let [only] = &mut inputs[..] {
            only.guards.clear();
            only.outside = None;
        }
        let body = input_before(&ends, dim, result.element);
        Kernel::Nest(Nest::over(&result.shape, inputs, body))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dim = Self::dim(op).ok()?;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in op.result_tensor(0)?.shape.iter().enumerate() {
            rule.add_all(size, if d == dim { Self::kind(op) } else { FactorKind::PassThrough }, d);
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dim = Self::dim(op)?;
        let mut shape = operands[0].shape.clone();
        shape[dim] = operands.iter().map(|o| o.shape[dim]).sum();
        let sizes = operands.iter().enumerate().map(|(i, o)| (i, o.shape[dim]));
        let rows: Vec<(usize, i64)> = sizes.flat_map(|(i, n)| (0..n).map(move |row| (i, row))).collect();
        Ok(vec![rearrange(&operands[0], &shape, |at| {
            let (i, row) = rows[at[dim] as usize];
            let mut from = Shape::from_slice(at);
            from[dim] = row;
            (&operands[i], operands[i].position(&from))
        })])
    }

    fn assembly(&self, op: OpRef<'_>) -> Option<Assembly> {
        let dim = Self::of(op)?;
        let sizes = (0..op.operands().len()).map(|i| Some(op.operand_tensor(i)?.shape[dim]));
        let sizes: SmallVec<[Option<i64>; 4]> = sizes.map(|n| n.map(Some)).collect::<Option<_>>()?;
        let piece = |(operand, size): (usize, &Option<i64>)| {
            Some(AssemblyPiece { operand, start: 0, count: (*size)?, reversed: false })
        };
        let pieces = sizes.iter().enumerate().map(piece).collect::<Option<_>>()?;
        Some(Assembly { dim, sizes, pieces })
    }

    /// Returns the rule without propagation along the joined dimension.
    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let mut rule = self.sharding_rule(op)?;
        rule.block_where(|kind| kind != FactorKind::PassThrough);
        Some(rule)
    }

    fn explicit_reshard(&self) -> ExplicitReshard {
        ExplicitReshard::Operands
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>",
            "(%a: tensor<2x4xi32>, %b: tensor<0x4xi32>, %c: tensor<3x4xi32>) %r = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2x4xi32>, tensor<0x4xi32>, tensor<3x4xi32>) -> tensor<5x4xi32>",
            "(%a: tensor<2x4xf32>) %r = stablehlo.concatenate %a, dim = 0 : (tensor<2x4xf32>) -> tensor<2x4xf32>",
            // More operands than a kernel selects from.
            "(%a: tensor<2x1x3xf32>, %b: tensor<2x2x3xf32>, %c: tensor<2x0x3xf32>) %r = stablehlo.concatenate %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, dim = 1 : (tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>, tensor<2x2x3xf32>, tensor<2x0x3xf32>, tensor<2x1x3xf32>) -> tensor<2x19x3xf32>",
        ]
    }
}

/// Returns a body of one input for each of `ends`, whose result is the first input whose end the position in loop `dim`
/// is before.
pub(crate) fn input_before(ends: &[i64], dim: usize, element: ElementType) -> Body {
    let mut body = Body { inputs: vec![element; ends.len()], ..Body::default() };
    let mut value = Arg::Input(ends.len() - 1);
    if ends.len() > 1 {
        let at = body.push(Inst::Index(Index::Loop(dim), ElementType::I64));
        for i in (0..ends.len() - 1).rev() {
            let end = body.push(Inst::Const(Scalar::Int(i128::from(ends[i])), ElementType::I64));
            let before = body.op(ScalarOp::Compare(Comparison::Lt), &[at, end], ElementType::I1);
            value = body.op(ScalarOp::Select, &[before, Arg::Input(i), value], element);
        }
    }
    body.results = vec![value];
    body
}

/// The elements that `pad` adds to each dimension: before, after, and between elements; negative values before and
/// after remove elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Padding {
    /// Before the first element.
    pub low: Vec<i64>,
    /// After the last element.
    pub high: Vec<i64>,
    /// Between any two elements.
    pub interior: Vec<i64>,
}

impl Padding {
    /// Returns the padding of a `pad`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Pad.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<Self> {
        let rank = tensor(op, 0)?.rank();
        let [low, high, interior] = ["edge_padding_low", "edge_padding_high", "interior_padding"].map(|name| {
            let values = ints(op, name)?;
            length(&values, rank, name, "C2").map(|()| values)
        });
        Self { low: low?, high: high?, interior: interior? }.checked()
    }

    /// Checks that interior padding isn't negative.
    pub(crate) fn checked(self) -> Checked<Self> {
        match self.interior.iter().find(|&&i| !(0..i64::MAX).contains(&i)) {
            Some(i) => Err(Problem::new(format!("expected interior_padding not to be negative, found {i} (C3)"))),
            None => Ok(self),
        }
    }

    /// Returns the shape of a padded tensor of `shape`; `None` if a size would be negative.
    pub(crate) fn result_shape(&self, shape: &[i64]) -> Option<Shape> {
        let rank = shape.len();
        let fits = [&self.low, &self.high, &self.interior].iter().all(|list| list.len() == rank);
        if !fits {
            return None;
        }
        shape.iter().enumerate().map(|(d, &size)| self.padded(d, size)).collect()
    }

    /// Returns `operand` with `value`, of rank 0, around and between its elements.
    pub(crate) fn evaluate(&self, operand: &Literal, value: &Literal) -> EvalResult<Literal> {
        let shape = self
            .result_shape(&operand.shape)
            .ok_or_else(|| Problem::new("the result would have a negative size (C4)"))?;
        Ok(rearrange(operand, &shape, |at| {
            let mut from = Shape::from_slice(at);
            for d in 0..from.len() {
                let (step, offset) = (self.interior[d] + 1, i128::from(at[d]) - i128::from(self.low[d]));
                let element = offset.div_euclid(i128::from(step));
                if offset.rem_euclid(i128::from(step)) != 0 || !(0..i128::from(operand.shape[d])).contains(&element) {
                    return (value, 0);
                }
                from[d] = element as i64;
            }
            (operand, operand.position(&from))
        }))
    }

    /// Returns the size of dimension `d` after padding `size` elements.
    fn padded(&self, d: usize, size: i64) -> Option<i64> {
        let between = i128::from((size - 1).max(0)) * i128::from(self.interior[d]);
        let total = i128::from(size) + between + i128::from(self.low[d]) + i128::from(self.high[d]);
        i64::try_from(total).ok().filter(|&n| n >= 0)
    }
}

impl OpDef for Pad {
    fn name(&self) -> &'static str {
        "stablehlo.pad"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(
            &[
                ("low", Piece::Ints("edge_padding_low")),
                ("high", Piece::Ints("edge_padding_high")),
                ("interior", Piece::Ints("interior_padding")),
            ],
            TypeForm::Functional,
        )
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 2)?;
        same_element(op, 1, 0, "C1")?;
        scalar(op, 1, "I2")?;
        let padding = Padding::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let operand = tensor(op, 0)?;
        let mut result = TensorType::new(&operand.shape, operand.element);
        for (d, size) in result.shape.iter_mut().enumerate() {
            *size = padding
                .padded(d, *size)
                .ok_or_else(|| Problem::new(format!("dimension {d} of the result would have a negative size (C4)")))?;
        }
        one(result)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(padding), Some(operand), Some(result)) =
            (Padding::check(op), op.operand_tensor(0), op.result_tensor(0))
        else {
            return Kernel::None;
        };
        if !is_static(op) || result.rank() != operand.rank() {
            return Kernel::None;
        }
        let mut input = Input::of(0, []);
        for d in 0..operand.rank() {
            // A single element has nothing in between.
            let step = if operand.shape[d] > 1 { padding.interior[d] + 1 } else { 1 };
            let Some(before) = padding.low[d].checked_neg() else { return Kernel::None };
            let at = Index::Loop(d).plus(Index::Const(before));
            let element = at.clone().floor_div(step);
            if step > 1 {
                input.guards.push(Guard { index: at.modulo(step), lo: 0, hi: 1 });
            }
            if padding.low[d] > 0 || padding.high[d] > 0 || step > 1 {
                input.guards.push(Guard { index: element.clone(), lo: 0, hi: operand.shape[d] });
            }
            input.index.push(element);
        }
        if !input.guards.is_empty() {
            input.outside = Some(Outside::Operand(1));
        }
        Kernel::Nest(Nest::over(&result.shape, vec![input], Body::copy(result.element)))
    }

    /// Returns a rule by which shifted elements come from other shards, even if the size stays the same.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let padding = Padding::check(op).ok()?;
        padding_rule(op, |d| padding.low[d] == 0 && padding.high[d] == 0)
    }

    /// Returns Shardy's rule, which looks only at sizes.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        padding_rule(op, |_| true)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        if cx.fetched.is_empty() {
            return cx.same_op();
        }
        let Some(mut padding) = Padding::of(cx.build.program.view(cx.op)) else { return cx.same_op() };
        for fetched in cx.fetched {
            let d = fetched.dim;
            if cx.operand(0).dims[d].global <= 1 {
                padding.interior[d] = 0;
            }
            let step = padding.interior[d] + 1;
            padding.low[d] += step * fetched.start;
            padding.high[d] = cx.result(0).dims[d].size() - padding.low[d] - ((fetched.rows - 1) * step + 1);
        }
        let lists = [&padding.low, &padding.high, &padding.interior];
        if lists.iter().all(|list| list.iter().all(|&n| n == 0)) {
            // The rows that the device read are its result already.
            return cx.results = vec![cx.operands[0]];
        }
        let [low, high, interior] = lists.map(|list| cx.build.program.attr_i64s(list));
        cx.same_op_with(&[("edge_padding_low", low), ("edge_padding_high", high), ("interior_padding", interior)]);
    }

    fn assembly(&self, op: OpRef<'_>) -> Option<Assembly> {
        let padding = Padding::of(op).filter(|p| is_static(op) && p.interior.iter().all(|&n| n == 0))?;
        let mut moved = (0..padding.low.len()).filter(|&d| (padding.low[d], padding.high[d]) != (0, 0));
        let (dim, None) = (moved.next()?, moved.next()) else { return None };
        let size = op.operand_tensor(0)?.shape[dim];
        let (low, high) = (padding.low[dim], padding.high[dim]);
        let (removed, end) = ((-low).max(0), size - (-high).max(0));
        // More elements may be removed on one side than the operand has: then part of the padding on the other side is
        // removed, too.
        let kept = (end >= removed).then_some(end - removed)?;
        let fill = |count: i64| AssemblyPiece { operand: 1, start: 0, count: count.max(0), reversed: false };
        let rows = AssemblyPiece { operand: 0, start: removed, count: kept, reversed: false };
        Some(Assembly { dim, sizes: smallvec![Some(size), None], pieces: smallvec![fill(low), rows, fill(high)] })
    }

    fn is_windowed(&self) -> bool {
        true
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![Padding::check(op)?.evaluate(&operands[0], &operands[1])?])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>, %v: tensor<f32>) %r = stablehlo.pad %a, %v, low = [0, 1], high = [2, 1], interior = [1, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x9xf32>",
            "(%a: tensor<4x6xi32>, %v: tensor<i32>) %r = stablehlo.pad %a, %v, low = [0, -1], high = [0, -2], interior = [0, 0] : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x3xi32>",
            "(%a: tensor<4x2xf32>, %v: tensor<f32>) %r = stablehlo.pad %a, %v, low = [-1, 0], high = [2, 0], interior = [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<5x2xf32>",
            "(%a: tensor<4x2xf32>, %v: tensor<f32>) %r = stablehlo.pad %a, %v, low = [-1, 0], high = [2, 0], interior = [2, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<11x2xf32>",
        ]
    }
}
/// Returns a rule by which dimensions whose size doesn't change pass through if `stays` returns true; others are
/// permuted.
fn padding_rule(op: OpRef<'_>, stays: impl Fn(usize) -> bool) -> Option<ShardingRule> {
    let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
    let mut rule = ShardingRule::of_op(op);
    for (d, (&size, &padded)) in operand.shape.iter().zip(&result.shape).enumerate() {
        let kind = if size == padded && stays(d) { FactorKind::PassThrough } else { FactorKind::Permutation };
        rule.add_all(size, kind, d);
    }
    Some(rule)
}
