//! Matrix products through a GEMM library for floats: any loop nest that is a [`Contraction`] with evenly strided
//! operands, such as a `dot_general`, an einsum with diagonals, or a convolution without padding.
//!
//! Loops of one role (batch, rows, contracted, columns) are joined if every tensor traverses them with one stride. The
//! longest loop of rows, of columns and of contracted elements goes to the library; the others become loops around it.
//! f32 is summed in f32, as XLA does for every `precision_config`, and so are the parts of complex numbers. Narrower
//! floats are summed in f32 and rounded once; integers wrap (`narrow`).

#![allow(unsafe_code, reason = "products read and write buffers by address and stride")]

use dialect::ir::{ElementType, OpRef};
use dialect::kernel::{Contraction, Kernel, Role};
use smallvec::SmallVec;

mod narrow;
mod packed;
mod parts;
mod product;
mod thin;

use narrow::is_supported;
pub(crate) use packed::{DEPTH, Packed, SharedSizes};
use product::{Float, PARALLEL, Product};

/// A strided loop: its number of positions, and the stride in each tensor, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    pub size: usize,
    pub lhs: isize,
    pub rhs: isize,
    pub out: isize,
}

/// The loops of a product, by role.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    pub batch: Vec<Run>,
    pub rows: Vec<Run>,
    pub columns: Vec<Run>,
    pub contracted: Vec<Run>,
}

/// A planned product.
#[derive(Clone, Debug)]
pub struct Gemm {
    /// The numbers of the op's operands that are multiplied.
    operands: [usize; 2],
    /// Element types of the left operand, the right operand and the result.
    types: [ElementType; 3],
    /// Number of elements of each tensor.
    lengths: [usize; 3],
    /// Offsets of the first elements that are read of the left and of the right operand.
    start: [isize; 2],
    /// Loops around the library's product; `true` for contracted loops.
    outer: SmallVec<[(Run, bool); 4]>,
    rows: Run,
    columns: Run,
    contracted: Run,
    /// Whether the product is added to the existing result.
    adds: bool,
}

/// Returns whether there is code for products of elements of the first two types with results of the third.
pub(crate) fn is_product_of(types: [ElementType; 3]) -> bool {
    let out = types[2];
    let result = is_supported(out) && (out.is_float() || out.bits() >= 8) || out == ElementType::I1;
    let real = result && types.iter().all(|&t| is_supported(t) && t.is_float() == out.is_float());
    real || out.is_complex() && types == [out; 3]
}

const ONE: Run = Run { size: 1, lhs: 0, rhs: 0, out: 0 };

impl Gemm {
    /// Returns the product that `op` computes; `None` for other ops and for types without native code.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
        let contraction = Contraction::of(&nest)?;
        let [lhs, rhs] = [0, 1].map(|i| op.operand_tensor(nest.inputs[i].operand));
        let (lhs, rhs, out) = (lhs?, rhs?, op.result_tensor(0)?);
        let types = [lhs.element, rhs.element, out.element];
        if !is_product_of(types) {
            return None;
        }
        let [left, right] = contraction.strides(&nest, [&lhs.shape, &rhs.shape])?;
        let result = strides(&nest.loops[..nest.parallel]);
        let run = |l: usize| Run {
            size: nest.loops[l].max(0) as usize,
            lhs: left.loops[l] as isize,
            rhs: right.loops[l] as isize,
            out: result.get(l).copied().unwrap_or(0),
        };
        let runs = |role| contraction.loops(role).map(run).collect::<Vec<Run>>();
        let length = |shape: &[i64]| shape.iter().product::<i64>().max(0) as usize;
        let loops = Loops {
            batch: runs(Role::Batch),
            rows: runs(Role::Left),
            columns: runs(Role::Right),
            contracted: runs(Role::Contracted),
        };
        Some(Self {
            operands: [0, 1].map(|i| nest.inputs[i].operand),
            start: [left.constant as isize, right.constant as isize],
            ..Self::of_loops(types, [&lhs.shape, &rhs.shape, &out.shape].map(|shape| length(shape)), loops)
        })
    }

    /// Creates the product of operands 0 and 1 along these loops, for types with [`is_product_of`]. `lengths` are the
    /// numbers of elements of the three tensors.
    pub(crate) fn of_loops(types: [ElementType; 3], lengths: [usize; 3], loops: Loops) -> Self {
        let mut contracted = loops.contracted;
        // Terms may be summed in any order. The left operand's order lets neighboring loops be joined.
        contracted.sort_by_key(|r| std::cmp::Reverse(r.lhs));
        let mut outer: SmallVec<[(Run, bool); 4]> = join(loops.batch).into_iter().map(|r| (r, false)).collect();
        let (rows, columns, contracted) = (
            longest(loops.rows, &mut outer, false),
            longest(loops.columns, &mut outer, false),
            longest(contracted, &mut outer, true),
        );
        Self { operands: [0, 1], types, lengths, start: [0, 0], outer, rows, columns, contracted, adds: false }
    }

    /// Returns whether the product can be [added](Self::add) to a tensor. It can't where the library begins a sum with
    /// a product, which may be -0, instead of with 0.
    pub fn can_add(&self) -> bool {
        let ty = self.types[0];
        let is_library = matches!(ty, ElementType::F32 | ElementType::F64) && self.types == [ty; 3];
        let sizes = [self.rows.size, self.columns.size, self.contracted.size];
        is_library && !self.lengths.contains(&0) && sizes[0] > 1 && sizes[1] > 1 && sizes[2] > 2
    }

    /// Makes the product be added to the existing result.
    pub fn add(&mut self) {
        self.adds = true;
    }

    /// Returns the numbers of the op's operands that are the left and the right one.
    pub fn operands(&self) -> [usize; 2] {
        self.operands
    }

    /// Computes the product on this many threads.
    ///
    /// # Safety
    ///
    /// The pointers must be aligned for their elements, and valid for the numbers of elements of the operands and the
    /// result. During the call no other thread may write the operands or access the result.
    pub unsafe fn run(&self, lhs: *const u8, rhs: *const u8, out: *mut u8, threads: usize) {
        // SAFETY: `types` selects the element types of the pointers. Everything else is this function's contract.
        unsafe {
            match self.types {
                [ElementType::F32, ElementType::F32, ElementType::F32] => {
                    self.floats::<f32>(lhs.cast(), rhs.cast(), out.cast(), threads)
                }
                [ElementType::F64, ElementType::F64, ElementType::F64] => {
                    self.floats::<f64>(lhs.cast(), rhs.cast(), out.cast(), threads)
                }
                [ElementType::C64, ..] => self.floats::<gemm::c32>(lhs.cast(), rhs.cast(), out.cast(), threads),
                [ElementType::C128, ..] => self.floats::<gemm::c64>(lhs.cast(), rhs.cast(), out.cast(), threads),
                _ => narrow::product(self, lhs, rhs, out, threads),
            }
        }
    }

    /// Returns how many of these threads to use: one for small products, which end before other threads would have
    /// started.
    pub fn threads(&self, threads: usize) -> usize {
        let around = self.outer.iter().fold(1usize, |n, o| n.saturating_mul(o.0.size));
        let inner = [self.rows, self.columns, self.contracted];
        let multiplications = inner.iter().fold(around, |n, r| n.saturating_mul(r.size));
        if multiplications < PARALLEL { 1 } else { threads }
    }

    /// Calls `f` for every library product, with the number of its batch, its offsets, and whether it adds to the
    /// existing result.
    fn each(&self, mut f: impl FnMut(usize, [isize; 3], bool)) {
        if self.outer.iter().any(|o| o.0.size == 0) {
            return;
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        loop {
            let ([mut l, mut r], mut o, mut adds, mut batch) = (self.start, 0, self.adds, 0);
            for (&(run, contracted), &i) in self.outer.iter().zip(&index) {
                l += run.lhs * i as isize;
                r += run.rhs * i as isize;
                o += run.out * i as isize;
                adds |= contracted && i > 0;
                batch = if contracted { batch } else { batch * run.size + i };
            }
            f(batch, [l, r, o], adds);
            let Some(d) = (0..index.len()).rev().find(|&d| index[d] + 1 < self.outer[d].0.size) else { return };
            index[d] += 1;
            index[d + 1..].fill(0);
        }
    }

    /// Computes a product of floats, all of type `T`.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::run`] must hold.
    unsafe fn floats<T: Float>(&self, lhs: *const T, rhs: *const T, out: *mut T, threads: usize) {
        let nothing = self.contracted.size == 0 || self.outer.iter().any(|o| o.1 && o.0.size == 0);
        if nothing {
            // SAFETY: the result has `lengths[2]` elements.
            (0..self.lengths[2]).for_each(|i| unsafe { out.add(i).write(T::default()) });
            return;
        }
        // SAFETY: the offsets and strides were computed from the tensors' shapes, so every position is inside the
        // tensors.
        self.products(lhs, rhs, out, |_, product| unsafe { product.run(threads) });
    }

    /// Calls `f` with the number of its batch and every library product.
    fn products<T: Float>(&self, lhs: *const T, rhs: *const T, out: *mut T, mut f: impl FnMut(usize, Product<T>)) {
        let (m, n, k) = (self.rows, self.columns, self.contracted);
        self.each(|batch, [l, r, o], adds| {
            let product = Product {
                sizes: [m.size, n.size, k.size],
                out: out.wrapping_offset(o),
                out_strides: [m.out, n.out],
                adds,
                lhs: lhs.wrapping_offset(l),
                lhs_strides: [m.lhs, k.lhs],
                rhs: rhs.wrapping_offset(r),
                rhs_strides: [k.rhs, n.rhs],
            };
            f(batch, product);
        });
    }
}

fn strides(shape: &[i64]) -> SmallVec<[isize; 6]> {
    let mut out: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
    for d in (1..shape.len()).rev() {
        out[d - 1] = out[d] * shape[d] as isize;
    }
    out
}

/// Joins neighboring loops that every tensor traverses with one stride.
fn join(runs: Vec<Run>) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for r in runs.into_iter().filter(|r| r.size != 1) {
        if let Some(last) = out.last_mut() {
            let n = r.size as isize;
            if (last.lhs, last.rhs, last.out) == (r.lhs * n, r.rhs * n, r.out * n) {
                *last = Run { size: last.size * r.size, ..r };
                continue;
            }
        }
        out.push(r);
    }
    out
}

/// Returns the longest loop, and appends the others to `outer`.
fn longest(runs: Vec<Run>, outer: &mut SmallVec<[(Run, bool); 4]>, contracted: bool) -> Run {
    let mut runs = join(runs);
    let Some(i) = (0..runs.len()).max_by_key(|&i| (runs[i].size, i)) else { return ONE };
    let best = runs.remove(i);
    outer.extend(runs.into_iter().map(|r| (r, contracted)));
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sum_of_products_is_minus_zero() {
        let mut random = fastrand::Rng::with_seed(3);
        for round in 0..400 {
            let [m, n] = [0; 2].map(|_| if random.u32(..3) == 0 { 1 } else { random.usize(1..90) });
            let k = if round % 2 == 0 { random.usize(1..4) } else { random.usize(1..40) };
            let [left, right, out] = [0; 3].map(|_| random.bool());
            let steps = |rows: usize, columns: usize, turned: bool| match turned {
                true => (1, rows as isize),
                false => (columns as isize, 1),
            };
            let ((lr, lk), (rk, rc), (or, oc)) = (steps(m, k, left), steps(k, n, right), steps(m, n, out));
            let run = |size, lhs, rhs, out| Run { size, lhs, rhs, out };
            let loops = || Loops {
                rows: vec![run(m, lr, 0, or)],
                columns: vec![run(n, 0, rc, oc)],
                contracted: vec![run(k, lk, rk, 0)],
                ..Loops::default()
            };
            // Zeros of both signs: the sum is -0 only if it doesn't begin with 0.
            let lhs: Vec<f64> = (0..m * k).map(|_| -1.0 - random.f64()).collect();
            let rhs: Vec<f64> = (0..k * n).map(|_| if random.u32(..8) == 0 { -0.0 } else { 0.0 }).collect();
            let product = |ty: ElementType, lhs: *const u8, rhs: *const u8, to: *mut u8| {
                let gemm = Gemm::of_loops([ty; 3], [m * k, k * n, m * n], loops());
                // SAFETY: `lhs`, `rhs` and `to` have the `m * k`, `k * n` and `m * n` elements that were passed to
                // `of_loops`.
                unsafe { gemm.run(lhs, rhs, to, 1) };
            };
            let mut wide = vec![-1.0f64; m * n];
            product(ElementType::F64, lhs.as_ptr().cast(), rhs.as_ptr().cast(), wide.as_mut_ptr().cast());
            let [lhs, rhs] = [lhs, rhs].map(|v| v.iter().map(|&v| v as f32).collect::<Vec<f32>>());
            let mut narrow = vec![-1.0f32; m * n];
            product(ElementType::F32, lhs.as_ptr().cast(), rhs.as_ptr().cast(), narrow.as_mut_ptr().cast());
            let all = wide.iter().all(|v| v.to_bits() == 0) && narrow.iter().all(|v| v.to_bits() == 0);
            assert!(all, "{m} x {n} x {k}, {left} {right} {out}");
        }
    }

    #[test]
    fn parts_have_the_bits_of_the_whole() {
        let mut random = fastrand::Rng::with_seed(2);
        // Rows, columns and contracted elements. The last product is divided without a remainder.
        for ([m, n, k], transposed) in [([1100, 1025, 21], false), ([30, 2600, 17], true), ([1024, 512, 9], true)] {
            let mut values = |count: usize| (0..count).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
            let (lhs, rhs) = (values(m * k), values(k * n));
            let run = |size, lhs, rhs, out| Run { size, lhs, rhs, out };
            let (rows, along) = if transposed { (1, m as isize) } else { (k as isize, 1) };
            let loops = Loops {
                rows: vec![run(m, rows, 0, n as isize)],
                columns: vec![run(n, 0, 1, 1)],
                contracted: vec![run(k, along, n as isize, 0)],
                ..Loops::default()
            };
            let gemm = Gemm::of_loops([ElementType::F32; 3], [m * k, k * n, m * n], loops);
            let product = |threads| {
                let mut out = vec![f32::NAN; m * n];
                // SAFETY: `lhs`, `rhs` and `out` have the `m * k`, `k * n` and `m * n` elements that were passed to
                // `of_loops`.
                unsafe { gemm.run(lhs.as_ptr().cast(), rhs.as_ptr().cast(), out.as_mut_ptr().cast(), threads) };
                out
            };
            let want = product(1);
            for threads in [2, 5] {
                let got = product(threads);
                let same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{m} x {n} x {k} on {threads} threads");
            }
            for _ in 0..500 {
                let (i, j) = (random.usize(..m), random.usize(..n));
                let term =
                    |l: usize| f64::from(lhs[i * rows as usize + l * along as usize]) * f64::from(rhs[l * n + j]);
                let sum: f64 = (0..k).map(term).sum();
                assert!((f64::from(want[i * n + j]) - sum).abs() < 1e-5, "{m} x {n} x {k} at {i}, {j}");
            }
        }
    }
}
