//! Lets the linker find MLIR's C API next to the shared libMLIR.
//!
//! Debian ships the C API only as archives (`libMLIRCAPI*.a`), while `mlir-sys` passes `-lMLIR-C` to the linker. A
//! linker script of that name replaces the library: it groups the archives with the shared libraries they refer to.
//! Binaries find those libraries by the run path set in `.cargo/config.toml`. If the variable RUSTFLAGS overrides that,
//! `cargo run` and `cargo test` find them through links next to the script, because cargo puts such folders on the
//! loader's path. Without the feature `jit`, or if a real `libMLIR-C.so` exists, this script does nothing.
//!
//! In the release profile such scripts also replace the shared libraries, and name all archives instead, because the
//! loader takes 20 ms for the symbols of the shared ones whenever a program starts. Other profiles keep the shared
//! libraries, because they build tests, and dozens of test binaries would be 150 MB each.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    if env::var_os("CARGO_FEATURE_JIT").is_none() {
        return;
    }
    println!("cargo:rerun-if-changed=src/jit");
    println!("cargo:rustc-env=SHARDC_JIT_SOURCES={:016x}", sources(Path::new("src/jit")));
    let prefix = env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into());
    let library_folder = Path::new(&prefix).join("lib");
    if library_folder.join("libMLIR-C.so").exists() {
        return;
    }
    let archives = archives(&library_folder, "libMLIRCAPI");
    assert!(
        !archives.is_empty(),
        "no libMLIRCAPI*.a in {}: run `make setup`, or build with --no-default-features to go without the JIT",
        library_folder.display()
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let script = |name: &str, files: &[String]| {
        let text = format!("GROUP(\n  {}\n)\n", files.join("\n  "));
        fs::write(out.join(name), text).expect("OUT_DIR is writable");
    };
    let shared: Vec<String> = ["libMLIR.so", "libLLVM.so"].map(|name| path(&library_folder.join(name))).to_vec();
    let whole = (env::var("PROFILE").as_deref() == Ok("release")).then(|| whole_archives(Path::new(&prefix))).flatten();
    match whole {
        Some(whole) => {
            for name in ["libMLIR-C.so", "libMLIR.so", "libLLVM-22.so"] {
                script(name, &whole);
            }
        }
        None => script("libMLIR-C.so", &[archives, shared].concat()),
    }
    link_shared_libraries(&library_folder, &out);
    println!("cargo:rustc-link-search=native={}", out.display());
}

/// Returns a hash of the code that compiles kernels, so that kernels compiled by other code aren't reused.
fn sources(folder: &Path) -> u64 {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources are readable").flatten() {
            let into = if entry.path().is_dir() { &mut folders } else { &mut files };
            into.push(entry.path());
        }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file, fs::read(&file).expect("the sources are readable")).hash(&mut hasher);
    }
    hasher.finish()
}

/// Links the shared libraries under their loader names; failures are ignored, since the links are only a convenience.
fn link_shared_libraries(folder: &Path, out: &Path) {
    #[cfg(unix)]
    for name in ["libMLIR.so.22.1", "libLLVM.so.22.1"] {
        let link = out.join(name);
        let _ = fs::remove_file(&link);
        let _ = std::os::unix::fs::symlink(folder.join(name), &link);
    }
}

/// Returns all of MLIR and LLVM as archives, and the system's libraries that they need; `None` if they aren't
/// installed.
fn whole_archives(prefix: &Path) -> Option<Vec<String>> {
    let asked = |what: &str| {
        let done = Command::new(prefix.join("bin/llvm-config")).args([what, "--link-static"]).output().ok()?;
        let text = String::from_utf8(done.stdout).ok().filter(|_| done.status.success())?;
        Some(text.split_whitespace().map(str::to_owned).collect::<Vec<String>>())
    };
    let mlir = archives(&prefix.join("lib"), "libMLIR");
    let llvm = asked("--libfiles")?;
    let missing = llvm.is_empty() || mlir.len() < 100 || !llvm.iter().all(|file| Path::new(file).exists());
    Some([mlir, llvm, asked("--system-libs")?].concat()).filter(|_| !missing)
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the archives whose names begin with a prefix, in a fixed order.
fn archives(folder: &Path, prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with(prefix) && name.ends_with(".a")
    };
    let mut archives: Vec<String> = entries.flatten().map(|e| e.path()).filter(named).map(|file| path(&file)).collect();
    archives.sort();
    archives
}
