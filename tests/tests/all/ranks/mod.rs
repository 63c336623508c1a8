//! Programs whose devices are in several processes, started by mpirun: results have the same bits as in one process,
//! and no process waits for a process that is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shardc_tests::tools::{said, scratch};
use shardc_tests::{corpus, oracle, tools};

/// Returns the path of the command line program with MPI.
fn shardc() -> PathBuf {
    oracle::made("mpi")
}

/// Returns `mpirun` with `ranks` processes of this command. Once one has ended, the others get five seconds for their
/// last messages instead of one, because other tests keep the processors busy.
fn mpirun(ranks: usize, command: &Path) -> Command {
    let mut run = Command::new("mpirun");
    run.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]).args([
        "--mca",
        "odls_base_sigkill_timeout",
        "5",
    ]);
    run.args(["-n", &ranks.to_string()]).arg(command);
    run
}

fn ok(command: &mut Command) -> String {
    said(&tools::ok(command))
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn results_have_the_same_bits_for_any_number_of_ranks() {
    let shardc = shardc();
    // A training step, permutes, padded shards, and rows sent by sizes known at run time; some inputs are generated.
    for (name, given) in
        [("train_2d", true), ("dist_ppermute", true), ("kind_uneven_mlp", false), ("tpu_p2_moe_ragged_dot", true)]
    {
        let (program, folder) = (corpus::file(name, "program.mlir"), scratch(&format!("ranks_bits_{name}")));
        let at = |name: &str| folder.join(name);
        let run = |command: &mut Command, outputs: &str| {
            command.arg("run").arg(&program).arg("--outputs").arg(at(outputs));
            if given {
                command.arg("--inputs").arg(corpus::file(name, "inputs.npz"));
            }
            ok(command)
        };
        run(&mut Command::new(&shardc), "one.npz");
        for ranks in [2, 4] {
            run(&mut mpirun(ranks, &shardc), &format!("of{ranks}.npz"));
            let index = at(&format!("of{ranks}.index.json"));
            ok(Command::new(&shardc).arg("gather").arg(index).arg("--outputs").arg(at("joined.npz")));
            let bytes = |name: &str| fs::read(at(name)).expect("it was written");
            assert!(bytes("one.npz") == bytes("joined.npz"), "{name} on {ranks} ranks");
        }
        // One file of one process, the files of two and of four with their indices, and the merged file.
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1 + 2 + 1 + 4 + 1 + 1);
    }
}

/// Returns the first random programs over this number of devices.
fn random_programs(devices: &str, count: usize) -> Vec<String> {
    let programs = (0..).map(shardc_tests::programs::program).filter(|text| text.contains(devices));
    programs.take(count).collect()
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn random_programs_give_the_same_bits_in_any_order_of_sums() {
    let shardc = shardc();
    for (number, text) in random_programs("@mesh = <[\"x\"=4, \"y\"=2]>", 2).into_iter().enumerate() {
        let folder = scratch(&format!("ranks_random_{number}"));
        let at = |name: &str| folder.join(name);
        fs::write(at("program.mlir"), text).expect("a program");
        let run = |command: &mut Command, how: &str, outputs: &str| {
            ok(command.arg("run").arg(at("program.mlir")).arg(how).arg("--outputs").arg(at(outputs)))
        };
        run(&mut Command::new(&shardc), "--seed=0", "one.npz");
        for (ranks, how) in [(2, "--fast-reduce"), (4, "--seed=0")] {
            run(&mut mpirun(ranks, &shardc), how, "some.npz");
            ok(Command::new(&shardc).arg("gather").arg(at("some.index.json")).arg("--outputs").arg(at("joined.npz")));
            let bytes = |name: &str| fs::read(at(name)).expect("it was written");
            assert!(bytes("one.npz") == bytes("joined.npz"), "random program {number} on {ranks} ranks, {how}");
        }
    }
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn a_profile_says_who_came_last_of_all_ranks() {
    let shardc = shardc();
    let mut run = mpirun(2, &shardc);
    run.arg("run").arg(corpus::file("dist_psum_scatter", "program.mlir")).args([
        "--profile",
        "--json",
        "--repeat",
        "3",
    ]);
    let text = ok(&mut run);
    let json = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no JSON: {text}"));
    let told: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let late = told["stragglers"].as_array().expect("there is a collective");
    assert!(!late.is_empty(), "{json}");
    for straggler in late {
        let number = |key: &str| straggler[key].as_u64().unwrap_or_else(|| panic!("{straggler}"));
        assert!(number("device") < 8 && number("rank") == number("device") / 4, "{straggler}");
        assert!((1..=number("times")).contains(&number("last")), "{straggler}");
        assert!(straggler["late_s"].as_f64().is_some_and(|late| late >= 0.0), "{straggler}");
    }
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
#[cfg(target_os = "linux")]
fn a_rank_that_can_not_write_ends_all() {
    let shardc = shardc();
    let folder = scratch("ranks_full");
    // The output of rank 1 would go into a missing folder.
    std::os::unix::fs::symlink("missing/out.npz", folder.join("out.1.npz")).expect("a link");
    let run = format!(
        "run {} --outputs {}",
        corpus::file("dist_psum_scatter", "program.mlir").display(),
        folder.join("out.npz").display()
    );
    let text = Running::start("full_ranks", 2, &shardc, &run).ended_within(60);
    let line = text.lines().find(|line| line.starts_with("rank 0 (host") && line.contains("error"));
    let line = line.unwrap_or_else(|| panic!("rank 0 is silent: {text}"));
    assert!(line.contains("rank 1 (host") && line.contains("can't write"), "{line}");
    let left = fs::read_dir(&folder).expect("it is there").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(left, ["out.1.npz"]);
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn expectations_and_traces_are_of_all_ranks() {
    let shardc = shardc();
    let folder = scratch("ranks_expect");
    let trace = folder.join("run.json");
    let case = |name| corpus::file("dist_psum_scatter", name);
    let mut run = mpirun(2, &shardc);
    run.arg("run").arg(case("program.mlir")).arg("--inputs").arg(case("inputs.npz"));
    run.arg("--expect").arg(case("expected.npz")).arg("--trace").arg(&trace);
    let text = ok(&mut run);
    assert_eq!(text.matches("result 0: as expected").count(), 1, "{text}");
    let events: serde_json::Value = serde_json::from_slice(&fs::read(&trace).expect("a trace")).expect("JSON");
    let events = events["traceEvents"].as_array().expect("events");
    for rank in 0..2 {
        let of = |event: &&serde_json::Value| event["pid"] == rank && event["ph"] == "X" && event["name"] != "waits";
        let rows: std::collections::BTreeSet<u64> =
            events.iter().filter(of).filter_map(|event| event["tid"].as_u64()).collect();
        assert_eq!(rows.len(), 4, "devices of rank {rank}");
    }
}

/// A run of all ranks. A script writes the number of each rank's process before it becomes shardc.
struct Running {
    mpirun: Child,
    folder: PathBuf,
}

impl Running {
    fn start(name: &str, ranks: usize, shardc: &Path, args: &str) -> Self {
        let folder = scratch(&format!("ranks_{name}"));
        let script = folder.join("rank.sh");
        let line =
            format!("echo $$ > {}/pid.$OMPI_COMM_WORLD_RANK\nexec {} {args}\n", folder.display(), shardc.display());
        fs::write(&script, line).expect("a script");
        let mut run = mpirun(ranks, Path::new("sh"));
        run.arg(&script).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { mpirun: run.spawn().expect("mpirun starts"), folder }
    }

    /// Waits until the devices of a rank run.
    fn wait_for(&self, rank: usize) {
        let runs = || {
            let pid = fs::read_to_string(self.folder.join(format!("pid.{rank}"))).ok()?;
            let mut threads = fs::read_dir(format!("/proc/{}/task", pid.trim())).ok()?.filter_map(Result::ok);
            let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
            threads.any(|thread| name(thread).trim() == "device").then_some(())
        };
        let start = Instant::now();
        while runs().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "rank {rank} doesn't run");
            std::thread::sleep(Duration::from_millis(100));
        }
        // Give the failure time to reach the others.
        std::thread::sleep(Duration::from_secs(2));
    }

    /// Sends a signal to a rank.
    fn signal(&self, rank: usize, signal: &str) {
        let pid = fs::read_to_string(self.folder.join(format!("pid.{rank}"))).expect("it has started");
        ok(Command::new("kill").args([signal, pid.trim()]));
    }

    /// Waits until all processes end, which must be within this number of seconds, and returns their output.
    fn ended_within(self, seconds: u64) -> String {
        let start = Instant::now();
        let mut mpirun = self.mpirun;
        while mpirun.try_wait().expect("it is our child").is_none() {
            if start.elapsed() > Duration::from_secs(seconds) {
                mpirun.kill().expect("it is our child");
                panic!("still there after {seconds} s");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = mpirun.wait_with_output().expect("it has ended");
        assert!(!output.status.success());
        said(&output)
    }
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn a_rank_that_is_gone_is_named_by_all_others() {
    let shardc = shardc();
    let long = format!(
        "run {} --repeat 4000000 --rank-timeout 4",
        corpus::file("dist_psum_scatter", "program.mlir").display()
    );
    for (signal, says, seconds) in [("-KILL", "has ended", 20), ("-STOP", "has not answered for 4 s", 30)] {
        let running = Running::start(&format!("gone{signal}"), 4, &shardc, &long);
        running.wait_for(2);
        running.signal(2, signal);
        let text = running.ended_within(seconds);
        for rank in [0, 1, 3] {
            let line = text.lines().find(|line| line.contains(&format!("rank {rank} (host")) && line.contains("error"));
            let line = line.unwrap_or_else(|| panic!("rank {rank} is silent: {text}"));
            assert!(line.contains("rank 2 (host") && line.contains(says), "{line}");
            assert!(line.contains("device 4"), "{line}");
        }
    }
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn ranks_that_disagree_do_not_begin() {
    let shardc = shardc();
    let (one, other) = ("dist_psum_scatter", "dist_ppermute");
    let pick = |rank: usize, a: &str, b: &str| format!("$([ $OMPI_COMM_WORLD_RANK = {rank} ] && echo {b} || echo {a})");
    let file = |name: &str, file: &str| corpus::file(name, file).display().to_string();
    let program = pick(1, &file(one, "program.mlir"), &file(other, "program.mlir"));
    let text = Running::start("program", 2, &shardc, &format!("run {program}")).ended_within(60);
    assert!(text.contains("rank 1 (host") && text.contains("runs another program"), "{text}");
    let text = Running::start(
        "options",
        2,
        &shardc,
        &format!("run {} --seed {}", file(one, "program.mlir"), pick(1, "3", "4")),
    );
    let text = text.ended_within(60);
    assert!(text.contains("runs with other options"), "{text}");
    // An input that one rank refuses ends all ranks.
    let inputs = pick(1, &file(one, "inputs.npz"), &file(other, "expected.npz"));
    let text = Running::start("inputs", 2, &shardc, &format!("run {} --inputs {inputs}", file(one, "program.mlir")));
    let text = text.ended_within(60);
    assert!(text.lines().any(|line| line.starts_with("rank 0") && line.contains("rank 1 (host")), "{text}");
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn inputs_may_be_in_a_file_for_each_rank() {
    let shardc = shardc();
    let folder = scratch("ranks_inputs");
    let at = |name: &str| folder.join(name);
    let program = "module @m attributes {mhlo.num_partitions = 4 : i32} {\n  sdy.mesh @mesh = <[\"x\"=4]>\n  func.func public @main(\
                   %a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %b: tensor<2xf32>) -> tensor<2xf32> {\n    \
                   %0 = stablehlo.constant dense<0.0> : tensor<f32>\n    %1 = stablehlo.reduce(%a init: %0) applies stablehlo.add \
                   across dimensions = [0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>\n    \
                   %2 = stablehlo.add %1, %b : tensor<2xf32>\n    return %2 : tensor<2xf32>\n  }\n}\n";
    fs::write(at("sum.mlir"), program).expect("a program");
    let array = |values: &[f32], shape: &[i64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        shardc::Literal::from_bytes(dialect::ir::ElementType::F32, shape, bytes)
    };
    for rank in 0..2 {
        // The block of a rank's two devices; arrays that all devices hold are complete.
        let values: Vec<f32> = (0..8).map(|i| (8 * rank + i) as f32).collect();
        let arrays = [("arg0".to_owned(), array(&values, &[4, 2])), ("arg1".to_owned(), array(&[100.0, 200.0], &[2]))];
        runtime::npz::write_file(&at(&format!("in.{rank}.npz")), &arrays).expect("it is written");
    }
    let mut run = mpirun(2, &shardc);
    let text = ok(run.arg("run").arg(at("sum.mlir")).arg("--inputs").arg(at("in.{rank}.npz")));
    assert!(text.contains("[156.0, 264.0]"), "{text}");
}

#[test]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn a_pipeline_over_ranks_has_the_bits_of_one_process() {
    let shardc = shardc();
    let folder = scratch("ranks_pipeline");
    let at = |name: &str| folder.join(name);
    fs::write(at("transformer.mlir"), crate::pipelines::transformer()).expect("a program");
    let run = |command: &mut Command, outputs: &str| {
        ok(command.arg("run").arg(at("transformer.mlir")).args(["--seed", "5", "--outputs"]).arg(at(outputs)))
    };
    run(&mut Command::new(&shardc), "one.npz");
    let bytes = |name: &str| fs::read(at(name)).expect("it was written");
    for ranks in [2, 4] {
        run(&mut mpirun(ranks, &shardc), "some.npz");
        ok(Command::new(&shardc).arg("gather").arg(at("some.index.json")).arg("--outputs").arg(at("joined.npz")));
        assert!(bytes("one.npz") == bytes("joined.npz"), "on {ranks} ranks");
    }
}
