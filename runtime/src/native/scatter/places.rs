//! Where the updates of a scatter go.

use std::ops::Range;

use dialect::ir::{ElementType, TensorType};
use dialect::ops::stablehlo::indexing::ScatterDims;

use crate::native::View;

/// How batch and window positions become places of the updates and of the input, counted in elements.
pub(super) struct Places {
    /// The input's elements.
    pub elements: usize,
    batch: Vec<Batch>,
    /// Dimensions inside a window, outermost first.
    window: Vec<Window>,
    /// How many elements in a row both a window of the updates and its place in the input have.
    pub row: usize,
    /// Where the rows of a window are in the input and in the updates, in order.
    pub rows: Vec<(usize, usize)>,
    /// Starts are read for each of these dimensions of the input.
    mapped: Vec<Mapped>,
    indices: ElementType,
    /// Whether windows are at the same place or don't touch: no start moves a window of more than one element.
    pub separate: bool,
    /// Whether going over windows, and inside over their elements, visits the updates of each element in order.
    pub in_order: bool,
}

/// A dimension of the updates that runs over windows.
struct Batch {
    size: usize,
    update: usize,
    index: usize,
    /// How far the window moves in the input, for a batching dimension.
    input: usize,
}

/// A dimension of a window.
struct Window {
    size: usize,
    update: usize,
    input: usize,
    /// The input's size along it.
    whole: usize,
    /// Which of the starts moves it.
    start: Option<usize>,
}

/// A component of an index.
struct Mapped {
    /// Distance of the component in the indices.
    index: usize,
    input: usize,
    whole: usize,
    /// Whether it moves a window; otherwise it gives one position.
    windowed: bool,
}

/// A window of updates that are written somewhere.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// The place of the first update.
    pub update: usize,
    /// The place of the first update in the input; only if nothing is clipped.
    pub input: usize,
    /// If the window isn't completely inside: the start in each window dimension, and the place without these.
    pub clipped: Option<Box<Clipped>>,
}

/// A window that reaches out of the input.
#[derive(Clone, Debug)]
pub(super) struct Clipped {
    base: usize,
    /// For each dimension of the window, its start and the range of its positions that are inside.
    dims: Vec<(i64, Range<usize>)>,
}

/// Distances between neighbors along each dimension.
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
            batch: batch.collect(),
            in_order: separate || dims.window.iter().all(|&d| d > last_batch || updates.shape[d] <= 1),
            window,
            row,
            rows,
            mapped: mapped.collect(),
            indices: indices.element,
            separate,
        }
    }

    /// The windows that are at least partly inside the input, in the order of the updates' batch dimensions.
    pub(super) fn starts(&self, indices: View<'_>) -> Vec<Start> {
        let count: usize = self.batch.iter().map(|b| b.size).product();
        if count == 0 || self.elements == 0 || self.window.iter().any(|w| w.size == 0) {
            return Vec::new();
        }
        let read = integers(self.indices, indices);
        let mut starts = Vec::with_capacity(count);
        let mut at = vec![0usize; self.batch.len()];
        let (mut update, mut index, mut base) = (0, 0, 0);
        loop {
            starts.extend(self.start(update, index, base, &read));
            let mut d = self.batch.len();
            loop {
                if d == 0 {
                    return starts;
                }
                d -= 1;
                let b = &self.batch[d];
                at[d] += 1;
                if at[d] < b.size {
                    (update, index, base) = (update + b.update, index + b.index, base + b.input);
                    break;
                }
                let back = b.size - 1;
                (update, index, base) = (update - back * b.update, index - back * b.index, base - back * b.input);
                at[d] = 0;
            }
        }
    }

    fn start(&self, update: usize, index: usize, base: usize, read: &dyn Fn(usize) -> i64) -> Option<Start> {
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
            return Some(Start { update, input, clipped: None });
        }
        // Some start moves a window: it may be inside, or reach out of the input.
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
        match inside {
            true => Some(Start { update, input: moved as usize, clipped: None }),
            false => Some(Start { update, input: 0, clipped: Some(Box::new(Clipped { base: input, dims })) }),
        }
    }

    /// Calls `visit` for each run of a window's elements that are next to each other in updates and input, in order: the
    /// place in the input, that in the updates, and the length.
    pub(super) fn runs(&self, start: &Start, visit: &mut impl FnMut(usize, usize, usize)) {
        match &start.clipped {
            None => {
                for &(input, update) in &self.rows {
                    visit(start.input + input, start.update + update, self.row);
                }
            }
            Some(clipped) => self.clipped(clipped, 0, clipped.base as i64, start.update, visit),
        }
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

/// Reads elements of an integer type; those above `i64::MAX` are that.
pub(crate) fn integers<'a>(element: ElementType, view: View<'a>) -> Box<dyn Fn(usize) -> i64 + 'a> {
    fn of<T: bytemuck::AnyBitPattern>(view: View<'_>, convert: fn(T) -> i64) -> Box<dyn Fn(usize) -> i64 + '_> {
        let elements: &[T] = view.elements();
        Box::new(move |i| convert(elements[i]))
    }
    match element {
        ElementType::UI64 => of::<u64>(view, |v| i64::try_from(v).unwrap_or(i64::MAX)),
        ElementType::I64 => of::<i64>(view, |v| v),
        ElementType::UI32 => of::<u32>(view, i64::from),
        ElementType::I32 => of::<i32>(view, i64::from),
        ElementType::UI16 => of::<u16>(view, i64::from),
        ElementType::I16 => of::<i16>(view, i64::from),
        _ if element.class() == dialect::ir::ElementClass::Signed => of::<i8>(view, i64::from),
        _ => of::<u8>(view, i64::from),
    }
}
