//! `shardc run`: partition and execute on simulated devices.

use std::path::PathBuf;
use std::time::Duration;

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use dialect::literal::Literal;
use serde_json::json;

use super::Common;
use crate::cli::arrays;
use crate::cli::pipeline::{self, Knobs, Stage, Watch};
use crate::cli::session::{Failure, Outcome, Session};
use crate::compare::{Tolerance, compare};
use crate::execution::{self, Backend, HAS_NATIVE, Ran};
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  shardc run model.mlir                                           with made-up inputs, seed 0
  shardc run model.mlir --inputs in.npz --outputs out.npz         arg0, arg1, ... in; out0, out1, ... out
  shardc run model.mlir --inputs in.npz --expect expected.npz     exit code 1 when a result differs
  shardc run model.mlir --repeat 20 --json                        seconds to compile and to call

Arrays are the global ones: numpy.savez('in.npz', arg0=x, arg1=y). bfloat16 is stored as raw bits (dtype V2).
Integers must agree exactly; floats within --rtol of the expected value plus --atol.
With mhlo.num_replicas = 2, arg0.replica1 is the second replica's argument; without it, arg0 is both's. Results likewise.
Made-up inputs differ from replica to replica.";

/// Partition a program and execute it on simulated devices
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// The arguments: an .npz archive with arg0, arg1, ...
    #[arg(long, value_name = "NPZ", conflicts_with = "seed")]
    inputs: Option<PathBuf>,
    /// Write the results to an .npz archive as out0, out1, ...
    #[arg(long, value_name = "NPZ")]
    outputs: Option<PathBuf>,
    /// Compare the results with out0, out1, ... of an .npz archive
    #[arg(long, value_name = "NPZ")]
    expect: Option<PathBuf>,
    /// How far floats may be from what is expected, relative to it [default: by type, 1e-5 for f32]
    #[arg(long, value_name = "X", value_parser = tolerance)]
    rtol: Option<f64>,
    /// How far floats may be off in addition [default: rtol of the largest expected value]
    #[arg(long, value_name = "X", value_parser = tolerance)]
    atol: Option<f64>,
    /// Make up inputs from this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Call it this many times and report how long that takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Run by the reference evaluator: slow, and what everything else is judged by
    #[arg(long)]
    interpret: bool,
    /// The simulated devices to run on, in the order of the program's device numbers [default: 0,1,...]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    devices: Vec<u32>,
    #[command(flatten)]
    knobs: Knobs,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 => Ok(x),
        _ => Err("a number that is not negative".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    if !HAS_NATIVE && !args.interpret {
        let how = "add --interpret to run by the reference evaluator";
        return Err(Failure::Usage(format!("this shardc was built without native execution; {how}")));
    }
    let source = session.read(&args.common.input)?;
    let mut program = pipeline::compile(session, &source, Stage::PerDevice, &args.knobs, &Watch::default())?;
    let Some((arguments, results)) = execution::global_types(&mut program) else {
        return Err(Failure::Usage(format!("{}: @main takes or gives something that is no tensor", source.name)));
    };
    said(session, &source, execution::runnable(&program))?;
    check_devices(args, &program)?;
    let (replicas, _) = execution::grid(&program);
    let inputs = match &args.inputs {
        Some(path) => arrays::read(&program, path, "arg", &arguments, replicas)?,
        None => arrays::random(&arguments, args.seed, replicas),
    };
    let expected = match &args.expect {
        Some(path) => Some(arrays::read(&program, path, "out", &results, replicas)?),
        None => None,
    };
    let backend = if args.interpret { Backend::Reference } else { Backend::Native };
    let calls = args.repeat.unwrap_or(1) as usize;
    let ran = said(session, &source, execution::run(program.clone(), &inputs, backend, calls, &args.devices))?;
    if let Some(path) = &args.outputs {
        arrays::write(path, "out", &ran.results)?;
    }
    let mut text = String::new();
    if expected.is_none() && args.outputs.is_none() && args.repeat.is_none() {
        for (name, result) in named(&ran.results) {
            let ty = program.type_data_text(&result.ty().into());
            text.push_str(&format!("{name}: {ty} {}\n", values(result)));
        }
    }
    let document = args.repeat.map(|_| timing(&ran, &mut text));
    session.set_document(document.unwrap_or_else(|| json!({})));
    session.emit(args.common.output.as_deref(), &text)?;
    let Some(expected) = expected else { return Ok(()) };
    let tolerance = Tolerance { relative: args.rtol, absolute: args.atol };
    let mut differs = false;
    for ((name, got), want) in named(&ran.results).zip(expected.iter().flatten()) {
        let line = match compare(got, want, tolerance) {
            None => format!("{name}: as expected\n"),
            Some(mismatch) => {
                differs = true;
                format!("{name}: {}\n", mismatch.text())
            }
        };
        session.print(&line)?;
    }
    if differs { Err(Failure::Said) } else { Ok(()) }
}

/// Shows what went wrong, if something did.
pub(crate) fn said<T>(
    session: &mut Session<'_>,
    source: &Source,
    result: Result<T, Diagnostics>,
) -> Result<T, Failure> {
    match result {
        Ok(value) => Ok(value),
        Err(diagnostics) => {
            session.report(source, &diagnostics)?;
            Err(Failure::Said)
        }
    }
}

/// All replicas' results: `result 0`, with several replicas `result 0 of replica 1`.
pub(crate) fn named(replicas: &[Vec<Literal>]) -> impl Iterator<Item = (String, &Literal)> {
    let name = move |r: usize, i: usize| {
        if replicas.len() == 1 { format!("result {i}") } else { format!("result {i} of replica {r}") }
    };
    let of = move |(r, results): (usize, &'_ Vec<Literal>)| (0..results.len()).map(move |i| (r, i));
    replicas.iter().enumerate().flat_map(of).map(move |(r, i)| (name(r, i), &replicas[r][i]))
}

/// `--devices` names as many different devices as the program runs on.
fn check_devices(args: &Args, program: &Program) -> Outcome {
    let (replicas, partitions) = execution::grid(program);
    let wanted = replicas * partitions;
    let mut seen = args.devices.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != args.devices.len() {
        return Err(Failure::Usage("--devices names a device twice".to_owned()));
    }
    if !args.devices.is_empty() && args.devices.len() != wanted {
        let named = args.devices.len();
        return Err(Failure::Usage(format!("the program runs on {wanted} devices, --devices names {named}")));
    }
    Ok(())
}

/// The first elements of a result.
fn values(literal: &Literal) -> String {
    let shown: Vec<String> = (0..literal.len().min(8)).map(|i| format!("{:?}", literal.get(i))).collect();
    let more = if literal.len() > 8 { ", …" } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

/// Says how long it took, in words and as JSON.
fn timing(ran: &Ran, text: &mut String) -> serde_json::Value {
    let mut calls: Vec<Duration> = ran.calls.clone();
    calls.sort_unstable();
    let (min, median) = (calls[0].as_secs_f64(), calls[calls.len() / 2].as_secs_f64());
    let compile = ran.compile.as_secs_f64();
    text.push_str(&format!(
        "compiled in {compile:.6} s, {} calls: median {median:.6} s, fastest {min:.6} s\n",
        calls.len()
    ));
    json!({
        "compile_s": compile,
        "calls": calls.len(),
        "median_s": median,
        "min_s": min,
        "peak_bytes": ran.peak_bytes,
    })
}
