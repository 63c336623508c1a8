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
use crate::cli::progress;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Alternative, Proposal, ProposedConstraint, ProposedSharding, SearchOptions, SearchProgress};
use crate::{layer_pattern, units};

const EXAMPLES: &str = "\
Examples:
  shardc search model.mlir --target v5e:2x4                     any mesh of the slice's eight chips
  shardc search model.mlir --target v5e:2x4 -o annotated.mlir   and the program with what was found
  shardc search model.mlir --target v5e:2x4 -o - | shardc cost --target v5e:2x4 -
  shardc search model.mlir --target v5e:2x4 --memory 12GiB      only what fits into that
  shardc search model.mlir --mesh data=2,model=4                this mesh: what goes along which axis, or a part of one?
  shardc search model.mlir --free --target v5p:2x2x2            as if nothing were annotated
  shardc search model.mlir --target v5e:16x16 --budget 30s      what can be found in that time

Dimensions that ops keep together are one class (the batch, the features, the heads of all layers): each axis of a mesh shards
some classes, and parameters may be stored in shards along an axis that doesn't shard what is computed with them. Many such
shardings are priced with greedy plans, the best of them, and what everybody knows (DP, FSDP, Megatron TP, both), with full
plans: seconds are those of 'shardc cost'. The answer doesn't depend on time or threads, unless --budget ends it: then it
says so. Half of that time is for greedy plans.

Beside the best of these, shardings of a few other values are tried, where the step loses time: of results that nobody says
how to shard, and of values inside, as jax.lax.with_sharding_constraint states them. Each that is proposed makes the step 1 %
shorter or more. Values that are alike, as in equal layers, have one constraint.

An axis of a mesh that is given may be divided, where its parts had better do different things: of \"x\"=8, a part of 2 shards
the batch and one of 4 parameters. The program then has sub-axes, \"x\":(1)2; for JAX, PartitionSpecs are over a mesh that has
the parts as axes, which is printed.

What is annotated stays as it is, and so does its mesh, unless --free.";

/// Propose shardings and a mesh that make a step fast
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The program: StableHLO, with or without Shardy annotations; '-' is standard input
    #[arg(value_name = "IN")]
    input: OsString,
    /// Write the program with the proposed shardings here; '-' is standard output, which then has nothing else
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write one line of JSON alone to standard output; --json=last puts it behind the text instead
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    json: Option<Json>,
    /// The mesh: its axes with their sizes, like data=2,model=4, or any mesh that the devices make (free)
    #[arg(long, value_name = "AXES", default_value = "free", value_parser = mesh)]
    mesh: MeshChoice,
    /// How many devices to use [default: those of the target, or what the program says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=65_536))]
    devices: Option<i64>,
    /// Drop the program's own annotations
    #[arg(long)]
    free: bool,
    /// Look no longer than this, like 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// How many of the runners-up to show
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
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
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
        return Err(Failure::Usage("--devices: --mesh says how many devices there are".to_owned()));
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

fn text(proposal: &Proposal, args: &Args) -> String {
    let mut text = String::new();
    let mesh: Vec<String> = proposal.mesh.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
    let _ = writeln!(text, "target {}: {} devices, mesh {}", proposal.target, proposal.devices, mesh.join(" x "));
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
        let _ = writeln!(text, "  in JAX, over a mesh with these axes: {mesh}");
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
            let _ = writeln!(text, "{tried} shardings were priced; the time was over before all were: --budget");
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
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if list.len() > show + 1 {
        let _ = writeln!(text, "  of {}; '+': parameters are stored in shards along the axis", list.len());
    }
}
