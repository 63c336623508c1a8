//! The cost model's memory per device equals what the runtime allocates: both use the same buffer plan.

use std::path::Path;

use serde_json::Value;

fn run_json(path: &str) -> Value {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin: &[u8] = b"";
    let io = shardc::Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(["run", "--repeat", "1", "--json", path], io);
    assert_eq!(code, 0, "{path}: {}", String::from_utf8_lossy(&err));
    let out = String::from_utf8(out).expect("text");
    serde_json::from_str(out.lines().last().expect("a last line")).expect("JSON")
}

#[test]
fn modelled_and_actual_memory_are_equal() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut folders: Vec<_> =
        std::fs::read_dir(&corpus).expect("the corpus").map(|e| e.expect("an entry").path()).collect();
    folders.retain(|f| f.is_dir());
    folders.sort();
    assert!(folders.len() >= 52, "only {} programs", folders.len());
    for folder in folders {
        let path = folder.join("program.mlir").to_string_lossy().into_owned();
        let ran = run_json(&path);
        let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("{path}: no {key} in {ran}"));
        assert!(bytes("arena_bytes") > 0, "{path}: {ran}");
        assert_eq!(bytes("modelled_peak_bytes"), bytes("arena_bytes"), "{path}");
        assert_eq!(bytes("peak_bytes"), bytes("arena_bytes"), "{path}");
    }
}
