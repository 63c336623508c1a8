//! The innermost loops of a windowed product: a tile of rows by a panel of lanes, held in registers while a part of the
//! sum is computed.
//!
//! The elements of a row are read in place, through one pointer for each row. Those of the lanes were packed, so that
//! each step of the sum reads the next vectors. Padding is a pointer to zeros.

#![allow(unsafe_code, reason = "vectors are read and written through pointers")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The maximum number of rows in a tile.
pub(crate) const ROWS: usize = 12;

/// Consecutive steps of the sum in which the pointers of all rows move alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The first step, which is the number of a row of the panel.
    pub step: u32,
    /// The number of steps.
    pub len: u32,
    /// The offset of the rows' first elements from their bases; if `mixed`, an index into the table.
    pub at: isize,
    /// Whether the table has the address of each row, because some rows are in the padding.
    pub mixed: bool,
}

/// The addresses of the rows of a tile.
pub(crate) struct Tile<'a, T> {
    /// Each row's base.
    pub bases: &'a [*const T; ROWS],
    /// The steps of the sum.
    pub runs: &'a [Run],
    /// The addresses of the rows in mixed runs.
    pub table: &'a [[*const T; ROWS]],
    /// Distance between the elements of neighboring steps.
    pub stride: isize,
    /// The offset that is added to every pointer.
    pub shift: isize,
    /// The offsets from the result's first element at which each row's lanes are stored.
    pub outs: &'a [isize; ROWS],
    /// Whether to add to the existing values.
    pub adds: bool,
}

/// Computes a tile: `(tile, packed lanes, the result's first element)`.
///
/// # Safety
///
/// - The processor must have the kernel's instructions.
/// - In each run, each row's address must be valid for reads of `len` elements `stride` apart, and in a wide kernel for
///   reads of as many neighbors of each as a panel has lanes.
/// - The panel must have the lanes of all steps of the runs.
/// - `outs` must be offsets from the result's first element at which the lanes of a row can be read and written. No
///   other thread may access them.
pub(crate) type Kernel<T> = unsafe fn(&Tile<'_, T>, *const T, *mut T);

/// The kernels for one element type on this processor.
pub(crate) struct Code<T: 'static> {
    /// Elements in a vector.
    pub lanes: usize,
    /// The numbers of rows in a tile of the large and of the small kernels.
    pub rows: [usize; 2],
    /// Kernels in which each row multiplies one element with all lanes: large and small tiles of one and of two
    /// vectors.
    pub splat: [[Kernel<T>; 2]; 2],
    /// Kernels in which each row multiplies as many elements as there are lanes: large and small tiles of one and of
    /// two vectors.
    pub wide: [[Kernel<T>; 2]; 2],
    /// A wide kernel of one lane.
    pub single: Kernel<T>,
}

/// A type in which products are summed.
pub(crate) trait Number: Copy + Default + Send + Sync + 'static {
    /// Returns the fastest kernels.
    fn code() -> Code<Self>;
    /// Returns the sum; for integers, modulo their size.
    fn plus(self, other: Self) -> Self;
    /// Returns whether zero times this number is zero.
    fn is_finite(self) -> bool;
}

/// Several numbers that are added and multiplied at once.
trait Vector: Copy {
    type T: Copy;
    const LANES: usize;
    /// Returns zeros.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions.
    unsafe fn zero() -> Self;
    /// Reads a vector.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions, and `from` must be valid for reads of [`Self::LANES`] elements.
    /// It needs no alignment.
    unsafe fn load(from: *const Self::T) -> Self;
    /// Returns a vector of one element.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions, and `from` must be valid for reads of an element, and aligned.
    unsafe fn splat(from: *const Self::T) -> Self;
    /// Writes the vector.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions, and `to` must be valid for writes of [`Self::LANES`] elements.
    /// It needs no alignment.
    unsafe fn store(self, to: *mut Self::T);
    /// Returns the sum.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions.
    unsafe fn plus(self, other: Self) -> Self;
    /// Returns `self + a * b`.
    ///
    /// # Safety
    ///
    /// The processor must have the type's instructions.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
}

/// Returns the same number, but hides that from the compiler. Otherwise the compiler would increment every row's
/// pointer instead of one index, and there aren't enough registers for that.
#[inline(always)]
fn opaque(mut index: isize) -> isize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the assembly is only a comment, so no instruction is executed.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) index, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        index += 0;
    }
    index
}

/// Computes a tile of `R` rows by `N` vectors.
///
/// # Safety
///
/// The contract of [`Kernel`] must hold.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize, const WIDE: bool>(
    tile: &Tile<'_, V::T>,
    panel: *const V::T,
    out: *mut V::T,
) {
    // SAFETY: by the contract of `Kernel`, the rows and the panel are valid for all steps of all runs, `outs` are valid
    // for `N` vectors each, and the processor has the instructions of `V`.
    unsafe {
        let mut sums = [[V::zero(); N]; R];
        for run in tile.runs {
            let from = if run.mixed { &tile.table[run.at as usize] } else { tile.bases };
            let at = if run.mixed { tile.shift } else { run.at + tile.shift };
            let mut rows = [from[0]; R];
            for r in 0..R {
                rows[r] = from[r].wrapping_offset(at);
            }
            let mut lanes = panel.add(run.step as usize * N * V::LANES);
            let mut moved = 0isize;
            for _ in 0..run.len {
                let mut b = [V::zero(); N];
                for n in 0..N {
                    b[n] = V::load(lanes.add(n * V::LANES));
                }
                for r in 0..R {
                    let row = rows[r].wrapping_offset(moved);
                    if WIDE {
                        for n in 0..N {
                            sums[r][n] = sums[r][n].add_product(V::load(row.wrapping_add(n * V::LANES)), b[n]);
                        }
                    } else {
                        let a = V::splat(row);
                        for n in 0..N {
                            sums[r][n] = sums[r][n].add_product(a, b[n]);
                        }
                    }
                }
                lanes = lanes.add(N * V::LANES);
                moved = opaque(moved + tile.stride);
            }
        }
        for r in 0..R {
            for n in 0..N {
                let to = out.wrapping_offset(tile.outs[r]).wrapping_add(n * V::LANES);
                let sum = if tile.adds { V::load(to).plus(sums[r][n]) } else { sums[r][n] };
                sum.store(to);
            }
        }
    }
}

macro_rules! kernel {
    ($name:ident $(, $features:literal)?) => {
        $(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = $features)]
        )?
        /// A [`Kernel`] of vectors that need these instructions.
        ///
        /// # Safety
        ///
        /// The contract of [`Kernel`] must hold.
        unsafe fn $name<V: Vector, const R: usize, const N: usize, const WIDE: bool>(
            t: &Tile<'_, V::T>,
            panel: *const V::T,
            out: *mut V::T,
        ) {
            // SAFETY: the contract of `Kernel` holds here, and `tile` needs nothing else.
            unsafe { tile::<V, R, N, WIDE>(t, panel, out) }
        }
    };
}

kernel!(plain);
kernel!(avx2, "avx2,fma");
kernel!(avx512, "avx512f,avx512dq");
kernel!(vnni, "avx512f,avx512dq,avx512vnni");

macro_rules! code {
    ($target:ident, $vector:ty, $one:ty, $large:literal, $small:literal) => {
        Code {
            lanes: <$vector>::LANES,
            rows: [$large, $small],
            splat: [
                [$target::<$vector, $large, 1, false>, $target::<$vector, $large, 2, false>],
                [$target::<$vector, $small, 1, false>, $target::<$vector, $small, 2, false>],
            ],
            wide: [
                [$target::<$vector, $large, 1, true>, $target::<$vector, $large, 2, true>],
                [$target::<$vector, $small, 1, true>, $target::<$vector, $small, 2, true>],
            ],
            single: plain::<$one, $large, 1, true>,
        }
    };
}

/// Vectors as arrays, without vector instructions.
#[derive(Clone, Copy)]
struct Array<T, const N: usize>([T; N]);

macro_rules! array {
    ($($t:ty, $add:expr, $product:expr;)*) => {$(
        impl<const N: usize> Vector for Array<$t, N> {
            type T = $t;
            const LANES: usize = N;
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([<$t>::default(); N])
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: `from` is valid for `N` elements by the contract of `Vector::load`.
                Self(unsafe { from.cast::<[$t; N]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn splat(from: *const $t) -> Self {
                // SAFETY: `from` is an aligned element by the contract of `Vector::splat`.
                Self([unsafe { from.read() }; N])
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: `to` is valid for `N` elements by the contract of `Vector::store`.
                unsafe { to.cast::<[$t; N]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn plus(mut self, other: Self) -> Self {
                for i in 0..N {
                    self.0[i] = $add(self.0[i], other.0[i]);
                }
                self
            }
            #[inline(always)]
            unsafe fn add_product(mut self, a: Self, b: Self) -> Self {
                for i in 0..N {
                    self.0[i] = $add(self.0[i], $product(a.0[i], b.0[i]));
                }
                self
            }
        }
    )*};
}

array! {
    f32, |a: f32, b| a + b, |a: f32, b| a * b;
    f64, |a: f64, b| a + b, |a: f64, b| a * b;
    i32, i32::wrapping_add, i32::wrapping_mul;
    i64, i64::wrapping_add, i64::wrapping_mul;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;

    /// All integer vectors of one size have the same type.
    #[derive(Clone, Copy)]
    pub(super) struct I32(__m512i);
    #[derive(Clone, Copy)]
    pub(super) struct I64(__m512i);
    /// Sums of 32 bits, or four bytes in the place of each: unsigned bytes of rows, signed bytes of lanes.
    #[derive(Clone, Copy)]
    pub(super) struct Quads(__m512i);
    /// Sums of 32 bits, or two signed numbers of 16 bits in the place of each.
    #[derive(Clone, Copy)]
    pub(super) struct Pairs(__m256i);

    macro_rules! vectors {
        ($($v:ty, $t:ty, $lanes:literal: $zero:expr, $load:expr, $splat:expr, $store:expr, $add:expr, $product:expr;)*) => {$(
            impl Vector for $v {
                type T = $t;
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: the processor has the instructions by the contract of `Vector`.
                    unsafe { $zero }
                }
                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self {
                    // SAFETY: `from` is valid for a vector, and the processor has the instructions, both by the
                    // contract of `Vector`.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn splat(from: *const $t) -> Self {
                    // SAFETY: `from` is valid for an element, and the processor has the instructions, both by the
                    // contract of `Vector`.
                    unsafe { $splat(*from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $t) {
                    // SAFETY: `to` is valid for a vector, and the processor has the instructions, both by the contract
                    // of `Vector`.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: the processor has the instructions by the contract of `Vector`.
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn add_product(self, a: Self, b: Self) -> Self {
                    // SAFETY: the processor has the instructions by the contract of `Vector`.
                    unsafe { $product(a, b, self) }
                }
            }
        )*};
    }

    vectors! {
        __m512, f32, 16: _mm512_setzero_ps(), _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps;
        __m512d, f64, 8: _mm512_setzero_pd(), _mm512_loadu_pd, _mm512_set1_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_fmadd_pd;
        __m256, f32, 8: _mm256_setzero_ps(), _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps;
        __m256d, f64, 4: _mm256_setzero_pd(), _mm256_loadu_pd, _mm256_set1_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_fmadd_pd;
        I32, i32, 16: I32(_mm512_setzero_si512()), |p: *const i32| I32(_mm512_loadu_si512(p.cast())), |v| I32(_mm512_set1_epi32(v)),
            |p: *mut i32, v: I32| _mm512_storeu_si512(p.cast(), v.0), |a: I32, b: I32| I32(_mm512_add_epi32(a.0, b.0)),
            |a: I32, b: I32, c: I32| I32(_mm512_add_epi32(c.0, _mm512_mullo_epi32(a.0, b.0)));
        I64, i64, 8: I64(_mm512_setzero_si512()), |p: *const i64| I64(_mm512_loadu_si512(p.cast())), |v| I64(_mm512_set1_epi64(v)),
            |p: *mut i64, v: I64| _mm512_storeu_si512(p.cast(), v.0), |a: I64, b: I64| I64(_mm512_add_epi64(a.0, b.0)),
            |a: I64, b: I64, c: I64| I64(_mm512_add_epi64(c.0, _mm512_mullo_epi64(a.0, b.0)));
        Quads, i32, 16: Quads(_mm512_setzero_si512()), |p: *const i32| Quads(_mm512_loadu_si512(p.cast())), |v| Quads(_mm512_set1_epi32(v)),
            |p: *mut i32, v: Quads| _mm512_storeu_si512(p.cast(), v.0), |a: Quads, b: Quads| Quads(_mm512_add_epi32(a.0, b.0)),
            |a: Quads, b: Quads, c: Quads| Quads(_mm512_dpbusd_epi32(c.0, a.0, b.0));
        Pairs, i32, 8: Pairs(_mm256_setzero_si256()), |p: *const i32| Pairs(_mm256_loadu_si256(p.cast())), |v| Pairs(_mm256_set1_epi32(v)),
            |p: *mut i32, v: Pairs| _mm256_storeu_si256(p.cast(), v.0), |a: Pairs, b: Pairs| Pairs(_mm256_add_epi32(a.0, b.0)),
            |a: Pairs, b: Pairs, c: Pairs| Pairs(_mm256_add_epi32(c.0, _mm256_madd_epi16(a.0, b.0)));
    }
}

/// Returns kernels that multiply four unsigned bytes of each row, as one number, with four signed ones of each lane,
/// and sum them in numbers of 32 bits; `None` if the processor has no such instructions.
pub(crate) fn quads() -> Option<Code<i32>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vnni")
    {
        return Some(code!(vnni, x86::Quads, Array<i32, 1>, 12, 4));
    }
    None
}

/// Returns kernels that multiply two signed numbers of 16 bits of each row, as one number, with two of each lane, and
/// sum them in numbers of 32 bits; `None` if the processor has no such instructions.
pub(crate) fn pairs() -> Option<Code<i32>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return Some(code!(avx2, x86::Pairs, Array<i32, 1>, 6, 2));
    }
    None
}

macro_rules! numbers {
    ($($t:ty, $large:ty, $middle:ty, $small:ty, $plus:expr, $finite:expr;)*) => {$(
        impl Number for $t {
            fn code() -> Code<Self> {
                #[cfg(target_arch = "x86_64")]
                {
                    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                        return code!(avx512, $large, Array<$t, 1>, 12, 4);
                    }
                    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                        return code!(avx2, $middle, Array<$t, 1>, 6, 2);
                    }
                }
                code!(plain, $small, Array<$t, 1>, 4, 1)
            }

            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $finite(self)
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
numbers! {
    f32, __m512, __m256, Array<f32, 4>, |a, b| a + b, f32::is_finite;
    f64, __m512d, __m256d, Array<f64, 2>, |a, b| a + b, f64::is_finite;
    i32, x86::I32, Array<i32, 8>, Array<i32, 4>, i32::wrapping_add, |_| true;
    i64, x86::I64, Array<i64, 4>, Array<i64, 2>, i64::wrapping_add, |_| true;
}

#[cfg(not(target_arch = "x86_64"))]
numbers! {
    f32, (), (), Array<f32, 4>, |a, b| a + b, f32::is_finite;
    f64, (), (), Array<f64, 2>, |a, b| a + b, f64::is_finite;
    i32, (), (), Array<i32, 4>, i32::wrapping_add, |_| true;
    i64, (), (), Array<i64, 2>, i64::wrapping_add, |_| true;
}
