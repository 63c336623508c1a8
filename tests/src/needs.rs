//! What some tests need besides cargo, by the target of the Makefile that creates it.
//!
//! The build script also compiles this file, so it depends on nothing.

use std::path::{Path, PathBuf};

/// Names and files, relative to the target folder. Tests use the first file of a name; the others show that it is
/// complete. A file without a folder is a program on the path.
pub const NEEDS: [(&str, &[&str]); 9] = [
    ("setup", &["/usr/lib/llvm-22/bin/mlir-opt", "/usr/lib/llvm-22/bin/mlir-runner"]),
    ("python3", &["python3"]),
    ("oracles", &["oracles/bin/python", "oracles/ready"]),
    ("python", &["python/bin/python", "python/installed"]),
    ("capi", &["capi/lib/libshardc.a"]),
    ("plugin", &["plugin/libShardcPlugin.so"]),
    ("mpi", &["mpi/shardc"]),
    ("iree", &["iree/bin/iree-compile", "iree/ready"]),
    ("chromium", &["chromium"]),
];

/// Returns the target folder, given the folder `OUT_DIR` of this package's build script.
pub fn target(out: &str) -> &Path {
    Path::new(out).ancestors().nth(4).expect("it is PROFILE/build/PACKAGE/out below the target folder")
}

/// Returns the first of a name's files.
///
/// # Errors
/// The first file that is missing.
pub fn find(target: &Path, name: &str) -> Result<PathBuf, PathBuf> {
    let (_, files) = NEEDS.iter().find(|need| need.0 == name).unwrap_or_else(|| panic!("nothing is called '{name}'"));
    let on_path = |file: &str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(file).is_file())
    };
    let there = |file: &str| target.join(file).exists() || !file.contains('/') && on_path(file);
    match files.iter().find(|file| !there(file)) {
        Some(missing) => Err(target.join(missing)),
        None => Ok(target.join(files[0])),
    }
}
