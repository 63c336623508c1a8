//! Reductions over windows, one dimension after the other. Windows over everything before or after an element are
//! scans.

#![allow(unsafe_code, reason = "tasks write different parts of one tensor")]

use std::ops::Range;

use dialect::ir::{ElementType, OpRef};
use dialect::kernel::{Affine, Init, Nest};
use dialect::ops::support::constraint::splat_operand;
use dialect::scalar::{Scalar, ScalarOp};
use half::{bf16, f16};

use super::cells::{Add, Cell, Max, Min, Mul, Stored};
use super::lines::{BLOCK, Lines, Rows, Scan, Slide, slide};
use super::tasks::each;
use crate::kernels::native::{DisjointSlice, Native, View, ViewMut};

/// The reduction along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Slide(Slide),
    /// Each element is combined with all before it, or with all after it.
    Scan {
        backward: bool,
    },
}

/// A reduction over windows by one operation. Its initial value may be combined any number of times, because it is
/// neutral, or because the operation is a maximum or minimum.
pub(crate) struct Windows {
    operand: usize,
    element: ElementType,
    op: ScalarOp,
    init: Scalar,
    input: Vec<usize>,
    result: Vec<usize>,
    /// The dimensions along which elements are combined.
    steps: Vec<(usize, Step)>,
}

/// The number of elements that a task holds in addition to the tensors.
const HELD: usize = 1 << 16;

/// The number of columns that one task scans.
const COLUMNS: usize = 1 << 9;

impl Windows {
    /// Returns the code for an op with this nest; `None` if it is no such reduction, or if windows don't overlap.
    pub(crate) fn of(op: OpRef<'_>, nest: &Nest) -> Option<Self> {
        let ([input], [Init::Operand(init)]) = (&nest.inputs[..], &nest.init[..]) else { return None };
        let combine = nest.body.as_binary()?;
        let operand = op.operand_tensor(input.operand)?;
        let element = operand.element;
        let init = splat_operand(op, *init)?;
        let neutral = combine.identity(element) == Some(init);
        // Sums and products of booleans are their maximum and minimum.
        let combine = match (combine, element) {
            (ScalarOp::Add | ScalarOp::Or | ScalarOp::Max, ElementType::I1) => ScalarOp::Max,
            (ScalarOp::Mul | ScalarOp::And | ScalarOp::Min, ElementType::I1) => ScalarOp::Min,
            (ScalarOp::Add | ScalarOp::Mul | ScalarOp::Max | ScalarOp::Min, _) => combine,
            _ => return None,
        };
        if !supported(element) || !(neutral || matches!(combine, ScalarOp::Max | ScalarOp::Min)) {
            return None;
        }
        let ranges = nest.ranges();
        let mut steps = Vec::new();
        let mut inside = 0;
        for (d, index) in input.index.iter().enumerate() {
            let at = Affine::of(index, &ranges);
            let moved: Vec<usize> = (0..at.loops.len()).filter(|&l| at.loops[l] != 0 && nest.loops[l] != 1).collect();
            let (size, count) = (operand.shape[d], *nest.loops.get(d).filter(|_| d < nest.parallel)?);
            if !at.is_affine() || !moved.iter().all(|&l| l == d || l >= nest.parallel) {
                return None;
            }
            let within: Vec<usize> = moved.into_iter().filter(|&l| l >= nest.parallel).collect();
            inside += within.len();
            let (length, dilation) = match within[..] {
                [] => (1, 1),
                [l] => (nest.loops[l], at.loops[l]),
                _ => return None,
            };
            let stride = if at.loops[d] == 0 { 1 } else { at.loops[d] };
            let slide = Slide { size: length, stride, dilation, low: -at.constant };
            if dilation < 1 || stride < 1 {
                return None;
            }
            let plain = Slide { size: 1, stride: 1, dilation: 1, low: 0 };
            let whole = (stride, dilation, count) == (1, 1, size) && length >= size && size > 1;
            match () {
                () if slide == plain && count == size => {}
                () if whole && slide.low == length - 1 => steps.push((d, Step::Scan { backward: false })),
                () if whole && slide.low == 0 => steps.push((d, Step::Scan { backward: true })),
                () => steps.push((d, Step::Slide(slide))),
            }
        }
        // Every guard must require that a position is inside, and every loop inside a window must move in one dimension
        // only.
        let known = input.guards.iter().all(|g| {
            let dims = input.index.iter().zip(&operand.shape);
            dims.clone().any(|(index, &size)| g.index == *index && (g.lo, g.hi) == (0, size))
        });
        let reduced = nest.loops[nest.parallel..].iter().filter(|&&n| n != 1).count();
        let scans = steps.iter().any(|s| matches!(s.1, Step::Scan { .. }));
        if !known || inside != reduced || nest.parallel != operand.shape.len() || scans && steps.len() > 1 {
            return None;
        }
        let sizes = |shape: &[i64]| shape.iter().map(|&n| n.max(0) as usize).collect::<Vec<usize>>();
        let (input_sizes, result) = (sizes(&operand.shape), sizes(&nest.loops[..nest.parallel]));
        let overlaps = |s: &(usize, Step)| !matches!(s.1, Step::Slide(s) if s.size <= s.stride);
        if !steps.iter().any(overlaps) {
            return None;
        }
        Some(Self { operand: input.operand, element, op: combine, init, input: input_sizes, result, steps })
    }

    /// Returns the operand that is read.
    pub(crate) fn operand(&self) -> usize {
        self.operand
    }

    fn typed<S: Stored + bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &self,
        input: &View<'_>,
        out: &mut ViewMut<'_>,
        threads: usize,
        init: S::Cell,
    ) {
        let (input, out) = (input.elements::<S>(), out.elements::<S>());
        let Some(&(dim, step)) = self.steps.first() else { return };
        let product = |sizes: &[usize]| sizes.iter().product::<usize>();
        let (lead, inner) = (product(&self.input[..dim]), product(&self.input[dim + 1..]));
        if out.is_empty() {
            return;
        }
        let job = Job { windows: self, input, out: DisjointSlice::new(out), init, lead, inner };
        match step {
            Step::Slide(first) => {
                let after = product(&self.result[dim + 1..]);
                let row = inner.max(after).max(1) * first.stride as usize;
                let rows = (HELD / row).clamp(4, self.result[dim].max(4));
                let parts = self.result[dim].div_ceil(rows);
                let combine = match self.op {
                    ScalarOp::Add => Rows::of::<Add>(),
                    ScalarOp::Mul => Rows::of::<Mul>(),
                    ScalarOp::Max => Rows::of::<Max>(),
                    _ => Rows::of::<Min>(),
                };
                each(threads, lead * parts, |i| {
                    let (line, begin) = (i / parts, i % parts * rows);
                    job.slide(combine, &first, dim, line, begin..(begin + rows).min(self.result[dim]));
                });
            }
            Step::Scan { backward } if self.op == ScalarOp::Add && S::Cell::EXACT => {
                job.scan(&Scan::sums(), self.input[dim], backward, threads);
            }
            Step::Scan { backward } => {
                let scan = match self.op {
                    ScalarOp::Add => Scan::of::<Add>(),
                    ScalarOp::Mul => Scan::of::<Mul>(),
                    ScalarOp::Max => Scan::of::<Max>(),
                    _ => Scan::of::<Min>(),
                };
                job.scan(&scan, self.input[dim], backward, threads);
            }
        }
    }
}

impl Native for Windows {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let (input, out) = (&operands[0], &mut results[0]);
        let float = self.init.as_f64();
        let bits = if let Scalar::Int(v) = self.init { v } else { 0 };
        match self.element {
            ElementType::F32 => self.typed::<f32>(input, out, threads, float as f32),
            ElementType::F64 => self.typed::<f64>(input, out, threads, float),
            ElementType::BF16 => self.typed::<bf16>(input, out, threads, float as f32),
            ElementType::F16 => self.typed::<f16>(input, out, threads, float as f32),
            ElementType::I8 => self.typed::<i8>(input, out, threads, bits as i8),
            ElementType::I1 | ElementType::UI8 => self.typed::<u8>(input, out, threads, bits as u8),
            ElementType::I16 => self.typed::<i16>(input, out, threads, bits as i16),
            ElementType::UI16 => self.typed::<u16>(input, out, threads, bits as u16),
            ElementType::I32 => self.typed::<i32>(input, out, threads, bits as i32),
            ElementType::UI32 => self.typed::<u32>(input, out, threads, bits as u32),
            ElementType::I64 => self.typed::<i64>(input, out, threads, bits as i64),
            _ => self.typed::<u64>(input, out, threads, bits as u64),
        }
        Ok(())
    }
}

/// Returns whether elements of this type are supported.
fn supported(element: ElementType) -> bool {
    use ElementType::{BF16, F16, F32, F64, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64};
    matches!(element, BF16 | F16 | F32 | F64 | I1 | I8 | I16 | I32 | I64 | UI8 | UI16 | UI32 | UI64)
}

/// One call of the code.
struct Job<'a, S: Stored> {
    windows: &'a Windows,
    input: &'a [S],
    out: DisjointSlice<'a, S>,
    init: S::Cell,
    /// Product of the sizes before the first dimension along which elements are combined, and of those after it.
    lead: usize,
    inner: usize,
}

impl<S: Stored> Job<'_, S> {
    /// Combines the windows `rows` of the first dimension, and all windows of the dimensions inside.
    fn slide(&self, combine: Rows<S::Cell>, first: &Slide, dim: usize, line: usize, rows: Range<usize>) {
        let w = self.windows;
        let size = w.input[dim];
        let elements = first.reach(rows.clone(), size);
        let at = line * size;
        let slab = &self.input[(at + elements.start) * self.inner..(at + elements.end) * self.inner];
        let mut memory = Vec::new();
        let mut cells: &[S::Cell] = S::cells(slab, &mut memory);
        let mut held: Vec<S::Cell>;
        let mut sizes = w.input[dim..].to_vec();
        sizes[0] = elements.len();
        for &(d, step) in w.steps[1..].iter().rev() {
            let Step::Slide(s) = step else { continue };
            let d = d - dim;
            let (n, inner) = (sizes[d], sizes[d + 1..].iter().product::<usize>());
            sizes[d] = w.result[d + dim];
            let mut next = vec![self.init; sizes.iter().product()];
            slide(combine, &s, Lines { cells, elements: 0..n, inner }, &mut next, 0..sizes[d], self.init);
            held = next;
            cells = &held;
        }
        let inner: usize = sizes[1..].iter().product();
        let start = (line * w.result[dim] + rows.start) * inner;
        // SAFETY: each task has different `rows` of the result.
        let out = unsafe { self.out.part(start..start + rows.len() * inner) };
        S::fill(out, |to| slide(combine, first, Lines { cells, elements, inner }, to, rows, self.init));
    }

    /// Scans all lines of `size` rows.
    fn scan<V: Copy + Send + Sync>(&self, scan: &Scan<S::Cell, V>, size: usize, backward: bool, threads: usize) {
        let start = (scan.start)(self.init);
        let all = size * self.inner;
        // SAFETY: each task below uses the rows of its own columns, its own line, or its own block.
        let part = |at: usize, n: usize| unsafe { self.out.part(at..at + n) };
        if self.inner > 1 {
            let parts = self.inner.div_ceil(COLUMNS);
            return each(threads, self.lead * parts, |i| {
                let (line, first) = (i / parts, i % parts * COLUMNS);
                let columns = COLUMNS.min(self.inner - first);
                let mut values = vec![start; columns];
                for row in 0..size {
                    let row = if backward { size - 1 - row } else { row };
                    let at = line * all + row * self.inner + first;
                    let mut memory = Vec::new();
                    let cells = S::cells(&self.input[at..at + columns], &mut memory);
                    S::fill(part(at, columns), |to| (scan.row)(cells, to, &mut values));
                }
            });
        }
        let Some((block_total, scan_block)) = scan.blocks.filter(|_| size >= 2 * BLOCK) else {
            return each(threads, self.lead, |line| {
                let from = &self.input[line * size..(line + 1) * size];
                let mut memory = Vec::new();
                let cells = S::cells(from, &mut memory);
                S::fill(part(line * size, size), |to| (scan.line)(cells, to, start, backward));
            });
        };
        // Computes the totals of blocks first. Then each block is scanned, beginning with the value before it.
        let blocks = size.div_ceil(BLOCK);
        let range = |line: usize, b: usize| {
            let b = if backward { blocks - 1 - b } else { b };
            line * size + b * BLOCK..line * size + ((b + 1) * BLOCK).min(size)
        };
        let block = |range: Range<usize>, before: V| {
            let mut memory = Vec::new();
            let cells = S::cells(&self.input[range.clone()], &mut memory);
            let mut after = before;
            S::fill(part(range.start, range.len()), |to| {
                after = scan_block(cells, to, before, self.init, backward);
            });
            after
        };
        if threads <= 1 {
            for line in 0..self.lead {
                (0..blocks).fold(start, |before, b| block(range(line, b), before));
            }
            return;
        }
        let mut before: Vec<V> = vec![start; self.lead * blocks];
        let totals = DisjointSlice::new(&mut before);
        each(threads, self.lead * blocks, |i| {
            let mut memory = Vec::new();
            let cells = S::cells(&self.input[range(i / blocks, i % blocks)], &mut memory);
            // SAFETY: each task writes its own total.
            let total = unsafe { totals.part(i..i + 1) };
            total[0] = block_total(cells, self.init);
        });
        for line in before.chunks_mut(blocks) {
            let mut all = start;
            for value in line {
                all = (scan.join)(all, std::mem::replace(value, all));
            }
        }
        each(threads, self.lead * blocks, |i| {
            block(range(i / blocks, i % blocks), before[i]);
        });
    }
}
