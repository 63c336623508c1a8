//! MLIR bytecode, such as the output of `jax.export` and StableHLO's portable artifacts: conversion to the text of the
//! same program, and writing of programs as bytecode ([`bytecode_of`]).
//!
//! All knowledge of ops and their attributes is in the code for text, which parses, checks and prints them. So bytecode
//! is converted to MLIR's generic text, which the parser reads, and diagnostics show its lines.
//! Sources: MLIR's BytecodeFormat.md; the lists of codes of the dialects builtin, quant, stablehlo, chlo, vhlo and sdy.
//!
//! The file isn't trusted: every size, offset and index is checked before it is used, nesting is limited to
//! [`MAX_NESTING`](crate::text::MAX_NESTING) and the text to [`MAX_GROWTH`] times the size of the file. Unreadable
//! parts are reported with their byte offsets; faults in single attributes and types don't stop reading.

mod affine;
mod builtin;
mod container;
mod cursor;
mod encoder;
mod entries;
mod exported;
mod ir;
mod op_attributes;
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

/// The first bytes of every bytecode file: `MLïR`.
pub const MAGIC: [u8; 4] = *b"ML\xefR";

/// The limit on the text of a file, in bytes per byte of bytecode, in addition to [`BASE_GROWTH`].
pub const MAX_GROWTH: usize = 256;

/// The limit on the text of the smallest file, in bytes.
pub const BASE_GROWTH: usize = 16 << 20;

/// The newest version of the format that can be read.
const NEWEST: u64 = 6;

/// The largest number of reported faults of one file.
const MAX_FAULTS: usize = 20;

/// A part of the file that can't be read, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The byte of the file.
    at: usize,
    /// What was expected and found.
    message: String,
    /// How to fix it.
    note: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        let note = "the file is damaged or truncated: write it again, or pass the program as text";
        Self { at, message: message.into(), note: note.to_owned() }
    }

    /// Returns a fault for a valid part that isn't supported here.
    fn unknown(at: usize, message: impl Into<String>) -> Self {
        let note = "print the program as text (stablehlo-translate --deserialize, mlir-opt, JAX's as_text()), or write it \
                    for an older version of StableHLO";
        Self { at, message: message.into(), note: note.to_owned() }
    }
}

type Read<T> = Result<T, Fault>;

/// Returns whether these bytes are a program in MLIR bytecode, alone or inside the output of JAX's
/// `Exported.serialize`.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || exported::module(bytes).is_some()
}

/// Returns the program in bytes that [`is_bytecode`] accepts, as MLIR's generic text with its locations. `None`: the
/// diagnostics state why, with byte offsets.
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
