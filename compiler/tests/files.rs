//! The program and the files that it writes, caches and gathers, in the situations of its users and of others on their
//! machine.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SHARDC: &str = env!("CARGO_BIN_EXE_shardc");

const PROGRAM: &str = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
";

/// A test's folder, which contains `a.mlir` and is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("shardc_files_{name}_{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("a.mlir"), PROGRAM).unwrap();
        Self(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the command `shardc` in this folder, without a cache.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SHARDC);
        command.args(args).current_dir(&self.0).env("SHARDC_CACHE", "").stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("shardc starts")
    }

    /// Runs a shell script in this folder, with the program as `$shardc`.
    fn shell(&self, script: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&self.0).env("shardc", SHARDC).env("SHARDC_CACHE", "");
        shell.output().expect("a shell")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// Returns the drafts in the folder.
    fn drafts(&self) -> Vec<String> {
        let names =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('.') || name.ends_with(".partial")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// A user other than this one, without any files.
const NOBODY: u32 = 65534;

fn code(output: &Output, expected: i32) {
    assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stderr));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns whether a file contains the compiled program.
fn is_written(text: &str) -> bool {
    text.contains("stablehlo.add") && text.ends_with("}\n") && text.matches("func.func").count() == 1
}

#[test]
fn names_may_be_as_long_as_the_system_allows() {
    let folder = Folder::new("long");
    for length in [200, 240, 250, 251, 255] {
        let name = "x".repeat(length);
        for _ in ["new", "old"] {
            code(&folder.run(&["compile", "a.mlir", "-o", &name]), 0);
            assert!(is_written(&folder.text(&name)), "{length}");
        }
    }
    let npz = format!("{}.npz", "y".repeat(251));
    code(&folder.run(&["run", "a.mlir", "--outputs", &npz]), 0);
    let output = folder.run(&["compile", "a.mlir", "-o", &"x".repeat(256)]);
    code(&output, 1);
    assert!(said(&output).contains("can't write"), "{}", said(&output));
    assert_eq!(folder.drafts(), [""; 0]);
}

#[test]
fn links_stay_what_they_are() {
    let folder = Folder::new("links");
    fs::write(folder.at("one"), "a text that is longer than the one that replaces it ".repeat(100)).unwrap();
    fs::hard_link(folder.at("one"), folder.at("other")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "one"]), 0);
    assert!(is_written(&folder.text("other")));
    assert_eq!(fs::metadata(folder.at("one")).unwrap().nlink(), 2);
    // Links, and links to links, are followed.
    fs::create_dir(folder.at("inner")).unwrap();
    fs::write(folder.at("inner/target"), "old").unwrap();
    symlink("inner/target", folder.at("link")).unwrap();
    symlink(folder.at("link"), folder.at("second")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "second"]), 0);
    assert!(is_written(&folder.text("inner/target")));
    assert!(folder.at("link").is_symlink() && folder.at("second").is_symlink());
    // A dangling link creates the file that it names, but no folders.
    symlink("inner/new", folder.at("dangling")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "dangling"]), 0);
    assert!(is_written(&folder.text("inner/new")) && folder.at("dangling").is_symlink());
    symlink("beside", folder.at("bare")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "bare"]), 0);
    assert!(is_written(&folder.text("beside")) && folder.at("bare").is_symlink());
    symlink("missing/new", folder.at("lost")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "lost"]), 1);
    assert!(folder.at("lost").is_symlink() && !folder.at("missing").exists());
    symlink("round", folder.at("round")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "round"]), 1);
    code(&folder.run(&["compile", "a.mlir", "-o", "new/"]), 1);
    assert!(!folder.at("new").exists());
    assert_eq!((folder.drafts(), fs::read_dir(folder.at("inner")).unwrap().count()), (vec![], 2));
}

#[test]
fn permissions_and_owners_stay() {
    let folder = Folder::new("owners");
    for mode in [0o600, 0o640, 0o664, 0o755] {
        fs::write(folder.at("out"), "old").unwrap();
        fs::set_permissions(folder.at("out"), Permissions::from_mode(mode)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(folder.at("out"), Some(NOBODY), Some(12)).unwrap();
        }
        code(&folder.run(&["compile", "a.mlir", "-o", "out"]), 0);
        let about = fs::metadata(folder.at("out")).unwrap();
        assert_eq!(about.mode() & 0o7777, mode);
        assert!(!is_root() || (about.uid(), about.gid()) == (NOBODY, 12));
        assert!(is_written(&folder.text("out")));
    }
    code(&folder.shell("umask 027; $shardc compile a.mlir -o fresh"), 0);
    assert_eq!(fs::metadata(folder.at("fresh")).unwrap().mode() & 0o777, 0o640);
    let set = Command::new("setfattr").args(["-n", "user.kept", "-v", "yes"]).arg(folder.at("out")).status();
    if set.is_ok_and(|status| status.success()) {
        code(&folder.run(&["compile", "a.mlir", "-o", "out"]), 0);
        let found = folder.shell("getfattr --only-values -n user.kept out");
        assert_eq!(found.stdout, b"yes");
    }
}

#[test]
fn who_may_write_a_file_may_replace_it() {
    // Root may write any file, so run as another user if this user may start it.
    let folder = Folder::new("rights");
    let run = |args: &[&str]| {
        let mut command = folder.command(args);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output()
    };
    if run(&["--version"]).is_err() {
        return;
    }
    fs::write(folder.at("open"), "old").unwrap();
    fs::set_permissions(folder.at("open"), Permissions::from_mode(0o666)).unwrap();
    fs::write(folder.at("shut"), "old").unwrap();
    fs::set_permissions(folder.at("shut"), Permissions::from_mode(0o444)).unwrap();
    for (mode, into) in [(0o555, "a folder that isn't writable"), (0o1777, "others' sticky folder")] {
        fs::set_permissions(&folder.0, Permissions::from_mode(mode)).unwrap();
        let inode = fs::metadata(folder.at("open")).unwrap().ino();
        code(&run(&["compile", "a.mlir", "-o", "open"]).unwrap(), 0);
        assert!(is_written(&folder.text("open")), "{into}");
        assert_eq!(fs::metadata(folder.at("open")).unwrap().ino() == inode, is_root() || mode == 0o555, "{into}");
        let output = run(&["compile", "a.mlir", "-o", "shut"]).unwrap();
        code(&output, 1);
        assert!(said(&output).contains("permission denied"), "{}", said(&output));
        assert_eq!((folder.text("shut").as_str(), folder.drafts()), ("old", vec![]));
    }
    fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn streams_are_written_to() {
    let folder = Folder::new("streams");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = folder.run(&["compile", "a.mlir", "-o", name]);
        code(&output, 0);
        assert!(is_written(&String::from_utf8_lossy(&output.stdout)), "{name}");
        // Earlier contents stay, and a line of JSON follows the program.
        code(&folder.shell(&format!("echo first > log; $shardc compile a.mlir --json -o {name} >> log")), 0);
        let log = folder.text("log");
        let place = |what: &str| log.find(what).unwrap_or_else(|| panic!("{name}: no {what} in {log}"));
        assert!(place("first") < place("func.func") && place("func.func") < place("\"schema\""), "{name}: {log}");
    }
    code(&folder.run(&["compile", "a.mlir", "-o", "/dev/null"]), 0);
    let piped = folder.shell("mkfifo pipe; cat pipe > got & $shardc run a.mlir --outputs pipe; r=$?; wait; exit $r");
    code(&piped, 0);
    assert!(fs::read(folder.at("got")).unwrap().starts_with(b"PK") && !folder.at("pipe").is_file());
    code(&folder.shell("exec 3> three; $shardc compile a.mlir -o /dev/fd/3"), 0);
    assert!(is_written(&folder.text("three")));
    // A removed file isn't created again.
    code(&folder.shell("exec 3> gone; rm gone; $shardc compile a.mlir -o /dev/fd/3; r=$?; exit $r"), 0);
    assert!(!folder.at("gone").exists());
    assert_eq!(folder.drafts(), [""; 0]);
}

#[test]
fn inputs_may_be_outputs() {
    let folder = Folder::new("same");
    code(&folder.run(&["run", "a.mlir", "--outputs", "out.npz"]), 0);
    // The archive is read while it is replaced, also under another name.
    let rename = "%0 = stablehlo.add %a, %a : tensor<4xf32>";
    assert!(PROGRAM.contains(rename));
    fs::hard_link(folder.at("out.npz"), folder.at("other.npz")).unwrap();
    for _ in 0..3 {
        code(&folder.run(&["run", "a.mlir", "--seed", "0", "--expect", "out.npz", "--outputs", "out.npz"]), 0);
    }
}

#[test]
fn a_run_that_fails_leaves_the_old_file() {
    let folder = Folder::new("fails");
    fs::write(folder.at("out"), "old").unwrap();
    fs::write(folder.at("bad.mlir"), "func.func @main( {").unwrap();
    code(&folder.run(&["compile", "bad.mlir", "-o", "out"]), 1);
    // Files have a size limit: writing past it fails, without a process ended by a signal.
    fs::write(folder.at("big.mlir"), big(1 << 20)).unwrap();
    fs::hard_link(folder.at("out"), folder.at("linked")).unwrap();
    for name in ["out", "new", "linked"] {
        let output = folder.shell(&format!("ulimit -f 100; exec $shardc run big.mlir --outputs {name}"));
        code(&output, 1);
        assert!(said(&output).contains("can't write"), "{}", said(&output));
    }
    assert_eq!((folder.text("out").as_str(), folder.at("new").exists(), folder.drafts()), ("old", false, vec![]));
}

/// Returns a program whose result has this number of elements and takes no time to compute.
fn big(elements: usize) -> String {
    format!(
        "func.func @main() -> tensor<{elements}xf32> {{
  %0 = stablehlo.constant dense<1.0> : tensor<{elements}xf32>
  return %0 : tensor<{elements}xf32>
}}
"
    )
}

#[test]
fn signals_leave_no_drafts() {
    let folder = Folder::new("signals");
    fs::write(folder.at("big.mlir"), big(64 << 20)).unwrap();
    let start = |script: &str| {
        fs::write(folder.at("out.npz"), "old").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&folder.0).env("shardc", SHARDC).env("SHARDC_CACHE", "");
        let child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell");
        let began = Instant::now();
        while folder.drafts().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "no draft");
            std::thread::sleep(Duration::from_micros(200));
        }
        child
    };
    let send = |signal: i32, id: u32| {
        let sent = Command::new("kill").args([format!("-{signal}"), id.to_string()]).status().expect("kill");
        assert!(sent.success());
    };
    let run = "exec $shardc run big.mlir --interpret --outputs out.npz";
    for signal in [1, 2, 15, 3, 24, 10] {
        // A run may end before the signal arrives, so try again.
        let hit = (0..20).any(|_| {
            let mut child = start(&format!("ulimit -c 0; {run}"));
            send(signal, child.id());
            let ended = child.wait().unwrap();
            assert_eq!(folder.drafts(), Vec::<String>::new(), "{ended}");
            assert!(ended.success() || ended.signal() == Some(signal), "{ended}");
            assert_eq!(ended.success(), fs::read(folder.at("out.npz")).unwrap() != b"old", "signal {signal}");
            !ended.success()
        });
        assert!(hit, "no run was ended by signal {signal}");
    }
    // Signals that a shell ignores stay ignored.
    let mut child = start(&format!("trap '' HUP; {run}"));
    send(1, child.id());
    assert!(child.wait().unwrap().success());
    assert!(fs::read(folder.at("out.npz")).unwrap().starts_with(b"PK") && folder.drafts().is_empty());
}

/// Compiled kernels.
#[cfg(feature = "jit")]
mod cache {
    use std::path::Path;

    use super::*;

    fn run(folder: &Folder, cache: &Path) -> Output {
        let output = folder.command(&["run", "a.mlir"]).env("SHARDC_CACHE", cache).output().expect("shardc starts");
        code(&output, 0);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("result 0: tensor<4xf32>"));
        output
    }

    fn kernels(cache: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "kernel")).collect()
    }

    #[test]
    fn files_of_others_survive_in_the_folder() {
        let folder = Folder::new("thesis");
        fs::set_permissions(&folder.0, Permissions::from_mode(0o700)).unwrap();
        for name in ["thesis.bin", "x.kernel", "0123456789abcdef.kernel"] {
            // Sparse files, larger than the limit of the cache.
            fs::File::create(folder.at(name)).unwrap().set_len(300 << 20).unwrap();
        }
        assert_eq!(said(&run(&folder, &folder.0)), "");
        assert_eq!(kernels(&folder.0).len(), 3);
        assert_eq!(fs::metadata(folder.at("thesis.bin")).unwrap().len(), 300 << 20);
        let kernel = kernels(&folder.0).into_iter().find(|path| fs::metadata(path).unwrap().len() < 1 << 20).unwrap();
        assert_eq!(fs::metadata(kernel).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_others_may_have_written_is_not_run() {
        let folder = Folder::new("foreign");
        let cache = folder.at("cache");
        assert_eq!(said(&run(&folder, &cache)), "");
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        let [kernel] = &kernels(&cache)[..] else { panic!("one kernel") };
        let whole = fs::read(kernel).unwrap();
        let says = |what: &str| {
            let output = run(&folder, &cache);
            assert!(said(&output).contains(what) && said(&output).lines().count() == 1, "{what}: {}", said(&output));
        };
        fs::set_permissions(kernel, Permissions::from_mode(0o622)).unwrap();
        says("mode 622");
        // The kernel was compiled again, and now other users can't write it.
        assert_eq!(said(&run(&folder, &cache)), "");
        for mode in [0o777, 0o770, 0o1777] {
            fs::set_permissions(&cache, Permissions::from_mode(mode)).unwrap();
            says(&format!("mode {mode:o}"));
        }
        fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(kernel, Some(NOBODY), None).unwrap();
            says("belongs to user 65534");
            std::os::unix::fs::chown(&cache, Some(NOBODY), None).unwrap();
            says("belongs to user 65534");
            std::os::unix::fs::chown(&cache, Some(0), None).unwrap();
        }
        // Damaged kernels are detected and replaced.
        for damaged in [&whole[..whole.len() / 2], &whole[..10], b"", &[&whole[..], b"x"].concat()] {
            fs::write(kernel, damaged).unwrap();
            run(&folder, &cache);
        }
        for strange in ["fifo", "link", "folder"] {
            let _ = fs::remove_file(kernel);
            match strange {
                "fifo" => assert!(Command::new("mkfifo").arg(kernel).status().unwrap().success()),
                "link" => symlink(folder.at("a.mlir"), kernel).unwrap(),
                _ => fs::create_dir(kernel).unwrap(),
            }
            says(&kernel.display().to_string());
        }
        assert_eq!(folder.text("a.mlir"), PROGRAM);
        symlink(&cache, folder.at("link")).unwrap();
        let output = run(&folder, &folder.at("link"));
        assert!(said(&output).contains("symbolic link"), "{}", said(&output));
        let output = run(&folder, &folder.at("a.mlir"));
        assert!(said(&output).contains("is not a folder"), "{}", said(&output));
    }
}

/// An index of two shards, in files written by a run.
const INDEX: &str = r#"{"schema": "shardc.shards/1", "arrays": [{"name": "out0", "element": "f32", "shape": [8], "shards": [
  {"file": "a.npz", "array": "out0", "start": [0], "sizes": [4]},
  {"file": "b.npz", "array": "out0", "start": [4], "sizes": [4]}]}]}"#;

#[test]
fn shards_that_are_no_array_are_refused_and_nothing_is_written() {
    let folder = Folder::new("gather");
    for name in ["a.npz", "b.npz"] {
        code(&folder.run(&["run", "a.mlir", "--outputs", name]), 0);
    }
    fs::create_dir(folder.at("inner")).unwrap();
    fs::copy(folder.at("a.npz"), folder.at("inner/a.npz")).unwrap();
    fs::write(folder.at("i.json"), INDEX).unwrap();
    code(&folder.run(&["gather", "i.json", "--outputs", "whole.npz"]), 0);
    let expected = "func.func @main() -> tensor<8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}";
    fs::write(folder.at("other.mlir"), expected).unwrap();
    let compared = folder.run(&["run", "other.mlir", "--expect", "whole.npz"]);
    code(&compared, 1);
    fs::write(folder.at("out.npz"), "old").unwrap();
    let before = fs::read_dir(&folder.0).unwrap().count();
    for (from, to, says) in [
        ("[4], \"sizes\": [4]", "[0], \"sizes\": [4]", "overlaps"),
        ("[4], \"sizes\": [4]", "[3], \"sizes\": [4]", "overlaps"),
        ("[4], \"sizes\": [4]", "[5], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[-1], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[9223372036854775807], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[4, 0], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[4], \"sizes\": [3]", "7 of 8 elements"),
        ("\"shape\": [8]", "\"shape\": [9]", "8 of 9 elements"),
        ("\"shape\": [8]", "\"shape\": [-8]", "an array can't have the shape"),
        ("\"shape\": [8]", "\"shape\": [4611686018427387904, 4611686018427387904]", "an array can't have the shape"),
        ("\"shape\": [8]", "\"shape\": [1152921504606846976]", "elements"),
        ("\"out0\", \"element\"", "\"../../evil\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"/etc/evil\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"a/b\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"..\\\\b\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"\", \"element\"", "not a valid name of an array"),
        ("\"b.npz\"", "\"../b.npz\"", "not a file in the folder"),
        ("\"b.npz\"", "\"inner/a.npz\"", "not a file in the folder"),
        ("\"b.npz\"", "\"/dev/zero\"", "not a file in the folder"),
        ("\"b.npz\"", "\"inner\"", "is not a file"),
        ("\"b.npz\"", "\"c.npz\"", "is not a file"),
        ("\"b.npz\"", "\"a.mlir\"", "npz archive"),
        ("\"array\": \"out0\", \"start\": [4]", "\"array\": \"out1\", \"start\": [4]", "has no 'out1'"),
        ("\"f32\"", "\"f33\"", "'f33' is not a type"),
        ("\"f32\"", "\"f64\"", "differs from the index"),
        ("shards/1", "shards/2", "expected shardc.shards/1"),
        ("}]}]}", "}]}", "is not an index of shards"),
    ] {
        assert!(INDEX.contains(from), "{from}");
        let at = INDEX.rfind(from).unwrap();
        fs::write(folder.at("i.json"), format!("{}{to}{}", &INDEX[..at], &INDEX[at + from.len()..])).unwrap();
        let output = folder.run(&["gather", "i.json", "--outputs", "out.npz"]);
        code(&output, 2);
        assert!(said(&output).contains(says) && said(&output).lines().count() == 1, "{to}: {}", said(&output));
        assert_eq!(folder.text("out.npz"), "old", "{to}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), before, "{to}");
    }
    // Two arrays with one name.
    let array = &INDEX[INDEX.find("[{").unwrap() + 1..INDEX.rfind("]}").unwrap()];
    fs::write(folder.at("i.json"), INDEX.replace(array, &format!("{array}, {array}"))).unwrap();
    let output = folder.run(&["gather", "i.json", "--outputs", "out.npz"]);
    code(&output, 2);
    assert!(said(&output).contains("two arrays are called 'out0'"), "{}", said(&output));
    assert!(!folder.at("../evil.npy").exists());
}

/// Limits of the process, as batch systems set them.
#[cfg(target_os = "linux")]
#[test]
fn limits_of_memory_are_kept_and_named() {
    let folder = Folder::new("limits");
    let program = "func.func @main(%a: tensor<16384x16384xf32>) -> tensor<16384x16384xf32> {
  %0 = stablehlo.add %a, %a : tensor<16384x16384xf32>
  return %0 : tensor<16384x16384xf32>
}
";
    fs::write(folder.at("large.mlir"), program).unwrap();
    for (limit, flag) in [(1_200_000, "-v"), (2_000_000, "-v"), (3_000_000, "-v"), (300_000, "-d"), (1_000_000, "-d")] {
        let output = folder.shell(&format!("ulimit {flag} {limit}; exec $shardc run large.mlir"));
        code(&output, 1);
        let said = said(&output);
        let named = said.contains("error[device-memory]") && said.contains(&format!("ulimit {flag}"));
        assert!(named, "{flag} {limit}: {said}");
    }
    // Small programs run or report missing memory; no process is ended by a signal.
    for limit in (200..1600).step_by(200) {
        for flag in ["-v", "-d"] {
            let output = folder.shell(&format!("ulimit {flag} {limit}000; exec $shardc run a.mlir"));
            // 127: the loader has no memory for libraries.
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1 | 127)), "{flag} {limit}: {:?} {}", output.status, said(&output));
            assert!(code == Some(0) || limit < 1200, "{flag} {limit}: {}", said(&output));
        }
    }
}

/// No form of a program expands a constant, an iota or a broadcast of more bytes than any machine has.
#[test]
fn huge_splats_are_never_expanded() {
    let folder = Folder::new("splats");
    let ty = "tensor<1048576x1048576xf32>";
    let program = format!(
        "sdy.mesh @mesh = <[\"x\"=8]>
func.func @main(%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}, %s: tensor<f32>) -> {ty} {{
  %c = stablehlo.constant dense<1.5> : {ty}
  %z = stablehlo.constant dense<0.0> : {ty}
  %i = stablehlo.iota dim = 1 : {ty}
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {ty}
  %0 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  %2 = stablehlo.add %1, %i : {ty}
  %3 = stablehlo.dot_general %2, %b, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  return %3 : {ty}
}}
"
    );
    fs::write(folder.at("huge.mlir"), program).unwrap();
    let mut commands: Vec<(Vec<&str>, i32)> =
        ["cost", "explain", "show", "report", "diff"].map(|c| (vec![c], 0)).into();
    commands.extend(["sdy", "stablehlo", "manual"].map(|form| (vec!["compile", "--emit", form], 0)));
    commands.extend(["run", "check"].map(|c| (vec![c, "--interpret"], 1)));
    #[cfg(feature = "jit")]
    {
        commands.extend(["linalg", "kernels", "llvm"].map(|form| (vec!["compile", "--emit", form], 0)));
        commands.extend(["run", "check"].map(|c| (vec![c], 1)));
        commands.push((vec!["run", "--compile-only"], 0));
    }
    for (mut args, expected) in commands {
        args.push("huge.mlir");
        let began = Instant::now();
        let output = folder.run(&args);
        assert_eq!(output.status.code(), Some(expected), "{args:?}: {}", said(&output));
        assert!(expected == 0 || said(&output).contains("error[device-memory]"), "{args:?}: {}", said(&output));
        assert!(began.elapsed() < Duration::from_secs(30), "{args:?} took {:?}", began.elapsed());
    }
}
