//! The distance by which rounding alone can move each element of a program's results. It is measured, because no rule
//! by type can predict it: eight layers of tanh amplify the error of one addition by orders of magnitude; bf16 inside
//! f32 makes f32 results no better than bf16; and a difference of two large numbers has no digits left, while the mask
//! next to it is exact.
//!
//! The reference evaluator runs the program again with other rounding errors in every op
//! ([`runtime::reference::evaluate_disturbed`]). It does so only if there are differences to judge, and until all are
//! explained or there were enough runs to conclude that rounding doesn't explain them.
//!
//! Of millions of elements, some move little in a few runs, by chance. Therefore an element may also differ by as much
//! as its neighbors commonly move. And every run is judged by the runs before it, as the results are: as many elements
//! as rounding doesn't explain there may stay unexplained in the results, too.

use std::collections::HashMap;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::thread::{Builder, ScopedJoinHandle};

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::parallel::STACK_BYTES;
use dialect::scalar::Scalar;

use crate::compare::{Comparison, SPREADS, Tolerance, compare, compare_unmeasured, difference, excess, size};

/// The maximum number of disturbed runs. An element's error exceeds four times its error in each of the runs about once
/// in ten million.
pub(crate) const RUNS: u64 = 16;
/// The first run that the runs before it judge. After fewer runs, too many elements have moved little by chance, so an
/// error would not stand out.
const FEW_RUNS: u64 = 6;
/// A difference that exceeds the allowed one by this factor is wrong, unless runs show such ones.
const FAR: f64 = 64.0;
/// The number of elements so far off that all runs decide about, because a few runs may not show them by chance.
const FEW: usize = 3;
/// The number of elements of the results that may stay unexplained for each such element of the runs.
const CHANCES: usize = 2;
/// The number of neighboring elements, a piece of a row, whose spreads are assumed to be mostly similar.
const NEIGHBORS: usize = 32;

/// The results of each replica.
pub(crate) type Results = Vec<Vec<Literal>>;

/// The functions that run the program again.
pub(crate) struct Rounding<'a> {
    /// Returns the program's results by the reference evaluator; `None` if that takes too long.
    pub(crate) undisturbed: &'a dyn Fn() -> Option<Results>,
    /// Returns the results with the rounding errors of a seed; `None` if there is no time left.
    pub(crate) disturbed: &'a (dyn Fn(u64) -> Option<Results> + Sync),
}

/// The comparison of results with the expected ones.
pub(crate) struct Judged {
    /// The comparison of each result of each replica.
    pub(crate) found: Vec<Vec<Comparison>>,
    /// The number of disturbed runs.
    pub(crate) runs: u64,
    /// Whether the time ended before all runs. In that case, differences that the runs didn't explain are undecided,
    /// unless no rounding can explain them.
    pub(crate) stopped: bool,
}

impl Judged {
    /// Returns whether all results are equal.
    pub(crate) fn equal(&self) -> bool {
        self.found.iter().flatten().all(Comparison::equal)
    }

    /// Returns whether one result differs, even if others are undecided.
    pub(crate) fn differs(&self) -> bool {
        self.found.iter().flatten().any(Comparison::differs)
    }
}

/// Compares the results of each replica with the expected ones.
pub(crate) fn judge(got: &[Vec<Literal>], want: &[Vec<Literal>], tolerance: Tolerance, by: &Rounding<'_>) -> Judged {
    let each = |compare: &dyn Fn(&Literal, &Literal) -> Comparison| -> Vec<Vec<Comparison>> {
        let of = |(got, want): (&Vec<Literal>, &Vec<Literal>)| {
            got.iter().zip(want).map(|(got, want)| compare(got, want)).collect()
        };
        got.iter().zip(want).map(of).collect()
    };
    let plain = each(&|got, want| compare(got, want, tolerance, None));
    let mut judged = Judged { found: plain, runs: 0, stopped: false };
    if tolerance != Tolerance::default() || judged.equal() {
        return judged;
    }
    let Some(base) = (by.undisturbed)() else {
        judged.found = each(&|got, want| compare(got, want, tolerance, Some(&spread_by_type(want))));
        return judged;
    };
    let mut measured: Vec<Measured<'_>> = Vec::new();
    for (r, (got, want)) in got.iter().zip(want).enumerate() {
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            if !judged.found[r][i].equal() {
                measured.push(Measured::new((r, i), got, want, &base[r][i]));
            }
        }
    }
    let mut chance = Chance::default();
    let at_once = std::thread::available_parallelism().map_or(1, NonZero::get).min(4) as u64;
    while judged.runs < RUNS {
        let seeds = judged.runs + 1..=(judged.runs + at_once).min(RUNS);
        for sample in samples(by, seeds) {
            let Some(sample) = sample else {
                judged.stopped = true;
                let beyond: Vec<Vec<f64>> = want.iter().map(|all| beyond(all)).collect();
                for result in &measured {
                    let (r, i) = result.at;
                    judged.found[r][i] = result.compared_by_type(beyond[r][i]);
                }
                return judged;
            };
            judged.runs += 1;
            for result in &mut measured {
                let (r, i) = result.at;
                if judged.runs >= FEW_RUNS {
                    chance.add(result, &sample[r][i]);
                }
                result.widen(&sample[r][i]);
            }
            measured.retain(|result| {
                if result.open.is_empty() {
                    let (r, i) = result.at;
                    judged.found[r][i] = result.compared();
                }
                !result.open.is_empty()
            });
            if measured.is_empty() {
                return judged;
            }
            if judged.runs < FEW_RUNS {
                continue;
            }
            let verdict = chance.verdict(&measured);
            if verdict == Verdict::Open && judged.runs < RUNS {
                continue;
            }
            for result in &measured {
                let (r, i) = result.at;
                judged.found[r][i] = match (verdict, result.compared()) {
                    (Verdict::Explained, found) => Comparison { count: 0, chance: found.count, first: None, ..found },
                    (_, found) => found,
                };
            }
            return judged;
        }
    }
    judged
}

/// Returns the results of several disturbed runs, made at the same time. Their number doesn't change the verdict,
/// because the runs count one after the other.
fn samples(by: &Rounding<'_>, seeds: RangeInclusive<u64>) -> Vec<Option<Results>> {
    let disturbed = by.disturbed;
    std::thread::scope(|scope| {
        let run = |seed| {
            let thread = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || disturbed(seed));
            (seed, thread.ok())
        };
        let runs: Vec<_> = seeds.map(run).collect();
        let sample = |(seed, run): (u64, Option<ScopedJoinHandle<'_, Option<Results>>>)| match run {
            Some(run) => run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => disturbed(seed),
        };
        runs.into_iter().map(sample).collect()
    })
}

/// A result of which rounding doesn't explain some elements so far.
struct Measured<'a> {
    /// The replica, and the result's number.
    at: (usize, usize),
    got: &'a Literal,
    want: &'a Literal,
    /// The undisturbed result.
    base: &'a Literal,
    /// The largest distance by which a run moved each element.
    spread: Vec<f64>,
    /// The elements that aren't explained.
    open: Vec<usize>,
}

impl<'a> Measured<'a> {
    fn new(at: (usize, usize), got: &'a Literal, want: &'a Literal, base: &'a Literal) -> Self {
        let n = want.len();
        let open = (0..n).filter(|&i| excess(got, want, i, 0.0) > 1.0).collect();
        Self { at, got, want, base, spread: vec![0.0; n], open }
    }

    /// Widens each element's spread to its distance in a run, and finds the elements that stay unexplained.
    fn widen(&mut self, sample: &Literal) {
        for (spread, moved) in self.spread.iter_mut().zip(distances(self.base, sample)) {
            *spread = spread.max(moved);
        }
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&i| self.excess(self.got, self.want, i) > 1.0);
        self.open = open;
    }

    /// Returns by what factor an element of `got` differs by more than the runs explain.
    fn excess(&self, got: &Literal, want: &Literal, i: usize) -> f64 {
        match excess(got, want, i, self.spread[i]) {
            own if own <= 1.0 => own,
            _ => {
                let first = i - i % NEIGHBORS;
                let neighbors = &self.spread[first..self.spread.len().min(first + NEIGHBORS)];
                excess(got, want, i, self.spread[i].max(median(neighbors)))
            }
        }
    }

    fn compared(&self) -> Comparison {
        compare(self.got, self.want, Tolerance::default(), Some(&common(&self.spread)))
    }

    /// Compares after too few runs: what neither they nor the element type explains is undecided, up to `beyond`.
    fn compared_by_type(&self, beyond: f64) -> Comparison {
        let likely = common(&self.spread).into_iter().zip(spread_by_type(self.want)).map(|(a, b)| a.max(b));
        compare_unmeasured(self.got, self.want, &likely.collect::<Vec<f64>>(), beyond)
    }
}

/// What runs show of how many elements stay unexplained by chance: by element type, by what factor the unexplained
/// elements of each run exceeded what the runs before it allowed.
#[derive(Default)]
struct Chance(HashMap<ElementType, Vec<f64>>);

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    /// Chance explains what rounding doesn't.
    Explained,
    /// Nothing explains it.
    Wrong,
    /// More runs are needed.
    Open,
}

impl Chance {
    /// Adds the elements of a run that the runs before it don't explain.
    fn add(&mut self, by: &Measured<'_>, sample: &Literal) {
        let far =
            distances(by.base, sample).into_iter().enumerate().filter(|&(i, moved)| moved > SPREADS * by.spread[i]);
        let excess = far.map(|(i, _)| by.excess(sample, by.base, i)).filter(|&excess| excess > 1.0);
        self.0.entry(by.base.element).or_default().extend(excess);
    }

    fn verdict(&mut self, results: &[Measured<'_>]) -> Verdict {
        let mut found: HashMap<ElementType, Vec<f64>> = HashMap::default();
        for result in results {
            let excess = result.open.iter().map(|&i| result.excess(result.got, result.want, i));
            found.entry(result.want.element).or_default().extend(excess);
        }
        let mut verdict = Verdict::Explained;
        for (element, mut found) in found {
            let chance = self.0.entry(element).or_default();
            for list in [&mut found, &mut *chance] {
                list.sort_by(|a, b| b.total_cmp(a));
            }
            let far = |list: &[f64]| list.iter().take_while(|&&excess| excess > FAR).count();
            if far(&found) > CHANCES * far(chance) + FEW {
                return Verdict::Wrong;
            }
            let likely = |(i, excess): (usize, &f64)| chance.get(i / CHANCES).is_some_and(|c| *excess <= SPREADS * c);
            if !found.iter().enumerate().all(likely) {
                verdict = Verdict::Open;
            }
        }
        verdict
    }
}

/// Returns, for each result, a distance by which no rounding moves an element: half of the largest element. A result
/// that is entirely rounding error is tiny compared to other results, and may have any value of that size.
fn beyond(want: &[Literal]) -> Vec<f64> {
    let largest =
        |want: &Literal| (0..want.len()).map(|i| size(want.get(i))).filter(|s| s.is_finite()).fold(0.0, f64::max);
    let own: Vec<f64> = want.iter().map(largest).collect();
    let floats = own.iter().zip(want).filter(|(_, want)| want.element.epsilon() > 0.0);
    let all = floats.map(|(own, _)| *own).fold(0.0, f64::max);
    own.iter().zip(want).map(|(own, want)| (own / 2.0).max(all * want.element.epsilon().sqrt())).collect()
}

/// Returns how far each element moved; infinitely far if only one of both values is NaN.
fn distances(base: &Literal, sample: &Literal) -> Vec<f64> {
    let known = |moved: f64| if moved.is_nan() { f64::INFINITY } else { moved };
    let n = base.len();
    if base.stored_bytes() == sample.stored_bytes() {
        return vec![0.0; n];
    }
    match (base.stored_floats(), sample.stored_floats()) {
        (Some(base), Some(sample)) if base.len() == n && sample.len() == n => {
            let distance = |(a, b): (f64, f64)| known(difference(Scalar::Float(a), Scalar::Float(b)));
            base.into_iter().zip(sample).map(distance).collect()
        }
        _ => (0..n).map(|i| known(difference(base.get(i), sample.get(i)))).collect(),
    }
}

/// Returns each element's spread, or the median of its neighbors if that is wider.
fn common(spread: &[f64]) -> Vec<f64> {
    let mut common = spread.to_vec();
    for neighbors in common.chunks_mut(NEIGHBORS) {
        let median = median(neighbors);
        neighbors.iter_mut().for_each(|s| *s = s.max(median));
    }
    common
}

/// Returns the lower median of spreads; 0 if it isn't finite.
fn median(spreads: &[f64]) -> f64 {
    let mut sorted = spreads.to_vec();
    let middle = (sorted.len() - 1) / 2;
    let median = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    if median.is_finite() { median } else { 0.0 }
}

/// Returns a spread for programs that are too large for the reference evaluator, from the element type alone: relative
/// to each element, plus the same fraction of a typical element, because the terms of a sum may cancel. The typical
/// element is the median, which a mask of huge numbers doesn't move.
fn spread_by_type(want: &Literal) -> Vec<f64> {
    let relative = match want.element {
        ElementType::F64 | ElementType::C128 => 1e-12,
        ElementType::F32 | ElementType::C64 => 1e-5,
        ElementType::F16 => 2e-3,
        ElementType::BF16 => 1.6e-2,
        element if element.is_float() => 0.25,
        _ => 0.0,
    };
    let sizes: Vec<f64> = (0..want.len()).map(|i| size(want.get(i))).collect();
    let mut finite: Vec<f64> = sizes.iter().copied().filter(|s| s.is_finite() && *s > 0.0).collect();
    let middle = finite.len() / 2;
    let typical = if finite.is_empty() { 0.0 } else { *finite.select_nth_unstable_by(middle, f64::total_cmp).1 };
    let by = |size: &f64| if size.is_finite() { relative * (size + typical) / SPREADS } else { 0.0 };
    sizes.iter().map(by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of elements. With this number, a few elements move little in the first runs, by chance.
    const N: usize = 1 << 14;

    /// Returns elements that an error moved. Each element's error has a size of its own, over six orders of magnitude,
    /// and some elements are moved only by every tenth error.
    fn moved(seed: u64) -> Literal {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut element = |i: usize| {
            let size = 10f64.powi(-((i * 7 % 6) as i32) - 3);
            let rare = i.is_multiple_of(600) && random.u8(..10) > 0;
            let error: f64 = (0..4).map(|_| random.f64() - 0.5).sum();
            1.0 + if seed == 0 || rare { 0.0 } else { size * error }
        };
        Literal::from_floats(ElementType::F64, &[N as i64], (0..N).map(&mut element).collect::<Vec<_>>())
    }

    fn judged(got: Literal) -> Judged {
        let disturbed = |seed| Some(vec![vec![moved(seed)]]);
        let rounding = Rounding { undisturbed: &|| Some(vec![vec![moved(0)]]), disturbed: &disturbed };
        judge(&[vec![got]], &[vec![moved(0)]], Tolerance::default(), &rounding)
    }

    #[test]
    fn results_with_a_few_elements_off_by_chance_are_equal() {
        for seed in 100..104 {
            let judged = judged(moved(seed));
            assert!(judged.equal() && judged.runs < RUNS, "{seed}: {:?} {}", judged.found, judged.runs);
        }
    }

    #[test]
    fn one_wrong_element_of_many_is_found() {
        for i in [2, 9, 6401] {
            let right = moved(100).stored_floats().unwrap_or_default();
            let wrong = right.into_iter().enumerate().map(|(k, v)| if k == i { 1.1 } else { v });
            let judged = judged(Literal::from_floats(ElementType::F64, &[N as i64], wrong));
            assert!(judged.differs(), "{i}: {:?} {}", judged.found, judged.runs);
        }
        let all = Literal::from_floats(ElementType::F64, &[N as i64], (0..N).map(|_| 1.001));
        assert!(judged(all).differs());
    }
}
