//! Propagation must give the results of Shardy's propagation: the same ops except for constants, the same shardings.
//!
//! Shardy itself made the expected listings (`tests/oracles/propagate.py` describes how, and the format): those of the
//! programs in `tests/corpus` are in `corpus`, others follow the program in the same file.

// The name that `listing.rs` shares with the package of tests.
extern crate shardc_passes as passes;

#[allow(dead_code, reason = "the comparison with Shardy's own tests, in another package, reads more of it")]
mod listing;

use std::fs;
use std::path::{Path, PathBuf};

use listing::difference;
use passes::propagate::PropagateOptions;

/// The separator between a program and its listing.
const EXPECTED: &str = "// expected\n";

fn listing_of(name: &str, text: &str) -> String {
    listing::listing_of(text, &PropagateOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn report(differences: &[String], count: usize) {
    assert!(count > 0, "no programs found");
    let equal = count - differences.len();
    assert!(differences.is_empty(), "{equal} of {count} programs as Shardy has them; not:\n{}", differences.join("\n"));
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn corpus_as_shardy() {
    let listings = files("tests/propagate/corpus", "txt");
    let mut differences = Vec::new();
    for path in &listings {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus").join(name).join("program.mlir");
        let found = listing_of(name, &fs::read_to_string(&program).unwrap());
        let expected = fs::read_to_string(path).unwrap();
        differences.extend(difference(&found, &expected).map(|d| format!("{name}: {d}")));
    }
    report(&differences, listings.len());
}

fn programs_as_shardy(folder: &str) {
    let programs = files(folder, "mlir");
    let mut differences = Vec::new();
    for path in &programs {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let (program, expected) = text.split_once(EXPECTED).unwrap_or_else(|| panic!("{name} has no listing"));
        let expected: String = expected
            .lines()
            .map(|l| l.strip_prefix("//").unwrap_or(l))
            .fold(String::new(), |text, line| text + line.strip_prefix(' ').unwrap_or(line) + "\n");
        let found = listing_of(name, program);
        differences.extend(difference(&found, &expected).map(|d| format!("{name}: {d}")));
    }
    report(&differences, programs.len());
}

#[test]
fn layers_as_shardy() {
    programs_as_shardy("tests/propagate/layers");
}

#[test]
fn random_programs_as_shardy() {
    programs_as_shardy("tests/propagate/random");
}
