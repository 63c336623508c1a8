//! `shardc cost`: what a step would take on a slice of TPUs.

use std::fmt::Write;
use std::path::PathBuf;

use dialect::ir::Program;
use dialect::op::CollectiveKind;
use dialect::sharding::Mesh;
use dialect::signature::Signature;
use passes::estimate::{Communication, Estimate, Machine, Precision, estimate};
use serde_json::{Value, json};

use super::Common;
use crate::cli::pipeline::{self, Knobs, Stage, Watch};
use crate::cli::session::{Failure, Outcome, Session};
use crate::place::{axes_of_groups, place};
use crate::source::Source;
use crate::units;

const EXAMPLES: &str = "\
Examples:
  shardc cost model.mlir                        a flat model: every collective a ring of its own
  shardc cost model.mlir --target v5e:4x4       a slice of 16 chips
  shardc cost model.mlir --target v5p:4x4x4 --trace step.json    for ui.perfetto.dev
  shardc cost model.mlir --plan greedy          to compare with the full plan
  shardc cost model.mlir --json                 one line for a script

Times are modelled, not measured: roofline of each op, rings and lines of the torus for collectives.";

/// Model the time, traffic and memory of one step on each device
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Write the timeline as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "JSON")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    knobs: Knobs,
}

/// A priced program.
pub(crate) struct Priced {
    /// The per-device program.
    pub(crate) program: Program,
    /// Its mesh; empty without one.
    pub(crate) mesh: Mesh,
    /// Where it runs.
    pub(crate) machine: Machine,
    /// What it costs there.
    pub(crate) estimate: Estimate,
}

/// Prices a per-device program on the target that `knobs` name.
pub(crate) fn price(mut program: Program, knobs: &Knobs) -> Result<Priced, Failure> {
    let mesh = Signature::of(&mut program).and_then(|s| s.mesh).map(|m| m.1).unwrap_or_default();
    let target = pipeline::target(knobs)?;
    let sizes: Vec<u64> = mesh.axes.iter().map(|a| a.1.max(1) as u64).collect();
    let machine = Machine::new(target, &sizes).map_err(|e| Failure::Usage(format!("--target: {e}")))?;
    let estimate = estimate(&program, &machine);
    Ok(Priced { program, mesh, machine, estimate })
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    pipeline::target(&args.knobs)?;
    let program = pipeline::compile(session, &source, Stage::PerDevice, &args.knobs, &Watch::default())?;
    let priced = price(program, &args.knobs)?;
    if let Some(path) = &args.trace {
        session.emit(Some(path), &trace(&priced, &source))?;
    }
    session.set_document(document(&priced, &source, &args.knobs));
    session.emit(args.common.output.as_deref(), &summary(&priced, &source, &args.knobs))
}

fn target_name(knobs: &Knobs) -> &str {
    knobs.target.as_deref().unwrap_or("flat")
}

/// The share of the machine's arithmetic that the step uses.
fn utilization(priced: &Priced) -> f64 {
    let e = &priced.estimate;
    let peak = priced.machine.peak_flops(Precision::of_element("bf16"));
    if e.step_seconds > 0.0 { e.flops / (e.step_seconds * peak) } else { 0.0 }
}

fn summary(priced: &Priced, source: &Source, knobs: &Knobs) -> String {
    let (e, program) = (&priced.estimate, &priced.program);
    let mut text = String::new();
    let names: Vec<String> =
        priced.mesh.axes.iter().map(|&(n, size)| format!("\"{}\"={size}", program.name_text(n))).collect();
    let devices = priced.mesh.devices();
    let mesh = if names.is_empty() { String::new() } else { format!(", mesh {}", names.join(" x ")) };
    let replicas = dialect::ops::func::num_replicas(program);
    let each = if replicas > 1 { format!(" for each of {replicas} replicas") } else { String::new() };
    let _ = writeln!(text, "target {}: {devices} devices{each}{mesh}", target_name(knobs));
    let mut row = |name: &str, value: String, note: String| {
        let _ = writeln!(text, "{}", format!("  {name:<16}{value:>12}  {note}").trim_end());
    };
    row("step", units::seconds(e.step_seconds), String::new());
    row(
        "compute",
        units::seconds(e.compute_seconds),
        format!("{} of the step", units::percent(e.compute_seconds, e.step_seconds)),
    );
    let exposed = format!("{} of it exposed", units::seconds(e.exposed_seconds()));
    row("communication", units::seconds(e.communication_seconds), exposed);
    let peak = units::percent(utilization(priced), 1.0);
    row("arithmetic", units::flops(e.flops), format!("a device; {peak} of its peak"));
    row("memory traffic", units::bytes(e.memory_traffic), "a device".to_owned());
    let memory = priced.machine.memory_bytes() as f64;
    let fits = if e.peak_bytes <= memory { "" } else { ": does not fit" };
    row("peak memory", units::bytes(e.peak_bytes), format!("of {}{fits}", units::bytes(memory)));
    if let Some(placement) = priced.machine.placement() {
        let order = placement.device_order();
        let in_order = order.iter().enumerate().all(|(i, &d)| i as u64 == d);
        let shown: Vec<String> = order.iter().take(16).map(u64::to_string).collect();
        let more = if order.len() > 16 { ", …" } else { "" };
        let note = if in_order { "row-major".to_owned() } else { format!("[{}{more}]", shown.join(", ")) };
        let _ = writeln!(text, "  device order    {note}");
    }
    if !e.collectives.is_empty() {
        text.push_str("collectives\n");
        text.push_str("        time  share  times  kind                axes          bytes in -> out       source\n");
    }
    for c in &e.collectives {
        let total = c.seconds * c.count as f64;
        let axes = axes(priced, c).join(",");
        let bytes = format!("{} -> {}", units::bytes(c.operand_bytes as f64), units::bytes(c.result_bytes as f64));
        let place = place(program, source, c.op).unwrap_or_default();
        let line = format!(
            "  {:>10} {:>6} {:>6}  {:<19} {:<13} {:<21} {place}",
            units::seconds(total),
            units::percent(total, e.communication_seconds),
            c.count,
            c.collective.kind.text(),
            axes,
            bytes,
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn axes(priced: &Priced, c: &Communication) -> Vec<String> {
    let permute = c.collective.kind == CollectiveKind::CollectivePermute;
    axes_of_groups(&priced.program, &priced.mesh, &c.collective.groups, permute)
}

fn document(priced: &Priced, source: &Source, knobs: &Knobs) -> Value {
    let e = &priced.estimate;
    let collectives: Vec<Value> = e
        .collectives
        .iter()
        .map(|c| {
            json!({
                "kind": c.collective.kind.text(),
                "axes": axes(priced, c),
                "dim": has_dim(c.collective.kind).then_some(c.collective.dim),
                "operand_bytes": c.operand_bytes,
                "result_bytes": c.result_bytes,
                "group": c.group,
                "time_s": c.seconds,
                "count": c.count,
                "loc": place(&priced.program, source, c.op),
            })
        })
        .collect();
    json!({
        "target": target_name(knobs),
        "devices": priced.mesh.devices(),
        "compute_s": e.compute_seconds,
        "communication_s": e.communication_seconds,
        "exposed_s": e.exposed_seconds(),
        "step_s": e.step_seconds,
        "peak_bytes": e.peak_bytes as u64,
        "flops": e.flops,
        "collectives": collectives,
    })
}

fn has_dim(kind: CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll)
}

/// The timeline in the trace event format: two rows, one for each hand of a device.
fn trace(priced: &Priced, source: &Source) -> String {
    let program = &priced.program;
    let names = [(0, "compute"), (1, "communication")];
    let rows = names
        .map(|(tid, name)| json!({"name": "thread_name", "ph": "M", "pid": 0, "tid": tid, "args": {"name": name}}));
    let events = priced.estimate.timeline.iter().map(|event| {
        json!({
            "name": program.op_name(event.op),
            "ph": "X",
            "pid": 0,
            "tid": u32::from(event.communicates),
            "ts": event.start * 1e6,
            "dur": event.seconds * 1e6,
            "args": { "source": place(program, source, event.op) },
        })
    });
    let all: Vec<Value> = rows.into_iter().chain(events).collect();
    format!("{}\n", json!({ "traceEvents": all, "displayTimeUnit": "ns" }))
}
