//! Random programs over random meshes and shardings give on all devices together what they give as they stand, planned
//! greedily and in full.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds. The generator is a Python script (`oracles/random_programs.py`).

use std::path::Path;
use std::process::Command;

/// Programs when nobody says how many.
const PROGRAMS: u64 = 150;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What `shardc check` says of a program that it doesn't find equal.
fn fault(program: &Path, plan: &str) -> Option<String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args: [&std::ffi::OsStr; 5] = ["check".as_ref(), "--interpret".as_ref(), "--plan".as_ref(), plan.as_ref(), program.as_os_str()];
    let io = shardc::Io { stdin: &mut std::io::empty(), out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(args, io);
    let said = || [String::from_utf8_lossy(&err), String::from_utf8_lossy(&out)].concat();
    (code != 0).then(|| said().lines().take(3).collect::<Vec<_>>().join(" "))
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
    let mut faults = Vec::new();
    for seed in from..to {
        let program = folder.join(format!("{seed}.mlir"));
        for plan in ["full", "greedy"] {
            faults.extend(fault(&program, plan).map(|f| format!("{} --plan {plan}: {f}", program.display())));
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs: {}", faults.len(), faults.join("\n"));
}
