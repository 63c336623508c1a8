//! MLIR bytecode: what `jax.export` writes, StableHLO's portable artifacts among it, read as the text of the same program;
//! and programs written as such ([`bytecode_of`]).
//!
//! Everything that is known of programs is known about text: ops and their attributes are read, checked and shown there.
//! So bytecode becomes MLIR's generic text, with which the parser goes on, and diagnostics show its lines.
//! Sources: MLIR's BytecodeFormat.md; the lists of codes of the dialects builtin, quant, stablehlo, chlo, vhlo and sdy.
//!
//! Nothing is believed: every size, offset and index is checked before it is used, nesting is limited to
//! [`MAX_NESTING`](crate::text::MAX_NESTING) and the text to [`MAX_GROWTH`] times the size of the file. What can't be
//! read is reported with its byte offset; faults of single attributes and types don't end the reading.

mod affine;
mod builtin;
mod container;
mod cursor;
mod encoder;
mod entries;
mod exported;
mod ir;
mod properties;
mod quant;
mod sdy;
mod stablehlo;
mod value;
mod vhlo;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use properties::is_property;
pub use writer::bytecode_of;

use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};

/// What every file of bytecode begins with: `MLïR`.
pub const MAGIC: [u8; 4] = *b"ML\xefR";

/// The longest text of a file of bytecode, in bytes for each of its own, beside [`BASE_GROWTH`].
pub const MAX_GROWTH: usize = 256;

/// The longest text of the smallest file, in bytes.
pub const BASE_GROWTH: usize = 16 << 20;

/// The newest version of the format that is read.
const NEWEST: u64 = 6;

/// Reported faults of one file.
const MAX_FAULTS: usize = 20;

/// Something that can't be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The byte of the file.
    at: usize,
    /// What was expected and found.
    message: String,
    /// How to mend it.
    note: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        let note = "the file is damaged or cut off: write it again, or hand over the program as text";
        Self { at, message: message.into(), note: note.to_owned() }
    }

    /// Something that is right, but isn't read here.
    fn unknown(at: usize, message: impl Into<String>) -> Self {
        let note = "print the program as text (stablehlo-translate --deserialize, mlir-opt, JAX's as_text()), or write it \
                    for an older version of StableHLO";
        Self { at, message: message.into(), note: note.to_owned() }
    }
}

type Read<T> = Result<T, Fault>;

/// Whether these bytes are a program of MLIR bytecode, by itself or inside of what JAX's `Exported.serialize` writes.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || exported::module(bytes).is_some()
}

/// The program in bytes that [`is_bytecode`] accepts, as MLIR's generic text with its locations. `None`: the diagnostics
/// say why, with byte offsets.
pub fn text_of(bytes: &[u8], diagnostics: &mut Diagnostics) -> Option<String> {
    let module = if bytes.starts_with(&MAGIC) { 0..bytes.len() } else { exported::module(bytes)? };
    let start = module.start;
    match ir::text(&bytes[module]) {
        Ok(text) => Some(text),
        Err(faults) => {
            for fault in faults {
                let message = format!("byte {}: {}", start + fault.at, fault.message);
                diagnostics.push(Diagnostic::error(codes::BYTECODE, Span::default(), message).note(fault.note));
            }
            None
        }
    }
}
