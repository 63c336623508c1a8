//! Reading of program files: text of MLIR, or an error that names the file's actual format and how to convert it.

use dialect::text::escape_raw_bytes;

/// A hint on how to print StableHLO from JAX.
const AS_TEXT: &str = "print StableHLO, e.g. with JAX's jax.jit(f).lower(...).as_text()";

/// Returns the program's text from a file that isn't bytecode, or else a sentence that names the file's format and how
/// to convert it to a program. As in MLIR, strings and comments may contain bytes that aren't UTF-8; they are read as
/// if escaped.
pub fn program_text(name: &str, mut bytes: Vec<u8>) -> Result<String, String> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(format!("{name} has {} bytes, more than the limit of 4 GiB", bytes.len()));
    }
    // Windows editors begin a text with a byte order mark.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    if let Some(what) = foreign_bytes(name, &bytes) {
        return Err(format!("{name} {what}"));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(fault) => escape_raw_bytes(fault.as_bytes()).map_err(|at| {
            let line = fault.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
            format!("{name} is not text: byte {at} (line {line}) is not valid UTF-8")
        })?,
    };
    match foreign_text(&text) {
        Some(what) => Err(format!("{name} {what}")),
        None => Ok(text),
    }
}

/// Recognizes a file by its first bytes, if it isn't MLIR text.
fn foreign_bytes(name: &str, bytes: &[u8]) -> Option<String> {
    let packed = |how: &str, tool: &str| {
        Some(format!("is compressed with {how}: unpack it first, e.g. {tool} < {name} | shardc COMMAND -"))
    };
    match bytes {
        [0x1f, 0x8b, ..] => packed("gzip", "gunzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => packed("zstd", "zstdcat"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => packed("xz", "xzcat"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => packed("bzip2", "bzcat"),
        [b'P', b'K', 3, 4, ..] | [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            Some(format!("is an archive (such as npz or npy), not a program: pass arrays with --inputs; {AS_TEXT}"))
        }
        [0x80, 2..=5, ..] => Some(format!("is a Python pickle, not a program: {AS_TEXT}")),
        _ if bytes.get(257..262) == Some(b"ustar") => {
            Some(format!("is a tar archive: unpack it first, e.g. tar -xOf {name} FILE | shardc COMMAND -"))
        }
        _ => match encoding(bytes) {
            Some(encoding) => Some(format!(
                "is text in {encoding}: save it as UTF-8, e.g. iconv -f {encoding} -t UTF-8 < {name} | shardc COMMAND -"
            )),
            None if is_hlo_proto(bytes) => Some(format!(
                "is a protobuf of HLO, which is not supported: {AS_TEXT}, or translate it with hlo-translate \
                --hlo-to-mlir"
            )),
            None => None,
        },
    }
}

/// Returns the encoding of a text that isn't UTF-8, from its byte order mark or from the position of zero bytes around
/// ASCII characters.
fn encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Some("UTF-16"),
        _ => {}
    }
    let pairs = bytes.as_chunks::<2>().0;
    let pairs = &pairs[..pairs.len().min(32)];
    let all = |zero: usize| pairs.len() > 1 && pairs.iter().all(|pair| pair[zero] == 0 && pair[1 - zero] != 0);
    match () {
        () if all(1) => Some("UTF-16LE"),
        () if all(0) => Some("UTF-16BE"),
        () => None,
    }
}

/// Returns whether a file is an `HloModuleProto`, or an `HloProto`, whose first field is such a module. A module begins
/// with its name and its entry's name, fields 1 and 2.
fn is_hlo_proto(bytes: &[u8]) -> bool {
    fn field(bytes: &[u8], number: u8) -> Option<(&[u8], &[u8])> {
        let (tag, mut rest) = bytes.split_first()?;
        let mut length = 0;
        for shift in (0..35).step_by(7) {
            let (&byte, after) = rest.split_first()?;
            (length, rest) = (length | usize::from(byte & 0x7f) << shift, after);
            if byte < 0x80 {
                break;
            }
        }
        // The file may end within a message.
        (*tag == number << 3 | 2).then(|| rest.split_at(length.min(rest.len())))
    }
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let is_module = |bytes: &[u8]| {
        field(bytes, 1)
            .is_some_and(|(name, rest)| is_name(name) && field(rest, 2).is_some_and(|entry| is_name(entry.0)))
    };
    is_module(bytes) || field(bytes, 1).is_some_and(|(module, _)| is_module(module))
}

/// Recognizes a text that isn't MLIR.
fn foreign_text(text: &str) -> Option<String> {
    let start = text.trim_start();
    match () {
        () if start.is_empty() => {
            Some("is empty: a program was expected; print one with JAX's jax.jit(f).lower(...).as_text()".to_owned())
        }
        () if start.starts_with("HloModule") => Some(format!(
            "is HLO text, which is not supported: {AS_TEXT}, or translate it with hlo-translate --hlo-to-mlir"
        )),
        () if start.starts_with("{ lambda ") || start.starts_with("let ") => {
            Some(format!("is a jaxpr, which is not supported: {AS_TEXT}"))
        }
        () if is_python(text) => {
            Some(format!("is a Python program: {AS_TEXT}, or plan it in Python with shardc.jit instead of jax.jit"))
        }
        () => None,
    }
}

/// Returns whether one of the first 200 lines is a Python statement, which MLIR doesn't have.
fn is_python(text: &str) -> bool {
    let statement = |line: &str| {
        line.starts_with("import ")
            || line.starts_with("from ") && line.contains(" import ")
            || line.starts_with("def ") && line.ends_with(':')
            || line.starts_with("class ") && line.ends_with(':')
            || line.starts_with("#!") && line.contains("python")
    };
    text.lines().take(200).any(|line| statement(line.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::program_text;

    /// Returns the message for a file `f`, up to the first colon.
    fn said(bytes: &[u8]) -> String {
        let message = program_text("f", bytes.to_vec()).expect_err("it is no program");
        assert!(message.contains(": "), "{message} says no way on");
        message.split(": ").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn files_in_other_formats_are_named_in_the_error() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let module = b"\x0a\x05jit_f\x12\x06main.5\x1a\x40\x0a\x06main.5";
        let whole = [b"\x0a\x15", &module[..]].concat();
        for (bytes, what) in [
            (&b"\x1f\x8b\x08\0"[..], "f is compressed with gzip"),
            (b"\x28\xb5\x2f\xfd\0", "f is compressed with zstd"),
            (&[&[b'a'; 257][..], b"ustar\x0000"].concat(), "f is a tar archive"),
            (b"PK\x03\x04", "f is an archive (such as npz or npy), not a program"),
            (b"\x93NUMPY\x01\0", "f is an archive (such as npz or npy), not a program"),
            (&utf16("\u{feff}module {}"), "f is text in UTF-16"),
            (&utf16("module {}"), "f is text in UTF-16LE"),
            (module, "f is a protobuf of HLO, which is not supported"),
            (&whole, "f is a protobuf of HLO, which is not supported"),
            (b"HloModule jit_f", "f is HLO text, which is not supported"),
            (b"{ lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) }", "f is a jaxpr, which is not supported"),
            (b"# A program\nimport jax\n", "f is a Python program"),
            (b"@jax.jit\ndef f(x):\n  return x\n", "f is a Python program"),
            (b" \n", "f is empty"),
            (b"module {\xff}", "f is not text"),
        ] {
            assert_eq!(said(bytes), what);
        }
    }

    #[test]
    fn programs_are_read() {
        for text in
            ["\n\n\nfunc.func @f() {\n  return\n}\n", "#loc = loc(\"a\")\nmodule {}", "// import jax\nmodule {}"]
        {
            assert_eq!(program_text("f", text.into()).as_deref(), Ok(text));
        }
        assert_eq!(
            program_text("f", b"\xef\xbb\xbfmodule @\"\xff\" {}".to_vec()).as_deref(),
            Ok("module @\"\\FF\" {}")
        );
    }
}
