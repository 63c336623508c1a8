//! `sort`: slices of several tensors ordered together, stable.
//!
//! If a comparator compares keys, words that have the keys' order are sorted. Any other comparator is called by a merge
//! sort. Each thread needs memory for the words and numbers of the elements of one slice, and for computed keys.

mod keys;
mod merge;
mod radix;
mod words;

use dialect::ir::TensorType;
use dialect::kernel::Sort;

use super::{Native, Routine, Times, View, ViewMut};
use keys::{Key, Source};
use merge::Merging;
use words::{Order, Slice};

struct Sorting {
    before: Routine,
    /// The keys; empty if the comparator doesn't compare keys.
    keys: Vec<Key>,
    types: Vec<TensorType>,
    /// The number of elements of a slice, and the distance between them.
    count: usize,
    step: usize,
    /// The number of first elements of each sorted slice that are needed. The results' other elements are arbitrary.
    first: usize,
}

/// Returns native code for a sort. `first` is the number of first positions along the sorted dimension that are ever
/// read.
pub(super) fn of(sort: &Sort, operands: &[&TensorType], first: usize) -> Option<Box<dyn Native>> {
    let before = sort.before.clone()?;
    let shape = &operands[0].shape;
    let count = shape[sort.dim] as usize;
    if u32::try_from(count).is_err() {
        return None;
    }
    Some(Box::new(Sorting {
        keys: keys::keys(&before).unwrap_or_default(),
        before: Routine::new(before, Times::One),
        types: operands.iter().map(|&t| t.clone()).collect(),
        count,
        step: shape[sort.dim + 1..].iter().map(|&d| d as usize).product(),
        first: first.min(count),
    }))
}

/// Memory that one thread reuses for every slice.
#[derive(Default)]
struct Memory {
    packed: Vec<u64>,
    narrow: Vec<u32>,
    wide: Vec<(u64, u32)>,
    words: Vec<u64>,
    order: Vec<u32>,
    computed: Vec<u64>,
    merging: Merging,
}

impl Native for Sorting {
    fn routines(&mut self) -> Vec<&mut Routine> {
        // If every element has a place in the order of the keys, the comparator isn't called.
        let compares = self.keys.is_empty() || !self.keys.iter().all(|key| key.total);
        let computed = self.keys.iter_mut().filter_map(|key| match &mut key.source {
            Source::Computed(routine) => Some(&mut **routine),
            Source::Plain(_) | Source::Canonical(_) => None,
        });
        let before = compares.then_some(&mut self.before);
        computed.chain(before).collect()
    }

    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        use rayon::prelude::*;
        // Neighboring slices begin in one block of all tensors.
        let block = self.count * self.step;
        let total = self.types[0].elements().unwrap_or(0);
        if total == 0 {
            return Ok(());
        }
        let blocks = total / block;
        let mut parts: Vec<Vec<&mut [u8]>> = (0..blocks).map(|_| Vec::with_capacity(results.len())).collect();
        for (result, ty) in results.iter_mut().zip(&self.types) {
            let chunks = result.bytes.chunks_mut(block * ty.element.bytes());
            parts.iter_mut().zip(chunks).for_each(|(part, chunk)| part.push(chunk));
        }
        let work = |first: usize, parts: &mut [Vec<&mut [u8]>], threads: usize| {
            let mut memory = Memory::default();
            for (i, part) in parts.iter_mut().enumerate() {
                for inner in 0..self.step {
                    self.slice(operands, (first + i) * block + inner, inner, part, &mut memory, threads);
                }
            }
        };
        if threads > 1 && blocks >= threads {
            let size = blocks.div_ceil(4 * threads);
            parts.par_chunks_mut(size).enumerate().for_each(|(i, parts)| work(i * size, parts, 1));
        } else {
            work(0, &mut parts, threads);
        }
        Ok(())
    }
}

impl Sorting {
    /// Sorts the slice that begins at element `start` of the operands, and at element `inner` of the results' block.
    fn slice(
        &self,
        operands: &[View<'_>],
        start: usize,
        inner: usize,
        out: &mut [&mut [u8]],
        memory: &mut Memory,
        threads: usize,
    ) {
        let slices: Vec<Slice<'_>> = operands
            .iter()
            .zip(&self.types)
            .map(|(&view, ty)| Slice { view, element: ty.element, start, step: self.step, count: self.count })
            .collect();
        if self.alone(&slices, inner, out, memory, threads) {
            return;
        }
        if !self.order(&slices, memory, threads) {
            memory.merging.order(&self.before, &slices, &mut memory.order, threads);
        }
        for ((slice, ty), out) in slices.iter().zip(&self.types).zip(out) {
            let order = &memory.order[..self.first];
            match ty.element.bytes() {
                1 => place::<u8>(slice, order, out, inner),
                2 => place::<u16>(slice, order, out, inner),
                4 => place::<u32>(slice, order, out, inner),
                8 => place::<u64>(slice, order, out, inner),
                _ => place::<[u64; 2]>(slice, order, out, inner),
            }
        }
    }

    /// Sorts the only operand by its own elements. Returns false if there are other operands, other keys, or values
    /// without a place in the order.
    fn alone(
        &self,
        slices: &[Slice<'_>],
        inner: usize,
        out: &mut [&mut [u8]],
        memory: &mut Memory,
        threads: usize,
    ) -> bool {
        let ([slice], [key], [out]) = (slices, &self.keys[..], out) else { return false };
        if self.first < self.count || matches!(key.source, Source::Computed(_)) {
            return false;
        }
        let Some(order) = Order::of(key) else { return false };
        match order.bits {
            8 => alone::<u8, u32>(order, slice, inner, out, &mut memory.narrow, threads),
            16 => alone::<u16, u32>(order, slice, inner, out, &mut memory.narrow, threads),
            32 => alone::<u32, u32>(order, slice, inner, out, &mut memory.narrow, threads),
            _ => alone::<u64, u64>(order, slice, inner, out, &mut memory.packed, threads),
        }
    }

    /// Finds the order by the keys. Returns false if there are no keys, or if an element has no place in their order.
    fn order(&self, slices: &[Slice<'_>], memory: &mut Memory, threads: usize) -> bool {
        let Memory { order, computed, words, packed, wide, .. } = memory;
        order.clear();
        let Some((most, rest)) = self.keys.split_first() else { return false };
        if rest.is_empty()
            && self.first.saturating_mul(8) <= self.count
            && let Some(by) = Order::of(most).filter(|by| by.bits <= 32)
        {
            let Some(best) = by.first(most.source.elements(slices, computed), self.first) else { return false };
            order.extend(best.iter().map(|&item| item as u32));
            return true;
        }
        for (i, key) in self.keys.iter().enumerate().rev() {
            words.clear();
            let by = Order::of(key);
            let elements = key.source.elements(slices, computed);
            let ordered = match by {
                Some(by) if rest.is_empty() && by.bits <= 32 => {
                    packed.clear();
                    by.words(elements, packed, |i, word| word << 32 | i as u64)
                }
                Some(by) => by.words(elements, words, |_, word| word),
                None => words::of_any(key, elements, words),
            };
            if !ordered {
                return false;
            }
            let bits = by.map_or(64, |by| by.bits);
            let least = i + 1 == self.keys.len();
            if bits <= 32 {
                if self.keys.len() > 1 {
                    packed.clear();
                    match least {
                        true => packed.extend(words.iter().enumerate().map(|(i, &w)| w << 32 | i as u64)),
                        false => packed
                            .extend(order.iter().enumerate().map(|(i, &from)| words[from as usize] << 32 | i as u64)),
                    }
                }
                radix::sort(packed, |&item| (item >> 32) as u32, threads);
                renumber(order, least, packed.iter().map(|&item| item as u32));
            } else {
                wide.clear();
                match least {
                    true => wide.extend(words.iter().enumerate().map(|(i, &w)| (w, i as u32))),
                    false => wide.extend(order.iter().enumerate().map(|(i, &from)| (words[from as usize], i as u32))),
                }
                radix::sort(wide, |item| item.0, threads);
                renumber(order, least, wide.iter().map(|item| item.1));
            }
        }
        true
    }
}

/// Applies an order of positions to `order`, or stores it there for the least important key.
fn renumber(order: &mut Vec<u32>, least: bool, positions: impl Iterator<Item = u32>) {
    *order = match least {
        true => positions.collect(),
        false => positions.map(|p| order[p as usize]).collect(),
    };
}

/// Stores the elements of a slice in a new order.
fn place<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    slice: &Slice<'_>,
    order: &[u32],
    out: &mut [u8],
    inner: usize,
) {
    let from: &[T] = &slice.view.elements()[slice.start..];
    let to: &mut [T] = bytemuck::cast_slice_mut(out);
    for (slot, &i) in to[inner..].iter_mut().step_by(slice.step).zip(order) {
        *slot = from[i as usize * slice.step];
    }
}

/// Sorts elements with bits `R` by words `T` that determine them. Returns false if an element has no place in the
/// order.
fn alone<R, T>(by: Order, slice: &Slice<'_>, inner: usize, out: &mut [u8], words: &mut Vec<T>, threads: usize) -> bool
where
    R: bytemuck::AnyBitPattern + bytemuck::NoUninit + Into<u64> + Narrow + radsort::Key + Ord,
    T: Copy + Default + Send + Sync + Narrow + Into<u64>,
{
    words.clear();
    if !by.words(*slice, words, |_, word| T::narrow(word)) {
        return false;
    }
    // Elements that share a word keep their order. Only they are copied, because the words of others determine their
    // bits.
    let from: &[R] = &slice.view.elements()[slice.start..];
    let elements = || from.iter().step_by(slice.step).take(slice.count);
    let merged = by.words_merge().then(|| elements().copied().filter(|&raw| by.merges(raw.into())));
    let merged: Vec<R> = merged.into_iter().flatten().collect();
    radix::sort(words, |&word| R::narrow(word.into()), threads);
    let to: &mut [R] = bytemuck::cast_slice_mut(out);
    let slots = to[inner..].iter_mut().step_by(slice.step);
    slots.zip(words.iter()).for_each(|(slot, &word)| *slot = R::narrow(by.raw(word.into())));
    if merged.is_empty() {
        return true;
    }
    // All zeros are together in the result, and so are all NaNs.
    for kind in [false, true] {
        let is_nan = |raw: &R| by.is_nan((*raw).into());
        let mut of_kind = merged.iter().filter(|raw| is_nan(raw) == kind).copied().peekable();
        let Some(&any) = of_kind.peek() else { continue };
        let word = by.word(any.into());
        let begin = words.partition_point(|&w| w.into() < word);
        for (slot, raw) in to[inner..].iter_mut().step_by(slice.step).skip(begin).zip(of_kind) {
            *slot = raw;
        }
    }
    true
}

/// Returns the low bits of a word.
trait Narrow {
    fn narrow(word: u64) -> Self;
}

macro_rules! narrow {
    ($($t:ty)*) => { $(
        impl Narrow for $t {
            #[inline(always)]
            fn narrow(word: u64) -> Self {
                word as Self
            }
        }
    )* };
}

narrow!(u8 u16 u32 u64);
