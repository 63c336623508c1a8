//! `--verify-diagnostics`: comments that say which diagnostics a program must give, as MLIR's tests write them.
//!
//! `// expected-error@+1 {{text}}` wants an error on the next line whose message holds `text`. `@-1`, `@above`,
//! `@below` and `@unknown` (no place) work too; `expected-warning`, `expected-remark` and `expected-note` likewise.
//! A note is a label or a note of any diagnostic.

use std::ops::Range;

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};

use crate::{Diagnostic, Diagnostics, Severity, Source};

/// One expected diagnostic.
struct Expectation {
    severity: Kind,
    /// Line in the source, from 0; `None` for a diagnostic without a place.
    line: Option<usize>,
    text: String,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Is(Severity),
    Note,
}

/// Compares the diagnostics with those that comments expect; the result lists missing and unexpected ones.
pub(crate) fn compare(source: &Source, found: &Diagnostics) -> Diagnostics {
    let mut wrong = Diagnostics::default();
    let mut wanted = Vec::new();
    for line in 0..source.line_count() {
        read_line(source, line, &mut wanted, &mut wrong);
    }
    let mut used = vec![false; wanted.len()];
    for d in found.iter() {
        let line = place(source, d);
        let hit = (0..wanted.len()).find(|&i| {
            !used[i]
                && wanted[i].severity == Kind::Is(d.severity)
                && wanted[i].line == line
                && d.message.contains(&wanted[i].text)
        });
        match hit {
            Some(i) => used[i] = true,
            None => wrong
                .list
                .push(Diagnostic { message: format!("unexpected {}: {}", d.severity.text(), d.message), ..d.clone() }),
        }
    }
    for (want, used) in wanted.iter().zip(used) {
        let noted = want.severity == Kind::Note && found.iter().any(|d| has_note(source, d, want));
        if !used && !noted {
            let message = format!("expected {} \"{}\" was not produced", kind_word(want.severity), want.text);
            push(source, &mut wrong, want.span, message);
        }
    }
    wrong
}

fn push(source: &Source, wrong: &mut Diagnostics, span: Span, message: String) {
    wrong.list.push(Diagnostic::new(source, &Plain::error(codes::EXPECTED_DIAGNOSTIC, span, message)));
}

fn has_note(source: &Source, d: &Diagnostic, want: &Expectation) -> bool {
    let line = |range: &Option<Range<usize>>| range.as_ref().map(|r| source.line_index(r.start));
    let labels = d.labels.iter().map(|l| (line(&l.range), &l.text));
    let notes = d.notes.iter().map(|n| (place(source, d), n));
    labels.chain(notes).any(|(line, text)| line == want.line && text.contains(&want.text))
}

/// The line of a diagnostic, from 0.
fn place(source: &Source, d: &Diagnostic) -> Option<usize> {
    d.place.as_ref().map(|p| source.line_index(p.range.start))
}

/// The expectations in the comments of one line.
fn read_line(source: &Source, line: usize, wanted: &mut Vec<Expectation>, wrong: &mut Diagnostics) {
    let range = source.line(line);
    let text = &source.text[range.clone()];
    let mut at = 0;
    while let Some(found) = text[at..].find("expected-") {
        let start = at + found;
        let rest = &text[start + "expected-".len()..];
        let span = Span::new(range.start + start, range.start + text.len());
        at = start + "expected-".len();
        let kinds = [
            ("error", Kind::Is(Severity::Error)),
            ("warning", Kind::Is(Severity::Warning)),
            ("remark", Kind::Is(Severity::Remark)),
            ("note", Kind::Note),
        ];
        let Some((word, severity)) = kinds.into_iter().find(|(w, _)| rest.starts_with(w)) else { continue };
        match read_rest(&rest[word.len()..]) {
            Some((offset, wanted_text)) => {
                let line = match offset {
                    Offset::Unknown => None,
                    Offset::Lines(n) => usize::try_from(line as i64 + n).ok(),
                };
                wanted.push(Expectation { severity, line, text: wanted_text.to_owned(), span });
            }
            None => {
                let message = "expected 'expected-error', '@+1' or another place, then '{{text}}'";
                push(source, wrong, span, message.to_owned());
            }
        }
    }
}

enum Offset {
    Lines(i64),
    Unknown,
}

/// `@+1 {{text}}`
fn read_rest(rest: &str) -> Option<(Offset, &str)> {
    let (place, text) = rest.split_once("{{")?;
    let (text, _) = text.split_once("}}")?;
    let offset = match place.trim() {
        "" => Offset::Lines(0),
        "@above" => Offset::Lines(-1),
        "@below" => Offset::Lines(1),
        "@unknown" => Offset::Unknown,
        other => Offset::Lines(other.strip_prefix('@')?.parse().ok()?),
    };
    Some((offset, text))
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Is(severity) => severity.text(),
        Kind::Note => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of the mismatches when an error `bad type` with the note `like this` is found at `at`.
    fn check(text: &str, at: usize) -> Vec<String> {
        let source = Source::new("a", text);
        let found = Plain::error(codes::OPERAND_TYPE, Span::new(at, at + 1), "bad type").note("like this");
        let found = Diagnostics { list: vec![Diagnostic::new(&source, &found)], dropped: 0 };
        compare(&source, &found).iter().map(|d| d.message.clone()).collect()
    }

    #[test]
    fn a_wanted_error_is_no_error() {
        assert_eq!(check("xx // expected-error {{bad}}", 1), [""; 0]);
        assert_eq!(check("// expected-error@+1 {{type}}\nxx", 30), [""; 0]);
        assert_eq!(check("xx\n// expected-error@above {{bad}} expected-note@-1 {{like}}", 1), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_too_much_is_said() {
        assert_eq!(check("xx", 1), ["unexpected error: bad type"]);
        let both = ["unexpected error: bad type", "expected error \"good\" was not produced"];
        assert_eq!(check("xx // expected-error {{good}}", 1), both);
        let both = ["unexpected error: bad type", "expected warning \"bad\" was not produced"];
        assert_eq!(check("xx // expected-warning {{bad}}", 1), both);
        assert_eq!(check("xx // expected-error {bad}", 1).len(), 2);
    }
}
