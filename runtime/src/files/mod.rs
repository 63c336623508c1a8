//! Writes, replaces, caches and maps all files of shardc, so that all of them follow one policy:
//!
//! - An output is written as a shell's `> F` would write it, but as a whole: it is complete or, if anything fails, as
//!   it was before. [`prepare`] has the rules.
//! - An unfinished file is a `Draft`. It is removed on errors and panics. It is also removed on signals that end the
//!   process, if the program requests that ([`remove_drafts_on_signals`]).
//! - A file with machine code is read only if no other user than this process's can have written it (`trust`).
//! - A name that comes from data is used only if it is one plain name ([`is_plain_name`]).

mod draft;
mod mapped;
mod output;
mod start;
#[cfg(unix)]
mod system;
#[cfg(feature = "jit")]
pub(crate) mod trust;

#[cfg(feature = "jit")]
pub(crate) use draft::Draft;
pub(crate) use mapped::map;
pub use output::{Prepared, prepare, replace};
pub use start::output_was_closed;

/// Removes drafts when a signal ends the process, and makes writes beyond the limit of a file's size fail instead of
/// ending it. For programs, not for libraries, because signal handlers belong to the whole process.
pub fn remove_drafts_on_signals() {
    #[cfg(unix)]
    system::handle_signals();
}

/// Removes all drafts and prevents new ones, before a process ends without dropping its values.
pub fn remove_drafts() {
    #[cfg(unix)]
    system::remove_drafts();
}

/// The maximum length in bytes of a name that comes from data.
const MAX_NAME: usize = 200;

/// Returns whether a name that comes from data names an entry of a folder, and can't be a path to another folder on any
/// system.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':');
    !name.is_empty() && name.len() <= MAX_NAME && name != "." && name != ".." && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        assert!(["out0", "out0.replica1", "a b", "..x", "ä"].into_iter().all(is_plain_name));
        let long = "x".repeat(MAX_NAME + 1);
        for name in ["", ".", "..", "/x", "a/b", "../x", "..\\x", "C:x", "a\0b", "a\nb", &long] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
