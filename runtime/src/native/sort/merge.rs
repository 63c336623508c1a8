//! A merge sort by any comparison, made of the comparisons that the reference's makes, so that what is no order gives the
//! same result.
//!
//! Operands that the comparison reads are kept in the order found so far, so that it reads neighbors.

#![allow(unsafe_code, reason = "comparisons take addresses of elements")]

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};
use smallvec::smallvec;

use super::words::Slice;
use crate::native::routine::{Places, Routine, read};

/// Elements sorted before others are looked at, few enough for the cache.
const CHUNK: usize = 1 << 12;

/// Elements of one operand, in the order found so far.
#[derive(Default)]
struct Column {
    /// Which operand; none for the elements' numbers, which come last.
    operand: Option<usize>,
    bytes: usize,
    /// The elements, and where they go next.
    both: [Vec<u64>; 2],
}

/// Memory that is used again for every slice.
#[derive(Default)]
pub(super) struct Merging {
    columns: Vec<Column>,
}

/// The same part of a column: elements, where they go next, and bytes of an element.
struct Part<'m> {
    operand: Option<usize>,
    from: &'m mut [u8],
    to: &'m mut [u8],
    bytes: usize,
}

impl Merging {
    /// Puts the numbers of a slice's elements into `order`, in the order of a comparison of pairs.
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

    /// Begins with the elements as they are.
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
    /// All `count` elements.
    fn part(&mut self, count: usize) -> Part<'_> {
        let [from, to] = self.both.each_mut().map(|half| &mut bytemuck::cast_slice_mut(half)[..count * self.bytes]);
        Part { operand: self.operand, from, to, bytes: self.bytes }
    }
}

/// Merges runs of each width to ones of twice that, inside groups of elements.
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

/// All columns in groups of `size` elements.
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

    /// Puts the elements at these places one after the other.
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
    /// Where the next pairs are, and the result.
    places: Places,
    /// Which elements come next.
    next: Vec<u32>,
}

impl<'b> Comparing<'b> {
    fn new(before: &'b Routine) -> Self {
        // What isn't read has no place.
        let nowhere = std::ptr::without_provenance_mut(align_of::<u64>());
        Self { before, places: smallvec![nowhere; before.body().inputs.len() + 1], next: Vec::new() }
    }

    /// Merges runs of `width` elements to ones of twice that.
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

    /// Whether element `a` is before element `b`.
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
        // SAFETY: every input that is read is an element of its type, whose buffer and size are multiples of its
        // alignment, and the result is a truth value of one byte.
        unsafe { self.before.call(&self.places, 1) };
        result != 0
    }
}
