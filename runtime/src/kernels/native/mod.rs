//! Native code for computations that aren't loop nests: one file for each [`External`].
//!
//! Results are bit for bit those of the op's reference evaluation where that is exact, and depend neither on the number
//! of threads nor on the run.

pub(crate) mod assemble;
mod cholesky;
mod decomposition;
mod disjoint;
mod fft;
mod field;
mod number;
mod ragged_dot;
mod rng_bits;
mod routine;
mod scalars;
mod scatter;
mod select;
mod sort;
#[cfg(test)]
mod tests;
mod triangular_solve;

use bytemuck::{AnyBitPattern, NoUninit};
use dialect::ir::{OpRef, TensorType};
use dialect::kernel::External;

pub(crate) use disjoint::DisjointSlice;
pub(crate) use routine::{MOST, Routine, Times, read, write};

/// A tensor that is read. Its type was given when the code was chosen.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// Its elements in row-major order, aligned to 8 bytes. Empty for an operand in whose memory a result is computed
    /// ([`External::in_place`]).
    pub bytes: &'a [u8],
}

/// A tensor that is written. Its initial bytes are arbitrary, or those of the operand in whose memory it is computed.
pub(crate) struct ViewMut<'a> {
    /// Its elements in row-major order, aligned to 8 bytes.
    pub bytes: &'a mut [u8],
}

impl<'a> View<'a> {
    /// Returns its elements as values of a type of their size.
    pub(crate) fn elements<T: AnyBitPattern>(&self) -> &'a [T] {
        bytemuck::cast_slice(self.bytes)
    }
}

impl ViewMut<'_> {
    /// Returns its elements as values of a type of their size.
    pub(crate) fn elements<T: AnyBitPattern + NoUninit>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.bytes)
    }
}

/// A computation that is specialized to its op.
pub(crate) trait Native: Send + Sync {
    /// Computes the results on at most `threads` threads. Allocates the temporary memory that it needs.
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String>;

    /// Returns the scalar computations that it calls, which are linked with their machine code before it runs.
    fn routines(&mut self) -> Vec<&mut Routine> {
        Vec::new()
    }
}

/// Returns native code for `op`; `None` if there is none for these types or attributes. `first` returns how many of the
/// first positions along a dimension of the results are ever read.
pub(crate) fn of(external: &External, op: OpRef<'_>, first: &mut dyn FnMut(usize) -> usize) -> Option<Box<dyn Native>> {
    let operands: Vec<&TensorType> = (0..op.operands().len()).map(|i| op.operand_tensor(i)).collect::<Option<_>>()?;
    let results: Vec<&TensorType> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect::<Option<_>>()?;
    if !operands.iter().chain(&results).all(|t| t.is_static()) {
        return None;
    }
    match external {
        External::RngBits(algorithm) => rng_bits::of(*algorithm, results[1]),
        External::Scatter(it) => scatter::of(it, &operands, &results),
        External::SelectAndScatter(it) => select::of(it, &operands, &results),
        External::Sort(it) => sort::of(it, &operands, first(it.dim)),
        External::Fft(kind, lengths) => fft::of(*kind, lengths, operands[0], results[0]),
        External::Cholesky { lower } => cholesky::of(*lower, operands[0]),
        External::TriangularSolve(form) => triangular_solve::of(*form, operands[1]),
        External::Decomposition(it) => decomposition::of(*it, &operands, &results),
        External::RaggedDot(dims) => ragged_dot::of(dims, &operands, results[0]),
        External::Collective | External::PartitionId | External::ReplicaId | External::Reference => None,
    }
}

/// Divides `items` of `size` elements each among threads, and calls `work(first item, elements)` for each share. With
/// one thread, or little work, there is only one share.
pub(crate) fn share<T: Send>(threads: usize, size: usize, out: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    use rayon::prelude::*;
    /// The size in bytes below which a share costs more to hand out than to compute.
    const LEAST: usize = 1 << 14;
    let items = out.len().checked_div(size).unwrap_or(0);
    let least = LEAST.div_ceil(size_of::<T>().max(1) * size.max(1));
    let each = items.div_ceil(4 * threads).max(least);
    if threads <= 1 || each >= items {
        work(0, out);
    } else {
        out.par_chunks_mut(each * size).enumerate().for_each(|(i, part)| work(i * each, part));
    }
}

/// Prefetches the first `bytes` bytes of `of` to the second-level cache. The first-level cache has few outstanding
/// lines, which the current reads need.
#[inline(always)]
pub(crate) fn prefetch<T>(of: &[T], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes.min(size_of_val(of))).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let at = of.as_ptr().cast::<i8>().wrapping_add(at);
        #[allow(unsafe_code, reason = "an intrinsic")]
        // SAFETY: a prefetch only moves memory to the cache, and ignores invalid addresses.
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(at);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (of, bytes);
}

/// Temporary memory of a computation: elements that are zero at first. Large memory is in huge pages, because touching
/// small pages for the first time costs as much as computing on them.
pub(crate) struct Zeros<T> {
    mapping: Option<memmap2::MmapMut>,
    few: Vec<T>,
}

impl<T: AnyBitPattern + NoUninit> Zeros<T> {
    pub(crate) fn new(count: usize) -> Self {
        /// The size in bytes from which huge pages are requested; a multiple of their size.
        const HUGE: usize = 4 << 20;
        let bytes = count * size_of::<T>();
        let mapping = if bytes >= HUGE { memmap2::MmapMut::map_anon(bytes).ok() } else { None };
        #[cfg(target_os = "linux")]
        if let Some(mapping) = &mapping {
            // A system without huge pages uses small ones, so the error is ignored.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        let few = if mapping.is_some() { Vec::new() } else { vec![T::zeroed(); count] };
        Self { mapping, few }
    }

    pub(crate) fn elements(&mut self) -> &mut [T] {
        match &mut self.mapping {
            Some(mapping) => bytemuck::cast_slice_mut(mapping),
            None => &mut self.few,
        }
    }
}
