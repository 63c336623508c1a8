//! Pins: shardings of results and of values inside the program, which are added to the best candidates.

use super::Explorer;
use crate::sharding_search::candidate::{Candidate, Pin};
use crate::sharding_search::sites::{self, WORTHWHILE};
use crate::sharding_search::trial::{Effort, Measure};

/// The maximum number of pins in a candidate.
const PINS: usize = 4;
/// The number of candidates, other than the best, that get pins.
const OTHERS: usize = 2;
/// The maximum number of candidates with pins that are planned in full, per candidate that gets pins. The limit is
/// `TRIES` or, if larger, the number of all full plans so far divided by `TRIES_SHARE`.
const TRIES: usize = 8;
const TRIES_SHARE: usize = 8;

impl Explorer<'_, '_> {
    /// Adds pins to the best candidate and to others that might become better: those whose greedy plan, which starts
    /// with values inside placed by their classes, is faster.
    pub(super) fn pin(&mut self, ranked: &mut Vec<(Candidate, Measure)>) {
        let Some((_, best)) = ranked.first().cloned() else { return };
        let promises = |c: &(Candidate, Measure)| {
            let greedy = self.trial.known.get(&(c.0.clone(), Effort::Greedy)).cloned().flatten()?;
            greedy.saves(&best, self.memory, WORTHWHILE).then(|| (c.0.clone(), greedy))
        };
        let mut others: Vec<_> = ranked.iter().skip(1).filter_map(promises).collect();
        self.sort(&mut others);
        let others = others.into_iter().take(OTHERS).filter_map(|(c, _)| ranked.iter().find(|r| r.0 == c).cloned());
        let starts: Vec<_> = ranked.first().cloned().into_iter().chain(others).collect();
        for start in starts {
            let found = self.pinned(start);
            ranked.extend(found);
        }
        self.sort(ranked);
    }

    /// Adds pins one at a time, as long as each saves enough. Returns all improved candidates.
    fn pinned(&mut self, start: (Candidate, Measure)) -> Vec<(Candidate, Measure)> {
        let mut left = (self.trial.planned() / TRIES_SHARE).max(TRIES);
        let mut better = Vec::new();
        let (mut best, mut measure) = start;
        for _ in 0..PINS {
            if self.trial.is_over(Effort::Full) {
                self.trial.cut = true;
                break;
            }
            let mut pins = sites::pins(self.trial, &best, &measure);
            pins.truncate(left);
            left -= pins.len();
            let with = |pin: Pin| {
                let mut changed = best.clone();
                changed.pins.push(pin);
                changed
            };
            let found = self.plan(pins.into_iter().map(with).collect()).into_iter().next();
            let Some(found) = found.filter(|c| c.1.saves(&measure, self.memory, WORTHWHILE)) else { break };
            (best, measure) = found.clone();
            better.push(found);
        }
        better
    }
}
