//! The modelled cost of a step on a target, as data. Serialized, it is what `shardc cost --json` prints.

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};
use dialect::ir::Program;
use dialect::memory::MemorySpace;
use dialect::op::CollectiveKind;
use dialect::sharding::Mesh;
use dialect::signature::Signature;
use passes::CompileOptions;
use passes::estimate::{
    Communication, Estimate, Event, HostCopy, Machine, Precision, Range, Ranges, Target, estimate, estimate_ranges,
};
use serde::Serialize;

use crate::compiler::Compiler;
use crate::diagnostic::{Outcome, one};
use crate::effects;
use crate::module::Module;
use crate::place::{axes_of_groups, place, place_or_argument};
use crate::source::Source;

/// The modelled cost of one run of a per-device program.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// The target's name.
    pub target: String,
    /// The number of devices in the mesh; with replicas, the devices of one replica.
    pub devices: i64,
    /// Seconds of arithmetic and memory traffic; with several meshes, the seconds in which the busiest mesh runs
    /// something.
    pub compute_s: f64,
    /// Seconds of collectives.
    pub communication_s: f64,
    /// Seconds of the step in which the compute stream is idle, but for `waiting_s`.
    pub exposed_s: f64,
    /// Seconds of the step in which slices or islands wait for the slowest one.
    #[serde(skip_serializing_if = "is_no_time")]
    pub waiting_s: f64,
    /// Seconds of copies between the memory of a device and its host's.
    #[serde(skip_serializing_if = "is_no_time")]
    pub host_copy_s: f64,
    /// Seconds that the step is longer because of these copies, a part of `exposed_s`.
    #[serde(skip_serializing_if = "is_no_time")]
    pub host_exposed_s: f64,
    /// Seconds from start to end.
    pub step_s: f64,
    /// The most bytes alive at once in the memory of one device.
    pub peak_bytes: u64,
    /// The most bytes of one device alive at once in the memory of its host.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_peak_bytes: u64,
    /// FLOPs of matrix products and convolutions on one device; of several meshes, the mean of all.
    pub flops: f64,
    /// The number of loops whose iterations the model guesses, because their condition doesn't determine them.
    #[serde(skip_serializing_if = "is_zero")]
    pub guessed_loops: u64,
    /// The kernels whose arithmetic isn't modelled, because no source has figures for it, by decreasing bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced: Vec<UnpricedKernel>,
    /// The ranges in which measurements of the chip let one expect the seconds, if all kinds of ops of the program were
    /// measured on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<CostRanges>,
    /// All collectives, in program order.
    pub collectives: Vec<CollectiveCost>,
    /// All copies between the memory of a device and its host's, in program order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_copies: Vec<HostCopyCost>,
    /// What the meshes of a program over several do, of which `step_s` and `peak_bytes` are the end and the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineCost>,
    /// The mesh: its axes with their sizes.
    #[serde(skip)]
    pub mesh: Vec<(String, i64)>,
    /// The number of replicas that run the program, each on its own devices.
    #[serde(skip)]
    pub replicas: i64,
    /// The fraction of the machine's peak arithmetic throughput that the step uses.
    #[serde(skip)]
    pub utilization: f64,
    /// Bytes of memory traffic of one device.
    #[serde(skip)]
    pub memory_traffic: f64,
    /// The memory limit of a device in bytes: the limit of the options, or else the capacity of its memory.
    #[serde(skip)]
    pub memory_bytes: u64,
    /// FLOP/s of one device for bf16 products.
    #[serde(skip)]
    pub peak_flops: f64,
    /// Bytes/s of one device's memory.
    #[serde(skip)]
    pub memory_bandwidth: f64,
    /// For each position of the mesh, the device of the slice that it maps to; `None` if the target has no topology.
    #[serde(skip)]
    pub device_order: Option<Vec<u64>>,
    /// The timeline of ops; a loop is represented by its first iteration.
    #[serde(skip)]
    pub timeline: Vec<TimelineEvent>,
}

/// A kernel whose calls are priced by their memory traffic alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct UnpricedKernel {
    /// The name of the kernel, or the target of its calls.
    pub name: String,
    /// The target of its calls.
    pub target: String,
    /// The number of calls in a step.
    pub count: u64,
    /// Bytes of memory traffic of all calls on one device.
    pub bytes: f64,
    /// The fraction of the step's memory traffic that these bytes are.
    pub share: f64,
    /// The source line of the first call.
    pub loc: Option<String>,
}

/// The lowest and the highest seconds of a step that comparisons with measurements let one expect.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CostRanges {
    /// Of `step_s`.
    pub step_s: [f64; 2],
    /// Of `compute_s`.
    pub compute_s: [f64; 2],
    /// Of `exposed_s`.
    pub exposed_s: [f64; 2],
    /// What was compared, for each kind of op.
    pub sources: Vec<&'static str>,
}

/// The cost of a program over several meshes, which run at the same time.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct PipelineCost {
    /// The order of microbatches: `gpipe`, `1f1b`, `interleaved`, or `program`.
    pub schedule: String,
    /// The fraction of all meshes' time in which they wait.
    pub bubble: f64,
    /// Each mesh, in the order of the topology.
    pub meshes: Vec<MeshCost>,
}

/// The cost of one of several meshes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct MeshCost {
    /// Its name.
    pub name: String,
    /// The seconds in which it runs something.
    pub busy_s: f64,
    /// The maximum number of live bytes on one of its devices.
    pub peak_bytes: u64,
}

/// The cost of one collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CollectiveCost {
    /// The kind, such as `all_gather`.
    pub kind: &'static str,
    /// The mesh axes along which devices exchange: `x`, `y:(1)2`.
    pub axes: Vec<String>,
    /// The dimension whose size changes, if any.
    pub dim: Option<usize>,
    /// Bytes that each device contributes.
    pub operand_bytes: u64,
    /// Bytes each device receives as its result.
    pub result_bytes: u64,
    /// The number of devices in a group; 2 for a permute.
    pub group: usize,
    /// Seconds of one execution.
    pub time_s: f64,
    /// The number of executions in a step.
    pub count: u64,
    /// Whether `count` is a guess, because the collective runs in a loop whose condition doesn't determine its
    /// iterations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guessed: bool,
    /// The source line of the op that it comes from.
    pub loc: Option<String>,
    /// Like `loc`, but the name if it comes from an argument.
    #[serde(skip)]
    pub of: Option<String>,
}

/// One copy between the memory of a device and its host's.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct HostCopyCost {
    /// Where it copies to: `device` or `host`.
    pub to: &'static str,
    /// Bytes of one device.
    pub bytes: u64,
    /// Seconds of one execution.
    pub time_s: f64,
    /// Number of executions in a step.
    pub count: u64,
    /// The source line it comes from.
    pub loc: Option<String>,
    /// The same, but of an argument its name.
    #[serde(skip)]
    pub of: Option<String>,
}

/// One op on the timeline.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct TimelineEvent {
    /// The op's name.
    pub op: String,
    /// What it keeps busy: `compute`, `communication`, or copies `to the host` or `from the host`.
    pub stream: &'static str,
    /// Seconds from the start of the program.
    pub start_s: f64,
    /// Its duration in seconds.
    pub seconds: f64,
    /// FLOPs of its products and convolutions.
    pub flops: f64,
    /// Bytes that it reads and writes.
    pub bytes: f64,
    /// How often the op runs in a step.
    pub count: u64,
    /// The source line of the op that it comes from.
    pub loc: Option<String>,
}

impl Cost {
    /// Seconds of the step in which the compute stream waits for collectives.
    pub fn communication_exposed_s(&self) -> f64 {
        let left = self.exposed_s - self.host_exposed_s;
        // Less is what sums of seconds are rounded by.
        if self.host_exposed_s == 0.0 || left > 1e-9 * self.step_s { left } else { 0.0 }
    }
}

impl Compiler {
    /// Estimates the cost of one run of a per-device program on the target of `options`.
    pub fn estimate(&self, module: &Module, options: &CompileOptions) -> Outcome<Cost> {
        let mut program = module.program().clone();
        let name = options.target_name();
        let cost = self.target(name).map_err(|e| e.to_string()).and_then(|target| {
            let priced = Priced::with_ranges(&mut program, target)?;
            // The name of a chip alone lacks the shape that was priced.
            let shaped = matches!(target, Target::Chip(..)).then(|| priced.machine.target().to_string());
            let cost = cost(&program, &priced, shaped.as_deref().unwrap_or(name), module.source());
            Ok(Cost { memory_bytes: options.memory.unwrap_or(cost.memory_bytes), ..cost })
        });
        let priced = Outcome::of(
            module.source(),
            cost.map_err(|fault| one(Plain::error(codes::TARGET_SIZE, Span::default(), fault))),
        );
        priced.and_then(|cost| Outcome::new(module.source(), Some(cost), &effects::not_priced(module.program())))
    }
}

/// A priced per-device program.
pub(crate) struct Priced {
    /// The program's mesh; empty if it has none.
    mesh: Mesh,
    /// The machine that the program is priced for.
    pub(crate) machine: Machine,
    /// The cost on that machine.
    pub(crate) estimate: Estimate,
}

impl Priced {
    /// Prices a per-device program.
    ///
    /// # Errors
    /// The reason why the program doesn't fit the target.
    pub(crate) fn new(program: &mut Program, target: Target) -> Result<Self, String> {
        Self::by(program, target, estimate)
    }

    /// The same with the ranges of the figures, which takes several times as long.
    fn with_ranges(program: &mut Program, target: Target) -> Result<Self, String> {
        Self::by(program, target, estimate_ranges)
    }

    fn by(program: &mut Program, target: Target, estimate: fn(&Program, &Machine) -> Estimate) -> Result<Self, String> {
        let mesh = Signature::of(program).and_then(|s| s.mesh).map(|m| m.1).unwrap_or_default();
        let machine = Machine::of_mesh(target, &mesh).map_err(|e| e.to_string())?;
        let estimate = estimate(program, &machine);
        Ok(Priced { mesh, machine, estimate })
    }

    /// Returns the mesh axes along which devices of a collective's groups differ.
    pub(crate) fn axes(&self, program: &Program, c: &Communication) -> Vec<String> {
        let permute = c.collective.kind == CollectiveKind::CollectivePermute;
        axes_of_groups(program, &self.mesh, &c.collective.groups, permute)
    }
}

fn cost(program: &Program, priced: &Priced, target: &str, source: &Source) -> Cost {
    let Priced { mesh, machine, estimate: e } = priced;
    let peak = machine.peak_flops(Precision::of_element("bf16"));
    let collective = |c: &Communication| CollectiveCost {
        kind: c.collective.kind.text(),
        axes: priced.axes(program, c),
        dim: has_dim(c.collective.kind).then_some(c.collective.dim),
        operand_bytes: c.operand_bytes,
        result_bytes: c.result_bytes,
        group: c.group,
        time_s: c.seconds,
        count: c.count,
        guessed: c.guessed,
        loc: place(program, source, c.op),
        of: place_or_argument(program, source, c.op),
    };
    let host_copy = |c: &HostCopy| HostCopyCost {
        to: if c.to == MemorySpace::Host { "host" } else { "device" },
        bytes: c.bytes,
        time_s: c.seconds,
        count: c.count,
        loc: place(program, source, c.op),
        of: place_or_argument(program, source, c.op),
    };
    let pipeline = passes::mpmd::Pipeline::of(program);
    // The program contains the branches of all meshes, but a device runs only those of its own mesh.
    let meshes = pipeline.as_ref().map_or(1, |p| p.meshes.len().max(1)) as f64;
    let busy = pipeline.as_ref().map(|p| p.meshes.iter().map(|m| m.busy_seconds).fold(0.0, f64::max));
    let compute_s = busy.unwrap_or(e.compute_seconds);
    let (flops, memory_traffic) = (e.flops / meshes, e.memory_traffic / meshes);
    let step_s = pipeline.as_ref().map_or(e.step_seconds, |p| p.seconds);
    let peaks = pipeline.iter().flat_map(|p| &p.meshes).map(|m| m.peak_bytes);
    let peak_bytes = peaks.max().unwrap_or(e.peak_bytes as u64);
    let pipeline = pipeline.map(|p| PipelineCost {
        schedule: p.schedule,
        bubble: p.bubble,
        meshes: p
            .meshes
            .into_iter()
            .map(|m| MeshCost { name: m.name, busy_s: m.busy_seconds, peak_bytes: m.peak_bytes })
            .collect(),
    });
    // The range of several meshes' step isn't that of their program.
    let ranges = e.ranges.filter(|_| pipeline.is_none()).map(|ranges| ranges_of(ranges, machine));
    Cost {
        target: target.to_owned(),
        devices: mesh.devices(),
        compute_s,
        communication_s: e.communication_seconds,
        exposed_s: if pipeline.is_some() { (step_s - compute_s).max(0.0) } else { e.exposed_seconds() },
        waiting_s: e.waiting_seconds,
        host_copy_s: e.host_copy_seconds,
        host_exposed_s: e.host_exposed_seconds,
        step_s,
        peak_bytes,
        host_peak_bytes: e.host_peak_bytes as u64,
        flops,
        guessed_loops: e.guessed_loops,
        unpriced: unpriced(program, e, source),
        ranges,
        collectives: e.collectives.iter().map(collective).collect(),
        host_copies: e.host_copies.iter().map(host_copy).collect(),
        pipeline,
        mesh: mesh.axes.iter().map(|&(name, size)| (program.name_text(name).to_owned(), size)).collect(),
        replicas: dialect::ops::func::num_replicas(program),
        utilization: if step_s > 0.0 { flops / (step_s * peak) } else { 0.0 },
        memory_traffic,
        memory_bytes: machine.memory_bytes(),
        peak_flops: peak,
        memory_bandwidth: machine.memory_bandwidth(),
        device_order: machine.placement().map(|p| p.device_order()),
        timeline: timeline(program, e, source),
    }
}

fn timeline(program: &Program, estimate: &Estimate, source: &Source) -> Vec<TimelineEvent> {
    let event = |event: &Event| {
        let view = program.view(event.op);
        // XLA names the call of a kernel after it.
        let name = view.def().library_call(view).map_or(program.op_name(event.op), |call| call.name());
        TimelineEvent {
            op: name.to_owned(),
            stream: event.stream.name(),
            start_s: event.start,
            seconds: event.seconds,
            flops: event.work.flops,
            bytes: event.work.bytes,
            count: event.count,
            loc: place(program, source, event.op),
        }
    };
    estimate.timeline.iter().map(event).collect()
}

/// Returns the kernels whose arithmetic isn't modelled.
fn unpriced(program: &Program, estimate: &Estimate, source: &Source) -> Vec<UnpricedKernel> {
    let mut kernels: Vec<UnpricedKernel> = Vec::new();
    for call in &estimate.unpriced {
        let view = program.view(call.op);
        let Some(library) = view.def().library_call(view) else { continue };
        let (name, target) = (library.name(), library.target);
        let at = kernels.iter().position(|k| k.name == name && k.target == target).unwrap_or_else(|| {
            let loc = place(program, source, call.op);
            let (name, target) = (name.to_owned(), target.to_owned());
            kernels.push(UnpricedKernel { name, target, count: 0, bytes: 0.0, share: 0.0, loc });
            kernels.len() - 1
        });
        kernels[at].count = kernels[at].count.saturating_add(call.count);
        kernels[at].bytes += call.bytes * call.count as f64;
    }
    for kernel in &mut kernels {
        kernel.share = if estimate.memory_traffic > 0.0 { kernel.bytes / estimate.memory_traffic } else { 0.0 };
    }
    kernels.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    kernels
}

fn ranges_of(ranges: Ranges, machine: &Machine) -> CostRanges {
    let mut sources: Vec<&str> = Vec::new();
    for residual in machine.residuals() {
        if !sources.contains(&residual.source) {
            sources.push(residual.source);
        }
    }
    let ends = |range: Range| [range.low, range.high];
    CostRanges { step_s: ends(ranges.step), compute_s: ends(ranges.compute), exposed_s: ends(ranges.exposed), sources }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_no_time(seconds: &f64) -> bool {
    *seconds == 0.0
}

fn has_dim(kind: CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll)
}
