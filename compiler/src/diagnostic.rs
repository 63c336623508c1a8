//! What is said about a program, as data that needs no source text at hand: file, line, column, range.

use std::fmt;
use std::ops::Range;

use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use serde::{Serialize, Serializer};

pub use dialect::diagnostic::Severity;

use crate::source::Source;

/// One message with the places it is about. Serialized, it is an entry of `diagnostics` of `--json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    #[serde(serialize_with = "severity")]
    pub severity: Severity,
    /// The stable name of the kind of fault, which [`dialect::codes`] explains; empty for remarks.
    pub code: &'static str,
    /// What was expected and found.
    pub message: String,
    /// Where; `None` where it is about no place of the text.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// What is said at each place; the first is the primary one.
    #[serde(skip)]
    pub labels: Vec<Label>,
    /// How to mend it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// The name the text was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the text.
    #[serde(skip)]
    pub range: Range<usize>,
}

/// Something said at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The bytes of the text; `None` where it is about no place of it.
    pub range: Option<Range<usize>>,
    /// What is said there; may be empty.
    pub text: String,
}

fn severity<S: Serializer>(severity: &Severity, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word(*severity))
}

/// `error`, `warning`, `remark`
pub(crate) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Remark => "remark",
    }
}

impl Diagnostic {
    /// What was found in `source`, with its place.
    pub(crate) fn new(source: &Source, plain: &Plain) -> Self {
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
        f.write_str(word(self.severity))?;
        if !self.code.is_empty() {
            write!(f, "[{}]", self.code)?;
        }
        write!(f, ": {}", self.message)?;
        self.labels.iter().filter(|l| !l.text.is_empty()).try_for_each(|l| write!(f, "\n  {}", l.text))?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

/// What a step of a compilation has to say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    /// In the order they were found.
    pub list: Vec<Diagnostic>,
    /// How many more were found than are kept.
    pub dropped: usize,
}

impl Diagnostics {
    /// What was found in `source`.
    pub fn new(source: &Source, plain: &Plains) -> Self {
        Self { list: plain.iter().map(|d| Diagnostic::new(source, d)).collect(), dropped: plain.dropped() }
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Adds those of a later step.
    pub fn append(&mut self, later: Diagnostics) {
        self.list.extend(later.list);
        self.dropped += later.dropped;
    }
}

/// One after another, a line each and what belongs to it indented below.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|d| writeln!(f, "{d}"))?;
        if self.dropped > 0 { writeln!(f, "… and {} more", self.dropped) } else { Ok(()) }
    }
}

impl std::error::Error for Diagnostics {}

/// What a step of a compilation gave, and everything it had to say.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome<T> {
    /// What it gave; `None` where there were errors.
    pub value: Option<T>,
    /// Errors, warnings and remarks.
    pub diagnostics: Diagnostics,
}

impl<T> Outcome<T> {
    /// What a step gave, with what it found in `source`.
    pub(crate) fn new(source: &Source, value: Option<T>, found: &Plains) -> Self {
        Self { value, diagnostics: Diagnostics::new(source, found) }
    }

    /// The same of a step that gives something or errors.
    pub(crate) fn of(source: &Source, result: Result<T, Plains>) -> Self {
        match result {
            Ok(value) => Self { value: Some(value), diagnostics: Diagnostics::default() },
            Err(found) => Self::new(source, None, &found),
        }
    }

    /// What it gave, or why it gave nothing; warnings beside a result are dropped.
    pub fn into_result(self) -> Result<T, Diagnostics> {
        self.value.ok_or(self.diagnostics)
    }

    /// The next step, with what both had to say.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Outcome<U>) -> Outcome<U> {
        let mut diagnostics = self.diagnostics;
        let value = self.value.and_then(|value| {
            let outcome = next(value);
            diagnostics.append(outcome.diagnostics);
            outcome.value
        });
        Outcome { value, diagnostics }
    }

    /// The same with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        Outcome { value: self.value.map(change), diagnostics: self.diagnostics }
    }
}

/// A list of one.
pub(crate) fn one(d: Plain) -> Plains {
    let mut all = Plains::default();
    all.push(d);
    all
}
