//! The tests of the Python package, run by unittest in the environment that `make python` creates.

use std::path::Path;
use std::process::Command;

use shardc_tests::oracle;

/// The number of processes that run the tests at the same time.
const PROCESSES: usize = 2;

#[test]
#[cfg_attr(not(has = "python"), ignore = "run `make python`")]
fn the_python_package_passes_its_tests() {
    let python = oracle::made("python");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/python/tests");
    let files = std::fs::read_dir(&tests).expect("a folder").map(|entry| entry.expect("a file"));
    let named = |name: &String| name.starts_with("test_") && name.ends_with(".py");
    let mut modules: Vec<(u64, String)> = files
        .filter_map(|file| Some((file.metadata().ok()?.len(), file.file_name().into_string().ok().filter(named)?)))
        .collect();
    assert!(modules.len() > 10, "only {modules:?}");
    // Each module goes to the process that has less to do; longer files take longer.
    modules.sort_unstable_by(|a, b| b.cmp(a));
    let mut shares = vec![(0, Vec::new()); PROCESSES];
    for (bytes, name) in modules {
        let share = shares.iter_mut().min_by_key(|share| share.0).expect("there are processes");
        share.0 += bytes;
        share.1.push(name.trim_end_matches(".py").to_owned());
    }
    let run = |modules: Vec<String>| {
        let ran = Command::new(&python).args(["-m", "unittest", "-v"]).args(&modules).current_dir(&tests).output();
        let ran = ran.expect("Python starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        let count = said.lines().find_map(|l| l.strip_prefix("Ran ")?.split(' ').next()?.parse::<usize>().ok());
        // Everything that a test could miss is installed.
        let is_right = ran.status.success() && count.is_some_and(|n| n > 0) && !said.contains("(skipped=");
        (!is_right).then(|| said.into_owned())
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let ran: Vec<_> = shares.into_iter().map(|share| scope.spawn(|| run(share.1))).collect();
        ran.into_iter().filter_map(|ran| ran.join().expect("it doesn't panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
