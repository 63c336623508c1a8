//! The distributions in which one value exists so far, and how to get it in another.
//!
//! A value is made in one distribution; every step of every redistribution adds a copy that later readers share.

use dialect::ir::{TensorType, Value};
use dialect::sharding::ReductionKind;
use smallvec::SmallVec;

use super::distribution::Distribution;
use super::reshard::Resharder;
use super::step::StepKind;

/// One distribution of a value.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    pub(super) at: Distribution,
    /// The copy it is made from and by what; `None` for the value as it is computed.
    pub(super) made: Option<(usize, StepKind)>,
    /// The value in the program, once it is built.
    pub(super) value: Option<Value>,
}

/// Whether a value can be made at a distribution without moving anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Anywhere {
    /// It is computed where its op puts it.
    #[default]
    No,
    /// At every distribution without unreduced axes.
    Whole,
    /// At every one: all zero, it is a sum's every part.
    Zero,
}

impl Anywhere {
    fn covers(self, to: &Distribution) -> bool {
        match self {
            Anywhere::No => false,
            Anywhere::Whole => to.unreduced.is_empty(),
            Anywhere::Zero => to.kind == ReductionKind::Sum,
        }
    }
}

/// All copies of one value.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    pub(super) ty: TensorType,
    pub(super) list: SmallVec<[Copied; 2]>,
    /// Made of nothing (constants, iota): a copy anywhere is computed there.
    pub(super) anywhere: Anywhere,
    /// How many regions deep it is made.
    pub(super) depth: usize,
    /// How often its block runs.
    pub(super) weight: f64,
}

impl Copies {
    /// Seconds until the value lies at `to`; nothing is made.
    pub(super) fn seconds(&self, resharder: &mut Resharder<'_>, to: &Distribution) -> f64 {
        self.nearest(resharder, to).0
    }

    fn nearest(&self, resharder: &mut Resharder<'_>, to: &Distribution) -> (f64, usize) {
        if self.anywhere.covers(to) {
            return (0.0, 0);
        }
        let mut best = (f64::INFINITY, 0);
        for (i, copy) in self.list.iter().enumerate() {
            if copy.at == *to {
                return (0.0, i);
            }
            let seconds = resharder.sequence(&self.ty, &copy.at, to).seconds;
            if seconds < best.0 {
                best = (seconds, i);
            }
        }
        best
    }

    /// The copy at `to`, made from the nearest where there is none; and the seconds and bytes that took.
    pub(super) fn reach(&mut self, resharder: &mut Resharder<'_>, to: &Distribution) -> (usize, f64, f64) {
        if let Some(i) = self.list.iter().position(|c| c.at == *to) {
            return (i, 0.0, 0.0);
        }
        if self.anywhere.covers(to) {
            self.list.push(Copied { at: to.clone(), made: None, value: None });
            return (self.list.len() - 1, 0.0, 0.0);
        }
        let (_, mut at) = self.nearest(resharder, to);
        let sequence = resharder.sequence(&self.ty, &self.list[at].at, to);
        for step in &sequence.steps {
            self.list.push(Copied { at: step.to.clone(), made: Some((at, step.kind.clone())), value: None });
            at = self.list.len() - 1;
        }
        (at, sequence.seconds, sequence.bytes)
    }
}
