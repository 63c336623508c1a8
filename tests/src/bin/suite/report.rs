//! Counts of passed cases, and failures grouped by reason.

use std::collections::BTreeMap;

/// The outcome of one case.
pub(crate) enum Outcome {
    Passed,
    /// The case doesn't apply.
    Skipped,
    /// The reason, which groups failures, and details.
    Failed(String, String),
}

impl Outcome {
    pub(crate) fn failed(reason: impl Into<String>, particulars: impl Into<String>) -> Self {
        Outcome::Failed(reason.into(), particulars.into())
    }
}

/// The outcomes of a part.
#[derive(Default)]
pub(crate) struct Report {
    passed: usize,
    skipped: usize,
    /// For each reason, the files with case numbers, and details.
    failed: BTreeMap<String, Vec<(String, String)>>,
}

impl Report {
    pub(crate) fn add(&mut self, file: &str, outcomes: Vec<Outcome>) {
        for (i, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Outcome::Passed => self.passed += 1,
                Outcome::Skipped => self.skipped += 1,
                Outcome::Failed(reason, particulars) => {
                    self.failed.entry(general(&reason)).or_default().push((format!("{file}#{i}"), particulars));
                }
            }
        }
    }

    pub(crate) fn append(&mut self, other: Report) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        for (reason, mut cases) in other.failed {
            self.failed.entry(reason).or_default().append(&mut cases);
        }
    }

    pub(crate) fn failures(&self) -> usize {
        self.failed.values().map(Vec::len).sum()
    }

    /// Prints the counts, then the groups of failures, largest first, with three cases of each unless `all` is set.
    pub(crate) fn print(&self, name: &str, files: usize, all: bool) {
        let total = self.passed + self.failures();
        println!("{name}: {} of {total} cases in {files} files pass, {} not asked", self.passed, self.skipped);
        let mut groups: Vec<_> = self.failed.iter().collect();
        groups.sort_by_key(|g| std::cmp::Reverse(g.1.len()));
        for (reason, cases) in groups {
            println!("  {:4} {reason}", cases.len());
            let mut cases: Vec<_> = cases.iter().collect();
            cases.sort();
            for (case, particulars) in cases.iter().take(if all { usize::MAX } else { 3 }) {
                println!("         {case}  {particulars}");
            }
        }
    }
}

/// Replaces numbers in the reason by `N`, so that similar cases have the same reason.
fn general(reason: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    let mut before = ' ';
    for c in reason.chars() {
        let digit = c.is_ascii_digit() && (in_number || !before.is_ascii_alphanumeric());
        if !digit {
            out.push(c);
        } else if !in_number {
            out.push('N');
        }
        in_number = digit;
        before = c;
    }
    out
}
