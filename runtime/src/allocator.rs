//! An allocator for compilers, such as the program `shardc`.
//!
//! Programs are many small vectors and lists, made on one thread and dropped on it, for which mimalloc is fast. It gives vectors and
//! tables that grow through some hundred KiB four MiB for each of their sizes, though, and the kernel clears two MiB of these at
//! the first byte: a fifth of the time of a short compilation. So those are the system's.

#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::RangeInclusive;

use mimalloc::MiMalloc;

/// Sizes in bytes of which mimalloc has several in four MiB.
const OF_THE_SYSTEM: RangeInclusive<usize> = (64 << 10) + 1..=512 << 10;

/// mimalloc for most sizes.
pub struct Allocator;

fn is_of_the_system(size: usize) -> bool {
    OF_THE_SYSTEM.contains(&size)
}

// SAFETY: both allocators keep the contract, and which of them has some memory follows from its size, which callers give back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_of_the_system(layout.size()) { System.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_of_the_system(layout.size()) { System.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
        unsafe {
            if is_of_the_system(layout.size()) {
                System.dealloc(memory, layout)
            } else {
                MiMalloc.dealloc(memory, layout)
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
        unsafe {
            match (is_of_the_system(layout.size()), is_of_the_system(size)) {
                (true, true) => System.realloc(memory, layout, size),
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
