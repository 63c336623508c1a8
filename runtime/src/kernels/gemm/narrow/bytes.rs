//! Products of bytes by instructions that add several of them at a time to a sum of 32 bits: four bytes, or two that
//! were widened to 16 bits.

use std::marker::PhantomData;

use bytemuck::Pod;
use dialect::ir::{ElementClass, ElementType};

use super::Tile;
use super::integers::integers;
use super::panels::{Block, Operand, in_vectors};
use super::sums::{Rows, Sums};
use crate::kernels::micro::{self, Code};

/// The operand format of a multiplying instruction.
pub(super) trait Form: Send + 'static {
    /// An element of the left operand as a part of a 32-bit word.
    type Left: Pod + Into<i32>;
    /// An element of the right operand as a part of a 32-bit word.
    type Right: Pod + Default + Into<i32>;
    /// Number of contracted elements in a word of 32 bits.
    const STEPS: usize;
    /// The maximum number of contracted elements of a block. With it, a panel of the right operand has the size of a
    /// core's nearest cache.
    const DEPTH: usize;
    /// Returns the kernels; `None` if the processor doesn't have the instruction.
    fn code() -> Option<Code<i32>>;
    /// Returns the conversion of a byte of the left operand, and the number that it adds, because parts of words have a
    /// fixed signedness.
    fn left(is_signed: bool) -> (impl Fn(u8) -> Self::Left, i32);
    /// Returns the conversion of a byte of the right operand, and the number that it subtracts.
    fn right(is_signed: bool) -> (impl Fn(u8) -> Self::Right, i32);
}

/// Four bytes: unsigned for the left operand and signed for the right.
///
/// So 128 is added to a signed left operand and subtracted from an unsigned right one. The sums of rows and of columns
/// then correct the result: `a b` is `(a' - l) (b' + r)`, that is `a' b' - l b' + r a' - l r`.
pub(super) struct Quads;

impl Form for Quads {
    type Left = u8;
    type Right = i8;
    const STEPS: usize = 4;
    const DEPTH: usize = 1024;

    fn code() -> Option<Code<i32>> {
        micro::quads()
    }

    #[inline(always)]
    fn left(is_signed: bool) -> (impl Fn(u8) -> u8, i32) {
        let flip = if is_signed { 0x80 } else { 0 };
        (move |byte| byte ^ flip, i32::from(flip))
    }

    #[inline(always)]
    fn right(is_signed: bool) -> (impl Fn(u8) -> i8, i32) {
        let flip = if is_signed { 0 } else { 0x80 };
        (move |byte| (byte ^ flip) as i8, i32::from(flip))
    }
}

/// Two numbers of 16 bits, which can represent any byte.
pub(super) struct Pairs;

impl Form for Pairs {
    type Left = i16;
    type Right = i16;
    const STEPS: usize = 2;
    const DEPTH: usize = 512;

    fn code() -> Option<Code<i32>> {
        micro::pairs()
    }

    #[inline(always)]
    fn left(is_signed: bool) -> (impl Fn(u8) -> i16, i32) {
        // Sign-extends signed bytes and zero-extends unsigned ones.
        let sign = if is_signed { 0x80 } else { 0 };
        (move |byte| (i16::from(byte) ^ sign) - sign, 0)
    }

    #[inline(always)]
    fn right(is_signed: bool) -> (impl Fn(u8) -> i16, i32) {
        Self::left(is_signed)
    }
}

/// A tile of sums of products of bytes.
pub(super) struct Bytes<F> {
    code: Code<i32>,
    /// The left operand's rows, [`Form::STEPS`] contracted elements in a word.
    lhs: Vec<i32>,
    /// The right operand's columns in panels of vectors, [`Form::STEPS`] contracted elements in a word.
    rhs: Vec<i32>,
    sums: Sums<i32>,
    /// Sums that don't fit into 32 bits; empty if only the low 32 bits are needed.
    wide: Vec<i64>,
    form: PhantomData<F>,
}

impl<F: Form> Bytes<F> {
    /// Copies the rows. Returns the sum of the copied elements of each row, and the number that was added to each
    /// element.
    ///
    /// # Safety
    ///
    /// The block must be inside the operand.
    #[inline(always)]
    unsafe fn pack_rows(&mut self, from: &Operand, m: usize, k: usize) -> (Vec<i32>, i32) {
        let words = k.div_ceil(F::STEPS);
        self.lhs.clear();
        self.lhs.resize(m * words, 0);
        let (part, added) = F::left(is_signed(from.source.element));
        let first = from.source.start.wrapping_offset(from.start);
        let mut sums = Vec::with_capacity(m);
        for (i, row) in self.lhs.chunks_exact_mut(words.max(1)).enumerate() {
            let row = &mut bytemuck::cast_slice_mut::<i32, F::Left>(row)[..k];
            let at = first.wrapping_offset(i as isize * from.strides[0]);
            // SAFETY: `i < m`, so this is row `i` of the block, which has `k` elements.
            unsafe { copy(at, from.strides[1], row, &part) };
            sums.push(row.iter().map(|&v| v.into()).sum());
        }
        (sums, added)
    }

    /// Copies the columns. Returns the sum of the copied elements of each column, and the number that was subtracted
    /// from each element.
    ///
    /// # Safety
    ///
    /// The block must be inside the operand.
    #[inline(always)]
    unsafe fn pack_columns(&mut self, from: &Operand, k: usize, n: usize) -> (Vec<i32>, i32) {
        let (words, width, bits) = (k.div_ceil(F::STEPS), self.sums.width, 32 / F::STEPS);
        self.rhs.clear();
        self.rhs.resize(words * n.next_multiple_of(width), 0);
        let (part, taken) = F::right(is_signed(from.source.element));
        let first = from.source.start.wrapping_offset(from.start);
        let mut sums = vec![0; n.next_multiple_of(width)];
        let panels = self.rhs.chunks_exact_mut((words * width).max(1)).zip(sums.chunks_exact_mut(width));
        for (p, (panel, sums)) in panels.enumerate() {
            let lanes = width.min(n - p * width);
            let first = first.wrapping_offset((p * width) as isize * from.strides[1]);
            let mut line = [F::Right::default(); 32];
            for (w, to) in panel.chunks_exact_mut(width).enumerate() {
                for (i, step) in (F::STEPS * w..k).take(F::STEPS).enumerate() {
                    let line = &mut line[..lanes];
                    let at = first.wrapping_offset(step as isize * from.strides[0]);
                    // SAFETY: `step < k` and `p * width + lanes <= n`, so these are elements of the block's columns.
                    unsafe { copy(at, from.strides[1], line, &part) };
                    for ((word, sum), &mut v) in to[..lanes].iter_mut().zip(&mut *sums).zip(line) {
                        let v: i32 = v.into();
                        *word |= (v & (u32::MAX >> (32 - bits)) as i32) << (i * bits);
                        *sum += v;
                    }
                }
            }
        }
        (sums, taken)
    }
}

/// Converts `to.len()` bytes that are `stride` apart.
///
/// # Safety
///
/// All these bytes must be valid for reads.
#[inline(always)]
unsafe fn copy<T>(from: *const u8, stride: isize, to: &mut [T], part: impl Fn(u8) -> T) {
    if stride == 1 {
        // SAFETY: the bytes are contiguous, and valid by this function's contract.
        let from = unsafe { std::slice::from_raw_parts(from, to.len()) };
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = part(v));
        return;
    }
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: `i < to.len()`, so the byte is valid by this function's contract.
        *to = part(unsafe { from.offset(i as isize * stride).read() });
    }
}

fn is_signed(element: ElementType) -> bool {
    element.class() == ElementClass::Signed
}

impl<F: Form> Tile for Bytes<F> {
    const DEPTH: usize = F::DEPTH;

    fn new() -> Self {
        let code = F::code().expect("asked before");
        let [lhs, rhs] = [const { Vec::new() }; 2];
        Self { code, lhs, rhs, sums: Sums::default(), wide: Vec::new(), form: PhantomData }
    }

    fn clear(&mut self, sizes: [usize; 2], result: ElementType) {
        self.sums.clear(&self.code, sizes);
        self.wide.clear();
        self.wide.resize(if result.bits() > 32 { self.sums.all.len() } else { 0 }, 0);
    }

    unsafe fn add(&mut self, block: &Block) {
        let [m, n, k] = block.sizes;
        let ((mut down, mut left), (mut along, mut right)) = ((Vec::new(), 0), (Vec::new(), 0));
        in_vectors(
            #[inline(always)]
            || {
                // SAFETY: the blocks are inside the operands by the contract of `Tile::add`.
                unsafe {
                    (down, left) = self.pack_rows(&block.lhs, m, k);
                    (along, right) = self.pack_columns(&block.rhs, k, n);
                }
            },
        );
        let words = k.div_ceil(F::STEPS);
        let across = self.sums.across();
        if (left, right) != (0, 0) {
            for (row, down) in self.sums.all.chunks_exact_mut(across).zip(&down) {
                let whole = (right * down).wrapping_sub(left * right * k as i32);
                row.iter_mut().zip(&along).for_each(|(sum, along)| {
                    *sum = sum.wrapping_add(whole).wrapping_sub(left * along);
                });
            }
        }
        let rows = Rows { elements: &self.lhs, strides: [words as isize, 1], steps: words };
        self.sums.add(&self.code, rows, &self.rhs);
        if !self.wide.is_empty() {
            self.wide
                .iter_mut()
                .zip(&mut self.sums.all)
                .for_each(|(wide, sum)| *wide += i64::from(std::mem::take(sum)));
        }
    }

    unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
        // SAFETY: `to` is valid for the row's elements, `stride` apart, by the contract of `Tile::store`.
        unsafe {
            match self.wide.is_empty() {
                true => integers(self.sums.row(row), to, stride, element, |v| v as u64),
                false => integers(self.sums.of_row(&self.wide, row), to, stride, element, |v| v as u64),
            }
        }
    }
}
