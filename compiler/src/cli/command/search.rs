//! `shardc search`: shardings and a mesh that make a step fast.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dialect::text::PrintOptions;

use crate::cli::json::Json;
use crate::cli::knobs::{Knobs, duration};
use crate::cli::phrase::{self, row};
use crate::cli::progress;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Alternative, Proposal, ProposedConstraint, ProposedSharding, SearchOptions, SearchProgress};
use crate::{layer_pattern, units};

const EXAMPLES: &str = "\
Examples:
  shardc search model.mlir --target v5e:2x4                     any mesh of the slice's eight chips
  shardc search model.mlir --target v5e:2x4 -o annotated.mlir   also write the program with the proposed shardings
  shardc search model.mlir --target v5e:2x4 -o - | shardc cost --target v5e:2x4 -
  shardc search model.mlir --target v5e:2x4 --memory 12GiB      only shardings that fit into that memory
  shardc search model.mlir --mesh data=2,model=4                only shardings over this mesh
  shardc search model.mlir --free --target v5p:2x2x2            ignore existing annotations
  shardc search model.mlir --target v5e:16x16 --budget 30s      stop after that time

The search groups dimensions that ops tie together into classes (the batch, the features, the heads
of all layers). Each mesh axis shards some classes, and may also store parameters in shards without
sharding the ops that read them. The search prices many such shardings with greedy plans, then the
best of them and the well-known ones (DP, FSDP, Megatron TP, both) with full plans. Seconds are
those of 'shardc cost'. The result doesn't depend on time or threads, unless --budget ends the
search, which the output then states. Half of the budget is for greedy plans.

The search then tries to constrain a few other values where the step loses time: unannotated
results and intermediate values, as jax.lax.with_sharding_constraint does. It proposes a constraint
only if the step gets at least 1 % shorter. Equal values of equal layers share one constraint.

An axis of a given mesh may be split if its parts are better used differently: of \"x\"=8, a part of
2 for the batch and a part of 4 for parameters. The program then has sub-axes, \"x\":(1)2; for JAX,
the output has PartitionSpecs over a mesh whose axes are the parts.

Annotations of the program and their mesh are kept, unless --free is given.";

/// Propose shardings and a mesh that make a step fast
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SearchArgs {
    /// The program: StableHLO, with or without Shardy annotations; '-' is standard input
    #[arg(value_name = "IN")]
    input: OsString,
    /// Write the program with the proposed shardings to this file; '-' is standard output, which then has no other text
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write one line of JSON to standard output instead of the text; --json=last writes it after the text
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    json: Option<Json>,
    /// The mesh: axes with their sizes, like data=2,model=4, or any mesh of the devices (free)
    #[arg(long, value_name = "AXES", default_value = "free", value_parser = mesh)]
    mesh: MeshChoice,
    /// The number of devices to use [default: those of the target or of the program]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=65_536))]
    devices: Option<i64>,
    /// Ignore the program's annotations
    #[arg(long)]
    free: bool,
    /// Stop the search after this time, like 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// The number of alternatives to show
    #[arg(long, value_name = "N", default_value_t = 8)]
    show: usize,
    #[command(flatten)]
    knobs: Knobs,
}

/// The mesh to use; `None` for any.
#[derive(Clone)]
struct MeshChoice(Option<Vec<(String, i64)>>);

fn mesh(text: &str) -> Result<MeshChoice, String> {
    if text == "free" {
        return Ok(MeshChoice(None));
    }
    let mut axes: Vec<(String, i64)> = Vec::new();
    for part in text.split(',') {
        let axis = part.split_once('=').map(|(name, size)| (name.trim().trim_matches('"'), size.trim().parse::<i64>()));
        match axis {
            Some((name, Ok(size))) if !name.is_empty() && size >= 1 && axes.iter().all(|axis| axis.0 != name) => {
                axes.push((name.to_owned(), size));
            }
            _ => return Err("expected different axes with their sizes, like data=2,model=4, or free".to_owned()),
        }
    }
    match axes.iter().try_fold(1i64, |all, axis| all.checked_mul(axis.1)) {
        Some(devices) if devices <= 65_536 => Ok(MeshChoice(Some(axes))),
        _ => Err("a mesh has at most 65536 devices".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &SearchArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.json);
    let source = session.read(&args.input)?;
    let compile = args.knobs.options(session)?;
    let progress = SearchProgress::default();
    let options = SearchOptions {
        compile,
        mesh: args.mesh.0.clone(),
        devices: args.devices,
        free: args.free,
        budget: args.budget,
        progress: progress.clone(),
    };
    if options.mesh.is_some() && options.devices.is_some() {
        return Err(Failure::Usage("--devices: --mesh already determines the number of devices".to_owned()));
    }
    let compiler = session.compiler.clone();
    let now = || {
        let best = progress.best_s().map_or(String::new(), |s| format!(", a step of {}", units::seconds(s)));
        format!("searching: {} shardings priced{best}", progress.tried())
    };
    let shown = source.clone();
    let found = progress::during(now, || {
        let parsed = compiler.parse(source);
        parsed.and_then(|module| compiler.search(module, &options))
    });
    let (proposal, module) = session.take_flag(&shown, found, "target-size", "--target")?;
    if let Some(path) = &args.output {
        let text = session.compiler.print(&module, PrintOptions::default());
        session.emit(Some(path), &text)?;
    }
    session.set_document(&proposal);
    // A program on standard output is printed alone, so that another command can read it.
    if args.output.as_deref() == Some(Path::new("-")) {
        return Ok(());
    }
    session.print(&text(&proposal, args))
}

fn text(proposal: &Proposal, args: &SearchArgs) -> String {
    let mut text = String::new();
    let mesh = phrase::mesh(proposal.mesh.iter().map(|(name, size)| (name, *size)), "");
    let _ = writeln!(text, "target {}: {} devices, mesh {mesh}", proposal.target, proposal.devices);
    if let Some(best) = proposal.ranking.first() {
        let fits = if best.fits { "" } else { ": does not fit" };
        let (step, exposed) = (units::seconds(best.step_s), units::seconds(best.exposed_s));
        let (peak, memory) = (units::bytes(best.peak_bytes as f64), units::bytes(proposal.memory_bytes));
        let _ = writeln!(text, "  step {step}, {exposed} of it exposed; peak memory {peak} of {memory}{fits}");
    }
    let width = proposal.axes.iter().map(|axis| axis.name.len()).max().unwrap_or(0);
    for axis in &proposal.axes {
        let part = axis.part.as_ref().map_or(String::new(), |part| format!("is {part}, "));
        let _ = writeln!(text, "  {:<width$}  {part}{}", axis.name, axis.does);
    }
    if let Some(mesh) = &proposal.jax_mesh {
        let _ = writeln!(text, "  in JAX, with a mesh of these axes: {mesh}");
    }
    for (title, list) in [("arguments", &proposal.arguments), ("results", &joined(&proposal.results))] {
        if !list.is_empty() {
            let _ = writeln!(text, "{title}");
            shardings(list, &mut text);
        }
    }
    if !proposal.constraints.is_empty() {
        let _ = writeln!(text, "constraints on values inside");
        constraints(&proposal.constraints, &mut text);
    }
    let _ = writeln!(text, "planned in full");
    ranking(&proposal.ranking, args.show, &mut text);
    if !proposal.reasons.is_empty() {
        text.push_str("why\n");
        for reason in &proposal.reasons {
            let _ = writeln!(text, "  {reason}");
        }
    }
    let tried = proposal.tried;
    match proposal.complete {
        true => {
            let _ = writeln!(text, "{tried} shardings were priced");
        }
        false => {
            let _ = writeln!(text, "{tried} shardings were priced before the time of --budget was over");
        }
    }
    text
}

/// Lists the shardings, with one line for all equal layers.
fn shardings(list: &[ProposedSharding], text: &mut String) {
    let mut lines: Vec<(String, &ProposedSharding, usize)> = Vec::new();
    let mut known: HashMap<(String, &str, bool), usize> = HashMap::new();
    for s in list {
        // Only in names of JAX do numbers stand for layers.
        let named = s.name.contains('"');
        let look = if named { layer_pattern(&s.name) } else { s.name.clone() };
        match known.entry((look, &s.sharding, s.given)) {
            Entry::Occupied(line) => lines[*line.get()].2 += 1,
            Entry::Vacant(new) => {
                new.insert(lines.len());
                lines.push((s.name.clone(), s, 0));
            }
        }
    }
    for (name, _, others) in lines.iter_mut().filter(|line| line.2 > 0) {
        name.push_str(&format!(" and {others} like it"));
    }
    let width = lines.iter().map(|line| line.0.chars().count()).max().unwrap_or(0);
    for (name, s, _) in lines {
        let spec = s.spec.as_deref().unwrap_or(&s.sharding);
        let given = if s.given { "  as annotated" } else { "" };
        let _ = writeln!(text, "  {name:<width$}  {spec}{given}");
    }
}

/// Merges consecutive results with one sharding into one line: `results 4 to 35`.
fn joined(list: &[ProposedSharding]) -> Vec<ProposedSharding> {
    let number = |s: &ProposedSharding| s.name.strip_prefix("result ").and_then(|n| n.parse::<usize>().ok());
    let alike = |a: &ProposedSharding, b: &ProposedSharding| {
        let next = number(a).is_some_and(|a| number(b) == Some(a + 1));
        next && (&a.sharding, a.given) == (&b.sharding, b.given)
    };
    let one = |run: &[ProposedSharding]| {
        let mut s = run[0].clone();
        if let [first, .., last] = run {
            let end = |s| number(s).unwrap_or_default();
            s.name = format!("results {} to {}", end(first), end(last));
        }
        s
    };
    list.chunk_by(alike).map(one).collect()
}

fn constraints(list: &[ProposedConstraint], text: &mut String) {
    let named = |c: &ProposedConstraint| {
        let loc = c.loc.as_ref().map_or(String::new(), |loc| format!(" at {loc}"));
        let others = if c.count > 1 { format!(" and {} like it", c.count - 1) } else { String::new() };
        format!("{}{loc}{others}", c.value)
    };
    let names: Vec<String> = list.iter().map(named).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, c) in names.iter().zip(list) {
        let _ = writeln!(text, "  {name:<width$}  {}", c.spec.as_deref().unwrap_or(&c.sharding));
    }
}

/// Lists the best alternatives, and all that have a well-known name.
fn ranking(list: &[Alternative], show: usize, text: &mut String) {
    let mesh = list.iter().map(|a| a.mesh.chars().count()).max().unwrap_or(0).max(4);
    let _ = writeln!(text, "  {:>10} {:>10} {:>10}  mesh", "step", "exposed", "peak");
    let shown = list.iter().enumerate().filter(|(i, a)| *i <= show || a.name.is_some());
    for (_, a) in shown {
        let fits = if a.fits { "" } else { "  does not fit" };
        let line = format!(
            "  {:>10} {:>10} {:>10}  {:<mesh$}  {}{fits}",
            units::seconds(a.step_s),
            units::seconds(a.exposed_s),
            units::bytes(a.peak_bytes as f64),
            a.mesh,
            a.name.unwrap_or_default(),
        );
        row(text, &line);
    }
    if list.len() > show + 1 {
        let _ = writeln!(text, "  of {}; '+': parameters are stored in shards along the axis", list.len());
    }
}
