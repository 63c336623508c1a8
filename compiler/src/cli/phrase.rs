//! Phrases that several reports share.

use std::fmt::{Display, Write};

/// `1 device`, `2 devices`
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `"x"=2 x "y"=4`, or `alone` for a mesh without axes.
pub(crate) fn mesh<N: Display>(axes: impl IntoIterator<Item = (N, i64)>, alone: &str) -> String {
    let axes: Vec<String> = axes.into_iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
    if axes.is_empty() { alone.to_owned() } else { axes.join(" x ") }
}

/// Appends a row of a table, without the spaces of empty columns at its end.
pub(crate) fn row(text: &mut String, row: &str) {
    let _ = writeln!(text, "{}", row.trim_end());
}
