//! `shardc run`: partitions a program and executes it on simulated devices.

mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use dialect::ir::TensorType;
use dialect::literal::Literal;
use serde::Serialize;

use super::Common;
use crate::cli::knobs::{Knobs, Tolerances};
use crate::cli::perfetto::TraceWriter;
use crate::cli::ranks::{Here, Identity, PATIENCE};
use crate::cli::session::{Failure, Outcome, Session};
use crate::cli::{arrays, cache, profile, progress, shards};
use crate::{
    Backend, Block, CompileOptions, Compiled, ExecuteOptions, Execution, HAS_NATIVE, Interface, Module, Progress,
    RankInputs, Source, random_inputs, units,
};

const EXAMPLES: &str = "\
Examples:
  shardc run model.mlir                                           with random inputs, seed 0
  shardc run model.mlir --inputs in.npz --outputs out.npz         arg0, arg1, ... in; out0, out1, ... out
  shardc run model.mlir --inputs in.npz --expect expected.npz     exit code 1 when a result differs
  shardc run model.mlir --repeat 20 --json                        seconds to compile and to call
  shardc run model.mlir --repeat 5 --profile                      the time of each op in the last call
  shardc run model.mlir --compile-only                            fill the cache of kernels for a quick start later
  shardc run model.mlir --trace run.json                          a timeline of each device, for ui.perfetto.dev

Arrays are global: numpy.savez('in.npz', arg0=x, arg1=y), or named like JAX's arguments, or in
their order. bfloat16 is stored as raw bits (dtype V2). Integers must be equal. A float may differ
by the effect of rounding on it, which is measured: the evaluator runs the program again with other
rounding errors. With --rtol or --atol, it may differ by --rtol times the expected value plus
--atol. With mhlo.num_replicas = 2, arg0.replica1 is the argument of the second replica; if it is
missing, both replicas get arg0. Results likewise. Random inputs differ between replicas.

  mpirun -n 4 shardc run model.mlir --inputs in.npz --outputs out.npz     run the devices in four processes
  mpirun -n 4 shardc run model.mlir --inputs 'in.{rank}.npz'              each process reads its own file

If shardc is built with the feature mpi, the processes that mpirun, srun or a similar launcher
starts run one program together. Each runs the same number of devices: the first process the first
devices, and so on. A process reads the parts of in.npz that its devices need; a file of its own
has the smallest block of every argument that contains its devices' shards. The processes write
their shards of the results to out.0.npz and so on, with out.index.json; 'shardc gather' merges
them. If a process ends, is stopped or runs another program, the others report that and end.

Results have the same bits for any number of processes, because every sum of floats adds the
devices' values in the order of the devices. --fast-reduce adds the values of each process first
and leaves the rest to MPI: with k devices in each process, a sum on all of them sends 2 bytes
instead of k + 1, and a scattered sum 1 byte instead of k. Sums of integers always use this way,
because they are exact in any order.

Compiled kernels are cached in $SHARDC_CACHE, or else in the folder shardc under $XDG_CACHE_HOME or
~/.cache. The cache keeps the most recently used kernels, at most 256 MiB, for each processor and
version. Processes may share the folder, and you may delete it.

Native code treats subnormal floats (f32 and bf16 below 1.2e-38, f64 below 2.2e-308) as zeros, as
XLA does, because processors are a hundred times slower with them. --keep-subnormals computes with
them; --interpret always does.

Native code computes elementary functions with vectors, within 4 units in the last place of the
exact value (tan and tanh within 2, also near roots). --strict-math calls the C library in f64 and
rounds once, as --interpret does.";

/// Partition a program and run it on simulated devices
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    common: Common,
    /// The arguments: an .npz archive with arg0, arg1, ...
    #[arg(long, value_name = "NPZ", conflicts_with = "seed")]
    inputs: Option<PathBuf>,
    /// Write the results to an .npz archive as out0, out1, ...; several processes write their shards
    #[arg(long, value_name = "NPZ")]
    outputs: Option<PathBuf>,
    /// Compare the results with out0, out1, ... of an .npz archive
    #[arg(long, value_name = "NPZ")]
    expect: Option<PathBuf>,
    #[command(flatten)]
    tolerances: Tolerances,
    /// Generate random inputs from this seed [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Call the program this many times and report the seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Compile the kernels into the cache without running the program; needs neither inputs nor memory for them
    #[arg(long, conflicts_with_all = ["inputs", "outputs", "expect", "repeat", "interpret", "trace", "profile"])]
    compile_only: bool,
    /// Run with the reference evaluator, which is slow; all other results are compared with it
    #[arg(long)]
    interpret: bool,
    /// Compute with subnormal floats instead of treating them as zeros: exact and much slower
    #[arg(long, conflicts_with = "interpret")]
    keep_subnormals: bool,
    /// Call the C library for elementary functions, once for each element: exact to about the last bit, and slow
    #[arg(long, conflicts_with = "interpret")]
    strict_math: bool,
    /// The simulated devices to run on, in the order of the program's device numbers [default: 0,1,...]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    devices: Vec<u32>,
    /// Write a timeline of each device in the last call, for Perfetto or chrome://tracing
    #[arg(long, value_name = "JSON", conflicts_with = "interpret")]
    trace: Option<PathBuf>,
    /// Report the most expensive ops of the last call, next to lower bounds on this machine and the model's times on
    /// the target; of several processes, on the devices of the first. Also report the device that arrived last at each
    /// collective, and how long the others waited for it
    #[arg(long, conflicts_with = "interpret")]
    profile: bool,
    /// The number of devices in each process that mpirun, srun or a similar launcher started [default: the program's
    /// devices divided by the processes]
    #[arg(long, value_name = "N")]
    devices_per_rank: Option<usize>,
    /// Seconds after which a process that doesn't answer counts as lost
    #[arg(long, value_name = "S", default_value_t = PATIENCE, value_parser = patience)]
    rank_timeout: f64,
    /// Let MPI choose the order of additions: processes send less, but the bits of sums depend on the number of
    /// processes
    #[arg(long)]
    fast_reduce: bool,
    /// Compile every kernel and store none in the cache
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    knobs: Knobs,
}

/// Parses the time after which other processes count as gone. It is at least 2 s, because ranks report four times a
/// second.
fn patience(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (2.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 2 to 86400".to_owned()),
    }
}

/// Runs the command: alone, or as one of the processes that a launcher started.
pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let Some(here) = Here::join(session, Duration::from_secs_f64(args.rank_timeout))? else {
        return run_here(args, session, None);
    };
    let outcome = run_here(args, session, Some(&here));
    match &outcome {
        Ok(()) => here.finish(),
        Err(failure) => {
            // Dropping `here` would wait for the other processes.
            std::mem::ManuallyDrop::new(here).fail(&session.reason(failure));
            outcome
        }
    }
}

fn run_here(args: &RunArgs, session: &mut Session<'_>, here: Option<&Here>) -> Outcome {
    if !HAS_NATIVE && !args.interpret {
        let how = "add --interpret to run with the reference evaluator";
        return Err(Failure::Usage(format!("this shardc was built without native execution; {how}")));
    }
    let source = session.read(&args.common.input)?;
    let options = args.knobs.options(session)?;
    if let Some(here) = here {
        if args.interpret {
            return Err(Failure::Usage("--interpret runs in one process".to_owned()));
        }
        here.agree(&identity(args, &source, &options))?;
    }
    let module = session.compile(source, "compile", &options)?;
    let source = module.source().clone();
    let interface = interface(&module)?;
    session.take(&source, session.compiler.runnable(&module))?;
    check_devices(args, &interface, here)?;
    if args.expect.is_some() && args.inputs.is_none() && args.seed.is_none() && !interface.arguments.is_empty() {
        let how = "name the inputs of the expected results with --inputs, or write --seed 0 if shardc generated them";
        return Err(Failure::Usage(format!("--expect without --inputs: {how}")));
    }
    let cache = if args.no_cache { None } else { cache::folder() };
    if args.compile_only {
        return compile_only(args, session, here, &module, cache);
    }
    let mut plan = None;
    if here.is_none() {
        session.take(&source, session.compiler.fits_in_memory(&module))?;
        if !args.interpret {
            plan = Some(session.take(&source, session.compiler.plan_memory(&module))?);
        }
    }
    let program = module.program();
    let judges = here.is_some_and(|here| here.rank == 0) && args.expect.is_some();
    let (inputs, of_rank) = inputs(args, session, here, &module, &interface)?;
    let expected = match args.expect.as_ref().filter(|_| here.is_none() || judges) {
        Some(path) => Some(arrays::read(session, program, path, "out", &interface.results, interface.replicas)?),
        None => None,
    };
    let backend = if args.interpret { Backend::Reference } else { Backend::Native };
    let calls = args.repeat.unwrap_or(1) as usize;
    let trace = args.trace.is_some() || args.profile;
    let progress = Progress::default();
    let quiet = args.outputs.is_some() || args.repeat.is_some() || trace;
    let ranks = here.map(|here| here.options(args.expect.is_some() || !quiet, of_rank, args.fast_reduce));
    let execute = ExecuteOptions {
        backend,
        calls,
        devices: args.devices.clone(),
        cache,
        keep_subnormals: args.keep_subnormals,
        strict_math: args.strict_math,
        trace,
        progress: Some(progress.clone()),
        deadline: None,
        ranks,
    };
    let compiler = session.compiler.clone();
    let ran =
        progress::during(|| how_far(&progress, calls), || compiler.execute_planned(&module, plan, &inputs, &execute));
    let ran = session.take(&source, ran)?;
    cache::say_refused(session, ran.cache_refused.as_deref())?;
    match (&args.outputs, here) {
        (Some(path), Some(here)) => shards::write(path, here, &interface, &ran.shards)?,
        (Some(path), None) => arrays::write(path, "out", &ran.results)?,
        (None, _) => {}
    }
    write_trace(args, session, here, &ran)?;
    let waits = match ran.trace.as_ref().filter(|_| args.profile) {
        Some(trace) => profile::waits(trace, here)?,
        None => Vec::new(),
    };
    let sent = here.map(|here| sent_bytes(here, &ran)).transpose()?;
    if here.is_some_and(|here| here.rank > 0) {
        return Ok(());
    }
    let report = report::Report { args, module: &module, interface: &interface, here, quiet, waits, sent };
    report.write(session, &options, &inputs, &ran, expected)
}

/// Returns the inputs that this process reads or generates, and the part of all inputs that they are.
fn inputs(
    args: &RunArgs,
    session: &mut Session<'_>,
    here: Option<&Here>,
    module: &Module,
    interface: &Interface,
) -> Result<(Vec<Vec<Literal>>, RankInputs), Failure> {
    let program = module.program();
    let seed = args.seed.unwrap_or_default();
    let generated = || random_inputs(&interface.arguments, seed, interface.replicas);
    let (path, here) = match (&args.inputs, here) {
        (None, None) => return Ok((generated(), RankInputs::Whole)),
        (None, Some(here)) => {
            let judges = here.rank == 0 && args.expect.is_some();
            return Ok((if judges { generated() } else { Vec::new() }, RankInputs::Random(seed)));
        }
        (Some(path), None) => {
            let inputs = arrays::read(session, program, path, "arg", &interface.arguments, interface.replicas)?;
            return Ok((inputs, RankInputs::Whole));
        }
        (Some(path), Some(here)) => (path, here),
    };
    let Some(path) = shards::own(path, here.rank) else {
        let inputs = arrays::map(session, program, path, |_| interface.arguments.clone(), interface.replicas)?;
        return Ok((inputs, RankInputs::Whole));
    };
    if args.expect.is_some() && !args.tolerances.are_given() {
        let why = "measuring the effect of rounding needs all inputs";
        return Err(Failure::Usage(format!("with one input file per rank, --expect needs --rtol or --atol: {why}")));
    }
    Ok((Vec::new(), RankInputs::Blocks(blocks(session, module, &path, here, interface)?)))
}

/// Writes the timelines of all processes to the file of `--trace`, on the first process.
fn write_trace(args: &RunArgs, session: &mut Session<'_>, here: Option<&Here>, ran: &Execution) -> Outcome {
    let (Some(path), Some(trace)) = (&args.trace, &ran.trace) else { return Ok(()) };
    let text = match here {
        None => profile::timeline(trace, None),
        Some(here) => {
            let texts = here.together(profile::timeline(trace, Some(here)).as_bytes())?;
            TraceWriter::join(texts.into_iter().map(|text| String::from_utf8_lossy(&text).into_owned()))
        }
    };
    if here.is_none_or(|here| here.rank == 0) { session.emit(Some(path), &text) } else { Ok(()) }
}

/// Returns the bytes that each process sent, on the first process.
fn sent_bytes(here: &Here, ran: &Execution) -> Result<Vec<u64>, Failure> {
    let sent = here.together(&ran.sent_bytes.to_le_bytes())?;
    Ok(sent.iter().map(|b| b.as_chunks().0.first().map_or(0, |b| u64::from_le_bytes(*b))).collect())
}

/// Compiles the kernels and reports the time it took.
fn compile_only(
    args: &RunArgs,
    session: &mut Session<'_>,
    here: Option<&Here>,
    module: &Module,
    cache: Option<PathBuf>,
) -> Outcome {
    let ranks = here.map(|here| here.options(false, RankInputs::Whole, args.fast_reduce));
    let RunArgs { keep_subnormals, strict_math, .. } = *args;
    let execute = ExecuteOptions { cache, keep_subnormals, strict_math, ranks, ..ExecuteOptions::default() };
    let (compiler, source) = (session.compiler.clone(), module.source().clone());
    let compiled = progress::during(|| "compiling kernels".to_owned(), || compiler.compile_kernels(module, &execute));
    let Compiled { compile, kernels, arena_bytes, cache_refused } = session.take(&source, compiled)?;
    cache::say_refused(session, cache_refused.as_deref())?;
    if here.is_some_and(|here| here.rank > 0) {
        return Ok(());
    }
    let compile_s = compile.as_secs_f64();
    session.set_document(&CompiledOnly { compile_s, kernels, arena_bytes });
    let bytes = units::bytes(arena_bytes as f64);
    let text = format!("compiled in {compile_s:.6} s: {kernels} kernels; a device needs {bytes} to run them\n");
    session.emit(args.common.output.as_deref(), &text)
}

/// The document of `--compile-only --json`.
#[derive(Serialize)]
struct CompiledOnly {
    /// Seconds to compile machine code, or to read it from the cache.
    compile_s: f64,
    /// The number of distinct kernels.
    kernels: usize,
    /// The bytes of memory that the runtime would allocate for a device.
    arena_bytes: usize,
}

/// Reads the inputs that the devices of one rank need from the rank's own archive, which has either all of each
/// argument, or the block.
fn blocks(
    session: &mut Session<'_>,
    module: &Module,
    path: &Path,
    here: &Here,
    interface: &Interface,
) -> Result<Vec<Vec<Literal>>, Failure> {
    let blocks = Interface::blocks(module, here.rank, here.ranks).unwrap_or_default();
    let types = |replica: usize| -> Vec<TensorType> {
        let of = |(ty, block): (&TensorType, &Block)| TensorType::new(&block.sizes, ty.element);
        blocks.get(replica).map(|b| interface.arguments.iter().zip(b).map(of).collect()).unwrap_or_default()
    };
    arrays::map(session, module.program(), path, types, interface.replicas)
}

/// Returns the settings that all processes of a run must share.
fn identity(args: &RunArgs, source: &Source, options: &CompileOptions) -> Identity {
    let RunArgs {
        seed,
        repeat,
        keep_subnormals,
        strict_math,
        devices,
        devices_per_rank,
        trace,
        profile,
        compile_only,
        ..
    } = args;
    let fast_reduce = args.fast_reduce;
    let (trace, expect) = (trace.is_some(), args.expect.is_some());
    Identity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: source.name.clone(),
        program: fingerprint(source.text.as_bytes()),
        options: format!(
            "{options:?} seed {seed:?} repeat {repeat:?} subnormals {keep_subnormals} strict {strict_math} devices {devices:?} \
             per rank {devices_per_rank:?} trace {trace} profile {profile} expect {expect} fast reduce {fast_reduce} \
             compile only {compile_only}"
        ),
    }
}

/// Returns an FNV-1a hash; different texts collide with probability 2^-64.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the types of the program's arguments and results, which must be tensors.
pub(crate) fn interface(module: &Module) -> Result<Interface, Failure> {
    let name = &module.source().name;
    Interface::of(module)
        .ok_or_else(|| Failure::Usage(format!("{name}: @main has an argument or result that is not a tensor")))
}

/// Describes the progress of a long run.
fn how_far(progress: &Progress, calls: usize) -> String {
    let (over, turns) = (progress.calls(), progress.turns());
    let call = if calls > 1 { format!(": {over} of {calls} calls are done") } else { String::new() };
    let turns = if turns > 0 { format!(", {turns} loop iterations") } else { String::new() };
    format!("running{call}{turns}")
}

/// Checks that the number of distinct devices in `--devices` equals the number that the program runs on.
fn check_devices(args: &RunArgs, interface: &Interface, here: Option<&Here>) -> Outcome {
    let needed = interface.replicas * interface.partitions;
    if let Some(here) = here {
        if !needed.is_multiple_of(here.ranks) {
            let ranks = here.ranks;
            return Err(Failure::Usage(format!(
                "the program's {needed} devices can't be divided evenly among {ranks} ranks"
            )));
        }
        let held = args.devices_per_rank.unwrap_or(needed / here.ranks) * here.ranks;
        if held != needed {
            let (ranks, each) = (here.ranks, held / here.ranks);
            let how = "every rank must run the same number of devices";
            return Err(Failure::Usage(format!(
                "the program runs on {needed} devices, but {ranks} ranks with {each} each have {held}: {how}"
            )));
        }
    }
    let mut seen = args.devices.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != args.devices.len() {
        return Err(Failure::Usage("--devices names a device twice".to_owned()));
    }
    if !args.devices.is_empty() && args.devices.len() != needed {
        let named = args.devices.len();
        return Err(Failure::Usage(format!("the program runs on {needed} devices, but --devices names {named}")));
    }
    Ok(())
}
