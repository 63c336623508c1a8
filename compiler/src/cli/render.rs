//! Diagnostics as text: the only module that uses codespan-reporting.
//!
//! Programs printed by JAX have lines of thousands of characters, so this renders an excerpt instead of the source:
//! each labelled line, cut to a window around the label. Line and column numbers remain those of the source; columns
//! count characters.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Diagnostic, Severity, Source};
use codespan_reporting::diagnostic::{Diagnostic as Shown, Label, LabelStyle, Severity as Level};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::termcolor::{Ansi, NoColor, WriteColor};
use codespan_reporting::term::{self, Config, Styles, StylesWriter};
use dialect::diagnostic::Span;

/// The length in bytes above which a line is cut.
const LINE: usize = 160;
/// The number of bytes kept before the first label of a cut line.
const BEFORE: usize = 48;

/// Renders `diagnostics` about `source`, with terminal colors if `color`.
pub fn render<'a>(source: &Source, diagnostics: impl IntoIterator<Item = &'a Diagnostic>, color: bool) -> String {
    let mut bytes = Vec::new();
    for diagnostic in diagnostics {
        if color {
            one(&mut Ansi::new(&mut bytes), source, diagnostic);
        } else {
            one(&mut NoColor::new(&mut bytes), source, diagnostic);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn one(out: &mut dyn WriteColor, source: &Source, diagnostic: &Diagnostic) {
    let level = match diagnostic.severity {
        Severity::Error if diagnostic.code == "bug" => Level::Bug,
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Remark => Level::Note,
    };
    let labels = || diagnostic.labels.iter().map(|l| (l.range.clone(), l.text.as_str()));
    let placed: Vec<(Span, &str)> =
        labels().filter_map(|(range, text)| Some((range.map(|r| Span::new(r.start, r.end))?, text))).collect();
    let excerpt = Excerpt::new(source, placed.iter().map(|l| l.0));
    let mut shown = Shown::new(level).with_message(&diagnostic.message);
    if !matches!(diagnostic.code, "" | "bug") {
        shown = shown.with_code(diagnostic.code);
    }
    for (i, &(span, text)) in placed.iter().enumerate() {
        let style = if i == 0 { LabelStyle::Primary } else { LabelStyle::Secondary };
        shown = shown.with_label(Label::new(style, (), excerpt.place(source, span)).with_message(text));
    }
    // A label without a place becomes a note.
    let lost = labels().filter(|l| l.0.is_none() && !l.1.is_empty()).map(|l| l.1.to_owned());
    shown = shown.with_notes(lost.chain(diagnostic.notes.iter().cloned()).collect());
    let config = Config { tab_width: 4, ..Config::default() };
    let styles = Styles::default();
    let mut writer = StylesWriter::new(out, &styles);
    // Writing to memory can't fail, and every label is inside the excerpt.
    let _ = term::emit_to_write_style(&mut writer, &config, &excerpt, &shown);
}

/// The labelled lines of a source and the lines around them, each cut to a window.
struct Excerpt {
    name: String,
    text: String,
    /// The lines by their index in the source.
    lines: BTreeMap<usize, Line>,
    /// The number of the source's first line, from 0.
    first_line: usize,
}

struct Line {
    /// Its range in the excerpt, with cut marks and the line's end.
    place: Range<usize>,
    /// The start of the kept part in the excerpt.
    text_start: usize,
    /// The kept range in the source.
    kept: Range<usize>,
    /// The number of characters of the line before the kept part.
    columns_before: usize,
}

impl Excerpt {
    fn new(source: &Source, spans: impl Iterator<Item = Span>) -> Self {
        let mut wanted: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for span in spans {
            let (index, at) = (source.line_index(span.start as usize), span.start as usize);
            let first = wanted.entry(index).or_default();
            *first = Some(first.map_or(at, |f| f.min(at)));
            // The renderer reads the line between two labels that are two lines apart.
            for near in [index.wrapping_sub(1), index + 1] {
                if near < source.line_count() {
                    wanted.entry(near).or_default();
                }
            }
        }
        let mut excerpt = Self {
            name: source.name.clone(),
            text: String::new(),
            lines: BTreeMap::new(),
            first_line: source.first_line,
        };
        for (index, label) in wanted {
            excerpt.add(source, index, label);
        }
        excerpt
    }

    fn add(&mut self, source: &Source, index: usize, label: Option<usize>) {
        let line = source.line(index);
        let text = &source.text;
        let mut kept = line.clone();
        if line.len() > LINE {
            kept.start = label.unwrap_or(line.start).saturating_sub(BEFORE).max(line.start);
            kept.end = (kept.start + LINE).min(line.end);
            kept.start = kept.start.min(kept.end.saturating_sub(LINE)).max(line.start);
            while !text.is_char_boundary(kept.start) {
                kept.start -= 1;
            }
            while !text.is_char_boundary(kept.end) {
                kept.end += 1;
            }
        }
        let begin = self.text.len();
        if kept.start > line.start {
            self.text.push('…');
        }
        let text_start = self.text.len();
        self.text.push_str(&text[kept.clone()]);
        if kept.end < line.end {
            self.text.push('…');
        }
        self.text.push('\n');
        let columns_before = text[line.start..kept.start].chars().count();
        self.lines.insert(index, Line { place: begin..self.text.len(), text_start, kept, columns_before });
    }

    /// Returns the range in the excerpt of a span of the source. A span over several lines ends at the end of the first
    /// line.
    fn place(&self, source: &Source, span: Span) -> Range<usize> {
        let line = &self.lines[&source.line_index(span.start as usize)];
        let into = |at: usize| line.text_start + at.clamp(line.kept.start, line.kept.end) - line.kept.start;
        let (mut start, mut end) = (into(span.start as usize), into(span.end as usize));
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        start..end.max(start)
    }
}

impl<'a> Files<'a> for Excerpt {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.name)
    }

    fn source(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.text)
    }

    fn line_index(&'a self, (): (), at: usize) -> Result<usize, Error> {
        let found = self.lines.iter().rev().find(|(_, l)| l.place.start <= at);
        found.or(self.lines.iter().next()).map(|(&i, _)| i).ok_or(Error::FileMissing)
    }

    fn line_number(&'a self, (): (), index: usize) -> Result<usize, Error> {
        Ok(self.first_line + index + 1)
    }

    fn column_number(&'a self, (): (), index: usize, at: usize) -> Result<usize, Error> {
        let line = self.lines.get(&index).ok_or(Error::LineTooLarge { given: index, max: 0 })?;
        Ok(line.columns_before + self.text[line.text_start..at.max(line.text_start)].chars().count() + 1)
    }

    fn line_range(&'a self, (): (), index: usize) -> Result<Range<usize>, Error> {
        let line = self.lines.get(&index).ok_or(Error::LineTooLarge { given: index, max: 0 })?;
        Ok(line.place.clone())
    }
}
