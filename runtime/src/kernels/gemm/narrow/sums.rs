//! The sums of a tile, to which kernels for vectors of integers add products.

use crate::kernels::micro::{self, Code, Number, ROWS, Run};

/// The sums, with rows and columns padded to whole vectors.
#[derive(Default)]
pub(super) struct Sums<T> {
    pub all: Vec<T>,
    rows: usize,
    columns: usize,
    /// Number of columns of a panel of the right operand.
    pub width: usize,
}

/// The rows of a left operand: elements for `steps` steps, with the distances between rows and between steps.
pub(super) struct Rows<'l, T> {
    pub elements: &'l [T],
    pub strides: [isize; 2],
    pub steps: usize,
}

impl<T: Number> Sums<T> {
    /// Sets the sums to zeros, with this many rows and columns.
    pub(super) fn clear(&mut self, code: &Code<T>, [rows, columns]: [usize; 2]) {
        (self.rows, self.columns) = (rows, columns);
        self.width = if columns > code.lanes { 2 * code.lanes } else { code.lanes };
        self.all.clear();
        self.all.resize(rows.next_multiple_of(ROWS) * self.across(), T::default());
    }

    /// Returns the distance between rows.
    pub(super) fn across(&self) -> usize {
        self.columns.next_multiple_of(self.width)
    }

    /// Adds the products of the rows and of panels, which have the elements of [`Self::width`] columns for each step.
    pub(super) fn add(&mut self, code: &Code<T>, left: Rows<'_, T>, panels: &[T]) {
        let Rows { elements, strides: [down, along], steps } = left;
        let (across, width, m) = (self.across(), self.width, self.rows);
        let kernel = code.splat[0][width / code.lanes - 1];
        let runs = [Run { step: 0, len: steps as u32, at: 0, mixed: false }];
        for (panel, lanes) in panels.chunks_exact((steps * width).max(1)).enumerate() {
            assert!((panel + 1) * width <= across);
            for first in (0..m).step_by(code.rows[0]) {
                // Missing rows repeat the last one; their sums are stored after the tile.
                let row = |r: usize| (first + r).min(m - 1) * down as usize;
                let bases = std::array::from_fn(|r| elements[row(r)..].as_ptr());
                let outs = std::array::from_fn(|r| ((first + r) * across + panel * width) as isize);
                assert!(row(ROWS) + (steps - 1) * (along as usize) < elements.len());
                let tile = micro::Tile {
                    bases: &bases,
                    runs: &runs,
                    table: &[],
                    stride: along,
                    shift: 0,
                    outs: &outs,
                    adds: true,
                };
                // SAFETY: the assertions show that the last row has an element for the last step, and that the panel's
                // columns are among the sums, whose rows `clear` has padded to whole tiles. `lanes` has `steps` rows of
                // `width` elements. The processor has the code's instructions, since `code` was chosen for it.
                unsafe { kernel(&tile, lanes.as_ptr(), self.all.as_mut_ptr()) };
            }
        }
    }

    /// Returns the sums of a row.
    pub(super) fn row(&self, row: usize) -> &[T] {
        self.of_row(&self.all, row)
    }

    /// Returns the elements of a row of numbers that are padded as the sums are.
    pub(super) fn of_row<'a, S>(&self, all: &'a [S], row: usize) -> &'a [S] {
        &all[row * self.across()..][..self.columns]
    }
}
