//! Elements that windows and scans combine, and the commutative operations on them, vectorized by the compiler.

use half::{bf16, f16};

/// A type in which elements are combined.
pub(super) trait Cell: Copy + Default + Send + Sync + PartialEq + 'static {
    /// The type of long sums, which are rounded once.
    type Sum: Copy + Default + Send + Sync;
    /// Whether sums are the same in any order.
    const EXACT: bool;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn to_sum(self) -> Self::Sum;
    fn of_sum(sum: Self::Sum) -> Self;
    fn add_sums(a: Self::Sum, b: Self::Sum) -> Self::Sum;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Cell for $t {
            type Sum = $t;
            const EXACT: bool = true;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn larger(self, other: Self) -> Self { self.max(other) }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self { self.min(other) }
            #[inline(always)]
            fn to_sum(self) -> $t { self }
            #[inline(always)]
            fn of_sum(sum: $t) -> Self { sum }
            #[inline(always)]
            fn add_sums(a: $t, b: $t) -> $t { a.wrapping_add(b) }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! floats {
    ($($t:ty, $exact:literal;)*) => {$(
        impl Cell for $t {
            type Sum = f64;
            const EXACT: bool = $exact;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self { self * other }
            // NaN wins. Among equal numbers, which are zeros of both signs, the positive zero wins.
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let found = if self > other { self } else { other };
                let found = if self == other { <$t>::from_bits(self.to_bits() & other.to_bits()) } else { found };
                if self.is_nan() { self } else { found }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let found = if self < other { self } else { other };
                let found = if self == other { <$t>::from_bits(self.to_bits() | other.to_bits()) } else { found };
                if self.is_nan() { self } else { found }
            }
            #[inline(always)]
            fn to_sum(self) -> f64 { self.into() }
            #[inline(always)]
            fn of_sum(sum: f64) -> Self { sum as Self }
            #[inline(always)]
            fn add_sums(a: f64, b: f64) -> f64 { a + b }
        }
    )*};
}

floats! {
    f32, true;
    f64, false;
}

/// An element as it is stored: itself, or a narrow float that is combined in f32.
pub(super) trait Stored: Copy + Send + Sync + 'static {
    type Cell: Cell;
    /// Returns elements in the type in which they are combined: the elements themselves, or a copy in `memory`.
    fn cells<'a>(from: &'a [Self], memory: &'a mut Vec<Self::Cell>) -> &'a [Self::Cell];
    /// Stores the values that `f` writes.
    fn fill(to: &mut [Self], f: impl FnOnce(&mut [Self::Cell]));
}

macro_rules! stored {
    ($($t:ty)*) => {$(
        impl Stored for $t {
            type Cell = $t;
            fn cells<'a>(from: &'a [Self], _: &'a mut Vec<Self>) -> &'a [Self] { from }
            fn fill(to: &mut [Self], f: impl FnOnce(&mut [Self])) { f(to) }
        }
    )*};
}

stored! { i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 }

macro_rules! narrow {
    ($($t:ty)*) => {$(
        impl Stored for $t {
            type Cell = f32;
            fn cells<'a>(from: &'a [Self], memory: &'a mut Vec<f32>) -> &'a [f32] {
                memory.clear();
                memory.extend(from.iter().map(|x| x.to_f32()));
                memory
            }
            fn fill(to: &mut [Self], f: impl FnOnce(&mut [f32])) {
                let mut memory = vec![0.0; to.len()];
                f(&mut memory);
                to.iter_mut().zip(&memory).for_each(|(to, &x)| *to = Self::from_f32(x));
            }
        }
    )*};
}

narrow! { bf16 f16 }

/// An operation as a type, so that loops are compiled for each operation.
pub(super) trait Combine<C>: Copy + Send + Sync {
    fn apply(a: C, b: C) -> C;
}

macro_rules! operations {
    ($($name:ident: $method:ident;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl<C: Cell> Combine<C> for $name {
            #[inline(always)]
            fn apply(a: C, b: C) -> C {
                a.$method(b)
            }
        }
    )*};
}

operations! {
    Add: add;
    Mul: multiply;
    Max: larger;
    Min: smaller;
}
