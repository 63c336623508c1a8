//! The positions to which the updates of a scatter go.

use std::ops::Range;

use dialect::ir::{ElementClass, ElementType, TensorType};
use dialect::ops::stablehlo::indexing::ScatterDims;

use crate::kernels::native::View;

/// The maximum number of windows visited at once.
const BLOCK: usize = 1024;
/// The minimum number of contiguous elements from which several threads share the work.
const SHARED_ROW: usize = 16;

/// Maps batch and window positions to positions in the updates and in the input, counted in elements.
pub(super) struct Places {
    /// Number of elements of the input.
    pub elements: usize,
    batch: Vec<Batch>,
    /// Dimensions inside a window, outermost first.
    window: Vec<Window>,
    /// Number of elements that are contiguous both in a window of the updates and at its position in the input.
    pub row: usize,
    /// The positions of a window's rows in the input and in the updates, in order.
    pub rows: Vec<(usize, usize)>,
    /// The dimensions of the input for which the indices have starts.
    mapped: Vec<Mapped>,
    indices: ElementType,
    /// Whether windows are at the same position or disjoint: no start moves a window of more than one element.
    pub separate: bool,
    /// Whether a loop over windows with an inner loop over their elements visits the updates of each element in order.
    pub in_order: bool,
}

/// A dimension of the updates that iterates over windows.
#[derive(Clone, Copy)]
struct Batch {
    size: usize,
    update: usize,
    index: usize,
    /// For a batching dimension: the stride of the window in the input.
    input: usize,
}

/// A dimension of a window.
struct Window {
    size: usize,
    update: usize,
    input: usize,
    /// The input's size along this dimension.
    whole: usize,
    /// The number of the start that moves it, if any.
    start: Option<usize>,
}

/// A component of an index.
struct Mapped {
    /// Offset of the component in the indices, in elements.
    index: usize,
    input: usize,
    whole: usize,
    /// Whether it moves a window; otherwise it selects one position.
    windowed: bool,
}

/// Windows of updates, in order.
pub(super) enum Block<'b> {
    /// Windows that are completely inside the input: their first positions in the input and in the updates.
    Inside(&'b [(usize, usize)]),
    /// A window that is partly outside: its first position in the updates, and the part inside.
    Clipped(usize, Clipped),
}

/// A window that reaches out of the input.
pub(super) struct Clipped {
    base: usize,
    /// For each dimension of the window, its start and the range of its positions that are inside.
    dims: Vec<(i64, Range<usize>)>,
}

/// Returns the distances between neighbors along each dimension.
fn strides(shape: &[i64]) -> Vec<usize> {
    let mut next = 1;
    let mut strides: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let stride = next;
            next *= size.max(0) as usize;
            stride
        })
        .collect();
    strides.reverse();
    strides
}

impl Places {
    pub(super) fn of(scatter: &ScatterDims, operands: &[&TensorType]) -> Self {
        let dims = &scatter.dims;
        let (input, indices, updates) = (operands[0], operands[scatter.inputs], operands[scatter.inputs + 1]);
        let (to, table, from) = (strides(&input.shape), strides(&indices.shape), strides(&updates.shape));
        let batch = dims.batch.iter().enumerate().map(|(k, &d)| {
            let i = dims.indices_dim(k);
            let moved = dims.indices_batching.iter().position(|&b| b == i).map(|b| to[dims.operand_batching[b]]);
            Batch { size: updates.shape[d] as usize, update: from[d], index: table[i], input: moved.unwrap_or(0) }
        });
        let window: Vec<Window> = dims
            .window
            .iter()
            .zip(&dims.operand_window)
            .map(|(&d, &t)| Window {
                size: updates.shape[d] as usize,
                update: from[d],
                input: to[t],
                whole: input.shape[t] as usize,
                start: dims.index_map.iter().position(|&m| m == t),
            })
            .collect();
        let component = table.get(dims.index_vector_dim).copied().unwrap_or(0);
        let mapped = dims.index_map.iter().enumerate().map(|(k, &t)| Mapped {
            index: k * component,
            input: to[t],
            whole: input.shape[t] as usize,
            windowed: dims.operand_window.contains(&t),
        });
        let (mut row, mut outer) = (1, window.len());
        while outer > 0 {
            let w = &window[outer - 1];
            if w.size > 1 && (w.update != row || w.input != row) {
                break;
            }
            row *= w.size;
            outer -= 1;
            if w.size < w.whole {
                break;
            }
        }
        let mut rows = vec![(0, 0)];
        for w in &window[..outer] {
            let next = rows.iter().flat_map(|&(i, u)| (0..w.size).map(move |p| (i + p * w.input, u + p * w.update)));
            rows = next.collect();
        }
        let separate = window.iter().all(|w| w.start.is_none() || w.size <= 1);
        let last_batch = dims.batch.last().copied().unwrap_or(0);
        Self {
            elements: input.elements().unwrap_or(0),
            batch: joined(batch),
            in_order: separate || dims.window.iter().all(|&d| d > last_batch || updates.shape[d] <= 1),
            window,
            row,
            rows,
            mapped: mapped.collect(),
            indices: indices.element,
            separate,
        }
    }

    /// Returns the number of windows.
    pub(super) fn windows(&self) -> usize {
        self.batch.iter().map(|b| b.size).product()
    }

    /// Returns whether each window is one element, so that it is either inside of the input or outside.
    pub(super) fn are_single(&self) -> bool {
        self.row == 1 && self.rows.len() == 1 && self.separate
    }

    /// Returns how many of these threads share the input's elements. Each thread visits all windows, which costs more
    /// than combining a few elements.
    pub(super) fn threads(&self, threads: usize) -> usize {
        if self.row < SHARED_ROW { 1 } else { threads }
    }

    /// Calls `visit` for the windows that are at least partly inside the input, in the order of the updates' batch
    /// dimensions.
    pub(super) fn blocks(&self, indices: View<'_>, visit: &mut dyn FnMut(Block<'_>)) {
        match self.indices {
            ElementType::UI64 => {
                self.read(indices.elements::<u64>(), |v| i64::try_from(v).unwrap_or(i64::MAX), visit);
            }
            ElementType::I64 => self.read(indices.elements::<i64>(), |v| v, visit),
            ElementType::UI32 => self.read(indices.elements::<u32>(), i64::from, visit),
            ElementType::I32 => self.read(indices.elements::<i32>(), i64::from, visit),
            ElementType::UI16 => self.read(indices.elements::<u16>(), i64::from, visit),
            ElementType::I16 => self.read(indices.elements::<i16>(), i64::from, visit),
            ty if ty.class() == ElementClass::Signed => self.read(indices.elements::<i8>(), i64::from, visit),
            _ => self.read(indices.elements::<u8>(), i64::from, visit),
        }
    }

    fn read<T: Copy>(&self, indices: &[T], convert: impl Fn(T) -> i64 + Copy, visit: &mut dyn FnMut(Block<'_>)) {
        if self.windows() == 0 || self.elements == 0 || self.window.iter().any(|w| w.size == 0) {
            return;
        }
        let read = |i: usize| convert(indices[i]);
        let (&last, outer) =
            self.batch.split_last().unwrap_or((&Batch { size: 1, update: 0, index: 0, input: 0 }, &[]));
        let mut inside: Vec<(usize, usize)> = Vec::with_capacity(BLOCK);
        let mut at = vec![0usize; outer.len()];
        loop {
            let sum = |of: fn(&Batch) -> usize| outer.iter().zip(&at).map(|(b, &at)| at * of(b)).sum::<usize>();
            let (update, index, base) = (sum(|b| b.update), sum(|b| b.index), sum(|b| b.input));
            for first in (0..last.size).step_by(BLOCK) {
                let positions = first..last.size.min(first + BLOCK);
                let place = |i: usize| (update + i * last.update, index + i * last.index, base + i * last.input);
                if let [Mapped { index: 0, input, whole, windowed: false }] = self.mapped[..] {
                    for i in positions {
                        let (update, index, base) = place(i);
                        let start = read(index) as usize;
                        if start < whole {
                            inside.push((base + start * input, update));
                        }
                    }
                } else {
                    for i in positions {
                        let (update, index, base) = place(i);
                        match self.start(index, base, &read) {
                            Some(Ok(input)) => inside.push((input, update)),
                            Some(Err(clipped)) => {
                                visit(Block::Inside(&inside));
                                inside.clear();
                                visit(Block::Clipped(update, clipped));
                            }
                            None => {}
                        }
                    }
                }
                visit(Block::Inside(&inside));
                inside.clear();
            }
            let mut d = outer.len();
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                at[d] += 1;
                if at[d] < outer[d].size {
                    break;
                }
                at[d] = 0;
            }
        }
    }

    /// Returns the first position of a window in the input, or how it is clipped; `None` if it is completely outside.
    fn start(&self, index: usize, base: usize, read: &impl Fn(usize) -> i64) -> Option<Result<usize, Clipped>> {
        let mut input = base;
        let mut inside = true;
        for m in &self.mapped {
            let start = read(index + m.index);
            if m.windowed {
                inside &= start == 0;
            } else if (0..m.whole as i64).contains(&start) {
                input += start as usize * m.input;
            } else {
                return None;
            }
        }
        if inside {
            return Some(Ok(input));
        }
        // A start moves a window, which may be inside, or reach out of the input.
        let mut dims = Vec::with_capacity(self.window.len());
        let (mut inside, mut moved) = (true, input as i64);
        for w in &self.window {
            let start = w.start.map_or(0, |k| read(index + self.mapped[k].index));
            let low = start.saturating_neg().clamp(0, w.size as i64) as usize;
            let high = (w.whole as i64).saturating_sub(start).clamp(0, w.size as i64) as usize;
            if low >= high {
                return None;
            }
            inside &= low == 0 && high == w.size;
            moved = moved.wrapping_add(start.wrapping_mul(w.input as i64));
            dims.push((start, low..high));
        }
        Some(if inside { Ok(moved as usize) } else { Err(Clipped { base: input, dims }) })
    }

    /// Calls `visit` for each run of elements that are contiguous in updates and input: the position in the input, the
    /// position in the updates, and the length. The runs of one element of the input come in the order of its updates.
    #[inline(always)]
    pub(super) fn runs(&self, indices: View<'_>, mut visit: impl FnMut(usize, usize, usize)) {
        // If windows are disjoint, runs may be visited row by row instead of window by window. This is the order of
        // memory if the updates' batch dimensions are the inner ones.
        let by_row = self.separate && self.row < 8;
        self.blocks(indices, &mut |block| match block {
            Block::Inside(windows) if by_row => {
                for &(row, place) in &self.rows {
                    windows.iter().for_each(|&(input, update)| visit(input + row, update + place, self.row));
                }
            }
            Block::Inside(windows) => {
                for &(input, update) in windows {
                    self.rows.iter().for_each(|&(row, place)| visit(input + row, update + place, self.row));
                }
            }
            Block::Clipped(update, clipped) => self.clipped(&clipped, 0, clipped.base as i64, update, &mut visit),
        });
    }

    fn clipped(
        &self,
        clipped: &Clipped,
        d: usize,
        input: i64,
        update: usize,
        visit: &mut impl FnMut(usize, usize, usize),
    ) {
        let Some(w) = self.window.get(d) else { return visit(input as usize, update, 1) };
        let (start, range) = &clipped.dims[d];
        let place = |p: usize| input + (start + p as i64) * w.input as i64;
        if d + 1 == self.window.len() && w.update == 1 && w.input == 1 {
            return visit(place(range.start) as usize, update + range.start, range.len());
        }
        for p in range.clone() {
            self.clipped(clipped, d + 1, place(p), update + p * w.update, visit);
        }
    }
}

/// Returns the dimensions, with dimensions merged that are contiguous.
fn joined(dims: impl DoubleEndedIterator<Item = Batch>) -> Vec<Batch> {
    let mut joined: Vec<Batch> = Vec::new();
    for dim in dims.rev().filter(|d| d.size != 1) {
        let follows = |inner: &Batch| {
            [(dim.update, inner.update), (dim.index, inner.index), (dim.input, inner.input)]
                .iter()
                .all(|&(outer, step)| outer == inner.size * step)
        };
        match joined.last_mut() {
            Some(inner) if follows(inner) => inner.size *= dim.size,
            _ => joined.push(dim),
        }
    }
    joined.reverse();
    joined
}
