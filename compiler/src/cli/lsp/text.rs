//! A text that is open in the editor: its positions in the protocol's units (lines and UTF-16 units, from 0), and its
//! changes.

use std::ops::Range as Bytes;
use std::sync::atomic::{AtomicBool, Ordering};

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};

use super::analysis::Analysis;
use crate::{CompileOptions, Compiler, Source};

/// One version of a text.
#[derive(Clone)]
pub(super) struct Text {
    /// Its URI.
    pub(super) uri: Uri,
    /// The editor's number of this version of the text.
    pub(super) version: i32,
    /// The text.
    pub(super) source: Source,
}

/// One version of a text with its analysis.
pub(super) struct Snapshot {
    pub(super) text: Text,
    pub(super) analysis: Analysis,
    outdated: AtomicBool,
}

impl Snapshot {
    /// Analyzes a text.
    pub(super) fn new(compiler: &Compiler, options: &CompileOptions, text: Text) -> Self {
        let analysis = Analysis::new(compiler, options, &text.source);
        Self { text, analysis, outdated: AtomicBool::new(false) }
    }

    /// Marks the text as outdated: the editor has a newer version.
    pub(super) fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
    }

    /// Returns whether the editor has a newer version, so that further work on this one is useless.
    pub(super) fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Relaxed)
    }
}

impl Text {
    /// Returns a text that was just opened.
    pub(super) fn new(uri: Uri, version: i32, text: String) -> Self {
        let source = Source::new(uri.path().as_str(), text);
        Self { uri, version, source }
    }

    /// Applies changes in order.
    pub(super) fn change(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        for change in changes {
            let mut text = std::mem::take(&mut self.source.text);
            match change.range {
                Some(range) => {
                    // Positions refer to the text before this change.
                    self.source.text = text;
                    let at = self.bytes(range);
                    text = std::mem::take(&mut self.source.text);
                    text.replace_range(at, &change.text);
                }
                None => text.clone_from(&change.text),
            }
            self.source = Source::new(std::mem::take(&mut self.source.name), text);
        }
        self.version = version;
    }

    /// Returns the byte at a position. A position past the end of its line or of the text is moved to that end.
    pub(super) fn byte(&self, at: Position) -> usize {
        let line = at.line as usize;
        if line >= self.source.line_count() {
            return self.source.text.len();
        }
        let bytes = self.source.line(line);
        let mut units = 0;
        for (offset, c) in self.source.text[bytes.clone()].char_indices() {
            if units >= at.character as usize {
                return bytes.start + offset;
            }
            units += c.len_utf16();
        }
        bytes.end
    }

    /// Returns the byte range of a range.
    fn bytes(&self, range: Range) -> Bytes<usize> {
        let (start, end) = (self.byte(range.start), self.byte(range.end));
        start..end.max(start)
    }

    /// Returns the position of a byte.
    pub(super) fn position(&self, at: usize) -> Position {
        let mut at = at.min(self.source.text.len());
        while !self.source.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.source.line_index(at);
        let units = self.source.text[self.source.line(line).start..at].encode_utf16().count();
        Position::new(line as u32, units as u32)
    }

    /// Returns the range of a byte range.
    pub(super) fn range(&self, bytes: Bytes<usize>) -> Range {
        Range::new(self.position(bytes.start), self.position(bytes.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Text {
        Text::new("file:///a.mlir".parse().expect("an address"), 1, text.to_owned())
    }

    fn change(from: (u32, u32), to: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        let range = Range::new(Position::new(from.0, from.1), Position::new(to.0, to.1));
        TextDocumentContentChangeEvent { range: Some(range), range_length: None, text: text.to_owned() }
    }

    #[test]
    fn positions_count_utf_16_units() {
        let document = document("é\u{1F600}x\r\ny");
        let at = |line, character| document.byte(Position::new(line, character));
        assert_eq!([at(0, 1), at(0, 3), at(0, 4), at(0, 99), at(1, 0), at(1, 5), at(9, 0)], [2, 6, 7, 7, 9, 10, 10]);
        assert_eq!(document.position(6), Position::new(0, 3));
        assert_eq!(document.position(10), Position::new(1, 1));
        // A byte inside a character is moved to the character's start.
        assert_eq!(document.position(4), Position::new(0, 1));
    }

    #[test]
    fn changes_apply_one_after_the_other() {
        let mut document = document("one\ntwo\n");
        document.change(2, &[change((1, 0), (1, 3), "2"), change((0, 3), (1, 0), ""), change((9, 9), (9, 9), "end")]);
        assert_eq!((document.source.text.as_str(), document.version), ("one2\nend", 2));
        // A reversed range removes nothing and only inserts.
        document.change(3, &[change((1, 2), (1, 0), "X")]);
        assert_eq!(document.source.text, "one2\nenXd");
        document
            .change(4, &[TextDocumentContentChangeEvent { range: None, range_length: None, text: "new".to_owned() }]);
        assert_eq!(document.source.text, "new");
    }
}
