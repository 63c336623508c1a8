//! An allocator for compilers, such as the program `shardc`.
//!
//! Programs are many small vectors and lists, made on one thread and dropped on it, for which mimalloc is fast. Vectors and
//! tables that grow through some hundred KiB get 512 KiB or four MiB from it for each of their sizes, though, and the kernel
//! clears two MiB of these at the first byte; the system's allocator gives them back to the kernel, which clears them again:
//! either takes a fifth of a short compilation. So these are packed tightly, by talc, into blocks of mimalloc's.

#![allow(unsafe_code, reason = "an allocator hands out memory by address")]

use std::alloc::{GlobalAlloc, Layout};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::thread;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use parking_lot::RawMutex;
use talc::TalcLock;
use talc::source::GlobalAllocSource;

/// Sizes in bytes that are packed: mimalloc packs smaller ones and gives larger ones just what they need.
const PACKED: RangeInclusive<usize> = (8 << 10) + 1..=512 << 10;

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

static PACKING: TalcLock<RawMutex, GlobalAllocSource<Blocks>> =
    TalcLock::new(GlobalAllocSource::with_block_size(Blocks, BLOCK));

/// Memory of this size and more is aligned to that many bytes by mimalloc, smaller memory to its size at least.
const ALIGNED: usize = 16;

/// mimalloc for most sizes.
pub struct Allocator;

impl Allocator {
    /// Has the kernel clear the first memory and map the code that will be needed, on a thread of its own, so that the others
    /// needn't wait for that: a tenth of a short compilation. Nothing else changes, and nothing depends on it.
    pub fn make_ready(&self) {
        if thread::available_parallelism().is_ok_and(|cores| cores > NonZero::<usize>::MIN) {
            // Without such a thread the others wait, that is all.
            let _ = thread::Builder::new().spawn(ready::make_all);
        }
    }
}

#[cfg(target_os = "linux")]
mod ready {
    use super::{Blocks, GlobalAlloc, Layout};

    /// Bytes of memory that are cleared before anybody asks for them, and those of one step: a huge page.
    const READY: usize = 16 << 20;
    const STEP: usize = 2 << 20;

    /// Bytes of code on either side of this module's that are mapped in advance, and those of one step: all of shardc's, not all of LLVM's.
    const CODE: usize = 12 << 20;
    const PIECE: usize = 256 << 10;

    pub(super) fn make_all() {
        clear_memory(STEP);
        map_code();
        clear_memory(READY);
    }

    /// mimalloc hands out one large range from its lowest address on; where nothing is mapped behind what it hands out now,
    /// the kernel says so.
    fn clear_memory(bytes: usize) {
        let layout = Layout::new::<[u64; 8]>();
        // SAFETY: the size isn't zero, and what is allocated is freed with its layout.
        let lowest = unsafe {
            let memory = Blocks.alloc(layout);
            Blocks.dealloc(memory, layout);
            memory as usize
        };
        let first = lowest.next_multiple_of(STEP);
        let _ = (first..first + bytes).step_by(STEP).all(|start| populate(start, STEP, libc::MADV_POPULATE_WRITE));
    }

    /// What lies beside the code, or nothing at all, does no harm: the kernel says that it isn't there.
    fn map_code() {
        let here = make_all as fn() as usize / PIECE * PIECE;
        for start in (here.saturating_sub(CODE)..here + CODE).step_by(PIECE) {
            populate(start, PIECE, libc::MADV_POPULATE_READ);
        }
    }

    /// Whether the kernel did it.
    fn populate(start: usize, bytes: usize, how: libc::c_int) -> bool {
        // SAFETY: no byte changes that anybody has written; the kernel makes room for those that nobody has.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes, how) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod ready {
    pub(super) fn make_all() {}
}

/// mimalloc reserves a GiB at first, which counts as used where a limit of the process counts what is reserved: there it reserves
/// as little as it can.
#[cfg(target_os = "linux")]
mod reserve {
    use std::ffi::{c_int, c_long};

    unsafe extern "C" {
        fn mi_option_set(option: c_int, value: c_long);
    }

    /// `mi_option_arena_reserve` of mimalloc 2 and 3
    const ARENA_RESERVE: c_int = 23;

    /// KiB of mimalloc's smallest arena.
    const LEAST: c_long = 32 << 10;

    extern "C" fn before_main() {
        if crate::limits::counts_reserved_memory() {
            // SAFETY: sets a number in a table, which nobody reads before the first allocation.
            unsafe { mi_option_set(ARENA_RESERVE, LEAST) };
        }
    }

    // SAFETY: the system calls the functions in this section before `main`, and `before_main` needs nothing that is set up
    // later.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = before_main;
}

/// mimalloc, which is asked for alignment only where it doesn't align by itself: half of the time of an allocation.
#[derive(Debug)]
struct Blocks;

/// The same memory; that there is none is remembered.
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

// SAFETY: mimalloc keeps the contract.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and alignment may be asked for.
        seen(unsafe { if is_aligned(size, align) { mi_malloc(size) } else { mi_malloc_aligned(size, align) }.cast() })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and alignment may be asked for.
        seen(unsafe { if is_aligned(size, align) { mi_zalloc(size) } else { mi_zalloc_aligned(size, align) }.cast() })
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller's promise.
        unsafe { mi_free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (memory, align) = (memory.cast(), layout.align());
        // SAFETY: the caller's promise.
        seen(unsafe {
            if is_aligned(size, align) { mi_realloc(memory, size) } else { mi_realloc_aligned(memory, size, align) }
                .cast()
        })
    }
}

// SAFETY: both allocators keep the contract, and which of them has some memory follows from its size, which callers give back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_packed(layout.size()) { PACKING.alloc(layout) } else { Blocks.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_packed(layout.size()) { PACKING.alloc_zeroed(layout) } else { Blocks.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
        unsafe {
            if is_packed(layout.size()) { PACKING.dealloc(memory, layout) } else { Blocks.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; memory of this size is this allocator's.
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
                // SAFETY: what is read was written, and what is freed was allocated with this layout.
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

    #[test]
    fn what_is_made_ready_stays_as_it_is() {
        // Of mimalloc's, so that it lies where memory is cleared that nobody has written.
        let (size, layout) = (4 << 20, Layout::from_size_align(4 << 20, 8).expect("a power of two"));
        // SAFETY: what is read was written, and what is freed was allocated with this layout.
        unsafe {
            let written = Allocator.alloc(layout);
            written.write_bytes(7, size);
            ready::make_all();
            assert!((0..size).all(|i| written.add(i).read() == 7));
            Allocator.dealloc(written, layout);
        }
    }
}
