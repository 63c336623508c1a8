//! `sort`: orders one-dimensional slices of several tensors together, by any comparator.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, Renaming, TypeData, Value};
use crate::kernel::{Arg, External, Inst, Kernel, body_of_region};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, Like, OpDef, Problem, Steps, Surroundings};
use crate::ops::build;
use crate::ops::support::comparator::{Comparator, check_comparator};
use crate::ops::support::constraint::{Checked, declared, int, is_static, require, show, tensor};
use crate::scalar::{Comparison, Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Sort];

/// `sort`: <https://openxla.org/stablehlo/spec#sort>
pub struct Sort;

impl Sort {
    /// The dimension sorted along; `None` for any other op and when its constraints don't hold.
    pub fn dim(op: OpRef<'_>) -> Option<usize> {
        (op.name() == Sort.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<usize> {
        require(!op.operands().is_empty(), || Problem::new("expected at least one operand (C1)"))?;
        let first = tensor(op, 0)?;
        for i in 1..op.operands().len() {
            let ty = tensor(op, i)?;
            let same =
                ty.rank() == first.rank() && ty.shape.iter().zip(&first.shape).all(|(&a, &b)| a == b || a < 0 || b < 0);
            require(same, || {
                let (want, found) = (show(op, first), show(op, ty));
                Problem::operand(i, format!("expected the shape of {want}, found {found} (C3)"))
            })?;
        }
        let rank = first.rank() as i64;
        let dim = match op.attr("dimension") {
            Some(_) => int(op, "dimension")?,
            None => -1,
        };
        require((-rank..rank).contains(&dim), || {
            Problem::new(format!("expected dimension in {}..{rank}, found {dim} (C4)", -rank))
        })?;
        Ok(dim.rem_euclid(rank) as usize)
    }
}

fn elements(op: OpRef<'_>) -> Vec<ElementType> {
    op.operand_types().filter_map(|t| Some(t.tensor()?.element)).collect()
}

impl OpDef for Sort {
    fn name(&self) -> &'static str {
        "stablehlo.sort"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        check_comparator(op, 0, &elements(op), "C5")?;
        if !is_static(op) {
            return declared(op);
        }
        // (C2)
        Ok(op.operand_types().map(|t| t.tensor().map_or(TypeData::None, |t| t.clone().into())).collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    /// The sorted dimension must be replicated; where there is only one slice, shardings don't spread along it.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dim = Self::dim(op)?;
        let shape = &op.operand_tensor(0)?.shape;
        let alone = shape.iter().enumerate().all(|(d, &size)| d == dim || size == 1);
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in shape.iter().enumerate() {
            let kind = if d == dim { FactorKind::NeedReplication } else { FactorKind::PassThrough };
            let factor = rule.add_all(size, kind, d);
            if d == dim && alone {
                rule.block(factor);
            }
        }
        Some(rule)
    }

    /// A stable merge sort, also where the order of equal elements is unspecified: any order is allowed then.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dim = Self::check(op)?;
        let shape = operands[0].shape.clone();
        let comparator = Comparator::of(op, 0, &elements(op))?;
        let size = shape[dim].max(0) as usize;
        let step: usize = shape[dim + 1..].iter().map(|&d| d.max(0) as usize).product();
        let mut starts = shape.clone();
        starts[dim] = starts[dim].min(1);
        let mut values: Vec<Vec<Scalar>> = operands.iter().map(|o| (0..o.len()).map(|i| o.get(i)).collect()).collect();
        for start in Indices::of(&starts) {
            let start = operands[0].position(&start);
            let at = |i: usize| start + i * step;
            let mut failed: Option<EvalError> = None;
            let mut less = |a: usize, b: usize| {
                let pairs: Vec<(Scalar, Scalar)> = operands.iter().map(|o| (o.get(at(a)), o.get(at(b)))).collect();
                comparator.holds(&pairs, cx).unwrap_or_else(|e| {
                    failed.get_or_insert(e);
                    false
                })
            };
            let order = merge_sort(size, &mut less);
            if let Some(error) = failed {
                return Err(error);
            }
            for (operand, values) in operands.iter().zip(&mut values) {
                for (to, &from) in order.iter().enumerate() {
                    values[at(to)] = operand.get(at(from));
                }
            }
        }
        let literal = |(o, values): (&Literal, Vec<Scalar>)| Literal::from_scalars(o.element, &shape, values);
        Ok(operands.iter().zip(values).map(literal).collect())
    }

    /// Where only the first elements are read, those of each piece, then the first of these. Pieces stay in order and
    /// both sorts are stable, so equal elements come out as they would of one.
    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        let view = b.program.view(op);
        let dim = Self::dim(view).filter(|_| is_static(view))?;
        let shape = view.operand_tensor(0)?.shape.to_vec();
        let pieces = around.pieces(b.program, view.operands()[0])[dim];
        let kept = view.results().map(|v| around.read(b.program, v, dim).end).max()?;
        if pieces < 2 || kept == 0 || kept * pieces >= shape[dim] || !orders_all(view) {
            return None;
        }
        let data = b.program.op(op).clone();
        let sort = |b: &mut Builder<'_>, values: &[Value], dim: usize| {
            let regions: Vec<_> =
                data.regions.iter().map(|&r| b.program.clone_region(r, &mut Renaming::default())).collect();
            let (dim, stable) = (b.program.attr_i64(dim as i64), b.program.intern_attr(AttrData::Bool(true)));
            b.inferred(&Sort, values, &[("dimension", dim), ("is_stable", stable)], &regions)
        };
        let (mut divided, mut first) = (shape.clone(), shape.clone());
        divided.splice(dim..=dim, [pieces, shape[dim] / pieces]);
        first[dim] = kept * pieces;
        let whole: Vec<Vec<usize>> = (0..shape.len()).map(|d| vec![d]).collect();
        let mut split = whole.clone();
        split.insert(dim + 1, Vec::new());
        let mut steps = Steps::default();
        let of = data.operands[0];
        let mut made = |values: &[Value], dims: &[Vec<usize>]| {
            steps.made.extend(values.iter().map(|&v| (v, Like { of, dims: dims.to_vec() })));
        };
        let mut values: Vec<Value> = data.operands.iter().map(|&v| build::shape::reshape(b, v, &divided)).collect();
        made(&values, &split);
        values = sort(b, &values, dim + 1);
        made(&values, &split);
        values.iter_mut().for_each(|v| *v = build::shape::slice_dim(b, *v, dim + 1, 0, kept));
        made(&values, &split);
        values.iter_mut().for_each(|v| *v = build::shape::reshape(b, *v, &first));
        made(&values, &whole);
        values = sort(b, &values, dim);
        split.remove(dim);
        made(&values, &split);
        steps.results = values;
        Some(steps)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %p = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }) : (tensor<4x6xf32>) -> tensor<4x6xf32>",
            // By the first, descending; the second follows.
            "(%a: tensor<6x4xi32>, %b: tensor<6x4xbf16>) %r:2 = \"stablehlo.sort\"(%a, %b) <{dimension = -2 : i64, is_stable = true}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>, %v: tensor<bf16>, %w: tensor<bf16>):
              %p = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }) : (tensor<6x4xi32>, tensor<6x4xbf16>) -> (tensor<6x4xi32>, tensor<6x4xbf16>)",
        ]
    }
}

/// Whether the comparator orders all elements: by `<` of floats, a NaN is neither before nor after any other element,
/// and what a sort makes of that depends on how it goes about it.
fn orders_all(op: OpRef<'_>) -> bool {
    let args: Vec<Arg> = (0..2 * op.operands().len()).map(Arg::Input).collect();
    let Some(body) = op.region(0).and_then(|region| body_of_region(op.program, region, &args)) else { return false };
    body.insts.iter().all(|inst| match inst {
        Inst::Op { op: ScalarOp::Compare(by), args, .. } => {
            matches!(by, Comparison::Eq | Comparison::Ne) || !body.arg_type(args[0]).is_float()
        }
        _ => true,
    })
}

/// The stable order of `0..n` under `less`. A `less` that isn't an order gives some permutation, without failing.
fn merge_sort(n: usize, less: &mut dyn FnMut(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut width = 1;
    while width < n {
        let mut merged = Vec::with_capacity(n);
        for run in order.chunks(2 * width) {
            let (left, right) = run.split_at(width.min(run.len()));
            let (mut l, mut r) = (left.iter().copied().peekable(), right.iter().copied().peekable());
            while let (Some(&a), Some(&b)) = (l.peek(), r.peek()) {
                merged.extend(if less(b, a) { r.next() } else { l.next() });
            }
            merged.extend(l);
            merged.extend(r);
        }
        order = merged;
        width *= 2;
    }
    order
}
