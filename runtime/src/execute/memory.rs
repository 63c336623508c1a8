//! A device's memory: one mapping of zeros, in huge pages where the system has them, since touching small pages for the
//! first time costs as much as computing on them.

#![allow(unsafe_code, reason = "an arena is one allocation that kernels reach by address")]

use std::ptr::NonNull;

use dialect::buffers::ALIGNMENT;
use memmap2::MmapMut;

#[cfg(target_os = "linux")]
/// The least size of an arena that asks for huge pages.
const HUGE: usize = 4 << 20;

/// One mapping. Its bytes are accessed only through pointers.
pub(super) struct Arena {
    start: NonNull<u8>,
    size: usize,
    _mapping: MmapMut,
}

// SAFETY: an arena is plain bytes; the executor's protocol determines who accesses them when.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// `bytes` zeros; `None` if there isn't enough memory.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let size = bytes.max(ALIGNMENT);
        // Pages are aligned more than any buffer.
        let mut mapping = MmapMut::map_anon(size).ok()?;
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // A system without them gives small ones.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        Some(Self { start: NonNull::new(mapping.as_mut_ptr())?, size, _mapping: mapping })
    }

    /// The address of byte `offset`.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.size, "offset {offset} in an arena of {}", self.size);
        // SAFETY: inside the allocation or one past it, as just checked.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A copy of `bytes` bytes from `offset` on.
    pub(super) fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        assert!(offset + bytes <= self.size, "bytes past the end of an arena");
        let mut out = vec![0; bytes];
        // SAFETY: both ranges are as long as said; no kernel runs while the executor's own thread reads.
        unsafe { std::ptr::copy_nonoverlapping(self.at(offset), out.as_mut_ptr(), bytes) };
        out
    }

    /// The bytes from `offset` on.
    pub(super) fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        assert!(offset + N <= self.size, "bytes past the end of an arena");
        // SAFETY: as in `read`.
        unsafe { self.at(offset).cast::<[u8; N]>().read_unaligned() }
    }

    /// Writes `bytes` from `offset` on.
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.size, "bytes past the end of an arena");
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset), bytes.len()) };
    }

    /// Copies `bytes` bytes from `start` on of an arena, this or another one, to those from `offset` on; they may overlap.
    pub(super) fn copy(&self, offset: usize, from: &Arena, start: usize, bytes: usize) {
        assert!(offset + bytes <= self.size && start + bytes <= from.size, "bytes past the end of an arena");
        // SAFETY: both ranges are inside.
        unsafe { std::ptr::copy(from.at(start), self.at(offset), bytes) };
    }
}
