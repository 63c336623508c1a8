//! The text of a target's file.

use std::fmt::Write;

use super::{Calibration, Figure};

/// The width of comments.
const WIDTH: usize = 110;

impl Calibration {
    /// Returns the text of a file for `--target`, in which every figure has a comment with its origin. The `heading`
    /// says in the first lines where the figures come from.
    pub fn toml(&self, heading: &str) -> String {
        let mut text = String::new();
        comment(&mut text, heading);
        for missing in &self.missing {
            comment(&mut text, &format!("Not determined: {missing}"));
        }
        let _ = writeln!(text, "\nname = \"{}\"", self.name);
        let mut table = "";
        for (i, Figure { key, value, how, .. }) in self.figures.iter().enumerate() {
            let (of, key) = key.rsplit_once('.').unwrap_or(("", key));
            if of != table {
                let _ = writeln!(text, "\n[{of}]");
                if table.is_empty() && self.overlap {
                    text.push_str("overlap = true\n");
                }
                table = of;
            }
            // Figures of one fit share a comment.
            let same = i > 0 && self.figures[i - 1].how == *how && self.figures[i - 1].key.starts_with(of);
            if !same {
                comment(&mut text, how);
            }
            let _ = writeln!(text, "{key} = {}", number(*value));
        }
        text
    }
}

/// Writes a number with four digits, so that the file can be read by people; TOML's floats need a point or an exponent.
fn number(value: f64) -> String {
    format!("{value:.3e}")
}

/// Writes lines of a comment.
fn comment(text: &mut String, words: &str) {
    for paragraph in words.lines() {
        let mut width = 0;
        for word in paragraph.split_whitespace() {
            if width == 0 || width + word.chars().count() > WIDTH {
                if width > 0 {
                    text.push('\n');
                }
                text.push('#');
                width = 1;
            }
            text.push(' ');
            text.push_str(word);
            width += 1 + word.chars().count();
        }
        text.push('\n');
    }
}
