//! One product of the library, whole or in parts that threads share.

use gemm::Parallelism;

use super::thin;
use crate::across::AcrossThreads;

/// The number of multiplications from which it pays to use several threads.
pub(super) const PARALLEL: usize = 1 << 18;

/// The minimum rows and columns of a part of a product, because the library packs the operands separately for each
/// part.
pub(super) const SIDE: usize = 512;

/// Number of parts for each thread, so that a thread which gets less of the machine's time computes fewer of them.
pub(super) const PARTS: usize = 4;

/// One product of the library. The sizes are rows, columns and contracted elements; strides are those of rows and
/// columns.
#[derive(Clone, Copy)]
pub(super) struct Product<T> {
    pub sizes: [usize; 3],
    pub out: *mut T,
    pub out_strides: [isize; 2],
    /// Whether the product is added to the existing result.
    pub adds: bool,
    pub lhs: *const T,
    pub lhs_strides: [isize; 2],
    pub rhs: *const T,
    pub rhs_strides: [isize; 2],
}

impl<T: Float> Product<T> {
    /// Multiplies on some threads, with the same results on any number of them.
    ///
    /// # Safety
    ///
    /// All positions must be inside the buffers, and no other thread may access the result or write the operands.
    pub(super) unsafe fn run(&self, threads: usize) {
        // SAFETY: `thin` has the contract of this function.
        if unsafe { T::thin(self, threads) } {
            return;
        }
        let parts = PARTS * threads;
        if threads > 1 && self.halves().is_some() {
            // SAFETY: `run_parts` has the contract of this function.
            unsafe { self.run_parts(parts) };
        } else {
            // SAFETY: `library` has the contract of this function.
            unsafe { self.library(threads) };
        }
    }

    /// Multiplies in about this many parts, each of which any thread of the pool computes.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`].
    unsafe fn run_parts(&self, parts: usize) {
        match self.halves().filter(|_| parts > 1) {
            Some(halves) => {
                let each = parts.div_ceil(2);
                // SAFETY: products have sizes and raw pointers.
                let halves = unsafe { AcrossThreads::new(halves) };
                // SAFETY: each half is inside this product, and they write different rows or columns.
                let half = |i: usize| unsafe { halves.get()[i].run_parts(each) };
                rayon::join(|| half(0), || half(1));
            }
            // SAFETY: `library` has the contract of this function.
            None => unsafe { self.library(1) },
        }
    }

    /// Returns the products of both halves of its rows, or of its columns if there are more columns; `None` if the
    /// product is small.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let side = usize::from(self.sizes[1] > self.sizes[0]);
        let (all, half) = (self.sizes[side], (self.sizes[side] / 2).next_multiple_of(64));
        if all < 2 * SIDE {
            return None;
        }
        Some([self.part(side, 0, half), self.part(side, half, all - half)])
    }

    /// Returns the product with rows and columns exchanged.
    pub(super) fn turned(&self) -> Self {
        let turn = |[a, b]: [isize; 2]| [b, a];
        Self {
            sizes: [self.sizes[1], self.sizes[0], self.sizes[2]],
            out_strides: turn(self.out_strides),
            lhs: self.rhs,
            lhs_strides: turn(self.rhs_strides),
            rhs: self.lhs,
            rhs_strides: turn(self.lhs_strides),
            ..*self
        }
    }

    /// Returns the product of `size` rows (`side` 0) or columns (`side` 1) from `start` on.
    pub(super) fn part(&self, side: usize, start: usize, size: usize) -> Self {
        let mut part = *self;
        part.sizes[side] = size;
        part.out = self.out.wrapping_offset(start as isize * self.out_strides[side]);
        if side == 0 {
            part.lhs = self.lhs.wrapping_offset(start as isize * self.lhs_strides[0]);
        } else {
            part.rhs = self.rhs.wrapping_offset(start as isize * self.rhs_strides[1]);
        }
        part
    }

    /// Sets the result to zeros, some rows or columns at a time, and adds the product. The library begins such sums
    /// with a product instead of with 0, so a sum of products that are -0 would be -0.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`].
    pub(super) unsafe fn add_to_zeros(&self) {
        /// The number of elements that stay in the nearest cache until the product is added.
        const FEW: usize = 4096;
        let side = usize::from(self.out_strides[1].abs() > self.out_strides[0].abs());
        let each = (FEW / self.sizes[1 - side].max(1)).max(1);
        for start in (0..self.sizes[side]).step_by(each) {
            let mut part = self.part(side, start, each.min(self.sizes[side] - start));
            for i in 0..part.sizes[0] as isize {
                for j in 0..part.sizes[1] as isize {
                    let at = part.out.wrapping_offset(i * part.out_strides[0] + j * part.out_strides[1]);
                    // SAFETY: `i` and `j` are below the part's sizes, so this is an element of the result.
                    unsafe { at.write(T::default()) };
                }
            }
            part.adds = true;
            // SAFETY: the part is inside this product, which has the requirements of `library`.
            unsafe { part.library(1) };
        }
    }

    /// Computes the library's product.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`].
    pub(super) unsafe fn library(&self, threads: usize) {
        let [m, n, k] = self.sizes;
        if !self.adds && (k <= 2 || m == 1 || n == 1) {
            // SAFETY: `add_to_zeros` has the contract of this function.
            return unsafe { self.add_to_zeros() };
        }
        let parallel = if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None };
        // SAFETY: the library accesses the positions given by these sizes and strides, which are inside by this
        // function's contract.
        unsafe {
            gemm::gemm(
                self.sizes[0],
                self.sizes[1],
                self.sizes[2],
                self.out,
                self.out_strides[1],
                self.out_strides[0],
                self.adds,
                self.lhs,
                self.lhs_strides[1],
                self.lhs_strides[0],
                self.rhs,
                self.rhs_strides[1],
                self.rhs_strides[0],
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                parallel,
            );
        }
    }
}

pub(super) trait Float: Copy + Default + Send + Sync + 'static {
    const ONE: Self;

    /// Multiplies if one side is so short that the library isn't the fastest way. Returns whether it did.
    ///
    /// # Safety
    ///
    /// The same as for [`Product::run`].
    unsafe fn thin(_: &Product<Self>, _: usize) -> bool {
        false
    }
}

impl Float for f32 {
    const ONE: Self = 1.0;

    unsafe fn thin(product: &Product<Self>, threads: usize) -> bool {
        // SAFETY: `multiply` has the contract of this function.
        unsafe { thin::multiply(product, threads) }
    }
}

impl Float for f64 {
    const ONE: Self = 1.0;

    unsafe fn thin(product: &Product<Self>, threads: usize) -> bool {
        // SAFETY: `multiply` has the contract of this function.
        unsafe { thin::multiply(product, threads) }
    }
}

impl Float for gemm::c32 {
    const ONE: Self = Self::new(1.0, 0.0);
}

impl Float for gemm::c64 {
    const ONE: Self = Self::new(1.0, 0.0);
}
