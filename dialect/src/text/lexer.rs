//! Tokens of MLIR text, produced on demand, because the parser may step back to any byte (it reads shapes and opaque
//! attributes character by character).

use crate::diagnostic::Span;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tok {
    /// The end of the text.
    End,
    /// `stablehlo.add`, `dense`, `x`
    Word,
    /// `%0`, `%arg0`
    Percent,
    /// `@main`, `@"a b"`
    At,
    /// `#loc1`, `#sdy.sharding`, `#1` (result numbers too)
    Hash,
    /// `!stablehlo.token`
    Bang,
    /// `^bb0`
    Caret,
    /// `42`, `0x2A`
    Int,
    /// `1.0e-3`
    Float,
    /// `"text"`, quotes included
    Str,
    /// Any punctuation: one character, or `->`, `::`, `{-#`, `#-}`.
    Punct,
    /// A character with which no token starts, or an unterminated string.
    Bad,
}

/// A token: its kind and its position.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Tok,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Token {
    /// Returns its range of bytes.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// Produces tokens from a position on.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'s> {
    pub(super) text: &'s str,
    pub(super) at: usize,
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')
}

/// Returns whether the byte may be in value, symbol and alias names after their sigil.
fn is_suffix(b: u8) -> bool {
    is_word(b) || b == b'-'
}

impl Lexer<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn run(&self, mut at: usize, f: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        while at < bytes.len() && f(bytes[at]) {
            at += 1;
        }
        at
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        loop {
            self.at = self.run(self.at, |b| b.is_ascii_whitespace());
            if self.byte(self.at) == b'/' && self.byte(self.at + 1) == b'/' {
                self.at = self.run(self.at, |b| b != b'\n');
            } else {
                return;
            }
        }
    }

    /// Returns the end of a string that starts at `start`; for an unterminated string, `Err` with the end of its line.
    fn string_end(&self, start: usize) -> Result<usize, usize> {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => return Ok(at + 1),
                b'\\' => at += 2,
                b'\n' => break,
                _ => at += 1,
            }
        }
        let mut at = at.min(bytes.len());
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        Err(at)
    }

    /// Returns the next token.
    pub(super) fn next(&mut self) -> Token {
        self.skip();
        let start = self.at;
        let first = self.byte(start);
        let (kind, end) = match first {
            _ if start >= self.text.len() => (Tok::End, start),
            b'%' => (Tok::Percent, self.run(start + 1, is_suffix)),
            b'@' if self.byte(start + 1) == b'"' => match self.string_end(start + 1) {
                Ok(end) => (Tok::At, end),
                Err(end) => (Tok::Bad, end),
            },
            b'@' => (Tok::At, self.run(start + 1, is_suffix)),
            b'#' if self.text[start..].starts_with("#-}") => (Tok::Punct, start + 3),
            b'#' => (Tok::Hash, self.run(start + 1, is_word)),
            b'!' => (Tok::Bang, self.run(start + 1, is_word)),
            b'^' => (Tok::Caret, self.run(start + 1, is_suffix)),
            b'"' => match self.string_end(start) {
                Ok(end) => (Tok::Str, end),
                Err(end) => (Tok::Bad, end),
            },
            b'0'..=b'9' => self.number(start),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => (Tok::Word, self.run(start, is_word)),
            b'-' if self.byte(start + 1) == b'>' => (Tok::Punct, start + 2),
            b':' if self.byte(start + 1) == b':' => (Tok::Punct, start + 2),
            b'{' if self.text[start..].starts_with("{-#") => (Tok::Punct, start + 3),
            b if b.is_ascii_punctuation() => (Tok::Punct, start + 1),
            _ => {
                let len = self.text[start..].chars().next().map_or(1, char::len_utf8);
                (Tok::Bad, start + len)
            }
        };
        self.at = end;
        Token { kind, start, end }
    }

    fn number(&self, start: usize) -> (Tok, usize) {
        if self.byte(start) == b'0' && self.byte(start + 1) == b'x' && self.byte(start + 2).is_ascii_hexdigit() {
            return (Tok::Int, self.run(start + 2, |b| b.is_ascii_hexdigit()));
        }
        let mut end = self.run(start, |b| b.is_ascii_digit());
        if self.byte(end) != b'.' {
            return (Tok::Int, end);
        }
        end = self.run(end + 1, |b| b.is_ascii_digit());
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let digits = self.run(end + 1 + sign, |b| b.is_ascii_digit());
            if digits > end + 1 + sign {
                end = digits;
            }
        }
        (Tok::Float, end)
    }
}
