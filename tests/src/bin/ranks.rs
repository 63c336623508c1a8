//! Random programs on the devices of several processes: results must have the bits of a run in one process, in any
//! order of sums.
//!
//! `ranks FROM COUNT CACHE -- mpirun -n RANKS` starts itself with this launcher and runs COUNT programs with seeds from
//! FROM whose devices can be divided among the ranks. The folder CACHE caches kernels. One launch runs all programs;
//! after a program that ends the launch, another launch continues with the next program. The exit code is 1 if any
//! program differs from its run in one process.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio, exit};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use runtime::collective::World;
use shardc::{
    CompileOptions, Compiler, Diagnostics, ExecuteOptions, Interface, Literal, RankInputs, Ranks, Source, random_inputs,
};
use shardc_mpi::{Behavior, exit_at_once};
use shardc_tests::programs::program;

fn said(diagnostics: &Diagnostics) -> String {
    diagnostics.list.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
}

/// The outcome of one program, determined by the first rank.
enum Found {
    Equal {
        sent: u64,
    },
    /// Its devices can't be divided among the ranks.
    Indivisible,
    Differs(String),
}

fn bytes(results: &[Vec<Literal>]) -> Vec<Vec<u8>> {
    results.iter().flatten().map(|result| result.dense_bytes().into_owned()).collect()
}

fn try_one(compiler: &Compiler, wire: &Arc<dyn World>, seed: u64, cache: Option<PathBuf>) -> Result<Found, String> {
    let module = compiler.parse(Source::new("program.mlir", program(seed))).into_result().map_err(|d| said(&d))?;
    let device = compiler.compile(module, "compile", &CompileOptions::default()).into_result().map_err(|d| said(&d))?;
    let interface = Interface::of(&device).ok_or("no interface")?;
    if !(interface.replicas * interface.partitions).is_multiple_of(wire.ranks()) {
        return Ok(Found::Indivisible);
    }
    let run = |fast_reduce| {
        let (neighbors, inputs) = (wire.neighbors(), RankInputs::Random(seed));
        let ranks = Ranks { wire: wire.clone(), neighbors, gather: true, inputs, fast_reduce };
        let options = ExecuteOptions { ranks: Some(ranks), cache: cache.clone(), ..ExecuteOptions::default() };
        compiler.execute(&device, &[], &options).into_result().map_err(|d| said(&d))
    };
    let (several, fast) = (run(false)?, run(true)?);
    if wire.rank() > 0 {
        return Ok(Found::Equal { sent: several.sent_bytes });
    }
    let inputs = random_inputs(&interface.arguments, seed, interface.replicas);
    let options = ExecuteOptions { cache, ..ExecuteOptions::default() };
    let one = compiler.execute(&device, &inputs, &options).into_result().map_err(|d| said(&d))?;
    let wanted = bytes(&one.results);
    for (results, how) in [(several, "in order"), (fast, "in any order")] {
        if bytes(&results.results) != wanted {
            return Ok(Found::Differs(format!("combined {how}, results differ")));
        }
    }
    Ok(Found::Equal { sent: 1 })
}

/// The time limit of a program, after which its launch is stopped.
const MOST: Duration = Duration::from_secs(300);
/// A number of programs among which every rank sends something in at least one.
const SOME: usize = 20;

/// The number of programs without devices for all ranks after which the search gives up.
const HOPELESS: u64 = 1000;

/// The first words of the lines that a rank sends to the launcher's process; other lines are for people.
const BEGINS: &str = "begins";
const ENDS: &str = "ends";

/// The code of each rank: runs the programs one after the other.
fn rank(from: u64, count: u64, cache: &str) -> ExitCode {
    let last_words = Box::new(|why: &str| {
        eprintln!("{why}");
        exit_at_once(1);
    });
    let world = match shardc_mpi::join(Behavior { patience: Duration::from_secs(60), last_words }) {
        Ok(world) => world,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let (compiler, first) = (Compiler::standard(), world.rank() == 0);
    let (mut fitting, mut equal, mut spanning) = (0, 0, 0);
    for seed in from.. {
        if fitting == count || fitting == 0 && seed - from == HOPELESS {
            break;
        }
        if first {
            println!("{BEGINS} {seed}");
        }
        let found = match try_one(&compiler, &world, seed, Some(PathBuf::from(cache))) {
            Ok(found) => found,
            Err(why) => {
                // The other ranks may be at any point of the program.
                println!("seed {seed}: {why}");
                world.fail(&format!("seed {seed}: {why}"));
                exit(1);
            }
        };
        fitting += u64::from(!matches!(found, Found::Indivisible));
        if let Found::Equal { sent } = found {
            (equal, spanning) = (equal + 1, spanning + usize::from(sent > 0));
        }
        if first {
            let told = match found {
                Found::Equal { .. } => "equal".to_owned(),
                Found::Indivisible => "indivisible".to_owned(),
                Found::Differs(why) => format!("differs {why}"),
            };
            println!("{ENDS} {seed} {told}");
        }
    }
    let silent = !first && spanning == 0 && equal >= SOME;
    if silent {
        println!("rank {} has sent nothing in any of {equal} programs", world.rank());
    }
    if let Err(why) = world.finish() {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::from(silent))
}

/// The outcomes of the programs so far.
#[derive(Default)]
struct Tally {
    equal: u64,
    indivisible: u64,
    wrong: Vec<u64>,
    /// The number of launches that failed after their last program.
    faults: u64,
}

impl Tally {
    /// Returns the number of programs with devices for all ranks.
    fn fitting(&self) -> u64 {
        self.equal + self.wrong.len() as u64
    }
}

/// Runs at most `count` programs in one launch, until one of them ends it. Returns the seed to continue with.
fn launch(launcher: &[String], (from, count): (u64, u64), cache: &str, tally: &mut Tally) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|e| format!("who am I: {e}"))?;
    let mut command = Command::new(&launcher[0]);
    command.args(&launcher[1..]).arg(own).args([&from.to_string(), &count.to_string(), cache]);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("can't start {}: {e}", launcher[0]))?;
    let (tell, told) = channel();
    let output = child.stdout.take().ok_or("no output")?;
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    let (mut current, mut next) = (None, from);
    loop {
        let line = match told.recv_timeout(MOST) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                println!("nothing has happened for {} s", MOST.as_secs());
                stop(&mut child);
                break;
            }
        };
        let mut words = line.splitn(3, ' ');
        let (first, seed) = (words.next(), words.next().and_then(|word| word.parse::<u64>().ok()));
        match (first, seed, words.next()) {
            (Some(BEGINS), Some(seed), None) => current = Some(seed),
            (Some(ENDS), Some(seed), Some(what)) => {
                (current, next) = (None, seed + 1);
                match what {
                    "equal" => tally.equal += 1,
                    "indivisible" => tally.indivisible += 1,
                    why => {
                        println!("seed {seed}: {why}");
                        tally.wrong.push(seed);
                    }
                }
            }
            _ => println!("{line}"),
        }
    }
    let status = child.wait().map_err(|e| format!("{}: {e}", launcher[0]))?;
    let _ = reader.join();
    if let Some(seed) = current {
        println!("seed {seed}: ended its processes ({status})");
        tally.wrong.push(seed);
        return Ok(seed + 1);
    }
    if !status.success() {
        println!("{} after seed {}: {status}", launcher[0], next.saturating_sub(1));
        tally.faults += 1;
    }
    Ok(next)
}

/// Stops a launch by a signal, as its user would, and kills it if that takes too long.
fn stop(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > Duration::from_secs(15) {
            let _ = child.kill();
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(count), Some(cache)) = (number(0), number(1), arguments.get(2)) else {
        eprintln!("usage: ranks FROM COUNT CACHE -- mpirun -n RANKS");
        return ExitCode::from(2);
    };
    let launcher = match arguments.get(3).map(String::as_str) {
        None => return rank(from, count, cache),
        Some("--") if arguments.len() > 4 => &arguments[4..],
        Some(_) => {
            eprintln!("usage: ranks FROM COUNT CACHE -- mpirun -n RANKS");
            return ExitCode::from(2);
        }
    };
    let (begun, mut tally, mut next) = (Instant::now(), Tally::default(), from);
    // Stop after a launch that failed without a program as its cause, because continuing might never end.
    while tally.fitting() < count && tally.faults == 0 && (tally.fitting() > 0 || next - from < HOPELESS) {
        next = match launch(launcher, (next, count - tally.fitting()), cache, &mut tally) {
            Ok(next) => next,
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        };
    }
    let last = next.saturating_sub(1);
    let Tally { equal, indivisible, wrong, faults } = tally;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{}: of the seeds {from} to {last}, {equal} programs equal to one process, {} not, {indivisible} of other numbers of \
         devices, in {seconds:.0} s",
        launcher.join(" "),
        wrong.len()
    );
    if !wrong.is_empty() {
        println!("not equal: {}", wrong.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    ExitCode::from(u8::from(!wrong.is_empty() || faults > 0))
}
