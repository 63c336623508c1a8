//! How far measurements are from the model, by chip and kind of op, and the ranges that follow for a step.
//!
//! A residual is measured seconds divided by modelled seconds: the lowest and the highest of a comparison. A step that
//! runs a kind of op without a row for its chip has no range.
//!
//! Sources, cited by key on the rows: **STEPS** published steps of training (MaxText's tables, Google's tpu-recipes and
//! gpu-recipes), nine of ten, by the fit (`tests/bench/measured/fit_steps.py`) that gave the rates of the chips;
//! **COMPILER** the cycles that the TPU's own compiler predicts for our programs; **COLLECTIVES** published collectives
//! (nccl-tests and vendors' benchmarks).

use super::chip::{CHIPS, Chip};
use super::gpus::GPUS;
use super::result::{Estimate, Event, Range, Ranges, Stream};
use super::roofline::Work;

/// A kind of op whose residuals are stated together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Products, convolutions, and kernels that consist of them.
    Product,
    /// All other ops of the compute stream.
    Other,
    /// Collectives of at least [`LARGE`] bytes.
    LargeCollective,
    /// Smaller collectives, which mostly wait for their start.
    SmallCollective,
}

/// The bytes of a collective's operands and results on a device above which bandwidth decides its time.
pub const LARGE: f64 = (16 << 20) as f64;

/// The factors between which measured seconds were found, for a chip and a kind of op.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Residual {
    /// The chip's name.
    pub chip: &'static str,
    /// The kind of op.
    pub kind: Kind,
    /// Measured seconds are at least this many times the modelled seconds.
    pub low: f64,
    /// Measured seconds are at most this many times the modelled seconds.
    pub high: f64,
    /// What was compared.
    pub source: &'static str,
}

const fn row(chip: &'static str, kind: Kind, low: f64, high: f64, source: &'static str) -> Residual {
    Residual { chip, kind, low, high, source }
}

/// All residuals; the rows of a chip are next to each other.
pub static RESIDUALS: &[Residual] = &[
    row("v4p", Kind::Product, 0.88, 1.12, "STEPS: 4 on 128 to 512 chips"),
    row("v4p", Kind::Other, 0.88, 1.12, "STEPS: 4 on 128 to 512 chips"),
    row("v5p", Kind::Product, 0.81, 1.19, "STEPS: 27 on 4 to 4096 chips"),
    row("v5p", Kind::Other, 0.81, 1.19, "STEPS: 27 on 4 to 4096 chips"),
    row("v5p", Kind::LargeCollective, 0.95, 1.05, "COLLECTIVES: a permute of 1 GiB"),
    row("v5p", Kind::SmallCollective, 0.95, 1.05, "COLLECTIVES: 2 permutes"),
    row("v5e", Kind::Product, 0.80, 1.10, "STEPS: 18 on 256 to 8192 chips; COMPILER: 8 programs of products"),
    row(
        "v5e",
        Kind::Other,
        0.21,
        7.7,
        "COMPILER: 8 programs that sort, reshape and move data, whose layouts it changes",
    ),
    row(
        "v5e",
        Kind::LargeCollective,
        0.69,
        1.21,
        "COLLECTIVES: a gather of 33.5 MB along a line; COMPILER: what it exposes in 14 programs",
    ),
    row("v6e", Kind::Product, 0.84, 1.17, "STEPS: 16 on 8 to 1024 chips"),
    row("v6e", Kind::Other, 0.84, 1.17, "STEPS: 16 on 8 to 1024 chips"),
    row("v6e", Kind::LargeCollective, 1.0, 1.30, "COLLECTIVES: a sum of 606 MB on 16x16 chips, a permute"),
    row("v6e", Kind::SmallCollective, 1.0, 1.14, "COLLECTIVES: a permute"),
    row("v7x", Kind::Product, 0.60, 1.67, "STEPS: 10 on 64 and 256 chips"),
    row("v7x", Kind::Other, 0.60, 1.67, "STEPS: 10 on 64 and 256 chips"),
    row("v7x", Kind::LargeCollective, 0.92, 1.01, "COLLECTIVES: 4 gathers on 4 devices"),
    row("v7x", Kind::SmallCollective, 0.94, 1.08, "COLLECTIVES: 3 sums and gathers on 4 to 32 devices"),
    row("a100-40gb", Kind::LargeCollective, 1.0, 1.50, "COLLECTIVES: 2 sums on 24 GPUs"),
    row("a100", Kind::Product, 0.83, 1.17, "STEPS: 3 on 256 GPUs"),
    row("a100", Kind::Other, 0.83, 1.17, "STEPS: 3 on 256 GPUs"),
    row("a100", Kind::LargeCollective, 0.82, 1.14, "COLLECTIVES: 19 sums on 8 GPUs"),
    row("a100", Kind::SmallCollective, 0.69, 1.38, "COLLECTIVES: 12 sums on 8 GPUs"),
    row("h100", Kind::Product, 0.87, 1.13, "STEPS: 7 on 8 to 256 H100"),
    row("h100", Kind::Other, 0.87, 1.13, "STEPS: 7 on 8 to 256 H100"),
    row("h100", Kind::LargeCollective, 0.91, 1.52, "COLLECTIVES: 8 sums and gathers on 8 to 256 GPUs"),
    row("h100", Kind::SmallCollective, 0.64, 1.41, "COLLECTIVES: 16 sums on 8 H200, which have the same switch"),
    row("h200", Kind::Product, 0.87, 1.13, "STEPS: 7 on 8 to 256 H100, 1 on 256 H200"),
    row("h200", Kind::Other, 0.87, 1.13, "STEPS: 7 on 8 to 256 H100, 1 on 256 H200"),
    row("h200", Kind::LargeCollective, 0.78, 1.05, "COLLECTIVES: 18 sums on 8 and 1984 GPUs"),
    row("h200", Kind::SmallCollective, 0.64, 1.41, "COLLECTIVES: 16 sums on 8 GPUs"),
    row("b200", Kind::LargeCollective, 0.84, 1.40, "COLLECTIVES: 11 sums on 8 and 32 GPUs"),
    row("b200", Kind::SmallCollective, 0.69, 1.18, "COLLECTIVES: 7 sums on 32 GPUs"),
    row("gb200", Kind::LargeCollective, 0.87, 1.22, "COLLECTIVES: 11 sums on 4 and 72 GPUs"),
    row("gb200", Kind::SmallCollective, 0.79, 1.04, "COLLECTIVES: 8 sums on 4 GPUs"),
];

impl Kind {
    /// Returns the kind of an op of the compute stream.
    fn of_work(work: Work) -> Self {
        if work.flops > 0.0 { Kind::Product } else { Kind::Other }
    }

    /// Returns the kind of a collective by the bytes of its operands and results.
    fn of_bytes(bytes: f64) -> Self {
        if bytes >= LARGE { Kind::LargeCollective } else { Kind::SmallCollective }
    }

    /// Returns the kind of an op on the timeline; `None` for a copy to or from the host.
    fn of_event(event: &Event) -> Option<Self> {
        match event.stream {
            Stream::Compute => Some(Kind::of_work(event.work)),
            Stream::Communication => Some(Kind::of_bytes(event.work.bytes)),
            Stream::Host(_) => None,
        }
    }
}

impl Residual {
    /// Returns the rows of a chip; none of one that a user describes, even under the name of another.
    pub fn of_chip(chip: &Chip) -> &'static [Residual] {
        if !CHIPS.iter().chain(&GPUS).any(|known| known == chip) {
            return &[];
        }
        let start = RESIDUALS.iter().position(|row| row.chip == chip.name).unwrap_or(RESIDUALS.len());
        let count = RESIDUALS[start..].iter().take_while(|row| row.chip == chip.name).count();
        &RESIDUALS[start..start + count]
    }
}

/// Factors on the modelled seconds of ops: one of the two ends of the residuals.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    residuals: &'static [Residual],
    of_compute: Option<End>,
    of_collectives: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    Low,
    High,
}

impl Scale {
    /// Returns the factor of an op of the compute stream.
    pub(super) fn compute(&self, work: Work) -> f64 {
        self.factor(self.of_compute, Kind::of_work(work))
    }

    /// Returns the factor of a collective by the bytes of its operands and results.
    pub(super) fn collective(&self, bytes: f64) -> f64 {
        self.factor(self.of_collectives, Kind::of_bytes(bytes))
    }

    fn factor(&self, end: Option<End>, kind: Kind) -> f64 {
        let Some(end) = end else { return 1.0 };
        self.residuals.iter().find(|row| row.kind == kind).map_or(1.0, |row| match end {
            End::Low => row.low,
            End::High => row.high,
        })
    }
}

impl Ranges {
    /// Prices a program with the extreme factors; `None` if a kind of op in `estimate` has no residual. The exposed
    /// time is extreme when collectives are and arithmetic takes what is modelled.
    pub(super) fn of(
        residuals: &'static [Residual],
        estimate: &Estimate,
        price: impl Fn(Scale) -> Estimate,
    ) -> Option<Self> {
        let has = |kind| residuals.iter().any(|row| row.kind == kind);
        let mut kinds = estimate.timeline.iter().filter_map(Kind::of_event).peekable();
        if residuals.is_empty() || kinds.peek().is_none() || !kinds.all(has) {
            return None;
        }
        let price = |of_compute, of_collectives| price(Scale { residuals, of_compute, of_collectives });
        let both = [End::Low, End::High].map(|end| price(Some(end), Some(end)));
        let exposed = [End::Low, End::High].map(|end| price(None, Some(end)).exposed_seconds());
        let range = |[low, high]: [f64; 2]| Range { low, high };
        Some(Self {
            step: range(both.each_ref().map(|e| e.step_seconds)),
            compute: range(both.each_ref().map(|e| e.compute_seconds)),
            exposed: range(exposed),
        })
    }
}
