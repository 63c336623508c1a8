//! What moves bytes between ranks: the processes of one run, each of which has some of its devices.

use std::ops::Range;
use std::sync::Arc;

/// The first tag that no collective of a program has.
pub(super) const FIRST_TAG: u32 = 1 << 30;
const TAG_LENGTHS: u32 = FIRST_TAG;
const TAG_BYTES: u32 = FIRST_TAG + 1;
const TAG_BARRIER: u32 = FIRST_TAG + 2;

/// What moves bytes between ranks.
pub trait Wire: Send + Sync {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Sends each slice to a rank, and receives from ranks into these ranges of `into`; returns when all of it is done.
    /// Between two ranks, what has one tag comes in the order in which it was sent. After an error, `into` and what was
    /// to be sent must stay in memory: somebody may still access them.
    fn exchange(
        &self,
        tag: u32,
        sends: &[(usize, &[u8])],
        into: &mut [u8],
        receives: &[(usize, Range<usize>)],
    ) -> Result<(), String>;

    /// From now on, asks these devices how they are, and tells them if another rank fails.
    fn watch(&self, devices: Option<Arc<dyn Watched>>);

    /// What every rank gives, in their order.
    fn everybody(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (0..self.ranks()).filter(|&r| r != self.rank()).collect();
        self.among(mine, &others, &others)
    }

    /// What every rank gives, in their order, on the first rank; nothing on the others.
    fn to_first(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (1..self.ranks()).collect();
        if self.rank() == 0 { self.among(mine, &[], &others) } else { self.among(mine, &[0], &[]).map(|_| Vec::new()) }
    }

    /// What ranks give that send to and receive from these.
    fn among(&self, mine: &[u8], to: &[usize], from: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        let length = (mine.len() as u64).to_le_bytes();
        let sends: Vec<(usize, &[u8])> = to.iter().map(|&to| (to, &length[..])).collect();
        let mut lengths = vec![0; 8 * from.len()];
        let receives: Vec<(usize, Range<usize>)> =
            from.iter().enumerate().map(|(i, &from)| (from, 8 * i..8 * (i + 1))).collect();
        self.exchange(TAG_LENGTHS, &sends, &mut lengths, &receives)?;
        let lengths = lengths.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes) as usize);
        let mut end = 0;
        let mut receives = Vec::new();
        for (length, &from) in lengths.zip(from) {
            receives.push((from, end..end + length));
            end += length;
        }
        let sends: Vec<(usize, &[u8])> = to.iter().map(|&to| (to, mine)).collect();
        let mut all = vec![0; end];
        if let Err(error) = self.exchange(TAG_BYTES, &sends, &mut all, &receives) {
            // Somebody may still write there.
            std::mem::forget(all);
            return Err(error);
        }
        let mut parts = vec![Vec::new(); self.ranks()];
        parts[self.rank()] = mine.to_vec();
        receives.into_iter().for_each(|(from, range)| parts[from] = all[range].to_vec());
        Ok(parts)
    }

    /// Waits until every rank is here.
    fn barrier(&self) -> Result<(), String> {
        let mut came = vec![0; self.ranks()];
        let others = || (0..self.ranks()).filter(|&r| r != self.rank());
        let sends: Vec<(usize, &[u8])> = others().map(|r| (r, &[1u8][..])).collect();
        let receives: Vec<(usize, Range<usize>)> = others().map(|r| (r, r..r + 1)).collect();
        self.exchange(TAG_BARRIER, &sends, &mut came, &receives).inspect_err(|_| std::mem::forget(came))
    }
}

/// Devices that a [`Wire`] looks after.
pub trait Watched: Send + Sync {
    /// Ends their waits for this reason.
    fn fail(&self, why: &str);

    /// What each of them does, and a number that grows whenever one of them does something else.
    fn state(&self) -> (u64, Vec<State>);

    /// What the devices of a rank did when they were heard of last, in words; nothing if that isn't known.
    fn describe(&self, rank: usize, states: &[State]) -> String;
}

/// What a device does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It computes.
    Runs,
    /// It waits for others at the collective with this number.
    Waits(u32),
    /// It has ended.
    Left,
}
