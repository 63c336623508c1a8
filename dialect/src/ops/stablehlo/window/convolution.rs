//! Convolutions. The nest runs over the result's dimensions, then over the kernel's spatial dimensions and its input
//! features.

use super::{ConvolutionDims, padding_attr};
use crate::eval::{Context, EvalResult};
use crate::ir::{OpRef, Shape, TensorType};
use crate::kernel::{Body, Index, Init, Input, Kernel, Nest, Outside};
use crate::literal::{Indices, Literal};
use crate::localize::Localize;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::contraction::check_precision;
use crate::ops::support::constraint::{
    Checked, compatible, declared, is_static, one, operand_count, require, show, tensor,
};
use crate::ops::support::products::Products;
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};
use crate::text::Syntax;

/// `convolution`: <https://openxla.org/stablehlo/spec#convolution>
pub struct Convolution;
/// `dynamic_conv`, with the padding as an operand: <https://openxla.org/stablehlo/spec#dynamic_conv>
pub struct DynamicConv;

impl ConvolutionDims {
    /// Returns the parameters of a `convolution`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Convolution.name()).then(|| Self::check(op).ok())?
    }
}

/// Returns one result element: the sum of the products of an input element and a kernel element.
fn sum(dims: &ConvolutionDims, lhs: &Literal, rhs: &Literal, at: &[i64], products: &Products, zero: Scalar) -> Scalar {
    let [input_feature, kernel_in, kernel_out, output_feature] = dims.feature;
    let feature = at[output_feature];
    let of_group = |groups: i64| feature / (rhs.shape[kernel_out] / groups).max(1);
    let channels = rhs.shape[kernel_in];
    let sizes: Shape = dims.windows.iter().map(|w| w.size).chain([channels]).collect();
    let (mut left, mut right) = (lhs.shape.clone(), rhs.shape.clone());
    left[dims.batch.input] =
        of_group(dims.batch_groups) * (lhs.shape[dims.batch.input] / dims.batch_groups) + at[dims.batch.output];
    right[kernel_out] = feature;
    let mut sum = zero;
    'positions: for inside in Indices::of(&sizes) {
        for (i, window) in dims.windows.iter().enumerate() {
            let [input, kernel, output] = [0, 1, 2].map(|t| dims.spatial[t][i]);
            let Some(element) = window.element(at[output], inside[i], lhs.shape[input]) else { continue 'positions };
            (left[input], right[kernel]) = (element, inside[i]);
        }
        let channel = inside[dims.windows.len()];
        left[input_feature] = of_group(dims.feature_groups) * channels + channel;
        right[kernel_in] = channel;
        sum = products.add(sum, (lhs, lhs.position(&left)), (rhs, rhs.position(&right)));
    }
    sum
}

fn evaluate(op: OpRef<'_>, dims: &ConvolutionDims, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    let (lhs, rhs) = (&operands[0], &operands[1]);
    let element = op.result_tensor(0).map_or(lhs.element, |t| t.element);
    let shape = dims.result_shape(&lhs.shape, &rhs.shape)?;
    let terms = dims.windows.iter().map(|w| w.size).fold(rhs.shape[dims.feature[1]], i64::saturating_mul);
    let products = Products::new(element, terms.max(0) as usize);
    let zero = Scalar::zero(element);
    let values = Indices::of(&shape).map(|at| sum(dims, lhs, rhs, &at, &products, zero));
    Ok(vec![Literal::from_scalars(element, &shape, values)])
}

fn check_elements(op: OpRef<'_>) -> Checked<()> {
    let (lhs, rhs) = (tensor(op, 0)?, tensor(op, 1)?);
    let quantized = [lhs, rhs].iter().any(|t| t.element.class() == crate::ir::ElementClass::Other);
    let same = quantized || lhs.element == rhs.element;
    let (want, found) = (show(op, lhs), show(op, rhs));
    require!(same, operand = 1, "expected the element type of {want}, found {found} (C27)");
    Ok(())
}

fn infer(op: OpRef<'_>, dims: &ConvolutionDims) -> Inferred {
    let (lhs, rhs) = (tensor(op, 0)?, tensor(op, 1)?);
    check_elements(op)?;
    check_precision(op, "C24")?;
    let shape = dims.result_shape(&lhs.shape, &rhs.shape)?;
    let Some(given) = op.result_tensor(0) else { return one(TensorType::new(&shape, lhs.element)) };
    let fits = compatible(&given.shape, &shape);
    let inferred = TensorType::new(&shape, given.element);
    require!(fits, "expected a result of type {}, found {} (C25)", show(op, &inferred), show(op, given));
    // (C27) is relaxed: sums may be kept in a wider type than that of the operands.
    if is_static(op) { one(inferred) } else { declared(op) }
}

fn nest(op: OpRef<'_>) -> Option<Nest> {
    let dims = ConvolutionDims::of(op)?;
    let (lhs, rhs, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    if !is_static(op) || lhs.element != rhs.element {
        return None;
    }
    let [input_feature, kernel_in, kernel_out, output_feature] = dims.feature;
    let (rank, spatial) = (result.rank(), dims.windows.len());
    let mut loops: Vec<i64> = result.shape.to_vec();
    loops.extend(dims.windows.iter().map(|w| w.size));
    loops.push(rhs.shape[kernel_in]);
    let (feature, channel) = (Index::Loop(output_feature), Index::Loop(rank + spatial));
    // Returns the group of an output feature, times `by`.
    let group = |groups: i64, by: i64| match groups {
        1 => Index::Const(0),
        _ => feature.clone().floor_div((rhs.shape[kernel_out] / groups).max(1)).times(by),
    };
    let mut left = vec![Index::Const(0); rank];
    let mut right = left.clone();
    let mut guards = Vec::new();
    left[dims.batch.input] =
        group(dims.batch_groups, lhs.shape[dims.batch.input] / dims.batch_groups).plus(Index::Loop(dims.batch.output));
    left[input_feature] = group(dims.feature_groups, rhs.shape[kernel_in]).plus(channel.clone());
    (right[kernel_in], right[kernel_out]) = (channel, feature.clone());
    for (i, window) in dims.windows.iter().enumerate() {
        let [input, kernel, output] = [0, 1, 2].map(|t| dims.spatial[t][i]);
        let inside = Index::Loop(rank + i);
        left[input] = window.read(Index::Loop(output), inside.clone(), lhs.shape[input], &mut guards);
        right[kernel] = inside;
    }
    let outside = (!guards.is_empty()).then(|| Outside::Const(Scalar::zero(lhs.element)));
    let left = Input { operand: 0, index: left.into(), guards, outside };
    let right = Input::of(1, right);
    Some(Nest {
        loops: loops.into_iter().collect(),
        parallel: rank,
        inputs: vec![left, right],
        init: vec![Init::Const(Scalar::zero(result.element))],
        body: Body::product(lhs.element, rhs.element, result.element, true),
    })
}

/// The spatial factors of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spatial {
    /// No spatial factors.
    Without,
    /// Shardy's factors: an input dimension is shared by the number of windows and the window's size.
    Shardy,
    /// The factors along which devices can compute: the windows, or the summed positions inside a window, of which
    /// there are more in the gradient of a kernel. The other operand's dimension has a separate factor.
    Sharded,
}

fn rule(op: OpRef<'_>, spatial: Spatial) -> Option<ShardingRule> {
    let dims = ConvolutionDims::of(op)?;
    let (lhs, rhs, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    let [input_feature, kernel_in, kernel_out, output_feature] = dims.feature;
    let mut rule = ShardingRule::of_op(op);
    let through = FactorKind::PassThrough;
    if dims.batch_groups > 1 {
        rule.add(dims.batch_groups, through, &[(0, dims.batch.input), (1, kernel_out)], &[(0, output_feature)]);
    }
    let batch = result.shape[dims.batch.output];
    // With one batch per group, the input's batch dimension consists only of the groups.
    let inputs: &[_] = if dims.batch_groups > 1 && batch == 1 { &[] } else { &[(0, dims.batch.input)] };
    rule.add(batch, through, inputs, &[(0, dims.batch.output)]);
    for (i, window) in dims.windows.iter().enumerate().filter(|_| spatial != Spatial::Without) {
        let [input, kernel, output] = [0, 1, 2].map(|t| dims.spatial[t][i]);
        let count = result.shape[output];
        if spatial == Spatial::Sharded {
            if count >= window.size {
                rule.add(count, FactorKind::Permutation, &[(0, input)], &[(0, output)]);
            } else {
                rule.add(window.size, FactorKind::Reduction, &[(0, input), (1, kernel)], &[]);
            }
            continue;
        }
        let mut rest = lhs.shape[input];
        // An input dimension is shared by the number of windows and the window size, the larger first.
        for counting in [count >= window.size, count < window.size] {
            let size = rest.min(if counting { count } else { window.size });
            if size > 1 {
                match counting {
                    true => rule.add(size, FactorKind::Permutation, &[(0, input)], &[(0, output)]),
                    // Shardy calls it a reduction. A device would still need its neighbors' elements, so partial sums
                    // over its own elements would be wrong.
                    false => rule.add(size, FactorKind::NeedReplication, &[(0, input), (1, kernel)], &[]),
                };
                rest /= size;
            }
        }
    }
    if dims.feature_groups > 1 {
        rule.add(dims.feature_groups, through, &[(0, input_feature), (1, kernel_out)], &[(0, output_feature)]);
    }
    let both = [(1, kernel_in), (0, input_feature)];
    let inputs = if dims.feature_groups > 1 && rhs.shape[kernel_in] == 1 { &both[..1] } else { &both };
    rule.add(rhs.shape[kernel_in], FactorKind::Reduction, inputs, &[]);
    let features = result.shape[output_feature] / (dims.batch_groups * dims.feature_groups);
    if features > 1 {
        rule.add(features, through, &[(1, kernel_out)], &[(0, output_feature)]);
    }
    Some(rule.complete())
}

impl OpDef for Convolution {
    fn name(&self) -> &'static str {
        "stablehlo.convolution"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&super::conv_syntax::CONVOLUTION)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 2)?;
        infer(op, &ConvolutionDims::check(op)?)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        nest(op).map_or(Kernel::None, Kernel::Nest)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, Spatial::Sharded).filter(|_| is_static(op))
    }

    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, Spatial::Shardy).filter(|_| is_static(op))
    }

    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, Spatial::Without).filter(|_| is_static(op))
    }

    /// Sets the number of groups on a device, which follows from its local features or batches.
    fn localize(&self, cx: &mut Localize<'_>) {
        let Some(dims) = ConvolutionDims::of(cx.build.program.view(cx.op)) else { return cx.same_op() };
        let (lhs, rhs, result) = (cx.operand(0).shape(), cx.operand(1).shape(), cx.result(0).shape());
        let mut changed = Vec::new();
        if dims.feature_groups > 1 {
            let groups = lhs[dims.feature[0]] / rhs[dims.feature[1]].max(1);
            changed.push(("feature_group_count", cx.build.program.attr_i64(groups.max(1))));
        }
        if dims.batch_groups > 1 {
            let groups = lhs[dims.batch.input] / result[dims.batch.output].max(1);
            changed.push(("batch_group_count", cx.build.program.attr_i64(groups.max(1))));
        }
        let mut windows = dims.windows.clone();
        for (i, window) in windows.iter_mut().enumerate() {
            let [input, kernel, output] = [0, 1, 2].map(|t| dims.spatial[t][i]);
            if let Some(fetched) = cx.fetched(0, input) {
                *window = window.local(fetched.start, fetched.rows, rhs[kernel], result[output]);
            }
        }
        if windows != dims.windows {
            changed.push(("padding", padding_attr(cx.build.program, &windows)));
        }
        cx.same_op_with(&changed);
    }

    fn is_windowed(&self) -> bool {
        true
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dims = ConvolutionDims::over(op, &operands[0].ty(), &operands[1].ty())?;
        evaluate(op, &dims, operands)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x4x6x4xf32>, %k: tensor<3x3x4x6xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<2x4x6x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x4x6x6xf32>",
            // Other dimensions, negative padding, both dilations, a reversed window.
            "(%a: tensor<5x2x6x3xi32>, %k: tensor<4x3x2x2xi32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [0, f, b, 1]x[o, 0, 1, i]->[f, 1, b, 0], window = {stride = [2, 1], pad = [[-1, 3], [2, 0]], lhs_dilate = [2, 3], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<5x2x6x3xi32>, tensor<4x3x2x2xi32>) -> tensor<4x7x6x5xi32>",
            // Features in groups.
            "(%a: tensor<2x4x8xf32>, %k: tensor<2x2x8xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x4x8xf32>, tensor<2x2x8xf32>) -> tensor<2x3x8xf32>",
            // Batches in groups, sums in a wider type.
            "(%a: tensor<4x4x2xi8>, %k: tensor<2x2x4xi8>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x4x2xi8>, tensor<2x2x4xi8>) -> tensor<2x2x4xi32>",
            // No spatial dimension: a matrix product.
            "(%a: tensor<4x2xf32>, %k: tensor<2x6xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>",
        ]
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}

impl OpDef for DynamicConv {
    fn name(&self) -> &'static str {
        "stablehlo.dynamic_conv"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 3)?;
        check_padding(op)?;
        let dims = ConvolutionDims::check(op)?;
        check_elements(op)?;
        check_precision(op, "C24")?;
        // The padding is unknown, and so are the spatial sizes.
        let shape = dims.result_shape(&tensor(op, 0)?.shape, &tensor(op, 1)?.shape)?;
        let given = op.result_tensor(0).ok_or_else(|| Problem::new("expected a declared result type (C25)"))?;
        let same = given.rank() == shape.len();
        require!(same, "expected a result of rank {}, found {} (C26)", shape.len(), show(op, given));
        for d in [dims.batch.output, dims.feature[3]] {
            let (want, found) = (shape[d], given.shape[d]);
            let same = want == found || want < 0 || found < 0;
            require!(same, "expected size {want} in dimension {d} of the result, found {found} (C25)");
        }
        declared(op)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let mut dims = ConvolutionDims::over(op, &operands[0].ty(), &operands[1].ty())?;
        let padding = operands[2].to_ints().unwrap_or_default();
        for (window, pair) in dims.windows.iter_mut().zip(padding.chunks_exact(2)) {
            (window.low, window.high) = (pair[0], pair[1]);
        }
        evaluate(op, &dims, operands)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x4x2xf32>, %k: tensor<2x2x3xf32>) %p = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64> %r = \"stablehlo.dynamic_conv\"(%a, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<2x4x2xf32>, tensor<2x2x3xf32>, tensor<1x2xi64>) -> tensor<2x6x3xf32>",
        ]
    }
}

fn check_padding(op: OpRef<'_>) -> Checked<()> {
    let (padding, rank) = (tensor(op, 2)?, tensor(op, 0)?.rank());
    let fits = padding.element.is_integer() && padding.shape[..] == [rank as i64 - 2, 2];
    require!(
        fits || !padding.is_static(),
        operand = 2,
        "expected integers of shape {want}x2, found {} (C4)",
        show(op, padding),
        want = rank.saturating_sub(2)
    );
    Ok(())
}
