//! `shardc report`: a page that shows where the time and the memory of a step are spent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use dialect::ops::func;
use serde::Serialize;

use super::cost::{self, CostRow};
use super::explain::nothing_sent;
use super::show;
use crate::cli::knobs::{Knobs, duration, top};
use crate::cli::picture::Style;
use crate::cli::progress;
use crate::cli::session::{Outcome, Session};
use crate::cli::svg::{self, escaped};
use crate::units;
use crate::{CollectiveGroup, CompileOptions, Cost, ExplainOptions, Explanation, MemoryUse, TimelineEvent};

const EXAMPLES: &str = "\
Examples:
  shardc report model.mlir -o report.html
  shardc report model.mlir -o report.html --target v5e:2x4    on a slice of eight chips
  shardc report model.mlir -o report.html --tries 0           faster, without annotation changes
  shardc report model.mlir -o report.html --budget 30s        stop trying changes after that time

The page shows the meshes and the shards of each device, the modelled timeline of a step (the wheel
zooms, dragging moves), collectives by cause and by source line, memory over the steps of the
program with its largest buffers, products under the roofline, and the changes of one annotation
that make a step faster. It is one file that loads no other files.";

/// Write a page for a browser: timeline, collectives, memory, roofline
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The program: StableHLO with Shardy annotations; '-' is standard input
    #[arg(value_name = "IN")]
    input: OsString,
    /// Write the page to this file instead of standard output
    #[arg(short, long, value_name = "HTML")]
    output: Option<PathBuf>,
    /// The maximum number of changed annotations to try [default: 64, fewer for programs of more than 400 ops, none
    /// above 25,600]
    #[arg(long, value_name = "N")]
    tries: Option<usize>,
    /// Stop trying changes after this time, like 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// The number of rows in tables of collectives, the most expensive first, or all; the last row sums up the others
    #[arg(long, value_name = "N", default_value = "50", value_parser = top)]
    top: usize,
    #[command(flatten)]
    knobs: Knobs,
}

/// The data from which the page draws.
#[derive(Serialize)]
struct PageData<'a> {
    cost: &'a Cost,
    timeline: &'a [TimelineEvent],
    memory: &'a MemoryUse,
    /// FLOP/s of a device for bf16 products.
    peak_flops: f64,
    /// Bytes/s of a device's memory.
    memory_bandwidth: f64,
}

/// The maximum number of drawn arguments and results: the largest.
const DRAWN: usize = 32;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, session: &mut Session<'_>) -> Outcome {
    let source = session.read(&args.input)?;
    let options = args.knobs.options(session)?;
    let name = source.name.clone();
    let device = session.device_program(source.clone(), &options)?;
    let cost = session.compiler.estimate(&device, &options);
    let cost = session.take_flag(device.source(), cost, "target-size", "--target")?;
    let memory = session.compiler.memory_use(&device);
    let compiler = session.compiler.clone();
    let explain = ExplainOptions { compile: options, tries: args.tries, budget: args.budget };
    let explained = progress::during(
        || "explaining: planning, then planning with changed annotations".to_owned(),
        || {
            let parsed = compiler.parse_unverified(source.clone(), &mut Default::default());
            parsed.and_then(|module| compiler.explain(module, &explain))
        },
    );
    // Drop the warnings: the compilation above reported them already.
    let Some(explanation) = explained.value else {
        session.report(&source, &explained.diagnostics)?;
        return Err(crate::cli::session::Failure::Said);
    };
    let sharded = session.compiler.parse(source.clone());
    let sharded = sharded.and_then(|module| session.compiler.compile(module, "sharded", &CompileOptions::default()));
    let pictures = sharded.value.map_or(String::new(), |module| {
        let program = module.program();
        let style = Style { width: 120, ..Style::default() };
        let parts = func::function(program, "main").map(|main| show::pictures(program, main, &style, DRAWN));
        svg::svg(&parts.unwrap_or_default(), &style)
    });
    let page = page(&name, &cost, &memory, (&explanation, args.top), &pictures);
    session.emit(args.output.as_deref(), &page)
}

fn page(
    name: &str,
    cost: &Cost,
    memory: &MemoryUse,
    (explanation, top): (&Explanation, usize),
    pictures: &str,
) -> String {
    let data = PageData {
        cost,
        timeline: &cost.timeline,
        memory,
        peak_flops: cost.peak_flops,
        memory_bandwidth: cost.memory_bandwidth,
    };
    // Escape `<`, so that a text in the program can't close the HTML element.
    let data = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
    let (css, js) = (include_str!("../report/page.css"), include_str!("../report/page.js"));
    let mut body = String::new();
    summary(name, cost, &mut body);
    let _ = write!(
        body,
        "<h2>Timeline</h2>\n<p class=\"quiet\">Modelled, not measured; of a loop, its first iteration. The wheel \
        zooms, dragging moves, a double click shows all.</p>\n<div id=\"timeline\"></div>\n"
    );
    changes(explanation, &mut body);
    causes(explanation, top, &mut body);
    lines(cost, top, &mut body);
    let _ = write!(
        body,
        "<h2>Memory</h2>\n<p class=\"quiet\">Of one device, over the steps of the program: each box is a buffer at its \
        address, the line is the memory in use. A click shows the live buffers of a step.</p>\n<div \
        id=\"memory\"></div>\n<h2>Roofline</h2>\n<p class=\"quiet\">Products and convolutions: attained FLOP/s over \
        operations per byte of memory. The area of a point is its time.</p>\n<div id=\"roofline\"></div>\n<h2>Shards \
        of each device</h2>\n<div class=\"wide\">{pictures}</div>\n"
    );
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{} - shardc</title>\n<style>\n{css}</style>\n</head>\n\
         <body>\n{body}<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{js}</script>\n</body>\n</html>\n",
        escaped(name)
    )
}

fn summary(name: &str, cost: &Cost, body: &mut String) {
    let mesh: Vec<String> = cost.mesh.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
    let mesh = if mesh.is_empty() { "no mesh".to_owned() } else { format!("mesh {}", mesh.join(" x ")) };
    let title = format!("target {}: {} devices, {mesh}", cost.target, cost.devices);
    let _ = write!(
        body,
        "<h1>{}</h1>\n<p class=\"quiet\">{}</p>\n<table id=\"summary\">\n",
        escaped(name),
        escaped(&title)
    );
    for CostRow { name, value, note } in cost::rows(cost) {
        let (value, note) = (escaped(&value), escaped(&note));
        let _ =
            writeln!(body, "<tr><td>{name}</td><td class=\"number\">{value}</td><td class=\"quiet\">{note}</td></tr>");
    }
    body.push_str("</table>\n");
}

/// Appends a table; numbers are right-aligned.
fn table(id: &str, heads: &[(&str, &str)], rows: &[Vec<String>], body: &mut String) {
    let _ = write!(body, "<div class=\"wide\"><table id=\"{id}\">\n<tr>");
    for (head, class) in heads {
        let _ = write!(body, "<th class=\"{class}\">{head}</th>");
    }
    body.push_str("</tr>\n");
    for row in rows {
        body.push_str("<tr>");
        for (cell, (_, class)) in row.iter().zip(heads) {
            let _ = write!(body, "<td class=\"{class}\">{}</td>", escaped(cell));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

/// Lists the changes of one annotation that make a step faster, the best first.
fn changes(explanation: &Explanation, body: &mut String) {
    body.push_str("<h2>Annotation changes worth making</h2>\n");
    if explanation.too_large_to_try {
        body.push_str(
            "<p class=\"quiet\">None was tried, because each try plans this large program again; --tries N tries \
            some.</p>\n",
        );
        return;
    }
    /// Seconds saved, bytes added, the new annotation in JAX's words, and the collectives that are removed.
    type Saving<'a> = (f64, f64, Option<&'a str>, Vec<&'a CollectiveGroup>);
    let mut best: BTreeMap<&str, Saving<'_>> = BTreeMap::new();
    for group in &explanation.groups {
        let Some(removal) = group.removal.as_ref().filter(|removal| removal.saves_s > 0.0) else { continue };
        let known = best
            .entry(&removal.change)
            .or_insert_with(|| (removal.saves_s, removal.adds_bytes, removal.spec.as_deref(), Vec::new()));
        known.3.push(group);
    }
    if best.is_empty() {
        body.push_str("<p class=\"quiet\">No change of one annotation that was tried makes a step faster.</p>\n");
        return;
    }
    let mut list: Vec<_> = best.into_iter().collect();
    list.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let row = |(change, (saves, adds, spec, removes)): (&str, Saving<'_>)| {
        let first = removes.first().map(|group| &explanation.collectives[group.members[0]]);
        let first = first.map_or(String::new(), |c| format!("{} of {}", c.kind, c.value));
        let more = removes.iter().map(|group| group.count).sum::<usize>().saturating_sub(1);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let sign = if adds < 0.0 { "-" } else { "+" };
        vec![
            units::seconds(saves),
            units::percent(saves, explanation.step_s),
            format!("{sign}{}", units::bytes(adds.abs())),
            spec.map_or(change.to_owned(), |spec| format!("{change}: {spec}")),
            format!("{first}{more}"),
        ]
    };
    let rows: Vec<Vec<String>> = list.into_iter().map(row).collect();
    let heads =
        [("saves", "number"), ("of a step", "number"), ("memory", "number"), ("change", "code"), ("removes", "code")];
    table("changes", &heads, &rows, body);
}

/// Lists collectives by cause, with one row for all equal layers.
fn causes(explanation: &Explanation, top: usize, body: &mut String) {
    body.push_str("<h2>Collectives by cause</h2>\n");
    if explanation.groups.is_empty() {
        let _ = writeln!(body, "<p class=\"quiet\">{}</p>", escaped(&nothing_sent(explanation)));
        return;
    }
    let row = |group: &CollectiveGroup| {
        let c = &explanation.collectives[group.members[0]];
        let bytes = format!("{} → {}", units::bytes(c.operand_bytes as f64), units::bytes(c.result_bytes as f64));
        let by = match (&c.user, c.manual) {
            (_, true) if c.differentiated => "created by JAX's differentiation".to_owned(),
            (_, true) => "written by hand".to_owned(),
            (Some(user), _) => format!("for {user}"),
            _ => String::new(),
        };
        let others = if group.count > 1 { format!(" and {} like it", group.count - 1) } else { String::new() };
        let change = match (&c.from, &c.to) {
            (Some(from), Some(to)) => format!("{}{others} {by}: {from} → {to}", c.value),
            _ => format!("{}{others} {by}", c.value),
        };
        let about = if c.guessed { "about " } else { "" };
        vec![
            units::seconds(group.time_s),
            group.count.to_string(),
            format!("{about}{}", c.count),
            c.kind.clone(),
            c.axes.join(","),
            bytes,
            change,
            c.loc.clone().unwrap_or_default(),
        ]
    };
    let shown = &explanation.groups[..explanation.groups.len().min(top)];
    let rest = &explanation.groups[shown.len()..];
    let mut rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    if !rest.is_empty() {
        let (seconds, count) = (rest.iter().map(|g| g.time_s).sum(), rest.iter().map(|g| g.count).sum::<usize>());
        let what = format!("all others, {} of them different", rest.len());
        let mut last = vec![String::new(); 8];
        (last[0], last[1], last[6]) = (units::seconds(seconds), count.to_string(), what);
        rows.push(last);
    }
    let heads = [
        ("time", "number"),
        ("alike", "number"),
        ("times each", "number"),
        ("kind", ""),
        ("axes", ""),
        ("bytes", ""),
        ("why", "code"),
        ("source", "code"),
    ];
    table("causes", &heads, &rows, body);
}

/// Lists the collectives of the per-device program by source line.
fn lines(cost: &Cost, top: usize, body: &mut String) {
    let mut all: BTreeMap<&str, (f64, u64, u64, Vec<&str>)> = BTreeMap::new();
    for c in &cost.collectives {
        let line = all.entry(c.of.as_deref().unwrap_or("no source line")).or_default();
        line.0 += c.time_s * c.count as f64;
        line.1 += c.count;
        line.2 += c.result_bytes * c.count;
        if !line.3.contains(&c.kind) {
            line.3.push(c.kind);
        }
    }
    if all.is_empty() {
        return;
    }
    body.push_str("<h2>Collectives by source line</h2>\n");
    let mut list: Vec<_> = all.into_iter().collect();
    list.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let row = |(line, (time, count, bytes, kinds)): (&str, (f64, u64, u64, Vec<&str>))| {
        let share = units::percent(time, cost.communication_s);
        vec![
            units::seconds(time),
            share,
            count.to_string(),
            units::bytes(bytes as f64),
            kinds.join(", "),
            line.to_owned(),
        ]
    };
    let rest = list.split_off(list.len().min(top));
    let mut rows: Vec<Vec<String>> = list.into_iter().map(row).collect();
    if !rest.is_empty() {
        let sum = rest.iter().fold((0.0, 0, 0), |sum, (_, l)| (sum.0 + l.0, sum.1 + l.1, sum.2 + l.2));
        let name = format!("{} other lines", rest.len());
        rows.push(row((&name, (sum.0, sum.1, sum.2, Vec::new()))));
    }
    let heads = [
        ("time", "number"),
        ("share", "number"),
        ("times", "number"),
        ("received", "number"),
        ("kinds", ""),
        ("source", "code"),
    ];
    table("lines", &heads, &rows, body);
}
