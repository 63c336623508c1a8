//! The parts of an operand that another device reads, and that a transport between processes therefore sends.

/// Bytes of a member's operand: `count` runs of `run` bytes, `stride` apart, from byte `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Size of the whole operand in bytes.
    pub of: usize,
    /// Byte offset of the first run.
    pub first: usize,
    /// Bytes of each run.
    pub run: usize,
    /// Bytes from the start of one run to that of the next.
    pub stride: usize,
    /// Number of runs.
    pub count: usize,
}

/// Returns the part of a member's operand (first argument) that another member (second argument) reads. Both arguments
/// are positions in the group.
pub type Needs<'a> = dyn Fn(usize, usize) -> Part + 'a;

impl Part {
    /// Returns all of an operand of `bytes` bytes.
    pub fn whole(bytes: usize) -> Self {
        Self::one(bytes, 0, bytes)
    }

    /// Returns the empty part of an operand of `bytes` bytes.
    pub fn nothing(bytes: usize) -> Self {
        Self::one(bytes, 0, 0)
    }

    /// Returns one run of `run` bytes from byte `first` on.
    pub fn one(of: usize, first: usize, run: usize) -> Self {
        Self { of, first, run, stride: run, count: 1 }
    }

    /// Returns, from each of `count` rows of `stride` bytes, the block of `run` bytes at position `place`.
    pub fn block(of: usize, place: usize, run: usize, stride: usize, count: usize) -> Self {
        Self { of, first: place * run, run, stride, count }
    }

    /// Returns the size of this part in bytes.
    pub fn bytes(&self) -> usize {
        self.run * self.count
    }

    /// Returns the offset of this part if its runs are contiguous.
    pub fn start_if_contiguous(&self) -> Option<usize> {
        (self.count == 1 || self.run == self.stride).then_some(self.first)
    }

    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        let Part { first, stride, count, .. } = *self;
        (0..count).map(move |i| first + i * stride)
    }

    /// Appends this part of `operand` to `to`.
    pub fn pack(&self, operand: &[u8], to: &mut Vec<u8>) {
        self.starts().for_each(|start| to.extend_from_slice(&operand[start..start + self.run]));
    }

    /// Copies this part from the start of `bytes` to its position in `operand`, and returns the remaining bytes.
    pub fn unpack<'b>(&self, bytes: &'b [u8], operand: &mut [u8]) -> &'b [u8] {
        let (mine, rest) = bytes.split_at(self.bytes());
        if self.run > 0 {
            self.starts()
                .zip(mine.chunks_exact(self.run))
                .for_each(|(start, run)| operand[start..start + self.run].copy_from_slice(run));
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_where_it_was() {
        let operand: Vec<u8> = (1..=24).collect();
        // The second of three blocks in each of two rows; then nothing; then all.
        for (part, wanted) in [
            (Part::block(24, 1, 4, 12, 2), vec![5, 6, 7, 8, 17, 18, 19, 20]),
            (Part::nothing(24), vec![]),
            (Part::whole(24), operand.clone()),
            (Part::one(24, 22, 2), vec![23, 24]),
        ] {
            let mut packed = Vec::new();
            part.pack(&operand, &mut packed);
            assert_eq!((&packed, packed.len()), (&wanted, part.bytes()));
            packed.push(99);
            let mut there = vec![0; 24];
            assert_eq!(part.unpack(&packed, &mut there), [99]);
            let kept = operand.iter().map(|b| if wanted.contains(b) { *b } else { 0 });
            assert_eq!(there, kept.collect::<Vec<u8>>());
        }
    }
}
