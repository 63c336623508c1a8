//! Pairs of a sending and a receiving device within a group, stored as runs: a shift by any distance takes one or two
//! runs for any number of devices.

use std::ops::Range;

/// Pairs of a source and a target, both places in a group. No place is the source of two pairs or the target of two
/// pairs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Pairs {
    runs: Vec<PairRun>,
}

/// The pairs `(source + i * source_step, target + i * target_step)` for `i` in `0..count`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PairRun {
    /// The first source.
    pub source: i64,
    /// The first target.
    pub target: i64,
    /// The distance from one source to the next; not zero.
    pub source_step: i64,
    /// The distance from one target to the next; not zero.
    pub target_step: i64,
    /// Number of pairs; positive.
    pub count: i64,
}

impl PairRun {
    fn pair(&self, i: i64) -> (i64, i64) {
        (self.source + i * self.source_step, self.target + i * self.target_step)
    }

    fn part(&self, indices: Range<i64>) -> Self {
        let (source, target) = self.pair(indices.start);
        Self { source, target, count: indices.end - indices.start, ..*self }
    }

    fn sources(&self) -> Places {
        Places { first: self.source, step: self.source_step, count: self.count }
    }

    fn targets(&self) -> Places {
        Places { first: self.target, step: self.target_step, count: self.count }
    }

    /// Returns at which pair of `other` this run begins, if both are parts of one longer run.
    fn offset_in(&self, other: &Self) -> Option<i64> {
        let same = (self.source_step, self.target_step) == (other.source_step, other.target_step);
        let ahead = self.source - other.source;
        let offset = ahead / other.source_step;
        (same && other.pair(offset) == (self.source, self.target)).then_some(offset)
    }
}

/// One side of a run.
struct Places {
    first: i64,
    step: i64,
    count: i64,
}

impl Places {
    /// Returns the index of `place` in the sequence, if it is in it.
    fn index(&self, place: i64) -> Option<i64> {
        let ahead = place - self.first;
        let index = ahead / self.step;
        (ahead % self.step == 0 && (0..self.count).contains(&index)).then_some(index)
    }

    fn bounds(&self) -> (i64, i64) {
        let last = self.first + self.step * (self.count - 1);
        (self.first.min(last), self.first.max(last))
    }

    fn may_meet(&self, other: &Self) -> bool {
        let (a, b) = (self.bounds(), other.bounds());
        a.0 <= b.1 && b.0 <= a.1
    }
}

impl Pairs {
    /// Collects pairs, in order.
    pub fn of(pairs: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut runs: Vec<PairRun> = Vec::new();
        for (source, target) in pairs {
            if let Some(run) = runs.last_mut() {
                let last = run.pair(run.count - 1);
                let steps = (source - last.0, target - last.1);
                if run.count == 1 && steps.0 != 0 && steps.1 != 0 {
                    (run.source_step, run.target_step) = steps;
                }
                if steps == (run.source_step, run.target_step) {
                    run.count += 1;
                    continue;
                }
                if run.count == 1 {
                    (run.source_step, run.target_step) = (1, 1);
                }
            }
            runs.push(PairRun { source, target, source_step: 1, target_step: 1, count: 1 });
        }
        Self { runs }
    }

    /// Collects the pairs of `runs` within a group of `places` devices; `None` if a place is outside the group, or is a
    /// source or a target twice.
    pub fn of_runs(runs: impl IntoIterator<Item = PairRun>, places: i64) -> Option<Self> {
        let mut all = Self::default();
        for run in runs {
            let valid = |side: Places| {
                let last = side.step.checked_mul(side.count - 1).and_then(|way| way.checked_add(side.first));
                side.step != 0 && [Some(side.first), last].iter().all(|p| p.is_some_and(|p| (0..places).contains(&p)))
            };
            if run.count < 1 || !valid(run.sources()) || !valid(run.targets()) {
                return None;
            }
            let both = all.union(&Self { runs: vec![run] })?;
            if both.len() != all.len() + run.count as usize {
                return None;
            }
            all = both;
        }
        Some(all)
    }

    /// Returns the runs.
    pub fn runs(&self) -> &[PairRun] {
        &self.runs
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|r| r.count as usize).sum()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns all pairs.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + Clone + '_ {
        self.runs.iter().flat_map(|run| (0..run.count).map(|i| run.pair(i)))
    }

    /// Returns a pair by its number.
    pub fn get(&self, index: usize) -> Option<(i64, i64)> {
        let mut index = index as i64;
        self.runs.iter().find_map(|run| {
            index -= run.count;
            (index < 0).then(|| run.pair(index + run.count))
        })
    }

    /// Returns the number of the pair whose source is `place`.
    pub fn index(&self, place: i64) -> Option<usize> {
        let mut before = 0;
        self.runs.iter().find_map(|run| {
            let found = run.sources().index(place).map(|i| (before + i) as usize);
            before += run.count;
            found
        })
    }

    /// Returns the place to which `place` sends.
    pub fn target(&self, place: i64) -> Option<i64> {
        self.runs.iter().find_map(|run| run.sources().index(place).map(|i| run.pair(i).1))
    }

    /// Returns the place that sends to `place`.
    pub fn source(&self, place: i64) -> Option<i64> {
        self.runs.iter().find_map(|run| run.targets().index(place).map(|i| run.pair(i).0))
    }

    /// Returns the pairs of a group with `more` additional places after place `middle`, which do the same as the places
    /// around them; `None` if these pairs don't determine that.
    pub fn stretched(&self, middle: i64, more: i64) -> Option<Self> {
        let one = |run: &PairRun| {
            let crosses = |side: Places| {
                let (first, last) = side.bounds();
                first <= middle && middle < last
            };
            let around = (crosses(run.sources()), crosses(run.targets()));
            if around.0 != around.1 || around.0 && (run.source_step.abs(), run.target_step.abs()) != (1, 1) {
                return None;
            }
            let moved = |place: i64| if place > middle { place + more } else { place };
            let count = if around.0 { run.count + more } else { run.count };
            Some(PairRun { source: moved(run.source), target: moved(run.target), count, ..*run })
        };
        Some(Self { runs: self.runs.iter().map(one).collect::<Option<_>>()? })
    }

    /// Adds the pairs of `other` to these; `None` if a place would then send or receive twice.
    pub fn union(&self, other: &Self) -> Option<Self> {
        let mut all = self.clone();
        for run in &other.runs {
            all.add(*run)?;
        }
        Some(all)
    }

    fn add(&mut self, run: PairRun) -> Option<()> {
        let meets =
            |known: &PairRun| known.sources().may_meet(&run.sources()) || known.targets().may_meet(&run.targets());
        let Some(known) = self.runs.iter().copied().find(|known| meets(known)) else {
            self.runs.push(run);
            return Some(());
        };
        if let Some(offset) = run.offset_in(&known) {
            // The parts of the run before and after the known run.
            let end = (known.count - offset).clamp(0, run.count);
            let start = (-offset).clamp(0, run.count);
            for rest in [0..start, end.max(start)..run.count].into_iter().filter(|r| !r.is_empty()) {
                self.add(run.part(rest))?;
            }
            return Some(());
        }
        // Runs that cross are added pair by pair.
        for i in 0..run.count {
            let (source, target) = run.pair(i);
            match (self.target(source), self.source(target)) {
                (None, None) => self.runs.push(run.part(i..i + 1)),
                (Some(t), Some(s)) if (s, t) == (source, target) => {}
                _ => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn random_run(random: &mut Rng, places: i64) -> PairRun {
        let step = |random: &mut Rng| [-2, -1, 1, 1, 1, 2, 3][random.usize(..7)];
        PairRun {
            source: random.i64(0..places),
            target: random.i64(0..places),
            source_step: step(random),
            target_step: step(random),
            count: random.i64(1..places + 1),
        }
    }

    /// Returns whether no place is a source twice or a target twice.
    fn distinct(pairs: &[(i64, i64)]) -> bool {
        let unique = |side: fn(&(i64, i64)) -> i64| {
            let mut ids: Vec<i64> = pairs.iter().map(side).collect();
            ids.sort_unstable();
            ids.windows(2).all(|w| w[0] != w[1])
        };
        unique(|p| p.0) && unique(|p| p.1)
    }

    #[test]
    fn runs_are_the_pairs_they_stand_for() {
        let mut random = Rng::with_seed(3);
        for _ in 0..20_000 {
            let places = random.i64(1..12);
            let runs: Vec<PairRun> = (0..random.usize(1..4)).map(|_| random_run(&mut random, places)).collect();
            let listed: Vec<(i64, i64)> = runs.iter().flat_map(|r| (0..r.count).map(|i| r.pair(i))).collect();
            let inside = listed.iter().all(|p| (0..places).contains(&p.0) && (0..places).contains(&p.1));
            let found = Pairs::of_runs(runs.iter().copied(), places);
            assert_eq!(found.is_some(), inside && distinct(&listed), "{runs:?}");
            let Some(pairs) = found else { continue };
            assert_eq!(pairs.iter().collect::<Vec<_>>(), listed);
            assert_eq!(Pairs::of(listed.iter().copied()).iter().collect::<Vec<_>>(), listed);
            assert_eq!(pairs.len(), listed.len());
            for (i, &pair) in listed.iter().enumerate() {
                assert_eq!((pairs.get(i), pairs.index(pair.0)), (Some(pair), Some(i)));
            }
            for place in 0..places {
                assert_eq!(pairs.target(place), listed.iter().find(|p| p.0 == place).map(|p| p.1));
                assert_eq!(pairs.source(place), listed.iter().find(|p| p.1 == place).map(|p| p.0));
            }
        }
    }

    #[test]
    fn a_union_has_each_pair_once_and_no_conflict() {
        let mut random = Rng::with_seed(4);
        let mut unions = 0;
        for _ in 0..40_000 {
            let places = random.i64(2..10);
            let some = |random: &mut Rng| {
                let runs: Vec<PairRun> = (0..random.usize(1..3)).map(|_| random_run(random, places)).collect();
                Pairs::of_runs(runs, places)
            };
            let (Some(a), Some(b)) = (some(&mut random), some(&mut random)) else { continue };
            let mut listed: Vec<(i64, i64)> = a.iter().collect();
            b.iter().filter(|p| !a.iter().any(|q| q == *p)).for_each(|p| listed.push(p));
            let mut expected = distinct(&listed).then_some(listed);
            let mut found = a.union(&b).map(|u| u.iter().collect::<Vec<_>>());
            unions += usize::from(found.is_some());
            expected.iter_mut().chain(&mut found).for_each(|pairs| pairs.sort_unstable());
            assert_eq!(found, expected, "{a:?} {b:?}");
        }
        assert!(unions > 500, "{unions}");
    }

    #[test]
    fn a_shift_is_one_run() {
        let shift = Pairs::of((1..4096).map(|s| (s, s - 1)));
        assert_eq!(shift.runs().len(), 1);
        let around = shift.union(&Pairs::of([(0, 4095)])).unwrap();
        assert_eq!((around.runs().len(), around.len()), (2, 4096));
        assert_eq!(around.union(&shift), Some(around.clone()));
        assert_eq!(around.union(&Pairs::of([(4095, 0)])), None);
    }
}
