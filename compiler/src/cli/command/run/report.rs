//! What `shardc run` reports: the results or their comparison, the times and the profile.

use std::time::Duration;

use dialect::literal::Literal;
use serde::Serialize;

use super::RunArgs;
use crate::cli::profile;
use crate::cli::ranks::Here;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{CheckedResult, CompileOptions, DeviceWaits, Execution, Interface, Module, Profile, Straggler, units};

/// The report of the first process.
pub(super) struct Report<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) module: &'a Module,
    pub(super) interface: &'a Interface,
    pub(super) here: Option<&'a Here>,
    /// Whether it leaves out the results.
    pub(super) quiet: bool,
    pub(super) waits: Vec<DeviceWaits>,
    pub(super) sent: Option<Vec<u64>>,
}

impl Report<'_> {
    /// Prints the results, the times and the profile, and compares the results with `expected`.
    pub(super) fn write(
        self,
        session: &mut Session<'_>,
        options: &CompileOptions,
        inputs: &[Vec<Literal>],
        ran: &Execution,
        expected: Option<Vec<Vec<Literal>>>,
    ) -> Outcome {
        let Report { args, module, interface, here, .. } = self;
        let (program, source) = (module.program(), module.source().clone());
        let mut text = String::new();
        if expected.is_none() && !self.quiet {
            for (name, result) in named(&ran.results) {
                let ty = program.type_data_text(&result.ty().into());
                text.push_str(&format!("{name}: {ty} {}\n", values(result)));
            }
        }
        let timing = args.repeat.map(|_| {
            let cost = session.compiler.estimate(module, &CompileOptions::default()).value;
            timing(ran, cost.map_or(0, |cost| cost.peak_bytes + cost.host_peak_bytes), self.sent, &mut text)
        });
        let profiled = match ran.trace.as_ref().filter(|_| args.profile) {
            Some(trace) => Some(session.take(&source, session.compiler.profile(module, trace, options))?),
            None => None,
        };
        let count = interface.replicas * interface.partitions;
        let devices = if args.devices.is_empty() { (0..count as u32).collect() } else { args.devices.clone() };
        let stragglers = session.compiler.stragglers(module, &self.waits, &devices, here.map_or(1, |here| here.ranks));
        if let Some(profiled) = &profiled {
            text.push_str(&profile::table(profiled));
            text.push_str(&profile::late(&stragglers, here));
        }
        let report = || RunReport { timing: timing.as_ref(), profile: profiled.as_ref(), stragglers: &stragglers };
        let returned = |(name, result): (String, &Literal)| {
            let ty = program.type_data_text(&result.ty().into());
            Returned { name, ty, values: values(result) }
        };
        session.set_document(&RunDocument { report: report(), results: named(&ran.results).map(returned).collect() });
        session.emit(args.common.output.as_deref(), &text)?;
        let Some(expected) = expected else { return Ok(()) };
        let compared =
            session.compiler.compare_results(module, inputs, &ran.results, &expected, args.tolerances.into());
        let lines = named(&ran.results).zip(&compared);
        let line =
            |((name, _), r): ((String, _), &CheckedResult)| format!("{name}: {}\n", r.comparison.text("as expected"));
        let text: String = lines.map(line).collect();
        let equal = compared.iter().all(|r| r.equal);
        session.set_document(&ComparisonDocument { report: report(), results: compared });
        session.print(&text)?;
        if equal { Ok(()) } else { Err(Failure::Said) }
    }
}

/// Names all replicas' results: `result 0`, or with several replicas `result 0 of replica 1`.
fn named(replicas: &[Vec<Literal>]) -> impl Iterator<Item = (String, &Literal)> {
    let name = move |r: usize, i: usize| {
        if replicas.len() == 1 { format!("result {i}") } else { format!("result {i} of replica {r}") }
    };
    let of = move |(r, results): (usize, &'_ Vec<Literal>)| (0..results.len()).map(move |i| (r, i));
    replicas.iter().enumerate().flat_map(of).map(move |(r, i)| (name(r, i), &replicas[r][i]))
}

/// Prints the first elements of a result.
fn values(literal: &Literal) -> String {
    let shown: Vec<String> = (0..literal.len().min(8)).map(|i| format!("{:?}", literal.get(i))).collect();
    let more = if literal.len() > 8 { ", …" } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

/// The document of `--expect --json`.
#[derive(Serialize)]
struct ComparisonDocument<'a> {
    /// The document of `--repeat` and `--profile`.
    #[serde(flatten)]
    report: RunReport<'a>,
    /// The comparison of each result of each replica.
    results: Vec<CheckedResult>,
}

/// The document of `--json` without `--expect`.
#[derive(Serialize)]
struct RunDocument<'a> {
    #[serde(flatten)]
    report: RunReport<'a>,
    results: Vec<Returned>,
}

/// A result.
#[derive(Serialize)]
struct Returned {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    /// The first elements, as text; `--outputs` writes all of them.
    values: String,
}

/// The document of `--repeat --profile --json`.
#[derive(Serialize)]
struct RunReport<'a> {
    /// The times, with `--repeat`.
    #[serde(flatten)]
    timing: Option<&'a Timing>,
    /// The profile, with `--profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a Profile>,
    /// The last devices at collectives, with `--profile`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stragglers: &'a [Straggler],
}

/// The document of `--repeat --json`.
#[derive(Serialize)]
struct Timing {
    /// Seconds to compile machine code; 0 for the reference evaluator.
    compile_s: f64,
    /// The number of calls.
    calls: usize,
    /// Median seconds of a call.
    median_s: f64,
    /// Seconds of the fastest call.
    min_s: f64,
    /// The maximum number of bytes that one device's values take, if known.
    peak_bytes: Option<usize>,
    /// The modelled value of `peak_bytes`.
    modelled_peak_bytes: u64,
    /// The bytes of memory that the runtime allocates for a device: `peak_bytes`, and copies of operands in the order
    /// in which this machine multiplies them. `None` for the reference evaluator.
    arena_bytes: Option<usize>,
    /// Bytes that each process sends to others in a call, if several run the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_bytes: Option<Vec<u64>>,
}

/// Reports the times, in words and as data.
fn timing(ran: &Execution, modelled_peak_bytes: u64, sent: Option<Vec<u64>>, text: &mut String) -> Timing {
    let mut calls: Vec<Duration> = ran.calls.clone();
    calls.sort_unstable();
    let (min_s, median_s) = (calls[0].as_secs_f64(), calls[calls.len() / 2].as_secs_f64());
    let (compile_s, calls) = (ran.compile.as_secs_f64(), calls.len());
    text.push_str(&format!(
        "compiled in {compile_s:.6} s, {calls} calls: median {median_s:.6} s, fastest {min_s:.6} s\n"
    ));
    let sent_bytes = sent.map(|sent| sent.iter().map(|bytes| bytes / calls as u64).collect::<Vec<u64>>());
    if let Some(sent) = &sent_bytes {
        let sent: Vec<String> = sent.iter().map(|&bytes| units::bytes(bytes as f64)).collect();
        text.push_str(&format!("each call sends from rank to rank: {}\n", sent.join(", ")));
    }
    let (peak_bytes, arena_bytes) = (ran.peak_bytes, ran.arena_bytes);
    Timing { compile_s, calls, median_s, min_s, peak_bytes, modelled_peak_bytes, arena_bytes, sent_bytes }
}
