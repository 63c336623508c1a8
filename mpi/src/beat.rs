//! The regular messages between ranks: the states of their devices, and the ranks for which they wait.

use runtime::collective::State;

/// The state of one rank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Beat {
    /// A number that grows whenever something has happened on the rank.
    pub(super) version: u64,
    /// The states of the rank's devices; `None` outside of a run.
    pub(super) devices: Option<Vec<State>>,
    /// Exchanges that aren't done.
    pub(super) pending: Vec<Pending>,
    /// The number of collectives that the rank has begun in each group of ranks.
    pub(super) begun: Vec<u32>,
}

/// An exchange that isn't done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    pub(super) tag: u32,
    /// The ranks for which the exchange waits. For a collective: all other ranks that take part.
    pub(super) ranks: Vec<u32>,
    /// For a collective: the number of its group, and the number of collectives begun in that group up to this one.
    pub(super) collective: Option<(u32, u32)>,
}

/// The time without any event on any rank after which waits count as endless.
pub(super) const STILL: std::time::Duration = std::time::Duration::from_secs(3);

const RUNS: u32 = u32::MAX;
const LEFT: u32 = u32::MAX - 1;
const OUTSIDE: u32 = u32::MAX;
const NO_GROUP: u32 = u32::MAX;

impl Beat {
    /// Encodes the state as bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut words = vec![self.version as u32, (self.version >> 32) as u32];
        words.push(self.devices.as_ref().map_or(OUTSIDE, |d| d.len() as u32));
        words.extend(self.devices.iter().flatten().map(|state| match state {
            State::Runs => RUNS,
            State::Left => LEFT,
            State::Waits(site) => *site,
        }));
        words.push(self.begun.len() as u32);
        words.extend(&self.begun);
        for Pending { tag, ranks, collective } in &self.pending {
            let (group, number) = collective.unwrap_or((NO_GROUP, 0));
            words.extend([*tag, group, number, ranks.len() as u32]);
            words.extend(ranks);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Decodes bytes; returns `None` if they aren't an encoded state.
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
        let begun = words.next()?;
        let begun = (0..begun).map(|_| words.next()).collect::<Option<Vec<u32>>>()?;
        let mut pending = Vec::new();
        while let Some(tag) = words.next() {
            let (group, number, count) = (words.next()?, words.next()?, words.next()?);
            let ranks = (0..count).map(|_| words.next()).collect::<Option<Vec<u32>>>()?;
            pending.push(Pending { tag, ranks, collective: (group != NO_GROUP).then_some((group, number)) });
        }
        Some(Self { version, devices, pending, begun })
    }

    /// Returns whether nothing will happen on this rank unless other ranks do something.
    fn is_idle(&self) -> bool {
        match &self.devices {
            Some(devices) => devices.iter().all(|state| *state != State::Runs),
            None => !self.pending.is_empty(),
        }
    }

    fn waits_for(&self, tag: u32, rank: usize) -> bool {
        self.pending.iter().any(|p| p.tag == tag && p.collective.is_none() && p.ranks.contains(&(rank as u32)))
    }

    fn has_begun(&self, (group, number): (u32, u32)) -> bool {
        // The counters wrap around.
        self.begun.get(group as usize).is_some_and(|begun| (begun.wrapping_sub(number) as i32) >= 0)
    }
}

/// Returns whether ranks in these states will stay in them forever. This holds if all ranks wait, and none of their
/// exchanges can still finish. An exchange can finish if two ranks wait for each other in it, or if all ranks have
/// begun its collective, because its bytes may be on their way.
pub(super) fn is_forever(beats: &[Beat]) -> bool {
    let at = |other: &u32| beats.get(*other as usize);
    let on_its_way = |rank: usize, pending: &Pending| match pending.collective {
        Some(which) => pending.ranks.iter().all(|other| at(other).is_some_and(|beat| beat.has_begun(which))),
        None => pending.ranks.iter().any(|other| at(other).is_some_and(|beat| beat.waits_for(pending.tag, rank))),
    };
    beats.iter().all(Beat::is_idle)
        && beats.iter().any(|beat| !beat.pending.is_empty())
        && !beats.iter().enumerate().any(|(rank, beat)| beat.pending.iter().any(|p| on_its_way(rank, p)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(devices: &[State], pending: &[(u32, &[u32])]) -> Beat {
        let pending = pending.iter().map(|(tag, ranks)| Pending { tag: *tag, ranks: ranks.to_vec(), collective: None });
        Beat { version: 1 << 40 | 3, devices: Some(devices.to_vec()), pending: pending.collect(), begun: Vec::new() }
    }

    /// Returns the state of a rank that waits for these ranks in the collective `which`, and that has begun `begun`
    /// collectives in each group.
    fn in_collective(which: (u32, u32), ranks: &[u32], begun: &[u32]) -> Beat {
        let pending = vec![Pending { tag: 7, ranks: ranks.to_vec(), collective: Some(which) }];
        Beat { version: 1, devices: Some(vec![State::Waits(0)]), pending, begun: begun.to_vec() }
    }

    #[test]
    fn beats_are_read_as_written() {
        let outside = Beat { devices: None, ..in_collective((2, 9), &[1, 3], &[0, 4, 9]) };
        for beat in [beat(&[State::Runs, State::Left, State::Waits(5)], &[(4, &[0, 2]), (8, &[])]), outside] {
            assert_eq!(Beat::decode(&beat.encode()), Some(beat));
        }
        assert_eq!(Beat::decode(&[1, 2, 3]), None);
    }

    #[test]
    fn who_waits_for_whom_forever() {
        let waits = [State::Waits(0)];
        // The ranks wait at different collectives; then one rank has ended while the other waits.
        assert!(is_forever(&[beat(&waits, &[(1, &[1])]), beat(&waits, &[(2, &[0])])]));
        assert!(is_forever(&[beat(&waits, &[(1, &[1])]), beat(&[State::Left], &[])]));
        // Both ranks wait at the same collective; then one computes; then both have ended.
        assert!(!is_forever(&[beat(&waits, &[(1, &[1])]), beat(&waits, &[(1, &[0])])]));
        assert!(!is_forever(&[beat(&waits, &[(1, &[1])]), beat(&[State::Runs], &[])]));
        assert!(!is_forever(&[beat(&[State::Left], &[]), beat(&[State::Left], &[])]));
        // Two of three ranks are done with each other and wait for the third, which is at another collective.
        let third = beat(&waits, &[(2, &[0])]);
        assert!(is_forever(&[beat(&waits, &[(1, &[2])]), beat(&waits, &[(1, &[2])]), third]));
    }

    #[test]
    fn who_waits_forever_in_collectives() {
        // The first of three ranks waits for two others that have ended.
        let first = in_collective((0, 1), &[1, 2], &[1, 0]);
        let other = |to: u32| in_collective((1, 1), &[to], &[0, 1]);
        let ended = Beat { pending: Vec::new(), devices: Some(vec![State::Left]), ..other(2) };
        assert!(is_forever(&[first.clone(), ended.clone(), ended]));
        // All three ranks have begun the collective. One of them has its part already and waits at the next collective,
        // so the bytes of the others are on their way.
        let beside = in_collective((0, 1), &[0, 2], &[1, 0]);
        let ahead = in_collective((1, 1), &[1], &[1, 1]);
        assert!(!is_forever(&[first.clone(), beside.clone(), ahead]));
        // The third rank never came to the collective.
        let away = in_collective((1, 1), &[1], &[0, 1]);
        assert!(is_forever(&[first, beside, away]));
        // The counters wrap around.
        assert!(in_collective((0, 0), &[], &[2]).has_begun((0, u32::MAX)));
    }
}
