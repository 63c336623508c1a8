//! What ranks tell each other all the time: how their devices are, and for whom they wait.

use crate::collective::State;

/// How one rank is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Beat {
    /// Grows whenever something has happened there.
    pub(super) version: u64,
    /// What its devices do; `None` outside of a run.
    pub(super) devices: Option<Vec<State>>,
    /// Exchanges that aren't done: the tag, and the ranks for which each waits.
    pub(super) pending: Vec<(u32, Vec<u32>)>,
}

/// How long nothing must have happened anywhere until it counts as forever.
pub(super) const STILL: std::time::Duration = std::time::Duration::from_secs(3);

const RUNS: u32 = u32::MAX;
const LEFT: u32 = u32::MAX - 1;
const OUTSIDE: u32 = u32::MAX;

impl Beat {
    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut words = vec![self.version as u32, (self.version >> 32) as u32];
        words.push(self.devices.as_ref().map_or(OUTSIDE, |d| d.len() as u32));
        words.extend(self.devices.iter().flatten().map(|state| match state {
            State::Runs => RUNS,
            State::Left => LEFT,
            State::Waits(site) => *site,
        }));
        for (tag, ranks) in &self.pending {
            words.extend([*tag, ranks.len() as u32]);
            words.extend(ranks);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// From bytes; `None` if they are something else.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        let version = u64::from(words.next()?) | u64::from(words.next()?) << 32;
        let state = |word: u32| match word {
            RUNS => State::Runs,
            LEFT => State::Left,
            site => State::Waits(site),
        };
        let devices = match words.next()? {
            OUTSIDE => None,
            count => Some((0..count).map(|_| words.next().map(state)).collect::<Option<Vec<State>>>()?),
        };
        let mut pending = Vec::new();
        while let Some(tag) = words.next() {
            let count = words.next()?;
            pending.push((tag, (0..count).map(|_| words.next()).collect::<Option<Vec<u32>>>()?));
        }
        Some(Self { version, devices, pending })
    }

    /// Whether nothing will happen there unless others do something.
    fn is_idle(&self) -> bool {
        match &self.devices {
            Some(devices) => devices.iter().all(|state| *state != State::Runs),
            None => !self.pending.is_empty(),
        }
    }

    fn waits_for(&self, tag: u32, rank: usize) -> bool {
        self.pending.iter().any(|(t, ranks)| *t == tag && ranks.contains(&(rank as u32)))
    }
}

/// Whether ranks that are like this will stay so forever: all wait, and no two of them for each other in one exchange, whose
/// bytes may be on their way.
pub(super) fn is_forever(beats: &[Beat]) -> bool {
    let on_its_way =
        |rank: usize, tag: u32, other: u32| beats.get(other as usize).is_some_and(|beat| beat.waits_for(tag, rank));
    beats.iter().all(Beat::is_idle)
        && beats.iter().any(|beat| !beat.pending.is_empty())
        && !beats.iter().enumerate().any(|(rank, beat)| {
            beat.pending.iter().any(|(tag, others)| others.iter().any(|&other| on_its_way(rank, *tag, other)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(devices: &[State], pending: &[(u32, &[u32])]) -> Beat {
        let pending = pending.iter().map(|(tag, ranks)| (*tag, ranks.to_vec())).collect();
        Beat { version: 1 << 40 | 3, devices: Some(devices.to_vec()), pending }
    }

    #[test]
    fn beats_are_read_as_written() {
        let outside = Beat { version: 7, devices: None, pending: vec![(9, vec![1])] };
        for beat in [beat(&[State::Runs, State::Left, State::Waits(5)], &[(4, &[0, 2]), (8, &[])]), outside] {
            assert_eq!(Beat::decode(&beat.encode()), Some(beat));
        }
        assert_eq!(Beat::decode(&[1, 2, 3]), None);
    }

    #[test]
    fn who_waits_for_whom_forever() {
        let waits = [State::Waits(0)];
        // At different collectives; one has ended while the other waits.
        assert!(is_forever(&[beat(&waits, &[(1, &[1])]), beat(&waits, &[(2, &[0])])]));
        assert!(is_forever(&[beat(&waits, &[(1, &[1])]), beat(&[State::Left], &[])]));
        // At the same one; one computes; all have ended.
        assert!(!is_forever(&[beat(&waits, &[(1, &[1])]), beat(&waits, &[(1, &[0])])]));
        assert!(!is_forever(&[beat(&waits, &[(1, &[1])]), beat(&[State::Runs], &[])]));
        assert!(!is_forever(&[beat(&[State::Left], &[]), beat(&[State::Left], &[])]));
        // Two of three are done with each other and wait for the third, which is elsewhere.
        let third = beat(&waits, &[(2, &[0])]);
        assert!(is_forever(&[beat(&waits, &[(1, &[2])]), beat(&waits, &[(1, &[2])]), third]));
    }
}
