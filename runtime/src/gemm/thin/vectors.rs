//! Vectors of f32 and of f64, as wide as the processor has them.

use pulp::Simd;

use crate::gemm::Float;

/// Elements that come in vectors.
pub(in crate::gemm) trait Vectors: Float {
    type Vector<S: Simd>: Copy;

    /// Elements of a vector.
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
    /// # Safety
    ///
    /// There is a vector of elements.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> Self::Vector<S>;
    /// # Safety
    ///
    /// There is a vector of elements.
    unsafe fn store<S: Simd>(simd: S, to: *mut Self, value: Self::Vector<S>);
    /// `a b + c`.
    fn add_product<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// The sum of a vector's elements.
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
                // SAFETY: the caller's promise.
                unsafe { from.cast::<S::$vector>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(_: S, to: *mut Self, value: S::$vector) {
                // SAFETY: the caller's promise.
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
