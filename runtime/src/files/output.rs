//! Writes outputs as a shell's `> F` does, but completely or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Seek};
use std::path::{Path, PathBuf};

use super::draft::{Draft, PRIVATE, SHARED};
use super::mapped::is_mapped;
#[cfg(unix)]
use super::system;

/// Writes a file as a whole: [`prepare`] and [`Prepared::finish`].
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    prepare(path, write)?.finish()
}

/// A file that is written but not yet renamed. Dropping it leaves the old file unchanged.
pub struct Prepared {
    draft: Draft,
    place: Place,
}

/// The place of an output.
enum Place {
    /// Nothing exists there.
    New(PathBuf),
    /// A regular file exists there. `path` is its path without links.
    Old { path: PathBuf, file: File },
    /// A link to a missing file. The system creates the link's target, because it also decides who may follow whose
    /// links.
    Dangling(PathBuf),
    /// A regular file that is known only by the number of a descriptor.
    Unnamed(File),
    /// A pipe, a device or a stream of this process, which can only be written to.
    Stream(File),
}

/// Writes the future content of the file `path`, in the same folder or among the system's temporary files.
/// [`Prepared::finish`] then renames it, if that changes only the contents of `path`. Otherwise it copies the content
/// into the existing file: if that file has other names (hard links), or an owner, permissions or attributes that a new
/// file can't get, or if its folder doesn't allow new files. Links are followed. Pipes, devices and streams are written
/// to.
///
/// # Errors
/// `path` can't be written, or `write` fails.
pub fn prepare(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Prepared> {
    let place = place(path)?;
    let mut draft = match &place {
        Place::New(path) => Draft::create(folder(path), SHARED)?,
        Place::Old { path, .. } => Draft::create(folder(path), PRIVATE).or_else(|_| elsewhere())?,
        Place::Dangling(_) | Place::Unnamed(_) | Place::Stream(_) => elsewhere()?,
    };
    write(draft.file())?;
    if !matches!(place, Place::Stream(_)) {
        draft.file.sync_all()?;
    }
    Ok(Prepared { draft, place })
}

fn elsewhere() -> io::Result<Draft> {
    Draft::create(&std::env::temp_dir(), PRIVATE)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn place(path: &Path) -> io::Result<Place> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(ErrorKind::IsADirectory.into());
    }
    // Opened without `create`, which would leave an empty file behind on errors.
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => existing(path, file),
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Err(e) => match fs::read_link(path) {
            // The target's folder must exist.
            Ok(target) => match fs::metadata(folder(path).join(folder(&target))) {
                Ok(about) if about.is_dir() => Ok(Place::Dangling(path.to_owned())),
                _ => Err(e),
            },
            Err(_) => Ok(Place::New(path.to_owned())),
        },
    }
}

fn existing(path: &Path, file: File) -> io::Result<Place> {
    let about = file.metadata()?;
    #[cfg(unix)]
    if let Some(own) = system::standard_stream(&about) {
        return Ok(Place::Stream(own?));
    }
    if !about.is_file() {
        return Ok(Place::Stream(file));
    }
    // A descriptor's number isn't a name of the file, though the file may have one.
    let parent = fs::canonicalize(std::path::absolute(path)?.parent().unwrap_or(Path::new("/")));
    let by_number = parent.is_ok_and(|parent| parent.starts_with("/proc") || parent == Path::new("/dev"));
    match fs::canonicalize(path) {
        Ok(path) if !by_number => Ok(Place::Old { path, file }),
        _ => Ok(Place::Unnamed(file)),
    }
}

impl Prepared {
    /// Renames the file, or copies its content.
    ///
    /// # Errors
    /// The system doesn't allow it. The old file is unchanged, unless the device itself fails.
    pub fn finish(mut self) -> io::Result<()> {
        match &mut self.place {
            Place::New(path) => self.draft.rename(path),
            Place::Old { path, file } => {
                let about = file.metadata()?;
                // Another writer has replaced or removed the old file meanwhile, so content copied into it would be
                // lost.
                if is_gone(&about) {
                    return self.draft.rename(path);
                }
                if is_alone(&about) && is_same_but_contents(&self.draft.file, file, &about) {
                    // The rename fails if a file system is mounted on the file, or if the folder forbids replacing
                    // other users' files.
                    if self.draft.rename(path).is_ok() {
                        return Ok(());
                    }
                }
                if !is_mapped(&about) {
                    return copy_into(&mut self.draft.file, file);
                }
                self.draft.rename(path).map_err(|_| {
                    io::Error::other(
                        "this run reads the file, which can't be replaced in its folder: name another file",
                    )
                })
            }
            Place::Dangling(path) => {
                let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
                copy_into(&mut self.draft.file, &mut file)
            }
            Place::Unnamed(file) => copy_into(&mut self.draft.file, file),
            Place::Stream(stream) => {
                self.draft.file.rewind()?;
                io::copy(&mut self.draft.file, stream).map(drop)
            }
        }
    }
}

/// Returns whether a file has no name anymore.
fn is_gone(about: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(about) == 0;
    #[cfg(not(unix))]
    return !about.is_file();
}

/// Returns whether a file has only one name, and permissions that the system keeps when the file is written to.
fn is_alone(about: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        about.nlink() == 1 && about.mode() & 0o6000 == 0
    }
    #[cfg(not(unix))]
    {
        about.is_file()
    }
}

/// Gives a draft the owner, group and permissions of a file. Returns whether that succeeded, and both have the same
/// extended attributes, including access control lists.
fn is_same_but_contents(draft: &File, old: &File, about: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let Ok(now) = draft.metadata() else { return false };
        let (uid, gid) = (about.uid(), about.gid());
        let owned =
            (now.uid(), now.gid()) == (uid, gid) || std::os::unix::fs::fchown(draft, Some(uid), Some(gid)).is_ok();
        owned && draft.set_permissions(about.permissions()).is_ok() && system::same_attributes(draft, old)
    }
    #[cfg(not(unix))]
    {
        let _ = old;
        draft.set_permissions(about.permissions()).is_ok()
    }
}

/// Replaces the contents of a file, after the system has reserved the space for them.
fn copy_into(draft: &mut File, file: &mut File) -> io::Result<()> {
    let bytes = draft.metadata()?.len();
    #[cfg(unix)]
    system::reserve(file, bytes)?;
    draft.rewind()?;
    file.rewind()?;
    io::copy(draft, file)?;
    file.set_len(bytes)?;
    file.sync_all()
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
        drop(prepare(&path, |file| file.write_all(b"never finished")).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // Two writers at once: the last one to finish wins, and their contents aren't mixed.
        replace(&path, |file| {
            replace(&path, |other| other.write_all(b"other")).unwrap();
            file.write_all(b"new")
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let panicked = std::panic::catch_unwind(|| replace(&path, |_| panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
