//! `rng_bit_generator`: random bits that are a function of a state, the same as XLA's on a CPU.

use super::bits::{philox_bits, threefry_bits};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, OpRef, TypeData, Value};
use crate::kernel::{External, Kernel, RngAlgorithm, threefry_split};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, is_static, operand_count, require, result, show, tensor};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// `rng_bit_generator`: <https://openxla.org/stablehlo/spec#rng_bit_generator>
pub struct RngBitGenerator;

impl RngBitGenerator {
    fn check(op: OpRef<'_>) -> Checked<RngAlgorithm> {
        operand_count(op, 1)?;
        let state = tensor(op, 0)?;
        let algorithm = match op.enum_value("rng_algorithm") {
            Some("THREE_FRY") => RngAlgorithm::ThreeFry,
            // XLA's default on a CPU.
            Some("PHILOX" | "DEFAULT") => RngAlgorithm::Philox,
            _ => return Err(Problem::new("expected rng_algorithm to be DEFAULT, THREE_FRY or PHILOX (I1)")),
        };
        let words: &[i64] = if algorithm == RngAlgorithm::ThreeFry { &[2] } else { &[2, 3] };
        let fits = state.rank() == 1
            && state.element == ElementType::UI64
            && (state.shape[0] < 0 || words.contains(&state.shape[0]));
        require!(
            fits,
            operand = 0,
            "expected {want}, found {} (C2)",
            show(op, state),
            want = if words.len() == 1 { "tensor<2xui64>" } else { "tensor<2xui64> or tensor<3xui64>" }
        );
        Ok(algorithm)
    }
}

/// Builds Philox words of type `element` from a rank-0 `key` of type `ui64`.
pub(super) fn philox(b: &mut Builder<'_>, key: Value, shape: &[i64], element: ElementType) -> Value {
    let counter = build::scalar(b, ElementType::UI64, Scalar::Int(0));
    let words = [key, counter].map(|word| build::shape::reshape(b, word, &[1]));
    let state = build::shape::concatenate(b, &words, 0);
    let types = [b.program.value_type(state), b.program.tensor(shape, element)];
    let algorithm = b.program.attr_enum("rng_algorithm", "PHILOX");
    let op = b.op(&RngBitGenerator, &[state], &types, &[("rng_algorithm", algorithm)]);
    b.program.result(op, 1)
}

impl OpDef for RngBitGenerator {
    fn name(&self) -> &'static str {
        "stablehlo.rng_bit_generator"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("algorithm", Piece::Enum("rng_algorithm", "rng_algorithm"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        let output = result(op, 1)?;
        let same = output.element.is_integer() || output.element.is_float();
        require!(same, "expected output of integers or floats, found {}", show(op, output));
        if !is_static(op) {
            return declared(op);
        }
        // (C1)
        Ok(vec![TypeData::Tensor(tensor(op, 0)?.clone()), TypeData::Tensor(output.clone())])
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match Self::check(op) {
            Ok(algorithm) if is_static(op) => Kernel::External(External::RngBits(algorithm)),
            _ => Kernel::None,
        }
    }

    /// Returns a rule with the state replicated, so that its shardings don't constrain those of the random numbers.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let mut rule = ShardingRule::of_op(op);
        let state = rule.add(op.operand_tensor(0)?.shape[0], FactorKind::NeedReplication, &[(0, 0)], &[(0, 0)]);
        rule.block(state);
        for (d, &size) in op.result_tensor(1)?.shape.iter().enumerate() {
            rule.add(size, FactorKind::PassThrough, &[], &[(1, d)]);
        }
        Some(rule)
    }

    /// Generates the device's shard. If the shard is a run of consecutive counters, it starts at the right counter;
    /// otherwise the device generates all numbers and slices out its own.
    fn localize(&self, cx: &mut Localize<'_>) {
        let view = cx.build.program.view(cx.op);
        let Some(global) = view.result_tensor(1).cloned() else { return cx.same_op() };
        let Ok(algorithm) = Self::check(view) else { return cx.same_op() };
        let state_ty = view.operands().first().map(|&v| cx.build.program.value_type(v));
        let (shard, local) = (cx.result(1), cx.result(1).shape());
        let starts: Vec<_> = (0..local.len()).map(|d| cx.result_start(1, d)).collect();
        if starts.iter().all(Option::is_none) {
            return cx.same_op();
        }
        let count = |shape: &[i64]| shape.iter().fold(1i64, |n, &d| n.saturating_mul(d));
        // Elements per counter; `None` if a shard isn't a run of consecutive counters.
        let pack = match (algorithm, global.element.bits()) {
            (RngAlgorithm::ThreeFry, 64) => Some(1),
            (RngAlgorithm::ThreeFry, _) => (threefry_split(&global.shape) == Some(0) && local[0] % 2 == 0).then_some(2),
            (RngAlgorithm::Philox, bits) => Some(if bits == 64 { 2 } else { 4 }),
        };
        let major = starts[1..].iter().all(Option::is_none);
        let even = shard.dims.first().is_some_and(|d| d.global > 0 && d.occupied() * d.size() == d.global);
        let state = cx.operands[0];
        let words = cx.operand(0).dims.first().map_or(0, |d| d.size());
        let run = pack.filter(|&p| major && even && words == 2 && count(&local) % p == 0);
        if let (Some(pack), Some(first)) = (run, starts[0]) {
            let b = &mut cx.build;
            // A counter may exceed the type of positions.
            let fits = count(&global.shape) <= i64::from(i32::MAX);
            let first = if fits { first } else { build::convert(b, first, ElementType::I64) };
            let integer = b.tensor(first).element;
            let row = build::integer(b, integer, count(&local[1..]));
            let skipped = build::multiply(b, first, row);
            let per = build::integer(b, integer, pack);
            let skipped = build::pointwise(b, ScalarOp::Div, &[skipped, per]);
            let skipped = advance(b, skipped);
            let start = build::add(b, state, skipped);
            cx.same_op_on(&[start], &[]);
            // The state afterwards is the same as after generating all numbers.
            let b = &mut cx.build;
            let all = build::index(b, (count(&global.shape) as u64).div_ceil(pack as u64) as i64);
            let all = advance(b, all);
            cx.results[0] = build::add(b, state, all);
            return;
        }
        let types = cx.result_types.clone();
        let whole = cx.build.program.intern_type(global.clone());
        cx.result_types = state_ty.into_iter().chain([whole]).collect();
        cx.same_op();
        cx.result_types = types;
        let b = &mut cx.build;
        // Starts must not be clamped if the last shard extends past the end.
        let zeros = vec![0; local.len()];
        let past: Vec<i64> = local.iter().map(|&n| (n - 1).max(0)).collect();
        let zero = build::scalar(b, global.element, Scalar::zero(global.element));
        let padded = build::shape::pad(b, cx.results[1], zero, &zeros, &past, &zeros);
        let starts = build::shape::all_starts(b, starts);
        cx.results[1] = build::shape::dynamic_slice(b, padded, &starts, &local);
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let algorithm = Self::check(op)?;
        let output = result(op, 1)?;
        let mut state: Vec<u64> = (0..operands[0].len())
            .map(|i| match operands[0].get(i) {
                Scalar::Int(v) => v as u64,
                _ => 0,
            })
            .collect();
        let bits = match (algorithm, &mut state[..]) {
            (RngAlgorithm::ThreeFry, [key, counter]) => {
                let (bits, next) = threefry_bits(*key, *counter, output.element, &output.shape);
                *counter = next;
                bits
            }
            (RngAlgorithm::Philox, [key, counter @ ..]) => {
                // In a state of two words the key is also the counter's upper half, and a carry into it isn't stored.
                let high = counter.get(1).copied().unwrap_or(*key);
                let whole = u128::from(counter.first().copied().unwrap_or(0)) | u128::from(high) << 64;
                let n = output.elements().unwrap_or(0) as u64;
                let (bits, next) = philox_bits(*key, whole, output.element, n);
                for (i, word) in counter.iter_mut().enumerate() {
                    *word = (next >> (64 * i)) as u64;
                }
                bits
            }
            _ => return Err(Problem::new("the state has the wrong size (C2)").into()),
        };
        // Narrow elements keep the low bits.
        let width = output.element.bytes();
        let bytes: Vec<u8> = bits.iter().flat_map(|b| b.to_le_bytes().into_iter().take(width)).collect();
        let output = if output.element.bits() < 8 {
            Literal::from_scalars(output.element, &output.shape, bits.iter().map(|&b| Scalar::Int(b.into())))
        } else {
            Literal::from_bytes(output.element, &output.shape, bytes)
        };
        let state = Literal::from_scalars(
            ElementType::UI64,
            &operands[0].shape,
            state.into_iter().map(|w| Scalar::Int(w.into())),
        );
        Ok(vec![state, output])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%s: tensor<2xui64>) %a, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui64>)",
            "(%s: tensor<2xui64>) %a, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>)",
            "(%s: tensor<2xui64>) %a, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xi8>)",
            "(%s: tensor<3xui64>) %a, %r = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4x4xi32>)",
            "(%s: tensor<2xui64>) %a, %r = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x2x3xui64>)",
        ]
    }
}

/// Returns the value that, added to a state of two words, advances its counter by `by`.
fn advance(b: &mut crate::ir::build::Builder<'_>, by: crate::ir::Value) -> crate::ir::Value {
    let by = build::convert(b, by, ElementType::UI64);
    let by = build::shape::reshape(b, by, &[1]);
    let zero = build::scalar(b, ElementType::UI64, Scalar::Int(0));
    build::shape::pad(b, by, zero, &[1], &[0], &[0])
}
