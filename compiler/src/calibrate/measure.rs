//! Measurements of this machine: native execution calls small programs.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dialect::ir::TensorType;
use dialect::literal::Literal;

use super::fit::{Point, line, median, quantile};
use super::programs::{LEAST_CALLS, Probe, additions, collectives, memory, products};
use super::{KINDS, Quantity, Series};
use crate::compiler::Compiler;
use crate::diagnostic::{Diagnostics, Outcome};
use crate::execute::{ExecuteOptions, Interface, Ranks};
use crate::source::Source;
use crate::units;

/// How to measure this machine.
#[derive(Clone, Debug)]
pub struct CalibrateOptions {
    /// The number of devices, all of which work at the same time.
    pub devices: usize,
    /// Seconds that all calls may take, without the time to compile.
    pub seconds: f64,
    /// The most bytes of one value of all devices.
    pub largest: u64,
    /// The folder that caches compiled kernels between runs; `None` caches nothing.
    pub cache: Option<PathBuf>,
    /// The processes that run the devices together; `None` if this process runs all.
    pub ranks: Option<Ranks>,
    /// The progress, which other threads can read.
    pub progress: Calibrating,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        let progress = Calibrating::default();
        Self { devices: 8, seconds: 20.0, largest: 64 << 20, cache: None, ranks: None, progress }
    }
}

/// The progress of measurements. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Calibrating(Arc<State>);

#[derive(Debug, Default)]
struct State {
    name: Mutex<String>,
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Calibrating {
    /// Describes what is measured now.
    pub fn now(&self) -> String {
        let name = self.0.name.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, all) = (self.0.done.load(Ordering::Relaxed), self.0.all.load(Ordering::Relaxed));
        format!("measuring: {done} of {all} programs are done, now {name}")
    }

    fn begin(&self, name: &str) {
        name.clone_into(&mut self.0.name.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The most calls of one program.
const MOST_CALLS: usize = 400;

/// Calls at the start that count nothing, because they allocate memory and warm caches.
const WARM_UP: usize = 2;

/// The share of the calls that are at most as long as the measured time. Other programs on the machine make calls
/// longer, never shorter; the very fastest call would depend on the number of calls.
const FAST: f64 = 0.1;

/// Larger programs of a quantity are left out once one takes more than this multiple of its share of the time.
const OVERTIME: f64 = 4.0;

/// One program's measurement.
struct Measurement {
    probe: Probe,
    /// Seconds of a fast call.
    seconds: f64,
    /// How much longer the median call takes, as a share of the fast one.
    spread: f64,
    calls: usize,
}

impl Compiler {
    /// Measures this machine with native execution: steps and ops with almost no work, products, memory, and
    /// collectives between the devices.
    pub fn measure(&self, options: &CalibrateOptions) -> Outcome<Vec<Series>> {
        match self.measured(options) {
            Ok(series) => Outcome { value: Some(series), diagnostics: Diagnostics::default() },
            Err(diagnostics) => Outcome { value: None, diagnostics },
        }
    }

    fn measured(&self, options: &CalibrateOptions) -> Result<Vec<Series>, Diagnostics> {
        let devices = options.devices.max(1);
        let mut probes = additions(devices);
        probes.extend(memory(devices, options.largest));
        probes.extend(collectives(devices, options.largest));
        // Products are most of the rest.
        let share = options.seconds / (probes.len() + 20) as f64;
        probes.extend(products(devices, options.largest, share));
        let all = &options.progress.0.all;
        all.store(probes.len(), Ordering::Relaxed);
        let share = options.seconds / probes.len() as f64;
        let (mut measurements, mut ended) = (Vec::new(), Vec::new());
        for probe in probes {
            options.progress.0.done.fetch_add(1, Ordering::Relaxed);
            if ended.contains(&probe.quantity) {
                continue;
            }
            options.progress.begin(&probe.name);
            let calls = (share / (probe.seconds * probe.ops as f64)) as usize;
            let calls = calls.clamp(LEAST_CALLS, MOST_CALLS);
            let times = self.times(&probe, calls, options)?;
            let seconds = quantile(times.iter().copied(), FAST);
            let spread = median(times.iter().copied()) / seconds - 1.0;
            // Processes must agree on the programs, but each has other times.
            let is_long = seconds * calls as f64 > OVERTIME * share && options.ranks.is_none();
            if is_long && has_less(&measurements, &probe) {
                ended.push(probe.quantity);
            }
            measurements.push(Measurement { probe, seconds, spread, calls });
        }
        Ok(series(devices, options.ranks.as_ref().map_or(1, |ranks| ranks.wire.ranks()), &measurements))
    }

    /// The seconds of calls of a program.
    fn times(&self, probe: &Probe, calls: usize, options: &CalibrateOptions) -> Result<Vec<f64>, Diagnostics> {
        let source = Source::new(format!("<{}>", probe.name), probe.text.clone());
        let module = self.parse(source).into_result()?;
        let types = Interface::of(&module).map(|interface| interface.arguments).unwrap_or_default();
        let inputs = vec![types.iter().map(ones).collect()];
        let execute = ExecuteOptions {
            calls: calls + WARM_UP,
            cache: options.cache.clone(),
            ranks: options.ranks.clone(),
            ..ExecuteOptions::default()
        };
        let ran = self.execute(&module, &inputs, &execute).into_result()?;
        Ok(ran.calls.iter().skip(WARM_UP).map(std::time::Duration::as_secs_f64).collect())
    }
}

/// Whether a quantity was measured with at most half of this work, so that there is a line.
fn has_less(measurements: &[Measurement], probe: &Probe) -> bool {
    measurements.iter().any(|m| m.probe.quantity == probe.quantity && 2.0 * m.probe.work <= probe.work)
}

/// A tensor of the number that has this byte everywhere; the time of an op doesn't depend on it.
fn ones(ty: &TensorType) -> Literal {
    Literal::from_bytes(ty.element, &ty.shape, vec![0x3fu8; ty.element.bytes()])
}

/// The measurements of each quantity. Start-ups of steps are subtracted.
fn series(devices: usize, ranks: usize, measurements: &[Measurement]) -> Vec<Series> {
    let of = |quantity: Quantity| measurements.iter().filter(move |m| m.probe.quantity == quantity);
    let steps: Vec<Point> = of(Quantity::Ops).map(|m| Point { work: m.probe.work, seconds: m.seconds }).collect();
    let start = line(&steps).and_then(|fit| fit.start).unwrap_or(0.0);
    let point = |m: &Measurement| {
        let seconds = (m.seconds - start) / m.probe.ops as f64;
        Point { work: m.probe.work, seconds }
    };
    let mut quantities = vec![Quantity::Ops, Quantity::Memory];
    quantities.extend(super::CLASSES.map(|class| Quantity::Product(class.1)));
    quantities.extend(KINDS.map(|kind| Quantity::Collective(kind.0)));
    let mut all = Vec::new();
    for quantity in quantities {
        if of(quantity).next().is_none() {
            continue;
        }
        let points = match quantity {
            Quantity::Ops => steps.clone(),
            _ => of(quantity).map(point).collect(),
        };
        let how = described(quantity, devices, ranks, of(quantity));
        all.push(Series { quantity, points, how });
    }
    all
}

fn counts(least: usize, most: usize) -> String {
    if least == most { most.to_string() } else { format!("{least} to {most}") }
}

/// Says what was measured, how often, and how much the calls differed.
fn described<'a>(
    quantity: Quantity,
    devices: usize,
    ranks: usize,
    of: impl Iterator<Item = &'a Measurement> + Clone,
) -> String {
    let (first, last) = (of.clone().next(), of.clone().last());
    let name = |m: Option<&'a Measurement>| m.map_or("", |m| m.probe.name.as_str());
    let calls = || of.clone().map(|m| m.calls);
    let spread = median(of.clone().map(|m| m.spread));
    let mut text = format!("measured by {} programs: ", of.clone().count());
    let _ = write!(text, "{} to {}", name(first), name(last));
    let _ = match (devices, ranks) {
        (1, _) => write!(text, " on 1 device"),
        (n, 1) => write!(text, " on {n} devices at once"),
        (n, ranks) => write!(text, " on {n} devices at once in {ranks} processes"),
    };
    let _ = write!(
        text,
        ", {} calls each; the fastest tenth of them counts, and the median takes {:.0} % longer",
        counts(calls().min().unwrap_or(0), calls().max().unwrap_or(0)),
        100.0 * spread
    );
    if quantity == Quantity::Memory {
        for (kind, what) in [("reads", "reads"), ("writes", "writes"), ("chains", "chains")] {
            let of_kind = of.clone().filter(|m| m.probe.name.starts_with(kind));
            let points: Vec<Point> = of_kind.map(|m| Point { work: m.probe.work, seconds: m.seconds }).collect();
            if let Some(fit) = line(&points) {
                let _ = write!(text, "; {what} alone {}/s", units::bytes(1.0 / fit.per));
            }
        }
    }
    text
}
