//! Our propagation and Shardy's, program by program.

use std::collections::BTreeMap;
use std::path::Path;

use dialect::diagnostic::Diagnostics;
use passes::propagate::PropagateOptions;
use serde_json::{Value, json};

use crate::{listing, oracle};

/// How the programs compared.
#[derive(Default)]
pub struct Comparison {
    /// Programs with the same listing.
    pub equal: usize,
    /// Programs that differ: name, what differs, the program, Shardy's listing.
    pub different: Vec<Difference>,
    /// Programs that Shardy has no answer for: name and its reason.
    pub refused: Vec<(String, String)>,
    /// How many ops of each name stand in the programs that compared.
    pub ops: BTreeMap<String, usize>,
}

/// A program with two answers.
pub struct Difference {
    /// What the case is called.
    pub name: String,
    /// The first line that differs.
    pub what: String,
    /// The program.
    pub program: String,
    /// Shardy's answer.
    pub expected: String,
    /// Ours.
    pub found: String,
}

impl Comparison {
    /// Takes in another comparison.
    pub fn append(&mut self, other: Self) {
        self.equal += other.equal;
        self.different.extend(other.different);
        self.refused.extend(other.refused);
        for (name, count) in other.ops {
            *self.ops.entry(name).or_default() += count;
        }
    }

    /// Programs that Shardy has an answer for.
    pub fn compared(&self) -> usize {
        self.equal + self.different.len()
    }
}

/// Compares the random programs of these seeds.
pub fn random(python: &Path, seeds: std::ops::Range<u64>) -> Comparison {
    compare(python, seeds.map(|seed| json!({ "name": format!("{seed}"), "seed": seed })))
}

/// Asks Shardy for its listings of `cases` (see `oracles/propagate.py`) and compares them with ours.
///
/// # Panics
/// If the oracle doesn't answer every case.
pub fn compare(python: &Path, cases: impl Iterator<Item = Value>) -> Comparison {
    let cases: Vec<Value> = cases.collect();
    let (verdicts, said) = oracle::judge(python, "propagate.py", cases.iter().cloned());
    assert_eq!(verdicts.len(), cases.len(), "the oracle stopped early:\n{said}");
    let mut comparison = Comparison::default();
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        let (name, program) = (text("name"), text("program"));
        if let Some(reason) = verdict["error"].as_str() {
            comparison.refused.push((name, reason.to_owned()));
            continue;
        }
        count_ops(&program, &mut comparison.ops);
        let expected = text("listing");
        let (found, what) = match listing::listing_of(&program, &options(case)) {
            Ok(found) => {
                let what = listing::difference(&found, &expected);
                (found, what)
            }
            Err(error) => (String::new(), Some(error)),
        };
        match what {
            None => comparison.equal += 1,
            Some(what) => comparison.different.push(Difference { name, what, program, expected, found }),
        }
    }
    comparison
}

/// The options a case asks for.
fn options(case: &Value) -> PropagateOptions {
    PropagateOptions { conservative: case["conservative"].as_bool() == Some(true), ..PropagateOptions::default() }
}

fn count_ops(text: &str, counts: &mut BTreeMap<String, usize>) {
    let program = dialect::parse(text, &mut Diagnostics::default());
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        let name = match view.attr("call_target_name") {
            Some(dialect::ir::AttrData::String(target)) => format!("{} @{target}", view.name()),
            _ => view.name().to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
}
