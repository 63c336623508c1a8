//! The format of JAX's `Exported.serialize()`: a flatbuffer of a function's types, with the program in one of its
//! fields. Sources: FlatBuffers' binary format, and `serialization.fbs` in JAX.
//!
//! A table begins with the distance back to its list of fields, which has two bytes per field: the distance of the
//! field from the table's beginning, or 0. The module states its shardings and meshes itself, so nothing else is
//! needed.

use std::ops::Range;

use super::MAGIC;

/// The number of the field `mlir_module_serialized`, from 0.
const MODULE: usize = 13;
/// The number of bytes before the fields in a list: its own length and the table's, two bytes each.
const FIELDS: usize = 4;

/// Returns the range of the program in a file of `Exported.serialize()`.
pub(super) fn module(bytes: &[u8]) -> Option<Range<usize>> {
    let root = word(bytes, 0)?;
    let table = root;
    let back = i32::try_from(word(bytes, table)? as i64).ok();
    let fields = match back {
        Some(back) => table.checked_sub(usize::try_from(back).ok()?)?,
        // Distances are signed: the list may come after the table.
        None => table.checked_add((1usize << 32).checked_sub(word(bytes, table)?)?)?,
    };
    let length = half(bytes, fields)?;
    let slot = FIELDS + 2 * MODULE;
    if slot + 2 > length {
        return None;
    }
    let field = match half(bytes, fields.checked_add(slot)?)? {
        0 => return None,
        distance => table.checked_add(distance)?,
    };
    let list = field.checked_add(word(bytes, field)?)?;
    let start = list.checked_add(4)?;
    let module = start..start.checked_add(word(bytes, list)?)?;
    bytes.get(module.clone())?.starts_with(&MAGIC).then_some(module)
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?) as usize)
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let half = bytes.get(at..at.checked_add(2)?)?;
    Some(usize::from(u16::from_le_bytes(half.try_into().ok()?)))
}
