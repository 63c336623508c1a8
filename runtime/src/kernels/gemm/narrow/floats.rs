//! Tiles of sums of floats.

use dialect::ir::ElementType;
use dialect::small_float::{encode, is_small};
use half::{bf16, f16};

use super::Tile;
use super::panels::{Block, Panels, Wide, in_vectors};
use crate::kernels::gemm::{Float, Product};

/// Sums of floats.
pub(super) struct Floats<P> {
    panels: Panels<P>,
    sums: Vec<P>,
    columns: usize,
    begun: bool,
}

macro_rules! floats {
    ($($wide:ty, $bf16:expr, $f16:expr;)*) => {$(
        impl Tile for Floats<$wide> {
            fn new() -> Self {
                Self { panels: Panels::new(), sums: Vec::new(), columns: 0, begun: false }
            }

            fn clear(&mut self, [rows, columns]: [usize; 2], _: ElementType) {
                // The first product overwrites the old sums.
                self.sums.resize(rows * columns, 0.0);
                self.columns = columns;
                self.begun = false;
            }

            unsafe fn add(&mut self, block: &Block) {
                // SAFETY: the blocks are inside the operands by the contract of `Tile::add`.
                unsafe { self.panels.fill(block) };
                multiply(block.sizes, &mut self.sums, self.begun, &self.panels);
                self.begun = true;
            }

            unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
                let sums = &self.sums[row * self.columns..(row + 1) * self.columns];
                let zeros;
                let sums = if self.begun {
                    sums
                } else {
                    zeros = vec![0.0; sums.len()];
                    &zeros
                };
                in_vectors(
                    #[inline(always)]
                    || {
                        // Sums begin with 0, so none is -0. But the library returns a single product unchanged, so 0 is
                        // added here.
                        let sum = |v: $wide| v + 0.0;
                        // SAFETY: `to` is valid for the row's elements, `stride` apart, by the contract of
                        // `Tile::store`.
                        unsafe {
                            match element {
                                ElementType::BF16 => spread(sums, to.cast::<bf16>(), stride, |v| $bf16(sum(v))),
                                ElementType::F16 => spread(sums, to.cast::<f16>(), stride, |v| $f16(sum(v))),
                                ElementType::F32 => spread(sums, to.cast::<f32>(), stride, |v| sum(v) as f32),
                                small if is_small(small) => {
                                    spread(sums, to, stride, |v| encode(sum(v) as f64, small))
                                }
                                _ => spread(sums, to.cast::<f64>(), stride, |v| sum(v) as f64),
                            }
                        }
                    },
                );
            }
        }
    )*};
}

floats!(f32, near, f16::from_f32; f64, bf16::from_f64, f16::from_f64;);

/// Returns the nearest bf16, without a branch, which would prevent vectorization.
#[inline(always)]
pub(super) fn near(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    bf16::from_bits((if value.is_nan() { nan } else { rounded }) as u16)
}

/// Writes converted elements, `stride` apart.
///
/// # Safety
///
/// `to` must be valid for one element for each element of `from`, `stride` apart.
#[inline(always)]
pub(super) unsafe fn spread<S: Copy, T>(from: &[S], to: *mut T, stride: isize, value: impl Fn(S) -> T) {
    if stride == 1 {
        for (i, &v) in from.iter().enumerate() {
            // SAFETY: `i < from.len()` and `stride` is 1, so the element is valid by this function's contract.
            unsafe { to.add(i).write(value(v)) };
        }
        return;
    }
    for (i, &v) in from.iter().enumerate() {
        // SAFETY: `i < from.len()`, so the element is valid by this function's contract.
        unsafe { to.offset(i as isize * stride).write(value(v)) };
    }
}

/// Multiplies panels, and writes the product to `out` or adds it there.
pub(super) fn multiply<P: Wide + Float>(sizes: [usize; 3], out: &mut [P], adds: bool, panels: &Panels<P>) {
    let Panels { lhs, rhs } = panels;
    let product = Product {
        sizes,
        out: out.as_mut_ptr(),
        out_strides: [sizes[1] as isize, 1],
        adds,
        lhs: lhs.elements.as_ptr(),
        lhs_strides: lhs.strides,
        rhs: rhs.elements.as_ptr(),
        rhs_strides: rhs.strides,
    };
    // SAFETY: `fill` has given the panels `m * k` and `k * n` elements, with these strides. The callers resize `out` to
    // `m * n`.
    unsafe { product.run(1) };
}
