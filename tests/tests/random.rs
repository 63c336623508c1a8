//! Random programs over random meshes and shardings give on all devices together what they give as they stand, planned
//! greedily and in full, and as two replicas with other inputs each.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds. The generator is a Python script (`oracles/random_programs.py`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Programs when nobody says how many.
const PROGRAMS: u64 = 150;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Exit code and what was said.
fn shardc(args: &[&OsStr]) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = shardc::Io { stdin: &mut std::io::empty(), out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(args.iter().copied(), io);
    (code, [String::from_utf8_lossy(&err), String::from_utf8_lossy(&out)].concat())
}

/// What `shardc check` says of a program that it doesn't find equal. One that calls what only other compilers have can
/// be compiled at least.
fn fault(program: &Path, plan: &str, evaluated: &mut u64) -> Option<String> {
    let plan: [&OsStr; 3] = ["--plan".as_ref(), plan.as_ref(), program.as_os_str()];
    let (mut code, mut said) = shardc(&[&["check".as_ref(), "--interpret".as_ref()], &plan[..]].concat());
    if code == 1 && said.contains("is not known here, so it can't be evaluated") {
        (code, said) = shardc(&[&["compile".as_ref()], &plan[..]].concat());
    } else {
        *evaluated += 1;
    }
    (code != 0).then(|| said.lines().take(3).collect::<Vec<_>>().join(" "))
}

/// Whether all manual computations put results together as they cut operands. The generator makes others too, for
/// propagation alone: their bodies give values that differ between devices which are said to hold one.
fn keeps_promises(text: &str) -> bool {
    let between = |line: &str, a: &str, b: &str| Some(line.split_once(a)?.1.split_once(b)?.0.trim().to_owned());
    let mut lines = text.lines().filter(|l| l.contains("sdy.manual_computation"));
    lines.all(|l| between(l, "in_shardings=", "out_shardings=") == between(l, "out_shardings=", "manual_axes="))
}

#[test]
fn random_programs_mean_the_same_in_pieces() {
    let oracles = std::env::var_os("SHARDC_ORACLES").is_some();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles/write_random.py");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("random");
    let (from, count) = (number("RANDOM_FROM", 0), number("RANDOM_PROGRAMS", PROGRAMS));
    let to = from + count;
    let wrote = Command::new("python3").arg(script).arg(&folder).args([from.to_string(), to.to_string()]).status();
    match wrote {
        Ok(status) => assert!(status.success(), "the generator failed"),
        Err(_) if !oracles => return eprintln!("skipped: no python3"),
        Err(error) => panic!("python3: {error}"),
    }
    let (mut faults, mut evaluated, mut replicated) = (Vec::new(), 0, 0);
    for seed in from..to {
        let program = folder.join(format!("{seed}.mlir"));
        let text = std::fs::read_to_string(&program).unwrap();
        // The number of a device is another on each.
        if !keeps_promises(&text) || text.contains("partition_id") || text.contains("replica_id") {
            continue;
        }
        for plan in ["full", "greedy"] {
            faults.extend(fault(&program, plan, &mut evaluated).map(|f| format!("{} --plan {plan}: {f}", program.display())));
        }
        // Groups that name devices name those of one replica.
        if seed % 3 == 0 && !text.contains("replica_groups") && !text.contains("source_target_pairs") {
            let two = text.replacen("module {", "module attributes {mhlo.num_replicas = 2 : i32} {", 1);
            assert_ne!(two, text, "the program of seed {seed} doesn't begin with a module");
            let program = folder.join(format!("{seed}_replicas.mlir"));
            std::fs::write(&program, two).unwrap();
            faults.extend(fault(&program, "full", &mut replicated).map(|f| format!("{}: {f}", program.display())));
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs: {}", faults.len(), faults.join("\n"));
    assert!(replicated >= count / 6, "only {replicated} of {count} programs could be evaluated as two replicas");
    assert!(evaluated >= count, "only {evaluated} of {count} programs could be evaluated under both plans");
}
