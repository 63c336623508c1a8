//! Tiles of sums of integers.

use dialect::ir::ElementType;

use super::floats::{multiply, spread};
use super::panels::{Block, Panels, Wide};
use super::sums::{Rows, Sums};
use super::{DEPTH, Tile};
use crate::kernels::micro::{Code, Number};

/// Sums of integers that are products of floats. They are exact for the number of terms of a block.
pub(super) struct Integers<P> {
    panels: Panels<P>,
    block: Vec<P>,
    sums: Vec<i64>,
    columns: usize,
}

/// `$whole` is wide enough for a block's sums. It is no wider, because conversions to the widest integers don't
/// vectorize.
macro_rules! integers {
    ($($wide:ty, $whole:ty, $depth:expr;)*) => {$(
        impl Tile for Integers<$wide> {
            const DEPTH: usize = $depth;

            fn new() -> Self {
                Self { panels: Panels::new(), block: Vec::new(), sums: Vec::new(), columns: 0 }
            }

            fn clear(&mut self, [rows, columns]: [usize; 2], _: ElementType) {
                self.sums.clear();
                self.sums.resize(rows * columns, 0);
                self.columns = columns;
            }

            unsafe fn add(&mut self, block: &Block) {
                // SAFETY: the blocks are inside the operands by the contract of `Tile::add`.
                unsafe { self.panels.fill(block) };
                self.block.resize(self.sums.len(), 0.0);
                multiply(block.sizes, &mut self.block, false, &self.panels);
                self.sums.iter_mut().zip(&self.block).for_each(|(sum, &v)| *sum = sum.wrapping_add(v as $whole as i64));
            }

            unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
                let columns = self.columns;
                // SAFETY: `to` is valid for the row's elements, `stride` apart, by the contract of `Tile::store`.
                unsafe { integers(&self.sums[row * columns..(row + 1) * columns], to, stride, element, |v| v as u64) };
            }
        }
    )*};
}

// Sums of 256 products of bytes are below 2 to the 24th, up to which f32 has all integers.
integers!(f32, i32, DEPTH / 2; f64, i64, DEPTH;);

/// Writes the low bits of integers; for a boolean, whether the integer isn't zero.
///
/// # Safety
///
/// The same as for [`spread`].
pub(super) unsafe fn integers<S: Copy>(
    from: &[S],
    to: *mut u8,
    stride: isize,
    element: ElementType,
    low: impl Fn(S) -> u64,
) {
    // SAFETY: each arm writes the type of the element. The elements are valid by this function's contract.
    unsafe {
        match element.bytes() {
            _ if element == ElementType::I1 => spread(from, to, stride, |v| u8::from(low(v) != 0)),
            1 => spread(from, to, stride, |v| low(v) as u8),
            2 => spread(from, to.cast::<u16>(), stride, |v| low(v) as u16),
            4 => spread(from, to.cast::<u32>(), stride, |v| low(v) as u32),
            _ => spread(from, to.cast::<u64>(), stride, low),
        }
    }
}

/// Sums of integers modulo their width, by vectors of integers.
pub(super) struct Wrapping<P: 'static> {
    code: Code<P>,
    panels: Panels<P>,
    /// The right operand's columns in panels of vectors.
    columns: Vec<P>,
    sums: Sums<P>,
}

impl<P: Wide + Number + Into<i64>> Tile for Wrapping<P> {
    fn new() -> Self {
        Self { code: P::code(), panels: Panels::new(), columns: Vec::new(), sums: Sums::default() }
    }

    fn clear(&mut self, sizes: [usize; 2], _: ElementType) {
        self.sums.clear(&self.code, sizes);
    }

    unsafe fn add(&mut self, block: &Block) {
        // SAFETY: the blocks are inside the operands by the contract of `Tile::add`.
        unsafe { self.panels.fill(block) };
        let ([_, n, k], Panels { lhs, rhs }) = (block.sizes, &self.panels);
        let width = self.sums.width;
        self.columns.clear();
        self.columns.resize(k * n.next_multiple_of(width), P::default());
        let [down, along] = rhs.strides.map(|stride| stride as usize);
        for (p, panel) in self.columns.chunks_exact_mut((k * width).max(1)).enumerate() {
            let first = p * width;
            for (x, row) in panel.chunks_exact_mut(width).enumerate() {
                let from = &rhs.elements[x * down + first * along..];
                row.iter_mut().take(n - first).enumerate().for_each(|(j, to)| *to = from[j * along]);
            }
        }
        let rows = Rows { elements: &lhs.elements, strides: lhs.strides, steps: k };
        self.sums.add(&self.code, rows, &self.columns);
    }

    unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
        // SAFETY: `to` is valid for the row's elements, `stride` apart, by the contract of `Tile::store`.
        unsafe { integers(self.sums.row(row), to, stride, element, |v| v.into() as u64) };
    }
}
