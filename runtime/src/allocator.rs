//! An allocator for compilers, such as the program `shardc`.
//!
//! Compilers allocate many small vectors and lists, which one thread creates and drops; mimalloc is fast for these. But
//! for vectors and tables that grow through some hundred KiB, mimalloc reserves 512 KiB or 4 MiB for each size, and the
//! kernel clears 2 MiB of these at the first byte. The system's allocator returns such memory to the kernel, which
//! clears it again. Either takes a fifth of a short compilation. So such sizes are packed tightly, by talc, into blocks
//! of mimalloc's memory.

#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout};
use std::ops::RangeInclusive;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use parking_lot::RawMutex;
use talc::TalcLock;
use talc::source::GlobalAllocSource;

/// Sizes in bytes that talc packs. mimalloc packs smaller ones, and gives larger ones exactly what they need.
const PACKED: RangeInclusive<usize> = (8 << 10) + 1..=512 << 10;

/// Bytes of a block for talc.
const BLOCK: usize = 1 << 20;

static PACKING: TalcLock<RawMutex, GlobalAllocSource<Blocks>> =
    TalcLock::new(GlobalAllocSource::with_block_size(Blocks, BLOCK));

/// mimalloc aligns memory of at least this size to this number of bytes, and smaller memory at least to its size.
const ALIGNED: usize = 16;

/// The allocator: talc for the sizes in `PACKED`, mimalloc for all others.
pub struct Allocator;

/// mimalloc reserves a GiB at first. If a limit of the process counts reserved memory, this module makes it reserve as
/// little as possible.
#[cfg(target_os = "linux")]
mod reserve {
    use std::ffi::{c_int, c_long};

    unsafe extern "C" {
        fn mi_option_set(option: c_int, value: c_long);
    }

    /// `mi_option_arena_reserve` of mimalloc 2 and 3
    const ARENA_RESERVE: c_int = 23;

    /// The size of mimalloc's smallest arena in KiB.
    const LEAST: c_long = 32 << 10;

    extern "C" fn before_main() {
        if crate::limits::counts_reserved_memory() {
            // SAFETY: the call sets a number in a table, which mimalloc first reads at the first allocation.
            unsafe { mi_option_set(ARENA_RESERVE, LEAST) };
        }
    }

    // SAFETY: the system calls the functions in this section before `main`, and `before_main` needs nothing that is set
    // up later.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = before_main;
}

/// mimalloc. An alignment is passed only if mimalloc wouldn't align the memory anyway, because that takes half of the
/// time of an allocation.
#[derive(Debug)]
struct Blocks;

/// Returns the same memory, and records a failed allocation.
fn seen(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        crate::limits::allocation_failed();
    }
    memory
}

fn is_packed(size: usize) -> bool {
    PACKED.contains(&size)
}

fn is_aligned(size: usize, align: usize) -> bool {
    align <= ALIGNED && align <= size
}

// SAFETY: every call is forwarded to mimalloc, which fulfills the contract of allocators.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: mimalloc accepts any size and alignment.
        seen(unsafe { if is_aligned(size, align) { mi_malloc(size) } else { mi_malloc_aligned(size, align) }.cast() })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: mimalloc accepts any size and alignment.
        seen(unsafe { if is_aligned(size, align) { mi_zalloc(size) } else { mi_zalloc_aligned(size, align) }.cast() })
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: by the contract of `dealloc`, this allocator has allocated `memory`, so it is mimalloc's.
        unsafe { mi_free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (memory, align) = (memory.cast(), layout.align());
        // SAFETY: by the contract of `realloc`, this allocator has allocated `memory`, so it is mimalloc's.
        seen(unsafe {
            if is_aligned(size, align) { mi_realloc(memory, size) } else { mi_realloc_aligned(memory, size, align) }
                .cast()
        })
    }
}

// SAFETY: both allocators fulfill the contract. The size decides which of them has some memory, and callers pass the
// size of the allocation when they free it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract of `alloc` is the same for both allocators.
        unsafe { if is_packed(layout.size()) { PACKING.alloc(layout) } else { Blocks.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract of `alloc_zeroed` is the same for both allocators.
        unsafe { if is_packed(layout.size()) { PACKING.alloc_zeroed(layout) } else { Blocks.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by the contract of `dealloc`, `memory` was allocated with `layout`, so its size selects the allocator
        // that has it.
        unsafe {
            if is_packed(layout.size()) { PACKING.dealloc(memory, layout) } else { Blocks.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the contract of `realloc`, `memory` was allocated with `layout`, so its size selects the allocator
        // that has it. The copy is within both sizes.
        unsafe {
            match (is_packed(layout.size()), is_packed(size)) {
                (true, true) => PACKING.realloc(memory, layout, size),
                (false, false) => Blocks.realloc(memory, layout, size),
                _ => {
                    let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !moved.is_null() {
                        memory.copy_to_nonoverlapping(moved, layout.size().min(size));
                        self.dealloc(memory, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_keeps_what_is_written() {
        let sizes = [1, 8, 15, 16, 24, 8 << 10, (8 << 10) + 1, 512 << 10, (512 << 10) + 1];
        for align in [1, 8, 16, 32, 64, 4096] {
            let layout = |size| Layout::from_size_align(size, align).expect("a power of two");
            for (size, next) in sizes.iter().flat_map(|&a| sizes.iter().map(move |&b| (a, b))) {
                // SAFETY: bytes are read after they were written or zeroed, and memory is freed with the layout of its
                // allocation.
                unsafe {
                    let memory = Allocator.alloc(layout(size));
                    assert!(!memory.is_null() && (memory as usize).is_multiple_of(align), "{size} {align}");
                    (0..size).for_each(|i| memory.add(i).write(i as u8));
                    let memory = Allocator.realloc(memory, layout(size), next);
                    assert!(!memory.is_null() && (memory as usize).is_multiple_of(align), "{size} {align} {next}");
                    assert!((0..size.min(next)).all(|i| memory.add(i).read() == i as u8), "{size} {align} {next}");
                    Allocator.dealloc(memory, layout(next));
                    let zeroed = Allocator.alloc_zeroed(layout(next));
                    assert!((0..next).all(|i| zeroed.add(i).read() == 0), "{next} {align}");
                    Allocator.dealloc(zeroed, layout(next));
                }
            }
        }
    }
}
