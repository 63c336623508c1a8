//! The parts of an operand that another device reads: what a transport between processes sends.

/// Bytes of a member's operand: `count` runs of `run` bytes, `stride` apart, from byte `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Bytes of the whole operand.
    pub of: usize,
    /// Where the first run begins.
    pub first: usize,
    /// Bytes of each run.
    pub run: usize,
    /// Bytes from the start of one run to that of the next.
    pub stride: usize,
    /// Number of runs.
    pub count: usize,
}

/// Which part of the operand of one member of a group another member reads, both by their places in the group.
pub type Needs<'a> = dyn Fn(usize, usize) -> Part + 'a;

impl Part {
    /// All of an operand of `bytes` bytes.
    pub fn whole(bytes: usize) -> Self {
        Self::one(bytes, 0, bytes)
    }

    /// Nothing of it.
    pub fn nothing(bytes: usize) -> Self {
        Self::one(bytes, 0, 0)
    }

    /// `run` bytes from `first` on.
    pub fn one(of: usize, first: usize, run: usize) -> Self {
        Self { of, first, run, stride: run, count: 1 }
    }

    /// The `place`-th of the blocks of `run` bytes in each of `count` rows of `stride` bytes.
    pub fn block(of: usize, place: usize, run: usize, stride: usize, count: usize) -> Self {
        Self { of, first: place * run, run, stride, count }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.run * self.count
    }

    /// Where it begins, if it is one run.
    pub fn start_if_contiguous(&self) -> Option<usize> {
        (self.count == 1 || self.run == self.stride).then_some(self.first)
    }

    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        let Part { first, stride, count, .. } = *self;
        (0..count).map(move |i| first + i * stride)
    }

    /// Appends this part of an operand.
    pub fn pack(&self, operand: &[u8], to: &mut Vec<u8>) {
        self.starts().for_each(|start| to.extend_from_slice(&operand[start..start + self.run]));
    }

    /// Puts the bytes of this part, which come first, to their place in an operand, and returns those behind them.
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
