//! A folder of compiled kernels, so that a program that was run before starts at once.
//!
//! A file holds one kernel, or a function that kernels call: what it was compiled from and for (text, processor,
//! versions), its object, and a checksum over both. Everything is compared when a file is read, so a damaged file, one of
//! another version or one whose name happens to be equal is as if it weren't there. Files are written beside their place
//! and renamed, so that any number of processes may share a folder. Nothing that goes wrong here stops a program: it is
//! compiled instead.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files;

/// The first bytes of every file.
const MAGIC: &[u8; 16] = b"shardc kernel 2\n";

/// The most bytes of kernels that a folder keeps, unless said otherwise.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// How old the last use of a file may look before it is marked as used again.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of compiled kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// A compiled kernel as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// How many buffers it takes.
    pub(super) operands: usize,
    /// How many scalars it takes.
    pub(super) scalars: usize,
    /// The functions that it calls and doesn't hold, by symbol.
    pub(super) calls: Vec<String>,
    /// Machine code in the system's object format.
    pub(super) object: Vec<u8>,
}

impl Cache {
    /// The kernels in `folder`, of which it keeps about `limit` bytes: those used last. The folder is made when there
    /// is something to keep.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self { folder: folder.into(), limit }
    }

    /// The kernel that `key` describes, if it is there and whole.
    pub(super) fn read(&self, key: &str) -> Option<Entry> {
        let path = self.path(key);
        let entry = decode(&fs::read(&path).ok().filter(|_| is_private(&self.folder))?, key)?;
        // Those used last stay. A date that is a day off doesn't matter, and most uses write nothing.
        let used = fs::metadata(&path).and_then(|about| about.modified());
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|since| since > DAY))
            && let Ok(file) = fs::OpenOptions::new().append(true).open(&path)
        {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(entry)
    }

    /// Keeps a kernel; if it can't be written, nothing is kept.
    pub(super) fn write(&self, key: &str, entry: &Entry) {
        if make(&self.folder).is_err() || !is_private(&self.folder) {
            return;
        }
        let path = self.path(key);
        let Ok((mut file, draft)) = files::create_beside(&path) else { return };
        // Not synchronized with the disk: the checksum tells what a crash left unfinished.
        if file.write_all(&encode(entry, key)).and_then(|()| fs::rename(&draft, &path)).is_err() {
            let _ = fs::remove_file(&draft);
        }
    }

    /// Removes the kernels that were used longest ago while all together take more than the limit.
    pub(super) fn trim(&self) {
        let Ok(folder) = fs::read_dir(&self.folder) else { return };
        let file = |entry: fs::DirEntry| {
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = folder.flatten().filter_map(file).collect();
        let mut bytes: u64 = files.iter().map(|file| file.1).sum();
        if bytes <= self.limit {
            return;
        }
        files.sort();
        // A little more than needed, so that the next kernel doesn't start all over.
        let wanted = self.limit - self.limit / 8;
        for (_, length, path) in files {
            if bytes <= wanted {
                return;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= length;
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.folder.join(format!("{:016x}.kernel", hasher.finish()))
    }
}

/// Makes a folder that is this user's alone, if there is none.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Whether nobody but its owner can write to a folder: what is in it gets run.
fn is_private(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o022 == 0)
    }
    #[cfg(not(unix))]
    {
        folder.is_dir()
    }
}

fn encode(entry: &Entry, key: &str) -> Vec<u8> {
    let mut rest = Vec::with_capacity(64 + key.len() + entry.object.len());
    let calls = entry.calls.join("\n");
    for number in [entry.operands, entry.scalars, key.len(), entry.name.len(), calls.len()] {
        rest.extend((number as u64).to_le_bytes());
    }
    rest.extend(key.as_bytes());
    rest.extend(entry.name.as_bytes());
    rest.extend(calls.as_bytes());
    rest.extend(&entry.object);
    let mut file = MAGIC.to_vec();
    file.extend(crc32fast::hash(&rest).to_le_bytes());
    file.extend(rest);
    file
}

fn decode(file: &[u8], key: &str) -> Option<Entry> {
    let rest = file.strip_prefix(MAGIC)?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*checksum) != crc32fast::hash(rest) {
        return None;
    }
    let (numbers, rest) = rest.split_at_checked(40)?;
    let number = |i: usize| {
        let bytes: [u8; 8] = numbers[8 * i..8 * i + 8].try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let rest = rest.strip_prefix(key.as_bytes()).filter(|_| number(2) == Some(key.len()))?;
    let (name, rest) = rest.split_at_checked(number(3)?)?;
    let (calls, object) = rest.split_at_checked(number(4)?)?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    let calls = std::str::from_utf8(calls).ok()?.lines().map(str::to_owned).collect();
    Some(Entry { name, operands: number(0)?, scalars: number(1)?, calls, object: object.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("shardc_cache_{name}_{}", std::process::id())))
        }

        fn files(&self) -> Vec<PathBuf> {
            fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn entry(byte: u8) -> Entry {
        let calls = (0..byte % 3).map(|i| format!("f{i}")).collect();
        Entry { name: format!("n{byte}"), operands: 3, scalars: 1, calls, object: vec![byte; 1000] }
    }

    #[test]
    fn what_is_written_is_read_again_under_its_own_key_alone() {
        let folder = Folder::new("keys");
        let cache = Cache::new(&folder.0, DEFAULT_LIMIT);
        assert_eq!(cache.read("a"), None);
        cache.write("a", &entry(1));
        cache.write("b", &entry(2));
        assert_eq!((cache.read("a"), cache.read("b")), (Some(entry(1)), Some(entry(2))));
        // Another key under the same name is another kernel.
        fs::rename(cache.path("b"), cache.path("c")).unwrap();
        assert_eq!((cache.read("b"), cache.read("c")), (None, None));
        assert_eq!(folder.files().len(), 2);
    }

    #[test]
    fn a_file_with_any_byte_changed_or_cut_off_is_none() {
        let folder = Folder::new("damage");
        let cache = Cache::new(&folder.0, DEFAULT_LIMIT);
        cache.write("kernel", &entry(7));
        let whole = fs::read(cache.path("kernel")).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(cache.path("kernel"), &damaged).unwrap();
            assert_eq!(cache.read("kernel"), None, "byte {at}");
            fs::write(cache.path("kernel"), &whole[..at]).unwrap();
            assert_eq!(cache.read("kernel"), None, "cut at {at}");
        }
        cache.write("kernel", &entry(7));
        assert_eq!(cache.read("kernel"), Some(entry(7)));
    }

    #[test]
    fn those_used_longest_ago_go_first() {
        let folder = Folder::new("limit");
        let cache = Cache::new(&folder.0, 5000);
        for i in 0..8u8 {
            cache.write(&format!("k{i}"), &entry(i));
            let age = Duration::from_secs(100 * (8 - u64::from(i)) * 24 * 60 * 60);
            let file = fs::OpenOptions::new().append(true).open(cache.path(&format!("k{i}"))).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        // Reading marks it as used now.
        assert_eq!(cache.read("k0"), Some(entry(0)));
        cache.trim();
        let left: Vec<u8> = (0..8).filter(|i| cache.read(&format!("k{i}")).is_some()).collect();
        assert_eq!(left, [0, 5, 6, 7]);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_others_write_to_gets_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("others");
        fs::create_dir_all(&folder.0).unwrap();
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
        let cache = Cache::new(&folder.0, DEFAULT_LIMIT);
        cache.write("a", &entry(1));
        assert_eq!(folder.files().len(), 0);
        // Nor is anything taken from it.
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
        cache.write("a", &entry(1));
        assert_eq!(cache.read("a"), Some(entry(1)));
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.read("a"), None);
    }

    #[test]
    fn many_threads_share_a_folder() {
        let folder = Folder::new("threads");
        let cache = Cache::new(&folder.0, 20_000);
        std::thread::scope(|scope| {
            for t in 0..8u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..50u8 {
                        let i = (i + t) % 25;
                        let key = format!("k{i}");
                        assert!(cache.read(&key).is_none_or(|found| found == entry(i)));
                        cache.write(&key, &entry(i));
                        cache.trim();
                    }
                });
            }
        });
        assert!(folder.files().iter().all(|path| path.extension().is_some_and(|e| e == "kernel")));
    }
}
