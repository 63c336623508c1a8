//! `shardc check`: is the partitioned program the program?

use dialect::ir::{AttrData, Op, Program, Ty, Value};
use dialect::literal::Literal;
use dialect::ops::func;
use serde_json::json;

use super::Common;
use super::run::{named, said};
use crate::cli::arrays;
use crate::cli::pipeline::{self, Knobs, Stage, Watch};
use crate::cli::session::{Failure, Outcome, Session};
use crate::compare::{Mismatch, Tolerance, compare};
use crate::execution::{self, Backend, HAS_NATIVE};
use crate::place::place;
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  shardc check model.mlir
  shardc check model.mlir --seed 7 --plan greedy

Both run with the same made-up inputs: the program as it stands by the reference evaluator, and the partitioned one on all its
devices. When a result differs, the first op whose value differs is named. With replicas, each gets inputs of its own.";

/// Run a program partitioned and unpartitioned and compare every result
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// The arguments: an .npz archive with arg0, arg1, ...
    #[arg(long, value_name = "NPZ", conflicts_with = "seed")]
    inputs: Option<std::path::PathBuf>,
    /// Make up inputs from this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run the partitioned program by the reference evaluator too
    #[arg(long)]
    interpret: bool,
    #[command(flatten)]
    knobs: Knobs,
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let planned = pipeline::compile(session, &source, Stage::Planned, &args.knobs, &Watch::default())?;
    let mut device = planned.clone();
    let rest = pipeline::steps_between(session, Some(Stage::Planned), Stage::PerDevice, &args.knobs)?;
    pipeline::run(session, &source, &mut device, &rest)?;
    let Some((types, _)) = execution::global_types(&mut device) else {
        return Err(Failure::Usage(format!("{}: @main takes or gives something that is no tensor", source.name)));
    };
    said(session, &source, execution::runnable(&planned))?;
    let (replicas, _) = execution::grid(&device);
    let inputs = match &args.inputs {
        Some(path) => arrays::read(&planned, path, "arg", &types, replicas)?,
        None => arrays::random(&types, args.seed, replicas),
    };
    let original = pipeline::parse(session, &source)?;
    let backend = if args.interpret || !HAS_NATIVE { Backend::Reference } else { Backend::Native };
    let want = said(session, &source, execution::run_global(&original, &inputs))?;
    let got = said(session, &source, execution::run(device, &inputs, backend, 1, &[]))?.results;
    let mut text = String::new();
    let mismatches = mismatches(&got, &want);
    for ((name, _), mismatch) in named(&got).zip(&mismatches) {
        let verdict = mismatch.as_ref().map_or("equal".to_owned(), Mismatch::text);
        text.push_str(&format!("{name}: {verdict}\n"));
    }
    let differs = mismatches.iter().any(Option::is_some);
    let mut first = None;
    if differs {
        let (place, line) = culprit(session, &source, args, &planned, &inputs, &want)?;
        text.push_str(&line);
        first = place;
    }
    let results: Vec<_> = mismatches
        .iter()
        .map(|m| {
            m.as_ref().map_or(
                json!({ "equal": true }),
                |m| json!({ "equal": false, "max_error": m.max_error, "count": m.count }),
            )
        })
        .collect();
    session.set_document(json!({ "results": results, "first_op": first }));
    session.emit(args.common.output.as_deref(), &text)?;
    if differs { Err(Failure::Said) } else { Ok(()) }
}

/// Each result against what it should be, replica by replica.
fn mismatches(got: &[Vec<Literal>], want: &[Vec<Literal>]) -> Vec<Option<Mismatch>> {
    let pairs = got.iter().flatten().zip(want.iter().flatten());
    pairs.map(|(g, w)| compare(g, w, Tolerance::default())).collect()
}

/// Which op is the first that differs: its place for JSON, and a sentence.
fn culprit(
    session: &mut Session<'_>,
    source: &Source,
    args: &Args,
    planned: &Program,
    inputs: &[Vec<Literal>],
    want: &[Vec<Literal>],
) -> Result<(Option<String>, String), Failure> {
    let planned_gives = said(session, source, execution::run_global(planned, inputs))?;
    if mismatches(&planned_gives, want).iter().any(Option::is_some) {
        return Ok((None, "the planned program, run unpartitioned, differs already: a fault of the plan\n".to_owned()));
    }
    // Every value of @main becomes a result, in both programs.
    let (mut exposed, ops) = expose(planned);
    let whole = said(session, source, execution::run_global(&exposed, inputs))?;
    let rest = pipeline::steps_between(session, Some(Stage::Planned), Stage::PerDevice, &args.knobs)?;
    pipeline::run(session, source, &mut exposed, &rest)?;
    let pieces = said(session, source, execution::run(exposed, inputs, Backend::Reference, 1, &[]))?.results;
    let first = (0..ops.len()).find_map(|i| {
        let differs = |(whole, pieces): (&Vec<Literal>, &Vec<Literal>)| {
            let at = whole.len() - ops.len() + i;
            compare(&pieces[at], &whole[at], Tolerance::default())
        };
        whole.iter().zip(&pieces).find_map(differs).map(|m| (ops[i], m))
    });
    let Some((op, mismatch)) = first else {
        return Ok((
            None,
            "no value between differs in the reference evaluator: a fault of native execution\n".to_owned(),
        ));
    };
    let place = place(planned, source, op).unwrap_or_else(|| "a place the compiler made".to_owned());
    let line =
        format!("the first op that differs is {} at {place}: its value {}\n", planned.op_name(op), mismatch.text());
    Ok((Some(place), line))
}

/// The program with the value of every op of `@main` as a further result, and those ops in order.
fn expose(planned: &Program) -> (Program, Vec<Op>) {
    let mut program = planned.clone();
    let mut ops = Vec::new();
    let Some(main) = func::function(&program, "main") else { return (program, ops) };
    let Some(block) = func::block(&program, main) else { return (program, ops) };
    let Some(last) = program.terminator(block) else { return (program, ops) };
    let mut values: Vec<Value> = Vec::new();
    for &op in program.block_ops(block) {
        let results = program.results(op).filter(|&v| program.tensor_type(v).is_some());
        for value in results {
            values.push(value);
            ops.push(op);
        }
    }
    let signature = func::signature(&program, main);
    let (inputs, mut results): (Vec<Ty>, Vec<Ty>) = (signature.inputs.to_vec(), signature.results.to_vec());
    let old = results.len();
    results.extend(values.iter().map(|&v| program.value_type(v)));
    func::set_signature(&mut program, main, &inputs, &results);
    for (i, (&value, &op)) in values.iter().zip(&ops).enumerate() {
        let index = program.results(op).position(|v| v == value).unwrap_or(0);
        let sharding = match program.view(op).attr(func::SHARDING) {
            Some(AttrData::ShardingPerValue(all)) => all.get(index).cloned(),
            Some(AttrData::Sharding(one)) => Some(one.clone()),
            _ => None,
        };
        if let Some(sharding) = sharding {
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            func::set_result_attr(&mut program, main, old + i, func::SHARDING, attr);
        }
    }
    program.op_mut(last).operands.extend(values);
    (program, ops)
}
