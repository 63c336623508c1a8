//! `shardc report`: a page that shows where the time and the memory of a step are spent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dialect::ops::func;
use serde::Serialize;

use super::cost::{self, CostRow};
use super::explain::nothing_sent;
use super::show;
use crate::cli::knobs::{Knobs, duration, top};
use crate::cli::phrase;
use crate::cli::picture::Style;
use crate::cli::progress;
use crate::cli::session::{Outcome, Session};
use crate::cli::svg::{self, escaped};
use crate::units;
use crate::{CollectiveGroup, CompileOptions, Cost, ExplainOptions, Explanation, MemoryUse, Removal, TimelineEvent};

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
    let parts = [
        ("name", escaped(name)),
        ("title", escaped(&title(cost))),
        ("css", css.to_owned()),
        ("summary", summary(cost)),
        ("changes", changes(explanation)),
        ("causes", causes(explanation, top)),
        ("lines", lines(cost, top)),
        ("pictures", pictures.to_owned()),
        ("data", data),
        ("js", js.to_owned()),
    ];
    filled(include_str!("../report/page.html"), &parts)
}

/// Returns a template with each `{name}` replaced by the part of that name.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split('{');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').unwrap_or((piece, ""));
        out.extend(parts.iter().find(|part| part.0 == name).map(|part| &part.1[..]));
        out.push_str(rest);
    }
    out
}

fn title(cost: &Cost) -> String {
    let axes = phrase::mesh(cost.mesh.iter().map(|(name, size)| (name, *size)), "");
    let mesh = if axes.is_empty() { "no mesh".to_owned() } else { format!("mesh {axes}") };
    format!("target {}: {} devices, {mesh}", cost.target, cost.devices)
}

/// Returns the rows of the totals.
fn summary(cost: &Cost) -> String {
    let row = |CostRow { name, value, note }: CostRow| {
        let (value, note) = (escaped(&value), escaped(&note));
        format!("<tr><td>{name}</td><td class=\"number\">{value}</td><td class=\"quiet\">{note}</td></tr>\n")
    };
    cost::rows(cost).into_iter().map(row).collect()
}

/// Returns a table; numbers are right-aligned.
fn table(id: &str, heads: &[(&str, &str)], rows: &[Vec<String>]) -> String {
    let head = |(head, class): &(&str, &str)| format!("<th class=\"{class}\">{head}</th>");
    let cell = |(cell, (_, class)): (&String, &(&str, &str))| format!("<td class=\"{class}\">{}</td>", escaped(cell));
    let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().zip(heads).map(cell).collect::<String>());
    let (head, rows): (String, String) = (heads.iter().map(head).collect(), rows.iter().map(row).collect());
    format!("<div class=\"wide\"><table id=\"{id}\">\n<tr>{head}</tr>\n{rows}</table></div>\n")
}

/// A change of one annotation that makes a step faster.
struct Saving<'a> {
    change: &'a str,
    removal: &'a Removal,
    /// The groups of collectives that it removes.
    groups: Vec<&'a CollectiveGroup>,
}

/// Lists the changes of one annotation that make a step faster, the best first.
fn changes(explanation: &Explanation) -> String {
    if explanation.too_large_to_try {
        let why = "None was tried, because each try plans this large program again; --tries N tries some.";
        return format!("<p class=\"quiet\">{why}</p>\n");
    }
    let mut list: Vec<Saving<'_>> = Vec::new();
    for group in &explanation.groups {
        let Some(removal) = group.removal.as_ref().filter(|removal| removal.saves_s > 0.0) else { continue };
        match list.iter_mut().find(|saving| saving.change == removal.change) {
            Some(saving) => saving.groups.push(group),
            None => list.push(Saving { change: &removal.change, removal, groups: vec![group] }),
        }
    }
    if list.is_empty() {
        return "<p class=\"quiet\">No change of one annotation that was tried makes a step faster.</p>\n".to_owned();
    }
    list.sort_by(|a, b| b.removal.saves_s.total_cmp(&a.removal.saves_s).then_with(|| a.change.cmp(b.change)));
    let row = |Saving { change, removal, groups }: Saving<'_>| {
        let first = &explanation.collectives[groups[0].members[0]];
        let more = groups.iter().map(|group| group.count).sum::<usize>().saturating_sub(1);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let sign = if removal.adds_bytes < 0.0 { "-" } else { "+" };
        vec![
            units::seconds(removal.saves_s),
            units::percent(removal.saves_s, explanation.step_s),
            format!("{sign}{}", units::bytes(removal.adds_bytes.abs())),
            removal.spec.as_ref().map_or(change.to_owned(), |spec| format!("{change}: {spec}")),
            format!("{} of {}{more}", first.kind, first.value),
        ]
    };
    let rows: Vec<Vec<String>> = list.into_iter().map(row).collect();
    let heads =
        [("saves", "number"), ("of a step", "number"), ("memory", "number"), ("change", "code"), ("removes", "code")];
    table("changes", &heads, &rows)
}

/// Lists collectives by cause, with one row for all equal layers.
fn causes(explanation: &Explanation, top: usize) -> String {
    if explanation.groups.is_empty() {
        return format!("<p class=\"quiet\">{}</p>\n", escaped(&nothing_sent(explanation)));
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
    table("causes", &heads, &rows)
}

/// The collectives of a source line.
#[derive(Default)]
struct Line<'a> {
    seconds: f64,
    count: u64,
    bytes: u64,
    kinds: Vec<&'a str>,
}

/// Lists the collectives of the per-device program by source line.
fn lines(cost: &Cost, top: usize) -> String {
    let mut all: BTreeMap<&str, Line<'_>> = BTreeMap::new();
    for c in &cost.collectives {
        let line = all.entry(c.of.as_deref().unwrap_or("no source line")).or_default();
        line.seconds += c.time_s * c.count as f64;
        line.count += c.count;
        line.bytes += c.result_bytes * c.count;
        if !line.kinds.contains(&c.kind) {
            line.kinds.push(c.kind);
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let mut list: Vec<_> = all.into_iter().collect();
    list.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    let row = |(name, line): (&str, Line<'_>)| {
        vec![
            units::seconds(line.seconds),
            units::percent(line.seconds, cost.communication_s),
            line.count.to_string(),
            units::bytes(line.bytes as f64),
            line.kinds.join(", "),
            name.to_owned(),
        ]
    };
    let rest = list.split_off(list.len().min(top));
    let mut rows: Vec<Vec<String>> = list.into_iter().map(row).collect();
    if !rest.is_empty() {
        let name = format!("{} other lines", rest.len());
        let add = |mut sum: Line<'static>, (_, line): (&str, Line<'_>)| {
            sum.seconds += line.seconds;
            sum.count += line.count;
            sum.bytes += line.bytes;
            sum
        };
        rows.push(row((&name, rest.into_iter().fold(Line::default(), add))));
    }
    let heads = [
        ("time", "number"),
        ("share", "number"),
        ("times", "number"),
        ("received", "number"),
        ("kinds", ""),
        ("source", "code"),
    ];
    format!("<h2>Collectives by source line</h2>\n{}", table("lines", &heads, &rows))
}
