//! Lets the linker find MLIR's C API next to the shared libMLIR.
//!
//! Debian ships the C API only as archives (`libMLIRCAPI*.a`), while `mlir-sys` asks the linker for `-lMLIR-C`. A
//! linker script of that name stands in: it groups the archives with the shared libraries they refer to. Binaries find
//! those libraries by the run path set in `.cargo/config.toml`; where the variable RUSTFLAGS hides that, `cargo run`
//! and `cargo test` find them through links beside the script, because cargo puts such folders on the loader's path.
//! Nothing happens without the feature `jit`, or where a real `libMLIR-C.so` exists.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
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
    let archives = c_api_archives(&library_folder);
    assert!(
        !archives.is_empty(),
        "no libMLIRCAPI*.a in {}: run `make setup`, or build with --no-default-features to go without the JIT",
        library_folder.display()
    );
    let mut script = String::from("GROUP(\n");
    for file in &archives {
        script.push_str(&format!("  {}\n", file.display()));
    }
    for shared in ["libMLIR.so", "libLLVM.so"] {
        script.push_str(&format!("  {}\n", library_folder.join(shared).display()));
    }
    script.push_str(")\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    fs::write(out.join("libMLIR-C.so"), script).expect("OUT_DIR is writable");
    link_shared_libraries(&library_folder, &out);
    println!("cargo:rustc-link-search=native={}", out.display());
}

/// A number that changes with the code that compiles kernels: kernels compiled by other code aren't used again.
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

/// The archives of MLIR's C API, in a fixed order.
fn c_api_archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut archives: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with("libMLIRCAPI") && name.ends_with(".a")
        })
        .collect();
    archives.sort();
    archives
}
