//! Rereading: MLIR (in jaxlib) parses our output to the same module as the original text.

use std::path::Path;

use serde_json::json;
use shardc_tests::oracle;

use crate::programs;
use crate::report::{Outcome, Report};
use crate::text::{GENERIC, load};

/// Checks all files at once with jaxlib under `python`.
pub(crate) fn files(python: &Path, files: &[(String, String)]) -> Report {
    let (mut cases, mut report) = (Vec::new(), Report::default());
    for (name, text) in files {
        for (_, piece) in programs(text).into_iter().filter(|p| !p.1.contains("expected-error")) {
            match load(piece) {
                Ok(program) => {
                    let generic =
                        dialect::print_with(&program, dialect::text::PrintOptions { locations: false, ..GENERIC });
                    let prints = json!({"short": dialect::print(&program), "generic": generic});
                    cases.push(json!({"name": name, "original": piece, "prints": prints}));
                }
                // The part that tests text reports it.
                Err(_) => report.add(name, vec![Outcome::Skipped]),
            }
        }
    }
    let count = cases.len();
    let (verdicts, said) = oracle::judge(python, "reread.py", cases.into_iter());
    for v in &verdicts {
        let outcome = match v["error"].as_str() {
            None => Outcome::Passed,
            Some(e) if e.starts_with("skipped") => Outcome::Skipped,
            Some(e) => {
                let (reason, rest) = e.split_once(':').unwrap_or((e, ""));
                Outcome::failed(reason, rest)
            }
        };
        report.add(v["name"].as_str().unwrap_or("?"), vec![outcome]);
    }
    if verdicts.len() < count {
        report.add("reread.py", vec![Outcome::failed("stopped early", said)]);
    }
    report
}
