//! Batch normalization: for inference, for training, and its gradients. The latter two are sums over all dimensions
//! except the features, which the import pass expands, so that they are sharded like any other sums.
//!
//! Source: the StableHLO specification, which defines them by formulas; sharding rules as Shardy registers them.

use super::elementwise::{Classes, element};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, TensorType, TypeData, Value};
use crate::kernel::{Arg, Body, External, Input, Inst, Kernel, Nest};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{
    Checked, compatible, declared, dim, is_static, operand_count, require, same_element, show, tensor,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&BatchNormInference, &BatchNormTraining, &BatchNormGrad];

/// `batch_norm_inference`: <https://openxla.org/stablehlo/spec#batch_norm_inference>
pub struct BatchNormInference;
/// `batch_norm_training`: <https://openxla.org/stablehlo/spec#batch_norm_training>
pub struct BatchNormTraining;
/// `batch_norm_grad`: <https://openxla.org/stablehlo/spec#batch_norm_grad>
pub struct BatchNormGrad;

/// Returns the feature dimension and the number added to variances. Operand 0 and the operands in `whole` have all
/// dimensions, the others only the feature dimension.
fn check(op: OpRef<'_>, count: usize, whole: &[usize]) -> Checked<(usize, f64)> {
    operand_count(op, count)?;
    let operand = tensor(op, 0)?;
    element(op, 0, Classes::REAL, "I1")?;
    let feature = dim(op, "feature_index", operand.rank(), "C1")?;
    let size = operand.shape[feature];
    for i in 1..count {
        same_element(op, i, 0, "C2")?;
        let ty = tensor(op, i)?;
        if whole.contains(&i) {
            let fits = compatible(&ty.shape, &operand.shape);
            let (want, found) = (show(op, operand), show(op, ty));
            require!(fits, operand = i, "expected {want} like the first operand, found {found} (C3)");
        } else {
            let fits = compatible(&ty.shape, &[size]);
            require!(fits, operand = i, "expected one value for each of {size} features, found {} (C5)", show(op, ty));
        }
    }
    let epsilon = op.attr("epsilon").and_then(AttrData::as_float);
    Ok((feature, epsilon.ok_or_else(|| Problem::new("expected an attribute 'epsilon' (I6)"))?))
}

/// Returns all dimensions except the feature dimension.
fn others(rank: usize, feature: usize) -> Vec<i64> {
    (0..rank as i64).filter(|&d| d != feature as i64).collect()
}

/// Returns the first operand's type and `n` types of one value per feature.
fn types(op: OpRef<'_>, feature: usize, n: usize) -> Inferred {
    if !is_static(op) {
        return declared(op);
    }
    let operand = tensor(op, 0)?;
    let per_feature = TypeData::Tensor(TensorType::new(&[operand.shape[feature]], operand.element));
    Ok([TypeData::Tensor(operand.clone())].into_iter().chain(std::iter::repeat_n(per_feature, n)).collect())
}

/// Operands read per feature and per element, in f64, for the evaluator.
struct Numbers<'a> {
    operands: &'a [Literal],
    feature: usize,
}

impl Numbers<'_> {
    /// Calls `f` with the row-major position and the feature of every element.
    fn each(&self, mut f: impl FnMut(usize, usize)) {
        for (number, at) in Indices::of(&self.operands[0].shape).enumerate() {
            f(number, at[self.feature] as usize);
        }
    }

    fn get(&self, operand: usize, number: usize) -> f64 {
        self.operands[operand].get(number).as_f64()
    }

    fn features(&self) -> usize {
        self.operands[0].shape[self.feature].max(0) as usize
    }

    /// Returns the sum of `f(number, feature)` over the elements of each feature.
    fn sums(&self, f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.features()];
        self.each(|number, feature| sums[feature] += f(number, feature));
        sums
    }

    /// Returns the number of elements per feature.
    fn count(&self) -> f64 {
        self.operands[0].len() as f64 / self.features().max(1) as f64
    }

    fn whole(&self, f: impl Fn(usize, usize) -> f64) -> Literal {
        let mut values = Vec::new();
        self.each(|number, feature| values.push(Scalar::Float(f(number, feature))));
        Literal::from_scalars(self.operands[0].element, &self.operands[0].shape, values)
    }

    fn per_feature(&self, values: Vec<f64>) -> Literal {
        let shape = [self.features() as i64];
        Literal::from_scalars(self.operands[0].element, &shape, values.into_iter().map(Scalar::Float))
    }
}

impl OpDef for BatchNormInference {
    fn name(&self) -> &'static str {
        "stablehlo.batch_norm_inference"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (feature, _) = check(op, 5, &[])?;
        types(op, feature, 0)
    }

    /// Returns a nest of `scale * ((x - mean) / sqrt(variance + epsilon)) + offset`.
    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok((feature, epsilon)), Some(result), true) = (check(op, 5, &[]), op.result_tensor(0), is_static(op))
        else {
            return Kernel::None;
        };
        let ty = result.element;
        let mut body = Body { inputs: vec![ty; 5], ..Body::default() };
        let [x, scale, offset, mean, variance] = [0, 1, 2, 3, 4].map(Arg::Input);
        let epsilon = body.push(Inst::Const(Scalar::Float(epsilon).round(ty), ty));
        let mut op = |op: ScalarOp, args: &[Arg]| body.op(op, args, ty);
        let centered = op(ScalarOp::Sub, &[x, mean]);
        let square = op(ScalarOp::Add, &[variance, epsilon]);
        let deviation = op(ScalarOp::Sqrt, &[square]);
        let normalized = op(ScalarOp::Div, &[centered, deviation]);
        let scaled = op(ScalarOp::Mul, &[scale, normalized]);
        let shifted = op(ScalarOp::Add, &[scaled, offset]);
        body.results = vec![shifted];
        let rank = result.rank();
        let inputs = (0..5).map(|i| if i == 0 { Input::at(0, 0..rank) } else { Input::at(i, [feature]) }).collect();
        Kernel::Nest(Nest::over(&result.shape, inputs, body))
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (feature, epsilon) = check(op, 5, &[])?;
        let n = Numbers { operands, feature };
        let value = |i: usize, f: usize| {
            n.get(1, f) * ((n.get(0, i) - n.get(3, f)) / (n.get(4, f) + epsilon).sqrt()) + n.get(2, f)
        };
        Ok(vec![n.whole(value)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>, %m: tensor<6xf32>) %v = stablehlo.constant dense<[1.0, 4.0, 9.0, 0.25, 1.0, 16.0]> : tensor<6xf32> %r = \"stablehlo.batch_norm_inference\"(%a, %s, %o, %m, %v) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<4x2x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x2x6xf32>",
        ]
    }
}

/// Returns a rule by which only features pass through: sums need the other dimensions replicated until the import pass
/// has expanded them.
fn rule(op: OpRef<'_>, feature: usize, whole: &[usize]) -> Option<ShardingRule> {
    let shape = &op.operand_tensor(0)?.shape;
    let mut rule = ShardingRule::of_op(op);
    for (d, &size) in shape.iter().enumerate() {
        if d == feature {
            let at = |i: usize, whole: &[usize]| (i, if i == 0 || whole.contains(&i) { d } else { 0 });
            let operands: Vec<_> = (0..op.operands().len()).map(|i| at(i, whole)).collect();
            let results: Vec<_> = (0..op.result_count()).map(|i| at(i, &[])).collect();
            rule.add(size, FactorKind::PassThrough, &operands, &results);
        } else {
            let operands: Vec<_> = [0].iter().chain(whole).map(|&i| (i, d)).collect();
            rule.add(size, FactorKind::NeedReplication, &operands, &[(0, d)]);
        }
    }
    Some(rule)
}

/// Builds the formulas, with all values in one type, at least f32.
struct Formula<'a, 'b> {
    b: &'a mut Builder<'b>,
    shape: Vec<i64>,
    feature: usize,
    element: ElementType,
    ty: ElementType,
}

impl<'a, 'b> Formula<'a, 'b> {
    fn new(b: &'a mut Builder<'b>, op: Op, feature: usize) -> Option<(Self, Vec<Value>)> {
        let operand = b.program.view(op).operand_tensor(0)?.clone();
        let ty = if operand.element.bits() < 32 { ElementType::F32 } else { operand.element };
        let operands = b.program.op(op).operands.to_vec();
        let operands = operands.into_iter().map(|v| build::convert(b, v, ty)).collect();
        Some((Self { b, shape: operand.shape.to_vec(), feature, element: operand.element, ty }, operands))
    }

    fn wide(&mut self, per_feature: Value) -> Value {
        build::shape::broadcast_in_dim(self.b, per_feature, &self.shape, &[self.feature as i64])
    }

    fn constant(&mut self, value: f64) -> Value {
        build::splat(self.b, self.ty, &[self.shape[self.feature]], Scalar::Float(value).round(self.ty))
    }

    fn op(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        build::pointwise(self.b, op, args)
    }

    fn sum(&mut self, value: Value) -> Value {
        build::region::sum(self.b, value, &others(self.shape.len(), self.feature))
    }

    fn count(&mut self) -> Value {
        let count: f64 = self.shape.iter().enumerate().filter(|d| d.0 != self.feature).map(|d| *d.1 as f64).product();
        self.constant(count)
    }

    fn mean(&mut self, value: Value) -> Value {
        let (sum, count) = (self.sum(value), self.count());
        self.op(ScalarOp::Div, &[sum, count])
    }

    fn deviation(&mut self, variance: Value, epsilon: f64) -> (Value, Value) {
        let epsilon = self.constant(epsilon);
        let square = self.op(ScalarOp::Add, &[variance, epsilon]);
        (square, self.op(ScalarOp::Sqrt, &[square]))
    }

    fn finish(self, values: &[Value]) -> Vec<Value> {
        values.iter().map(|&v| build::convert(self.b, v, self.element)).collect()
    }
}

impl OpDef for BatchNormTraining {
    fn name(&self) -> &'static str {
        "stablehlo.batch_norm_training"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (feature, _) = check(op, 3, &[])?;
        types(op, feature, 2)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, check(op, 3, &[]).ok()?.0, &[])
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (feature, epsilon) = check(op, 3, &[])?;
        let n = Numbers { operands, feature };
        let mean: Vec<f64> = n.sums(|i, _| n.get(0, i)).iter().map(|s| s / n.count()).collect();
        let squares = n.sums(|i, f| (n.get(0, i) - mean[f]).powi(2));
        let variance: Vec<f64> = squares.iter().map(|s| s / n.count()).collect();
        let value =
            |i: usize, f: usize| n.get(1, f) * ((n.get(0, i) - mean[f]) / (variance[f] + epsilon).sqrt()) + n.get(2, f);
        let output = n.whole(value);
        Ok(vec![output, n.per_feature(mean), n.per_feature(variance)])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (feature, epsilon) = check(view, 3, &[]).ok().filter(|_| is_static(view))?;
        let (mut m, operands) = Formula::new(b, op, feature)?;
        let [x, scale, offset] = operands[..] else { return None };
        let mean = m.mean(x);
        let wide = m.wide(mean);
        let centered = m.op(ScalarOp::Sub, &[x, wide]);
        let squares = m.op(ScalarOp::Mul, &[centered, centered]);
        let variance = m.mean(squares);
        let (_, deviation) = m.deviation(variance, epsilon);
        let [scale, deviation, offset] = [scale, deviation, offset].map(|v| m.wide(v));
        let normalized = m.op(ScalarOp::Div, &[centered, deviation]);
        let scaled = m.op(ScalarOp::Mul, &[scale, normalized]);
        let output = m.op(ScalarOp::Add, &[scaled, offset]);
        Some(m.finish(&[output, mean, variance]))
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>) %r:3 = \"stablehlo.batch_norm_training\"(%a, %s, %o) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>)",
        ]
    }
}

impl OpDef for BatchNormGrad {
    fn name(&self) -> &'static str {
        "stablehlo.batch_norm_grad"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (feature, _) = check(op, 5, &[4])?;
        types(op, feature, 2)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, check(op, 5, &[4]).ok()?.0, &[4])
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (feature, epsilon) = check(op, 5, &[4])?;
        let n = Numbers { operands, feature };
        let centered = |i: usize, f: usize| n.get(0, i) - n.get(2, f);
        let square = |f: usize| n.get(3, f) + epsilon;
        let offset = n.sums(|i, _| n.get(4, i));
        let products = n.sums(|i, f| n.get(4, i) * centered(i, f));
        let scale: Vec<f64> = products.iter().enumerate().map(|(f, p)| p / square(f).sqrt()).collect();
        let value = |i: usize, f: usize| {
            let rest = n.get(4, i) * n.count() - offset[f] - products[f] * centered(i, f) / square(f);
            n.get(1, f) / square(f).sqrt() / n.count() * rest
        };
        let output = n.whole(value);
        Ok(vec![output, n.per_feature(scale), n.per_feature(offset)])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let (feature, epsilon) = check(view, 5, &[4]).ok().filter(|_| is_static(view))?;
        let (mut m, operands) = Formula::new(b, op, feature)?;
        let [x, scale, mean, variance, gradient] = operands[..] else { return None };
        let wide = m.wide(mean);
        let centered = m.op(ScalarOp::Sub, &[x, wide]);
        let (square, deviation) = m.deviation(variance, epsilon);
        let grad_offset = m.sum(gradient);
        let products = m.op(ScalarOp::Mul, &[gradient, centered]);
        let products = m.sum(products);
        let grad_scale = m.op(ScalarOp::Div, &[products, deviation]);
        let count = m.count();
        // One factor per feature, computed before anything is broadcast.
        let per_square = m.op(ScalarOp::Div, &[products, square]);
        let factor = m.op(ScalarOp::Div, &[scale, deviation]);
        let factor = m.op(ScalarOp::Div, &[factor, count]);
        let [count, offset, per_square, factor] = [count, grad_offset, per_square, factor].map(|v| m.wide(v));
        let all = m.op(ScalarOp::Mul, &[gradient, count]);
        let rest = m.op(ScalarOp::Sub, &[all, offset]);
        let along = m.op(ScalarOp::Mul, &[per_square, centered]);
        let rest = m.op(ScalarOp::Sub, &[rest, along]);
        let output = m.op(ScalarOp::Mul, &[factor, rest]);
        Some(m.finish(&[output, grad_scale, grad_offset]))
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2x2xf32>, %s: tensor<2xf32>, %m: tensor<2xf32>, %g: tensor<4x2x2xf32>) %v = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32> %r:3 = \"stablehlo.batch_norm_grad\"(%a, %s, %m, %v, %g) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2x2xf32>) -> (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>)",
        ]
    }
}
