//! Pictures of shardings, drawn here for a terminal and in `svg.rs` for a browser: one box per shard of the tensor,
//! with the devices that hold it.
//!
//! A picture draws two dimensions, by default sharded ones; shards along further sharded dimensions become separate
//! panels. Devices of one box that are separated by spaces hold the same elements; devices joined by `+` (or `max`,
//! `min`) hold partial results that have yet to be combined.

use std::fmt::Write;

use dialect::ir::Program;
use dialect::sharding::{Mesh, ReductionKind};

use crate::cli::cells::{Cell, Cells, short_list};

/// The options of a picture.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// Whether to color the boxes with terminal escapes.
    pub color: bool,
    /// Width of the terminal, in columns.
    pub width: usize,
    /// The maximum number of rows of boxes.
    pub rows: usize,
    /// The maximum number of panels.
    pub panels: usize,
    /// The dimensions drawn vertically and horizontally; by default the sharded ones.
    pub dims: Option<(usize, usize)>,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: 100, rows: 8, panels: 2, dims: None }
    }
}

/// Parts of a picture, stacked vertically.
pub(crate) enum PicturePart {
    /// A line in the first column.
    Title(String),
    /// An indented line.
    Line(String),
    /// A grid of boxes.
    Grid(Grid),
    /// Space before the next title.
    Gap,
}

/// A grid of labelled boxes.
pub(crate) struct Grid {
    pub(crate) row_heads: Vec<String>,
    pub(crate) column_heads: Vec<String>,
    /// The boxes in row-major order; the number selects a color.
    pub(crate) boxes: Vec<(String, usize)>,
}

/// Returns the picture as text.
pub(crate) fn text(parts: &[PicturePart], style: &Style) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            PicturePart::Title(line) => out.push_str(&format!("{line}\n")),
            PicturePart::Line(line) => out.push_str(&format!("  {line}\n")),
            PicturePart::Grid(grid) => grid.draw(style, &mut out),
            PicturePart::Gap => out.push('\n'),
        }
    }
    out
}

/// Draws the mesh: device numbers at their coordinates.
pub(crate) fn draw_mesh(program: &Program, mesh: &Mesh, style: &Style) -> Vec<PicturePart> {
    let axes: Vec<(&str, i64)> = mesh.axes.iter().map(|&(n, size)| (program.name_text(n), size)).collect();
    let (down, across) = match axes.as_slice() {
        [] => return Vec::new(),
        [one] => (("", 1), *one),
        [.., a, b] => (*a, *b),
    };
    let outer = &axes[..axes.len().saturating_sub(2)];
    let panels: i64 = outer.iter().map(|a| a.1).product();
    let mut out = Vec::new();
    for panel in 0..panels.min(style.panels as i64) {
        if !outer.is_empty() {
            let mut rest = panel;
            let mut at: Vec<String> = Vec::new();
            for (name, size) in outer.iter().rev() {
                at.push(format!("{name}={}", rest % size));
                rest /= size;
            }
            at.reverse();
            out.push(PicturePart::Line(at.join(", ")));
        }
        let device = |r: i64, c: i64| mesh.device_at(((panel * down.1 + r) * across.1 + c) as usize);
        let boxes = (0..down.1 * across.1).map(|i| {
            let device = device(i / across.1, i % across.1);
            (device.to_string(), device as usize)
        });
        let heads = |name: &str, size: i64| -> Vec<String> {
            (0..size).map(|i| if i == 0 && !name.is_empty() { format!("{name} {i}") } else { i.to_string() }).collect()
        };
        let row_heads = if down.0.is_empty() { vec![String::new()] } else { heads(down.0, down.1) };
        out.push(PicturePart::Grid(Grid {
            row_heads,
            column_heads: heads(across.0, across.1),
            boxes: boxes.collect(),
        }));
    }
    if panels > style.panels as i64 {
        out.push(PicturePart::Line(format!("… {} more of {panels} planes", panels - style.panels as i64)));
    }
    out
}

/// Draws a tensor with the devices that hold each shard.
pub(crate) fn draw_cells(cells: &Cells, style: &Style) -> Vec<PicturePart> {
    let rank = cells.shard.dims.len();
    let cut: Vec<usize> = (0..rank).filter(|&d| cells.shard.dims[d].shards > 1).collect();
    let (down, across) = match style.dims {
        Some((r, c)) => (Some(r), Some(c)),
        None => match cut.as_slice() {
            // A single sharded dimension is drawn vertically if it is the outer dimension of a matrix, as matrices are
            // written.
            [d] if rank >= 2 && *d + 1 < rank => (Some(*d), Some(*d + 1)),
            [d] if rank >= 2 => (Some(*d - 1), Some(*d)),
            [d] => (None, Some(*d)),
            [r, c, ..] => (Some(*r), Some(*c)),
            [] if rank >= 2 => (Some(rank - 2), Some(rank - 1)),
            [] => (None, (rank == 1).then_some(0)),
        },
    };
    let rest: Vec<usize> = cut.iter().copied().filter(|&d| Some(d) != down && Some(d) != across).collect();
    let panels: i64 = rest.iter().map(|&d| cells.shard.dims[d].shards).product();
    let mut out = Vec::new();
    for panel in 0..panels.min(style.panels as i64) {
        let mut index = vec![0; rank];
        let mut left = panel;
        for &d in rest.iter().rev() {
            index[d] = left % cells.shard.dims[d].shards;
            left /= cells.shard.dims[d].shards;
        }
        if !rest.is_empty() {
            let at: Vec<String> =
                rest.iter().map(|&d| format!("dimension {d}: {}", range(cells, d, index[d]))).collect();
            out.push(PicturePart::Line(at.join(", ")));
        }
        out.push(PicturePart::Grid(panel_grid(cells, down, across, &mut index)));
    }
    if panels > style.panels as i64 {
        let dims: Vec<String> = rest.iter().map(usize::to_string).collect();
        let more = panels - style.panels as i64;
        out.push(PicturePart::Line(format!("… {more} more of {panels} parts along dimension {}", dims.join(" and "))));
    }
    out
}

fn panel_grid(cells: &Cells, down: Option<usize>, across: Option<usize>, index: &mut [i64]) -> Grid {
    let pieces = |d: Option<usize>| d.map_or(1, |d| cells.shard.dims[d].shards);
    let heads = |d: Option<usize>| -> Vec<String> {
        (0..pieces(d)).map(|i| d.map_or(String::new(), |d| range(cells, d, i))).collect()
    };
    let mut boxes = Vec::new();
    for r in 0..pieces(down) {
        for c in 0..pieces(across) {
            for (d, i) in [(down, r), (across, c)] {
                if let Some(d) = d {
                    index[d] = i;
                }
            }
            let cell = cells.cell(index);
            let color = cell.replicas.first().and_then(|r| r.first()).copied().unwrap_or(0);
            boxes.push((cell_text(cell, cells.unreduced), color as usize));
        }
    }
    Grid { row_heads: heads(down), column_heads: heads(across), boxes }
}

/// `0:32`; `padding` for a shard past the end.
fn range(cells: &Cells, dim: usize, index: i64) -> String {
    let (start, end) = cells.range(dim, index);
    if start == end && cells.shard.dims[dim].global > 0 { "padding".to_owned() } else { format!("{start}:{end}") }
}

fn cell_text(cell: &Cell, unreduced: Option<ReductionKind>) -> String {
    let Some(kind) = unreduced else {
        let devices: Vec<i64> = cell.replicas.iter().flatten().copied().collect();
        return short_list(&devices);
    };
    let part = |devices: &Vec<i64>| match (kind, devices.as_slice()) {
        (ReductionKind::Sum, few) if few.len() <= 4 => few.iter().map(i64::to_string).collect::<Vec<_>>().join("+"),
        (ReductionKind::Sum, many) => format!("sum({})", short_list(many)),
        (_, all) => format!("{}({})", kind.text(), short_list(all)),
    };
    let shown: Vec<String> = cell.replicas.iter().take(4).map(part).collect();
    let more = if cell.replicas.len() > 4 { " …" } else { "" };
    format!("{}{more}", shown.join(" "))
}

impl Grid {
    /// Draws the grid, leaving out the middle if it doesn't fit.
    fn draw(&self, style: &Style, out: &mut String) {
        let (rows, columns) = (self.row_heads.len(), self.column_heads.len());
        let cell = self.boxes.iter().map(|b| b.0.as_str()).chain(self.column_heads.iter().map(String::as_str));
        let cell = cell.map(|t| t.chars().count()).max().unwrap_or(1) + 2;
        let head = self.row_heads.iter().map(|h| h.chars().count()).max().unwrap_or(0);
        let fit = (style.width.saturating_sub(head + 4) / (cell + 1)).max(3);
        let columns: Vec<Option<usize>> = elide(columns, fit);
        let rows: Vec<Option<usize>> = elide(rows, style.rows.max(3));
        let pad = " ".repeat(head + 3);
        let rule = |left: &str, middle: &str, right: &str| {
            let bars: Vec<String> = columns.iter().map(|_| "─".repeat(cell)).collect();
            format!("{pad}{left}{}{right}\n", bars.join(middle))
        };
        if self.column_heads.iter().any(|h| !h.is_empty()) {
            let heads = columns.iter().map(|c| center(c.map_or("…", |c| &self.column_heads[c]), cell + 1));
            let _ = writeln!(out, "{}", format!("{pad}{}", heads.collect::<String>()).trim_end());
        }
        out.push_str(&rule("┌", "┬", "┐"));
        for (i, row) in rows.iter().enumerate() {
            if i > 0 {
                out.push_str(&rule("├", "┼", "┤"));
            }
            let name = row.map_or("…", |r| &self.row_heads[r]);
            let _ = write!(out, "  {}{name} │", " ".repeat(head - name.chars().count().min(head)));
            for column in &columns {
                let text = match (row, column) {
                    (Some(r), Some(c)) => {
                        let (text, color) = &self.boxes[r * self.column_heads.len() + c];
                        paint(&center(text, cell), *color, style.color)
                    }
                    _ => center("…", cell),
                };
                let _ = write!(out, "{text}│");
            }
            out.push('\n');
        }
        out.push_str(&rule("└", "┴", "┘"));
    }
}

/// Returns all of `0..count`, or the first ones, a gap and the last.
pub(crate) fn elide(count: usize, fit: usize) -> Vec<Option<usize>> {
    if count <= fit {
        return (0..count).map(Some).collect();
    }
    (0..fit - 2).map(Some).chain([None, Some(count - 1)]).collect()
}

fn center(text: &str, width: usize) -> String {
    let free = width.saturating_sub(text.chars().count());
    format!("{}{text}{}", " ".repeat(free / 2), " ".repeat(free - free / 2))
}

/// Background colors on which black text is readable, far apart in hue.
const COLORS: [u8; 16] = [117, 222, 150, 217, 183, 123, 229, 156, 211, 147, 80, 215, 114, 175, 153, 187];

/// Returns the color of box number `color` as `#rrggbb`.
pub(crate) fn hex(color: usize) -> String {
    // The terminal's color cube starts at 16, with six levels each of red, green and blue.
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    let code = COLORS[color % COLORS.len()] - 16;
    format!("#{:02x}{:02x}{:02x}", level(code / 36), level(code / 6 % 6), level(code % 6))
}

fn paint(text: &str, color: usize, on: bool) -> String {
    if on { format!("\x1b[30;48;5;{}m{text}\x1b[0m", COLORS[color % COLORS.len()]) } else { text.to_owned() }
}
