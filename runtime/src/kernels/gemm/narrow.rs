//! Products of types that the library doesn't multiply: narrow floats and integers.
//!
//! A result is computed tile by tile. For each tile, blocks of the operands are widened into panels, whatever their
//! strides, and multiplied there. The tile is kept in the wide type until the last block and rounded once. So each
//! thread needs memory for only a few blocks in addition to the operands, and converts an element once per several
//! hundred multiplications.
//!
//! Narrow floats have panels of f32; floats of a byte and less are looked up in a table. Integers of 8 bits are
//! multiplied four or two at a time (`bytes`) if the processor can. Otherwise they have panels of f32 too, and integers
//! of 16 bits have panels of f64: products and their sums over one block are exact there, which makes integers as fast
//! as floats. Wider integers are multiplied by vectors of integers.

mod bytes;
mod floats;
mod integers;
mod panels;
mod sums;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use dialect::ir::{ElementClass, ElementType};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use self::bytes::{Bytes, Form as _, Pairs, Quads};
use self::floats::Floats;
use self::integers::{Integers, Wrapping};
use self::panels::{Block, Operand, Source};
use super::{Gemm, Run};
use crate::across::AcrossThreads;

/// Maximum rows, columns and contracted elements of a block.
const ROWS: usize = 256;
const COLUMNS: usize = 512;
const DEPTH: usize = 512;

/// Computes the product.
///
/// # Safety
///
/// The same as for [`Gemm::run`].
pub(super) unsafe fn product(gemm: &Gemm, lhs: *const u8, rhs: *const u8, out: *mut u8, threads: usize) {
    let [l, r, o] = gemm.types;
    let tiles = Tiles { gemm, lhs: Source { start: lhs, element: l }, rhs: Source { start: rhs, element: r }, out };
    let bits = l.bits().max(r.bits());
    if !o.is_float() && bits <= 8 {
        if Quads::code().is_some() {
            return tiles.all::<Bytes<Quads>>(threads);
        }
        if Pairs::code().is_some() {
            return tiles.all::<Bytes<Pairs>>(threads);
        }
    }
    if o.is_float() {
        if gemm.types.contains(&ElementType::F64) {
            tiles.all::<Floats<f64>>(threads);
        } else {
            tiles.all::<Floats<f32>>(threads);
        }
    } else if bits <= 8 {
        tiles.all::<Integers<f32>>(threads);
    } else if bits <= 16 {
        tiles.all::<Integers<f64>>(threads);
    } else if o.bits() <= 32 {
        tiles.all::<Wrapping<i32>>(threads);
    } else {
        tiles.all::<Wrapping<i64>>(threads);
    }
}

/// A product that is computed tile by tile.
#[derive(Clone, Copy)]
struct Tiles<'g> {
    gemm: &'g Gemm,
    lhs: Source,
    rhs: Source,
    out: *mut u8,
}

/// The sums of one tile.
trait Tile: Send + Sized + 'static {
    /// The maximum number of contracted elements of a block.
    const DEPTH: usize = DEPTH;
    /// Creates a tile without memory.
    fn new() -> Self;
    /// Sets the tile to zeros, with this many rows and columns, for a result of this type.
    fn clear(&mut self, sizes: [usize; 2], result: ElementType);
    /// Adds the product of two blocks.
    ///
    /// # Safety
    ///
    /// The blocks must be inside the operands.
    unsafe fn add(&mut self, block: &Block);
    /// Stores the elements of one row, rounded to the type of the result.
    ///
    /// # Safety
    ///
    /// `to` must be valid for one element per column, `stride` elements apart.
    unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType);
}

/// Calls `f` with a tile that is kept with its memory for the next product, because allocating memory takes as long as
/// a small product.
fn with_tile<T: Tile>(f: impl FnOnce(&mut T)) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let take = |kept: &mut Vec<Box<dyn Any + Send>>| {
        let last = kept.iter().rposition(|tile| tile.is::<T>())?;
        kept.swap_remove(last).downcast::<T>().ok()
    };
    let mut tile = take(&mut kept()).unwrap_or_else(|| Box::new(T::new()));
    f(&mut tile);
    let mut kept = kept();
    // As many tiles of a kind are kept as threads compute at once. There may be more devices than that.
    if kept.iter().filter(|tile| tile.is::<T>()).count() < crate::rates::cores() {
        kept.push(tile);
    }
}

impl Tiles<'_> {
    /// Computes all tiles.
    fn all<T: Tile>(self, threads: usize) {
        let around = self.gemm.outer.iter().filter(|o| !o.1).map(|o| o.0).collect::<Vec<Run>>();
        let batches = around.iter().map(|r| r.size).product::<usize>();
        let (down, across) = (self.gemm.rows.size.div_ceil(ROWS), self.gemm.columns.size.div_ceil(COLUMNS));
        let count = batches * down * across;
        // SAFETY: `Tiles` has a reference to a `Gemm`, which is `Sync`, types and raw pointers.
        let tiles = unsafe { AcrossThreads::new(self) };
        let tile = |tile: &mut T, at: usize| {
            let (batch, place) = (at / (down * across), at % (down * across));
            // SAFETY: `at < count` selects a tile inside the result. Each `at` is computed once, so no other thread
            // writes the tile.
            unsafe { tiles.get().tile(tile, position(&around, batch), place % down * ROWS, place / down * COLUMNS) };
        };
        if threads > 1 && count > 1 {
            // Each thread takes a range of tiles, and uses one tile of the pool.
            let parts = count.min(4 * threads);
            (0..parts).into_par_iter().for_each(|part| {
                with_tile(|work| (part * count / parts..(part + 1) * count / parts).for_each(|at| tile(work, at)));
            });
        } else {
            with_tile(|work| (0..count).for_each(|at| tile(work, at)));
        }
    }

    /// Computes one tile.
    ///
    /// # Safety
    ///
    /// The pointers must be valid as for [`Gemm::run`], and no other thread may write this tile.
    unsafe fn tile<T: Tile>(&self, tile: &mut T, [l, r, o]: [isize; 3], row: usize, column: usize) {
        let gemm = self.gemm;
        let (rows, columns, contracted) = (gemm.rows, gemm.columns, gemm.contracted);
        let m = ROWS.min(rows.size - row);
        let n = COLUMNS.min(columns.size - column);
        let sums = gemm.outer.iter().filter(|o| o.1).map(|o| o.0).collect::<Vec<Run>>();
        tile.clear([m, n], gemm.types[2]);
        for sum in 0..sums.iter().map(|r| r.size).product::<usize>() {
            let [dl, dr, _] = position(&sums, sum);
            for x in (0..contracted.size).step_by(T::DEPTH) {
                let k = T::DEPTH.min(contracted.size - x);
                let left = gemm.start[0] + l + dl + row as isize * rows.lhs + x as isize * contracted.lhs;
                let right = gemm.start[1] + r + dr + column as isize * columns.rhs + x as isize * contracted.rhs;
                let block = Block {
                    sizes: [m, n, k],
                    lhs: Operand { source: self.lhs, start: left, strides: [rows.lhs, contracted.lhs] },
                    rhs: Operand { source: self.rhs, start: right, strides: [contracted.rhs, columns.rhs] },
                };
                // SAFETY: the offsets and strides were computed from the tensors' shapes, so the blocks are inside the
                // operands.
                unsafe { tile.add(&block) };
            }
        }
        let width = gemm.types[2].bytes() as isize;
        for i in 0..m {
            let at = o + (row + i) as isize * rows.out + column as isize * columns.out;
            // SAFETY: `row + i < rows.size`, so this is a row of the tile, inside the result.
            unsafe { tile.store(i, self.out.offset(at * width), columns.out, gemm.types[2]) };
        }
    }
}

/// Returns the offsets, in the two operands and the result, of position `at` of nested loops.
fn position(loops: &[Run], mut at: usize) -> [isize; 3] {
    let mut offsets = [0; 3];
    for run in loops.iter().rev() {
        let i = (at % run.size) as isize;
        at /= run.size;
        offsets = [offsets[0] + i * run.lhs, offsets[1] + i * run.rhs, offsets[2] + i * run.out];
    }
    offsets
}

/// Returns whether elements of this type can be widened.
pub(super) fn is_supported(element: ElementType) -> bool {
    element == ElementType::I1
        || matches!(element.class(), ElementClass::Float | ElementClass::Signed | ElementClass::Unsigned)
}
