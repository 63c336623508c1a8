//! `scatter`: combines slices into a tensor at start positions from another tensor. Each element that is out of bounds
//! is dropped.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{SliceDims, Words, factors};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, TensorType, TypeData};
use crate::kernel::{self, External, Kernel};
use crate::literal::{Indices, Literal};
use crate::localize::Localize;
use crate::op::{Inferred, OpDef, Steps, Surroundings};
use crate::ops::support::combiner::{
    Combine, SHORT_SUM, check_region, combiner, combining_body, promote, region_reduction,
};
use crate::ops::support::constraint::{
    Checked, declared, is_static, require, result, same_element, same_shape, show, tensor,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};

/// `scatter`: <https://openxla.org/stablehlo/spec#scatter>
pub struct Scatter;

/// The writes of a `scatter`. Its operands are the inputs, the indices, then one update per input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScatterDims {
    /// The relation between the dimensions of inputs, indices and updates.
    pub dims: SliceDims,
    /// The number of inputs; also the number of the operand with the indices.
    pub inputs: usize,
}

pub(super) const WORDS: Words = Words {
    attr: "scatter_dimension_numbers",
    window: ("update_window_dims", "C7", "C8"),
    collapsed: ("inserted_window_dims", "C10", "C11"),
    operand_batching: ("input_batching_dims", "C13"),
    indices_batching: ("scatter_indices_batching_dims", "C14", "C15"),
    index_map: ("scatter_dims_to_operand_dims", "C19", "C20", "C21"),
    taken: "C9",
    rank: "C2",
    vector: "C22",
    vector_batching: "C16",
    batching_count: "C17",
    batching_size: "C18",
};

impl ScatterDims {
    /// Returns the dimensions of a `scatter`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Scatter.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<Self> {
        let count = op.operands().len();
        let same = count % 2 == 1 && count > 1;
        require!(same, "expected inputs, then indices, then as many updates as inputs, found {count} operands (C5)");
        let inputs = count / 2;
        let (first, indices, updates) = (tensor(op, 0)?, tensor(op, inputs)?, tensor(op, inputs + 1)?);
        require!(indices.element.is_integer(), operand = inputs, "expected integers, found {} (I2)", show(op, indices));
        for i in 0..inputs {
            same_shape(op, i, 0, "C1")?;
            same_shape(op, inputs + 1 + i, inputs + 1, "C3")?;
            same_element(op, inputs + 1 + i, i, "C6")?;
        }
        let dims = SliceDims::check(op, first, inputs, &WORDS)?;
        let fits = updates.rank() == dims.window.len() + dims.batch.len();
        require!(
            fits,
            operand = inputs + 1,
            "expected rank {want}, found {} (C4)",
            show(op, updates),
            want = dims.window.len() + dims.batch.len()
        );
        for (k, &d) in dims.batch.iter().enumerate() {
            let (want, found) = (indices.shape[dims.indices_dim(k)], updates.shape[d]);
            let same = want == found || want < 0 || found < 0;
            require!(same, operand = inputs + 1, "expected size {want} in dimension {d}, found {found} (C4)");
        }
        for (&d, &to) in dims.window.iter().zip(&dims.operand_window) {
            let (most, found) = (first.shape[to], updates.shape[d]);
            let same = found <= most || most < 0;
            require!(same, operand = inputs + 1, "expected at most {most} in dimension {d}, found {found} (C4)");
        }
        Ok(Self { dims, inputs })
    }

    /// Returns whether many floats may be added at one position, so that their sum is kept in f64.
    fn sums(&self, op: OpRef<'_>) -> bool {
        let updates = op.operand_tensor(self.inputs + 1).map(|t| &t.shape);
        let count = updates.map_or(0, |shape| self.dims.batch.iter().map(|&d| shape[d]).product::<i64>());
        let float = op.result_tensor(0).is_some_and(|t| t.element.is_float());
        self.inputs == 1 && count > SHORT_SUM as i64 && float && combiner(op, 0, 1) == Some(ScalarOp::Add)
    }
}

/// Returns the element types of the inputs.
fn elements(op: OpRef<'_>, n: usize) -> Checked<Vec<ElementType>> {
    (0..n).map(|i| Ok(tensor(op, i)?.element)).collect()
}

impl OpDef for Scatter {
    fn name(&self) -> &'static str {
        "stablehlo.scatter"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let scatter = ScatterDims::check(op)?;
        let accumulators = check_region(op, 0, &elements(op, scatter.inputs)?, "C23")?;
        if !is_static(op) {
            return declared(op);
        }
        // (C24), (C25)
        let shape = &tensor(op, 0)?.shape;
        Ok(accumulators.iter().map(|&e| TypeData::Tensor(TensorType::new(shape, e))).collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(dims), true) = (ScatterDims::check(op), is_static(op)) else { return Kernel::None };
        let Ok(types) = elements(op, dims.inputs) else { return Kernel::None };
        let (combine, sums) = (combining_body(op, 0, &types), dims.sums(op));
        Kernel::External(External::Scatter(Box::new(kernel::Scatter { dims, combine, sums })))
    }

    /// Returns a rule in which a window as large as its dimension may start at positions other than 0, if indices state
    /// its start.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, true)
    }

    /// Returns Shardy's rule, which looks only at sizes.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, false)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        super::local::scatter(cx);
    }

    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        super::steps::in_steps(op, around, b)
    }

    /// Applies updates in order. If many may be added at one position, sums of floats are kept in f64.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let scatter = ScatterDims::check(op)?;
        let exact = scatter.sums(op);
        let ScatterDims { dims, inputs: n } = scatter;
        let types: Vec<ElementType> = (0..n).map(|i| Ok(result(op, i)?.element)).collect::<Checked<_>>()?;
        let (shape, indices, updates) = (&operands[0].shape, &operands[n], &operands[n + 1..]);
        // Few elements are written, so all stay as bytes, and only the written ones are decoded.
        let mut values: Vec<Elements> = (0..n).map(|i| Elements::new(&operands[i], types[i])).collect();
        let mut sums: FxHashMap<usize, f64> = FxHashMap::default();
        let combine = Combine::of(op, 0, &types)?;
        for (number, at) in Indices::of(&updates[0].shape).enumerate() {
            let (offset, start) = dims.locate(&at, shape.len(), indices);
            let target: Option<Shape> = (0..shape.len())
                .map(|d| {
                    let position = start[d] + i128::from(offset[d]);
                    (0..i128::from(shape[d])).contains(&position).then_some(position as i64)
                })
                .collect();
            let Some(target) = target else { continue };
            let position = operands[0].position(&target);
            let update = |i: usize| promote(updates[i].get(number), updates[i].element, types[i]);
            if exact {
                *sums.entry(position).or_insert_with(|| values[0].get(position).as_f64()) += update(0).as_f64();
                continue;
            }
            let old: SmallVec<[Scalar; 1]> = values.iter().map(|v| v.get(position)).collect();
            let update: SmallVec<[Scalar; 1]> = (0..n).map(update).collect();
            let new = combine.apply(&old, &update, &types, cx)?;
            values.iter_mut().zip(new).for_each(|(v, new)| v.set(position, new));
        }
        sums.into_iter().for_each(|(position, sum)| values[0].set(position, Scalar::Float(sum)));
        Ok(values.into_iter().map(|v| Literal::from_bytes(v.element, shape, v.bytes)).collect())
    }

    fn windowed_operands(&self, op: OpRef<'_>) -> Range<usize> {
        0..op.result_count()
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<8x4xf32>, %i: tensor<6x1xi32>, %u: tensor<6x4xf32>) %r = \"stablehlo.scatter\"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %s = stablehlo.add %x, %y : tensor<f32>
              stablehlo.return %s : tensor<f32>
            }) : (tensor<8x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<8x4xf32>",
            // Batching dimensions; the last update wins.
            "(%a: tensor<2x6x4xi32>, %i: tensor<3x2x1xi64>, %u: tensor<2x3x2xi32>) %r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>):
              stablehlo.return %y : tensor<i32>
            }) : (tensor<2x6x4xi32>, tensor<3x2x1xi64>, tensor<2x3x2xi32>) -> tensor<2x6x4xi32>",
            // Windows that extend over several shards, and partly out of bounds.
            "(%a: tensor<8x6xi32>, %i: tensor<4x2xi32>, %u: tensor<3x4x2xi32>) %r = \"stablehlo.scatter\"(%a, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>):
              %s = stablehlo.add %x, %y : tensor<i32>
              stablehlo.return %s : tensor<i32>
            }) : (tensor<8x6xi32>, tensor<4x2xi32>, tensor<3x4x2xi32>) -> tensor<8x6xi32>",
            // A position without an index is the first one.
            "(%a: tensor<6x4xi32>, %i: tensor<3xi32>, %u: tensor<3xi32>) %r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
            ^bb0(%x: tensor<i32>, %y: tensor<i32>):
              stablehlo.return %y : tensor<i32>
            }) : (tensor<6x4xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<6x4xi32>",
            // Two inputs, an index without its own dimension.
            "(%a: tensor<6xf32>, %b: tensor<6xi32>, %i: tensor<4xi32>, %u: tensor<4x2xf32>, %v: tensor<4x2xi32>) %r:2 = \"stablehlo.scatter\"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
            ^bb0(%w: tensor<f32>, %x: tensor<i32>, %y: tensor<f32>, %z: tensor<i32>):
              %p = stablehlo.maximum %w, %y : tensor<f32>
              %q = stablehlo.maximum %x, %z : tensor<i32>
              stablehlo.return %p, %q : tensor<f32>, tensor<i32>
            }) : (tensor<6xf32>, tensor<6xi32>, tensor<4xi32>, tensor<4x2xf32>, tensor<4x2xi32>) -> (tensor<6xf32>, tensor<6xi32>)",
        ]
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        region_reduction(op, 0, op.operands().len() / 2)
    }
}

/// Elements of one type that can be changed one at a time.
struct Elements {
    element: ElementType,
    bytes: Vec<u8>,
    /// A buffer for the bytes of the element being written.
    one: Vec<u8>,
}

impl Elements {
    /// Converts the elements of `literal` to `element`.
    fn new(literal: &Literal, element: ElementType) -> Self {
        let convert = |i: usize| promote(literal.get(i), literal.element, element);
        let bytes = match literal.element == element {
            true => literal.dense_bytes().into_owned(),
            false => Literal::from_scalars(element, &literal.shape, (0..literal.len()).map(convert))
                .dense_bytes()
                .into_owned(),
        };
        Self { element, bytes, one: Vec::new() }
    }

    fn get(&self, index: usize) -> Scalar {
        let n = self.element.bytes();
        Scalar::decode(self.element, &self.bytes[index * n..][..n])
    }

    fn set(&mut self, index: usize, value: Scalar) {
        self.one.clear();
        value.encode(self.element, &mut self.one);
        let n = self.one.len();
        self.bytes[index * n..][..n].copy_from_slice(&self.one);
    }
}

/// Returns the rule along which devices compute if `exact`, otherwise Shardy's rule, by which windows that fill a
/// dimension pass through even if an index may move them.
fn rule(op: OpRef<'_>, exact: bool) -> Option<ShardingRule> {
    let ScatterDims { dims, inputs } = ScatterDims::of(op)?;
    let (input, indices) = (op.operand_tensor(0)?, op.operand_tensor(inputs)?);
    let updates = op.operand_tensor(inputs + 1)?;
    let kind = match combiner(op, 0, inputs) {
        Some(ScalarOp::Add | ScalarOp::Mul | ScalarOp::Max | ScalarOp::Min) => FactorKind::Reduction,
        Some(ScalarOp::And | ScalarOp::Or) if input.element == ElementType::I1 => FactorKind::Reduction,
        _ => FactorKind::NeedReplication,
    };
    let mut rule = ShardingRule::of_op(op);
    for f in factors(&dims, &input.shape, &indices.shape, &updates.shape, Some(kind), exact) {
        let mut operands = Vec::new();
        let mut results = Vec::new();
        for i in 0..inputs {
            operands.extend(f.operand.map(|d| (i, d)));
            results.extend(f.operand.map(|d| (i, d)));
            operands.extend(f.slices.map(|d| (inputs + 1 + i, d)));
        }
        operands.extend(f.indices.map(|d| (inputs, d)));
        let window = f.kind == FactorKind::PassThrough && f.slices.is_some() && f.indices.is_none();
        let shifted = window && f.operand.is_some_and(|d| exact && dims.index_map.contains(&d));
        rule.add(f.size, if shifted { FactorKind::NeedReplication } else { f.kind }, &operands, &results);
    }
    Some(rule)
}
