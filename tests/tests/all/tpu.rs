//! The scripts that read what the TPU's compiler decided (`oracles/tpu.py`), on dumps of it. The compiler itself is
//! optional.

use std::path::Path;
use std::process::Command;

use shardc_tests::tools::said;

#[test]
#[cfg_attr(not(has = "python3"), ignore = "needs python3")]
fn schedules_of_the_tpu_compiler_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles");
    let ran = Command::new("python3").args(["-m", "unittest", "test_tpu_schedule"]).current_dir(folder).output();
    let ran = ran.expect("Python starts");
    let text = said(&ran);
    let count = text.lines().find_map(|l| l.strip_prefix("Ran ")?.split(' ').next()?.parse::<usize>().ok());
    assert!(ran.status.success() && count.is_some_and(|n| n > 5), "{text}");
}
