//! The memory that this process can still get: the minimum over the machine, the limits of the process and those of its
//! control groups.

#![allow(unsafe_code, reason = "asks the system for limits of the process")]

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an allocation has failed, after which the process probably ends.
static ALLOCATION_FAILED: AtomicBool = AtomicBool::new(false);

/// Records that an allocation has failed, so that the error message at the end of the process can say so.
#[cfg(feature = "allocator")]
pub(crate) fn allocation_failed() {
    ALLOCATION_FAILED.store(true, Ordering::Relaxed);
}

/// Returns whether an allocation has failed.
pub(crate) fn has_allocation_failed() -> bool {
    ALLOCATION_FAILED.load(Ordering::Relaxed)
}

/// Memory that can still be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Available {
    /// Its size in bytes.
    pub bytes: u64,
    /// A description of the limit, unless the limit is the machine.
    pub limit: Option<String>,
}

impl std::fmt::Display for Available {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.limit {
            Some(limit) => write!(out, " ({limit})"),
            None => Ok(()),
        }
    }
}

/// Returns whether a limit of the process counts memory that is reserved and not used.
#[cfg(feature = "allocator")]
pub(crate) fn counts_reserved_memory() -> bool {
    rlimit(Rlimit::AddressSpace).is_some() || rlimit(Rlimit::Data).is_some()
}

/// Returns the memory that can still be used; `None` if the system doesn't report it.
pub fn available_memory() -> Option<Available> {
    available_below(Path::new("/"), rlimit)
}

/// A limit of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rlimit {
    /// `RLIMIT_AS`
    AddressSpace,
    /// `RLIMIT_DATA`
    Data,
}

/// Does the same as [`available_memory`] with the system's files below `root`, and limits of the process from `rlimit`.
fn available_below(root: &Path, rlimit: impl Fn(Rlimit) -> Option<u64>) -> Option<Available> {
    let machine = field(&root.join("proc/meminfo"), "MemAvailable:").map(|bytes| Available { bytes, limit: None });
    machine.into_iter().chain(process(root, rlimit)).chain(control_groups(root)).min_by_key(|available| available.bytes)
}

/// Returns the memory that can still be reserved, used or not; `None` if no limit of the process counts it.
pub fn reservable_memory() -> Option<Available> {
    process(Path::new("/"), rlimit).min_by_key(|available| available.bytes)
}

/// Returns what the limits of the process leave.
fn process(root: &Path, rlimit: impl Fn(Rlimit) -> Option<u64>) -> impl Iterator<Item = Available> {
    let status = root.join("proc/self/status");
    let left = |(limit, used, flag)| {
        let bytes = rlimit(limit)?.saturating_sub(field(&status, used)?);
        Some(Available { bytes, limit: Some(format!("a limit of this process, ulimit {flag}")) })
    };
    [(Rlimit::AddressSpace, "VmSize:", "-v"), (Rlimit::Data, "VmData:", "-d")].map(left).into_iter().flatten()
}

/// Returns the bytes of a number in kB, from the line of a file that begins with a name.
fn field(path: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn rlimit(limit: Rlimit) -> Option<u64> {
    #[cfg(unix)]
    {
        let resource = match limit {
            Rlimit::AddressSpace => libc::RLIMIT_AS,
            Rlimit::Data => libc::RLIMIT_DATA,
        };
        let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call only writes the structure.
        let known = unsafe { libc::getrlimit(resource, &raw mut found) } == 0;
        (known && found.rlim_cur != libc::RLIM_INFINITY).then_some(found.rlim_cur)
    }
    #[cfg(not(unix))]
    {
        let _ = limit;
        None
    }
}

/// The files of a version of control groups.
struct Version {
    /// The type of its file system.
    filesystem: &'static str,
    /// Files of limits. At such a limit, memory is reclaimed from the group or the group is slowed down.
    limits: &'static [&'static str],
    usage: &'static str,
    /// The field of `memory.stat` with the part of the usage that is file pages which weren't used lately.
    reclaimable: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        filesystem: "cgroup2",
        limits: &["memory.max", "memory.high"],
        usage: "memory.current",
        reclaimable: "inactive_file ",
    },
    Version {
        filesystem: "cgroup",
        limits: &["memory.limit_in_bytes"],
        usage: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file ",
    },
];

/// Returns the memory that is left in the control groups of this process and in their ancestors.
fn control_groups(root: &Path) -> Vec<Available> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (mounts, groups) = (read("proc/self/mountinfo"), read("proc/self/cgroup"));
    let mut found = Vec::new();
    for (mount, version) in mounts.lines().filter_map(mounted) {
        let Some(group) = groups.lines().find_map(|line| group(line, version)) else { continue };
        let top = below(root, &mount.point);
        // The mount may show a part of the hierarchy. A group outside of that part, as a container may have, counts as
        // its top.
        let inside = Path::new(group).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        let inside = if plain { inside } else { Path::new("") };
        for part in inside.ancestors() {
            let left = left_in(&top.join(part), version);
            let name = Path::new("/").join(part).display().to_string();
            found.extend(left.map(|bytes| Available { bytes, limit: Some(format!("the limit of the cgroup {name}")) }));
        }
    }
    found
}

/// A mount of a part of a hierarchy.
struct Mount {
    root: PathBuf,
    point: PathBuf,
}

/// Parses a line of `mountinfo`, if it is about control groups that count memory.
fn mounted(line: &str) -> Option<(Mount, &'static Version)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3).map(unescaped);
    let mount = Mount { root: before.next()?.into(), point: before.next()?.into() };
    let mut after = after.split(' ');
    let filesystem = after.next()?;
    let version = VERSIONS.iter().find(|version| version.filesystem == filesystem)?;
    let counts = filesystem == "cgroup2" || after.nth(1)?.split(',').any(|option| option == "memory");
    counts.then_some((mount, version))
}

/// Decodes a path of `mountinfo`, in which blanks and some other characters are escaped as three octal digits.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, is)| text.replace(code, is))
}

/// Returns the group of a line of `cgroup`, if that is the group that counts memory in this version.
fn group<'a>(line: &'a str, version: &Version) -> Option<&'a str> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let here = match version.filesystem {
        "cgroup2" => number == "0" && controllers.is_empty(),
        _ => controllers.split(',').any(|controller| controller == "memory"),
    };
    here.then_some(path)
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Returns the memory that a group's limit leaves. File pages that weren't used lately count as free, because they are
/// reclaimed when memory is needed.
fn left_in(folder: &Path, version: &Version) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    // Without a limit, the file contains `max` or a number close to 2^63, or is missing.
    let limit = version.limits.iter().filter_map(|name| number(name)).min()?;
    let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let reclaimable = statistics.lines().find_map(|line| line.strip_prefix(version.reclaimable)?.trim().parse().ok());
    let used = number(version.usage).unwrap_or(0).saturating_sub(reclaimable.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system's files below a folder, removed at the end of a test.
    struct System(PathBuf);

    impl System {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("shardc_limits_{name}_{}", std::process::id()));
            for (path, text) in files {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(folder)
        }

        fn available(&self) -> Option<(u64, String)> {
            available_below(&self.0, |_| None).map(|a| (a.bytes, a.limit.unwrap_or_default()))
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1000000 kB\n");

    #[test]
    fn groups_of_version_2_count_with_those_that_they_are_in() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/slurm/job 1/step\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cg\\040roup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cg roup/slurm/job 1/step/memory.max", "max\n"),
            ("sys/fs/cg roup/slurm/job 1/step/memory.current", "1000\n"),
            ("sys/fs/cg roup/slurm/job 1/memory.max", "500000000\n"),
            ("sys/fs/cg roup/slurm/job 1/memory.current", "300000000\n"),
            ("sys/fs/cg roup/slurm/job 1/memory.stat", "anon 5\ninactive_file 100000000\n"),
            ("sys/fs/cg roup/slurm/memory.max", "800000000\n"),
            ("sys/fs/cg roup/slurm/memory.current", "400000000\n"),
        ];
        let system = System::new("v2", &files);
        let limit = "the limit of the cgroup /slurm/job 1".to_owned();
        assert_eq!(system.available(), Some((300_000_000, limit)));
        // A limit at which the group is slowed down counts, too.
        fs::write(system.0.join("sys/fs/cg roup/slurm/job 1/step/memory.high"), "201000").unwrap();
        assert_eq!(system.available().unwrap().0, 200_000);
        // More memory is used than a new limit allows.
        fs::write(system.0.join("sys/fs/cg roup/slurm/memory.max"), "7").unwrap();
        assert_eq!(system.available(), Some((0, "the limit of the cgroup /slurm".to_owned())));
    }

    #[test]
    fn groups_of_version_1_count_below_what_is_mounted() {
        let mountinfo = "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                         31 23 0:27 /docker/abc /sys/fs/cgroup/memory ro,relatime - cgroup cgroup rw,memory\n\
                         32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "4:memory:/docker/abc/inner\n1:cpu:/other\n0::/\n"),
            ("proc/self/mountinfo", mountinfo),
            ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712"),
            ("sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "5"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "700000000"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "600000000"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 50000000\n"),
        ];
        let system = System::new("v1", &files);
        assert_eq!(system.available().unwrap().0, 150_000_000);
        // A namespace shows the group as outside of the mounted part.
        fs::write(system.0.join("proc/self/cgroup"), "4:memory:/../other\n").unwrap();
        assert_eq!(system.available().unwrap().0, 150_000_000);
    }

    #[test]
    fn limits_of_the_process_count() {
        let files = [MEMINFO, ("proc/self/status", "Name: x\nVmSize:   100 kB\nVmData:\t  10 kB\n")];
        let system = System::new("process", &files);
        let available = |space, data| {
            let limits = |limit| if limit == Rlimit::AddressSpace { space } else { data };
            available_below(&system.0, limits).unwrap()
        };
        assert_eq!(available(None, None), Available { bytes: 1_024_000_000, limit: None });
        assert_eq!(available(Some(202_400), None).bytes, 100_000);
        assert_eq!(available(Some(202_400), Some(20_240)).bytes, 10_000);
        assert_eq!(available(Some(202_400), Some(20_240)).to_string(), " (a limit of this process, ulimit -d)");
        assert_eq!(available(Some(1), None).bytes, 0);
    }

    #[test]
    fn memory_is_known_on_linux() {
        assert!(!cfg!(target_os = "linux") || available_memory().is_some_and(|there| there.bytes > 1 << 20));
    }

    #[test]
    fn damaged_files_of_the_system_are_as_none() {
        let lines = "\n - \n1 2 3 / - cgroup2\n1 2 3 / /m - cgroup2\n1 2 3 / /m rw - cgroup x\n";
        let files =
            [("proc/meminfo", "MemAvailable: x kB"), ("proc/self/mountinfo", lines), ("proc/self/cgroup", "0:")];
        assert_eq!(System::new("damaged", &files).available(), None);
    }
}
