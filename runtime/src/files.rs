//! Files and streams of this process: writing that leaves either the old or the new file, and what the machine has left.

#![allow(unsafe_code, reason = "asks the system about a stream before anything else can open it")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Writes a file as a whole: to a new file in the same folder, which takes the old one's place once everything is
/// written. If that fails, the old one stays as it was. What is no regular file (a pipe, a terminal) is written directly.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    // Resolves links, so that they stay links.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|about| !about.is_file()) {
        return write(&mut OpenOptions::new().write(true).open(&path)?);
    }
    let (mut file, draft) = create_beside(&path)?;
    let written = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| {
        old.map_or(Ok(()), |old| file.set_permissions(old.permissions()))?;
        fs::rename(&draft, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// A new file beside `path`, which no other process writes.
pub(crate) fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut number = 0;
    loop {
        let draft = path.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Ok(file) => return Ok((file, draft)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(e) => return Err(e),
        }
    }
}

/// The bytes of memory that can still be used; `None` where the system doesn't say.
pub fn available_memory() -> Option<u64> {
    let about = fs::read_to_string("/proc/meminfo").ok()?;
    let free = about.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free: u64 = free.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some(group.map_or(free * 1024, |group| group.min(free * 1024)))
}

/// Whether this process was started with its standard output closed. Rust opens `/dev/null` in place of it before
/// `main`, so that writing seems to succeed.
pub fn output_was_closed() -> bool {
    #[cfg(target_os = "linux")]
    return at_start::CLOSED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(target_os = "linux"))]
    return false;
}

#[cfg(target_os = "linux")]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) static CLOSED: AtomicBool = AtomicBool::new(false);

    unsafe extern "C" {
        fn fcntl(fd: i32, command: i32, ...) -> i32;
    }

    /// `F_GETFD`
    const GET_FLAGS: i32 = 1;

    extern "C" fn look() {
        // SAFETY: asks for the flags of a descriptor, which may be closed.
        CLOSED.store(unsafe { fcntl(1, GET_FLAGS) } < 0, Ordering::Relaxed);
    }

    // SAFETY: the system calls the functions in this section before `main`, and `look` needs nothing that is set up
    // later.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("shardc_files_{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        replace(&path, |file| file.write_all(b"old")).unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::Error::other("full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // Two writers at once: the last to finish wins, and nothing is mixed.
        replace(&path, |file| {
            replace(&path, |other| other.write_all(b"other")).unwrap();
            file.write_all(b"new")
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn memory_is_known_on_linux() {
        assert!(!cfg!(target_os = "linux") || available_memory().is_some_and(|bytes| bytes > 1 << 20));
        assert!(!output_was_closed());
    }
}
