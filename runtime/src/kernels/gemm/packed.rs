//! Products of a few rows at a time, with the right operand in panels that the library reads without copying it again.
//!
//! For each product the library copies the operand whose elements its vectors hold. If a few rows are multiplied at a
//! time, this copy takes longer than the product, especially if the operand is transposed. So an operand that is
//! multiplied repeatedly, in a loop or with one block of rows after the other, is copied once: into panels of some
//! columns, each of which is stored as a separate matrix.
//!
//! A sum has the same order for any division into rows, and the library's order if it is at most [`DEPTH`] long.

use std::ops::Range;

use dialect::ir::ElementType;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::product::{PARALLEL, Product};
use super::{Gemm, Run};
use crate::across::AcrossThreads;

/// Number of columns of a panel.
const PANEL: usize = 64;

/// Number of contracted elements that the library sums at a time. The library would divide longer sums depending on the
/// number of rows.
pub(crate) const DEPTH: usize = 512;

/// Number of elements of a right operand that stays in a core's cache. If its rows are contiguous, it is as fast as
/// panels.
const NEAR: usize = 1 << 18;

/// Number of elements of panels that a core's cache doesn't hold for long.
const LARGE: usize = 1 << 20;

/// Numbers of rows from which the library's copy takes little of the time: for an operand with contiguous rows, and for
/// one that the library transposes.
const MANY: [usize; 2] = [192, 1024];

/// The sizes of products from which devices share the panels of a right operand. For smaller products, the library's
/// copy is faster than sharing.
#[derive(Clone, Debug)]
pub(crate) struct SharedSizes {
    /// The minimum number of rows of a product.
    pub rows: usize,
    /// The minimum number of rows of the products of all devices together.
    pub all_rows: usize,
    /// The number of elements that the right operand exceeds.
    pub elements: usize,
}

/// A product of f32 that is computed by ranges of rows. Its result is contiguous: the rows of a batch follow each
/// other, and the batches too.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// The product. Its operands are exchanged if neighboring elements of the result are in one column.
    gemm: Gemm,
    exchanged: bool,
    /// Number of rows of all batches together.
    rows: usize,
    /// The batches, outermost first.
    batch: Vec<Run>,
    /// Whether the right operand is read in place.
    in_place: bool,
}

/// A right operand: its first element, and the strides of rows, columns and panels in elements.
#[derive(Clone, Copy)]
struct Panels {
    first: *const f32,
    row: isize,
    column: isize,
    panel: isize,
}

impl Packed {
    /// Returns `gemm` as a product by ranges of rows, if it can be computed so.
    pub(crate) fn of(gemm: &Gemm) -> Option<Self> {
        if gemm.types != [ElementType::F32; 3] || gemm.lengths.contains(&0) || gemm.adds {
            return None;
        }
        let exchanged = gemm.columns.out != 1 || gemm.columns.size == 1;
        let gemm = if exchanged { gemm.exchanged() } else { gemm.clone() };
        let (rows, columns) = (gemm.rows, gemm.columns);
        // The library multiplies a single column in another order than several columns.
        if columns.out != 1 || columns.size < PANEL / 4 || columns.size % PANEL == 1 || gemm.outer.iter().any(|o| o.1) {
            return None;
        }
        let mut batch: Vec<Run> = gemm.outer.iter().map(|o| o.0).collect();
        batch.sort_by_key(|run| std::cmp::Reverse(run.out));
        // The rows of the result must be contiguous.
        let mut all = 1;
        for run in batch.iter().chain([&rows]).rev().filter(|run| run.size != 1) {
            if run.out != (all * columns.size) as isize {
                return None;
            }
            all *= run.size;
        }
        let in_place = columns.rhs == 1 && gemm.contracted.size * columns.size <= NEAR;
        (all * columns.size == gemm.lengths[2]).then_some(Self { gemm, exchanged, rows: all, batch, in_place })
    }

    /// Returns the numbers of the product's operands that are the left and the right one.
    pub(crate) fn sides(&self) -> [usize; 2] {
        if self.exchanged { [1, 0] } else { [0, 1] }
    }

    /// Returns the number of rows of all batches together.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of contracted elements.
    pub(crate) fn depth(&self) -> usize {
        self.gemm.contracted.size
    }

    /// Returns the smaller of the number of rows of a batch and the number of columns.
    pub(crate) fn least_side(&self) -> usize {
        self.gemm.rows.size.min(self.gemm.columns.size)
    }

    /// Returns whether each row reads only the same one of as many equal parts of the left operand.
    pub(crate) fn reads_own_rows(&self) -> bool {
        let (depth, gemm) = (self.gemm.contracted, &self.gemm);
        let each = depth.size as isize;
        let mut all = 1;
        let follow = self.batch.iter().chain([&gemm.rows]).rev().filter(|run| run.size != 1).all(|run| {
            let follows = run.lhs == all * each;
            all *= run.size as isize;
            follows
        });
        follow && (depth.lhs == 1 || each == 1) && gemm.start[0] == 0 && gemm.lengths[0] as isize == all * each
    }

    /// Returns whether reading the right operand in place is as fast as panels.
    pub(crate) fn is_near(&self) -> bool {
        self.in_place
    }

    /// Returns the same product, to the same bits, with the right operand read in place instead of in panels.
    pub(crate) fn without_panels(&self) -> Self {
        Self { in_place: true, ..self.clone() }
    }

    /// Returns whether panels pay if the product is computed more than once.
    pub(crate) fn pays(&self) -> bool {
        let turned = usize::from(self.gemm.columns.rhs != 1);
        let rows = self.gemm.rows.size;
        (2..=MANY[turned]).contains(&rows) && self.elements() <= LARGE && self.elements() >= 1 << 12 && !self.is_near()
    }

    /// Returns whether it pays that this many devices, which share the right operand, share its panels.
    pub(crate) fn pays_among(&self, devices: usize, least: &SharedSizes) -> bool {
        let rows = self.gemm.rows.size;
        devices > 1
            && least.rows <= rows
            && rows <= MANY[1]
            && rows * devices >= least.all_rows
            && self.elements() > least.elements
            && !self.in_place
    }

    /// Returns the number of panels, of all batches together.
    pub(crate) fn pieces(&self) -> usize {
        self.kinds() * self.panels()
    }

    /// Returns the number of elements of the right operand that one batch reads.
    fn elements(&self) -> usize {
        self.gemm.contracted.size * self.gemm.columns.size
    }

    /// Returns the bytes of all panels.
    pub(crate) fn bytes(&self) -> usize {
        self.kinds() * self.kind() * size_of::<f32>()
    }

    /// Returns whether another product with the same right operand has the same panels.
    pub(crate) fn has_panels_of(&self, other: &Self) -> bool {
        let side = |packed: &Self| {
            let gemm = &packed.gemm;
            let moves = |run: &Run| (run.size, run.rhs);
            let batch = packed.batch.iter().filter(|run| run.rhs != 0).map(moves).collect::<Vec<_>>();
            (gemm.start[1], moves(&gemm.columns), moves(&gemm.contracted), batch)
        };
        side(self) == side(other)
    }

    /// Returns the number of different right operands of the batches.
    fn kinds(&self) -> usize {
        self.batch.iter().filter(|run| run.rhs != 0).map(|run| run.size).product()
    }

    /// Returns the number of elements of the panels of one right operand.
    fn kind(&self) -> usize {
        self.gemm.columns.size.next_multiple_of(PANEL) * self.gemm.contracted.size
    }

    /// Returns how many of these threads to use.
    pub(crate) fn threads(&self, threads: usize) -> usize {
        if self.rows * self.elements() < PARALLEL { 1 } else { threads }
    }

    /// Copies the right operand into panels.
    ///
    /// # Safety
    ///
    /// `from` must be valid for the elements of the operand, and `to` for [`Self::bytes`] bytes, aligned for f32. No
    /// other thread may access the panels meanwhile.
    pub(crate) unsafe fn pack(&self, from: *const u8, to: *mut u8, threads: usize) {
        // SAFETY: these are only raw pointers.
        let addresses = unsafe { AcrossThreads::new((from, to)) };
        let one = |piece: usize| {
            let &(from, to) = addresses.get();
            // SAFETY: `piece < pieces()`, and each piece is copied once, to a panel of its own. `from` and `to` are
            // valid by this function's contract.
            unsafe { self.pack_piece(from, to, piece) };
        };
        let all = 0..self.pieces();
        if threads > 1 && self.bytes() >= PARALLEL {
            all.into_par_iter().for_each(one);
        } else {
            all.for_each(one);
        }
    }

    /// Copies one of the [panels](Self::pieces).
    ///
    /// # Safety
    ///
    /// The same as for [`Self::pack`], for this panel.
    pub(crate) unsafe fn pack_piece(&self, from: *const u8, to: *mut u8, piece: usize) {
        let (columns, depth) = (self.gemm.columns, self.gemm.contracted);
        let from = from.cast::<f32>().wrapping_offset(self.gemm.start[1]);
        let (kind, panel) = (piece / self.panels(), piece % self.panels());
        let from = from.wrapping_offset(self.right(kind) + (panel * PANEL) as isize * columns.rhs);
        let to = to.cast::<f32>().wrapping_add(kind * self.kind() + panel * PANEL * depth.size);
        let width = PANEL.min(columns.size - panel * PANEL);
        // SAFETY: `from` is the first of `width` columns of the operand, all with `depth.size` rows. `to` is the start
        // of panel `piece`, which has `PANEL * depth.size` elements.
        unsafe { copy(from, [depth.rhs, columns.rhs], [depth.size, width], to) };
    }

    /// Returns the offset of the right operand with this number.
    fn right(&self, mut kind: usize) -> isize {
        let mut at = 0;
        for run in self.batch.iter().rev().filter(|run| run.rhs != 0) {
            at += (kind % run.size) as isize * run.rhs;
            kind /= run.size;
        }
        at
    }

    /// Computes the rows of the range, with the right operand in panels, or in place if it [is near](Self::is_near).
    ///
    /// # Safety
    ///
    /// `left`, `out`, and `right` (unless it points to panels) must be valid for the elements of the product's tensors;
    /// panels must have [`Self::bytes`] bytes. No other thread may write the operands or access these rows meanwhile.
    pub(crate) unsafe fn run(&self, left: *const u8, right: *const u8, out: *mut u8, rows: Range<usize>) {
        // SAFETY: `part` has the contract of this function, and `0..self.panels()` are all panels.
        unsafe { self.part(left, right, out, rows, 0..self.panels()) };
    }

    /// Computes one of `parts` parts: some panels if there are at least as many panels as parts, and some rows
    /// otherwise.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`], for the elements of this part.
    pub(crate) unsafe fn run_part(&self, left: *const u8, right: *const u8, out: *mut u8, part: usize, parts: usize) {
        let (rows, panels) = (self.rows, self.panels());
        let some = |all: usize| part * all / parts..(part + 1) * all / parts;
        let (rows, panels) = if panels >= parts { (0..rows, some(panels)) } else { (some(rows), 0..panels) };
        // SAFETY: `part` has the contract of this function. Different parts have disjoint rows or panels.
        unsafe { self.part(left, right, out, rows, panels) };
    }

    fn panels(&self) -> usize {
        self.gemm.columns.size.div_ceil(PANEL)
    }

    /// # Safety
    ///
    /// The same as for [`Self::run`], for these rows and panels.
    unsafe fn part(&self, left: *const u8, right: *const u8, out: *mut u8, rows: Range<usize>, panels: Range<usize>) {
        let gemm = &self.gemm;
        let (left, right, out) = (left.cast::<f32>(), right.cast::<f32>(), out.cast::<f32>());
        let mut row = rows.start;
        while row < rows.end {
            let (batch, first) = (row / gemm.rows.size, row % gemm.rows.size);
            let count = (gemm.rows.size - first).min(rows.end - row);
            let (mut at, mut rest, mut kind, mut kinds) = (gemm.start[0], batch, 0, 1);
            for run in self.batch.iter().rev() {
                let i = rest % run.size;
                rest /= run.size;
                at += i as isize * run.lhs;
                if run.rhs != 0 {
                    kind += i * kinds;
                    kinds *= run.size;
                }
            }
            let right = match self.in_place {
                true => Panels {
                    first: right.wrapping_offset(gemm.start[1] + self.right(kind)),
                    row: gemm.contracted.rhs,
                    column: gemm.columns.rhs,
                    panel: PANEL as isize * gemm.columns.rhs,
                },
                false => Panels {
                    first: right.wrapping_add(kind * self.kind()),
                    row: PANEL as isize,
                    column: 1,
                    panel: (PANEL * gemm.contracted.size) as isize,
                },
            };
            let left = left.wrapping_offset(at + first as isize * gemm.rows.lhs);
            let out = out.wrapping_add(row * gemm.columns.size);
            // SAFETY: the `count` rows are of one batch, and all addresses were computed from the product's sizes and
            // strides.
            unsafe { self.block(left, right, out, count, panels.clone()) };
            row += count;
        }
    }

    /// Computes some rows of a batch.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`], for these rows and panels.
    unsafe fn block(&self, left: *const f32, right: Panels, out: *mut f32, rows: usize, panels: Range<usize>) {
        let (columns, depth) = (self.gemm.columns, self.gemm.contracted);
        // The library computes a single row in another order than several rows, so a single row is computed twice.
        let mut twice = [0.0; 2 * PANEL];
        // The library also has another order if neighboring elements are in one column, so such a block is copied.
        let mut turned = vec![0.0f32; if right.column == 1 { 0 } else { PANEL * DEPTH }];
        for panel in panels {
            let first = panel * PANEL;
            let width = PANEL.min(columns.size - first);
            let result = out.wrapping_add(first);
            let (to, down, along) = match rows {
                1 => (twice.as_mut_ptr(), PANEL as isize, 0),
                _ => (result, columns.size as isize, self.gemm.rows.lhs),
            };
            for start in (0..depth.size).step_by(DEPTH) {
                let deep = DEPTH.min(depth.size - start);
                let mut rhs = right.first.wrapping_offset(panel as isize * right.panel + start as isize * right.row);
                let mut along_rhs = right.row;
                if right.column != 1 {
                    // SAFETY: `start + deep <= depth.size` and `first + width <= columns.size`, so the block is inside
                    // the operand. `turned` has `PANEL * DEPTH` elements.
                    unsafe { copy(rhs, [right.row, right.column], [deep, width], turned.as_mut_ptr()) };
                    (rhs, along_rhs) = (turned.as_ptr(), PANEL as isize);
                }
                let product = Product {
                    sizes: [rows.max(2), width, deep],
                    out: to,
                    out_strides: [down, 1],
                    adds: start > 0,
                    lhs: left.wrapping_offset(start as isize * depth.lhs),
                    lhs_strides: [along, depth.lhs],
                    rhs,
                    rhs_strides: [along_rhs, 1],
                };
                // SAFETY: the operands' blocks are inside by the contract of this function, or in `turned`. The result
                // is `rows` rows of `width` columns, or `twice`, which has `2 * PANEL` elements.
                unsafe { product.library(1) };
            }
            if rows == 1 {
                // SAFETY: a row of the result has `first + width <= columns.size` columns, and `twice` has more than
                // `width` elements.
                unsafe { std::ptr::copy_nonoverlapping(twice.as_ptr(), result, width) };
            }
        }
    }
}

impl Gemm {
    /// Returns the same product with its operands exchanged, so that its rows become columns.
    fn exchanged(&self) -> Self {
        let turn = |run: Run| Run { lhs: run.rhs, rhs: run.lhs, ..run };
        let [l, r, o] = self.types;
        Self {
            operands: [self.operands[1], self.operands[0]],
            types: [r, l, o],
            lengths: [self.lengths[1], self.lengths[0], self.lengths[2]],
            start: [self.start[1], self.start[0]],
            outer: self.outer.iter().map(|&(run, contracted)| (turn(run), contracted)).collect(),
            rows: turn(self.columns),
            columns: turn(self.rows),
            contracted: turn(self.contracted),
            adds: self.adds,
        }
    }
}

/// Copies a matrix of these strides and sizes into a panel.
///
/// # Safety
///
/// The matrix must be valid for reads, and `to` for `depth` rows of [`PANEL`] elements.
unsafe fn copy(from: *const f32, strides: [isize; 2], [depth, width]: [usize; 2], to: *mut f32) {
    /// The number of rows that are copied of one column after the other, so that the elements read in either direction
    /// stay in the cache.
    const SOME: usize = 16;
    if strides[1] == 1 {
        for k in 0..depth {
            // SAFETY: `k < depth`, so this is a row of the matrix and of the panel.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    from.wrapping_offset(k as isize * strides[0]),
                    to.wrapping_add(k * PANEL),
                    width,
                )
            };
        }
        return;
    }
    for first in (0..depth).step_by(SOME) {
        let rows = first..depth.min(first + SOME);
        for column in 0..width {
            let from = from.wrapping_offset(column as isize * strides[1]);
            for k in rows.clone() {
                // SAFETY: `k < depth` and `column < width`, so this is an element of the matrix and of the panel.
                unsafe { to.add(k * PANEL + column).write(from.offset(k as isize * strides[0]).read()) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
