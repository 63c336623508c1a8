//! `shardc calibrate`: writes a file for `--target` from measurements.

use std::path::PathBuf;
use std::time::Duration;

use passes::options::parse_bytes;

use crate::cli::json::Json;
use crate::cli::progress::Shown;
use crate::cli::ranks::{Here, Identity, PATIENCE};
use crate::cli::session::{Failure, Outcome, Session};
use crate::cli::{cache, progress};
use crate::{
    CalibrateOptions, Calibration, HAS_NATIVE, RankInputs, Series, Source, Target, is_target_name, read_measurements,
    units,
};

const EXAMPLES: &str = "\
Examples:
  shardc calibrate -o here.toml                       measure this machine, as 8 simulated devices
  shardc calibrate --devices 1 -o one.toml            as one device, which has all cores
  shardc cost model.mlir --target here.toml           model a step with the measured figures
  mpirun -n 4 shardc calibrate -o four.toml           8 devices in four processes (built with the feature mpi)
  shardc calibrate --from all_reduce.txt --from all_gather.txt --like h100:8 -o island.toml
  shardc calibrate --from osu.txt --devices 16 -o network.toml

Native execution calls small programs of one kind of op, as 'shardc run' does: additions of a few
numbers (start-ups), sums, fills and chains of large arrays (memory), products by element type and
size, and collectives by kind and size. A line through seconds over bytes or FLOPs, by least squares
without outliers, gives a start-up and a rate. All devices work at the same time, so the figures
are those of one device while the others are busy.

--from reads measurements instead and measures nothing: the tables of nccl-tests (all_reduce_perf,
all_gather_perf, reduce_scatter_perf, alltoall_perf, sendrecv_perf, broadcast_perf, reduce_perf) and
of OSU's benchmarks (osu_allreduce, ...), the output of 'make bench-mpi', and profiles of XLA as
JSON (gunzip trace.json.gz), of which it uses products, collectives and other ops with shapes.

A comment at each figure in the file says how it was measured. What the measurements don't
determine has the figure of --like, and the comment says so.";

/// Measure this machine, or read other measurements, and write a file for --target
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Read measurements from this file instead of measuring; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "largest", "no_cache"])]
    from: Vec<PathBuf>,
    /// The target whose figures complete the file: flat, cpu, an island of GPUs or a line of chips [default: cpu, or
    /// flat with --from]
    #[arg(long, value_name = "TARGET")]
    like: Option<String>,
    /// The name of the target
    #[arg(long, value_name = "NAME", default_value = "measured")]
    name: String,
    /// The number of devices to simulate; with --from, the number of devices that took part, where a file doesn't state
    /// it [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    devices: Option<u16>,
    /// Seconds of all measured calls, without the time to compile [default: 20]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// The largest array of all devices together, like 64MiB [default: 64MiB]
    #[arg(long, value_name = "BYTES", value_parser = largest)]
    largest: Option<u64>,
    /// Compile every kernel and store none in the cache
    #[arg(long)]
    no_cache: bool,
    /// Write the file here instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write one line of JSON to standard output instead of the text; --json=last writes it after the text
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    json: Option<Json>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 0.1 to 86400".to_owned()),
    }
}

fn largest(text: &str) -> Result<u64, String> {
    match parse_bytes(text) {
        Some(bytes) if (1 << 12..=1 << 34).contains(&bytes) => Ok(bytes),
        _ => Err("expected bytes, from 4KiB to 16GiB".to_owned()),
    }
}

/// Runs the command: alone, or as one of the processes that a launcher started.
pub(crate) fn run(args: &CalibrateArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.json);
    if !is_target_name(&args.name) {
        let how = "a name has at most 40 letters, digits, '-', '_' and '.'; flat and cpu are reserved";
        return Err(Failure::Usage(format!("--name can't be '{}': {how}", args.name)));
    }
    let like = args.like.as_deref().unwrap_or(if args.from.is_empty() { "cpu" } else { "flat" });
    let like = session.compiler.target(like).map_err(|e| Failure::Usage(format!("--like: {e}")))?;
    if !args.from.is_empty() {
        let series = given(args, session)?;
        let command: Vec<String> = args.from.iter().map(|path| format!(" --from {}", path.display())).collect();
        return write(args, session, &like, &series, None, &command.concat());
    }
    if !HAS_NATIVE {
        let how = "name measurements with --from";
        return Err(Failure::Usage(format!("this shardc was built without native execution: {how}")));
    }
    let Some(here) = Here::join(session, Duration::from_secs_f64(PATIENCE))? else {
        return measured(args, session, &like, None);
    };
    let outcome = measured(args, session, &like, Some(&here));
    match &outcome {
        Ok(()) => here.finish(),
        Err(failure) => {
            // Dropping `here` would wait for the other processes.
            std::mem::ManuallyDrop::new(here).fail(&session.reason(failure));
            outcome
        }
    }
}

/// Reads the measurements of all files.
fn given(args: &CalibrateArgs, session: &mut Session<'_>) -> Result<Vec<Series>, Failure> {
    let mut all = Vec::new();
    for path in &args.from {
        let source: Source = session.read_text("--from", path)?;
        let read = read_measurements(&source, args.devices.map(usize::from));
        all.extend(session.take(&source, read)?);
    }
    Ok(all)
}

/// Measures this machine.
fn measured(args: &CalibrateArgs, session: &mut Session<'_>, like: &Target, here: Option<&Here>) -> Outcome {
    let ranks = here.map_or(1, |here| here.ranks);
    let devices = match args.devices.map(usize::from) {
        Some(devices) => devices,
        None if 8 % ranks == 0 => 8,
        None => ranks,
    };
    if !devices.is_multiple_of(ranks) {
        return Err(Failure::Usage(format!("--devices {devices} can't be divided evenly among {ranks} ranks")));
    }
    let default = CalibrateOptions::default();
    let options = CalibrateOptions {
        devices,
        seconds: args.seconds.unwrap_or(default.seconds),
        largest: args.largest.unwrap_or(default.largest),
        cache: if args.no_cache { None } else { cache::folder() },
        ranks: here.map(|here| here.options(false, RankInputs::Whole, false)),
        progress: default.progress,
    };
    let CalibrateOptions { seconds, largest, .. } = options;
    let largest_text = units::bytes(largest as f64).replace(' ', "");
    let command = format!(" --devices {devices} --seconds {seconds} --largest {largest_text}");
    if let Some(here) = here {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        here.agree(&Identity { version, name: "calibrate".to_owned(), program: 0, options: command.clone() })?;
    }
    let (compiler, now) = (session.compiler.clone(), options.progress.clone());
    let series = progress::shown(Shown::Everywhere, || now.now(), || compiler.measure(&options));
    let series = session.take(&Source::new("calibrate", ""), series)?;
    if here.is_some_and(|here| here.rank > 0) {
        return Ok(());
    }
    let neighbors =
        options.ranks.as_ref().map_or(devices, |ranks| devices * ranks.neighbors / ranks.wire.ranks().max(1));
    let memory = runtime::limits::available_memory().map(|available| {
        let how = format!("the memory that this machine has left, divided by {neighbors} devices");
        (available.bytes as f64 / neighbors.max(1) as f64, how)
    });
    write(args, session, like, &series, memory, &command)
}

/// Writes the file.
fn write(
    args: &CalibrateArgs,
    session: &mut Session<'_>,
    like: &Target,
    series: &[Series],
    memory: Option<(f64, String)>,
    command: &str,
) -> Outcome {
    let made = Calibration::of(&args.name, like, series, memory);
    let made = made.map_err(|e| Failure::Usage(format!("--like: {e}")))?;
    let text = made.toml(&format!(
        "Written by shardc {}: shardc calibrate{command}\nFigures are of one device, in SI units.",
        env!("CARGO_PKG_VERSION")
    ));
    session.set_document(&made);
    session.emit(args.output.as_deref(), &text)
}
