//! MPI datatypes for parts of operands, so that MPI reads and writes the operands in place.

#![allow(unsafe_code, reason = "calls MPI")]

use std::ffi::c_int;

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;
use mpi::ffi;

use super::funnel::check;
use runtime::collective::Part;

/// The maximum size of one block in bytes, because counts are 32-bit.
const MAX_BLOCK: usize = 1 << 30;

/// The bytes of this process that make up one message.
pub(super) enum Bytes {
    /// Contiguous bytes.
    Run { start: *const u8, count: c_int },
    /// Bytes that aren't contiguous, as a datatype at this address.
    Apart { base: *const u8, datatype: ffi::MPI_Datatype },
}

impl Bytes {
    /// Describes the parts of operands that begin at these addresses, in this order. The parts must have at least one
    /// byte.
    ///
    /// # Safety
    /// Must run on the thread that makes all calls of MPI.
    pub(super) unsafe fn of(parts: &[(*const u8, Part)]) -> Result<Self, String> {
        let base = parts.first().map_or(std::ptr::null(), |part| part.0);
        let blocks = blocks(parts, base as isize);
        Ok(match &blocks[..] {
            [block] if block.count == 1 => {
                Bytes::Run { start: base.wrapping_offset(block.start), count: block.length as c_int }
            }
            // SAFETY: `datatype` requires only that this is MPI's thread, which this function requires too.
            blocks => Bytes::Apart { base, datatype: unsafe { datatype(blocks) }? },
        })
    }
}

/// Returns a datatype that describes, relative to `base`, the parts of operands that begin at these addresses.
///
/// # Safety
/// Must run on the thread that makes all calls of MPI.
pub(super) unsafe fn typed(parts: &[(*const u8, Part)], base: *const u8) -> Result<ffi::MPI_Datatype, String> {
    // SAFETY: `datatype` requires only that this is MPI's thread, which this function requires too.
    unsafe { datatype(&blocks(parts, base as isize)) }
}

/// Runs of bytes at regular distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    /// Byte offset from the base.
    start: isize,
    /// Bytes of each run, at most [`MAX_BLOCK`].
    length: usize,
    stride: usize,
    count: usize,
}

/// Returns the blocks of parts of operands at these addresses. Contiguous blocks are merged.
fn blocks(parts: &[(*const u8, Part)], base: isize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::with_capacity(parts.len());
    for (operand, part) in parts.iter().filter(|(_, part)| part.bytes() > 0) {
        let first = (*operand as isize).wrapping_sub(base) + part.first as isize;
        if part.start_if_contiguous().is_some() {
            push(&mut blocks, first, part.bytes());
        } else if part.run > MAX_BLOCK || part.count > MAX_BLOCK {
            (0..part.count).for_each(|i| push(&mut blocks, first + (i * part.stride) as isize, part.run));
        } else {
            blocks.push(Block { start: first, length: part.run, stride: part.stride, count: part.count });
        }
    }
    blocks
}

/// Adds contiguous bytes.
fn push(blocks: &mut Vec<Block>, mut start: isize, mut length: usize) {
    let follows = |last: &&mut Block| last.count == 1 && last.start + last.length as isize == start;
    if let Some(last) = blocks.last_mut().filter(follows) {
        let more = length.min(MAX_BLOCK - last.length);
        last.length += more;
        last.stride += more;
        (start, length) = (start + more as isize, length - more);
    }
    while length > 0 {
        let now = length.min(MAX_BLOCK);
        blocks.push(Block { start, length: now, stride: now, count: 1 });
        (start, length) = (start + now as isize, length - now);
    }
}

/// Creates and commits a datatype of these blocks.
///
/// # Safety
/// Must run on the thread that makes all calls of MPI.
unsafe fn datatype(blocks: &[Block]) -> Result<ffi::MPI_Datatype, String> {
    let mut starts: Vec<ffi::MPI_Aint> = blocks.iter().map(|block| block.start as ffi::MPI_Aint).collect();
    // SAFETY: this is MPI's thread by this function's contract. Each array is collected from `blocks` and so has
    // `count` elements.
    unsafe {
        let (byte, mut all) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_DATATYPE_NULL);
        let count = blocks.len() as c_int;
        if blocks.iter().all(|block| block.count == 1) {
            let mut lengths: Vec<c_int> = blocks.iter().map(|block| block.length as c_int).collect();
            let made = ffi::MPI_Type_create_hindexed(count, lengths.as_mut_ptr(), starts.as_mut_ptr(), byte, &mut all);
            check(made, "describe bytes")?;
        } else {
            let mut types = Vec::with_capacity(blocks.len());
            for block in blocks {
                let (mut one, stride) = (ffi::RSMPI_DATATYPE_NULL, block.stride as ffi::MPI_Aint);
                let (runs, length) = (block.count as c_int, block.length as c_int);
                check(ffi::MPI_Type_create_hvector(runs, length, stride, byte, &mut one), "describe bytes")?;
                types.push(one);
            }
            let mut ones = vec![1; blocks.len()];
            let (ones, starts) = (ones.as_mut_ptr(), starts.as_mut_ptr());
            check(ffi::MPI_Type_create_struct(count, ones, starts, types.as_mut_ptr(), &mut all), "describe bytes")?;
            for mut one in types {
                ffi::MPI_Type_free(&mut one);
            }
        }
        check(ffi::MPI_Type_commit(&mut all), "describe bytes")?;
        Ok(all)
    }
}

/// Returns MPI's datatype for an element type, if there is one.
fn element(element: ElementType) -> Option<ffi::MPI_Datatype> {
    use ElementType::{F32, F64, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64};
    // SAFETY: these statics are constants of the library.
    unsafe {
        Some(match element {
            F32 => ffi::RSMPI_FLOAT,
            F64 => ffi::RSMPI_DOUBLE,
            I8 => ffi::RSMPI_INT8_T,
            I16 => ffi::RSMPI_INT16_T,
            I32 => ffi::RSMPI_INT32_T,
            I64 => ffi::RSMPI_INT64_T,
            I1 | UI8 => ffi::RSMPI_UINT8_T,
            UI16 => ffi::RSMPI_UINT16_T,
            UI32 => ffi::RSMPI_UINT32_T,
            UI64 => ffi::RSMPI_UINT64_T,
            _ => return None,
        })
    }
}

/// Returns MPI's operation that has the result of this one, up to the order of sums, and its datatype. Returns `None`
/// for the maximum of floats, because MPI doesn't specify it for NaN.
pub(super) fn operation(op: ScalarOp, of: ElementType) -> Option<(ffi::MPI_Op, ffi::MPI_Datatype)> {
    let datatype = element(of)?;
    // SAFETY: these statics are constants of the library.
    let operation = unsafe {
        match op {
            // Booleans are bytes of value 0 or 1.
            ScalarOp::Add | ScalarOp::Max | ScalarOp::Or if of == ElementType::I1 => ffi::RSMPI_BOR,
            ScalarOp::Mul | ScalarOp::Min | ScalarOp::And if of == ElementType::I1 => ffi::RSMPI_BAND,
            ScalarOp::Xor if of == ElementType::I1 => ffi::RSMPI_BXOR,
            ScalarOp::Add => ffi::RSMPI_SUM,
            ScalarOp::Mul => ffi::RSMPI_PROD,
            _ if of.is_float() => return None,
            ScalarOp::Max => ffi::RSMPI_MAX,
            ScalarOp::Min => ffi::RSMPI_MIN,
            ScalarOp::And => ffi::RSMPI_BAND,
            ScalarOp::Or => ffi::RSMPI_BOR,
            ScalarOp::Xor => ffi::RSMPI_BXOR,
            _ => return None,
        }
    };
    Some((operation, datatype))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> *const u8 {
        std::ptr::without_provenance(address)
    }

    #[test]
    fn what_follows_is_one_block() {
        let run = |start, length| Block { start, length, stride: length, count: 1 };
        let parts = [
            (at(1000), Part::whole(24)),
            (at(1024), Part::one(100, 0, 6)),
            (at(500), Part::nothing(10)),
            (at(900), Part::block(24, 1, 4, 12, 2)),
            (at(2000), Part::one(100, 10, 20)),
        ];
        let strided = Block { start: -96, length: 4, stride: 12, count: 2 };
        assert_eq!(blocks(&parts, 1000), [run(0, 30), strided, run(1010, 20)]);
        // Contiguous rows are one run.
        assert_eq!(blocks(&[(at(8), Part::block(24, 0, 12, 12, 2))], 8), [run(0, 24)]);
    }

    #[test]
    fn what_is_too_long_is_several_blocks() {
        let large = MAX_BLOCK + 5;
        let run = |start: usize, length| Block { start: start as isize, length, stride: length, count: 1 };
        assert_eq!(blocks(&[(at(8), Part::whole(large))], 8), [run(0, MAX_BLOCK), run(MAX_BLOCK, 5)]);
        let rows = Part::block(4 * large, 1, large, 2 * large, 2);
        let (first, second) = (large, 3 * large);
        let wanted =
            [run(first, MAX_BLOCK), run(first + MAX_BLOCK, 5), run(second, MAX_BLOCK), run(second + MAX_BLOCK, 5)];
        assert_eq!(blocks(&[(at(8), rows)], 8), wanted);
    }
}
