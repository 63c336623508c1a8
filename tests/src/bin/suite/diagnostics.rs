//! Invalid programs: an error on every line where the suite expects one, and on no other line.
//!
//! Where a file's `RUN` lines name a pass of Shardy's that corresponds to one of ours, ours runs.

use std::collections::BTreeSet;

use dialect::diagnostic::{Diagnostics, Severity};
use passes::{Registry, Step};

use crate::programs;
use crate::report::Outcome;

/// Shardy's passes, with our passes that find the same faults.
static PASSES: &[(&str, &str)] = &[
    ("-sdy-import-func-calls", "import"),
    ("-sdy-manual-axes-cleanup", "import"),
    ("-sdy-sharding-group-import", "propagate"),
    ("-sdy-populate-op-sharding-rules", "propagate"),
    ("-sdy-basic-propagate", "propagate{propagation-strategy=basic run-op-priority-propagation=false}"),
    ("-sdy-verify-unreduced-axes", "plan"),
    ("-sdy-insert-explicit-reshards", "plan"),
    ("-sdy-convert-global-to-local", "partition"),
];

/// Returns one outcome for each expected line, and a failure for each program with an error on another line.
pub(crate) fn same_lines(text: &str) -> Vec<Outcome> {
    let run: String = text.lines().filter(|l| l.contains("RUN:")).collect();
    let ours = PASSES.iter().find(|p| run.contains(p.0)).map_or("", |p| p.1);
    let Ok(steps) = Registry::standard().parse(ours) else { return vec![Outcome::failed("no such passes", ours)] };
    let pieces = programs(text).into_iter().filter(|p| p.1.contains("expected-"));
    let named = |piece: &str| if matches!(ours, "plan" | "partition") { with_main(piece) } else { piece.to_owned() };
    pieces.flat_map(|(first, piece)| one(first, &named(piece), &steps)).collect()
}

fn one(first: usize, text: &str, steps: &[Step]) -> Vec<Outcome> {
    let wanted =
        [(Severity::Error, wanted(text, "expected-error")), (Severity::Warning, wanted(text, "expected-warning"))];
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    // As in MLIR, a program is verified only if it could be parsed.
    if !diagnostics.has_errors() {
        diagnostics.append(passes::run_passes(&mut program, steps, &mut |_, _| {}).diagnostics);
    }
    // A program with an unknown op is reported only for that reason.
    if let Some(d) = diagnostics.iter().find(|d| d.code == dialect::codes::UNKNOWN_OP && d.severity == Severity::Error)
    {
        return vec![Outcome::failed(&d.message, format!("line {first}"))];
    }
    let mut outcomes = Vec::new();
    for (severity, lines) in wanted {
        let found: Vec<(usize, &str)> = diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .map(|d| {
                let at = d.labels.first().map_or(0, |l| l.0.start as usize).min(text.len());
                (text[..at].matches('\n').count(), d.message.as_str())
            })
            .collect();
        for (line, message) in &lines {
            let at = format!("line {}: {message}", first + line + 1);
            outcomes.push(match found.iter().any(|f| f.0 == *line) {
                true => Outcome::Passed,
                false => match found.first() {
                    None => Outcome::failed("accepted", at),
                    Some(f) => Outcome::failed("on another line", format!("{at}; line {}: {}", first + f.0 + 1, f.1)),
                },
            });
        }
        let known: BTreeSet<usize> = lines.iter().map(|l| l.0).collect();
        if let Some(extra) = found
            .iter()
            .find(|f| !known.contains(&f.0))
            .filter(|_| known.iter().all(|k| found.iter().any(|f| f.0 == *k)))
        {
            outcomes.push(Outcome::failed("refused too", format!("line {}: {}", first + extra.0 + 1, extra.1)));
        }
    }
    outcomes
}

/// Renames a program's only function to the name that passes over a single function expect.
fn with_main(text: &str) -> String {
    const FUNCTION: &str = "func.func @";
    let mut names = text.match_indices(FUNCTION).map(|(at, _)| at + FUNCTION.len());
    match (names.next(), names.next()) {
        (Some(at), None) => {
            let end = text[at..].find('(').map_or(at, |n| at + n);
            format!("{}main{}", &text[..at], &text[end..])
        }
        _ => text.to_owned(),
    }
}

/// Returns the lines, from 0, on which comments with `word` expect a diagnostic, and its text.
fn wanted(text: &str, word: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let plain = |n: usize| !lines[n].contains("expected-");
    for (number, line) in lines.iter().enumerate() {
        let mut rest = *line;
        while let Some(at) = rest.find(word) {
            rest = &rest[at + word.len()..];
            let Some((place, message)) = rest.split_once("{{") else { break };
            let place = place.trim().trim_end_matches("-re").trim_start_matches("-re").trim();
            let target = match place.strip_prefix('@') {
                // The nearest line without an expectation.
                Some("above") => (0..number).rev().find(|&n| plain(n)),
                Some("below") => (number + 1..lines.len()).find(|&n| plain(n)),
                Some(by) => by.trim().parse::<isize>().ok().and_then(|by| number.checked_add_signed(by)),
                None => Some(number),
            };
            let message = message.split("}}").next().unwrap_or_default();
            found.extend(target.map(|t| (t, message.to_owned())));
        }
    }
    found
}
