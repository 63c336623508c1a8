//! The allocator of programs such as `shardc`: mimalloc, which is fast for the many small vectors and lists of a
//! compiler. Records failed allocations, and reserves little memory if a limit of the process counts it.

#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout};

use mimalloc::MiMalloc;

/// The allocator.
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

/// Returns the same memory, and records a failed allocation.
fn seen(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        crate::limits::allocation_failed();
    }
    memory
}

// SAFETY: every call is forwarded to mimalloc, which fulfills the contract of allocators.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract of `alloc` is that of mimalloc's.
        seen(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract of `alloc_zeroed` is that of mimalloc's.
        seen(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the contract of `dealloc` is that of mimalloc's, from which the memory comes.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the contract of `realloc` is that of mimalloc's, from which the memory comes.
        seen(unsafe { MiMalloc.realloc(memory, layout, size) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_keeps_what_is_written() {
        let sizes = [1, 8, 15, 16, 24, 8 << 10, (512 << 10) + 1];
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
