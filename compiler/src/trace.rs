//! The trace of a run: what devices did, and the modelled time.

use std::collections::HashMap;

use dialect::ir::Op;
use passes::CompileOptions;
use passes::estimate::{Event, Work};
use serde::Serialize;

use crate::compiler::Compiler;
use crate::cost::Priced;
use crate::diagnostic::Outcome;
use crate::module::Module;
#[cfg(feature = "jit")]
use crate::place::place_or_argument;

/// The trace of one run of a program.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Trace {
    /// The executed ops.
    pub ops: Vec<TracedOp>,
    /// The trace of each device.
    pub devices: Vec<DeviceTrace>,
}

/// An executed op. A kernel of several ops is represented by the last.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TracedOp {
    /// Its name.
    pub name: String,
    /// The source line of the op that it comes from.
    pub loc: Option<String>,
    /// Whether it is a collective.
    pub communicates: bool,
    /// Whether other steps run inside it, as in a loop or a branch.
    pub contains_others: bool,
    pub(crate) op: Op,
    /// The other ops in its kernel.
    pub(crate) others: Vec<Op>,
    /// The upper bound on the bytes that the kernel reads and writes, if it has other ops.
    pub(crate) most_bytes: f64,
}

/// The trace of one device.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct DeviceTrace {
    /// Its number.
    pub device: u32,
    /// Its steps, in the order in which they ended.
    pub steps: Vec<TracedStep>,
    /// The waits for other devices: start and duration in seconds.
    pub waits: Vec<(f64, f64)>,
    /// The number of later steps that were only counted.
    pub lost: u64,
}

/// One step of one device.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct TracedStep {
    /// The index in [`Trace::ops`].
    pub op: usize,
    /// Seconds from the start of the run.
    pub start_s: f64,
    /// Its duration in seconds.
    pub seconds: f64,
    /// The part of that duration in which the device waited for others, in seconds.
    pub waited_s: f64,
}

/// The profile of a run. Serialized, it is what `shardc run --profile --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Profile {
    /// Measured FLOP/s of f32 products on all cores of this machine together.
    pub flops_per_s: f64,
    /// Measured bytes/s that all cores read and write together.
    pub bytes_per_s: f64,
    /// Every op, the most expensive first.
    pub ops: Vec<ProfiledOp>,
}

/// The time of one op, summed over the run. Numbers are sums over all devices unless they say otherwise.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProfiledOp {
    /// Its name.
    pub op: String,
    /// The source line of the op that it comes from.
    pub source: Option<String>,
    /// The number of times that one device ran it.
    pub times: f64,
    /// Seconds that one device spent in it, excluding waits; the mean over all devices.
    pub seconds: f64,
    /// Seconds that one device waited for others in it; the mean over all devices.
    pub waited_s: f64,
    /// A lower bound on its seconds on this machine, from its bytes and FLOPs at the measured rates.
    pub bound_s: f64,
    /// Modelled seconds on the target.
    pub modelled_s: f64,
    /// Bytes that it reads and writes.
    pub bytes: f64,
    /// FLOPs of its products.
    pub flops: f64,
}

impl Compiler {
    /// Profiles a traced run of a per-device program, next to lower bounds on this machine and the modelled time on the
    /// target of `options`. Measures this machine's rates for about a tenth of a second.
    pub fn profile(&self, module: &Module, trace: &Trace, options: &CompileOptions) -> Outcome<Profile> {
        let mut program = module.program().clone();
        let priced = self.target(options.target_name()).ok().and_then(|t| Priced::new(&mut program, t).ok());
        let events = priced.map(|priced| priced.estimate.timeline).unwrap_or_default();
        Outcome::of(module.source(), Ok(profile(trace, &events)))
    }
}

fn profile(trace: &Trace, events: &[Event]) -> Profile {
    let rates = runtime::rates::Rates::measure();
    // An op may have several steps, each executed equally often: the work and seconds of all steps, and their number.
    let mut modelled: HashMap<Op, (Work, f64, f64)> = HashMap::new();
    for event in events {
        let (work, seconds, steps) = modelled.entry(event.op).or_insert((Work { flops: 0.0, bytes: 0.0 }, 0.0, 0.0));
        work.flops += event.work.flops;
        work.bytes += event.work.bytes;
        *seconds += event.seconds;
        *steps += 1.0;
    }
    let devices = trace.devices.len().max(1) as f64;
    let mut sums = vec![(0u64, 0.0, 0.0); trace.ops.len()];
    for step in trace.devices.iter().flat_map(|device| &device.steps) {
        let sum = &mut sums[step.op];
        *sum = (sum.0 + 1, sum.1 + step.seconds - step.waited_s, sum.2 + step.waited_s);
    }
    let op = |(op, (runs, seconds, waited)): (&TracedOp, (u64, f64, f64))| {
        let none = (Work { flops: 0.0, bytes: 0.0 }, 0.0, 1.0);
        let (mut work, mut modelled_s, steps) = modelled.get(&op.op).copied().unwrap_or(none);
        for (more, seconds, _) in op.others.iter().filter_map(|other| modelled.get(other)) {
            work.flops += more.flops;
            work.bytes += more.bytes;
            modelled_s += seconds;
        }
        // A tensor that several ops of a kernel read counts once.
        work.bytes = work.bytes.min(op.most_bytes * steps);
        let runs = runs as f64 / steps;
        let (flops, bytes) = (work.flops * runs, work.bytes * runs);
        let times = runs / devices;
        ProfiledOp {
            op: op.name.clone(),
            source: op.loc.clone(),
            times,
            seconds: seconds / devices,
            waited_s: waited / devices,
            bound_s: (flops / rates.flops).max(bytes / rates.bytes),
            modelled_s: modelled_s * times,
            bytes,
            flops,
        }
    };
    let ran = trace.ops.iter().zip(sums).filter(|(op, sum)| sum.0 > 0 && !op.contains_others);
    let mut ops: Vec<ProfiledOp> = ran.map(op).collect();
    ops.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Profile { flops_per_s: rates.flops, bytes_per_s: rates.bytes, ops }
}

/// Builds the trace of a run from what each device recorded.
#[cfg(feature = "jit")]
pub(crate) fn of_tracks(
    module: &Module,
    executable: &runtime::execute::Executable,
    tracks: &[runtime::execute::Track],
    ids: &[u32],
) -> Trace {
    let (program, source) = (module.program(), module.source());
    let mut numbers: HashMap<Op, usize> = HashMap::new();
    let mut ops = Vec::new();
    let mut number = |op: Op| {
        *numbers.entry(op).or_insert_with(|| {
            let view = program.view(op);
            let shared = executable.shared_kernel(op);
            ops.push(TracedOp {
                name: view.name().to_owned(),
                loc: place_or_argument(program, source, op),
                communicates: view.def().collective(view).is_some(),
                contains_others: view.def().control(view).is_some(),
                op,
                others: shared.map_or_else(Vec::new, |shared| shared.others.clone()),
                most_bytes: shared.map_or(f64::INFINITY, |shared| shared.bytes as f64),
            });
            ops.len() - 1
        })
    };
    let device = |(track, &device): (&runtime::execute::Track, &u32)| DeviceTrace {
        device,
        steps: track
            .events
            .iter()
            .map(|event| TracedStep {
                op: number(event.op),
                start_s: event.start.as_secs_f64(),
                seconds: event.took.as_secs_f64(),
                waited_s: event.waited.as_secs_f64(),
            })
            .collect(),
        waits: track.waits.iter().map(|(start, took)| (start.as_secs_f64(), took.as_secs_f64())).collect(),
        lost: track.lost,
    };
    let devices = tracks.iter().zip(ids).map(device).collect();
    Trace { ops, devices }
}
