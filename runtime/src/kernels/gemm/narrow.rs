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

use std::sync::{LazyLock, Mutex, PoisonError};

use dialect::ir::{ElementClass, ElementType};
use dialect::small_float::{decode, encode, is_small};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::bytes::{Bytes, Form as _, Pairs, Quads};
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
    let job = Job { gemm, lhs: Source { start: lhs, element: l }, rhs: Source { start: rhs, element: r }, out };
    let bits = l.bits().max(r.bits());
    if !o.is_float() && bits <= 8 {
        if Quads::code().is_some() {
            return job.tiles::<Bytes<Quads>>(threads);
        }
        if Pairs::code().is_some() {
            return job.tiles::<Bytes<Pairs>>(threads);
        }
    }
    if o.is_float() {
        if gemm.types.contains(&ElementType::F64) {
            job.tiles::<Floats<f64>>(threads);
        } else {
            job.tiles::<Floats<f32>>(threads);
        }
    } else if bits <= 8 {
        job.tiles::<Integers<f32>>(threads);
    } else if bits <= 16 {
        job.tiles::<Integers<f64>>(threads);
    } else if o.bits() <= 32 {
        job.tiles::<Wrapping<u32>>(threads);
    } else {
        job.tiles::<Wrapping<u64>>(threads);
    }
}

/// The elements of an operand.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub start: *const u8,
    pub element: ElementType,
}

/// A block of an operand: its first element and the strides of its two dimensions, in elements.
pub(super) struct Operand {
    pub source: Source,
    pub start: isize,
    pub strides: [isize; 2],
}

/// Blocks to multiply; the sizes are rows, columns and contracted elements.
pub(super) struct Block {
    pub sizes: [usize; 3],
    pub lhs: Operand,
    pub rhs: Operand,
}

#[derive(Clone, Copy)]
struct Job<'g> {
    gemm: &'g Gemm,
    lhs: Source,
    rhs: Source,
    out: *mut u8,
}

/// A block of an operand as a panel: its elements, and the strides of its two dimensions.
struct Panel<P> {
    elements: Vec<P>,
    strides: [isize; 2],
}

impl<P: Wide> Panel<P> {
    fn new() -> Self {
        Self { elements: Vec::new(), strides: [0, 0] }
    }

    /// Widens a block of these sizes. The dimension with the smaller stride in memory becomes contiguous.
    ///
    /// # Safety
    ///
    /// The block must be inside the operand.
    unsafe fn fill(&mut self, from: &Operand, sizes: [usize; 2]) {
        let strides = from.strides;
        self.elements.resize(sizes[0] * sizes[1], P::default());
        let inner = if strides[0].abs() < strides[1].abs() { 0 } else { 1 };
        let (outer, n) = (1 - inner, sizes[inner]);
        self.strides[inner] = 1;
        self.strides[outer] = n as isize;
        if n == 0 {
            return;
        }
        for (i, line) in self.elements.chunks_exact_mut(n).enumerate() {
            let at = from.start + i as isize * strides[outer];
            // SAFETY: `i < sizes[outer]`, so this is line `i` of the block, which has `sizes[inner]` elements.
            unsafe { P::widen(from.source, at, strides[inner], line) };
        }
    }
}

/// Panels of both operands.
struct Panels<P> {
    lhs: Panel<P>,
    rhs: Panel<P>,
}

impl<P: Wide> Panels<P> {
    fn new() -> Self {
        Self { lhs: Panel::new(), rhs: Panel::new() }
    }

    /// # Safety
    ///
    /// The blocks must be inside the operands.
    unsafe fn fill(&mut self, block: &Block) {
        let [m, n, k] = block.sizes;
        // SAFETY: both blocks are inside the operands by this function's contract.
        unsafe {
            self.lhs.fill(&block.lhs, [m, k]);
            self.rhs.fill(&block.rhs, [k, n]);
        }
    }
}

/// The elements of a panel.
trait Wide: Copy + Default + Send + Sync + 'static {
    /// Reads a line of elements, `stride` elements apart.
    ///
    /// # Safety
    ///
    /// The line must be inside the operand.
    unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]);
}

/// # Safety
///
/// The line must be inside the operand, whose elements must be `T`.
#[inline(always)]
unsafe fn line<T: Copy, P>(from: Source, start: isize, stride: isize, to: &mut [P], value: impl Fn(T) -> P) {
    let from = from.start.cast::<T>().wrapping_offset(start);
    if stride == 1 {
        // SAFETY: the line is contiguous, and inside the operand by this function's contract.
        let from = unsafe { std::slice::from_raw_parts(from, to.len()) };
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = value(v));
        return;
    }
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: `i < to.len()`, so the element is inside the operand by this function's contract.
        *to = value(unsafe { from.offset(i as isize * stride).read() });
    }
}

/// Returns the value of each byte as an element of a type of a byte or less. The values are f64, because the smallest
/// ones are subnormal in f32, and the caller's mode may replace those by zeros.
fn values(element: ElementType) -> &'static [f64; 256] {
    static TABLES: LazyLock<Vec<(ElementType, [f64; 256])>> = LazyLock::new(|| {
        let small = ElementType::ALL.iter().copied().filter(|&element| is_small(element));
        // The highest bits of a byte aren't part of an element of fewer than 8 bits.
        let value = |bits: usize, element: ElementType| decode(bits as u8 & (u8::MAX >> (8 - element.bits())), element);
        small.map(|element| (element, std::array::from_fn(|bits| value(bits, element)))).collect()
    });
    let table = TABLES.iter().find(|table| table.0 == element);
    &table.expect("the tables are those of all small types").1
}

macro_rules! wide {
    ($($wide:ty)*) => {$(
        impl Wide for $wide {
            unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]) {
                use ElementType::*;
                // SAFETY: each arm reads the type in which its elements are stored. The line is inside the operand by
                // the contract of `widen`.
                unsafe {
                    match from.element {
                        BF16 => line::<u16, _>(from, start, stride, to, |v| f32::from_bits(u32::from(v) << 16) as $wide),
                        F16 => line::<f16, _>(from, start, stride, to, |v| v.to_f32() as $wide),
                        F32 => line::<f32, _>(from, start, stride, to, |v| v as $wide),
                        F64 => line::<f64, _>(from, start, stride, to, |v| v as $wide),
                        I2 | I4 | I8 => line::<i8, _>(from, start, stride, to, |v| v as $wide),
                        I16 => line::<i16, _>(from, start, stride, to, |v| v as $wide),
                        UI16 => line::<u16, _>(from, start, stride, to, |v| v as $wide),
                        I32 => line::<i32, _>(from, start, stride, to, |v| v as $wide),
                        UI32 => line::<u32, _>(from, start, stride, to, |v| v as $wide),
                        I64 | UI64 => line::<u64, _>(from, start, stride, to, |v| v as $wide),
                        small if is_small(small) => {
                            let values = values(small);
                            line::<u8, _>(from, start, stride, to, |v| values[usize::from(v)] as $wide)
                        }
                        // Unsigned bytes and booleans.
                        _ => line::<u8, _>(from, start, stride, to, |v| v as $wide),
                    }
                }
            }
        }
    )*};
}

wide!(f64 u32 u64);

/// f32 panels, which are filled most often.
impl Wide for f32 {
    unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]) {
        use ElementType::*;
        if from.element == F16 && stride == 1 {
            // SAFETY: the elements are f16 and contiguous. The line is inside the operand by the contract of `widen`.
            let from = unsafe { std::slice::from_raw_parts(from.start.cast::<f16>().wrapping_offset(start), to.len()) };
            return from.convert_to_f32_slice(to);
        }
        in_vectors(
            #[inline(always)]
            || {
                // SAFETY: each arm reads the type in which its elements are stored. The line is inside the operand by
                // the contract of `widen`.
                unsafe {
                    match from.element {
                        BF16 => line::<u16, _>(from, start, stride, to, |v| f32::from_bits(u32::from(v) << 16)),
                        F16 => line::<f16, _>(from, start, stride, to, f16::to_f32),
                        F32 => line::<f32, _>(from, start, stride, to, |v| v),
                        I2 | I4 | I8 => line::<i8, _>(from, start, stride, to, f32::from),
                        small if is_small(small) => {
                            let values = values(small);
                            line::<u8, _>(from, start, stride, to, |v| values[usize::from(v)] as f32)
                        }
                        _ => line::<u8, _>(from, start, stride, to, f32::from),
                    }
                }
            },
        );
    }
}

/// The sums of one tile.
pub(super) trait Tile: Send + Sized + 'static {
    /// The maximum number of contracted elements of a block.
    const DEPTH: usize = DEPTH;
    /// Creates a tile without memory.
    fn new() -> Self;
    /// Returns the pool of tiles that are kept with their memory, because allocating memory takes as long as a small
    /// product.
    fn kept() -> &'static Mutex<Vec<Self>>;
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

/// Sums of floats.
struct Floats<P> {
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

            fn kept() -> &'static Mutex<Vec<Self>> {
                static KEPT: Mutex<Vec<Floats<$wide>>> = Mutex::new(Vec::new());
                &KEPT
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
fn near(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    bf16::from_bits((if value.is_nan() { nan } else { rounded }) as u16)
}

/// Calls a function, inlined, with the processor's widest vectors enabled.
#[inline(always)]
pub(super) fn in_vectors(work: impl FnOnce()) {
    pulp::Arch::new().dispatch(work);
}

/// Writes converted elements, `stride` apart.
///
/// # Safety
///
/// `to` must be valid for one element for each element of `from`, `stride` apart.
#[inline(always)]
unsafe fn spread<S: Copy, T>(from: &[S], to: *mut T, stride: isize, value: impl Fn(S) -> T) {
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

fn multiply<P: Wide + super::Float>(sizes: [usize; 3], out: &mut [P], adds: bool, panels: &Panels<P>) {
    let Panels { lhs, rhs } = panels;
    let product = super::Product {
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

/// Sums of integers that are products of floats. They are exact for the number of terms of a block.
struct Integers<P> {
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

            fn kept() -> &'static Mutex<Vec<Self>> {
                static KEPT: Mutex<Vec<Integers<$wide>>> = Mutex::new(Vec::new());
                &KEPT
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

/// Sums of integers modulo their width.
struct Wrapping<P> {
    panels: Panels<P>,
    sums: Vec<P>,
    columns: usize,
}

macro_rules! wrapping {
    ($($wide:ty)*) => {$(
        impl Tile for Wrapping<$wide> {
            fn new() -> Self {
                Self { panels: Panels::new(), sums: Vec::new(), columns: 0 }
            }

            fn kept() -> &'static Mutex<Vec<Self>> {
                static KEPT: Mutex<Vec<Wrapping<$wide>>> = Mutex::new(Vec::new());
                &KEPT
            }

            fn clear(&mut self, [rows, columns]: [usize; 2], _: ElementType) {
                self.sums.clear();
                self.sums.resize(rows * columns, 0);
                self.columns = columns;
            }

            unsafe fn add(&mut self, block: &Block) {
                // SAFETY: the blocks are inside the operands by the contract of `Tile::add`.
                unsafe { self.panels.fill(block) };
                let ([m, n, k], Panels { lhs, rhs }) = (block.sizes, &self.panels);
                let mut lines = vec![0; if rhs.strides[1] == 1 { 0 } else { k * n }];
                // The columns of the right operand next to each other, so that vectors run along them.
                let rows: &[$wide] = if lines.is_empty() {
                    &rhs.elements
                } else {
                    for j in 0..n {
                        for x in 0..k {
                            lines[x * n + j] = rhs.elements[j * k + x];
                        }
                    }
                    &lines
                };
                let [down, along] = lhs.strides.map(|s| s as usize);
                for (i, sums) in self.sums.chunks_exact_mut(n).enumerate().take(m) {
                    let factor = |x: usize| lhs.elements[i * down + x * along];
                    let mut x = 0;
                    while x + 4 <= k {
                        let f = [factor(x), factor(x + 1), factor(x + 2), factor(x + 3)];
                        let row = |d: usize| &rows[(x + d) * n..(x + d + 1) * n];
                        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
                        for (j, sum) in sums.iter_mut().enumerate() {
                            let two = f[0].wrapping_mul(a[j]).wrapping_add(f[1].wrapping_mul(b[j]));
                            let more = f[2].wrapping_mul(c[j]).wrapping_add(f[3].wrapping_mul(d[j]));
                            *sum = sum.wrapping_add(two).wrapping_add(more);
                        }
                        x += 4;
                    }
                    for x in x..k {
                        let (f, row) = (factor(x), &rows[x * n..(x + 1) * n]);
                        sums.iter_mut().zip(row).for_each(|(sum, v)| *sum = sum.wrapping_add(f.wrapping_mul(*v)));
                    }
                }
            }

            unsafe fn store(&self, row: usize, to: *mut u8, stride: isize, element: ElementType) {
                let columns = self.columns;
                // SAFETY: `to` is valid for the row's elements, `stride` apart, by the contract of `Tile::store`.
                unsafe { integers(&self.sums[row * columns..(row + 1) * columns], to, stride, element, u64::from) };
            }
        }
    )*};
}

wrapping!(u32 u64);

/// Calls `f` with a tile, from the pool if it has any.
fn with_tile<T: Tile>(f: impl FnOnce(&mut T)) {
    let kept = || T::kept().lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept().pop();
    let mut tile = found.unwrap_or_else(T::new);
    f(&mut tile);
    let mut kept = kept();
    // The pool keeps as many tiles as threads compute at once. There may be more devices than that.
    if kept.len() < crate::rates::cores() {
        kept.push(tile);
    }
}

impl Job<'_> {
    /// Computes all tiles.
    fn tiles<T: Tile>(self, threads: usize) {
        let around = self.gemm.outer.iter().filter(|o| !o.1).map(|o| o.0).collect::<Vec<Run>>();
        let batches = around.iter().map(|r| r.size).product::<usize>();
        let (down, across) = (self.gemm.rows.size.div_ceil(ROWS), self.gemm.columns.size.div_ceil(COLUMNS));
        let count = batches * down * across;
        // SAFETY: a job has a reference to a `Gemm`, which is `Sync`, types and raw pointers.
        let job = unsafe { AcrossThreads::new(self) };
        let tile = |tile: &mut T, at: usize| {
            let (batch, place) = (at / (down * across), at % (down * across));
            // SAFETY: `at < count` selects a tile inside the result. Each `at` is computed once, so no other thread
            // writes the tile.
            unsafe { job.get().tile(tile, position(&around, batch), place % down * ROWS, place / down * COLUMNS) };
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
    /// The pointers of the job must be valid as for [`Gemm::run`], and no other thread may write this tile.
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

#[cfg(test)]
mod tests;
