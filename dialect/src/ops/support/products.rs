//! Sums of products in the reference evaluator.

use crate::ir::{ElementClass, ElementType};
use crate::literal::Literal;
use crate::ops::support::combiner::{SHORT_SUM, promote};
use crate::scalar::{Scalar, ScalarOp, wrap};

/// Sums of products: integers wrap; floats are summed in order, short sums in f32 or wider, long ones in f64.
pub(crate) struct Products {
    element: ElementType,
    /// The type to which every step of a short sum is rounded.
    step: Option<ElementType>,
}

impl Products {
    /// Creates sums of `terms` products as elements of type `element`.
    pub(crate) fn new(element: ElementType, terms: usize) -> Self {
        let step = match element.class() {
            _ if terms > SHORT_SUM => None,
            ElementClass::Float if element.bits() < 32 => Some(ElementType::F32),
            ElementClass::Float | ElementClass::Complex => Some(element),
            _ => None,
        };
        Self { element, step }
    }

    /// Returns `sum` plus the product of one element of each side, given by its position.
    pub(crate) fn add(&self, sum: Scalar, lhs: (&Literal, usize), rhs: (&Literal, usize)) -> Scalar {
        let (a, b) = (lhs.0.get(lhs.1), rhs.0.get(rhs.1));
        let Some(step) = self.step else { return multiply_add(sum, a, b, self.element) };
        let (a, b) = (promote(a, lhs.0.element, step), promote(b, rhs.0.element, step));
        ScalarOp::Add.apply(step, step, &[sum, ScalarOp::Mul.apply(step, step, &[a, b])])
    }

    /// Returns the sum of every batch, row and column, computed one after the other.
    pub(crate) fn all(&self, element: ElementType, lhs: &Literal, rhs: &Literal, offsets: &Offsets) -> Vec<Scalar> {
        let Offsets { batch, rows, columns, inner } = offsets;
        let mut sums = Vec::with_capacity(batch.len() * rows.len() * columns.len());
        for &(l, r) in batch {
            for row in rows {
                for column in columns {
                    let add = |sum, &(i, j): &(usize, usize)| self.add(sum, (lhs, l + row + i), (rhs, r + column + j));
                    sums.push(inner.iter().fold(Scalar::zero(element), add));
                }
            }
        }
        sums
    }

    /// Returns the same sums for floats, bit for bit, in less time: each sum performs the same operations in the same
    /// order, but many are computed in parallel. `None` for other elements.
    pub(crate) fn all_floats(&self, lhs: &Literal, rhs: &Literal, offsets: &Offsets) -> Option<Vec<Scalar>> {
        if !self.element.is_float() {
            return None;
        }
        let (lhs, rhs) = (lhs.stored_floats()?, rhs.stored_floats()?);
        let float = |value: f64| Scalar::Float(value);
        Some(match self.step {
            Some(ElementType::F32) => {
                let narrow = |all: Vec<f64>| all.into_iter().map(|v| v as f32).collect::<Vec<f32>>();
                sums(&narrow(lhs), &narrow(rhs), offsets).into_iter().map(|v| float(v.into())).collect()
            }
            _ => sums(&lhs, &rhs, offsets).into_iter().map(float).collect(),
        })
    }
}

/// The positions of the elements that are multiplied: for each batch and each term on both sides, for each row on the
/// left, for each column on the right.
pub(crate) struct Offsets {
    pub(crate) batch: Vec<(usize, usize)>,
    pub(crate) rows: Vec<usize>,
    pub(crate) columns: Vec<usize>,
    pub(crate) inner: Vec<(usize, usize)>,
}

/// The number type of the computation.
trait Number: Copy + Default + Send + Sync + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

/// The number of rows and columns whose sums are computed together: as many as fit in registers.
const ROWS: usize = 4;
const COLUMNS: usize = 4;
/// The number of rows that are multiplied by all columns before the next rows are, so that they stay in the cache.
const NEAR: usize = 64;
/// The number of multiplications above which threads pay off.
const PARALLEL: usize = 1 << 22;

/// Returns the sum of every batch, row and column; each is computed term by term, in order.
fn sums<T: Number>(lhs: &[T], rhs: &[T], offsets: &Offsets) -> Vec<T> {
    let Offsets { batch, rows, columns, inner } = offsets;
    let (width, terms) = (columns.len(), inner.len());
    let mut found = vec![T::default(); batch.len() * rows.len() * width];
    if found.is_empty() || terms == 0 {
        return found;
    }
    let at = |from: &[T], i: usize| if from.len() == 1 { from[0] } else { from[i] };
    // For each batch and every group of columns, the elements of each term together.
    let panels = width.div_ceil(COLUMNS);
    let mut packed = vec![[T::default(); COLUMNS]; batch.len() * panels * terms];
    for (panel, packed) in packed.chunks_exact_mut(terms).enumerate() {
        let (start, first) = (batch[panel / panels].1, panel % panels * COLUMNS);
        for (packed, &(_, term)) in packed.iter_mut().zip(inner) {
            for (to, column) in packed.iter_mut().zip(&columns[first..]) {
                *to = at(rhs, start + column + term);
            }
        }
    }
    let block = |number: usize, found: &mut [T]| {
        let blocks = rows.len().div_ceil(NEAR);
        let (b, first) = (number / blocks, number % blocks * NEAR);
        let rows = &rows[first..rows.len().min(first + NEAR)];
        let mut left = vec![[T::default(); ROWS]; rows.len().div_ceil(ROWS) * terms];
        for (left, rows) in left.chunks_exact_mut(terms).zip(rows.chunks(ROWS)) {
            for (left, &(term, _)) in left.iter_mut().zip(inner) {
                for (to, row) in left.iter_mut().zip(rows) {
                    *to = at(lhs, batch[b].0 + row + term);
                }
            }
        }
        for (panel, right) in packed[b * panels * terms..][..panels * terms].chunks_exact(terms).enumerate() {
            for (few, left) in left.chunks_exact(terms).enumerate() {
                let made = tile(left, right);
                for (r, made) in made.iter().enumerate().take(rows.len() - few * ROWS) {
                    let to = &mut found[(few * ROWS + r) * width + panel * COLUMNS..];
                    let count = COLUMNS.min(width - panel * COLUMNS);
                    to[..count].copy_from_slice(&made[..count]);
                }
            }
        }
    };
    // The rows of a batch that are multiplied together, with their number.
    let mut blocks = Vec::new();
    let mut rest = &mut found[..];
    for _ in batch {
        for few in rows.chunks(NEAR) {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(few.len() * width);
            blocks.push((blocks.len(), own));
            rest = others;
        }
    }
    let multiplications = batch.len() * rows.len() * width * terms;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(blocks.len());
    if multiplications < PARALLEL || threads == 1 {
        blocks.into_iter().for_each(|(number, own)| block(number, own));
    } else {
        let each = blocks.len().div_ceil(threads);
        let block = &block;
        std::thread::scope(|scope| {
            while !blocks.is_empty() {
                let own = blocks.split_off(blocks.len().saturating_sub(each));
                scope.spawn(move || own.into_iter().for_each(|(number, own)| block(number, own)));
            }
        });
    }
    found
}

/// Returns the sums of a few rows and columns.
fn tile<T: Number>(left: &[[T; ROWS]], right: &[[T; COLUMNS]]) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    for (left, right) in left.iter().zip(right) {
        for r in 0..ROWS {
            for c in 0..COLUMNS {
                sums[r][c] = sums[r][c] + left[r] * right[c];
            }
        }
    }
    sums
}

/// Returns `sum + a * b` without rounding floats; `sum` has the class of `element`.
fn multiply_add(sum: Scalar, a: Scalar, b: Scalar, element: ElementType) -> Scalar {
    match sum {
        // For booleans, "or" is the sum and "and" the product.
        Scalar::Int(s) if element.class() == ElementClass::Bool => {
            Scalar::Int(s | i128::from(a.is_true() && b.is_true()))
        }
        Scalar::Int(s) => {
            let int = |v: Scalar| match v {
                Scalar::Int(v) => v,
                other => other.as_f64() as i128,
            };
            Scalar::Int(wrap(s.wrapping_add(int(a).wrapping_mul(int(b))), element))
        }
        Scalar::Float(s) => Scalar::Float(s + a.as_f64() * b.as_f64()),
        Scalar::Complex(re, im) => {
            let parts = |v: Scalar| match v {
                Scalar::Complex(re, im) => (re, im),
                other => (other.as_f64(), 0.0),
            };
            let ((a, b), (c, d)) = (parts(a), parts(b));
            Scalar::Complex(re + a * c - b * d, im + a * d + b * c)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares sums of all kinds of floats, of few and of many, and over splats, with the plain sums.
    #[test]
    fn sums_beside_each_other_are_those_one_after_the_other() {
        use ElementType::{BF16, F8E4M3FN, F16, F32, F64};
        let mut random = fastrand::Rng::with_seed(1);
        for case in 0..120 {
            let types = [F32, F64, BF16, F16, F8E4M3FN];
            let [left, right, element] = [(); 3].map(|()| if case % 2 == 0 { F32 } else { types[random.usize(..5)] });
            let [batch, rows, columns, terms] =
                [random.usize(1..3), random.usize(0..9), random.usize(0..9), random.usize(0..40)];
            // Sizes beyond one block of rows, and large enough for threads.
            let (rows, columns, terms) = match case {
                0 => (130, 170, 200),
                1 => (67, 3, 300),
                _ => (rows, columns, terms),
            };
            let mut tensor = |element: ElementType, size: usize| {
                if random.u32(..8) == 0 {
                    return Literal::splat(element, &[size as i64], Scalar::Float(0.1).round(element));
                }
                let mut value = || Scalar::Float((random.f64() - 0.5) * 2f64.powi(random.i32(-4..5))).round(element);
                Literal::from_scalars(element, &[size as i64], (0..size).map(|_| value()).collect::<Vec<_>>())
            };
            let (lhs, rhs) = (tensor(left, batch * rows * terms), tensor(right, batch * terms * columns));
            let offsets = Offsets {
                batch: (0..batch).map(|b| (b * rows * terms, b * terms * columns)).collect(),
                rows: (0..rows).map(|r| r * terms).collect(),
                columns: (0..columns).collect(),
                inner: (0..terms).map(|k| (k, k * columns)).collect(),
            };
            let products = Products::new(element, terms);
            let bits = |sums: Vec<Scalar>| sums.iter().map(|s| s.as_f64().to_bits()).collect::<Vec<u64>>();
            let (found, want) =
                (products.all_floats(&lhs, &rhs, &offsets), products.all(element, &lhs, &rhs, &offsets));
            assert_eq!(bits(found.expect("they are floats")), bits(want), "{left:?} x {right:?} -> {element:?}");
        }
    }
}
