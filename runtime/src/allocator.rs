//! An allocator for compilers, such as the program `shardc`.
//!
//! Programs are many small vectors and lists, made on one thread and dropped on it, for which mimalloc is fast. Vectors and
//! tables that grow through some hundred KiB get 512 KiB or four MiB from it for each of their sizes, though, and the kernel
//! clears two MiB of these at the first byte; the system's allocator gives them back to the kernel, which clears them again:
//! either takes a fifth of a short compilation. So these are packed tightly, by talc, into blocks of mimalloc's.

#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout};
use std::ops::RangeInclusive;

use mimalloc::MiMalloc;
use parking_lot::RawMutex;
use talc::TalcLock;
use talc::source::GlobalAllocSource;

/// Sizes in bytes that are packed: mimalloc packs smaller ones and gives larger ones just what they need.
const PACKED: RangeInclusive<usize> = (8 << 10) + 1..=512 << 10;

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

static PACKING: TalcLock<RawMutex, GlobalAllocSource<Blocks>> =
    TalcLock::new(GlobalAllocSource::with_block_size(Blocks, BLOCK));

/// mimalloc for most sizes.
pub struct Allocator;

/// Where talc has its memory from.
#[derive(Debug)]
struct Blocks;

fn is_packed(size: usize) -> bool {
    PACKED.contains(&size)
}

// SAFETY: mimalloc keeps the contract.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }
}

// SAFETY: both allocators keep the contract, and which of them has some memory follows from its size, which callers give back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_packed(layout.size()) { PACKING.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_packed(layout.size()) { PACKING.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
        unsafe {
            if is_packed(layout.size()) { PACKING.dealloc(memory, layout) } else { MiMalloc.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
        unsafe {
            match (is_packed(layout.size()), is_packed(size)) {
                (true, true) => PACKING.realloc(memory, layout, size),
                (false, false) => MiMalloc.realloc(memory, layout, size),
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
