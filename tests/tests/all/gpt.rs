//! A training step of a GPT with attention, layer norms, a loss and its gradient, as printed by JAX
//! (`gpt/generate.py`). Programs of this size use most of the compiler at once, and each pass must accept the output of
//! the one before it.

use std::path::Path;

use serde_json::Value;

fn shardc(args: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = shardc::Io { stdin: &mut &[][..], out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(args.iter().copied(), io);
    (code, String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
}

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gpt").join(name).to_string_lossy().into_owned()
}

#[test]
fn every_pass_accepts_it() {
    for name in ["small.mlir", "large.mlir"] {
        for search in ["full", "greedy"] {
            for emit in ["stablehlo", "manual"] {
                let program = file(name);
                let args = ["compile", "--verify-each", "--plan", search, "--emit", emit, &program];
                let (code, out, err) = shardc(&args);
                assert_eq!((code, err.as_str()), (0, ""), "{name} {search} {emit}");
                assert!(out.contains("all_reduce") && out.contains("all_gather"), "{name} {search} {emit}\n{out}");
            }
        }
    }
}

#[test]
fn partitioned_it_gives_what_jax_computes_on_one_device() {
    let (program, inputs, expected) = (file("small.mlir"), file("inputs.npz"), file("expected.npz"));
    for search in ["full", "greedy"] {
        let mut args = vec!["run", &program, "--inputs", &inputs, "--expect", &expected, "--plan", search];
        #[cfg(feature = "jit")]
        assert_eq!(shardc(&args).0, 0, "{search}, natively");
        args.push("--interpret");
        let (code, out, err) = shardc(&args);
        assert_eq!(code, 0, "{search}:\n{out}{err}");
        assert_eq!(out.matches("as expected").count(), 9, "{out}");
    }
}

#[test]
fn its_plan_is_a_good_one() {
    let program = file("large.mlir");
    let step = |search: &str| {
        let (code, out, err) = shardc(&["cost", "--json", "--plan", search, &program]);
        assert_eq!(code, 0, "{err}");
        let json = out.lines().last().unwrap_or_default();
        let cost: Value = serde_json::from_str(json).expect("JSON");
        cost["step_s"].as_f64().expect("seconds")
    };
    let (full, greedy) = (step("full"), step("greedy"));
    assert!(full <= greedy, "{full} s, greedy {greedy} s");
    assert!(full <= 14e-3, "{full} s, 13.2 ms when this was written");
}
