//! Compares our propagation with Shardy's, on random programs, on programs in a folder or on Shardy's own tests.
//!
//! `propagation --python PYTHON --from SEED --to SEED [--jobs N] [--keep DIR]`
//! `propagation --python PYTHON --programs DIR [--keep DIR]`
//! `propagation --python PYTHON --shardy CHECKOUT`
//!
//! Prints the number of programs with the same shardings, the first differing line of each other program, Shardy's
//! reasons for rejecting programs, and the number of occurrences of each op. `--keep` writes each program that differs,
//! with Shardy's listing and ours.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use shardc_tests::propagation::{self, Comparison};

/// The number of seeds that one oracle process handles at a time.
const CHUNK: u64 = 250;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let number = |name: &str| value(name).and_then(|v| v.parse::<u64>().ok());
    if let (Some(python), Some(checkout)) = (value("--python"), value("--shardy")) {
        return shardy_tests(Path::new(python), Path::new(checkout));
    }
    let Some(python) = value("--python").map(Path::new) else { return usage() };
    let all = match (value("--programs"), number("--from"), number("--to")) {
        (Some(folder), ..) => propagation::programs(python, Path::new(folder)),
        (_, Some(from), Some(to)) => random(python, from, to, number("--jobs").unwrap_or(1)),
        _ => return usage(),
    };
    for difference in &all.different {
        println!("{}: {}", difference.name, difference.what);
        if let Some(folder) = value("--keep") {
            let path = Path::new(folder).join(&difference.name);
            let write =
                |end: &str, text: &str| std::fs::write(path.with_extension(end), text).expect("the folder is there");
            write("mlir", &difference.program);
            write("expected", &difference.expected);
            write("found", &difference.found);
        }
    }
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, reason) in &all.refused {
        let without_places = reason.chars().filter(|c| !c.is_ascii_digit() && *c != '\n').collect();
        reasons.entry(without_places).or_default().push(name);
    }
    for (reason, names) in &reasons {
        println!("refused by Shardy: {} ({}, …): {reason}", names.len(), names[0]);
    }
    println!("{} kinds of ops:", all.ops.len());
    for (name, count) in &all.ops {
        println!("  {count:8} {name}");
    }
    println!(
        "{} of {} programs as Shardy has them, {} refused by Shardy",
        all.equal,
        all.compared(),
        all.refused.len()
    );
    u8::from(!all.different.is_empty()).into()
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: propagation --python PYTHON (--shardy CHECKOUT | --programs DIR | --from SEED --to SEED [--jobs N]) [--keep DIR]"
    );
    2.into()
}

/// Compares the functions of Shardy's tests and lists those that differ.
fn shardy_tests(python: &Path, checkout: &Path) -> ExitCode {
    let functions = match propagation::shardy_tests(python, checkout) {
        Ok(functions) => functions,
        Err(error) => {
            eprintln!("{}: {error}", checkout.display());
            return 2.into();
        }
    };
    let differ: Vec<_> = functions.iter().filter_map(|f| Some((&f.name, f.difference.as_ref()?))).collect();
    for (name, what) in &differ {
        println!("{name}: {what}");
    }
    println!("{} of {} functions as Shardy has them", functions.len() - differ.len(), functions.len());
    u8::from(!differ.is_empty()).into()
}

fn random(python: &Path, from: u64, to: u64, jobs: u64) -> Comparison {
    let next = AtomicU64::new(from);
    let work = || {
        let mut all = Comparison::default();
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            if first >= to {
                return all;
            }
            all.append(propagation::random(python, first..to.min(first + CHUNK)));
        }
    };
    let mut all = Comparison::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            all.append(thread.join().expect("a job ends"));
        }
    });
    all
}
