//! Functions of Unix that the standard library lacks: signals, extended attributes, reserving space on a device.

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

/// The maximum number of drafts that a signal removes.
const MOST: usize = 128;

/// The paths of drafts. A thread owns a path after it has taken it out, so the handler never reads a path that another
/// thread frees.
static DRAFTS: [AtomicPtr<c_char>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Whether a signal is ending the process.
static ENDING: AtomicBool = AtomicBool::new(false);

/// A draft's path in the table, until this value is dropped.
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
            // SAFETY: `path` was created above by `into_raw`, and is in no slot.
            drop(unsafe { CString::from_raw(path) });
        }
        Ok(Self(slot))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let path = self.0.map_or(null_mut(), |slot| DRAFTS[slot].swap(null_mut(), Ordering::SeqCst));
        if !path.is_null() {
            // SAFETY: `new` has created the path by `into_raw`, and `swap` has taken it out of its slot, so no other
            // thread has it.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

/// Signals that end a process by default: from a terminal, from batch systems, and from `abort`.
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

/// The message if the process is aborted because memory ran out.
const NO_MEMORY: &str = "error[device-memory]: out of memory: raise the memory limit of the process (ulimit -v, ulimit \
    -d, or of its cgroup), or use a smaller program\n";

/// Removes all drafts; then the signal has its default effect.
extern "C" fn on_signal(signal: c_int) {
    remove_drafts();
    if signal == libc::SIGABRT && crate::limits::has_allocation_failed() {
        // SAFETY: handlers may call both functions, and the length is that of the text.
        unsafe {
            libc::write(2, NO_MEMORY.as_ptr().cast(), NO_MEMORY.len());
            libc::_exit(1);
        }
    }
    // SAFETY: handlers may call `raise`. The handler was reset when it was called (`SA_RESETHAND`), so the signal,
    // which is blocked until the handler returns, has its default effect.
    unsafe { libc::raise(signal) };
}

/// Removes all drafts and prevents new ones, because the process ends. Signal handlers may call it.
pub(super) fn remove_drafts() {
    ENDING.store(true, Ordering::SeqCst);
    let mut paths = [null_mut(); MOST];
    for (path, slot) in paths.iter_mut().zip(&DRAFTS) {
        *path = slot.swap(null_mut(), Ordering::SeqCst);
    }
    // Removes twice, because another thread may be creating a draft that it has just registered.
    for wait in [0, 2_000_000] {
        let time = libc::timespec { tv_sec: 0, tv_nsec: wait };
        // SAFETY: handlers may call these functions. The paths are strings that `swap` has taken out of the table, so
        // no thread frees them.
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

/// Installs the handler for every signal that still has its default effect. `nohup`, for example, has a signal ignored.
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
    // SAFETY: all zeros is a valid value of this plain structure. `on_signal` only does what a handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const action, null_mut());
    }
}

/// Returns another descriptor of this process's standard output or error, if that is the file. Then the content is
/// written after the rest of the output, and a file to which the output was redirected isn't replaced.
pub(super) fn standard_stream(about: &Metadata) -> Option<io::Result<File>> {
    let (out, err) = (io::stdout(), io::stderr());
    [out.as_fd(), err.as_fd()].into_iter().find_map(|stream: BorrowedFd<'_>| {
        let own = stream.try_clone_to_owned().map(File::from);
        let same = own.as_ref().ok()?.metadata().is_ok_and(|o| (o.dev(), o.ino()) == (about.dev(), about.ino()));
        same.then_some(own)
    })
}

/// Reserves space for `bytes` bytes in a file, without changing it.
pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Ok(length) = libc::off_t::try_from(bytes)
        && length > 0
    {
        // SAFETY: the call takes only a descriptor and numbers.
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

/// Returns whether two files have the same extended attributes, including access control lists.
pub(super) fn same_attributes(a: &File, b: &File) -> bool {
    #[cfg(target_os = "linux")]
    return attributes(a).is_some_and(|a| attributes(b) == Some(a));
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (a, b);
        true
    };
}

/// Returns the extended attributes of a file, sorted by name; `None` if they can't be read.
#[cfg(target_os = "linux")]
fn attributes(file: &File) -> Option<Vec<(CString, Vec<u8>)>> {
    let fd = file.as_raw_fd();
    // SAFETY: `to.len()` is the length of the buffer.
    let names = sized(|to| unsafe { libc::flistxattr(fd, to.as_mut_ptr().cast(), to.len()) })?;
    let mut all = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let name = CString::new(name).ok()?;
        // SAFETY: `to.len()` is the length of the buffer, and the name ends with a zero.
        let value = sized(|to| unsafe { libc::fgetxattr(fd, name.as_ptr(), to.as_mut_ptr().cast(), to.len()) })?;
        all.push((name, value));
    }
    all.sort();
    Some(all)
}

/// Returns the output of a system call that returns the needed length if the buffer is empty.
#[cfg(target_os = "linux")]
fn sized(call: impl Fn(&mut [u8]) -> isize) -> Option<Vec<u8>> {
    let length = match usize::try_from(call(&mut [])) {
        Ok(length) => length,
        // The file system has no attributes.
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

/// Returns the user for whom this process acts.
#[cfg(feature = "jit")]
pub(super) fn user() -> u32 {
    // SAFETY: `geteuid` has no preconditions and can't fail.
    unsafe { libc::geteuid() }
}
