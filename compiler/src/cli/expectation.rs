//! `--verify-diagnostics`: comments that state which diagnostics a program must give, in the syntax of MLIR's tests.
//!
//! `// expected-error@+1 {{text}}` expects an error on the next line whose message contains `text`. `@-1`, `@above`,
//! `@below` and `@unknown` (no place) work too; `expected-warning`, `expected-remark` and `expected-note` likewise.
//! `@above` and `@below` skip lines with other expectations. In `expected-error-re {{text {{[0-9]+}}}}` the inner
//! braces contain a regular expression. A note is a label or a note of any diagnostic.

use std::ops::Range;

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};

use regex::Regex;

use crate::{Diagnostic, Diagnostics, Severity, Source};

/// The diagnostics that must be expected.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unexpected {
    /// All of them
    All,
    /// None: only what is expected is looked for
    OnlyExpected,
}

/// One expected diagnostic.
struct Expectation {
    severity: ExpectedKind,
    /// Line in the source, from 0; `None` for a diagnostic without a place.
    line: Option<usize>,
    text: String,
    /// The pattern of the message, if the text contains regular expressions.
    pattern: Option<Regex>,
    span: Span,
}

impl Expectation {
    fn is(&self, message: &str) -> bool {
        self.pattern.as_ref().map_or_else(|| message.contains(&self.text), |pattern| pattern.is_match(message))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExpectedKind {
    Is(Severity),
    Note,
}

/// Compares the diagnostics with those that comments expect. Returns the missing and unexpected ones.
pub(crate) fn compare(source: &Source, found: &Diagnostics, unexpected: Unexpected) -> Diagnostics {
    let mut wrong = Diagnostics::default();
    let mut wanted = Vec::new();
    // The last line without an expectation, and the expectations about the next such line.
    let (mut plain, mut below) = (None, Vec::new());
    for line in 0..source.line_count() {
        if !read_line(source, line, plain, &mut wanted, &mut below, &mut wrong) {
            plain = Some(line);
            for i in below.drain(..) {
                let wanted: &mut Expectation = &mut wanted[i];
                wanted.line = Some(line);
            }
        }
    }
    let mut used = vec![false; wanted.len()];
    for d in found.iter() {
        let line = place(source, d);
        let hit = (0..wanted.len()).find(|&i| {
            !used[i]
                && wanted[i].severity == ExpectedKind::Is(d.severity)
                && wanted[i].line == line
                && wanted[i].is(&d.message)
        });
        match hit {
            Some(i) => used[i] = true,
            None if unexpected == Unexpected::OnlyExpected => {}
            None => wrong
                .list
                .push(Diagnostic { message: format!("unexpected {}: {}", d.severity.text(), d.message), ..d.clone() }),
        }
    }
    for (want, used) in wanted.iter().zip(used) {
        let noted = want.severity == ExpectedKind::Note && found.iter().any(|d| has_note(source, d, want));
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
    labels.chain(notes).any(|(line, text)| line == want.line && want.is(text))
}

/// Returns the line of a diagnostic, from 0.
fn place(source: &Source, d: &Diagnostic) -> Option<usize> {
    d.place.as_ref().map(|p| source.line_index(p.range.start))
}

/// Adds the expectations in the comments of one line to `wanted`, and returns whether there are any. `above` is the
/// last line without one. Expectations about the next such line are also added to `below`.
fn read_line(
    source: &Source,
    line: usize,
    above: Option<usize>,
    wanted: &mut Vec<Expectation>,
    below: &mut Vec<usize>,
    wrong: &mut Diagnostics,
) -> bool {
    let range = source.line(line);
    let text = &source.text[range.clone()];
    let (mut at, mut any) = (0, false);
    while let Some(found) = text[at..].find("expected-") {
        let start = at + found;
        let rest = &text[start + "expected-".len()..];
        let span = Span::new(range.start + start, range.start + text.len());
        at = start + "expected-".len();
        let kinds = [
            ("error", ExpectedKind::Is(Severity::Error)),
            ("warning", ExpectedKind::Is(Severity::Warning)),
            ("remark", ExpectedKind::Is(Severity::Remark)),
            ("note", ExpectedKind::Note),
        ];
        let Some((word, severity)) = kinds.into_iter().find(|(w, _)| rest.starts_with(w)) else { continue };
        any = true;
        let rest = &rest[word.len()..];
        let (is_pattern, rest) = rest.strip_prefix("-re").map_or((false, rest), |rest| (true, rest));
        let Some((offset, inside)) = read_rest(rest) else {
            let message = "expected 'expected-error', an optional place such as '@+1', then '{{text}}'";
            push(source, wrong, span, message.to_owned());
            continue;
        };
        let pattern = match is_pattern.then(|| pattern(inside)).transpose() {
            Ok(pattern) => pattern,
            Err(fault) => {
                // The fault's other lines repeat the expression.
                let fault = fault.to_string();
                let fault = fault.lines().last().unwrap_or_default().trim_start_matches("error: ");
                push(source, wrong, span, format!("the regular expression can't be read: {fault}"));
                continue;
            }
        };
        let line = match offset {
            Offset::Unknown => None,
            Offset::Lines(n) => usize::try_from(line as i64 + n).ok(),
            Offset::Above => above,
            Offset::Below => {
                below.push(wanted.len());
                None
            }
        };
        wanted.push(Expectation { severity, line, text: inside.to_owned(), pattern, span });
        // Skip the braces: they contain no expectation.
        at = inside.as_ptr() as usize - text.as_ptr() as usize + inside.len();
    }
    any
}

enum Offset {
    Lines(i64),
    Above,
    Below,
    Unknown,
}

/// Parses `@+1 {{text}}`; the text may contain pairs of braces.
fn read_rest(rest: &str) -> Option<(Offset, &str)> {
    let (place, text) = rest.split_once("{{")?;
    let (mut depth, mut at) = (1, 0);
    let end = loop {
        let next = text[at..].find(['{', '}']).map(|n| at + n)?;
        let step = match &text[next..] {
            t if t.starts_with("{{") => 1,
            t if t.starts_with("}}") => -1,
            _ => 0,
        };
        depth += step;
        if depth == 0 {
            break next;
        }
        at = next + if step == 0 { 1 } else { 2 };
    };
    // If the text ends with three braces, the first belongs to the text.
    let end = end + text[end..].len() - text[end..].trim_start_matches('}').len() - 2;
    let text = &text[..end];
    let offset = match place.trim() {
        "" => Offset::Lines(0),
        "@above" => Offset::Above,
        "@below" => Offset::Below,
        "@unknown" => Offset::Unknown,
        other => Offset::Lines(other.strip_prefix('@')?.parse().ok()?),
    };
    Some((offset, text))
}

/// Converts `text {{expression}} text` to a regular expression.
fn pattern(text: &str) -> Result<Regex, regex::Error> {
    let (mut pattern, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}").unwrap_or((after, ""));
        pattern += &format!("{}(?:{inside})", regex::escape(before));
        rest = after;
    }
    Regex::new(&(pattern + &regex::escape(rest)))
}

fn kind_word(kind: ExpectedKind) -> &'static str {
    match kind {
        ExpectedKind::Is(severity) => severity.text(),
        ExpectedKind::Note => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages of the mismatches when an error `bad type` with the note `like this` is found at `at`.
    fn check(text: &str, at: usize) -> Vec<String> {
        let source = Source::new("a", text);
        let found = Plain::error(codes::OPERAND_TYPE, Span::new(at, at + 1), "bad type").note("like this");
        let found = Diagnostics { list: vec![Diagnostic::new(&source, &found)], dropped: 0 };
        compare(&source, &found, Unexpected::All).iter().map(|d| d.message.clone()).collect()
    }

    #[test]
    fn expected_errors_are_accepted() {
        assert_eq!(check("xx // expected-error {{bad}}", 1), [""; 0]);
        assert_eq!(check("// expected-error@+1 {{type}}\nxx", 30), [""; 0]);
        assert_eq!(check("xx\n// expected-error@above {{bad}} expected-note@-1 {{like}}", 1), [""; 0]);
    }

    #[test]
    fn missing_and_unexpected_diagnostics_are_reported() {
        assert_eq!(check("xx", 1), ["unexpected error: bad type"]);
        let both = ["unexpected error: bad type", "expected error \"good\" was not produced"];
        assert_eq!(check("xx // expected-error {{good}}", 1), both);
        let both = ["unexpected error: bad type", "expected warning \"bad\" was not produced"];
        assert_eq!(check("xx // expected-warning {{bad}}", 1), both);
        assert_eq!(check("xx // expected-error {bad}", 1).len(), 2);
    }

    #[test]
    fn above_and_below_look_past_other_expectations() {
        assert_eq!(check("xx\n// expected-note@above {{like}}\n// expected-error@above {{bad}}", 1), [""; 0]);
        assert_eq!(check("// expected-error@below {{bad}}\n// expected-note @below {{this}}\nxx", 65), [""; 0]);
        let both = ["unexpected error: bad type", "expected error \"bad\" was not produced"];
        assert_eq!(check("// expected-error@below {{bad}}\n\nxx", 34), both);
    }

    #[test]
    fn regular_expressions_are_written_in_double_braces() {
        assert_eq!(check("xx // expected-error-re {{b{{[a-c]+}}d ty{{.*}}}}", 1), [""; 0]);
        assert_eq!(check("xx // expected-error-re {{b{{[a-c]+}}d}} // {{", 1), [""; 0]);
        let both = ["unexpected error: bad type", "expected error \"b.d\" was not produced"];
        assert_eq!(check("xx // expected-error-re {{b.d}}", 1), both);
        let wrong = check("xx // expected-error-re {{b{{(}}d}}", 1);
        assert!(wrong[0].starts_with("the regular expression can't be read"), "{wrong:?}");
    }

    #[test]
    fn unexpected_diagnostics_are_ignored_on_request() {
        let source = Source::new("a", "xx");
        let found = Plain::error(codes::OPERAND_TYPE, Span::new(1, 2), "bad type");
        let found = Diagnostics { list: vec![Diagnostic::new(&source, &found)], dropped: 0 };
        assert_eq!(compare(&source, &found, Unexpected::OnlyExpected), Diagnostics::default());
    }
}
