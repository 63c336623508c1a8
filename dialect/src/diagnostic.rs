//! Diagnostics as plain data: the dialect and the passes fill them, the `shardc` crate renders them.

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
    /// The bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Whether it points nowhere: it belongs to something a pass made.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that covers both.
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

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program can't be compiled.
    Error,
    /// The program compiles, but probably not to what its author wants.
    Warning,
    /// Information given on request.
    Remark,
}

impl Severity {
    /// `error`, `warning`, `remark`
    pub fn text(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        }
    }
}

/// One message with the places it refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The kind of error.
    pub code: Code,
    /// What was expected and found; lower case, no full stop.
    pub message: String,
    /// The places; the first is the primary one. A label's text may be empty.
    pub labels: Vec<(Span, String)>,
    /// How to fix it.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error about `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        let labels = vec![(span, String::new())];
        Self { severity: Severity::Error, code, message: message.into(), labels, notes: Vec::new() }
    }

    /// A warning about `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// Sets the text of the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.1 = text.into();
        }
        self
    }

    /// Adds another place.
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
    /// The most diagnostics stored; further ones are only counted.
    pub const LIMIT: usize = 100;

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < Self::LIMIT {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// All of them in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// How many were found past [`Diagnostics::LIMIT`].
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Moves all of `other` to the end.
    pub fn append(&mut self, other: Diagnostics) {
        self.dropped += other.dropped;
        for d in other.list {
            self.push(d);
        }
    }
}
