//! The choice among variants: try one, estimate it, keep the better.
//!
//! Every pass that compares variants of a program or a plan uses [`Best`], so that all compare alike: a variant that
//! exceeds the memory by fewer bytes is better and, of two that exceed it equally or fit, the one with the shorter
//! step.
//!
//! Two choices have other rules. `schedule` takes the largest combined collectives that fit even if the step stays
//! equal, because fewer collectives are never slower on a machine. `portfolio` counts on collectives that later passes
//! combine, and of two plans closer than that estimate takes the one that moves less.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Op, Program};
use dialect::ops::func;
use rustc_hash::FxHashMap;

use crate::compile_options::OverMemory;
use crate::estimate::Estimate;
use crate::heuristics::HEURISTICS;
use crate::options::Options;
use crate::units;

/// What a variant costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    /// The seconds of a step.
    pub(crate) seconds: f64,
    /// The most bytes that a device holds.
    pub(crate) bytes: f64,
}

impl From<&Estimate> for Figures {
    fn from(estimate: &Estimate) -> Self {
        Self { seconds: estimate.step_seconds, bytes: estimate.peak_bytes }
    }
}

/// The best variant so far.
pub(crate) struct Best<T> {
    /// The variant.
    pub(crate) kept: T,
    pub(crate) figures: Figures,
    /// The figures of the shortest variant offered, which may hold too much.
    shortest: Figures,
    /// The bytes that a device may hold.
    memory: f64,
    /// The share by which a step must be shorter than that of the kept variant.
    gain: f64,
}

impl<T> Best<T> {
    /// Begins with one variant.
    pub(crate) fn new(kept: T, figures: Figures, memory: f64, gain: f64) -> Self {
        Self { kept, figures, shortest: figures, memory, gain }
    }

    /// Returns the best of several variants; `None` if there is none.
    pub(crate) fn of(variants: impl IntoIterator<Item = (T, Figures)>, memory: f64) -> Option<Self> {
        let mut variants = variants.into_iter().take(HEURISTICS.most_variants);
        let (first, figures) = variants.next()?;
        let mut best = Self::new(first, figures, memory, 0.0);
        variants.for_each(|(variant, figures)| best.offer(figures, || variant));
        Some(best)
    }

    /// Returns the same variant where a device may hold `memory` bytes.
    pub(crate) fn within(self, memory: f64) -> Self {
        Self { memory, ..self }
    }

    /// Returns the bytes above the memory.
    pub(crate) fn excess(&self) -> f64 {
        (self.figures.bytes - self.memory).max(0.0)
    }

    /// Keeps the variant with these figures if it is better than the kept one. Of equally good ones, the first stays.
    pub(crate) fn offer(&mut self, figures: Figures, variant: impl FnOnce() -> T) {
        if figures.seconds < self.shortest.seconds {
            self.shortest = figures;
        }
        let excess = (figures.bytes - self.memory).max(0.0).total_cmp(&self.excess());
        let seconds = figures.seconds.total_cmp(&(self.figures.seconds * (1.0 - self.gain)));
        if excess.then(seconds).then(figures.bytes.total_cmp(&self.figures.bytes)).is_lt() {
            (self.kept, self.figures) = (variant(), figures);
        }
    }

    /// Tries the variants that `vary` makes from the kept one by each choice in turn; `None` for choices that make
    /// none.
    pub(crate) fn improve<C>(
        mut self,
        choices: impl IntoIterator<Item = C>,
        mut vary: impl FnMut(&T, C) -> Option<(T, Figures)>,
    ) -> Self {
        for choice in choices.into_iter().take(HEURISTICS.most_variants) {
            if let Some((variant, figures)) = vary(&self.kept, choice) {
                self.offer(figures, || variant);
            }
        }
        self
    }

    /// Warns of a shorter step that was given up because it holds too much, unless the options allow that.
    pub(crate) fn report(&self, program: &Program, given: &Options, diagnostics: &mut Diagnostics) {
        let is_shorter = self.shortest.seconds < self.figures.seconds * (1.0 - self.gain);
        let Some(main) = func::function(program, "main").filter(|_| is_shorter) else { return };
        if given.compile.over_memory == OverMemory::Allow || self.shortest.bytes <= self.memory {
            return;
        }
        let text = |cost: Figures| {
            format!("a step of {} with a peak of {}", units::seconds(cost.seconds), units::bytes(cost.bytes))
        };
        let (shortest, kept) = (text(self.shortest), text(self.figures));
        let message = format!("{shortest} doesn't fit into {}; the plan has {kept}", units::bytes(self.memory));
        let d = Diagnostic::warning(codes::MEMORY_COSTS_TIME, program.op(main).span, message);
        diagnostics.push(d.note("--memory BYTES sets another limit, --allow memory suppresses this warning"));
    }
}

/// Returns the classes of collectives that take more than `least` seconds, those that take most first, at most
/// [`MOST_CLASSES`]. `class` has the class of each collective.
pub(crate) fn dearest(class: impl Iterator<Item = (Op, usize)>, before: &Estimate, least: f64) -> Vec<usize> {
    let class: FxHashMap<Op, usize> = class.collect();
    let mut seconds = vec![0.0; class.values().max().map_or(0, |last| last + 1)];
    for collective in &before.collectives {
        if let Some(&class) = class.get(&collective.op) {
            seconds[class] += collective.seconds * collective.count as f64;
        }
    }
    let mut classes: Vec<usize> = (0..seconds.len()).filter(|&c| seconds[c] > least).collect();
    classes.sort_by(|&a, &b| seconds[b].total_cmp(&seconds[a]).then(a.cmp(&b)));
    classes.truncate(HEURISTICS.most_classes);
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(seconds: f64, bytes: f64) -> Figures {
        Figures { seconds, bytes }
    }

    /// Returns the index of the variant that is kept within 10 bytes.
    fn kept(gain: f64, variants: &[(f64, f64)]) -> usize {
        let mut best = Best::new(0, figures(variants[0].0, variants[0].1), 10.0, gain);
        for (i, &(seconds, bytes)) in variants.iter().enumerate().skip(1) {
            best.offer(figures(seconds, bytes), || i);
        }
        best.kept
    }

    #[test]
    fn shorter_steps_win_among_those_that_fit() {
        assert_eq!(kept(0.0, &[(3.0, 1.0), (2.0, 10.0), (1.0, 11.0)]), 1);
        assert_eq!(kept(0.0, &[(2.0, 5.0), (2.0, 5.0), (2.0, 4.0)]), 2);
        assert_eq!(kept(0.1, &[(2.0, 5.0), (1.9, 5.0), (1.7, 5.0), (1.6, 5.0)]), 2);
    }

    #[test]
    fn fewer_bytes_win_above_the_memory() {
        assert_eq!(kept(0.0, &[(1.0, 30.0), (9.0, 20.0), (2.0, 20.0), (1.0, 21.0)]), 2);
        assert_eq!(kept(0.1, &[(1.0, 30.0), (9.0, 10.0), (8.5, 9.0)]), 1);
    }

    #[test]
    fn each_choice_varies_the_best_so_far() {
        let tried =
            Best::new(Vec::new(), figures(8.0, 0.0), 2.0, 0.0).improve([4, 0, 2, 1], |kept: &Vec<i32>, choice| {
                let all: Vec<i32> = kept.iter().copied().chain([choice]).collect();
                let figures = figures(8.0 - f64::from(all.iter().sum::<i32>()), all.len() as f64);
                (choice > 0).then_some((all, figures))
            });
        assert_eq!((tried.kept, tried.figures, tried.shortest), (vec![4, 2], figures(2.0, 2.0), figures(1.0, 3.0)));
        assert_eq!(Best::<i32>::of([], 1.0).map(|best| best.kept), None);
    }
}
