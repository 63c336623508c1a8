//! Text with raw bytes: MLIR allows any bytes in strings and comments, whereas this parser's texts are UTF-8.

use std::fmt::Write as _;

/// The syntactic context of a byte.
#[derive(Clone, Copy, PartialEq)]
enum LexState {
    Code,
    Comment,
    String,
    /// In a string, after a backslash.
    Escape,
}

/// Returns the text in UTF-8: invalid bytes in strings become escapes like `\FF`, those in comments become `?`. Fails
/// with the position of the first invalid byte elsewhere.
pub fn escape_raw_bytes(bytes: &[u8]) -> Result<String, usize> {
    let (mut place, mut before, mut at) = (LexState::Code, 0, 0);
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            place = match (place, byte) {
                (LexState::Code, b'"') => LexState::String,
                (LexState::Code, b'/') if before == b'/' => LexState::Comment,
                (LexState::String, b'\\') => LexState::Escape,
                (LexState::String, b'"') | (LexState::Comment, b'\n') => LexState::Code,
                // The string is unterminated, which the parser will report.
                (LexState::String | LexState::Escape, b'\n') => LexState::Code,
                (LexState::Escape, _) => LexState::String,
                (place, _) => place,
            };
            before = byte;
        }
        out.push_str(chunk.valid());
        at += chunk.valid().len();
        for byte in chunk.invalid() {
            match place {
                LexState::Code => return Err(at),
                LexState::Comment => out.push('?'),
                LexState::String => write!(out, "\\{byte:02X}").expect("a string takes everything"),
                LexState::Escape => write!(out, "{byte:02X}").expect("a string takes everything"),
            }
            if place == LexState::Escape {
                place = LexState::String;
            }
            at += 1;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_strings_and_comments_stay() {
        let read = |text: &[u8]| escape_raw_bytes(text);
        assert_eq!(
            read(b"a = \"\xffA\xc3\xa9\\\\\xfe\\\xfd\" // \xff\nb"),
            Ok("a = \"\\FFAé\\\\\\FE\\FD\" // ?\nb".to_owned())
        );
        assert_eq!(read(b"\"\\\"\xf0\x9f\""), Ok("\"\\\"\\F0\\9F\"".to_owned()));
        assert_eq!(read(b"\"a\" \xff"), Err(4));
        assert_eq!(read(b"\"a\n\xff"), Err(3));
        assert_eq!(read(b"a / b \xff"), Err(6));
    }
}
