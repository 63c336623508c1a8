//! How far rounding alone can move each element of a program's results: measured, since no rule by type can know it. Eight
//! layers of tanh amplify what one addition loses by orders of magnitude, bf16 inside f32 makes f32 results no better
//! than bf16, and a difference of two large numbers has no digits left, while the mask beside it is exact.
//!
//! The reference evaluator runs the program again with other rounding errors in every op
//! ([`runtime::reference::evaluate_disturbed`]), only if there are differences to judge, and until all are explained or
//! enough runs were made to say that rounding doesn't explain them.

use dialect::ir::ElementType;
use dialect::literal::Literal;

use crate::compare::{Comparison, SPREADS, Tolerance, compare, difference, size};

/// The most disturbed runs. An element errs more than four times as far as in each of them about once in ten million.
const RUNS: u64 = 16;
/// After so many runs, what is off by far more than they differ is wrong.
const FEW_RUNS: u64 = 6;
/// How much further is far more.
const FAR: f64 = 64.0;

/// Compares the results of each replica with the expected ones. `undisturbed` gives the program's results by the
/// reference evaluator, `None` where that takes too long; `disturbed` those with the rounding errors of a seed.
pub(crate) fn judge(
    got: &[Vec<Literal>],
    want: &[Vec<Literal>],
    tolerance: Tolerance,
    undisturbed: impl FnOnce() -> Option<Vec<Vec<Literal>>>,
    mut disturbed: impl FnMut(u64) -> Option<Vec<Vec<Literal>>>,
) -> Vec<Vec<Comparison>> {
    let plain = |(got, want): (&Vec<Literal>, &Vec<Literal>)| -> Vec<Comparison> {
        got.iter().zip(want).map(|(got, want)| compare(got, want, tolerance, None)).collect()
    };
    let mut found: Vec<Vec<Comparison>> = got.iter().zip(want).map(plain).collect();
    if tolerance != Tolerance::default() || found.iter().flatten().all(Comparison::equal) {
        return found;
    }
    let Some(base) = undisturbed() else {
        let by_type = |(got, want): (&Vec<Literal>, &Vec<Literal>)| -> Vec<Comparison> {
            let one = |(got, want): (&Literal, &Literal)| compare(got, want, tolerance, Some(&spread_by_type(want)));
            got.iter().zip(want).map(one).collect()
        };
        return got.iter().zip(want).map(by_type).collect();
    };
    let mut spreads: Vec<Vec<Option<Vec<f64>>>> =
        found.iter().map(|all| all.iter().map(|c| (!c.equal()).then(|| vec![0.0; c.total])).collect()).collect();
    for run in 1..=RUNS {
        let Some(sample) = disturbed(run) else { break };
        let mut hopeless = false;
        for (r, spreads) in spreads.iter_mut().enumerate() {
            for (i, spread) in spreads.iter_mut().enumerate() {
                let Some(spread) = spread else { continue };
                widen(spread, &base[r][i], &sample[r][i]);
                let (got, want) = (&got[r][i], &want[r][i]);
                found[r][i] = compare(got, want, tolerance, Some(spread));
                if run >= FEW_RUNS && !found[r][i].equal() {
                    let far: Vec<f64> = spread.iter().map(|s| s * FAR).collect();
                    hopeless |= !compare(got, want, tolerance, Some(&far)).equal();
                }
            }
        }
        if hopeless || found.iter().flatten().all(Comparison::equal) {
            break;
        }
    }
    found
}

/// Widens each element's spread to what a disturbed run shows.
fn widen(spread: &mut [f64], base: &Literal, sample: &Literal) {
    for (i, spread) in spread.iter_mut().enumerate() {
        if base.element_bytes(i) != sample.element_bytes(i) {
            let moved = difference(base.get(i), sample.get(i));
            *spread = spread.max(if moved.is_nan() { f64::INFINITY } else { moved });
        }
    }
}

/// A tolerance for programs that are too large for the reference evaluator, by the element type alone: relative to each
/// element, and as much of a typical one again, since the terms of a sum may cancel. A typical element is the median,
/// which a mask of huge numbers doesn't move.
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
