//! A device's memory: one mapping of zeros, in huge pages where the system has them, because touching small pages for
//! the first time costs as much as computing on them.

#![allow(unsafe_code, reason = "an arena is one allocation that kernels reach by address")]

use std::ops::Range;
use std::ptr::NonNull;

use dialect::buffers::ALIGNMENT;
use dialect::literal::Literal;
use memmap2::MmapMut;

#[cfg(target_os = "linux")]
/// The size in bytes from which an arena uses huge pages.
const HUGE: usize = 4 << 20;

/// The number of bytes of a splat that are written at once.
const PART: usize = 64 << 10;

/// The size of a huge page in bytes.
pub(in crate::execute) const PAGE: usize = 2 << 20;

/// The number of bytes that always contain at least one whole huge page.
const MANY: usize = 2 * PAGE;

/// Returns the part of a range of zeroed bytes whose pages are released to the system.
pub(in crate::execute) fn given_back(bytes: Range<usize>) -> Option<Range<usize>> {
    let whole = bytes.start.next_multiple_of(PAGE)..bytes.end / PAGE * PAGE;
    (cfg!(target_os = "linux") && bytes.len() >= MANY).then_some(whole)
}

/// One mapping. Its bytes are accessed only through pointers.
pub(super) struct Arena {
    start: NonNull<u8>,
    size: usize,
    _mapping: MmapMut,
}

// SAFETY: an arena owns its mapping, which has no thread affinity. The executor's steps order the accesses of its
// threads.
unsafe impl Send for Arena {}
// SAFETY: shared references allow accesses only by `unsafe` code or copies, which the executor's steps order.
unsafe impl Sync for Arena {}

impl Arena {
    /// Creates an arena of `bytes` zeros; `None` if there isn't enough memory.
    pub(in crate::execute) fn new(bytes: usize) -> Option<Self> {
        let size = bytes.max(ALIGNMENT);
        // Pages have a larger alignment than any buffer needs.
        let mut mapping = MmapMut::map_anon(size).ok()?;
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // A system without huge pages uses small ones, so the error is ignored.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        Some(Self { start: NonNull::new(mapping.as_mut_ptr())?, size, _mapping: mapping })
    }

    /// Returns the address of byte `offset`.
    pub(in crate::execute) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.size, "offset {offset} in an arena of {}", self.size);
        // SAFETY: the assertion shows that `offset` is inside the allocation or one past its end.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// Returns a copy of `bytes` bytes from `offset` on.
    pub(in crate::execute) fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        assert!(offset + bytes <= self.size, "bytes past the end of an arena");
        let mut out = vec![0; bytes];
        // SAFETY: the assertion shows that the source is inside; `out` has `bytes` bytes. No kernel writes this memory
        // while the executor's thread reads it.
        unsafe { std::ptr::copy_nonoverlapping(self.at(offset), out.as_mut_ptr(), bytes) };
        out
    }

    /// Returns the bytes from `offset` on.
    pub(in crate::execute) fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        assert!(offset + N <= self.size, "bytes past the end of an arena");
        // SAFETY: the assertion shows that the bytes are inside. No kernel writes them while the executor's thread
        // reads them.
        unsafe { self.at(offset).cast::<[u8; N]>().read_unaligned() }
    }

    /// Writes `bytes` from `offset` on.
    pub(in crate::execute) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.size, "bytes past the end of an arena");
        // SAFETY: the assertion shows that the target is inside. No kernel accesses it while the executor's thread
        // writes it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset), bytes.len()) };
    }

    /// Writes the elements of `literal` from `offset` on. A splat is written part by part, without expanding it first.
    pub(super) fn write_literal(&self, offset: usize, literal: &Literal) {
        let (stored, bytes) = (literal.stored_bytes(), literal.len() * literal.element.bytes());
        if !literal.is_splat() {
            return self.write(offset, stored);
        }
        let part = stored.repeat(literal.len().min(PART / stored.len()));
        for start in (0..bytes).step_by(part.len().max(1)) {
            self.write(offset + start, &part[..part.len().min(bytes - start)]);
        }
    }

    /// Sets `bytes` bytes from `offset` on to zero. Large ranges then take no memory until they are written: in a
    /// program over several meshes, devices have zeros for all values of other meshes.
    pub(in crate::execute) fn zero(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.size, "bytes past the end of an arena");
        let (mut from, end) = (offset, offset + bytes);
        #[cfg(target_os = "linux")]
        if let Some(Range { start: first, end: last }) = given_back(offset..end) {
            // SAFETY: `first..last` are whole pages inside of a private anonymous mapping. They are read as zeros from
            // now on, as they were at first. No kernel accesses them while the executor's thread does this.
            let given = unsafe {
                self._mapping.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, first, last - first)
            };
            if given.is_ok() {
                self.fill(from, first);
                from = last;
            }
        }
        self.fill(from, end);
    }

    fn fill(&self, from: usize, to: usize) {
        // SAFETY: `zero` has checked that both ends are inside. No kernel accesses the bytes while the executor's
        // thread writes them.
        unsafe { std::ptr::write_bytes(self.at(from), 0, to - from) };
    }

    /// Copies `bytes` bytes from `start` on of an arena, which may be this one, to offset `offset`. The ranges may
    /// overlap.
    pub(super) fn copy(&self, offset: usize, from: &Arena, start: usize, bytes: usize) {
        assert!(offset + bytes <= self.size && start + bytes <= from.size, "bytes past the end of an arena");
        // SAFETY: the assertion shows that both ranges are inside, and `copy` allows them to overlap.
        unsafe { std::ptr::copy(from.at(start), self.at(offset), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn zeros_take_no_memory() {
        let (size, before, behind) = (64 << 20, 12_345, 4_321);
        let arena = Arena::new(size).expect("there is memory");
        let resident = || {
            let (page, mut pages) = (4096, std::fs::File::open("/proc/self/pagemap").expect("Linux has it"));
            pages.seek(std::io::SeekFrom::Start((arena.at(0).addr() / page * 8) as u64)).expect("an address of ours");
            let mut entries = vec![0; size / page * 8];
            pages.read_exact(&mut entries).expect("an entry for each page");
            // The highest bit of an entry says whether the page is resident.
            entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0).count() * page
        };
        arena.write(0, &vec![7; size]);
        assert_eq!(resident(), size);
        arena.zero(before, size - before - behind);
        let zeros = arena.read(before, size - before - behind);
        assert!(zeros.iter().all(|&byte| byte == 0));
        assert!(arena.read(0, before).iter().chain(&arena.read(size - behind, behind)).all(|&byte| byte == 7));
        arena.zero(before, size - before - behind);
        arena.zero(5, 7);
        assert_eq!(arena.read(4, 9), [7, 0, 0, 0, 0, 0, 0, 0, 7]);
        // Reading has mapped pages of zeros, which were released.
        assert!(resident() <= 2 * PAGE, "{} of {size}", resident());
    }
}
