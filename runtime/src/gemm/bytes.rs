//! Products of bytes by the instruction that adds four of them at a time to a sum of 32 bits.
//!
//! It multiplies unsigned bytes with signed ones. So 128 is added to a signed left operand and taken from an unsigned
//! right one, and what that changes, which sums of rows and of columns tell, is taken back: `a b` is
//! `(a' - l) (b' + r)`, that is `a' b' - l b' + r a' - l r`.

use std::sync::Mutex;

use dialect::ir::{ElementClass, ElementType};

use super::narrow::{Block, Operand, Tile, in_vectors, integers};
use crate::window::micro::{self, Code, ROWS, Run};

/// A tile of sums of products of bytes.
pub(super) struct Bytes {
    code: Code<i32>,
    /// The left operand's rows, four steps of the sum in a word.
    lhs: Vec<i32>,
    /// The right operand's columns in panels of vectors, the same.
    rhs: Vec<i32>,
    /// Rows and columns of the tile with what fills up vectors.
    sums: Vec<i32>,
    rows: usize,
    columns: usize,
    /// Sums that don't fit into 32 bits; empty where their low bits are all that counts.
    wide: Vec<i64>,
}

impl Bytes {
    /// Whether this processor has the instruction.
    pub(super) fn are_native() -> bool {
        micro::bytes().is_some()
    }

    /// Columns of a panel.
    fn width(&self) -> usize {
        if self.columns > self.code.lanes { 2 * self.code.lanes } else { self.code.lanes }
    }

    /// Copies the rows; each one's sum of what is copied.
    ///
    /// # Safety
    ///
    /// The block is inside the operand.
    #[inline(always)]
    unsafe fn pack_rows(&mut self, from: &Operand, m: usize, k: usize) -> Vec<i32> {
        let words = k.div_ceil(4);
        self.lhs.clear();
        self.lhs.resize(m * words, 0);
        let flip = if is_signed(from.source.element) { 0x80 } else { 0 };
        let first = from.source.start.wrapping_offset(from.start);
        let mut sums = Vec::with_capacity(m);
        for (i, row) in self.lhs.chunks_exact_mut(words.max(1)).enumerate() {
            let row = &mut bytemuck::cast_slice_mut::<i32, u8>(row)[..k];
            let at = first.wrapping_offset(i as isize * from.strides[0]);
            // SAFETY: row `i` of the block.
            unsafe { copy(at, from.strides[1], row, flip) };
            sums.push(row.iter().map(|&v| i32::from(v)).sum());
        }
        sums
    }

    /// Copies the columns; each one's sum of what is copied.
    ///
    /// # Safety
    ///
    /// The block is inside the operand.
    #[inline(always)]
    unsafe fn pack_columns(&mut self, from: &Operand, k: usize, n: usize) -> Vec<i32> {
        let (words, width) = (k.div_ceil(4), self.width());
        self.rhs.clear();
        self.rhs.resize(words * n.next_multiple_of(width), 0);
        let flip = if is_signed(from.source.element) { 0 } else { 0x80 };
        let first = from.source.start.wrapping_offset(from.start);
        let mut sums = vec![0; n.next_multiple_of(width)];
        let panels = self.rhs.chunks_exact_mut((words * width).max(1)).zip(sums.chunks_exact_mut(width));
        for (p, (panel, sums)) in panels.enumerate() {
            let lanes = width.min(n - p * width);
            let first = first.wrapping_offset((p * width) as isize * from.strides[1]);
            let mut lines = [[0u8; 32]; 4];
            for (w, quads) in panel.chunks_exact_mut(width).enumerate() {
                for (step, line) in (4 * w..).zip(&mut lines) {
                    let line = &mut line[..lanes];
                    if step < k {
                        let at = first.wrapping_offset(step as isize * from.strides[0]);
                        // SAFETY: a step of the block's columns.
                        unsafe { copy(at, from.strides[1], line, flip) };
                    } else {
                        line.fill(0);
                    }
                }
                let [a, b, c, d] = lines.each_ref().map(|line| &line[..lanes]);
                for (i, (quad, sum)) in quads[..lanes].iter_mut().zip(&mut *sums).enumerate() {
                    let bytes = [a[i], b[i], c[i], d[i]].map(|byte| i32::from(byte as i8));
                    // In this form it runs in vectors.
                    *quad = bytes[0] & 0xFF | (bytes[1] & 0xFF) << 8 | (bytes[2] & 0xFF) << 16 | bytes[3] << 24;
                    *sum += bytes[0] + bytes[1] + bytes[2] + bytes[3];
                }
            }
        }
        sums
    }
}

/// Bytes so far apart, with bits turned over.
///
/// # Safety
///
/// They are there.
#[inline(always)]
unsafe fn copy(from: *const u8, stride: isize, to: &mut [u8], flip: u8) {
    if stride == 1 {
        // SAFETY: the caller's promise.
        let from = unsafe { std::slice::from_raw_parts(from, to.len()) };
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = v ^ flip);
        return;
    }
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *to = unsafe { from.offset(i as isize * stride).read() } ^ flip;
    }
}

fn is_signed(element: ElementType) -> bool {
    element.class() == ElementClass::Signed
}

impl Tile for Bytes {
    /// A panel of the right operand is as large as a core's nearest cache.
    const DEPTH: usize = 1024;

    fn new() -> Self {
        let code = micro::bytes().expect("asked before");
        Self { code, lhs: Vec::new(), rhs: Vec::new(), sums: Vec::new(), rows: 0, columns: 0, wide: Vec::new() }
    }

    fn kept() -> &'static Mutex<Vec<Self>> {
        static KEPT: Mutex<Vec<Bytes>> = Mutex::new(Vec::new());
        &KEPT
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
        let (mut down, mut along) = (Vec::new(), Vec::new());
        in_vectors(
            #[inline(always)]
            || {
                // SAFETY: the caller's promise.
                (down, along) = unsafe { (self.pack_rows(&block.lhs, m, k), self.pack_columns(&block.rhs, k, n)) };
            },
        );
        let (width, words) = (self.width(), k.div_ceil(4));
        let across = n.next_multiple_of(width);
        let left = if is_signed(block.lhs.source.element) { 128 } else { 0 };
        let right = if is_signed(block.rhs.source.element) { 0 } else { 128 };
        for (row, down) in self.sums.chunks_exact_mut(across).zip(&down) {
            let whole = (right * down).wrapping_sub(left * right * k as i32);
            row.iter_mut().zip(&along).for_each(|(sum, along)| {
                *sum = sum.wrapping_add(whole).wrapping_sub(left * along);
            });
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
