//! A merge sort by any comparison. It makes the same comparisons as the reference's, so that comparators which aren't
//! orders give the same result.
//!
//! Operands that the comparison reads are kept in the order found so far, so that it reads neighbors.

#![allow(unsafe_code, reason = "comparisons take addresses of elements")]

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};
use smallvec::smallvec;

use super::words::Slice;
use crate::kernels::native::routine::{Places, Routine, read};

/// The number of elements that are sorted before others are read, so that they stay in the cache.
const CHUNK: usize = 1 << 12;

/// Elements of one operand, in the order found so far.
#[derive(Default)]
struct Column {
    /// The number of the operand; `None` for the elements' numbers, which are the last column.
    operand: Option<usize>,
    bytes: usize,
    /// The elements, and memory for their next order.
    both: [Vec<u64>; 2],
}

/// Memory that is reused for every slice.
#[derive(Default)]
pub(super) struct Merging {
    columns: Vec<Column>,
}

/// A part of a column: the elements, memory for their next order, and the bytes of an element.
struct Part<'m> {
    operand: Option<usize>,
    from: &'m mut [u8],
    to: &'m mut [u8],
    bytes: usize,
}

impl Merging {
    /// Writes the numbers of a slice's elements to `order`, in the order of a comparison of pairs.
    pub(super) fn order(&mut self, before: &Routine, slices: &[Slice<'_>], order: &mut Vec<u32>, threads: usize) {
        let count = slices.first().map_or(0, |s| s.count);
        self.fill(before, slices, count);
        let mut whole: Vec<Part<'_>> = self.columns.iter_mut().map(|column| column.part(count)).collect();
        merge(before, &mut whole, 1..CHUNK.min(count), CHUNK, threads);
        let mut width = CHUNK;
        while width < count {
            merge(before, &mut whole, width..width + 1, 2 * width, threads);
            width *= 2;
        }
        order.clear();
        order.extend(whole.last().into_iter().flat_map(|numbers| bytemuck::cast_slice::<u8, u32>(numbers.from)));
    }

    /// Copies the elements in their original order.
    fn fill(&mut self, before: &Routine, slices: &[Slice<'_>], count: usize) {
        let reads = before.reads();
        let operands: Vec<usize> = (0..slices.len()).filter(|i| reads[2 * i] || reads[2 * i + 1]).collect();
        self.columns.resize_with(operands.len() + 1, Column::default);
        for (i, column) in self.columns.iter_mut().enumerate() {
            column.operand = operands.get(i).copied();
            column.bytes = column.operand.map_or(size_of::<u32>(), |o| slices[o].element.bytes());
            let words = (count * column.bytes).div_ceil(size_of::<u64>());
            column.both.iter_mut().for_each(|half| half.resize(words, 0));
            let part = column.part(count);
            match part.operand {
                Some(o) => slices[o].copy(part.from),
                None => bytemuck::cast_slice_mut(part.from).iter_mut().zip(0u32..).for_each(|(to, i)| *to = i),
            }
        }
    }
}

impl Column {
    /// Returns all `count` elements.
    fn part(&mut self, count: usize) -> Part<'_> {
        let [from, to] = self.both.each_mut().map(|half| &mut bytemuck::cast_slice_mut(half)[..count * self.bytes]);
        Part { operand: self.operand, from, to, bytes: self.bytes }
    }
}

/// Merges runs of each width to runs of twice that width, inside groups of elements.
fn merge(before: &Routine, whole: &mut [Part<'_>], widths: Range<usize>, group: usize, threads: usize) {
    use rayon::prelude::*;
    let widths: Vec<usize> =
        std::iter::successors(Some(widths.start), |w| Some(2 * w)).take_while(|w| widths.contains(w)).collect();
    let sort = |mut group: Vec<Part<'_>>| {
        let mut comparing = Comparing::new(before);
        widths.iter().for_each(|&width| comparing.pass(&mut group, width));
    };
    let groups = divided(whole, group);
    match threads {
        1 => groups.into_iter().for_each(sort),
        _ => groups.into_par_iter().for_each(sort),
    }
    if widths.len() % 2 == 1 {
        whole.iter_mut().for_each(Part::swap);
    }
}

/// Divides all columns into groups of `size` elements.
fn divided<'p>(whole: &'p mut [Part<'_>], size: usize) -> Vec<Vec<Part<'p>>> {
    let mut groups: Vec<Vec<Part<'p>>> = Vec::new();
    for &mut Part { operand, ref mut from, ref mut to, bytes } in whole {
        let chunks = from.chunks_mut(size * bytes).zip(to.chunks_mut(size * bytes));
        for (i, (from, to)) in chunks.enumerate() {
            if groups.len() <= i {
                groups.push(Vec::new());
            }
            groups[i].push(Part { operand, from, to, bytes });
        }
    }
    groups
}

impl Part<'_> {
    fn swap(&mut self) {
        std::mem::swap(&mut self.from, &mut self.to);
    }

    /// Writes the elements at these positions one after the other.
    fn gather(&mut self, places: &[u32]) {
        match self.bytes {
            1 => gather::<u8>(self.from, self.to, places),
            2 => gather::<u16>(self.from, self.to, places),
            4 => gather::<u32>(self.from, self.to, places),
            8 => gather::<u64>(self.from, self.to, places),
            _ => gather::<[u64; 2]>(self.from, self.to, places),
        }
    }
}

fn gather<T: AnyBitPattern + NoUninit>(from: &[u8], to: &mut [u8], places: &[u32]) {
    let (from, to): (&[T], &mut [T]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    to.iter_mut().zip(places).for_each(|(to, &place)| *to = from[place as usize]);
}

/// A comparison of elements of one group.
struct Comparing<'b> {
    before: &'b Routine,
    /// The addresses of the next pair's elements, and of the result.
    places: Places,
    /// The positions of the elements in their next order.
    next: Vec<u32>,
}

impl<'b> Comparing<'b> {
    fn new(before: &'b Routine) -> Self {
        // Inputs that aren't read get a dangling address.
        let nowhere = std::ptr::without_provenance_mut(align_of::<u64>());
        Self { before, places: smallvec![nowhere; before.body().inputs.len() + 1], next: Vec::new() }
    }

    /// Merges runs of `width` elements to runs of twice that width.
    fn pass(&mut self, group: &mut [Part<'_>], width: usize) {
        let Some(count) = group.first().map(|part| part.from.len() / part.bytes) else { return };
        self.next.clear();
        for start in (0..count).step_by(2 * width) {
            let (middle, end) = (count.min(start + width), count.min(start + 2 * width));
            let (mut left, mut right) = (start, middle);
            while left < middle && right < end {
                let first = self.holds(group, right, left);
                self.next.push(if first { right } else { left } as u32);
                right += usize::from(first);
                left += usize::from(!first);
            }
            self.next.extend((left..middle).chain(right..end).map(|i| i as u32));
        }
        for part in group {
            part.gather(&self.next);
            part.swap();
        }
    }

    /// Returns whether element `a` is before element `b`.
    #[inline(always)]
    fn holds(&mut self, group: &[Part<'_>], a: usize, b: usize) -> bool {
        let mut result = 0u8;
        for part in group {
            if let Some(operand) = part.operand {
                let at = |i: usize| read(&part.from[i * part.bytes..][..part.bytes]);
                (self.places[2 * operand], self.places[2 * operand + 1]) = (at(a), at(b));
            }
        }
        if let Some(last) = self.places.last_mut() {
            *last = &raw mut result;
        }
        // SAFETY: every input that is read has the address of an element of its type, whose buffer and size are
        // multiples of its alignment. The result is a boolean, for which `result` has one byte.
        unsafe { self.before.call(&self.places, 1) };
        result != 0
    }
}
