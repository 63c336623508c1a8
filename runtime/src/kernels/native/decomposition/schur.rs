//! Schur form by the QR algorithm in double precision, with the shifts of the reference, so that eigenvalues are found
//! in the same order. A step's rotations of rows are applied column by column, because columns are contiguous: a column
//! gets all earlier rotations when it is first needed, and the columns after the last one get them at the end.

use std::marker::PhantomData;

use faer::{Mat, MatRef};
use rustfft::num_complex::Complex;

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::real_schur;
use super::reduce::{hessenberg, unitary};

pub(super) type C = Complex<f64>;

/// The maximum number of rows of a matrix that is reduced with the reference's operations in their order. A sign of the
/// form may depend on the last bit of an element that converges to 0, so smaller matrices have the reference's bits.
/// Larger ones are reduced in blocks, which takes less time.
pub(super) const EXACT_ROWS: usize = 256;

/// The maximum number of steps for one eigenvalue.
pub(super) const MOST_STEPS: usize = 60;

/// A square matrix, stored by columns.
pub(super) struct Columns<E> {
    pub n: usize,
    values: Vec<E>,
}

impl<E: Copy> Columns<E> {
    fn of(n: usize, m: MatRef<'_, E>) -> Self {
        let mut values = Vec::with_capacity(n * n);
        (0..n).for_each(|j| values.extend((0..n).map(|i| m[(i, j)])));
        Self { n, values }
    }

    #[inline(always)]
    pub(super) fn at(&self, i: usize, j: usize) -> E {
        self.values[j * self.n + i]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, i: usize, j: usize, value: E) {
        self.values[j * self.n + i] = value;
    }

    #[inline(always)]
    pub(super) fn column(&mut self, j: usize) -> &mut [E] {
        &mut self.values[j * self.n..][..self.n]
    }

    /// Returns the first `rows` rows of `N` neighboring columns.
    #[inline(always)]
    pub(super) fn neighbors<const N: usize>(&mut self, first: usize, rows: usize) -> [&mut [E]; N] {
        let mut columns = self.values[first * self.n..].chunks_exact_mut(self.n);
        std::array::from_fn(|_| columns.next().map_or(&mut [][..], |column| &mut column[..rows]))
    }

    /// Returns the matrix's elements, row after row.
    pub(super) fn rows(&self) -> impl Iterator<Item = E> {
        (0..self.n * self.n).map(|at| self.at(at / self.n, at % self.n))
    }

    pub(super) fn matrix(&self) -> MatRef<'_, E> {
        MatRef::from_column_major_slice(&self.values, self.n, self.n)
    }
}

/// Reduces to a Hessenberg matrix, and returns it with the unitary matrix if `vectors` is set. Returns `None` if
/// elements aren't finite.
pub(super) fn prepare<E: Field>(
    threads: usize,
    mut a: Mat<E>,
    vectors: bool,
) -> Option<(Columns<E>, Option<Columns<E>>)> {
    let n = a.nrows();
    if !(0..n).all(|j| a.col_as_slice(j).iter().all(|v| v.is_number())) {
        return None;
    }
    let mut taus = vec![E::zeroed(); n.saturating_sub(1)];
    let (mut h, q) = if n <= EXACT_ROWS {
        let mut h = Columns::of(n, a.as_ref());
        pulp::Arch::new().dispatch(Reduce { a: &mut h, taus: &mut taus });
        let q = vectors.then(|| product_of_reflectors(&h, &taus));
        (h, q)
    } else {
        hessenberg(threads, a.as_mut(), 0..n, &mut taus);
        let q = vectors.then(|| Columns::of(n, unitary(threads, a.as_ref(), &taus).as_ref()));
        (Columns::of(n, a.as_ref()), q)
    };
    (0..n).for_each(|j| h.column(j)[(j + 2).min(n)..].fill(E::zeroed()));
    Some((h, q))
}

/// Reduces a matrix to Hessenberg form above the reflectors' vectors, one reflector after the other. Each element is
/// computed by the reference's operations in their order.
struct Reduce<'a, E> {
    a: &'a mut Columns<E>,
    taus: &'a mut [E],
}

impl<E: Field> pulp::WithSimd for Reduce<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { a, taus } = self;
        let n = a.n;
        for (k, tau) in taus.iter_mut().enumerate() {
            *tau = reflector(&mut a.column(k)[k + 1..]);
            let tail = a.column(k)[k + 2..].to_vec();
            // The columns from `k + 1` on, multiplied by the reflector from the right.
            let mut by = a.column(k + 1).to_vec();
            for (j, &v) in tail.iter().enumerate() {
                by.iter_mut().zip(a.column(k + 2 + j)).for_each(|(sum, x)| *sum += *x * v);
            }
            by.iter_mut().for_each(|sum| *sum *= *tau);
            a.column(k + 1).iter_mut().zip(&by).for_each(|(x, &by)| *x -= by);
            for (j, v) in tail.iter().enumerate() {
                let v = v.conjugate();
                a.column(k + 2 + j).iter_mut().zip(&by).for_each(|(x, &by)| *x -= by * v);
            }
            (k + 1..n).for_each(|j| reflect(&mut a.column(j)[k + 1..], &tail, tau.conjugate()));
        }
    }
}

/// Makes `x` a multiple of the first unit vector, and stores the tail of the reflector's vector after it. Returns the
/// reflector's factor.
fn reflector<E: Field>(x: &mut [E]) -> E {
    let (first, tail) = x.split_first_mut().expect("a reflector has a row");
    let head = first.wide();
    let rest = tail.iter().fold(0.0f64, |length, v| length.hypot(v.wide().norm()));
    if rest == 0.0 && head.im == 0.0 {
        return E::zeroed();
    }
    // The new element is real and has the opposite sign, to avoid cancellation.
    let beta = -head.norm().hypot(rest).copysign(head.re);
    tail.iter_mut().for_each(|v| *v = E::narrow(divide(v.wide(), head - beta)));
    *first = E::narrow(beta.into());
    E::narrow(C::new((beta - head.re) / beta, -head.im / beta))
}

/// Multiplies a column by a reflector, whose vector is 1 followed by `tail`.
#[inline(always)]
fn reflect<E: Field>(column: &mut [E], tail: &[E], tau: E) {
    let (first, rest) = column.split_first_mut().expect("a reflector has a row");
    let by = tau * tail.iter().zip(&*rest).fold(*first, |sum, (v, &x)| sum + v.conjugate() * x);
    *first -= by;
    rest.iter_mut().zip(tail).for_each(|(x, &v)| *x -= v * by);
}

/// Returns the product of [`Reduce`]'s reflectors.
fn product_of_reflectors<E: Field>(a: &Columns<E>, taus: &[E]) -> Columns<E> {
    let n = a.n;
    let mut q = Columns::of(n, Mat::identity(n, n).as_ref());
    for (k, &tau) in taus.iter().enumerate().rev() {
        let tail = &a.values[k * n + k + 2..(k + 1) * n];
        (k + 1..n).for_each(|j| reflect(&mut q.column(j)[k + 1..], tail, tau));
    }
    q
}

/// Returns the first row of the block that ends with row `last` and has no zeros below its diagonal. Sets elements to 0
/// that are negligible compared with their neighbors on the diagonal.
pub(super) fn square<E: Field>(t: &mut Columns<E>, last: usize) -> usize {
    let size = |i: usize, j: usize| t.at(i, j).wide().norm();
    let small = |i: usize| {
        let below = size(i, i - 1);
        below <= f64::EPSILON * (size(i - 1, i - 1) + size(i, i)) || below < f64::MIN_POSITIVE
    };
    let first = (1..=last).rev().find(|&i| small(i)).unwrap_or(0);
    if first > 0 {
        t.set(first, first - 1, E::zeroed());
    }
    first
}

/// Returns the triangle `t`, and the unitary `q` with `a = q t q^H` if `vectors` is set. Returns `None` if elements
/// aren't finite, or if the algorithm doesn't converge.
pub(super) fn schur(threads: usize, a: Mat<C>, vectors: bool) -> Option<(Columns<C>, Option<Columns<C>>)> {
    let (mut t, mut q) = prepare(threads, a, vectors)?;
    let arch = pulp::Arch::new();
    let mut last = t.n.saturating_sub(1);
    let mut steps = 0;
    while last > 0 {
        let first = square(&mut t, last);
        if first == last {
            (last, steps) = (last - 1, 0);
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        let shift = if steps % 10 == 0 { t.at(last, last) + t.at(last, last - 1).norm() } else { shift(&t, last) };
        arch.dispatch(Step { t: &mut t, q: q.as_mut(), first, last, shift });
    }
    Some((t, q))
}

/// Returns the eigenvalue of the last two rows and columns that is nearer to the last element.
fn shift(t: &Columns<C>, last: usize) -> C {
    let [a, b, c, d] =
        [(last - 1, last - 1), (last - 1, last), (last, last - 1), (last, last)].map(|(i, j)| t.at(i, j));
    let half = (a - d) * 0.5;
    // The sum with 0 makes a zero's sign the reference's.
    let root = root(half * half + b * c + C::ZERO);
    let below = if (half + root).norm() >= (half - root).norm() { half + root } else { half - root };
    if below == C::ZERO { d } else { d - divide(b * c, below) }
}

/// Returns the square root of a finite number, as the reference does.
fn root(z: C) -> C {
    if z == C::ZERO {
        return C::ZERO;
    }
    // The modulus is computed from a quarter of the number if it could overflow.
    let large = z.re.abs().max(z.im.abs()) > 1e300;
    let z = if large { z / 4.0 } else { z };
    let t = ((z.re.abs() + z.norm()) / 2.0).sqrt();
    let root = if z.re >= 0.0 { C::new(t, z.im / (2.0 * t)) } else { C::new(z.im.abs() / (2.0 * t), t.copysign(z.im)) };
    if large { root * 2.0 } else { root }
}

/// Divides, also numbers whose squares underflow or overflow, as the reference does.
#[inline(always)]
pub(super) fn divide(x: C, y: C) -> C {
    if x.im == 0.0 && y.im == 0.0 {
        return C::new(x.re / y.re, 0.0);
    }
    let largest = y.re.abs().max(y.im.abs());
    let exponent = ((largest.to_bits() >> 52) as i32 - 1023).clamp(-1022, 1022);
    let scale = if largest > 0.0 { 2f64.powi(-exponent) } else { 1.0 };
    let y = y * scale;
    let product = x * y.conj();
    let norm = y.norm_sqr();
    C::new(product.re / norm * scale, product.im / norm * scale)
}

/// A rotation of two neighboring rows or columns: its cosine and sine.
#[derive(Clone, Copy)]
struct Turn(f64, C);

impl Turn {
    /// Returns the rotation that makes `(x, y)` a multiple of the first unit vector.
    #[inline(always)]
    fn of(x: C, y: C) -> Self {
        let (a, b) = (x.norm(), y.norm());
        if b == 0.0 {
            return Self(1.0, C::ZERO);
        }
        if a == 0.0 {
            return Self(0.0, C::ONE);
        }
        let r = a.hypot(b);
        Self(a / r, x * (1.0 / a) * (y.conj() * (1.0 / r)))
    }

    /// Rotates rows `i` and `i + 1` of a column.
    #[inline(always)]
    fn rows(self, column: &mut [C], i: usize) {
        let (x, y) = (column[i], column[i + 1]);
        (column[i], column[i + 1]) = (x * self.0 + self.1 * y, y * self.0 - self.1.conj() * x);
    }

    #[inline(always)]
    fn columns(self, [left, right]: [&mut [C]; 2]) {
        for (x, y) in left.iter_mut().zip(right) {
            (*x, *y) = (*x * self.0 + self.1.conj() * *y, *y * self.0 - self.1 * *x);
        }
    }
}

/// One step of the algorithm on rows and columns `first` to `last`.
struct Step<'a> {
    t: &'a mut Columns<C>,
    q: Option<&'a mut Columns<C>>,
    first: usize,
    last: usize,
    shift: C,
}

impl pulp::WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { t, mut q, first, last, shift } = self;
        let n = t.n;
        let mut turns: Vec<Turn> = Vec::with_capacity(last - first);
        for k in first..last {
            let turn = match k == first {
                true => Turn::of(t.at(first, first) - shift, t.at(first + 1, first)),
                false => Turn::of(t.at(k, k - 1), t.at(k + 1, k - 1)),
            };
            let new = t.column(k + 1);
            turns.iter().enumerate().for_each(|(i, turn)| turn.rows(new, first + i));
            turns.push(turn);
            for j in k.max(first + 1) - 1..=k + 1 {
                turn.rows(t.column(j), k);
            }
            if k > first {
                t.set(k + 1, k - 1, C::ZERO);
            }
            turn.columns(t.neighbors(k, (k + 3).min(last + 1)));
            if let Some(q) = &mut q {
                turn.columns(q.neighbors(k, n));
            }
        }
        for j in last + 1..n {
            let column = t.column(j);
            turns.iter().enumerate().for_each(|(i, turn)| turn.rows(column, first + i));
        }
    }
}

pub(super) struct Schur<T> {
    n: usize,
    vectors: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Schur<T> {
    pub(super) fn new(n: usize, vectors: bool) -> Self {
        Self { n, vectors, of: PhantomData }
    }
}

impl<T: Field> Decompose for Schur<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let (n, from): (_, &[T]) = (self.n, operands[0].elements());
        let [t_to, q_to, values @ .., selected, info] = results else { return };
        selected.elements::<i32>()[0] = 0;
        let parts = |v: C| [v.re, v.im];
        let found = if T::IS_REAL {
            let a = Mat::from_fn(n, n, |i, j| from[i * n + j].wide().re);
            real_schur::schur(threads, a, self.vectors).map(|(t, q)| {
                T::write_real(t_to.bytes, t.rows());
                if let Some(q) = q {
                    T::write_real(q_to.bytes, q.rows());
                }
                let (re, im) = real_schur::values(&t);
                T::write_real(values[0].bytes, re.into_iter());
                T::write_real(values[1].bytes, im.into_iter());
            })
        } else {
            let a = Mat::from_fn(n, n, |i, j| from[i * n + j].wide());
            schur(threads, a, self.vectors).map(|(t, q)| {
                T::write_real(t_to.bytes, t.rows().flat_map(parts));
                if let Some(q) = q {
                    T::write_real(q_to.bytes, q.rows().flat_map(parts));
                }
                T::write_real(values[0].bytes, (0..n).flat_map(|i| parts(t.at(i, i))));
            })
        };
        info.elements::<i32>()[0] = if found.is_some() { 0 } else { n as i32 };
        if found.is_none() {
            let nan = T::narrow(C::new(f64::NAN, f64::NAN));
            let all = [t_to, q_to].into_iter().chain(values);
            all.for_each(|result| result.elements::<T>().fill(nan));
        } else if !self.vectors {
            q_to.bytes.fill(0);
        }
    }
}
