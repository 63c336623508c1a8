//! Products of bytes by instructions that add several of them at a time to a sum of 32 bits: four, or two that were widened
//! to 16 bits.

use std::marker::PhantomData;
use std::sync::Mutex;

use bytemuck::Pod;
use dialect::ir::{ElementClass, ElementType};

use super::narrow::{Block, Operand, Tile, in_vectors, integers};
use crate::window::micro::{self, Code, ROWS, Run};

/// What an instruction multiplies at a time.
pub(super) trait Form: Send + 'static {
    /// A step of the sum as a part of a word of the left operand.
    type Left: Pod + Into<i32>;
    /// The same of the right operand.
    type Right: Pod + Default + Into<i32>;
    /// Steps of the sum in a word of 32 bits.
    const STEPS: usize;
    /// The most contracted elements of a block: a panel of the right operand is as large as a core's nearest cache.
    const DEPTH: usize;
    /// The kernels; `None` where the processor doesn't have the instruction.
    fn code() -> Option<Code<i32>>;
    /// A byte of the left operand, and what was added to it, as parts of words have one signedness.
    fn left(is_signed: bool) -> (impl Fn(u8) -> Self::Left, i32);
    /// A byte of the right operand, and what was taken from it.
    fn right(is_signed: bool) -> (impl Fn(u8) -> Self::Right, i32);
    /// Tiles that are kept.
    fn kept() -> &'static Mutex<Vec<Bytes<Self>>>
    where
        Self: Sized;
}

/// Four bytes, unsigned ones of the left operand and signed ones of the right.
///
/// So 128 is added to a signed left operand and taken from an unsigned right one, and what that changes, which sums of
/// rows and of columns tell, is taken back: `a b` is `(a' - l) (b' + r)`, that is `a' b' - l b' + r a' - l r`.
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

    fn kept() -> &'static Mutex<Vec<Bytes<Self>>> {
        static KEPT: Mutex<Vec<Bytes<Quads>>> = Mutex::new(Vec::new());
        &KEPT
    }
}

/// Two numbers of 16 bits, which has any byte as it is.
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
        // The bits above a byte: its sign, or none.
        let sign = if is_signed { 0x80 } else { 0 };
        (move |byte| (i16::from(byte) ^ sign) - sign, 0)
    }

    #[inline(always)]
    fn right(is_signed: bool) -> (impl Fn(u8) -> i16, i32) {
        Self::left(is_signed)
    }

    fn kept() -> &'static Mutex<Vec<Bytes<Self>>> {
        static KEPT: Mutex<Vec<Bytes<Pairs>>> = Mutex::new(Vec::new());
        &KEPT
    }
}

/// A tile of sums of products of bytes.
pub(super) struct Bytes<F> {
    code: Code<i32>,
    /// The left operand's rows, some steps of the sum in a word.
    lhs: Vec<i32>,
    /// The right operand's columns in panels of vectors, the same.
    rhs: Vec<i32>,
    /// Rows and columns of the tile with what fills up vectors.
    sums: Vec<i32>,
    rows: usize,
    columns: usize,
    /// Sums that don't fit into 32 bits; empty where their low bits are all that counts.
    wide: Vec<i64>,
    form: PhantomData<F>,
}

impl<F: Form> Bytes<F> {
    /// Columns of a panel.
    fn width(&self) -> usize {
        if self.columns > self.code.lanes { 2 * self.code.lanes } else { self.code.lanes }
    }

    /// Copies the rows; each one's sum of what is copied, and what was added to each element.
    ///
    /// # Safety
    ///
    /// The block is inside the operand.
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
            // SAFETY: row `i` of the block.
            unsafe { copy(at, from.strides[1], row, &part) };
            sums.push(row.iter().map(|&v| v.into()).sum());
        }
        (sums, added)
    }

    /// Copies the columns; each one's sum of what is copied, and what was taken from each element.
    ///
    /// # Safety
    ///
    /// The block is inside the operand.
    #[inline(always)]
    unsafe fn pack_columns(&mut self, from: &Operand, k: usize, n: usize) -> (Vec<i32>, i32) {
        let (words, width, bits) = (k.div_ceil(F::STEPS), self.width(), 32 / F::STEPS);
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
                    // SAFETY: a step of the block's columns.
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

/// Bytes so far apart, as parts of words.
///
/// # Safety
///
/// They are there.
#[inline(always)]
unsafe fn copy<T>(from: *const u8, stride: isize, to: &mut [T], part: impl Fn(u8) -> T) {
    if stride == 1 {
        // SAFETY: the caller's promise.
        let from = unsafe { std::slice::from_raw_parts(from, to.len()) };
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = part(v));
        return;
    }
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
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
        let [lhs, rhs, sums] = [const { Vec::new() }; 3];
        Self { code, lhs, rhs, sums, rows: 0, columns: 0, wide: Vec::new(), form: PhantomData }
    }

    fn kept() -> &'static Mutex<Vec<Self>> {
        F::kept()
    }

    fn clear(&mut self, [rows, columns]: [usize; 2], result: ElementType) {
        (self.rows, self.columns) = (rows, columns);
        let across = columns.next_multiple_of(self.width());
        self.sums.clear();
        self.sums.resize(rows.next_multiple_of(ROWS) * across, 0);
        self.wide.clear();
        self.wide.resize(if result.bits() > 32 { self.sums.len() } else { 0 }, 0);
    }

    unsafe fn add(&mut self, block: &Block) {
        let [m, n, k] = block.sizes;
        let ((mut down, mut left), (mut along, mut right)) = ((Vec::new(), 0), (Vec::new(), 0));
        in_vectors(
            #[inline(always)]
            || {
                // SAFETY: the caller's promise.
                unsafe {
                    (down, left) = self.pack_rows(&block.lhs, m, k);
                    (along, right) = self.pack_columns(&block.rhs, k, n);
                }
            },
        );
        let (width, words) = (self.width(), k.div_ceil(F::STEPS));
        let across = n.next_multiple_of(width);
        if (left, right) != (0, 0) {
            for (row, down) in self.sums.chunks_exact_mut(across).zip(&down) {
                let whole = (right * down).wrapping_sub(left * right * k as i32);
                row.iter_mut().zip(&along).for_each(|(sum, along)| {
                    *sum = sum.wrapping_add(whole).wrapping_sub(left * along);
                });
            }
        }
        let vectors = width / self.code.lanes;
        let kernel = self.code.splat[0][vectors - 1];
        let rows = self.code.rows[0];
        let runs = [Run { step: 0, len: words as u32, at: 0, mixed: false }];
        for (panel, lanes) in self.rhs.chunks_exact((words * width).max(1)).enumerate() {
            for first in (0..m).step_by(rows) {
                // Rows that don't exist repeat the last one, and are stored behind the tile.
                let bases = std::array::from_fn(|r| self.lhs[(first + r).min(m - 1) * words..].as_ptr());
                let outs = std::array::from_fn(|r| ((first + r) * across + panel * width) as isize);
                let tile = micro::Tile {
                    bases: &bases,
                    runs: &runs,
                    table: &[],
                    stride: 1,
                    shift: 0,
                    outs: &outs,
                    adds: true,
                };
                // SAFETY: rows and panels have that many words; the sums have whole tiles.
                unsafe { kernel(&tile, lanes.as_ptr(), self.sums.as_mut_ptr()) };
            }
        }
        if !self.wide.is_empty() {
            self.wide.iter_mut().zip(&mut self.sums).for_each(|(wide, sum)| *wide += i64::from(std::mem::take(sum)));
        }
    }

    unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
        let at = row * self.columns.next_multiple_of(self.width());
        let range = at..at + self.columns;
        // SAFETY: the caller's promise.
        unsafe {
            match self.wide.is_empty() {
                true => integers(&self.sums[range], to, stride, element, |v| v as u64),
                false => integers(&self.wide[range], to, stride, element, |v| v as u64),
            }
        }
    }
}
