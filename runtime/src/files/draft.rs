//! Files that are being written.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::system::Registered;

/// The permissions of a draft that only this user may read.
pub(super) const PRIVATE: u32 = 0o600;

/// The permissions of a new file, before the process's umask removes some.
pub(super) const SHARED: u32 = 0o666;

/// A new file that is removed when it is dropped, or by signals, unless it was renamed to a finished file.
pub(crate) struct Draft {
    pub(super) file: File,
    path: PathBuf,
    renamed: bool,
    #[cfg(unix)]
    _registered: Registered,
}

impl Draft {
    /// Creates a draft in `folder`. Its name is short, independent of the finished file's name, and random, so that no
    /// other process uses it, on any machine that shares the folder.
    pub(crate) fn create(folder: &Path, mode: u32) -> io::Result<Self> {
        let random = RandomState::new().hash_one(std::process::id());
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let path = std::path::absolute(folder)?.join(format!(".shardc-{random:016x}.tmp"));
        // Registered before the file exists, so that a signal in between doesn't leave it behind.
        #[cfg(unix)]
        let registered = Registered::new(&path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        let file = options.open(&path)?;
        Ok(Self {
            file,
            path,
            renamed: false,
            #[cfg(unix)]
            _registered: registered,
        })
    }

    /// Returns the file, to be written.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Renames the draft to the finished file. On errors it stays a draft.
    pub(crate) fn rename(&mut self, to: &Path) -> io::Result<()> {
        if !self.renamed {
            fs::rename(&self.path, to)?;
            self.renamed = true;
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}
