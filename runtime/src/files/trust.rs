//! Checks files whose contents are run: no other user than this process's may have been able to write them.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

#[cfg(unix)]
use super::system;

/// Creates a folder that only this user may access, and its missing parents.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Returns whether a folder exists. The error is a message that others may write to it.
pub(crate) fn check_folder(folder: &Path) -> Result<bool, String> {
    let about = match fs::symlink_metadata(folder) {
        Ok(about) => about,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(format!("{} can't be read: {e}", folder.display())),
    };
    if about.is_symlink() {
        return Err(format!("{} is a symbolic link: name the folder itself", folder.display()));
    }
    if !about.is_dir() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    check_owner(folder, &about).map(|()| true)
}

/// Opens a file that only this user can have written. Returns `None` if it doesn't exist. The error is a message that
/// others may have written it.
pub(crate) fn open(path: &Path) -> Result<Option<File>, String> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    // Doesn't follow links, and doesn't block on a pipe.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let failed = |e: io::Error| format!("{} can't be read: {e}", path.display());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e)),
    };
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(format!("{} is not a regular file", path.display()));
    }
    check_owner(path, &about).map(|()| Some(file))
}

fn check_owner(path: &Path, about: &Metadata) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, user, mode) = (about.uid(), system::user(), about.mode());
        if owner != user {
            return Err(format!("{} belongs to user {owner}, not to the current user ({user})", path.display()));
        }
        if mode & 0o022 != 0 {
            let mode = mode & 0o7777;
            return Err(format!("other users may write to {} (mode {mode:o}): use chmod go-w", path.display()));
        }
    }
    let _ = (path, about);
    Ok(())
}
