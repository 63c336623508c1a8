//! LLVM's lit and FileCheck run on the program, with the files of `tests/filecheck`.

use std::path::Path;
use std::process::Command;

/// The folder in which `make setup` installs FileCheck.
const LLVM: &str = "/usr/lib/llvm-22/bin";

#[test]
fn lit_and_filecheck_work_on_shardc_opt() {
    let program = Path::new(env!("CARGO_BIN_EXE_shardc"));
    let output = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lit = output.parent().expect("it is below the target folder").join("oracles/bin/lit");
    if !lit.exists() || !Path::new(LLVM).join("FileCheck").exists() {
        assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "no lit or FileCheck: run `make setup oracles`");
        eprintln!("skipped: run `make setup oracles` for FileCheck and lit");
        return;
    }
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filecheck");
    let bin = program.parent().expect("it is in a folder").display();
    let path = format!("{bin}:{LLVM}:{}", std::env::var("PATH").unwrap_or_default());
    let run = |files: &Path| {
        let ran = Command::new(&lit)
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
