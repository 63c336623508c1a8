//! Diagnostics in one line each, in MLIR's format: `file:line:column: error: message`, with notes below.

use std::fmt::Write;

use crate::{Diagnostic, Source};

/// Returns the lines of `diagnostics` about `source`.
pub(super) fn lines<'a>(source: &Source, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let mut text = String::new();
    for d in diagnostics {
        let place = |at: Option<usize>| match at {
            Some(at) => {
                let (line, column) = source.position(at);
                format!("{}:{line}:{column}", source.name)
            }
            None => "<unknown>:0".to_owned(),
        };
        let at = d.place.as_ref().map(|p| p.range.start);
        let _ = writeln!(text, "{}: {}: {}", place(at), d.severity.text(), d.message);
        for label in d.labels.iter().filter(|l| !l.text.is_empty()) {
            let _ = writeln!(text, "{}: note: {}", place(label.range.as_ref().map(|r| r.start)), label.text);
        }
        for note in &d.notes {
            let _ = writeln!(text, "{}: note: {note}", place(at));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::codes;
    use dialect::diagnostic::{Diagnostic as Plain, Span};

    #[test]
    fn a_line_for_each_message_and_note() {
        let source = Source::new("a.mlir", "one\ntwo");
        let found =
            Plain::error(codes::OPERAND_TYPE, Span::new(5, 6), "bad").also(Span::new(0, 1), "of this").note("mend");
        let nowhere = Plain::warning(codes::OPERAND_TYPE, Span::default(), "odd");
        let list = [found, nowhere].map(|d| Diagnostic::new(&source, &d)).to_vec();
        let wanted =
            "a.mlir:2:2: error: bad\na.mlir:1:1: note: of this\na.mlir:2:2: note: mend\n<unknown>:0: warning: odd\n";
        assert_eq!(lines(&source, &list), wanted);
    }
}
