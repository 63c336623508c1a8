//! Products with few rows, or few columns, for example when a model generates text word by word.
//!
//! Reading the wide operand takes most of the time, so it is read once, in the order of memory, and multiplied
//! directly. The library would copy it first. The few rows are copied instead.
//!
//! A sum has the same order for every number of threads, because each thread computes different columns.

use pulp::{Arch, Simd, WithSimd};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::product::{PARTS, Product};
use crate::across::AcrossThreads;

mod vectors;

pub(super) use vectors::Vectors;

/// Limits of the products that are computed here, by the layout of the wide operand.
struct Limits {
    /// The maximum number of rows: for more rows, the library is as fast.
    rows: usize,
    /// The minimum number of columns, which are combined into vectors, or several of which are read at once.
    columns: usize,
    /// The minimum number of contracted elements.
    depth: usize,
    /// The minimum number of elements of the wide operand: the library is as fast if it is in a core's cache.
    least: usize,
}

/// The limits if the wide operand's rows are contiguous.
const ALONG_ROWS: Limits = Limits { rows: 48, columns: 64, depth: 16, least: 1 << 18 };

/// The limits if its columns are contiguous: the elements of a vector are summed at the end of each column.
const ALONG_COLUMNS: Limits = Limits { rows: 32, columns: COLUMNS, depth: 256, least: 1 << 16 };

/// The maximum number of rows, or columns, of any of these products.
pub(super) const MOST: usize = if ALONG_ROWS.rows > ALONG_COLUMNS.rows { ALONG_ROWS.rows } else { ALONG_COLUMNS.rows };

/// If rows are contiguous: the number of rows of the wide operand that are multiplied while the sums are in registers.
const STEPS: usize = 8;

/// The number of sums that stay in the nearest cache.
const NEAR: usize = 6144;

/// If rows are contiguous: the minimum number of columns of a thread's part, unless there are more threads than such
/// parts.
const WIDE: usize = 2048;

/// If columns are contiguous: the number of elements of a column that are multiplied with all rows before the next
/// ones.
const DEPTH: usize = 256;

/// If columns are contiguous: the number of columns that are read at once.
const COLUMNS: usize = 4;

/// A product of a few rows with a wide operand.
struct Thin<T> {
    /// Rows, columns and contracted elements.
    sizes: [usize; 3],
    /// A copy of the rows: blocks of contracted elements, each with all rows.
    rows: Vec<T>,
    wide: *const T,
    /// The strides of the wide operand's rows and columns.
    strides: [isize; 2],
    out: *mut T,
    out_strides: [isize; 2],
    adds: bool,
}

/// Multiplies if the product is within the limits. Returns whether it did.
///
/// # Safety
///
/// The same as for [`Product::run`].
pub(super) unsafe fn multiply<T: Vectors>(product: &Product<T>, threads: usize) -> bool {
    let product = if product.sizes[1] < product.sizes[0] { product.turned() } else { *product };
    let [few, many, depth] = product.sizes;
    let strides = product.rhs_strides;
    let limits = match strides {
        [_, 1] => ALONG_ROWS,
        [1, _] => ALONG_COLUMNS,
        _ => return false,
    };
    if few > limits.rows || many < limits.columns || depth < limits.depth || many.saturating_mul(depth) < limits.least {
        return false;
    }
    let block = if strides[1] == 1 { STEPS } else { DEPTH };
    let mut copied = Vec::with_capacity(few * depth);
    for start in (0..depth).step_by(block) {
        for row in 0..few {
            let at = product.lhs.wrapping_offset(row as isize * product.lhs_strides[0]);
            let steps = start..(start + block).min(depth);
            // SAFETY: `row < few` and `k < depth`, so this is an element of the left operand.
            copied.extend(steps.map(|k| unsafe { at.wrapping_offset(k as isize * product.lhs_strides[1]).read() }));
        }
    }
    let thin = Thin {
        sizes: product.sizes,
        rows: copied,
        wide: product.rhs,
        strides,
        out: product.out,
        out_strides: product.out_strides,
        adds: product.adds,
    };
    let arch = Arch::new();
    let parts = match threads {
        0 | 1 => 1,
        // The processor prefetches along a row, and starts anew in each part of the row.
        _ if strides[1] == 1 => (many / WIDE).clamp(threads, threads * PARTS),
        _ => threads * PARTS,
    };
    let each = many.div_ceil(parts).next_multiple_of(64);
    // SAFETY: it has sizes, raw pointers, and floats, which are `Send` and `Sync`.
    let thin = unsafe { AcrossThreads::new(thin) };
    let part = |first: usize| arch.dispatch(Part { thin: thin.get(), first, columns: each.min(many - first) });
    let parts = many.div_ceil(each);
    if parts > 1 {
        (0..parts).into_par_iter().for_each(|i| part(i * each));
    } else {
        part(0);
    }
    true
}

/// Some columns of a product.
struct Part<'t, T> {
    thin: &'t Thin<T>,
    first: usize,
    columns: usize,
}

impl<T: Vectors> WithSimd for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: sizes, strides and pointers are those of the product, which the contract of `multiply` makes valid.
        unsafe {
            match self.thin.strides[1] == 1 {
                true if S::REGISTER_COUNT >= 32 => self.along_rows::<S, 2>(simd),
                true => self.along_rows::<S, 1>(simd),
                false => self.along_columns(simd),
            }
        }
    }
}

impl<T: Vectors> Part<'_, T> {
    /// Adds a sum to the result, or overwrites the result with it.
    ///
    /// # Safety
    ///
    /// The column must be one of the part's.
    #[inline(always)]
    unsafe fn store(&self, row: usize, column: usize, sum: T) {
        let [down, along] = self.thin.out_strides;
        let to = self.thin.out.wrapping_offset(row as isize * down + (self.first + column) as isize * along);
        // SAFETY: the row and the column are inside the result.
        unsafe { to.write(if self.thin.adds { T::plus(to.read(), sum) } else { sum }) };
    }

    /// Computes the part if rows of the wide operand are contiguous: multiplies some rows at a time with the elements
    /// of all narrow rows, and adds the products to sums of many columns.
    ///
    /// # Safety
    ///
    /// The operands must have the product's sizes and strides.
    #[inline(always)]
    unsafe fn along_rows<S: Simd, const N: usize>(&self, simd: S) {
        let [rows, _, depth] = self.thin.sizes;
        let lanes = N * T::lanes::<S>();
        let width = (NEAR / rows).min(4096).next_multiple_of(lanes).min(self.columns.next_multiple_of(lanes));
        let mut sums = vec![T::default(); rows * width];
        let mut tail = vec![T::default(); STEPS * lanes];
        for start in (0..self.columns).step_by(width) {
            let columns = width.min(self.columns - start);
            let whole = columns - columns % lanes;
            sums.fill(T::default());
            for k in (0..depth).step_by(STEPS) {
                let steps = STEPS.min(depth - k);
                let row = |d: usize| {
                    let at = (k + d) as isize * self.thin.strides[0] + (self.first + start) as isize;
                    self.thin.wide.wrapping_offset(at)
                };
                let narrow = self.thin.rows[k * rows..].as_ptr();
                let block = Lines { narrow, rows, steps, width, columns: whole };
                // SAFETY: `whole` columns of each row are whole vectors inside the part. `sums` has `rows` rows of
                // `width` elements.
                unsafe { block.add::<S, N>(simd, row, sums.as_mut_ptr()) };
                if whole < columns {
                    for d in 0..steps {
                        for j in whole..columns {
                            // SAFETY: `d < steps` and `start + j` is below the part's columns, so this is an element of
                            // the operand.
                            tail[d * lanes + j - whole] = unsafe { row(d).add(j).read() };
                        }
                    }
                    let rest = Lines { columns: lanes, ..block };
                    let row = |d: usize| tail[d * lanes..].as_ptr();
                    // SAFETY: `width` is a multiple of `lanes` and larger than `whole`, so the sums have a whole vector
                    // from `whole` on. `tail` has `STEPS` rows of `lanes` elements.
                    unsafe { rest.add::<S, N>(simd, row, sums.as_mut_ptr().add(whole)) };
                }
            }
            for (i, sums) in sums.chunks_exact(width).enumerate() {
                for (j, &sum) in sums[..columns].iter().enumerate() {
                    // SAFETY: `start + j` is below the part's columns.
                    unsafe { self.store(i, start + j, sum) };
                }
            }
        }
    }

    /// Computes the part if columns of the wide operand are contiguous: multiplies a few columns at a time with all
    /// narrow rows, by blocks of contracted elements.
    ///
    /// # Safety
    ///
    /// The operands must have the product's sizes and strides.
    #[inline(always)]
    unsafe fn along_columns<S: Simd>(&self, simd: S) {
        let [rows, _, depth] = self.thin.sizes;
        let mut sums = vec![[T::zero(simd); COLUMNS]; rows];
        let mut ends = vec![[T::default(); COLUMNS]; rows];
        for start in (0..self.columns).step_by(COLUMNS) {
            let columns = COLUMNS.min(self.columns - start);
            sums.fill([T::zero(simd); COLUMNS]);
            ends.fill([T::default(); COLUMNS]);
            for k in (0..depth).step_by(DEPTH) {
                let steps = DEPTH.min(depth - k);
                // Missing columns repeat the last one.
                let from: [*const T; COLUMNS] = std::array::from_fn(|j| {
                    let column = (self.first + start + j.min(columns - 1)) as isize;
                    self.thin.wide.wrapping_offset(column * self.thin.strides[1] + k as isize)
                });
                let narrow = &self.thin.rows[k * rows..][..steps * rows];
                let vectors = steps - steps % T::lanes::<S>();
                let mut first = 0;
                while first < rows {
                    // SAFETY: the row count of each call is at most `rows - first`. Rows and columns have `steps`
                    // elements.
                    unsafe {
                        let at = narrow.as_ptr().add(first * steps);
                        if S::REGISTER_COUNT >= 32 && first + 4 <= rows {
                            dots::<T, S, 4>(simd, at, steps, from, vectors, &mut sums[first..]);
                            first += 4;
                        } else if first + 2 <= rows {
                            dots::<T, S, 2>(simd, at, steps, from, vectors, &mut sums[first..]);
                            first += 2;
                        } else {
                            dots::<T, S, 1>(simd, at, steps, from, vectors, &mut sums[first..]);
                            first += 1;
                        }
                    }
                }
                for (row, ends) in narrow.chunks_exact(steps).zip(&mut ends) {
                    for (j, end) in ends.iter_mut().enumerate() {
                        for (d, &a) in row.iter().enumerate().skip(vectors) {
                            // SAFETY: `d < steps`, so this is an element of the column.
                            *end = T::plus(*end, T::times(a, unsafe { from[j].add(d).read() }));
                        }
                    }
                }
            }
            for (i, (sums, ends)) in sums.iter().zip(&ends).enumerate() {
                for j in 0..columns {
                    // SAFETY: `start + j` is below the part's columns.
                    unsafe { self.store(i, start + j, T::plus(T::sum(simd, sums[j]), ends[j])) };
                }
            }
        }
    }
}

/// Some rows of the wide operand, and the elements of the narrow rows that multiply them.
#[derive(Clone, Copy)]
struct Lines<T> {
    /// The `steps` elements of each narrow row.
    narrow: *const T,
    rows: usize,
    steps: usize,
    /// Number of sums of each narrow row.
    width: usize,
    /// Number of columns, a multiple of the vector length.
    columns: usize,
}

impl<T: Vectors> Lines<T> {
    /// Adds the products to sums.
    ///
    /// # Safety
    ///
    /// For each number below `steps`, `row` must return the address of `columns` valid elements. `sums` must be valid
    /// for `rows` rows of `width` elements, of which `columns` are used.
    #[inline(always)]
    unsafe fn add<S: Simd, const N: usize>(self, simd: S, row: impl Fn(usize) -> *const T, sums: *mut T) {
        let Self { narrow, rows, steps, width, columns } = self;
        let lanes = T::lanes::<S>();
        // SAFETY: all vectors are below `columns`, so they are inside the rows and sums by this function's contract.
        unsafe {
            if steps == STEPS {
                let from: [*const T; STEPS] = std::array::from_fn(&row);
                for j in (0..columns).step_by(N * lanes) {
                    let mut b = [[T::zero(simd); N]; STEPS];
                    for d in 0..STEPS {
                        for n in 0..N {
                            b[d][n] = T::load(simd, from[d].add(j + n * lanes));
                        }
                    }
                    for i in 0..rows {
                        let to = sums.add(i * width + j);
                        let mut sum = [T::zero(simd); N];
                        for n in 0..N {
                            sum[n] = T::load(simd, to.add(n * lanes));
                        }
                        for d in 0..STEPS {
                            let a = T::splat(simd, narrow.add(i * STEPS + d).read());
                            for n in 0..N {
                                sum[n] = T::add_product(simd, a, b[d][n], sum[n]);
                            }
                        }
                        for n in 0..N {
                            T::store(simd, to.add(n * lanes), sum[n]);
                        }
                    }
                }
                return;
            }
            for d in 0..steps {
                let from = row(d);
                for i in 0..rows {
                    let a = T::splat(simd, narrow.add(i * steps + d).read());
                    for j in (0..columns).step_by(lanes) {
                        let to = sums.add(i * width + j);
                        let sum = T::add_product(simd, a, T::load(simd, from.add(j)), T::load(simd, to));
                        T::store(simd, to, sum);
                    }
                }
            }
        }
    }
}

/// Adds products of `R` rows and [`COLUMNS`] columns to the sums, by vectors of elements of both.
///
/// # Safety
///
/// Rows must be `stride` elements apart. Rows and columns must have `depth` elements, a multiple of the vector length.
#[inline(always)]
unsafe fn dots<T: Vectors, S: Simd, const R: usize>(
    simd: S,
    rows: *const T,
    stride: usize,
    columns: [*const T; COLUMNS],
    depth: usize,
    sums: &mut [[T::Vector<S>; COLUMNS]],
) {
    let mut inner: [[T::Vector<S>; COLUMNS]; R] = std::array::from_fn(|r| sums[r]);
    // SAFETY: `d` is a multiple of the vector length below `depth`, so the vectors are inside by this function's
    // contract.
    unsafe {
        for d in (0..depth).step_by(T::lanes::<S>()) {
            let mut b = [T::zero(simd); COLUMNS];
            for j in 0..COLUMNS {
                b[j] = T::load(simd, columns[j].add(d));
            }
            for r in 0..R {
                let a = T::load(simd, rows.add(r * stride + d));
                for j in 0..COLUMNS {
                    inner[r][j] = T::add_product(simd, a, b[j], inner[r][j]);
                }
            }
        }
    }
    sums[..R].copy_from_slice(&inner);
}

#[cfg(test)]
mod tests;
