//! `fft` by rustfft. Lines along the last dimension are transformed in place; lines along other dimensions are copied
//! several at a time, so that every cache line is read and written once. Transforms between real and complex values are
//! computed as complex transforms of half the length.

#![allow(unsafe_code, reason = "threads change interleaved parts of one slice")]

use bytemuck::Pod;
use dialect::ir::{ElementType, TensorType};
use dialect::kernel::FftKind;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::Arc;

use super::{DisjointSlice, Native, View, ViewMut, share};

/// The number of lines of a dimension other than the last that are transformed together: a cache line for each
/// position.
const LINES: usize = 16;
/// The length from which several threads transform a single line.
const LONG: usize = 1 << 15;

pub(super) fn of(kind: FftKind, lengths: &[i64], operand: &TensorType, result: &TensorType) -> Option<Box<dyn Native>> {
    let double = matches!(operand.element, ElementType::F64 | ElementType::C128);
    let empty = [operand, result].iter().any(|t| t.shape.contains(&0));
    match (empty, double) {
        (true, _) => Some(Box::new(Nothing)),
        (_, true) => Some(Box::new(Transform::<f64>::new(kind, lengths, operand, result))),
        (_, false) => Some(Box::new(Transform::<f32>::new(kind, lengths, operand, result))),
    }
}

/// The transform of a tensor without elements. A result that has elements is zero.
struct Nothing;

impl Native for Nothing {
    fn run(&self, _: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) -> Result<(), String> {
        results.iter_mut().for_each(|r| r.bytes.fill(0));
        Ok(())
    }
}

/// A float type that rustfft supports.
trait Real: FftNum + Pod {
    fn rounded(v: f64) -> Self;
}

impl Real for f32 {
    fn rounded(v: f64) -> Self {
        v as f32
    }
}

impl Real for f64 {
    fn rounded(v: f64) -> Self {
        v
    }
}

/// Returns `e^(-2 pi i k / n)`.
fn root<T: Real>(k: usize, n: usize) -> Complex<T> {
    let angle = -2.0 * std::f64::consts::PI * k as f64 / n as f64;
    Complex::new(T::rounded(angle.cos()), T::rounded(angle.sin()))
}

struct Transform<T: Real> {
    kind: FftKind,
    /// Sizes of the complex side: the number of batches, then the transformed dimensions.
    sizes: Vec<usize>,
    /// Complex transforms of the dimensions. The last one is that of [`Ends`] if one side is real.
    plans: Vec<Arc<dyn Fft<T>>>,
    /// The division of a single very long line.
    split: Option<Split<T>>,
    /// For real values, the transform of the last dimension.
    ends: Option<Ends<T>>,
    /// The factor of results of an inverse transform.
    scale: Option<T>,
}

/// The transform between `n` real values and the first half of their spectrum.
struct Ends<T: Real> {
    /// The number of real values.
    n: usize,
    /// If `n` is even, the transform of half the length and the roots of unity; if it is odd, the transform of length
    /// `n`.
    plan: Arc<dyn Fft<T>>,
    roots: Vec<Complex<T>>,
}

/// A transform of length `rows * columns` as transforms of columns and of rows, with factors between them.
struct Split<T: Real> {
    rows: usize,
    columns: usize,
    of_column: Arc<dyn Fft<T>>,
    of_row: Arc<dyn Fft<T>>,
    /// The first `COARSE` roots of unity, and every `COARSE`th one. Each root is a product of two of them.
    fine: Vec<Complex<T>>,
    coarse: Vec<Complex<T>>,
    inverse: bool,
}

const COARSE: usize = 1024;

impl<T: Real> Transform<T> {
    fn new(kind: FftKind, lengths: &[i64], operand: &TensorType, result: &TensorType) -> Self {
        let complex = if kind == FftKind::Real { result } else { operand };
        let size = |d: &i64| (*d).max(0) as usize;
        let (batch, transformed) = complex.shape.split_at(complex.rank() - lengths.len());
        let sizes: Vec<usize> =
            std::iter::once(batch.iter().map(size).product()).chain(transformed.iter().map(size)).collect();
        let inverse = matches!(kind, FftKind::Inverse | FftKind::InverseReal);
        let mut planner = FftPlanner::new();
        let mut plan = |n: usize| if inverse { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) };
        let plans: Vec<Arc<dyn Fft<T>>> = sizes[1..].iter().map(|&n| plan(n)).collect();
        let last = size(lengths.last().unwrap_or(&1));
        let ends = matches!(kind, FftKind::Real | FftKind::InverseReal).then(|| {
            let even = last % 2 == 0;
            let roots = if even { (0..=last / 2).map(|k| root(k, last)).collect() } else { Vec::new() };
            Ends { n: last, plan: plan(if even { last / 2 } else { last }), roots }
        });
        let split =
            (ends.is_none() && lengths.len() == 1 && last >= LONG).then(|| divisor(last)).flatten().map(|rows| {
                let columns = last / rows;
                Split {
                    rows,
                    columns,
                    of_column: plan(rows),
                    of_row: plan(columns),
                    fine: (0..COARSE).map(|k| root(k, last)).collect(),
                    coarse: (0..last.div_ceil(COARSE)).map(|k| root(k * COARSE, last)).collect(),
                    inverse,
                }
            });
        let count: f64 = lengths.iter().map(|&n| n as f64).product();
        Self { kind, sizes, plans, split, ends, scale: inverse.then(|| T::rounded(1.0 / count)) }
    }

    /// Transforms along all dimensions of `values` except the last.
    fn outer(&self, values: &mut [Complex<T>], threads: usize) {
        let dims = self.plans.len();
        for d in (0..dims - 1).rev() {
            let inner: usize = self.sizes[d + 2..].iter().product();
            columns(&*self.plans[d], values, self.sizes[d + 1], inner, threads, &|_, _, v| v);
        }
    }

    /// Transforms along the last dimension of `values`, in place.
    fn rows(&self, values: &mut [Complex<T>], threads: usize) {
        let plan = &self.plans[self.plans.len() - 1];
        let n = plan.len();
        match &self.split {
            Some(split) if threads > 1 && values.len() == n => split.run(values, threads),
            _ => share(threads, n, values, |_, part| {
                let mut scratch = vec![Complex::new(T::zero(), T::zero()); plan.get_inplace_scratch_len()];
                plan.process_with_scratch(part, &mut scratch);
            }),
        }
    }
}

impl<T: Real> Native for Transform<T> {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let scaled = |v: Complex<T>| self.scale.map_or(v, |by| v.scale(by));
        match (self.kind, &self.ends) {
            (FftKind::Real, Some(ends)) => {
                let from: &[T] = operands[0].elements();
                let to: &mut [Complex<T>] = results[0].elements();
                let half = ends.n / 2 + 1;
                share(threads, half, to, |first, part| {
                    let mut buffers = Buffers::of(ends);
                    for (i, to) in part.chunks_mut(half).enumerate() {
                        ends.forward(&from[(first + i) * ends.n..][..ends.n], to, &mut buffers);
                    }
                });
                self.outer(to, threads);
            }
            (FftKind::InverseReal, Some(ends)) => {
                let from: &[Complex<T>] = operands[0].elements();
                let to: &mut [T] = results[0].elements();
                let half = ends.n / 2 + 1;
                let mut values = Vec::new();
                let from = if self.plans.len() > 1 {
                    values.extend_from_slice(from);
                    self.outer(&mut values, threads);
                    &values[..]
                } else {
                    from
                };
                share(threads, ends.n, to, |first, part| {
                    let mut buffers = Buffers::of(ends);
                    for (i, to) in part.chunks_mut(ends.n).enumerate() {
                        ends.backward(&from[(first + i) * half..][..half], to, &mut buffers);
                        to.iter_mut().for_each(|v| *v = scaled(Complex::new(*v, T::zero())).re);
                    }
                });
            }
            _ => {
                let from: &[Complex<T>] = operands[0].elements();
                let to: &mut [Complex<T>] = results[0].elements();
                let n = self.plans[self.plans.len() - 1].len();
                share(threads, n, to, |first, part| {
                    let from = &from[first * n..][..part.len()];
                    part.iter_mut().zip(from).for_each(|(to, &from)| *to = scaled(from));
                });
                self.rows(to, threads);
                self.outer(to, threads);
            }
        }
        Ok(())
    }
}

struct Buffers<T> {
    line: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: Real> Buffers<T> {
    fn of(ends: &Ends<T>) -> Self {
        let new = |n: usize| vec![Complex::new(T::zero(), T::zero()); n];
        Self { line: new(ends.plan.len()), scratch: new(ends.plan.get_inplace_scratch_len()) }
    }
}

impl<T: Real> Ends<T> {
    fn forward(&self, from: &[T], to: &mut [Complex<T>], buffers: &mut Buffers<T>) {
        let line = &mut buffers.line;
        if self.n % 2 == 1 {
            line.iter_mut().zip(from).for_each(|(z, &x)| *z = Complex::new(x, T::zero()));
            self.plan.process_with_scratch(line, &mut buffers.scratch);
            to.copy_from_slice(&line[..to.len()]);
            return;
        }
        // Treats pairs of neighbors as complex numbers, and separates the transforms of both parts by symmetry.
        let m = self.n / 2;
        line.iter_mut().enumerate().for_each(|(k, z)| *z = Complex::new(from[2 * k], from[2 * k + 1]));
        self.plan.process_with_scratch(line, &mut buffers.scratch);
        let half = T::rounded(0.5);
        for (k, to) in to.iter_mut().enumerate() {
            let (a, b) = (line[k % m], line[(m - k) % m].conj());
            let odd = (a - b) * self.roots[k];
            // (a + b) / 2 - i odd / 2
            *to = Complex::new((a.re + b.re + odd.im) * half, (a.im + b.im - odd.re) * half);
        }
    }

    /// Transforms back, without the division by the length.
    fn backward(&self, from: &[Complex<T>], to: &mut [T], buffers: &mut Buffers<T>) {
        let (n, line) = (self.n, &mut buffers.line);
        // The spectrum of real values is real at 0 and at the half. Imaginary parts there are ignored.
        let at = |k: usize| if k == 0 || 2 * k == n { Complex::new(from[k].re, T::zero()) } else { from[k] };
        if n % 2 == 1 {
            for (k, z) in line.iter_mut().enumerate() {
                *z = if 2 * k < n { at(k) } else { at(n - k).conj() };
            }
            self.plan.process_with_scratch(line, &mut buffers.scratch);
            to.iter_mut().zip(line).for_each(|(x, z)| *x = z.re);
            return;
        }
        let m = n / 2;
        for (k, z) in line.iter_mut().enumerate() {
            let (a, b) = (at(k), at(m - k).conj());
            let odd = (a - b) * self.roots[k].conj();
            // a + b + i odd
            *z = Complex::new(a.re + b.re - odd.im, a.im + b.im + odd.re);
        }
        self.plan.process_with_scratch(line, &mut buffers.scratch);
        for (pair, z) in to.chunks_exact_mut(2).zip(line) {
            (pair[0], pair[1]) = (z.re, z.im);
        }
    }
}

impl<T: Real> Split<T> {
    fn run(&self, values: &mut [Complex<T>], threads: usize) {
        let (rows, columns_count) = (self.rows, self.columns);
        let factor = |row: usize, column: usize, v: Complex<T>| {
            let k = row * column;
            let root = self.fine[k % COARSE] * self.coarse[k / COARSE];
            v * if self.inverse { root.conj() } else { root }
        };
        columns(&*self.of_column, values, rows, columns_count, threads, &factor);
        let mut turned = vec![Complex::new(T::zero(), T::zero()); values.len()];
        share(threads, columns_count, values, |_, part| {
            let mut scratch = vec![Complex::new(T::zero(), T::zero()); self.of_row.get_inplace_scratch_len()];
            self.of_row.process_with_scratch(part, &mut scratch);
        });
        transpose(values, &mut turned, rows, columns_count, threads);
        share(threads, 1, values, |first, part| part.copy_from_slice(&turned[first..][..part.len()]));
    }
}

/// Returns the divisor of `n` that is nearest below its root, if it isn't much smaller.
fn divisor(n: usize) -> Option<usize> {
    let root = n.isqrt();
    (root / 16..=root).rev().find(|&d| d > 1 && n.is_multiple_of(d))
}

/// Sets `to` to the transpose of `from`, a matrix of `rows` rows.
fn transpose<T: Copy + Send + Sync>(from: &[T], to: &mut [T], rows: usize, columns: usize, threads: usize) {
    share(threads, LINES * rows, to, |first, part| {
        for (block, to) in part.chunks_mut(LINES * rows).enumerate() {
            let column = (first + block) * LINES;
            for start in (0..rows).step_by(LINES) {
                for (c, line) in to.chunks_mut(rows).enumerate() {
                    let end = rows.min(start + LINES);
                    for r in start..end {
                        line[r] = from[r * columns + column + c];
                    }
                }
            }
        }
    });
}

/// Transforms the lines of length `n` whose elements are `inner` elements apart, and applies `then(position in the
/// line, number of the line within its group, value)`.
fn columns<T: Real>(
    plan: &dyn Fft<T>,
    values: &mut [Complex<T>],
    n: usize,
    inner: usize,
    threads: usize,
    then: &(dyn Fn(usize, usize, Complex<T>) -> Complex<T> + Sync),
) {
    if n == 0 || inner == 0 {
        return;
    }
    let groups = values.len() / (n * inner);
    let tiles = inner.div_ceil(LINES);
    let shared = DisjointSlice::new(values);
    let each = (groups * tiles).div_ceil(if threads > 1 { 4 * threads } else { 1 }).max(1);
    let work = |first: usize| {
        let mut lines = vec![Complex::new(T::zero(), T::zero()); n * LINES];
        let mut scratch = vec![Complex::new(T::zero(), T::zero()); plan.get_inplace_scratch_len()];
        for tile in first..(first + each).min(groups * tiles) {
            let (group, start) = (tile / tiles, tile % tiles * LINES);
            let width = LINES.min(inner - start);
            // SAFETY: each tile belongs to one thread, and rows of different tiles don't overlap: `start + width` is at
            // most the start of the next tile. A row is in use only until the next one is.
            let row = |place: usize| unsafe {
                let first = (group * n + place) * inner + start;
                shared.part(first..first + width)
            };
            for place in 0..n {
                row(place).iter().enumerate().for_each(|(l, &v)| lines[l * n + place] = v);
            }
            plan.process_with_scratch(&mut lines[..width * n], &mut scratch);
            for place in 0..n {
                row(place).iter_mut().enumerate().for_each(|(l, v)| *v = then(place, start + l, lines[l * n + place]));
            }
        }
    };
    let starts = (0..groups * tiles).step_by(each);
    if threads > 1 {
        starts.collect::<Vec<_>>().into_par_iter().for_each(work);
    } else {
        starts.for_each(work);
    }
}
