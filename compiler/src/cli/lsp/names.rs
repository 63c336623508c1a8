//! Symbols, aliases and brackets of a text, found without parsing, so that it works on invalid texts.

use std::ops::Range;

/// A name with a prefix: `@main`, `#loc1`, `!type`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    /// Its byte range, including the prefix.
    pub(super) range: Range<usize>,
    /// Whether the name is defined here.
    pub(super) defines: bool,
}

/// Keywords that precede the symbol that an op defines.
const DEFINING: &[&str] = &["func.func", "func", "sdy.mesh", "module", "builtin.module", "public", "private", "nested"];

/// Returns every `@symbol`, `#alias` and `!alias`, in order.
pub(super) fn names(text: &str) -> Vec<Name> {
    let mut names = Vec::new();
    let mut word = "";
    scan(text, |at, rest| {
        let first = rest.as_bytes()[0];
        if matches!(first, b'@' | b'#' | b'!') {
            let length = 1 + length_of_name(&rest[1..]);
            let after = rest[length..].trim_start();
            let defines = match first {
                b'@' => DEFINING.contains(&word),
                _ => after.starts_with('=') && !after.starts_with("=="),
            };
            if length > 1 {
                names.push(Name { range: at..at + length, defines });
            }
            word = "";
            return length;
        }
        let length = length_of_name(rest);
        if length > 0 {
            word = &rest[..length];
            return length;
        }
        let c = rest.chars().next().map_or(1, char::len_utf8);
        if !rest.starts_with(char::is_whitespace) {
            word = "";
        }
        c
    });
    names
}

/// Returns the brackets `{…}` that span several lines, from the opening to the closing one.
pub(super) fn blocks(text: &str) -> Vec<Range<usize>> {
    let (mut open, mut blocks) = (Vec::new(), Vec::new());
    scan(text, |at, rest| {
        match rest.as_bytes()[0] {
            b'{' => open.push(at),
            b'}' => {
                if let Some(start) = open.pop()
                    && text[start..at].contains('\n')
                {
                    blocks.push(start..at);
                }
            }
            _ => {}
        }
        rest.chars().next().map_or(1, char::len_utf8)
    });
    blocks.sort_by_key(|b| b.start);
    blocks
}

/// Returns the length in bytes of a name without its prefix.
fn length_of_name(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')).count()
}

/// Calls `look` at each position outside of comments and strings. It returns the number of bytes to advance.
fn scan<'t>(text: &'t str, mut look: impl FnMut(usize, &'t str) -> usize) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with('"') {
            string(rest)
        } else {
            look(at, rest).max(1)
        };
    }
}

/// Returns the length in bytes of the string at the start of `text`. An unterminated string ends with its line.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, b) in text.bytes().enumerate().skip(1) {
        match b {
            b'\n' => return at,
            b'"' if !escaped => return at + 1,
            _ => escaped = b == b'\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_aliases_are_found_outside_of_strings_and_comments() {
        let text = "#a = loc(\"@s\\\" @t\")\nfunc.func private @f() // @g\n sdy.mesh @m = <[]> call @f() : é !t #a \"open @x\n@y";
        let found: Vec<(&str, bool)> = names(text).iter().map(|n| (&text[n.range.clone()], n.defines)).collect();
        let wanted =
            [("#a", true), ("@f", true), ("@m", true), ("@f", false), ("!t", false), ("#a", false), ("@y", false)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn blocks_may_span_several_lines() {
        let text = "a {\n b {x} // {\n c {\n \"}\" }\n}\n}";
        let found: Vec<&str> = blocks(text).iter().map(|b| &text[b.start..=b.end]).collect();
        assert_eq!(found, ["{\n b {x} // {\n c {\n \"}\" }\n}", "{\n \"}\" }"]);
    }
}
