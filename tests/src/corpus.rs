//! The programs that JAX printed (`tests/corpus`), with inputs and the results that JAX computed on eight devices.

use std::path::{Path, PathBuf};

/// A program of the corpus.
pub struct Sample {
    /// The name of its folder.
    pub name: String,
    /// The program.
    pub text: String,
}

/// Returns all programs, sorted by name.
///
/// # Panics
/// If the corpus isn't complete.
pub fn samples() -> Vec<Sample> {
    let entries = std::fs::read_dir(folder()).expect("the corpus").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.len() >= 67, "only {} programs", names.len());
    names.iter().map(|name| sample(name)).collect()
}

/// Returns a program by its name.
///
/// # Panics
/// If there is none.
pub fn sample(name: &str) -> Sample {
    let text = std::fs::read_to_string(file(name, "program.mlir")).unwrap_or_else(|error| panic!("{name}: {error}"));
    Sample { name: name.to_owned(), text }
}

/// Returns the path of a program's file: `program.mlir`, `inputs.npz` or `expected.npz`.
pub fn file(name: &str, file: &str) -> PathBuf {
    folder().join(name).join(file)
}

impl Sample {
    /// Returns the path of a file, as an argument of a command.
    pub fn argument(&self, name: &str) -> String {
        file(&self.name, name).to_string_lossy().into_owned()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}
