//! Files that are mapped into memory. They must not be modified meanwhile: readers of the mapping would see the change,
//! or be ended by a signal if the file got shorter.

#![allow(unsafe_code, reason = "maps files into memory")]

use std::fs::{File, Metadata};
use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use memmap2::Mmap;

/// The files that are currently mapped.
static MAPPED: Mutex<Vec<Id>> = Mutex::new(Vec::new());

/// A device and a file on it.
#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = ();

fn id(about: &Metadata) -> Id {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (about.dev(), about.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = about;
    }
}

/// A mapping. [`prepare`](super::prepare) replaces its file and never writes into it.
struct Mapped {
    map: Mmap,
    id: Id,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = mapped.iter().position(|id| *id == self.id) {
            mapped.swap_remove(at);
        }
    }
}

/// Maps a regular file and returns its bytes. Other processes must not modify it meanwhile.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    let id = id(&file.metadata()?);
    // SAFETY: the mapping is private to this process and only read. This process never modifies a mapped file, because
    // `Prepared::finish` checks `is_mapped`. Other processes that do so break the contract of `npz::read_file`.
    let map = unsafe { Mmap::map(file)? };
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    Ok(Bytes::from_owner(Mapped { map, id }))
}

/// Returns whether this process has mapped a file.
pub(super) fn is_mapped(about: &Metadata) -> bool {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner).contains(&id(about))
}
