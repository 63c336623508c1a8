//! The positions of attributes in the source, so that a diagnostic points at the wrong axis instead of the whole op.

use crate::diagnostic::Span;
use crate::ir::{OpRef, Program};

/// The range of source text of one attribute; empty for ops that a pass made.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttrRange {
    pub(super) span: Span,
    /// The span of the diagnostic if nothing in the range matches.
    pub(super) fallback: Span,
}

/// The positions of the shardings of a list.
pub(super) struct Shardings {
    list: AttrRange,
    /// The start of each sharding in the list.
    starts: Vec<usize>,
}

impl Shardings {
    /// Returns the place of sharding `i`, or of the whole list if the text doesn't have it.
    pub(super) fn nth(&self, i: usize) -> AttrRange {
        let Some(&start) = self.starts.get(i) else { return self.list };
        let base = self.list.span.start as usize;
        let end = self.starts.get(i + 1).map_or(self.list.span.end as usize, |next| base + next);
        AttrRange { span: Span::new(base + start, end), fallback: self.list.fallback }
    }
}

impl AttrRange {
    /// Returns the whole op's text, up to its first region.
    pub(super) fn of_op(op: OpRef<'_>) -> Self {
        let data = op.program.op(op.op);
        let mut span = data.text_span;
        let inner = (0..data.regions.len()).filter_map(|i| op.block(i));
        let first = inner.flat_map(|b| op.program.block_ops(b)).map(|&inner| op.program.op(inner).text_span);
        if let Some(first) = first.filter(|s| !s.is_empty()).map(|s| s.start).min() {
            span.end = span.end.min(first.max(span.start));
        }
        Self { span, fallback: data.span }
    }

    /// Returns the text after the first `word` inside.
    pub(super) fn after(self, program: &Program, word: &str) -> Self {
        let found = program.find_in_source(self.span, word);
        if found == self.span || found.is_empty() { self } else { self.from(found.end) }
    }

    /// Finds the shardings of a list, each from its mesh to the mesh of the next one.
    pub(super) fn shardings(self, program: &Program) -> Shardings {
        let source = program.source.as_ref();
        let text = source.and_then(|s| s.get(self.span.start as usize..self.span.end as usize)).unwrap_or_default();
        let begins = |&at: &usize| {
            let rest = &text[at + 1..];
            rest.starts_with('@') || rest.starts_with("mesh<")
        };
        let starts = text.match_indices('<').map(|found| found.0).filter(begins).collect();
        Shardings { list: self, starts }
    }

    /// Returns only the text from byte `at` on.
    pub(super) fn from(self, at: u32) -> Self {
        let start = at.clamp(self.span.start, self.span.end);
        Self { span: Span { start, end: self.span.end }, fallback: self.fallback }
    }

    /// Returns only the text before byte `at`.
    pub(super) fn until(self, at: u32) -> Self {
        let end = at.clamp(self.span.start, self.span.end);
        Self { span: Span { start: self.span.start, end }, fallback: self.fallback }
    }

    /// Finds the first `text` inside, or returns the fallback.
    pub(super) fn find(self, program: &Program, text: &str) -> Span {
        let found = program.find_in_source(self.span, text);
        if found == self.span { self.fallback } else { found }
    }

    /// Finds the last `text` inside, such as the second use of an axis, or returns the fallback.
    pub(super) fn find_last(self, program: &Program, text: &str) -> Span {
        let source = program.source.as_ref().and_then(|s| s.get(self.span.start as usize..self.span.end as usize));
        match source.and_then(|s| s.rfind(text)) {
            Some(at) => {
                let start = self.span.start as usize + at;
                Span::new(start, start + text.len())
            }
            None => self.fallback,
        }
    }
}
