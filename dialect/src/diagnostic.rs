//! Diagnostics as plain data: the dialect and the passes create them, the `shardc` crate renders them.

use crate::codes::Code;

/// A byte range of the source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns whether it is empty, because a pass made the op or value.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program can't be compiled.
    Error,
    /// The program compiles, but probably not as its author intends.
    Warning,
    /// Information that the user requested.
    Remark,
}

impl Severity {
    /// Returns `error`, `warning` or `remark`.
    pub fn text(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        }
    }
}

/// One message with the spans that it refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The kind of error.
    pub code: Code,
    /// What was expected and found; lower case, no full stop.
    pub message: String,
    /// The spans; the first is the primary one. A label's text may be empty.
    pub labels: Vec<(Span, String)>,
    /// How to fix it.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// Creates an error about `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        let labels = vec![(span, String::new())];
        Self { severity: Severity::Error, code, message: message.into(), labels, notes: Vec::new() }
    }

    /// Creates a warning about `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// Creates a remark about `span`, which has no code.
    pub fn remark(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Remark, ..Self::error(Code::NONE, span, message) }
    }

    /// Sets the text of the primary span.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.1 = text.into();
        }
        self
    }

    /// Adds another span.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        if !span.is_empty() {
            self.labels.push((span, text.into()));
        }
        self
    }

    /// Adds how to fix it.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}

/// The diagnostics of one run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    dropped: usize,
}

impl Diagnostics {
    /// The largest number of stored diagnostics; further ones are only counted.
    pub const LIMIT: usize = 100;

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < Self::LIMIT {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Iterates over all diagnostics in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Returns the number of diagnostics beyond [`Diagnostics::LIMIT`].
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Returns whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Returns whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends all diagnostics of `other`.
    pub fn append(&mut self, other: Diagnostics) {
        self.dropped += other.dropped;
        for d in other.list {
            self.push(d);
        }
    }
}
