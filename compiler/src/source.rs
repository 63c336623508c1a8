//! A source text with the data that diagnostics need: its name and the starts of its lines.

use std::ops::Range;

use dialect::diagnostic::{Diagnostics, Span};

use crate::Outcome;

/// A text with a name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in messages: the path as given, or `<stdin>`.
    pub name: String,
    /// The text.
    pub text: String,
    /// The number of its first line in the containing file, from 0.
    pub first_line: usize,
    line_starts: Vec<usize>,
}

impl Source {
    /// Returns a text that is not part of another one.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { name: name.into(), text, first_line: 0, line_starts }
    }

    /// Decodes a program in MLIR bytecode (a portable artifact of StableHLO, or the output of JAX's
    /// `Exported.serialize()`) into text. Diagnostics refer to that text.
    pub fn of_bytecode(name: &str, bytes: &[u8]) -> Outcome<Self> {
        let mut found = Diagnostics::default();
        let text = dialect::bytecode::text_of(bytes, &mut found);
        let source = text.map(|text| Self::new(format!("{name} (as text)"), text));
        Outcome::new(&Self::new(name, ""), source, &found)
    }

    /// Splits the text at lines that begin with `// -----`. The pieces keep the line numbers of the full text.
    pub fn split(&self) -> Vec<Source> {
        self.split_at("// -----")
    }

    /// Splits the text at lines that begin with `marker`.
    pub fn split_at(&self, marker: &str) -> Vec<Source> {
        let mut pieces = Vec::new();
        let (mut start, mut first_line) = (0, 0);
        for (line, &at) in self.line_starts.iter().enumerate() {
            if self.text[at..].starts_with(marker) {
                let piece = Source::new(self.name.clone(), &self.text[start..at]);
                pieces.push(Source { first_line, ..piece });
                start = self.line_starts.get(line + 1).copied().unwrap_or(self.text.len());
                first_line = line + 1;
            }
        }
        let rest = Source::new(self.name.clone(), &self.text[start..]);
        pieces.push(Source { first_line, ..rest });
        pieces
    }

    /// Returns whether `span` points into the text. An empty span at the very start means no place.
    pub(crate) fn contains(&self, span: Span) -> bool {
        span != Span::default() && span.start <= span.end && span.end as usize <= self.text.len()
    }

    /// Returns the number of lines.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// Returns the line that contains byte `at`, from 0.
    pub fn line_index(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&s| s <= at).saturating_sub(1)
    }

    /// Returns the byte range of line `index`, without its end.
    pub fn line(&self, index: usize) -> Range<usize> {
        let start = self.line_starts[index];
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        let end = if self.text[start..end].ends_with('\r') { end - 1 } else { end };
        start..end
    }

    /// Returns the line and column of byte `at`, from 1; columns count characters.
    pub fn position(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let index = self.line_index(at);
        let before = self.text.get(self.line_starts[index]..at).map_or(0, |t| t.chars().count());
        (self.first_line + index + 1, before + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        let source = Source::new("a", "é\tx\r\ny\n");
        assert_eq!(source.line_count(), 3);
        assert_eq!(&source.text[source.line(0)], "é\tx");
        assert_eq!(source.position(3), (1, 3));
        assert_eq!(source.position(6), (2, 1));
        assert_eq!(source.position(99), (3, 1));
    }

    #[test]
    fn pieces_keep_the_line_numbers_of_the_whole() {
        let pieces = Source::new("a", "one\n// -----\ntwo\n// ----- end\n").split();
        let shown: Vec<(&str, usize)> = pieces.iter().map(|p| (p.text.as_str(), p.first_line)).collect();
        assert_eq!(shown, [("one\n", 0), ("two\n", 2), ("", 4)]);
    }
}
