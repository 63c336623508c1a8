//! Bytes with a position: reads the numbers and strings that make up the format.

use super::{Fault, Read};

/// The padding byte before aligned data.
const PADDING: u8 = 0xCB;

/// A part of the file, read from front to back.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    /// The whole file, so that positions are those in messages.
    file: &'a [u8],
    pub(super) at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a [u8]) -> Self {
        Self { file, at: 0, end: file.len() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Returns the number of remaining bytes.
    pub(super) fn left(&self) -> usize {
        self.end - self.at
    }

    /// Returns a fault at the current byte.
    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Fault::new(self.at, message))
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        if self.is_empty() {
            return self.fault("expected a byte, found the end");
        }
        self.at += 1;
        Ok(self.file[self.at - 1])
    }

    /// Splits off the next `count` bytes as a separate part.
    pub(super) fn part(&mut self, count: u64) -> Read<Cursor<'a>> {
        match usize::try_from(count) {
            Ok(n) if n <= self.left() => {
                let part = Cursor { end: self.at + n, ..*self };
                self.at += n;
                Ok(part)
            }
            _ => self.fault(format!("expected {count} bytes, {} are left", self.left())),
        }
    }

    /// Returns all remaining bytes.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.file[self.at..self.end]
    }

    /// Removes `count` bytes from the end of the part, and returns them.
    pub(super) fn take_back(&mut self, count: u64) -> Read<&'a [u8]> {
        match usize::try_from(count) {
            Ok(n) if n <= self.left() => {
                self.end -= n;
                Ok(&self.file[self.end..self.end + n])
            }
            _ => self.fault(format!("expected {count} bytes at the end, {} are left", self.left())),
        }
    }

    /// Reads an integer of 1 to 9 bytes: the number of trailing zeros of the first byte is the number of further bytes.
    pub(super) fn number(&mut self) -> Read<u64> {
        let first = self.byte()?;
        let more = first.trailing_zeros() as usize;
        let mut bytes = [0; 8];
        if more == 8 {
            let part = self.part(8)?;
            bytes.copy_from_slice(part.rest());
            return Ok(u64::from_le_bytes(bytes));
        }
        bytes[0] = first;
        let part = self.part(more as u64)?;
        bytes[1..=more].copy_from_slice(part.rest());
        Ok(u64::from_le_bytes(bytes) >> (more + 1))
    }

    /// Reads a signed integer, whose lowest bit is the sign.
    pub(super) fn signed(&mut self) -> Read<i64> {
        let n = self.number()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// Reads an integer above a one-bit flag.
    pub(super) fn flagged(&mut self) -> Read<(u64, bool)> {
        let n = self.number()?;
        Ok((n >> 1, n & 1 == 1))
    }

    /// Reads the number of items that take at least one byte each.
    pub(super) fn count(&mut self, what: &str) -> Read<usize> {
        let (at, n) = (self.at, self.number()?);
        match usize::try_from(n) {
            Ok(n) if n <= self.left() => Ok(n),
            _ => Err(Fault::new(at, format!("{n} {what} don't fit in the {} bytes that are left", self.left()))),
        }
    }

    /// Reads an index below `limit`.
    pub(super) fn index(&mut self, limit: usize, what: &str) -> Read<usize> {
        let (at, n) = (self.at, self.number()?);
        below(at, n, limit, what)
    }

    /// Reads an index with a flag.
    pub(super) fn flagged_index(&mut self, limit: usize, what: &str) -> Read<(usize, bool)> {
        let at = self.at;
        let (n, flag) = self.flagged()?;
        Ok((below(at, n, limit, what)?, flag))
    }

    /// Reads the number of items, then the items.
    pub(super) fn list<T>(&mut self, what: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let n = self.count(what)?;
        (0..n).map(|_| item(self)).collect()
    }

    pub(super) fn signed_list(&mut self) -> Read<Vec<i64>> {
        self.list("integers", Self::signed)
    }

    /// Skips padding to the next multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> Read<()> {
        if !alignment.is_power_of_two() || alignment > 1 << 30 {
            return self.fault(format!("expected an alignment that is a power of two up to 2^30, found {alignment}"));
        }
        while !(self.at as u64).is_multiple_of(alignment) {
            let found = self.byte()?;
            if found != PADDING {
                self.at -= 1;
                return self.fault(format!("expected padding of 0x{PADDING:02X}, found 0x{found:02X}"));
            }
        }
        Ok(())
    }

    /// Reads bytes up to a zero byte, which is skipped.
    pub(super) fn zero_ended(&mut self) -> Read<&'a [u8]> {
        let rest = self.rest();
        let Some(length) = rest.iter().position(|&b| b == 0) else {
            return self.fault("a string doesn't end with a zero byte");
        };
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// Checks that all bytes were read.
    pub(super) fn finish(&self, what: &str) -> Read<()> {
        match self.left() {
            0 => Ok(()),
            n => self.fault(format!("{n} bytes follow the end of {what}")),
        }
    }
}

fn below(at: usize, n: u64, limit: usize, what: &str) -> Read<usize> {
    match usize::try_from(n) {
        Ok(n) if n < limit => Ok(n),
        _ => Err(Fault::new(at, format!("expected a number of {what} below {limit}, found {n}"))),
    }
}
