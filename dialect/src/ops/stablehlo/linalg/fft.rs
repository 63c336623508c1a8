//! `fft`: Fourier transforms along the last one to three dimensions.

use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Shape, TensorType};
use crate::kernel::{External, FftKind, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, Like, OpDef, Problem, Steps, Surroundings};
use crate::ops::build;
use crate::ops::support::constraint::{Checked, declared, ints, is_static, one, operand_count, require, show, tensor};
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// `fft`: <https://openxla.org/stablehlo/spec#fft>
pub struct Fft;

type Complex = (f64, f64);

impl Fft {
    /// Returns the kind and the lengths.
    fn check(op: OpRef<'_>) -> Checked<(FftKind, Vec<i64>)> {
        operand_count(op, 1)?;
        let operand = tensor(op, 0)?;
        let kind = match op.enum_value("fft_type") {
            Some("FFT") => FftKind::Forward,
            Some("IFFT") => FftKind::Inverse,
            Some("RFFT") => FftKind::Real,
            Some("IRFFT") => FftKind::InverseReal,
            _ => return Err(Problem::new("expected fft_type to be FFT, IFFT, RFFT or IRFFT (I2)")),
        };
        let lengths = ints(op, "fft_length")?;
        let (n, rank) = (lengths.len(), operand.rank());
        require!((1..=3).contains(&n), "expected 1 to 3 values of fft_length, found {n} (C3)");
        require!(n <= rank, operand = 0, "expected rank {n} or more, found {} (C1)", show(op, operand));
        let real = kind == FftKind::Real;
        let fits = match real {
            true => matches!(operand.element, ElementType::F32 | ElementType::F64),
            false => operand.element.is_complex(),
        };
        require!(
            fits,
            operand = 0,
            "expected {want} elements, found {} (C2)",
            show(op, operand),
            want = if real { "f32 or f64" } else { "complex" }
        );
        for (i, (&length, &size)) in lengths.iter().zip(&operand.shape[rank - n..]).enumerate() {
            let last = kind == FftKind::InverseReal && i + 1 == n;
            let want = if last { half(length) } else { length };
            require!(
                size < 0 || size == want,
                operand = 0,
                "expected size {want} in dimension {}, found {size} ({label})",
                rank - n + i,
                label = if last { "C5" } else { "C4" }
            );
        }
        Ok((kind, lengths))
    }
}

impl Fft {
    /// Returns the order in which to transform the dimensions `dims`. Dimensions that aren't sharded come first, so
    /// that they are done before data moves; in an inverse they come last, to undo a transform from its end. Real
    /// values are on one side of the last dimension.
    fn order(kind: FftKind, dims: std::ops::Range<usize>, operand: &[i64], result: &[i64]) -> Vec<usize> {
        let last = dims.end - 1;
        let mut order: Vec<usize> = dims.rev().collect();
        match kind {
            FftKind::Forward | FftKind::Inverse => {}
            FftKind::Real | FftKind::InverseReal => order.retain(|&d| d != last),
        }
        let inverse = matches!(kind, FftKind::Inverse | FftKind::InverseReal);
        let pieces = if inverse { result } else { operand };
        order.sort_by_key(|&d| pieces[d] > 1);
        if matches!(kind, FftKind::Real | FftKind::InverseReal) {
            order.insert(0, last);
        }
        if inverse {
            order.reverse();
        }
        order
    }
}

/// Returns how many of the `n` values of a real transform are kept.
fn half(n: i64) -> i64 {
    if n == 0 { 0 } else { n / 2 + 1 }
}

impl OpDef for Fft {
    fn name(&self) -> &'static str {
        "stablehlo.fft"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(
            &[("type", Piece::Enum("fft_type", "fft_type")), ("length", Piece::Ints("fft_length"))],
            TypeForm::Functional,
        )
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (kind, lengths) = Self::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let mut ty = tensor(op, 0)?.clone();
        let (last, length) = (ty.rank() - 1, lengths[lengths.len() - 1]);
        match kind {
            FftKind::Forward | FftKind::Inverse => {}
            FftKind::Real => {
                ty.shape[last] = half(ty.shape[last]);
                ty.element = if ty.element == ElementType::F64 { ElementType::C128 } else { ElementType::C64 };
            }
            FftKind::InverseReal => {
                ty.shape[last] = length;
                ty.element = ty.element.part();
            }
        }
        one(TensorType::new(&ty.shape, ty.element))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match Self::check(op) {
            Ok((kind, lengths)) if is_static(op) => Kernel::External(External::Fft(kind, lengths.into())),
            _ => Kernel::None,
        }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (_, lengths) = Self::check(op).ok()?;
        let (operand, result) = (&op.operand_tensor(0)?.shape, &op.result_tensor(0)?.shape);
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in operand.iter().enumerate() {
            let batch = d + lengths.len() < operand.len();
            let factor =
                rule.add_all(size, if batch { FactorKind::PassThrough } else { FactorKind::NeedReplication }, d);
            if size != *result.get(d)? {
                rule.block(factor);
            }
        }
        Some(rule)
    }

    /// Evaluates in f64, along the last dimension first, or last in inverse transforms.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (kind, lengths) = Self::check(op)?;
        let operand = &operands[0];
        let mut shape = operand.shape.clone();
        let last = shape.len() - 1;
        let mut values: Vec<Complex> = (0..operand.len())
            .map(|i| match operand.get(i) {
                Scalar::Complex(re, im) => (re, im),
                real => (real.as_f64(), 0.0),
            })
            .collect();
        let inverse = matches!(kind, FftKind::Inverse | FftKind::InverseReal);
        let dims = shape.len() - lengths.len()..shape.len();
        let order: Vec<usize> = if inverse { dims.collect() } else { dims.rev().collect() };
        for d in order {
            let from = shape.clone();
            let size = match kind {
                FftKind::Real if d == last => half(shape[d]),
                FftKind::InverseReal if d == last => lengths[lengths.len() - 1],
                _ => shape[d],
            };
            shape[d] = size;
            values = along(&values, &from, &shape, d, |line| match kind {
                FftKind::InverseReal if d == last => transform(&mirrored(line, size.max(0) as usize), true),
                _ => transform(line, inverse),
            });
        }
        let element = match kind {
            FftKind::Real if operand.element == ElementType::F64 => ElementType::C128,
            FftKind::Real => ElementType::C64,
            FftKind::InverseReal => operand.element.part(),
            _ => operand.element,
        };
        let scalar = |(re, im): Complex| if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) };
        Ok(vec![Literal::from_scalars(element, &shape, values.into_iter().map(scalar))])
    }

    /// Transforms one dimension after the other, each while another one is sharded.
    fn in_steps(&self, op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
        let view = b.program.view(op);
        let (kind, lengths) = Self::check(view).ok().filter(|c| c.1.len() > 1 && is_static(view))?;
        let (mut value, mut shape) = (view.operands()[0], view.operand_tensor(0)?.shape.to_vec());
        let (of, last, first) = (value, shape.len() - 1, shape.len() - lengths.len());
        let pieces = around.pieces(b.program, value);
        if shape.contains(&0) || pieces[first..].iter().all(|&n| n == 1) {
            return None;
        }
        let mut left = Self::order(kind, first..last + 1, &pieces, &around.pieces(b.program, b.program.result(op, 0)));
        let mut steps = Steps::default();
        // The dimensions of the operand along whose axes each dimension is sharded.
        let mut like: Vec<Vec<usize>> = (0..shape.len()).map(|d| vec![d]).collect();
        let count = |list: &[usize]| list.iter().map(|&d| pieces[d]).product::<i64>();
        left.reverse();
        while let Some(d) = left.pop() {
            let moved = count(&like[d]);
            let others = (0..shape.len()).filter(|&e| e != d && shape[e] >= moved * count(&like[e]));
            let best =
                others.min_by_key(|&e| (left.contains(&e), shape[e] % (moved * count(&like[e])) != 0, count(&like[e])));
            if let Some(e) = best.filter(|_| moved > 1) {
                let axes = std::mem::take(&mut like[d]);
                like[e].extend(axes);
            }
            let (one, length) = match kind {
                FftKind::Real if d == last => ("RFFT", shape[d]),
                FftKind::InverseReal if d == last => ("IRFFT", lengths[lengths.len() - 1]),
                FftKind::Inverse | FftKind::InverseReal => ("IFFT", shape[d]),
                FftKind::Forward | FftKind::Real => ("FFT", shape[d]),
            };
            let attrs =
                [("fft_length", b.program.attr_i64s(&[length])), ("fft_type", b.program.attr_enum("fft_type", one))];
            let mut swapped: Vec<i64> = (0..=last as i64).collect();
            swapped.swap(d, last);
            let mut turned = like.clone();
            turned.swap(d, last);
            if d != last {
                value = build::shape::transpose(b, value, &swapped);
                steps.made.push((value, Like { of, dims: turned.clone() }));
            }
            value = b.inferred(&Fft, &[value], &attrs, &[])[0];
            steps.made.push((value, Like { of, dims: turned }));
            if d != last {
                value = build::shape::transpose(b, value, &swapped);
                steps.made.push((value, Like { of, dims: like.clone() }));
            }
            shape = b.tensor(value).shape.to_vec();
        }
        steps.results = vec![value];
        Some(steps)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x4x6xcomplex<f32>>) %r = stablehlo.fft %a, type = FFT, length = [4, 6] : (tensor<2x4x6xcomplex<f32>>) -> tensor<2x4x6xcomplex<f32>>",
            "(%a: tensor<2x5xcomplex<f64>>) %r = stablehlo.fft %a, type = IFFT, length = [5] : (tensor<2x5xcomplex<f64>>) -> tensor<2x5xcomplex<f64>>",
            "(%a: tensor<2x7xf32>) %r = stablehlo.fft %a, type = RFFT, length = [7] : (tensor<2x7xf32>) -> tensor<2x4xcomplex<f32>>",
            "(%a: tensor<2x4x4xcomplex<f32>>) %r = stablehlo.fft %a, type = IRFFT, length = [4, 6] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x6xf32>",
        ]
    }
}

/// Applies `f` to every line along dimension `d` of a tensor of shape `from`; returns a tensor of shape `to` with the
/// beginning of each resulting line.
fn along(
    values: &[Complex],
    from: &[i64],
    to: &[i64],
    d: usize,
    f: impl Fn(&[Complex]) -> Vec<Complex>,
) -> Vec<Complex> {
    let step: usize = from[d + 1..].iter().map(|&n| n.max(0) as usize).product();
    let (before, after) = (from[d].max(0) as usize, to[d].max(0) as usize);
    let mut result = vec![(0.0, 0.0); to.iter().map(|&n| n.max(0) as usize).product()];
    let mut starts = Shape::from_slice(from);
    starts[d] = 1;
    for (number, _) in Indices::of(&starts).enumerate() {
        let (outer, inner) = (number / step.max(1), number % step.max(1));
        let line: Vec<Complex> = (0..before).map(|i| values[(outer * before + i) * step + inner]).collect();
        for (i, value) in f(&line).into_iter().take(after).enumerate() {
            result[(outer * after + i) * step + inner] = value;
        }
    }
    result
}

/// Returns all `n` values of a real transform, of which `half` is kept.
fn mirrored(half: &[Complex], n: usize) -> Vec<Complex> {
    let at = |i: usize| half.get(i).copied().unwrap_or_default();
    (0..n).map(|i| if 2 * i <= n { at(i) } else { (at(n - i).0, -at(n - i).1) }).collect()
}

/// Returns the sums over `x[k] e^(∓2πi jk/n)`; the inverse divides by n. Splits in two while the length is even.
fn transform(x: &[Complex], inverse: bool) -> Vec<Complex> {
    let n = x.len();
    let mut result = sums(x, inverse);
    if inverse {
        result.iter_mut().for_each(|v| *v = (v.0 / n as f64, v.1 / n as f64));
    }
    result
}

fn sums(x: &[Complex], inverse: bool) -> Vec<Complex> {
    let n = x.len();
    let root = |k: usize| {
        let angle = 2.0 * std::f64::consts::PI * (k % n.max(1)) as f64 / n as f64;
        (angle.cos(), if inverse { angle.sin() } else { -angle.sin() })
    };
    let times = |a: Complex, b: Complex| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
    if n < 2 || n % 2 == 1 {
        let roots: Vec<Complex> = (0..n).map(root).collect();
        let sum = |j: usize| {
            x.iter().enumerate().fold((0.0, 0.0), |s, (k, &v)| {
                let v = times(v, roots[(j as u64 * k as u64 % n as u64) as usize]);
                (s.0 + v.0, s.1 + v.1)
            })
        };
        return (0..n).map(sum).collect();
    }
    let part = |first: usize| sums(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>(), inverse);
    let (even, odd) = (part(0), part(1));
    let value = |j: usize| {
        let (a, b) = (even[j % (n / 2)], times(odd[j % (n / 2)], root(j)));
        (a.0 + b.0, a.1 + b.1)
    };
    (0..n).map(value).collect()
}
