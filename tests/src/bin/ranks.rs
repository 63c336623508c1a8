//! Random programs on the devices of several processes: the bits of one process, whatever the order of sums.
//!
//! `mpirun -n RANKS ranks FROM COUNT [CACHE]` runs the programs of these seeds, as many as have devices for all ranks; kernels
//! are kept in the folder CACHE. One launch runs them all.

use std::path::PathBuf;
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::time::{Duration, Instant};

use runtime::collective::Wire;
use runtime::mpi::{Behavior, World};
use shardc::{
    CompileOptions, Compiler, Diagnostics, ExecuteOptions, Interface, Literal, RankInputs, Ranks, Source, random_inputs,
};
use shardc_tests::programs::program;

fn said(diagnostics: &Diagnostics) -> String {
    diagnostics.list.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
}

/// What one program is found to be, by the first rank.
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

fn try_one(compiler: &Compiler, wire: &Arc<World>, seed: u64, cache: Option<PathBuf>) -> Result<Found, String> {
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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|text| text.parse::<u64>().ok());
    let (Some(from), Some(count)) = (number(0), number(1)) else {
        eprintln!("usage: mpirun -n RANKS ranks FROM COUNT [CACHE]");
        return ExitCode::from(2);
    };
    let last_words = Box::new(|why: &str| {
        eprintln!("{why}");
        exit(1);
    });
    let world = match World::join(Behavior { patience: Duration::from_secs(60), last_words }) {
        Ok(world) => Arc::new(world),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let compiler = Compiler::standard();
    let begun = Instant::now();
    let (mut equal, mut spanning, mut indivisible, mut wrong) = (0, 0, 0, 0);
    for seed in from..from + count {
        let found = try_one(&compiler, &world, seed, arguments.get(2).map(PathBuf::from));
        match found {
            Ok(Found::Equal { sent }) => (equal, spanning) = (equal + 1, spanning + usize::from(sent > 0)),
            Ok(Found::Indivisible) => indivisible += 1,
            Ok(Found::Differs(why)) => {
                println!("seed {seed}: {why}");
                wrong += 1;
            }
            Err(why) => {
                // The others may be anywhere in it.
                println!("seed {seed}: {why}");
                world.fail(&format!("seed {seed}: {why}"));
                exit(1);
            }
        }
    }
    if world.rank() == 0 {
        let (ranks, seconds) = (world.ranks(), begun.elapsed().as_secs_f64());
        println!(
            "{ranks} ranks: {equal} programs equal to one process, {wrong} not, {indivisible} of other numbers of devices, \
             in {seconds:.0} s"
        );
    } else if spanning == 0 && equal > 0 {
        println!("rank {} has sent nothing in any of {equal} programs", world.rank());
        wrong += 1;
    }
    let left = Arc::try_unwrap(world).map_err(|_| "MPI is still in use".to_owned()).and_then(World::finish);
    if let Err(why) = left {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::from(wrong > 0))
}
