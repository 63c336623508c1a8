//! Diagnostics about a program, usable without the source text: each has file, line, column and range.

use std::fmt;
use std::ops::Range;

use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use serde::{Serialize, Serializer};

pub use dialect::diagnostic::Severity;

use crate::source::Source;

/// One message with the places that it refers to. Serialized, it is an entry of `diagnostics` in `--json` output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Error, warning or remark.
    #[serde(serialize_with = "severity")]
    pub severity: Severity,
    /// The stable name of the kind of fault, explained in [`dialect::codes`]; empty for remarks.
    pub code: &'static str,
    /// The message: what was expected and what was found.
    pub message: String,
    /// The primary place; `None` if the message doesn't refer to a place in the text.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// Labels, each at its place; the first is the primary one.
    #[serde(skip)]
    pub labels: Vec<Label>,
    /// Suggestions for a fix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The byte range in the text.
    #[serde(skip)]
    pub range: Range<usize>,
}

/// A label at a place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Label {
    /// The byte range in the text; `None` if the label doesn't refer to a place in the text.
    pub range: Option<Range<usize>>,
    /// The label's text, which may be empty.
    pub text: String,
}

fn severity<S: Serializer>(severity: &Severity, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(severity.text())
}

impl Diagnostic {
    /// Converts a diagnostic of the compiler, with its place in `source`.
    pub fn new(source: &Source, plain: &Plain) -> Self {
        let range = |span: Span| source.contains(span).then_some(span.start as usize..span.end as usize);
        let label = |(span, text): &(Span, String)| Label { range: range(*span), text: text.clone() };
        let labels: Vec<Label> = plain.labels.iter().map(label).collect();
        let place = labels.first().and_then(|l| l.range.clone()).map(|range| {
            let (line, column) = source.position(range.start);
            Place { file: source.name.clone(), line, column, range }
        });
        let (message, notes) = (plain.message.clone(), plain.notes.clone());
        Self { severity: plain.severity, code: plain.code.name(), message, place, labels, notes }
    }
}

/// `model.mlir:4:10: error[unknown-op]: there is no op …`
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, column, .. }) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        f.write_str(self.severity.text())?;
        if !self.code.is_empty() {
            write!(f, "[{}]", self.code)?;
        }
        write!(f, ": {}", self.message)?;
        self.labels.iter().filter(|l| !l.text.is_empty()).try_for_each(|l| write!(f, "\n  {}", l.text))?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

/// The diagnostics of a step of a compilation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    /// The diagnostics, in the order in which they were found.
    pub list: Vec<Diagnostic>,
    /// The number of diagnostics dropped because there were too many.
    pub dropped: usize,
}

impl Diagnostics {
    /// Converts diagnostics of the compiler, with their places in `source`.
    pub fn new(source: &Source, plain: &Plains) -> Self {
        Self { list: plain.iter().map(|d| Diagnostic::new(source, d)).collect(), dropped: plain.dropped() }
    }

    /// Returns whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Returns an iterator over all diagnostics.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Appends the diagnostics of a later step.
    pub fn append(&mut self, later: Diagnostics) {
        self.list.extend(later.list);
        self.dropped += later.dropped;
    }
}

/// One diagnostic per line, each followed by its notes, indented.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|d| writeln!(f, "{d}"))?;
        if self.dropped > 0 { writeln!(f, "… and {} more", self.dropped) } else { Ok(()) }
    }
}

impl std::error::Error for Diagnostics {}

/// The result of a step of a compilation, with all its diagnostics.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome<T> {
    /// The result; `None` if there were errors.
    pub value: Option<T>,
    /// Errors, warnings and remarks.
    pub diagnostics: Diagnostics,
}

impl<T> Outcome<T> {
    /// Returns the result of a step, with its diagnostics about `source`.
    pub fn new(source: &Source, value: Option<T>, found: &Plains) -> Self {
        Self { value, diagnostics: Diagnostics::new(source, found) }
    }

    /// Returns the outcome of a step that returns either a value or errors.
    pub fn of(source: &Source, result: Result<T, Plains>) -> Self {
        match result {
            Ok(value) => Self { value: Some(value), diagnostics: Diagnostics::default() },
            Err(found) => Self::new(source, None, &found),
        }
    }

    /// Returns the value, or the diagnostics if there is none. Warnings that come with a value are dropped.
    pub fn into_result(self) -> Result<T, Diagnostics> {
        self.value.ok_or(self.diagnostics)
    }

    /// Runs the next step on the value and collects the diagnostics of both.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Outcome<U>) -> Outcome<U> {
        let mut diagnostics = self.diagnostics;
        let value = self.value.and_then(|value| {
            let outcome = next(value);
            diagnostics.append(outcome.diagnostics);
            outcome.value
        });
        Outcome { value, diagnostics }
    }

    /// Transforms the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        Outcome { value: self.value.map(change), diagnostics: self.diagnostics }
    }
}

/// Returns a list of one diagnostic.
pub(crate) fn one(d: Plain) -> Plains {
    let mut all = Plains::default();
    all.push(d);
    all
}
