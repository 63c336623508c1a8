//! `shardc cost`: the modelled cost of a step on a slice of TPUs.

use std::fmt::Write;
use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::Serialize;

use super::Common;
use super::explain::NO_MESH;
use crate::cli::against;
use crate::cli::knobs::Knobs;
use crate::cli::perfetto::TraceWriter;
use crate::cli::phrase::{self, counted, row};
use crate::cli::session::{Outcome, Session};
use crate::units;
use crate::{Cost, CostAgainst, Target};
use passes::estimate::Stream;

const EXAMPLES: &str = "\
Examples:
  shardc cost model.mlir                        a flat model: a separate ring for every collective
  shardc cost model.mlir --target v5e:4x4       a slice of 16 chips
  shardc cost model.mlir --target 2xv5e:16x16   two slices and the network between them
  shardc cost model.mlir --target 4xh100:8      four islands of eight GPUs
  shardc cost model.mlir --target acme.toml     a custom machine, see below
  shardc cost model.mlir --target v5p:4x4x4 --trace step.json    for ui.perfetto.dev
  shardc cost model.mlir --target v5e:4x4 --against trace.json.gz   next to a profile by JAX
  shardc cost model.mlir --plan greedy          to compare with the full plan
  shardc cost model.mlir --json                 one line for a script

Times are modelled, not measured: a roofline for each op, rings and lines of the torus for
collectives. Where the chip was measured, the range of the step, of compute and of the exposed time
follows in parentheses.

A file describes a custom machine (docs/guide/targets.md has all keys; figures in SI units):
  name = \"acme\"
  slice = [4, 4]
  wraparound = [true, true]
  [chip]
  bf16_flops = 400e12
  hbm_bytes = 96e9
  hbm_bandwidth = 1.6e12
  [links]
  bandwidth = 50e9
  latency = 1e-6";

/// Model the time, traffic and memory of one step on each device
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CostArgs {
    #[command(flatten)]
    common: Common,
    /// Write the timeline as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "JSON")]
    trace: Option<PathBuf>,
    /// Compare with a profile of the program, by op: a trace of XLA's profiler (trace.json.gz) or of run --trace
    #[arg(long, value_name = "TRACE")]
    against: Option<PathBuf>,
    /// The number of steps in the profile [default: what XLA's profiler counted, or 1]
    #[arg(long, value_name = "N", requires = "against")]
    against_steps: Option<NonZeroU64>,
    #[command(flatten)]
    knobs: Knobs,
}

/// Runs the command.
pub(crate) fn run(args: &CostArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let options = args.knobs.options(session)?;
    let module = session.device_program(source, &options)?;
    let cost = session.compiler.estimate(&module, &options);
    let cost = session.take_flag(module.source(), cost, "target-size", "--target")?;
    if let Some(path) = &args.trace {
        session.emit(Some(path), &trace(&cost))?;
    }
    let against = match &args.against {
        Some(path) => Some(against::compare(&cost, path, args.against_steps)?),
        None => None,
    };
    session.set_document(&Document { cost: &cost, against: against.as_ref() });
    let chips = match session.compiler.target(options.target_name()) {
        Ok(Target::Slice(slice)) => slice.chips(),
        _ => 0,
    };
    let compared = against.as_ref().map(against::table).unwrap_or_default();
    session.emit(args.common.output.as_deref(), &(summary(&cost, chips) + &compared))
}

/// The line of JSON: a cost and, with `--against`, what it is compared with.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    cost: &'a Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a CostAgainst>,
}

/// Returns the table. `chips` is the number of chips of the slice.
fn summary(cost: &Cost, chips: u64) -> String {
    let mut text = String::new();
    heading(cost, chips, &mut text);
    for CostRow { name, value, note } in rows(cost) {
        row(&mut text, &format!("  {name:<16}{value:>12}  {note}"));
    }
    if let Some(order) = &cost.device_order {
        let in_order = order.iter().enumerate().all(|(i, &d)| i as u64 == d);
        let shown: Vec<String> = order.iter().take(16).map(u64::to_string).collect();
        let more = if order.len() > 16 { ", …" } else { "" };
        let note = if in_order { "row-major".to_owned() } else { format!("[{}{more}]", shown.join(", ")) };
        let _ = writeln!(text, "  device order    {note}");
    }
    pipeline(cost, &mut text);
    collectives(cost, &mut text);
    host_copies(cost, &mut text);
    text
}

/// Appends the target and the mesh, with notes on idle chips and unknown numbers of iterations.
fn heading(cost: &Cost, chips: u64, text: &mut String) {
    let axes = phrase::mesh(cost.mesh.iter().map(|(name, size)| (name, *size)), "");
    let mesh = if axes.is_empty() { axes } else { format!(", mesh {axes}") };
    let each = if cost.replicas > 1 { format!(" for each of {} replicas", cost.replicas) } else { String::new() };
    let devices = counted(cost.devices as usize, "device");
    let _ = writeln!(text, "target {}: {devices}{each}{mesh}", cost.target);
    let used = (cost.devices * cost.replicas).unsigned_abs();
    if chips > used {
        let _ = writeln!(text, "  note: the program runs on {used} of the slice's {chips} chips; the others are idle");
    }
    if cost.guessed_loops > 0 {
        let n = cost.guessed_loops;
        let loops = if n == 1 { "one loop".to_owned() } else { format!("{n} loops") };
        let how = "8 is a guess, --trip-count N states them";
        let _ = writeln!(text, "  note: the condition of {loops} doesn't determine the iterations: {how}");
    }
    if !cost.unpriced.is_empty() {
        let _ = writeln!(text, "  note: {}", unpriced(cost));
    }
    if cost.mesh.is_empty() && cost.replicas == 1 {
        let _ = writeln!(text, "  note: {NO_MESH}");
    }
}

/// The maximum number of kernels that the note names.
const NAMED: usize = 6;

/// Returns the sentence on kernels whose arithmetic isn't modelled.
fn unpriced(cost: &Cost) -> String {
    let kernels = &cost.unpriced;
    let calls = counted(kernels.iter().map(|k| k.count).sum::<u64>() as usize, "call");
    let share = units::percent(kernels.iter().map(|k| k.share).sum(), 1.0);
    let mut names: Vec<&str> = kernels.iter().take(NAMED).map(|k| k.name.as_str()).collect();
    names.extend((kernels.len() > NAMED).then_some("…"));
    let what = if kernels.len() == 1 { "a kernel".to_owned() } else { format!("{} kernels", kernels.len()) };
    format!(
        "the arithmetic of {what} is unpriced, with {calls} and {share} of the memory traffic: {}; shardc.flops on \
         a call, or [[kernels]] in a file of a target, states it",
        names.join(", ")
    )
}

/// A row of the table of totals.
pub(super) struct CostRow {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) note: String,
}

/// Returns the totals of a step on one device.
pub(super) fn rows(cost: &Cost) -> Vec<CostRow> {
    let total = |name, value, note| CostRow { name, value, note };
    let exposed = |seconds| format!("{} of it exposed", units::seconds(seconds));
    let of_step = format!("{} of the step", units::percent(cost.compute_s, cost.step_s));
    let ranges = cost.ranges.as_ref();
    let range = |ends: [f64; 2]| format!("({} to {})", units::seconds(ends[0]), units::seconds(ends[1]));
    let compute = ranges.map_or(String::new(), |ranges| format!("{}, ", range(ranges.compute_s)));
    // With copies from the host, the range is that of all that is exposed.
    let alone = ranges.filter(|_| cost.host_exposed_s == 0.0 && cost.communication_s > 0.0);
    let hidden = alone.map_or(String::new(), |ranges| format!(" {}", range(ranges.exposed_s)));
    let mut rows = vec![
        total("step", units::seconds(cost.step_s), ranges.map_or(String::new(), |ranges| range(ranges.step_s))),
        total("compute", units::seconds(cost.compute_s), compute + &of_step),
        total("communication", units::seconds(cost.communication_s), exposed(cost.communication_exposed_s()) + &hidden),
    ];
    if cost.waiting_s > 0.0 {
        rows.push(total("waiting", units::seconds(cost.waiting_s), "for the slowest slice".to_owned()));
    }
    if !cost.host_copies.is_empty() {
        rows.push(total("host copies", units::seconds(cost.host_copy_s), exposed(cost.host_exposed_s)));
    }
    let share = units::percent(cost.utilization, 1.0);
    let fits = if cost.peak_bytes <= cost.memory_bytes { "" } else { ": does not fit" };
    let memory = format!("of {}{fits}", units::bytes(cost.memory_bytes as f64));
    rows.extend([
        total("arithmetic", units::flops(cost.flops), format!("a device; {share} of its peak")),
        total("memory traffic", units::bytes(cost.memory_traffic), "a device".to_owned()),
        total("peak memory", units::bytes(cost.peak_bytes as f64), memory),
    ]);
    if cost.host_peak_bytes > 0 {
        let peak = units::bytes(cost.host_peak_bytes as f64);
        rows.push(total("host memory", peak, "at the peak, for each device".to_owned()));
    }
    rows
}

/// Appends a row for each mesh of a pipeline.
fn pipeline(cost: &Cost, text: &mut String) {
    let Some(pipeline) = &cost.pipeline else { return };
    let bubble = units::percent(pipeline.bubble, 1.0);
    let _ = writeln!(text, "meshes, schedule {}: idle {bubble} of their time", pipeline.schedule);
    text.push_str("        busy  share   peak memory  mesh\n");
    for mesh in &pipeline.meshes {
        let (busy, share) = (units::seconds(mesh.busy_s), units::percent(mesh.busy_s, cost.step_s));
        let peak = units::bytes(mesh.peak_bytes as f64);
        let _ = writeln!(text, "  {busy:>10} {share:>6} {peak:>13}  {}", mesh.name);
    }
}

/// Appends a row for each collective.
fn collectives(cost: &Cost, text: &mut String) {
    if !cost.collectives.is_empty() {
        text.push_str("collectives\n");
        text.push_str("        time  share  times  kind                axes          bytes in -> out       source\n");
    }
    for c in &cost.collectives {
        let total = c.time_s * c.count as f64;
        let bytes = format!("{} -> {}", units::bytes(c.operand_bytes as f64), units::bytes(c.result_bytes as f64));
        let line = format!(
            "  {:>10} {:>6} {:>6}  {:<19} {:<13} {:<21} {}",
            units::seconds(total),
            units::percent(total, cost.communication_s),
            c.count,
            c.kind,
            c.axes.join(","),
            bytes,
            c.of.as_deref().unwrap_or_default(),
        );
        row(text, &line);
    }
}

/// Appends a row for each copy between the memory of a device and that of its host.
fn host_copies(cost: &Cost, text: &mut String) {
    if cost.host_copies.is_empty() {
        return;
    }
    text.push_str("copies between device and host\n");
    text.push_str("        time  share  times  to      bytes       source\n");
    for c in &cost.host_copies {
        let total = c.time_s * c.count as f64;
        let line = format!(
            "  {:>10} {:>6} {:>6}  {:<7} {:<11} {}",
            units::seconds(total),
            units::percent(total, cost.host_copy_s),
            c.count,
            c.to,
            units::bytes(c.bytes as f64),
            c.of.as_deref().unwrap_or_default(),
        );
        row(text, &line);
    }
}

/// The timeline for Perfetto: a row for the compute and one for the communication stream, and two more for copies to
/// the host and from it where there are any.
fn trace(cost: &Cost) -> String {
    let shown = if cost.host_copies.is_empty() { 2 } else { Stream::ALL.len() };
    let rows: Vec<(usize, String)> =
        Stream::ALL[..shown].iter().enumerate().map(|(i, stream)| (i, stream.name().to_owned())).collect();
    let mut timeline = TraceWriter::new(&rows);
    for event in &cost.timeline {
        let row = Stream::ALL.iter().position(|stream| stream.name() == event.stream).unwrap_or(0);
        timeline.slice(row, &event.op, event.loc.as_deref(), event.start_s, event.seconds);
    }
    timeline.finish()
}
