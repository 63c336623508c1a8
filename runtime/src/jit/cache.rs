//! A folder of compiled kernels, so that a program that was run before starts at once.
//!
//! A file holds one kernel, or a function that kernels call: what it was compiled from and for (text, processor,
//! versions), its object, and a checksum over both. Everything is compared when a file is read, so a damaged file, a
//! file of another version or a file whose name happens to be equal counts as missing. Files are written under a
//! temporary name and renamed, so that any number of processes may share a folder. No error here stops a program: the
//! kernel is compiled instead.
//!
//! Code from the folder is run, and old files are removed. So the folder and each file must belong to this user, and
//! must not be writable by others ([`trust`]). Only files whose name and first bytes mark them as kernels are replaced
//! or removed.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use crate::files::{Draft, trust};

/// The first bytes of every file.
const MAGIC: &[u8; 16] = b"shardc kernel 2\n";

/// The number of first bytes that are the same in all versions.
const WORDS: usize = "shardc kernel ".len();

/// The default limit on the bytes of kernels that a folder keeps.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// The age of a file's last recorded use from which another use is recorded.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of compiled kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    refused: Arc<OnceLock<String>>,
}

/// A compiled kernel in the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The number of buffers that it takes.
    pub(super) operands: usize,
    /// The number of scalars that it takes.
    pub(super) scalars: usize,
    /// The symbols of the functions that it calls and doesn't contain.
    pub(super) calls: Vec<String>,
    /// Machine code in the system's object format.
    pub(super) object: Vec<u8>,
}

impl Cache {
    /// Creates a cache of kernels in `folder`. It keeps about `limit` bytes: the most recently used kernels. The folder
    /// is created when the first kernel is written.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self { folder: folder.into(), limit, refused: Arc::default() }
    }

    /// Returns the first reason why kernels weren't read from the folder or written to it, if there was any.
    pub fn refused(&self) -> Option<String> {
        self.refused.get().cloned()
    }

    fn refuse<T>(&self, checked: Result<T, String>) -> Option<T> {
        checked.map_err(|why| self.refused.get_or_init(|| why)).ok()
    }

    /// Returns the kernel that `key` describes, if it exists, is undamaged, and can't have been written by another
    /// user.
    pub(super) fn read(&self, key: &str) -> Option<Entry> {
        self.refuse(trust::check_folder(&self.folder)).filter(|&there| there)?;
        let mut file = self.refuse(trust::open(&self.path(key)))??;
        let about = file.metadata().ok()?;
        let mut bytes = Vec::new();
        // The file may grow meanwhile; the checksum would detect that.
        (&mut file).take(about.len()).read_to_end(&mut bytes).ok()?;
        let entry = decode(&bytes, key)?;
        // The most recently used files are kept. A date may be off by a day, so most uses write nothing.
        if about.modified().is_ok_and(|used| used.elapsed().is_ok_and(|since| since > DAY)) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(entry)
    }

    /// Writes a kernel to the folder. If that fails, nothing is written.
    pub(super) fn write(&self, key: &str, entry: &Entry) {
        let _ = trust::create_folder(&self.folder);
        let path = self.path(key);
        if self.refuse(trust::check_folder(&self.folder)) != Some(true) || !self.may_replace(&path) {
            return;
        }
        let Ok(mut draft) = Draft::create(&self.folder, 0o600) else { return };
        // The file isn't synchronized with the disk. The checksum detects a file that a crash left incomplete.
        if draft.file().write_all(&encode(entry, key)).is_ok() {
            let _ = draft.rename(&path);
        }
    }

    /// Returns whether a kernel may be written to `path`: it doesn't exist, or is an empty file or a kernel of any
    /// version.
    fn may_replace(&self, path: &Path) -> bool {
        let Ok(about) = fs::symlink_metadata(path) else { return true };
        about.is_file() && (about.len() == 0 || fs::File::open(path).is_ok_and(|file| begins_as_ours(file, false)))
    }

    /// Removes the least recently used kernels while all together exceed the limit.
    pub(super) fn trim(&self) {
        if trust::check_folder(&self.folder) != Ok(true) {
            return;
        }
        let Ok(folder) = fs::read_dir(&self.folder) else { return };
        let file = |entry: fs::DirEntry| {
            // For a link, this metadata is the link's own.
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let modified = about.modified().ok()?;
            Some((modified, about.len(), entry.path())).filter(|_| is_ours(&entry.path(), modified))
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = folder.flatten().filter_map(file).collect();
        let mut bytes: u64 = files.iter().map(|file| file.1).sum();
        if bytes <= self.limit {
            return;
        }
        files.sort();
        // Removes a little more than needed, so that the next kernel doesn't exceed the limit again.
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

/// Returns whether a folder's entry is a kernel that any version of this program has written, or a draft of one that is
/// a day old. Name and first bytes decide that. Nothing else in the folder is ever changed.
fn is_ours(path: &Path, modified: SystemTime) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let hexadecimal =
        |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let kernel = name.strip_suffix(".kernel").is_some_and(hexadecimal);
    let draft = name.strip_prefix(".shardc-").and_then(|name| name.strip_suffix(".tmp")).is_some_and(hexadecimal)
        && modified.elapsed().is_ok_and(|since| since > DAY);
    let begins = || trust::open(path).ok().flatten().is_some_and(|file| begins_as_ours(file, draft));
    (kernel || draft) && begins()
}

/// Returns whether a file begins with the first bytes of all versions. A draft may end within these bytes.
fn begins_as_ours(file: fs::File, draft: bool) -> bool {
    let (words, mut found) = (&MAGIC[..WORDS], Vec::new());
    let read = file.take(WORDS as u64).read_to_end(&mut found).is_ok();
    read && (found == words || draft && words.starts_with(&found))
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

    /// A folder for one test, removed at the end of the test.
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
        // A file that was renamed to another key's name doesn't count as that key's kernel.
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
        // Reading records a use at the current time.
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
        assert!(cache.refused().is_some_and(|why| why.contains("mode 777")), "{:?}", cache.refused());
        // Nothing is read from the folder either.
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
        cache.write("a", &entry(1));
        assert_eq!(cache.read("a"), Some(entry(1)));
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.read("a"), None);
    }

    #[test]
    #[cfg(unix)]
    fn only_kernels_are_removed_and_replaced() {
        let folder = Folder::new("strangers");
        let cache = Cache::new(&folder.0, 1);
        cache.write("a", &entry(1));
        let old = SystemTime::now() - 3 * DAY;
        let at = |name: &str| folder.0.join(name);
        let strangers = ["thesis.bin", "x.kernel", "0123456789abcdef.kernel", ".shardc-0123456789abcdef.tmp", "a.tmp"];
        for name in strangers {
            fs::write(at(name), b"somebody's").unwrap();
            fs::File::open(at(name)).unwrap().set_modified(old).unwrap();
        }
        std::os::unix::fs::symlink(at("thesis.bin"), at("00000000000000ff.kernel")).unwrap();
        let cut = at(".shardc-00000000000000aa.tmp");
        fs::write(&cut, &MAGIC[..5]).unwrap();
        fs::File::open(&cut).unwrap().set_modified(old).unwrap();
        cache.trim();
        assert_eq!((cache.read("a"), cut.exists()), (None, false));
        assert!(strangers.iter().all(|name| fs::read(at(name)).unwrap() == b"somebody's"));
        assert!(at("00000000000000ff.kernel").is_symlink());
        // Another program's file has the name that a kernel would get.
        fs::write(cache.path("b"), b"somebody's").unwrap();
        cache.write("b", &entry(2));
        assert_eq!(fs::read(cache.path("b")).unwrap(), b"somebody's");
    }

    #[test]
    #[cfg(unix)]
    fn a_kernel_that_others_may_have_written_is_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("written");
        let cache = Cache::new(&folder.0, DEFAULT_LIMIT);
        cache.write("a", &entry(1));
        fs::set_permissions(cache.path("a"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cache.read("a"), None);
        assert!(cache.refused().is_some_and(|why| why.contains("mode 666")), "{:?}", cache.refused());
        // The kernel is compiled again, and written to a file that others can't write.
        cache.write("a", &entry(1));
        assert_eq!(Cache::new(&folder.0, DEFAULT_LIMIT).read("a"), Some(entry(1)));
        let link = Folder::new("link");
        std::os::unix::fs::symlink(&folder.0, &link.0).unwrap();
        let cache = Cache::new(&link.0, DEFAULT_LIMIT);
        assert_eq!(cache.read("a"), None);
        assert!(cache.refused().is_some_and(|why| why.contains("symbolic link")), "{:?}", cache.refused());
        fs::remove_file(&link.0).unwrap();
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
