//! `shardc explain`: what each collective is doing there, and what would remove it.

use std::collections::HashMap;

use dialect::diagnostic::{Diagnostic, Severity, Span};
use dialect::ir::{Loc, LocData, Op, Program, TensorType, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, TensorSharding};
use dialect::signature::Signature;
use passes::estimate::{Communication, Machine, estimate};
use serde_json::{Value as Json, json};

use super::{Common, explain_value};
use crate::causes::{self, Annotation, Cause, Origins, sharding_of, value_name, written};
use crate::changes::{self, Change, Trial};
use crate::cli::pipeline::{self, Knobs, Stage};
use crate::cli::render::render;
use crate::cli::session::{Failure, Outcome, Session};
use crate::place::place;
use crate::source::Source;
use crate::units;

const EXAMPLES: &str = "\
Examples:
  shardc explain model.mlir
  shardc explain model.mlir --target v5e:4x4     priced for a slice of TPUs
  shardc explain model.mlir --tries 0            without looking for changes
  shardc explain model.mlir --value %12          how one value lies, and why
  shardc explain model.mlir --json               one line for a script

For each collective: its bytes and modelled time, the value that moves and the op that needs it, the annotations their axes come
from, and the one annotation whose change removes it at the least cost. Print a program with source lines for the lines of the
model: .as_text(debug_info=True).";

/// Say why each collective is there and what would remove it
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,
    /// Try at most this many changed annotations [default: 64, fewer for programs of more than 400 ops]
    #[arg(long, value_name = "N")]
    pub(super) tries: Option<usize>,
    /// Say instead how this value of the text lies, and which annotations brought it there: %12, %arg0, %0#1
    #[arg(long, value_name = "NAME")]
    pub(super) value: Option<String>,
    #[command(flatten)]
    pub(super) knobs: Knobs,
}

/// One collective, explained.
struct Explained {
    cause: Cause,
    price: Price,
    /// The change that removes it, and the seconds a step saves by it.
    removal: Option<(Change, f64)>,
    /// Whether there are changes that were not tried.
    untried: bool,
}

/// What a collective costs: all that it became in the per-device program together.
#[derive(Clone, Copy, Default)]
struct Price {
    /// Seconds of all its executions in a step.
    seconds: f64,
    /// Bytes each device gives.
    operand_bytes: u64,
    /// Bytes each device has afterwards.
    result_bytes: u64,
    /// Executions in a step.
    count: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    if let Some(name) = &args.value {
        return explain_value::run(args, name, session);
    }
    let source = session.read(&args.common.input)?;
    let target = pipeline::target(&args.knobs)?;
    let mut imported = pipeline::parse(session, &source)?;
    let steps = pipeline::steps_between(session, None, Stage::Propagated, &args.knobs)?;
    let (import, propagate) =
        steps.split_at(steps.iter().position(|s| s.pass.name == "propagate").unwrap_or(steps.len()));
    pipeline::run(session, &source, &mut imported, import)?;
    let plan = pipeline::steps_between(session, Some(Stage::Propagated), Stage::Planned, &args.knobs)?;
    let partition = pipeline::steps_between(session, Some(Stage::Planned), Stage::PerDevice, &args.knobs)?;

    // Once through, saying what is wrong.
    let mut planned = imported.clone();
    pipeline::run(session, &source, &mut planned, propagate)?;
    let ops = planned.op_count();
    pipeline::run(session, &source, &mut planned, &plan)?;
    let origins = Origins::of(&imported);
    let found = causes::causes(&planned, ops);
    let (prices, machine, step) = price(session, &source, &planned, &found, &partition, target)?;
    let mut explained: Vec<Explained> = found
        .into_iter()
        .zip(prices)
        .map(|(cause, price)| Explained { cause, price, removal: None, untried: false })
        .collect();
    let trial = Trial { imported: &imported, propagate, plan: &plan, partition: &partition, machine: &machine };
    let tries = args.tries.unwrap_or_else(|| (25_600 / imported.op_count().max(400)).max(2));
    find_removals(&trial, &planned, ops, &origins, &mut explained, step, tries);

    let report =
        Report { tried: tries > 0, imported: &imported, planned: &planned, ops, origins: &origins, source: &source };
    let mut text = report.headline(&explained, step, args);
    let diagnostics: Vec<Diagnostic> = explained.iter().map(|e| report.diagnostic(e, step)).collect();
    text.push_str(&render(&source, diagnostics.iter(), session.io.out_color && args.common.output.is_none()));
    session.set_document(json!({
        "target": args.knobs.target.as_deref().unwrap_or("flat"),
        "step_s": step,
        "collectives": explained.iter().map(|e| report.json(e)).collect::<Vec<Json>>(),
    }));
    session.emit(args.common.output.as_deref(), text.trim_end_matches('\n'))?;
    session.print("\n")
}

/// Partitions and prices the planned program; for each cause what it became, the machine, and the seconds of a step.
fn price(
    session: &mut Session<'_>,
    source: &Source,
    planned: &Program,
    found: &[Cause],
    partition: &[passes::Step],
    target: passes::estimate::Target,
) -> Result<(Vec<Price>, Machine, f64), Failure> {
    let mut device = planned.clone();
    // The partitioner gives everything it makes of an op the op's location: a name of ours shows whose it is.
    let mut marks = HashMap::new();
    for (i, cause) in found.iter().enumerate() {
        let name = device.name(&format!("collective {i}"));
        let inner = device.op(cause.op).loc;
        let loc = device.intern_loc(LocData::Name(name, inner));
        device.op_mut(cause.op).loc = loc;
        marks.insert(loc, i);
    }
    pipeline::run(session, source, &mut device, partition)?;
    let mesh = Signature::of(&mut device).and_then(|s| s.mesh).map(|m| m.1).unwrap_or_default();
    let sizes: Vec<u64> = mesh.axes.iter().map(|a| a.1.max(1) as u64).collect();
    let machine = Machine::new(target, &sizes).map_err(|e| Failure::Usage(format!("--target: {e}")))?;
    let estimate = estimate(&device, &machine);
    let mut all = vec![Price::default(); found.len()];
    for c in &estimate.collectives {
        for (i, share) in shares(&device, c, &marks) {
            all[i].add(c, share);
        }
    }
    Ok((all, machine, estimate.step_seconds))
}

/// The causes of a per-device collective with each one's share of its bytes: the scheduler sends small ones together, whose
/// locations it lists in the order of their operands.
fn shares(device: &Program, c: &Communication, marks: &HashMap<Loc, usize>) -> Vec<(usize, f64)> {
    let loc = device.op(c.op).loc;
    let LocData::Fused(None, parts) = device.loc_data(loc) else {
        return marks.get(&loc).map(|&i| (i, 1.0)).into_iter().collect();
    };
    // A packed operand is made of one for each.
    let operands = &device.op(c.op).operands;
    let operands = match operands.first().map(|&v| device.value_source(v)) {
        Some(ValueSource::Result(op, _)) if operands.len() < parts.len() => &device.op(op).operands,
        _ => operands,
    };
    let size = |i: usize| operands.get(i).and_then(|&v| device.tensor_type(v)).map_or(0.0, tensor_bytes);
    let all: f64 = (0..operands.len()).map(size).sum();
    let one = |(i, part)| marks.get(part).map(|&cause| (cause, size(i) / all.max(1.0)));
    parts.iter().enumerate().filter_map(one).collect()
}

/// Bytes of a tensor.
fn tensor_bytes(ty: &TensorType) -> f64 {
    ty.shape.iter().map(|&d| d.max(0) as f64).product::<f64>() * ty.element.bits() as f64 / 8.0
}

impl Price {
    /// Adds this share of a collective.
    fn add(&mut self, c: &Communication, share: f64) {
        self.seconds += c.seconds * c.count as f64 * share;
        let part = |bytes: u64| (bytes as f64 * share).round() as u64;
        if self.count == 0 {
            self.operand_bytes = part(c.operand_bytes);
        }
        self.result_bytes = part(c.result_bytes);
        self.count = self.count.max(c.count);
    }
}

/// Finds, for each collective, the change that removes it and leaves the fastest step.
fn find_removals(
    trial: &Trial<'_>,
    planned: &Program,
    ops: usize,
    origins: &Origins,
    explained: &mut [Explained],
    step: f64,
    tries: usize,
) {
    let wanted: Vec<Vec<Change>> = explained
        .iter()
        .map(|e| {
            if e.cause.manual {
                Vec::new()
            } else {
                changes::candidates(trial.imported, planned, ops, origins, &e.cause)
            }
        })
        .collect();
    // The likeliest of each first, those of what costs most before others.
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| explained[b].price.seconds.total_cmp(&explained[a].price.seconds));
    let mut numbers: HashMap<&Change, usize> = HashMap::new();
    let mut list: Vec<Change> = Vec::new();
    for rank in 0..wanted.iter().map(Vec::len).max().unwrap_or(0) {
        for change in order.iter().filter_map(|&i| wanted[i].get(rank)) {
            if list.len() < tries && !numbers.contains_key(change) {
                numbers.insert(change, list.len());
                list.push(change.clone());
            }
        }
    }
    let outcomes = trial.all(&list);
    for (e, wanted) in explained.iter_mut().zip(&wanted) {
        let key = e.cause.key();
        for change in wanted {
            let Some(&number) = numbers.get(change) else {
                e.untried = true;
                continue;
            };
            let Some(outcome) = outcomes[number].as_ref() else { continue };
            let saved = step - outcome.seconds;
            if !outcome.keys.contains(&key) && e.removal.as_ref().is_none_or(|r| r.1 < saved) {
                e.removal = Some((change.clone(), saved));
            }
        }
    }
}

/// What the texts speak of.
struct Report<'a> {
    /// Whether changes were looked for.
    tried: bool,
    imported: &'a Program,
    planned: &'a Program,
    ops: usize,
    origins: &'a Origins,
    source: &'a Source,
}

impl Report<'_> {
    fn headline(&self, explained: &[Explained], step: f64, args: &Args) -> String {
        let target = args.knobs.target.as_deref().unwrap_or("flat");
        let total: f64 = explained.iter().map(|e| e.price.seconds).sum();
        match explained.len() {
            0 => format!("no collectives: nothing is sent ({} a step, target {target})\n", units::seconds(step)),
            n => {
                let s = if n == 1 { "" } else { "s" };
                let (total, step) = (units::seconds(total), units::seconds(step));
                format!("{n} collective{s}, {total} of communication in a step of {step} (target {target})\n\n")
            }
        }
    }

    fn diagnostic(&self, e: &Explained, step: f64) -> Diagnostic {
        let p = self.planned;
        let (cause, axes) = (&e.cause, self.axes(&e.cause.axes));
        let over = if axes.is_empty() { String::new() } else { format!(" over {axes}") };
        let times = if e.price.count > 1 { format!(", {} times", e.price.count) } else { String::new() };
        let bytes =
            format!("{} -> {}", units::bytes(e.price.operand_bytes as f64), units::bytes(e.price.result_bytes as f64));
        let message =
            format!("{}{over}: {bytes} on each device{times}, {}", cause.kind, units::seconds(e.price.seconds));
        let mut labels = Vec::new();
        let mut notes = Vec::new();
        if cause.manual {
            labels.push((p.op(cause.op).span, "written by hand".to_owned()));
        } else {
            self.places(cause, &mut labels, &mut notes);
            self.reasons(cause, &mut notes);
        }
        if e.removal.is_none() && !cause.manual && self.tried {
            let far = if e.untried { ", as far as --tries goes" } else { "" };
            notes.push(format!("no change of one annotation removes it{far}"));
        }
        if let Some((change, saved)) = &e.removal {
            let what = change.text(self.imported, self.source);
            let share = units::percent(saved.abs(), step);
            notes.push(match saved {
                s if *s > 0.0 => format!("{what} removes it: a step takes {} less ({share})", units::seconds(*s)),
                s if *s < 0.0 => format!("{what} removes it, but a step takes {} more ({share})", units::seconds(-s)),
                _ => format!("{what} removes it: a step takes as long"),
            });
        }
        Diagnostic { severity: Severity::Remark, code: "", message, labels, notes }
    }

    /// Where the value comes from and where it is needed: JAX's lines if it recorded them, else labels in the text.
    fn places(&self, cause: &Cause, labels: &mut Vec<(Span, String)>, notes: &mut Vec<String>) {
        let p = self.planned;
        let lies = cause.from.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let wanted = cause.to.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let user = cause.user.map(|(op, i)| (op, i, self.line(op)));
        if let Some((op, _, Some(line))) = &user {
            let by = if p.view(*op).def().terminator() { "the result".to_owned() } else { self.op_text(*op) };
            notes.push(format!("needed as {wanted} by {by} at {line}"));
            let made = match p.value_source(cause.value) {
                ValueSource::Result(op, _) => self.line(op).map(|l| format!("made by {} at {l}", self.op_text(op))),
                ValueSource::Arg(..) => Some("an argument".to_owned()),
            };
            let made = made.map(|m| format!(", {m}")).unwrap_or_default();
            notes.push(format!("{} lies as {lies}{made}", value_name(p, cause.value)));
            return;
        }
        if let Some((op, i, None)) = user {
            let span = p.view(op).operand_span(i);
            labels.push((span, format!("needed as {wanted}")));
        }
        labels.push((p.value_span(cause.value), format!("lies as {lies}")));
    }

    /// The annotations behind both wishes.
    fn reasons(&self, cause: &Cause, notes: &mut Vec<String>) {
        let p = self.planned;
        let reduces = cause.from.as_ref().is_some_and(|s| !s.unreduced.is_empty());
        for &axis in &cause.axes {
            let name = self.axis(axis);
            // A sum over the axis: what it is made of is cut along it.
            if reduces {
                if let ValueSource::Result(op, _) = p.value_source(cause.value)
                    && let Some((v, d)) = self.carrier(op, axis, None, false)
                {
                    let because = self.because(v, axis);
                    notes.push(format!(
                        "a sum over {name}: {} reads dimension {d} of {} cut along it{because}",
                        self.op_text(op),
                        value_name(p, v)
                    ));
                }
                continue;
            }
            let own = self.because(cause.value, axis);
            if !own.is_empty() {
                notes.push(format!("{name} cuts {}{own}", value_name(p, cause.value)));
            }
            if let Some((user, operand)) = cause.user
                && !p.view(user).def().terminator()
                && let Some((v, d)) = self.carrier(user, axis, Some(operand), true)
            {
                let because = self.because(v, axis);
                let whose = match p.value_source(v) {
                    ValueSource::Result(op, _) if op == user => "its result".to_owned(),
                    _ => value_name(p, v),
                };
                notes.push(format!("{} uses {name} for dimension {d} of {whose}{because}", self.op_text(user)));
            }
        }
        if let Some((user, i)) = cause.user
            && p.view(user).def().terminator()
            && self.in_main(user)
        {
            let main = func::function(self.imported, "main");
            let annotated = main.and_then(|f| func::result_sharding(self.imported, f, i)).is_some();
            let why = if annotated { "is annotated so" } else { "got this sharding from propagation, and keeps it" };
            notes.push(format!("result {i} {why}"));
        }
    }

    /// Whether `op` ends `@main` itself, not a region in it.
    fn in_main(&self, op: Op) -> bool {
        let main = func::function(self.planned, "main");
        let block = main.and_then(|f| func::block(self.planned, f));
        block.and_then(|b| self.planned.terminator(b)) == Some(op)
    }

    /// A tensor of `op` that `axis` cuts, and where: operands but the one given, then results.
    fn carrier(&self, op: Op, axis: AxisRef, but: Option<usize>, results: bool) -> Option<(Value, usize)> {
        let p = self.planned;
        let operands = p.op(op).operands.iter().enumerate().filter(|o| Some(o.0) != but).map(|o| *o.1);
        let all: Vec<Value> = if results { p.results(op).chain(operands).collect() } else { operands.collect() };
        all.into_iter().find_map(|v| {
            let dims = &sharding_of(p, v)?.dims;
            let d = dims.iter().position(|d| d.axes.iter().any(|a| a.name == axis.name))?;
            Some((written(p, v, self.ops), d))
        })
    }

    /// `, by its annotation`; `, from the annotation of %arg1 through stablehlo.dot_general (4:10)`
    fn because(&self, value: Value, axis: AxisRef) -> String {
        let Some((annotation, path)) = self.origins.find(self.planned, value, axis) else { return String::new() };
        let p = self.planned;
        let of = match annotation {
            Annotation::Argument(i) => {
                let block = func::function(p, "main").and_then(|f| func::block(p, f));
                let argument = block.and_then(|b| p.block_args(b).get(i)).copied();
                if argument == Some(value) {
                    return ", as annotated".to_owned();
                }
                argument.map_or(format!("argument {i}"), |v| value_name(p, v))
            }
            Annotation::Result(i) => format!("result {i}"),
            Annotation::Op(op) => {
                // Propagation makes reshards of constraints; the user knows what he wrote.
                let wrote = if op.index() < self.imported.op_count() { self.imported } else { p };
                format!("the {} at {}", wrote.op_name(op), place(p, self.source, op).unwrap_or_default())
            }
        };
        let mut through: Vec<String> = path.iter().map(|&op| self.op_text(op)).collect();
        through.dedup();
        if through.len() > 4 {
            let more = through.len() - 3;
            through.splice(2..through.len() - 1, [format!("{more} more ops")]);
        }
        let through = if through.is_empty() { String::new() } else { format!(" through {}", through.join(", ")) };
        format!(", from the annotation of {of}{through}")
    }

    /// The op's name, short for what everybody knows.
    fn op_text(&self, op: Op) -> String {
        let name = self.planned.op_name(op);
        name.strip_prefix("stablehlo.").unwrap_or(name).to_owned()
    }

    /// JAX's line of an op with its function.
    fn line(&self, op: Op) -> Option<String> {
        let frame = self.planned.user_frame(self.planned.op(op).loc)?;
        let function = frame.function.map(|f| format!(" in {}", f.rsplit('.').next().unwrap_or(f))).unwrap_or_default();
        Some(format!("{}:{}:{}{function}", frame.file, frame.line, frame.column))
    }

    fn axis(&self, axis: AxisRef) -> String {
        let name = self.planned.name_text(axis.name);
        axis.sub.map_or(format!("\"{name}\""), |s| format!("\"{name}\":({}){}", s.pre, s.size))
    }

    fn axes(&self, axes: &[AxisRef]) -> String {
        axes.iter().map(|&a| self.axis(a)).collect::<Vec<_>>().join(", ")
    }

    /// A sharding without its mesh.
    fn short(&self, sharding: &TensorSharding) -> String {
        let text = self.planned.sharding_text(sharding);
        text.split_once(", ").map_or(text.clone(), |t| t.1.trim_end_matches('>').to_owned())
    }

    fn json(&self, e: &Explained) -> Json {
        let p = self.planned;
        let sharding = |s: &Option<TensorSharding>| s.as_ref().map(|s| p.sharding_text(s));
        json!({
            "kind": e.cause.kind,
            "axes": e.cause.axes.iter().map(|&a| self.axis(a).replace('"', "")).collect::<Vec<_>>(),
            "operand_bytes": e.price.operand_bytes,
            "result_bytes": e.price.result_bytes,
            "count": e.price.count,
            "time_s": e.price.seconds,
            "value": value_name(p, e.cause.value),
            "from": sharding(&e.cause.from),
            "to": sharding(&e.cause.to),
            "user": e.cause.user.map(|(op, _)| p.op_name(op)),
            "loc": e.cause.user.and_then(|(op, _)| place(p, self.source, op)),
            "manual": e.cause.manual,
            "removal": e.removal.as_ref().map(|(change, saved)| json!({
                "change": change.text(self.imported, self.source),
                "saves_s": saved,
            })),
        })
    }
}
