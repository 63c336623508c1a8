//! The tests of the Python package, run by unittest in the environment that `make python` creates.

use std::path::Path;
use std::process::Command;

use shardc_tests::oracle;

#[test]
#[cfg_attr(not(has = "python"), ignore = "run `make python`")]
fn the_python_package_passes_its_tests() {
    let python = oracle::made("python");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/python/tests");
    let ran = Command::new(python).args(["-m", "unittest", "discover", "-v"]).current_dir(tests).output();
    let ran = ran.expect("Python starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let count = said.lines().filter_map(|l| l.strip_prefix("Ran ")?.split(' ').next()?.parse::<usize>().ok()).next();
    assert!(count.is_some_and(|n| n > 0), "no tests ran:\n{said}");
}
