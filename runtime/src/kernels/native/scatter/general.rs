//! Scatters of any types, of several inputs or by any scalar region.

#![allow(unsafe_code, reason = "machine code takes addresses of elements")]

use std::ops::Range;

use dialect::ir::ElementType;
use dialect::scalar::Scalar;
use rustc_hash::FxHashMap;

use super::apply::common;
use super::places::Places;
use crate::kernels::native::routine::{self, Routine, read, write};
use crate::kernels::native::{Native, View, ViewMut};

pub(super) struct General {
    pub places: Places,
    pub combine: Routine,
    /// Whether the updates of an element are summed in f64, and rounded once.
    pub sums: bool,
    /// The type of each input, of its updates and of its result.
    pub types: Vec<ElementType>,
}

/// The number of elements combined at a time.
const BLOCK: usize = 256;

impl Native for General {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        use rayon::prelude::*;
        if self.sums {
            self.sum(operands, &mut results[0]);
            return Ok(());
        }
        let size = self.places.elements.div_ceil(threads).max(1);
        let mut parts: Vec<Vec<&mut [u8]>> = Vec::new();
        for (result, ty) in results.iter_mut().zip(&self.types) {
            for (i, part) in result.bytes.chunks_mut(size * ty.bytes()).enumerate() {
                if parts.len() <= i {
                    parts.push(Vec::new());
                }
                parts[i].push(part);
            }
        }
        let work = |(i, part): (usize, Vec<&mut [u8]>)| self.part(operands, i * size, part);
        match threads {
            1 => parts.into_iter().enumerate().for_each(work),
            _ => parts.into_par_iter().enumerate().for_each(work),
        }
        Ok(())
    }

    fn routines(&mut self) -> Vec<&mut Routine> {
        if self.sums { Vec::new() } else { vec![&mut self.combine] }
    }
}

impl General {
    /// Combines updates into the elements from `first` on, which are the parts of all results.
    fn part(&self, operands: &[View<'_>], first: usize, mut part: Vec<&mut [u8]>) {
        let Some(len) = part.first().map(|bytes| bytes.len() / self.types[0].bytes()) else { return };
        let (range, indices) = (first..first + len, operands[self.types.len()]);
        let mut new: Vec<Vec<u64>> = self.types.iter().map(|ty| vec![0; (BLOCK * ty.bytes()).div_ceil(8)]).collect();
        let mut visit = |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                self.combine(operands, from, &mut part, to, &mut new);
            }
        };
        if self.places.in_order {
            return self.places.runs(indices, visit);
        }
        // Positions in the updates and in the inputs.
        let mut elements: Vec<(usize, usize)> = Vec::new();
        self.places.runs(indices, |input, update, len| {
            if let Some((to, from)) = common(&range, input, update, len) {
                elements.extend(to.enumerate().map(|(i, to)| (from + i, first + to)));
            }
        });
        elements.sort_unstable();
        elements.into_iter().for_each(|(update, input)| visit(input, update, 1));
    }

    /// Combines neighboring updates from `from` on into neighboring elements of each part.
    fn combine(
        &self,
        operands: &[View<'_>],
        from: usize,
        part: &mut [&mut [u8]],
        to: Range<usize>,
        new: &mut [Vec<u64>],
    ) {
        let updates = &operands[self.types.len() + 1..];
        for block in to.clone().step_by(BLOCK) {
            let count = BLOCK.min(to.end - block);
            let update = from + (block - to.start);
            let mut places = routine::Places::new();
            for (view, ty) in updates.iter().zip(&self.types) {
                places.push(read(&view.bytes[update * ty.bytes()..][..count * ty.bytes()]));
            }
            for (bytes, ty) in part.iter().zip(&self.types) {
                places.push(read(&bytes[block * ty.bytes()..][..count * ty.bytes()]));
            }
            places.extend(new.iter_mut().map(|new| write(new)));
            // SAFETY: the slices show that there are `count` elements of each update and accumulator, aligned like
            // tensors. Each result has memory for `BLOCK >= count` elements.
            unsafe { self.combine.call(&places, count) };
            for ((bytes, ty), new) in part.iter_mut().zip(&self.types).zip(&*new) {
                let n = count * ty.bytes();
                bytes[block * ty.bytes()..][..n].copy_from_slice(&bytemuck::cast_slice(new)[..n]);
            }
        }
    }

    /// Sums updates of a type that has no number type here.
    fn sum(&self, operands: &[View<'_>], result: &mut ViewMut<'_>) {
        let (ty, updates) = (self.types[0], operands[2]);
        // Positions in the updates and in the input.
        let mut elements: Vec<(usize, usize)> = Vec::new();
        self.places.runs(operands[1], |input, update, len| {
            elements.extend((0..len).map(|i| (update + i, input + i)));
        });
        elements.sort_unstable();
        let mut sums: FxHashMap<usize, f64> = FxHashMap::default();
        for (update, input) in elements {
            let old = || result.get(ty, input).as_f64();
            *sums.entry(input).or_insert_with(old) += updates.get(ty, update).as_f64();
        }
        sums.into_iter().for_each(|(input, sum)| result.set(ty, input, Scalar::Float(sum)));
    }
}
