//! Vectors of f32 and of f64, with the width of the processor's vectors.

use pulp::Simd;

use crate::kernels::gemm::Float;

/// Element types that have vectors.
pub(in crate::kernels::gemm) trait Vectors: Float {
    type Vector<S: Simd>: Copy;

    /// Returns the number of elements of a vector.
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
    fn plus(a: Self, b: Self) -> Self;
    fn times(a: Self, b: Self) -> Self;
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    #[inline(always)]
    fn zero<S: Simd>(simd: S) -> Self::Vector<S> {
        Self::splat(simd, Self::default())
    }
    /// Loads a vector.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads of a vector of elements.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> Self::Vector<S>;
    /// Stores a vector.
    ///
    /// # Safety
    ///
    /// `to` must be valid for writes of a vector of elements.
    unsafe fn store<S: Simd>(simd: S, to: *mut Self, value: Self::Vector<S>);
    /// Returns `a b + c`.
    fn add_product<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns the sum of a vector's elements.
    fn sum<S: Simd>(simd: S, value: Self::Vector<S>) -> Self;
}

macro_rules! vectors {
    ($($t:ty, $vector:ident, $splat:ident, $product:ident, $sum:ident;)*) => {$(
        impl Vectors for $t {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn plus(a: Self, b: Self) -> Self {
                a + b
            }
            #[inline(always)]
            fn times(a: Self, b: Self) -> Self {
                a * b
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            unsafe fn load<S: Simd>(_: S, from: *const Self) -> S::$vector {
                // SAFETY: `from` is valid for a vector by this function's contract; the read may be unaligned.
                unsafe { from.cast::<S::$vector>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(_: S, to: *mut Self, value: S::$vector) {
                // SAFETY: `to` is valid for a vector by this function's contract; the write may be unaligned.
                unsafe { to.cast::<S::$vector>().write_unaligned(value) }
            }
            #[inline(always)]
            fn add_product<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$product(a, b, c)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, value: S::$vector) -> Self {
                simd.$sum(value)
            }
        }
    )*};
}

vectors! {
    f32, f32s, splat_f32s, mul_add_e_f32s, reduce_sum_f32s;
    f64, f64s, splat_f64s, mul_add_e_f64s, reduce_sum_f64s;
}
