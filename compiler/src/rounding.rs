//! The distance by which rounding alone can move each element of a program's results. It is measured, because no rule
//! by type can predict it: eight layers of tanh amplify the error of one addition by orders of magnitude; bf16 inside
//! f32 makes f32 results no better than bf16; and a difference of two large numbers has no digits left, while the mask
//! next to it is exact.
//!
//! The reference evaluator runs the program again with other rounding errors in every op
//! ([`runtime::reference::evaluate_disturbed`]). It does so only if there are differences to judge, and until all are
//! explained or there were enough runs to conclude that rounding doesn't explain them.
//!
//! Of millions of elements, some hardly move in a few runs by chance. Therefore an element may also differ by as much
//! as its neighbors commonly move.

use std::num::NonZero;
use std::thread::{Builder, ScopedJoinHandle};

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::parallel::STACK_BYTES;

use crate::compare::{Comparison, SPREADS, Tolerance, compare, compare_unmeasured, difference, size};

/// The maximum number of disturbed runs. An element's error exceeds four times its error in each of the runs about once
/// in ten million.
pub(crate) const RUNS: u64 = 16;
/// The number of runs after which a difference far above the measured spread counts as wrong.
const FEW_RUNS: u64 = 6;
/// The factor on the spread that counts as far above it.
const FAR: f64 = 64.0;
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
    let spread = |c: &Comparison| (!c.equal()).then(|| vec![0.0; c.total]);
    let mut spreads: Vec<Vec<Option<Vec<f64>>>> =
        judged.found.iter().map(|all| all.iter().map(spread).collect()).collect();
    let at_once = std::thread::available_parallelism().map_or(1, NonZero::get).min(4) as u64;
    while judged.runs < RUNS {
        // Several runs at the same time. Their number doesn't change the result, because the runs count one after the
        // other.
        let seeds = judged.runs + 1..=(judged.runs + at_once).min(RUNS);
        let disturbed = by.disturbed;
        let samples: Vec<Option<Results>> = std::thread::scope(|scope| {
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
        });
        for sample in samples {
            let Some(sample) = sample else {
                judged.stopped = true;
                let beyond: Vec<Vec<f64>> = want.iter().map(|all| beyond(all)).collect();
                for (r, spreads) in spreads.iter().enumerate() {
                    for (i, measured) in spreads.iter().enumerate() {
                        let Some(spread) = measured else { continue };
                        let (got, want) = (&got[r][i], &want[r][i]);
                        let likely = common(spread).into_iter().zip(spread_by_type(want)).map(|(a, b)| a.max(b));
                        let likely: Vec<f64> = likely.collect();
                        judged.found[r][i] = compare_unmeasured(got, want, &likely, beyond[r][i]);
                    }
                }
                return judged;
            };
            judged.runs += 1;
            let mut hopeless = false;
            for (r, spreads) in spreads.iter_mut().enumerate() {
                for (i, measured) in spreads.iter_mut().enumerate() {
                    let Some(spread) = measured else { continue };
                    widen(spread, &base[r][i], &sample[r][i]);
                    let mut common = common(spread);
                    let (got, want) = (&got[r][i], &want[r][i]);
                    judged.found[r][i] = compare(got, want, tolerance, Some(&common));
                    if judged.found[r][i].equal() {
                        *measured = None;
                    } else if judged.runs >= FEW_RUNS {
                        common.iter_mut().for_each(|s| *s *= FAR);
                        hopeless |= !compare(got, want, tolerance, Some(&common)).equal();
                    }
                }
            }
            if hopeless || judged.equal() {
                return judged;
            }
        }
    }
    judged
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

/// Widens each element's spread to the deviation in a disturbed run.
fn widen(spread: &mut [f64], base: &Literal, sample: &Literal) {
    for (i, spread) in spread.iter_mut().enumerate() {
        if base.element_bytes(i) != sample.element_bytes(i) {
            let moved = difference(base.get(i), sample.get(i));
            *spread = spread.max(if moved.is_nan() { f64::INFINITY } else { moved });
        }
    }
}

/// Returns each element's spread, or the median of its neighbors if that is wider.
fn common(spread: &[f64]) -> Vec<f64> {
    let mut common = spread.to_vec();
    for neighbors in common.chunks_mut(NEIGHBORS) {
        let mut sorted = neighbors.to_vec();
        let middle = (sorted.len() - 1) / 2;
        let half = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
        let half = if half.is_finite() { half } else { 0.0 };
        neighbors.iter_mut().for_each(|s| *s = s.max(half));
    }
    common
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
