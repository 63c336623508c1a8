//! The program and the files that it writes, caches and gathers, in the situations of its users and of others on their
//! machine.
#![cfg(unix)]

#[cfg(feature = "jit")]
mod cache;
mod gather;
mod memory;

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
fn symbolic_links_stay_links() {
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
    symlink("sibling", folder.at("bare")).unwrap();
    code(&folder.run(&["compile", "a.mlir", "-o", "bare"]), 0);
    assert!(is_written(&folder.text("sibling")) && folder.at("bare").is_symlink());
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
fn files_are_replaced_with_the_rights_of_the_user() {
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
