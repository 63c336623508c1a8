//! Encoding of numbers and sections: the counterpart of the cursor.

/// Appends an unsigned integer with 7 bits in each byte: the number of trailing zeros of the first byte is the number
/// of further bytes; a 9-byte number is a zero byte and the number.
pub(super) fn number(out: &mut Vec<u8>, n: usize) {
    let n = n as u64;
    let bits = u64::BITS - n.leading_zeros();
    let more = bits.saturating_sub(1) as usize / 7;
    if more >= 8 {
        out.push(0);
        out.extend(n.to_le_bytes());
        return;
    }
    let word = (n << 1 | 1) << more;
    out.extend(&word.to_le_bytes()[..=more]);
}

/// Appends a number above a flag.
pub(super) fn flagged(out: &mut Vec<u8>, n: usize, flag: bool) {
    number(out, n << 1 | usize::from(flag));
}

/// Appends the number of numbers, then the numbers.
pub(super) fn list(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = usize>) {
    number(out, numbers.len());
    numbers.for_each(|n| number(out, n));
}

/// Appends the section with this number.
pub(super) fn section(out: &mut Vec<u8>, id: usize, data: &[u8]) {
    out.push(id as u8);
    number(out, data.len());
    out.extend(data);
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_back() {
        let powers = (0..64).flat_map(|bit| [(1usize << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for n in powers.chain([usize::MAX, 300, 0]) {
            let mut out = Vec::new();
            number(&mut out, n);
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.number().ok(), Some(n as u64), "{n} as {out:?}");
            assert!(cursor.is_empty(), "{n} as {out:?}");
        }
    }
}
