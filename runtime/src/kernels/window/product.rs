//! Products over windows: for each position of the parallel loops, the sum over the other loops of an element of the
//! left tensor, which is read through windows, times an element of the right tensor.
//!
//! Windows aren't copied. The elements of one side are read in place, for a tile of positions at a time; those of the
//! other side are packed into panels of vectors ([`micro`](super::micro)). The [`Form`] determines the sides. The sum
//! is divided into blocks, and tiles and panels into tasks, by sizes only, so results don't depend on the number of
//! threads.

#![allow(unsafe_code, reason = "tensors are read and written by address and stride")]

use super::block::{Block, Part};
use super::form::{Form, even_rows, few_zeros, wide_loop};
use super::loops::{Guard, Loop, Walk, count};
use super::tasks::each;
use crate::across::AcrossThreads;
use crate::kernels::micro::Number;

/// The maximum number of steps of the sum in one block. This many vectors of the packed side stay in a core's cache.
pub(super) const DEPTH: usize = 512;

/// The maximum number of zeros that replace padding, in elements.
pub(super) const ZEROS: usize = 1 << 16;

/// The number of multiplications that are worth a task.
pub(super) const TASK: usize = 1 << 18;

/// A product over windows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product {
    /// Loops that index both tensors.
    pub batch: Vec<Loop>,
    /// Loops that index only the left tensor.
    pub rows: Vec<Loop>,
    /// Loops that index only the right tensor.
    pub columns: Vec<Loop>,
    /// Loops of the sum.
    pub sum: Vec<Loop>,
    pub guards: Vec<Guard>,
    /// The offsets of the first elements of the left tensor, the right tensor and the result.
    pub start: [isize; 3],
    /// Whether to add to the existing result.
    pub adds: bool,
}

/// The plan of a product.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub product: Product,
    pub form: Form,
    /// The loops of the tiles, of the vectors, and around both.
    pub tiles: Vec<Loop>,
    pub lanes: Vec<Loop>,
    pub outer: Vec<Loop>,
    /// The loops of the sum without the last one, outermost first.
    pub taps: Vec<Loop>,
    pub run: Loop,
    /// The plan to use if zeros can't replace padding, because they are multiplied with values that aren't finite.
    careful: Option<Box<Plan>>,
}

/// The tensors of a product.
#[derive(Clone, Copy)]
pub(super) struct Tensors<T> {
    pub left: *const T,
    pub right: *const T,
    pub out: *mut T,
}

/// Returns whether all numbers are finite.
pub(super) fn are_finite<T: Number>(numbers: &[T]) -> bool {
    // Processes a block at a time without branches, so that the loop vectorizes.
    numbers.chunks(1024).all(|block| block.iter().fold(true, |all, x| all & x.is_finite()))
}

impl Plan {
    pub(super) fn new(product: Product) -> Self {
        let form = Form::of(&product);
        let mut plan = Self::of(product, form);
        if !plan.product.guards.is_empty() && plan.form != Form::Even {
            let form = if form == Form::Right { Form::Left } else { form };
            plan.careful = Some(Box::new(Self::of(plan.product.clone(), form)));
        }
        plan
    }

    fn of(product: Product, form: Form) -> Self {
        let mut sum: Vec<Loop> = product.sum.iter().copied().filter(|l| l.size != 1).collect();
        sum.sort_by_key(|l| std::cmp::Reverse(l.left.unsigned_abs()));
        // If tiles may read padding, the last loop is one that isn't guarded, so that its elements are read in one run.
        let free = |l: &Loop| l.guard.is_none() && (product.guards.is_empty() || few_zeros(l));
        let last = match form {
            Form::Even => sum.len().checked_sub(1),
            Form::Right => {
                let near = |l: &Loop| l.guard.is_none() && l.size.saturating_mul(l.right.unsigned_abs()) <= ZEROS;
                (0..sum.len()).filter(|&i| near(&sum[i])).min_by_key(|&i| sum[i].right.unsigned_abs())
            }
            Form::Left | Form::Lanes => (0..sum.len()).rev().find(|&i| free(&sum[i])),
        };
        let last = last.map(|i| sum.remove(i));
        if form == Form::Right {
            sum.sort_by_key(|l| std::cmp::Reverse(l.right.unsigned_abs()));
        }
        let one = |l: &Loop| Loop { size: 1, out: 0, guard: None, ..*l };
        // A loop of one step moves like the loop around it, so that runs of both can be joined.
        let none = Loop { size: 1, left: 1, right: 1, out: 0, guard: None };
        let run = last.unwrap_or_else(|| sum.last().map_or(none, one));
        let (mut outer, rows, columns) = (product.batch.clone(), product.rows.clone(), product.columns.clone());
        let (mut tiles, mut lanes) = (rows, columns);
        match form {
            Form::Left => {}
            Form::Even => {
                // The loop along the tile comes last.
                if let Some(along) = even_rows(&product) {
                    tiles.retain(|l| *l != along);
                    tiles.push(along);
                }
            }
            Form::Right => std::mem::swap(&mut tiles, &mut lanes),
            Form::Lanes => {
                let along = wide_loop(&product).map(|i| outer.remove(i));
                outer.append(&mut lanes);
                lanes.extend(along);
            }
        }
        Self { product, form, tiles, lanes, outer, taps: sum, run, careful: None }
    }

    /// Computes the result, or adds to the existing result.
    ///
    /// # Safety
    ///
    /// The tensors must be valid for all elements that the loops reach, apart from the padding. No other thread may
    /// write `left` or `right` or access the result meanwhile.
    pub(super) unsafe fn run<T: Number>(&self, left: *const T, right: &[T], out: *mut T, adds: bool, threads: usize) {
        let careful = self.careful.as_deref().filter(|_| !are_finite(right));
        let tensors = Tensors { left, right: right.as_ptr(), out };
        // SAFETY: `compute` has the contract of this function.
        unsafe { careful.unwrap_or(self).compute(tensors, adds, threads, careful.is_some()) }
    }

    /// Does the same as [`Self::run`] with this plan. If `careful`, zeros don't replace padding.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::run`] must hold for these tensors.
    unsafe fn compute<T: Number>(&self, tensors: Tensors<T>, adds: bool, threads: usize, careful: bool) {
        let product = &self.product;
        let out = tensors.out;
        let mut adds = adds || product.adds;
        let results = [&product.batch, &product.rows, &product.columns].iter().map(|l| count(l)).product::<usize>();
        if results == 0 {
            return;
        }
        if count(&product.sum) == 0 {
            if !adds {
                // Iterates directly along the loop whose elements are nearest to each other, because its positions need
                // no division.
                let mut outer = [&product.batch[..], &product.rows, &product.columns].concat();
                let near = (0..outer.len()).filter(|&i| outer[i].size > 1).min_by_key(|&i| outer[i].out.unsigned_abs());
                let near = near.map(|i| outer.remove(i));
                let (size, step) = near.map_or((1, 1), |l| (l.size, l.out));
                let lines = count(&outer);
                // SAFETY: this is only a raw pointer.
                let out = unsafe { AcrossThreads::new(out) };
                let some = (TASK / 16).div_ceil(size);
                each(threads, lines.div_ceil(some), |task| {
                    let mut walk = Walk::new(&outer, task * some);
                    for _ in task * some..lines.min((task + 1) * some) {
                        let to = out.get().wrapping_offset(product.start[2] + walk.next().out);
                        // SAFETY: the loops' positions are inside of the result, and each task writes different lines.
                        unsafe {
                            if step == 1 {
                                std::slice::from_raw_parts_mut(to, size).fill(T::default());
                            } else {
                                (0..size as isize).for_each(|k| *to.offset(k * step) = T::default());
                            }
                        }
                    }
                });
            }
            return;
        }
        let code = T::code();
        for block in self.blocks() {
            let block = Block::new(self, &code, block, adds, careful, tensors);
            // SAFETY: the contract of `Plan::run` holds for the tensors, and blocks run one after the other.
            unsafe { block.run(threads) };
            adds = true;
        }
    }

    /// Divides the sum into blocks.
    fn blocks(&self) -> Vec<Part> {
        let (taps, steps) = (count(&self.taps), self.run.size);
        let parts = |n: usize, most: usize| {
            let each = n.div_ceil(n.div_ceil(most));
            (0..n.div_ceil(each)).map(move |i| i * each..((i + 1) * each).min(n))
        };
        if steps > DEPTH {
            return (0..taps)
                .flat_map(|t| parts(steps, DEPTH).map(move |steps| Part { taps: t..t + 1, steps }))
                .collect();
        }
        parts(taps, (DEPTH / steps).max(1)).map(|taps| Part { taps, steps: 0..steps }).collect()
    }
}
