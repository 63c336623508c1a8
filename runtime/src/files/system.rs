//! What files need of Unix beyond the standard library: signals, extended attributes, room on a device.

#![allow(unsafe_code, reason = "calls the system")]

use std::ffi::{CString, c_char, c_int};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The most drafts that a signal removes.
const MOST: usize = 128;

/// The paths of drafts. Who takes one out owns it, so that the handler never reads what another thread frees.
static DRAFTS: [AtomicPtr<c_char>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Whether a signal is ending the process.
static ENDING: AtomicBool = AtomicBool::new(false);

/// A draft's path in the table, until this is dropped.
pub(super) struct Registered(Option<usize>);

impl Registered {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        if ENDING.load(Ordering::SeqCst) {
            return Err(ErrorKind::Interrupted.into());
        }
        let path = CString::new(path.as_os_str().as_bytes())?.into_raw();
        let free = |slot: &AtomicPtr<c_char>| {
            slot.compare_exchange(null_mut(), path, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let slot = DRAFTS.iter().position(free);
        if slot.is_none() {
            // SAFETY: made above, and in no slot.
            drop(unsafe { CString::from_raw(path) });
        }
        Ok(Self(slot))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let path = self.0.map_or(null_mut(), |slot| DRAFTS[slot].swap(null_mut(), Ordering::SeqCst));
        if !path.is_null() {
            // SAFETY: `new` made it of a string, and nobody else has taken it out of its slot.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

/// Signals that end a process unless it handles them: of a terminal, of batch systems, and of `abort`.
const SIGNALS: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGABRT,
];

/// What is said where the process is aborted for want of memory.
const NO_MEMORY: &str = "error[device-memory]: there isn't enough memory for this: raise the limit that the process runs under \
                         (ulimit -v, ulimit -d, its cgroup's), or use a smaller program\n";

/// Removes all drafts; then the signal does what it would have done.
extern "C" fn on_signal(signal: c_int) {
    remove_drafts();
    if signal == libc::SIGABRT && crate::limits::has_allocation_failed() {
        // SAFETY: both may be called by handlers, and the text is as long as said.
        unsafe {
            libc::write(2, NO_MEMORY.as_ptr().cast(), NO_MEMORY.len());
            libc::_exit(1);
        }
    }
    // SAFETY: the handler was reset when it was called, so the signal, which is blocked until it returns, has its
    // default effect.
    unsafe { libc::raise(signal) };
}

/// Removes all drafts, and lets nobody make any more: the process ends. A handler of signals may call it.
pub(super) fn remove_drafts() {
    ENDING.store(true, Ordering::SeqCst);
    let mut paths = [null_mut(); MOST];
    for (path, slot) in paths.iter_mut().zip(&DRAFTS) {
        *path = slot.swap(null_mut(), Ordering::SeqCst);
    }
    // Twice, since another thread may be creating one that it has registered.
    for wait in [0, 2_000_000] {
        let time = libc::timespec { tv_sec: 0, tv_nsec: wait };
        // SAFETY: these functions may be called by handlers; paths are strings that nobody frees any more.
        unsafe {
            if wait > 0 && paths.iter().any(|path| !path.is_null()) {
                libc::nanosleep(&raw const time, null_mut());
            }
            for path in paths.iter().filter(|path| !path.is_null()) {
                libc::unlink(*path);
            }
        }
    }
}

/// Installs the handler for every signal that nobody handles or ignores, as `nohup` ignores one.
pub(super) fn handle_signals() {
    for signal in SIGNALS {
        if is_default(signal) {
            set(signal, on_signal as extern "C" fn(c_int) as libc::sighandler_t);
        }
    }
    if is_default(libc::SIGXFSZ) {
        set(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

fn is_default(signal: c_int) -> bool {
    // SAFETY: all zeros is a valid value of this plain structure, and the call only reads the disposition.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_DFL
    }
}

fn set(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: as above; `on_signal` does nothing that a handler must not do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const action, null_mut());
    }
}

/// Another descriptor of this process's standard output or error, if that is the file. What is written goes where the
/// rest of the output went, and a file that the output was directed to isn't replaced under it.
pub(super) fn standard_stream(about: &Metadata) -> Option<io::Result<File>> {
    let (out, err) = (io::stdout(), io::stderr());
    [out.as_fd(), err.as_fd()].into_iter().find_map(|stream: BorrowedFd<'_>| {
        let own = stream.try_clone_to_owned().map(File::from);
        let same = own.as_ref().ok()?.metadata().is_ok_and(|o| (o.dev(), o.ino()) == (about.dev(), about.ino()));
        same.then_some(own)
    })
}

/// Sets room aside for so many bytes in a file, without changing it.
pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Ok(length) = libc::off_t::try_from(bytes)
        && length > 0
    {
        // SAFETY: takes a descriptor and numbers.
        let failed = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, length) } != 0;
        let error = io::Error::last_os_error();
        let full = [libc::ENOSPC, libc::EDQUOT, libc::EFBIG];
        if failed && error.raw_os_error().is_some_and(|code| full.contains(&code)) {
            return Err(error);
        }
    }
    let _ = (file, bytes);
    Ok(())
}

/// Whether two files have the same extended attributes, of which access control lists are some.
pub(super) fn same_attributes(a: &File, b: &File) -> bool {
    #[cfg(target_os = "linux")]
    return attributes(a).is_some_and(|a| attributes(b) == Some(a));
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (a, b);
        true
    };
}

/// The extended attributes of a file, sorted by name; `None` if they can't be read.
#[cfg(target_os = "linux")]
fn attributes(file: &File) -> Option<Vec<(CString, Vec<u8>)>> {
    let fd = file.as_raw_fd();
    // SAFETY: the buffers are as long as said.
    let names = sized(|to| unsafe { libc::flistxattr(fd, to.as_mut_ptr().cast(), to.len()) })?;
    let mut all = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let name = CString::new(name).ok()?;
        // SAFETY: as above, and the name ends with a zero.
        let value = sized(|to| unsafe { libc::fgetxattr(fd, name.as_ptr(), to.as_mut_ptr().cast(), to.len()) })?;
        all.push((name, value));
    }
    all.sort();
    Some(all)
}

/// What a call writes that says how long that is if the buffer is empty.
#[cfg(target_os = "linux")]
fn sized(call: impl Fn(&mut [u8]) -> isize) -> Option<Vec<u8>> {
    let length = match usize::try_from(call(&mut [])) {
        Ok(length) => length,
        // A file system without attributes.
        Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSUP) => 0,
        Err(_) => return None,
    };
    let mut bytes = vec![0; length];
    if length > 0 {
        let found = usize::try_from(call(&mut bytes)).ok()?;
        bytes.truncate(found);
    }
    Some(bytes)
}

/// The user that this process acts for.
#[cfg(feature = "jit")]
pub(super) fn user() -> u32 {
    // SAFETY: it can't fail.
    unsafe { libc::geteuid() }
}
