//! `select_and_scatter`: each window selects an element, at whose position a value is combined into the result.

#![allow(unsafe_code, reason = "machine code takes addresses of elements")]

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};
use dialect::ir::{ElementType, TensorType};
use dialect::kernel::{Arg, Body, Inst, SelectAndScatter};
use dialect::ops::stablehlo::window::WindowDim;
use dialect::scalar::{Comparison, ScalarOp};

use super::number::{Number, has, with_number};
use super::routine::{Routine, Times, read, write};
use super::{Native, View, ViewMut};

struct Selecting {
    windows: Vec<WindowDim>,
    /// Sizes of the operand and of the source, without the last dimensions in which windows have one element.
    operand: Vec<usize>,
    source: Vec<usize>,
    /// Number of elements of those last dimensions.
    inner: usize,
    element: ElementType,
    select: Routine,
    scatter: Routine,
}

pub(super) fn of(it: &SelectAndScatter, operands: &[&TensorType], results: &[&TensorType]) -> Option<Box<dyn Native>> {
    let (select, scatter) = (it.select.clone()?, it.scatter.clone()?);
    let element = operands[0].element;
    if results[0].element != element || scatter.accumulators[..] != [element] {
        return None;
    }
    let sizes = |t: &TensorType| t.shape.iter().map(|&d| d as usize).collect::<Vec<_>>();
    let (mut operand, mut source) = (sizes(operands[0]), sizes(operands[1]));
    let mut windows = it.windows.clone();
    let mut inner = 1;
    while windows.pop_if(|w| w.is_plain()).is_some() {
        inner *= operand.pop().unwrap_or(1);
        source.pop();
    }
    let [select, scatter] = [select, scatter].map(|body| Routine::new(body, Times::Many));
    Some(Box::new(Selecting { windows, operand, source, inner, element, select, scatter }))
}

/// The number of elements of the inner dimensions that are compared together.
const LANES: usize = 64;

impl Native for Selecting {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        use Comparison::{Ge, Gt, Le};
        let Some((keep, by)) = self.known() else {
            match self.element.bytes() {
                1 => self.general::<u8>(operands, &mut results[0], threads),
                2 => self.general::<u16>(operands, &mut results[0], threads),
                4 => self.general::<u32>(operands, &mut results[0], threads),
                8 => self.general::<u64>(operands, &mut results[0], threads),
                _ => self.general::<[u64; 2]>(operands, &mut results[0], threads),
            }
            return Ok(());
        };
        with_number!(self.element, T => {
            let (operands, out) = (Operands::of(operands), results[0].elements::<T>());
            match keep {
                Ge => self.typed(operands, out, by, threads, |a: T, b| a >= b),
                Gt => self.typed(operands, out, by, threads, |a: T, b| a > b),
                Le => self.typed(operands, out, by, threads, |a: T, b| a <= b),
                // The only other comparison that `known` returns.
                _ => self.typed(operands, out, by, threads, |a: T, b| a < b),
            }
        }, else {});
        Ok(())
    }

    fn routines(&mut self) -> Vec<&mut Routine> {
        if self.known().is_some() { Vec::new() } else { vec![&mut self.select, &mut self.scatter] }
    }
}

/// Returns the comparison of a body that compares its two inputs in order.
fn compares(body: &Body) -> Option<Comparison> {
    match (&body.insts[..], &body.results[..]) {
        ([Inst::Op { op: ScalarOp::Compare(by), args, .. }], [Arg::Inst(0)])
            if args[..] == [Arg::Input(0), Arg::Input(1)] =>
        {
            Some(*by)
        }
        _ => None,
    }
}

impl Selecting {
    /// Returns the selecting comparison and the combining operation, if there is code for both.
    fn known(&self) -> Option<(Comparison, ScalarOp)> {
        let by = self.scatter.body().as_binary().filter(|&op| has(op, self.element.is_float()))?;
        let keep = compares(self.select.body()).filter(|by| !matches!(by, Comparison::Eq | Comparison::Ne))?;
        with_number!(self.element, _T => Some((keep, by)), else None)
    }

    /// Calls `visit` for each window, in order, with its number and the number of each row of inner elements that it
    /// has inside the operand.
    #[inline(always)]
    fn windows(&self, first: &Range<usize>, mut visit: impl FnMut(usize, &[usize])) {
        let rank = self.windows.len();
        let mut at = vec![0usize; rank];
        if let Some(at) = at.first_mut() {
            *at = first.start;
        }
        let end = |d: usize| if d == 0 { first.end } else { self.source[d] };
        if (0..rank).any(|d| at[d] >= end(d)) || rank == 0 && first.is_empty() {
            return;
        }
        let mut rows: Vec<usize> = Vec::new();
        loop {
            rows.clear();
            rows.push(0);
            for (d, w) in self.windows.iter().enumerate() {
                let (size, begin) = (self.operand[d], at[d] as i64 * w.stride - w.low);
                let low = (-begin).clamp(0, w.size);
                let high = (size as i64 - begin).clamp(low, w.size);
                let before = rows.len();
                for i in 0..before {
                    let row = rows[i] * size;
                    rows.extend((low..high).map(|p| row + (begin + p) as usize));
                }
                rows.drain(..before);
            }
            let number = at.iter().zip(&self.source).fold(0, |n, (&at, &size)| n * size + at);
            visit(number, &rows);
            let mut d = rank;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                at[d] += 1;
                if at[d] < end(d) {
                    break;
                }
                at[d] = if d == 0 { first.start } else { 0 };
            }
        }
    }

    fn typed<T: Number + PartialOrd>(
        &self,
        operands: Operands<'_, T>,
        out: &mut [T],
        by: ScalarOp,
        threads: usize,
        keep: impl Fn(T, T) -> bool + Sync,
    ) {
        self.divide(out, threads, &|out, first| self.part(operands, out, by, first, &keep));
    }

    /// Calls `part` with parts of the result and the positions, in the first dimension, of the windows that reach them.
    fn divide<T: Send>(&self, out: &mut [T], threads: usize, part: &(dyn Fn(&mut [T], Range<usize>) + Sync)) {
        use rayon::prelude::*;
        // Windows of different positions of a plain first dimension have different elements.
        let apart = self.windows.first().is_some_and(|w| w.is_plain());
        let count = self.source.first().copied().unwrap_or(1);
        if threads > 1 && apart && count > 1 && !out.is_empty() {
            let size = out.len() / count;
            out.par_chunks_mut(size).enumerate().for_each(|(i, out)| part(out, i..i + 1));
        } else {
            part(out, 0..count);
        }
    }

    /// Visits the windows at positions `first` of the first dimension; `out` begins at their first possible position.
    fn part<T: Number + PartialOrd>(
        &self,
        Operands { from, values, init }: Operands<'_, T>,
        out: &mut [T],
        by: ScalarOp,
        first: Range<usize>,
        keep: &impl Fn(T, T) -> bool,
    ) {
        out.fill(init);
        let start = if first.len() == 1 && first.start > 0 { first.start * out.len() } else { 0 };
        let arch = pulp::Arch::new();
        let inner = self.inner;
        self.windows(&first, |number, rows| {
            let Some((&row, rows)) = rows.split_first() else { return };
            for lane in (0..inner).step_by(LANES) {
                let n = LANES.min(inner - lane);
                let mut best = [init; LANES];
                let mut place = [row as u32; LANES];
                best[..n].copy_from_slice(&from[row * inner + lane..][..n]);
                for &row in rows {
                    let values = &from[row * inner + lane..][..n];
                    let look = Select { best: &mut best[..n], place: &mut place[..n], values, row, keep };
                    if n < 8 {
                        look.all();
                    } else {
                        arch.dispatch(look);
                    }
                }
                let values = &values[number * inner + lane..][..n];
                for i in 0..n {
                    let to = &mut out[place[i] as usize * inner + lane + i - start];
                    *to = to.combine(by, values[i]);
                }
            }
        });
    }

    /// Selects and combines by any regions, for elements with as many bytes as `T`.
    fn general<T: AnyBitPattern + NoUninit + Send + Sync>(
        &self,
        operands: &[View<'_>],
        result: &mut ViewMut<'_>,
        threads: usize,
    ) {
        let operands = Operands::of(operands);
        self.divide(result.elements::<T>(), threads, &|out, first| self.by_routines(operands, out, first));
    }

    fn by_routines<T: AnyBitPattern + NoUninit>(
        &self,
        Operands { from, values, init }: Operands<'_, T>,
        out: &mut [T],
        first: Range<usize>,
    ) {
        out.fill(init);
        let start = if first.len() == 1 && first.start > 0 { first.start * out.len() } else { 0 };
        let inner = self.inner;
        let (mut best, mut old, mut new) = ([init; LANES], [init; LANES], [init; LANES]);
        let (mut place, mut kept) = ([0; LANES], [0u8; LANES]);
        self.windows(&first, |number, rows| {
            let Some((&row, rows)) = rows.split_first() else { return };
            for lane in (0..inner).step_by(LANES) {
                let n = LANES.min(inner - lane);
                best[..n].copy_from_slice(&from[row * inner + lane..][..n]);
                place[..n].fill(row);
                for &row in rows {
                    let values = &from[row * inner + lane..][..n];
                    let places = [read(&best), read(values), write(&mut kept)];
                    // SAFETY: `best` and `values` have `n` elements of the operand's type, and `kept` has `LANES >= n`
                    // bytes for the booleans.
                    unsafe { self.select.call(&places, n) };
                    for i in (0..n).filter(|&i| kept[i] == 0) {
                        (best[i], place[i]) = (values[i], row);
                    }
                }
                let to = |i: usize| place[i] * inner + lane + i - start;
                (0..n).for_each(|i| old[i] = out[to(i)]);
                let values = &values[number * inner + lane..][..n];
                let places = [read(values), read(&old), write(&mut new)];
                // SAFETY: `values` and `old` have `n` elements of the operand's type, and `new` has `LANES >= n`.
                unsafe { self.scatter.call(&places, n) };
                (0..n).for_each(|i| out[to(i)] = new[i]);
            }
        });
    }
}

/// The elements among which is selected, the values that are combined, and the value to begin with.
#[derive(Clone, Copy)]
struct Operands<'a, T> {
    from: &'a [T],
    values: &'a [T],
    init: T,
}

impl<'a, T: AnyBitPattern> Operands<'a, T> {
    fn of(operands: &[View<'a>]) -> Self {
        Self { from: operands[0].elements(), values: operands[1].elements(), init: operands[2].elements()[0] }
    }
}

/// Replaces the best value of a lane by the value of `row` if the comparison doesn't keep it.
struct Select<'a, T, K> {
    best: &'a mut [T],
    place: &'a mut [u32],
    values: &'a [T],
    row: usize,
    keep: &'a K,
}

impl<T: Number, K: Fn(T, T) -> bool> Select<'_, T, K> {
    #[inline(always)]
    fn all(self) {
        for ((best, place), &value) in self.best.iter_mut().zip(self.place).zip(self.values) {
            let kept = (self.keep)(*best, value);
            *best = if kept { *best } else { value };
            *place = if kept { *place } else { self.row as u32 };
        }
    }
}

impl<T: Number, K: Fn(T, T) -> bool> pulp::WithSimd for Select<'_, T, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.all();
    }
}
