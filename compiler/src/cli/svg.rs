//! Pictures of shardings for a browser: the same titles, lines and boxes as in a terminal, as SVG, either alone or in
//! an HTML page.

use std::fmt::Write;

use crate::cli::picture::{Grid, PicturePart, Style, elide, hex};

/// Width of a character and height of a line, in pixels, for a monospaced font of size 13.
const CHAR: usize = 8;
const LINE: usize = 20;
/// Height of a box, and the margin around everything, in pixels.
const BOX: usize = 26;
const MARGIN: usize = 12;

/// Returns an HTML page with the picture.
pub(crate) fn page(title: &str, parts: &[PicturePart], style: &Style) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body>\n{}</body>\n</html>\n",
        svg(parts, style)
    )
}

/// Returns the picture as SVG.
pub(crate) fn svg(parts: &[PicturePart], style: &Style) -> String {
    let mut sheet = Sheet { shapes: String::new(), width: 0, y: MARGIN };
    for part in parts {
        match part {
            PicturePart::Title(line) => sheet.line(MARGIN, line, " font-weight=\"bold\""),
            PicturePart::Line(line) => sheet.line(MARGIN + 2 * CHAR, line, ""),
            PicturePart::Grid(grid) => sheet.grid(grid, style),
            PicturePart::Gap => sheet.y += LINE,
        }
    }
    let (width, height) = (sheet.width + MARGIN, sheet.y + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
        sheet.shapes
    )
}

struct Sheet {
    shapes: String,
    width: usize,
    /// The vertical position of the next part.
    y: usize,
}

impl Sheet {
    fn text(&mut self, x: usize, y: usize, text: &str, more: &str) {
        let _ = writeln!(self.shapes, "<text x=\"{x}\" y=\"{y}\"{more}>{}</text>", escaped(text));
    }

    fn line(&mut self, x: usize, text: &str, more: &str) {
        self.text(x, self.y + LINE - 6, text, more);
        self.width = self.width.max(x + text.chars().count() * CHAR);
        self.y += LINE;
    }

    fn grid(&mut self, grid: &Grid, style: &Style) {
        let texts = grid.boxes.iter().map(|b| b.0.as_str()).chain(grid.column_heads.iter().map(String::as_str));
        let widest = texts.map(|t| t.chars().count()).max().unwrap_or(1);
        let head = grid.row_heads.iter().map(|h| h.chars().count()).max().unwrap_or(0);
        let fit = (style.width.saturating_sub(head + 4) / (widest + 3)).max(3);
        let (columns, rows) = (elide(grid.column_heads.len(), fit), elide(grid.row_heads.len(), style.rows.max(3)));
        let (cell, left) = ((widest + 2) * CHAR, MARGIN + (head + 3) * CHAR);
        if grid.column_heads.iter().any(|h| !h.is_empty()) {
            for (i, column) in columns.iter().enumerate() {
                let text = column.map_or("…", |c| &grid.column_heads[c]);
                self.text(left + i * cell + cell / 2, self.y + LINE - 6, text, " text-anchor=\"middle\"");
            }
            self.y += LINE;
        }
        for row in rows {
            let name = row.map_or("…", |r| &grid.row_heads[r]);
            if !name.is_empty() {
                self.text(left - CHAR, self.y + BOX - 9, name, " text-anchor=\"end\"");
            }
            for (i, column) in columns.iter().enumerate() {
                let (text, fill) = match (row, column) {
                    (Some(r), Some(c)) => {
                        let (text, color) = &grid.boxes[r * grid.column_heads.len() + c];
                        (text.as_str(), hex(*color))
                    }
                    _ => ("…", "#ffffff".to_owned()),
                };
                let (x, y) = (left + i * cell, self.y);
                let _ = writeln!(
                    self.shapes,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{BOX}\" fill=\"{fill}\" stroke=\"#444444\"/>"
                );
                self.text(x + cell / 2, y + BOX - 9, text, " text-anchor=\"middle\"");
            }
            self.y += BOX;
        }
        self.width = self.width.max(left + columns.len() * cell);
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
