//! LLVM's lit and FileCheck run on the program, with the files of `tests/filecheck`.
//!
//! Without them, the test is ignored, or fails with `SHARDC_ORACLES=1`.

use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};

/// The folder in which `make setup` installs FileCheck.
const LLVM: &str = "/usr/lib/llvm-22/bin";

fn main() -> ExitCode {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lit = output.parent().expect("it is below the target folder").join("oracles/bin/lit");
    let missing = [lit.clone(), Path::new(LLVM).join("FileCheck")].into_iter().find(|file| !file.exists());
    let ignored = missing.is_some() && std::env::var_os("SHARDC_ORACLES").is_none();
    let test = move || match missing {
        Some(file) => Err(format!("{} is missing: run `make setup oracles`", file.display()).into()),
        None => {
            lit_and_filecheck_work(&lit, output);
            Ok(())
        }
    };
    let trial = Trial::test("lit_and_filecheck_work_on_shardc_opt", test).with_ignored_flag(ignored);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn lit_and_filecheck_work(lit: &Path, output: &Path) {
    let program = Path::new(env!("CARGO_BIN_EXE_shardc"));
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filecheck");
    let bin = program.parent().expect("it is in a folder").display();
    let path = format!("{bin}:{LLVM}:{}", std::env::var("PATH").unwrap_or_default());
    let run = |files: &Path| {
        let ran = Command::new(lit)
            .args(["-v", "-j2"])
            .arg(files)
            .env("PATH", &path)
            .env("SHARDC_LIT_OUTPUT", output.join("lit"))
            .output()
            .expect("lit starts");
        (ran.status.success(), String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned())
    };
    let (passed, said) = run(&files);
    assert!(passed && said.contains("Passed: 4 "), "{said}");
    // A file whose expectations don't match fails.
    let wrong = output.join("filecheck-wrong");
    std::fs::create_dir_all(&wrong).expect("the target folder can be written");
    std::fs::copy(files.join("lit.cfg.py"), wrong.join("lit.cfg.py")).expect("it is there");
    let text = std::fs::read_to_string(files.join("passes.mlir")).expect("it is there");
    let text = text.replacen("// CHECK-NEXT: return", "// CHECK-NEXT: stablehlo.return", 1);
    std::fs::write(wrong.join("passes.mlir"), text).expect("the target folder can be written");
    let (passed, said) = run(&wrong);
    assert!(!passed && said.contains("CHECK-NEXT: "), "{said}");
}
