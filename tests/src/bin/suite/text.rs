//! Parsing and printing: in every form, the printed text parses, prints as the same bytes, and is valid.

use dialect::diagnostic::{Diagnostics, Severity};
use dialect::ir::Program;
use dialect::text::PrintOptions;

use crate::programs;
use crate::report::Outcome;

const LOCATIONS: PrintOptions =
    PrintOptions { locations: true, generic: false, causes: true, group_axes: true, local_scope: false };
pub(crate) const GENERIC: PrintOptions =
    PrintOptions { locations: true, generic: true, causes: true, group_axes: true, local_scope: false };

/// Returns one outcome for each program of the file; programs that must be rejected are skipped.
pub(crate) fn round_trip(text: &str) -> Vec<Outcome> {
    // Sections between lines of `//--- name` are not complete programs until a pass adds to them.
    let parts = text.contains("\n//--- ");
    let pieces = programs(text).into_iter().flat_map(|p| p.1.split("\n//--- "));
    let pieces = pieces.map(|piece| match piece.contains("expected-error") {
        true => Outcome::Skipped,
        false if parts => one(&format!("//--- {piece}"), read).unwrap_or_else(|failed| failed),
        false => one(piece, load).unwrap_or_else(|failed| failed),
    });
    pieces.collect()
}

/// Parses and verifies a program; returns errors as a failed outcome.
pub(crate) fn load(text: &str) -> Result<Program, Outcome> {
    let program = read(text)?;
    let mut diagnostics = Diagnostics::default();
    dialect::verify(&program, &mut diagnostics);
    first_error("verify", text, &diagnostics)?;
    Ok(program)
}

fn read(text: &str) -> Result<Program, Outcome> {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    first_error("parse", text, &diagnostics)?;
    Ok(program)
}

fn first_error(step: &str, text: &str, diagnostics: &Diagnostics) -> Result<(), Outcome> {
    let Some(d) = diagnostics.iter().find(|d| d.severity == Severity::Error) else { return Ok(()) };
    let at = d.labels.first().map_or(0, |l| l.0.start as usize).min(text.len());
    let line = text[..at].matches('\n').count() + 1;
    Err(Outcome::failed(format!("{step}: {}", d.message), format!("line {line}")))
}

fn one(text: &str, load: impl Fn(&str) -> Result<Program, Outcome>) -> Result<Outcome, Outcome> {
    let program = load(text)?;
    let plain = dialect::print(&program);
    let wrong = |step: &str, a: &str, b: &str| Outcome::failed(format!("print: {step}"), difference(a, b));
    let again = load(&plain)?;
    let second = dialect::print(&again);
    if second != plain {
        return Err(wrong("the second print differs from the first", &plain, &second));
    }
    let located = dialect::print_with(&program, LOCATIONS);
    let again = load(&located)?;
    let second = dialect::print_with(&again, LOCATIONS);
    if second != located {
        return Err(wrong("the second print differs from the first, with locations", &located, &second));
    }
    let generic = dialect::print_with(&program, GENERIC);
    let again = load(&generic)?;
    let second = dialect::print_with(&again, LOCATIONS);
    if second != located {
        return Err(wrong("the generic form reads as another program", &located, &second));
    }
    Ok(Outcome::Passed)
}

/// Returns the first line in which two texts differ.
fn difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    let short = |s: &str| s.trim().chars().take(200).collect::<String>();
    lines.map_or("one is longer".to_owned(), |(a, b)| format!("\n           {}\n           {}", short(a), short(b)))
}
