//! The state in which the process was started.

#![allow(unsafe_code, reason = "asks the system about a stream before anything else can open it")]

/// Returns whether this process was started with its standard output closed. Rust opens `/dev/null` in its place before
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
        // SAFETY: the call reads the flags of a descriptor, and fails if that is closed.
        CLOSED.store(unsafe { fcntl(1, GET_FLAGS) } < 0, Ordering::Relaxed);
    }

    // SAFETY: the system calls the functions in this section before `main`, and `look` needs nothing that is set up
    // later.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}
