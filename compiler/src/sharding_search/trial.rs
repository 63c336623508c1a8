//! The cost of candidates: each is compiled and priced as `cost` does it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use dialect::ir::Program;
use passes::estimate::{Machine, Target, estimate};
use passes::{Steps, run_unverified};

use super::candidate::{Candidate, MeshName};
use super::survey::Survey;
use dialect::parallel::on_all_cores;

/// The progress of a search. Clones share the state of one search.
#[derive(Clone, Debug, Default)]
pub struct SearchProgress(Arc<SearchCounts>);

#[derive(Debug, Default)]
struct SearchCounts {
    tried: AtomicU64,
    /// The bits of the seconds of the best step so far; 0 if none was found yet.
    best: AtomicU64,
}

impl SearchProgress {
    /// Returns the number of shardings that were priced.
    pub fn tried(&self) -> u64 {
        self.0.tried.load(Relaxed)
    }

    /// Returns the seconds of the best step that a full plan found.
    pub fn best_s(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.best.load(Relaxed))).filter(|&seconds| seconds > 0.0)
    }

    pub(super) fn found(&self, seconds: f64) {
        self.0.best.store(seconds.to_bits(), Relaxed);
    }
}

impl PartialEq for SearchProgress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The cost of a candidate.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measure {
    pub(super) step: f64,
    pub(super) compute: f64,
    pub(super) exposed: f64,
    pub(super) peak: f64,
    /// Seconds and bytes received of the collectives of each kind.
    pub(super) kinds: BTreeMap<&'static str, (f64, f64)>,
}

impl Measure {
    /// Returns the sort key: a candidate that fits into memory is better than one that doesn't; then seconds decide, or
    /// bytes if it doesn't fit.
    pub(super) fn key(&self, memory: f64) -> (bool, f64) {
        let over = self.peak > memory;
        (over, if over { self.peak } else { self.step })
    }

    /// Returns whether it is better than another by more than rounding errors.
    pub(super) fn beats(&self, other: &Measure, memory: f64) -> bool {
        self.saves(other, memory, 1e-9)
    }

    /// Returns whether it is better than another by more than this fraction.
    pub(super) fn saves(&self, other: &Measure, memory: f64, share: f64) -> bool {
        let ((over, a), (other_over, b)) = (self.key(memory), other.key(memory));
        match over.cmp(&other_over) {
            Ordering::Less => true,
            Ordering::Equal => a < b * (1.0 - share),
            Ordering::Greater => false,
        }
    }
}

/// The thoroughness of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Effort {
    /// Each op on its own, starting with values sharded by their classes.
    Greedy,
    /// The plan of `compile`.
    Full,
}

/// Prices candidates of one program.
pub(super) struct Trial<'a> {
    pub(super) survey: &'a Survey,
    /// The program before propagation, with only the user's annotations.
    pub(super) program: &'a Program,
    pub(super) mesh: &'a MeshName,
    pub(super) target: Target,
    pub(super) greedy: Steps,
    pub(super) full: Steps,
    pub(super) progress: SearchProgress,
    /// The deadlines of the whole search and of its part with greedy plans.
    pub(super) deadlines: Option<(Instant, Instant)>,
    /// Whether a deadline ended the search before everything was tried.
    pub(super) cut: bool,
    pub(super) known: HashMap<(Candidate, Effort), Option<Measure>>,
}

impl Trial<'_> {
    /// Returns the cost of each candidate; `None` for a candidate that can't be compiled, or that didn't start before
    /// the deadline.
    pub(super) fn all(&mut self, candidates: &[Candidate], effort: Effort) -> Vec<Option<Measure>> {
        let new: Vec<&Candidate> =
            candidates.iter().filter(|c| !self.known.contains_key(&((*c).clone(), effort))).collect();
        // No thread starts a candidate after the deadline, but running candidates finish, and the very first always
        // runs.
        let first = !self.known.keys().any(|known| known.1 == effort);
        let one = |i: usize| match self.is_over(effort) && !(first && i == 0) {
            true => None,
            false => Some(self.one(new[i], effort)),
        };
        let found = on_all_cores(new.len(), one);
        let new: Vec<Candidate> = new.into_iter().cloned().collect();
        for (candidate, found) in new.into_iter().zip(found) {
            match found {
                Some(measure) => {
                    self.known.insert((candidate, effort), measure);
                }
                None => self.cut = true,
            }
        }
        candidates.iter().map(|c| self.known.get(&(c.clone(), effort)).cloned().flatten()).collect()
    }

    /// Returns the number of candidates planned in full.
    pub(super) fn planned(&self) -> usize {
        self.known.keys().filter(|known| known.1 == Effort::Full).count()
    }

    /// Returns whether the time for plans of this effort is over.
    pub(super) fn is_over(&self, effort: Effort) -> bool {
        let end = self.deadlines.map(|(full, greedy)| if effort == Effort::Full { full } else { greedy });
        end.is_some_and(|end| Instant::now() >= end)
    }

    fn one(&self, candidate: &Candidate, effort: Effort) -> Option<Measure> {
        let mut program = self.program.clone();
        candidate.annotate(self.survey, &mut program, self.mesh, effort == Effort::Greedy);
        let steps = if effort == Effort::Full { &self.full } else { &self.greedy };
        let compiled = run_unverified(&mut program, steps);
        self.progress.0.tried.fetch_add(1, Relaxed);
        if !compiled {
            return None;
        }
        let machine = self.machine(&mut program)?;
        let cost = estimate(&program, &machine);
        let mut kinds: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
        for c in &cost.collectives {
            let of_kind = kinds.entry(c.collective.kind.text()).or_default();
            of_kind.0 += c.seconds * c.count as f64;
            of_kind.1 += c.result_bytes as f64 * c.count as f64;
        }
        let (exposed, compute) = (cost.exposed_seconds(), cost.compute_seconds);
        Some(Measure { step: cost.step_seconds, compute, exposed, peak: cost.peak_bytes, kinds })
    }

    /// Returns the machine that a per-device program runs on.
    pub(super) fn machine(&self, program: &mut Program) -> Option<Machine> {
        let mesh = dialect::signature::Signature::of(program).and_then(|s| s.mesh).map(|m| m.1).unwrap_or_default();
        Machine::of_mesh(self.target, &mesh).ok()
    }
}
